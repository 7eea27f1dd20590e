//! The way to a service: addresses as people write them, own authorities, and what is no model server at all.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::tempdir;

use crate::service::{Service, claw, says};
use crate::{code, err, out};

pub(crate) const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls");

/// Serves each connection on a thread of its own, and returns host and port.
pub(crate) fn serve(each: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let each = Arc::new(each);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
    host
}

/// Reads the head of a request, and its body as far as it came with it.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let mut bytes = vec![0; 64 << 10];
    let mut length = 0;
    while !bytes[..length].windows(4).any(|it| it == b"\r\n\r\n") {
        match stream.read(&mut bytes[length..]) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// A server that gives this answer to everything.
fn always(answer: String) -> String {
    serve(move |mut stream| {
        head(&mut stream);
        let _ = stream.write_all(answer.as_bytes());
    })
}

pub(crate) fn hello() -> String {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}"#;
    answer("200 OK", "content-type: application/json\r\n", body)
}

/// A server that speaks TLS and says hello.
pub(crate) fn secure() -> String {
    let config = certified();
    serve(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
        if !head(&mut stream).is_empty() {
            let _ = stream.write_all(hello().as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    })
}

/// A certificate of `authority.pem`, for `localhost`, `127.0.0.1` and `models.invalid`.
pub(crate) fn certified() -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(format!("{DATA}/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{DATA}/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    Arc::new(config)
}

/// Asks the model at this address once, with these variables.
pub(crate) fn ask(base_url: &str, variables: &[(&str, &str)]) -> Output {
    let folder = tempdir().unwrap();
    ask_in(folder.path(), base_url, variables)
}

fn ask_in(folder: &Path, base_url: &str, variables: &[(&str, &str)]) -> Output {
    claw(folder)
        .env("CLAW_LIMITS_ATTEMPTS", "1")
        .envs(variables.iter().copied())
        .args([
            "run",
            "-q",
            "--ephemeral",
            "--model",
            "m",
            "--base-url",
            base_url,
            "hi",
        ])
        .output()
        .unwrap()
}

#[test]
fn what_is_no_model_server_is_named() {
    let html = "content-type: text/html\r\n";
    let page = "<html><head><title>Welcome</title></head></html>";
    let plain = serve(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(answer("400 Bad Request", "", "").as_bytes());
    });
    let quiet = serve(|mut stream| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    let cases = [
        (
            format!("http://{}", always(answer("200 OK", html, page))),
            "the service answered with a web page (`Welcome`); check the base URL",
        ),
        (
            format!(
                "http://{}",
                always(answer(
                    "404 Not Found",
                    html,
                    "<html><title>404 Not Found</title>nginx"
                ))
            ),
            "status 404 with a web page (`404 Not Found`), so this is no model server's address; check the base URL",
        ),
        (
            format!(
                "http://{}",
                always(answer("200 OK", "", "Ollama is running"))
            ),
            "`Ollama is running` came in the place of a chat completion; check the base URL",
        ),
        (
            format!(
                "http://{}",
                always(answer("200 OK", "", r#"{"status": "ok"}"#))
            ),
            "the answer is no JSON of a chat completion; check the base URL",
        ),
        (
            format!(
                "http://{}",
                always(answer(
                    "302 Found",
                    "location: https://login.example/in?next=secret\r\n",
                    ""
                ))
            ),
            "the service redirects to `https://login.example/in` (status 302), which is not followed; check the base URL",
        ),
        (
            format!("https://{plain}"),
            "it does not speak TLS there: an address of this kind begins with `http://`",
        ),
        (
            format!("https://{quiet}"),
            "it does not speak TLS there: an address of this kind begins with `http://`",
        ),
        (
            format!("http://{quiet}"),
            "what answers there does not speak HTTP",
        ),
        (
            format!("http://{}", secure()),
            "the address begins with `https://`",
        ),
        (
            format!("https://{}", secure()),
            "its certificate is not trusted: name the file of the authority that signed it with `ca_file`",
        ),
    ];
    for (base_url, words) in cases {
        let output = ask(&base_url, &[]);
        assert_eq!(code(&output), Some(4), "{base_url}");
        let err = err(&output);
        assert!(err.contains(words), "{words}, in {err}");
        assert!(!err.contains("secret"), "{err}");
    }
}

#[test]
fn an_authority_of_ones_own_is_trusted_where_it_is_named() {
    let base_url = format!("https://{}", secure());
    let authority = format!("{DATA}/authority.pem");
    let trusted = |output: &Output| {
        assert_eq!(code(output), Some(0), "{}", err(output));
        assert_eq!(out(output), "Hello.\n");
    };
    let user = |text: &str| {
        let folder = tempdir().unwrap();
        let settings = folder.path().join(".config/claw");
        fs::create_dir_all(&settings).unwrap();
        fs::copy(&authority, settings.join("lab.pem")).unwrap();
        fs::write(settings.join("none.pem"), "nothing\n").unwrap();
        fs::write(settings.join("claw.toml"), text).unwrap();
        ask_in(folder.path(), &base_url, &[])
    };
    trusted(&user("ca_file = \"lab.pem\""));
    trusted(&user(
        "ca_file = \"none.pem\"\n[providers.custom]\nca_file = \"lab.pem\"",
    ));
    trusted(&ask(&base_url, &[("SSL_CERT_FILE", &authority)]));
    // A folder has its certificates under the hashes of their names, as `c_rehash` makes them.
    let folder = tempdir().unwrap();
    fs::copy(&authority, folder.path().join("0a1b2c3d.0")).unwrap();
    trusted(&ask(
        &base_url,
        &[("SSL_CERT_DIR", folder.path().to_str().unwrap())],
    ));
    let output = user("ca_file = \"none.pem\"");
    assert_eq!(code(&output), Some(2));
    let said = err(&output);
    assert!(
        said.contains("none.pem`, the `ca_file` of provider `custom`, cannot be used"),
        "{said}"
    );
    // The folder's own file may have come from anybody.
    let folder = tempdir().unwrap();
    fs::write(
        folder.path().join("claw.toml"),
        format!("ca_file = \"{authority}\""),
    )
    .unwrap();
    let output = ask_in(folder.path(), &base_url, &[]);
    assert_eq!(code(&output), Some(4));
    assert!(
        err(&output).contains("`ca_file`: ignored"),
        "{}",
        err(&output)
    );
}

#[test]
fn an_address_is_taken_as_people_paste_it() {
    for path in [
        "",
        "/",
        "/v1",
        "/v1/",
        "/v1/chat/completions",
        "/v1/chat/completions/",
        "/v1/models",
        "/v1/completions",
    ] {
        let service = Service::start([says("Hello.")]);
        let output = ask(&format!("{}{path}", service.root()), &[]);
        assert_eq!(out(&output), "Hello.\n", "{path}: {}", err(&output));
        assert_eq!(service.received()[0].path, "/v1/chat/completions", "{path}");
    }
}

#[test]
fn one_connection_serves_all_rounds() {
    use crate::service::calls;
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "text").unwrap();
    let call = || calls("read_file", &serde_json::json!({"path": "a.txt"}));
    let service = Service::start([call(), call(), says("Done.")]);
    let output = service
        .claw(folder.path())
        .args(["run", "-q", "hi"])
        .output()
        .unwrap();
    assert_eq!(out(&output), "Done.\n", "{}", err(&output));
    assert_eq!((service.requests().len(), service.connections()), (3, 1));
}
