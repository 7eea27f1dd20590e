//! Proxies: which are used as the environment says, and each of their protocols, with TLS to the server and without.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConnection, StreamOwned};
use tempfile::tempdir;

use crate::network::{DATA, answer, ask, certified, head, hello, secure, serve};
use crate::service::{Service, claw, says};
use crate::{code, err, out};

/// What a proxy was asked, in its own protocol's words.
type Log = Arc<Mutex<Vec<String>>>;

/// A proxy that passes bytes on, to `server` wherever it is told to: it answers `CONNECT` and the three forms of SOCKS.
fn passing_on(server: String, log: Log) -> String {
    serve(move |mut stream| {
        let mut first = [0];
        if stream.read_exact(&mut first).is_ok() {
            let asked = match first[0] {
                4 => socks4(&mut stream),
                5 => socks5(&mut stream),
                _ => connect(&mut stream),
            };
            if let Ok(asked) = asked {
                log.lock().unwrap().push(asked);
                join(stream, TcpStream::connect(&server).unwrap());
            }
        }
    })
}

/// Copies both ways until one side ends.
fn join(one: TcpStream, other: TcpStream) {
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    };
    let (back, forth) = (
        (other.try_clone().unwrap(), one.try_clone().unwrap()),
        (one, other),
    );
    thread::spawn(move || copy(back.0, back.1));
    copy(forth.0, forth.1);
}

/// RFC 9110, 9.3.6.
fn connect(stream: &mut TcpStream) -> io::Result<String> {
    let head = head(stream);
    let wanted = |line: &&str| line.starts_with("ONNECT") || line.starts_with("Proxy-Auth");
    let asked: Vec<&str> = head.lines().filter(wanted).collect();
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    Ok(format!("C{}", asked.join(", ")))
}

fn until_zero(stream: &mut TcpStream) -> io::Result<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte)?;
        match byte[0] {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            byte => text.push(byte),
        }
    }
}

/// SOCKS 4, and 4A where the address is 0.0.0.x and a name follows.
fn socks4(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = [0; 7];
    stream.read_exact(&mut request)?;
    let [_, high, low, a, b, c, d] = request;
    until_zero(stream)?;
    let host = match [a, b, c] {
        [0, 0, 0] => until_zero(stream)?,
        _ => format!("{a}.{b}.{c}.{d}"),
    };
    stream.write_all(&[0, 90, 0, 0, 0, 0, 0, 0])?;
    Ok(format!("socks4 {host}:{}", u16::from_be_bytes([high, low])))
}

/// RFC 1928, and RFC 1929 where a name and a password are offered.
fn socks5(stream: &mut TcpStream) -> io::Result<String> {
    let bytes = |stream: &mut TcpStream, count: usize| {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).map(|()| bytes)
    };
    let text = |stream: &mut TcpStream| {
        let count = bytes(stream, 1)?[0];
        bytes(stream, count.into()).map(|it| String::from_utf8_lossy(&it).into_owned())
    };
    let count = bytes(stream, 1)?[0];
    let methods = bytes(stream, count.into())?;
    let mut login = String::new();
    if methods.contains(&2) {
        stream.write_all(&[5, 2])?;
        bytes(stream, 1)?;
        login = format!("{}:{}@", text(stream)?, text(stream)?);
        stream.write_all(&[1, 0])?;
    } else {
        stream.write_all(&[5, 0])?;
    }
    let host = match bytes(stream, 4)?[3] {
        1 => {
            let ip = bytes(stream, 4)?;
            format!("{}.{}.{}.{}", ip[0], ip[1], ip[2], ip[3])
        }
        3 => text(stream)?,
        other => format!("an address of kind {other}"),
    };
    let port = bytes(stream, 2)?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    let port = u16::from_be_bytes([port[0], port[1]]);
    Ok(format!("socks5 {login}{host}:{port}"))
}

#[test]
fn each_protocol_of_a_proxy_is_spoken() {
    let trusted = format!("{DATA}/authority.pem");
    let log = Log::default();
    let taken = || log.lock().unwrap().drain(..).collect::<Vec<_>>();
    let tls = passing_on(secure(), log.clone());
    let plain = serve(|mut stream| {
        head(&mut stream);
        let _ = stream.write_all(hello().as_bytes());
    });
    let plain = passing_on(plain, log.clone());
    for (proxy, server, asked) in [
        // Only the proxy can find out this host's address.
        (
            format!("http://{tls}"),
            "https://models.invalid/v1",
            "CONNECT models.invalid:443 HTTP/1.1",
        ),
        (
            format!("http://me:pass%20word@{tls}"),
            "https://models.invalid:8443/v1",
            "CONNECT models.invalid:8443 HTTP/1.1, Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk",
        ),
        (
            format!("socks5h://{tls}"),
            "https://models.invalid/v1",
            "socks5 models.invalid:443",
        ),
        (
            format!("socks5h://me:pass%20word@{tls}"),
            "https://models.invalid/v1",
            "socks5 me:pass word@models.invalid:443",
        ),
        (
            format!("socks4a://{tls}"),
            "https://models.invalid/v1",
            "socks4 models.invalid:443",
        ),
        (
            format!("socks5h://{plain}"),
            "http://models.invalid/v1",
            "socks5 models.invalid:80",
        ),
        (
            format!("socks5://{plain}"),
            "http://192.0.2.7:81/v1",
            "socks5 192.0.2.7:81",
        ),
        (
            format!("socks4://{plain}"),
            "http://192.0.2.7/v1",
            "socks4 192.0.2.7:80",
        ),
    ] {
        let output = ask(
            server,
            &[("ALL_PROXY", &proxy), ("SSL_CERT_FILE", &trusted)],
        );
        assert_eq!(out(&output), "Hello.\n", "{proxy}: {}", err(&output));
        assert_eq!(taken(), [asked], "{proxy}");
    }
}

/// The way to the proxy is encrypted too.
#[test]
fn a_proxy_may_speak_tls_itself() {
    let trusted = format!("{DATA}/authority.pem");
    let config = certified();
    let asked = Log::default();
    let log = asked.clone();
    // It passes nothing on, so that both kinds of requests can be looked at.
    let proxy = serve(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
        let head = head(&mut stream);
        let line = head.lines().next().unwrap_or_default().to_owned();
        let answer = match line.starts_with("CONNECT") {
            true => answer("403 Forbidden", "", ""),
            false => hello(),
        };
        let login = head
            .to_ascii_lowercase()
            .contains("proxy-authorization: basic bwu6cgfzcw==");
        log.lock().unwrap().push(format!("{line}, {login}"));
        let _ = stream.write_all(answer.as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    let proxy = format!("https://me:pass@{proxy}");
    let variables: [(&str, &str); 2] = [("ALL_PROXY", &proxy), ("SSL_CERT_FILE", &trusted)];
    let output = ask("http://models.invalid/v1", &variables);
    assert_eq!(out(&output), "Hello.\n", "{}", err(&output));
    let output = ask("https://models.invalid/v1", &variables);
    assert_eq!(code(&output), Some(4));
    let said = err(&output);
    assert!(
        said.contains("no connection: tunnel error: unsuccessful"),
        "{said}"
    );
    assert_eq!(
        *asked.lock().unwrap(),
        [
            "POST http://models.invalid/v1/chat/completions HTTP/1.1, true",
            "CONNECT models.invalid:443 HTTP/1.1, true"
        ]
    );
}

#[test]
fn proxies_are_used_as_the_environment_says() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = heard.clone();
    let proxy = serve(move |mut stream| {
        let head = head(&mut stream);
        let line = head.lines().next().unwrap_or_default().to_owned();
        let answer = match line.starts_with("CONNECT ") {
            true => answer("502 Bad Gateway", "", ""),
            false => hello(),
        };
        log.lock().unwrap().push(head);
        let _ = stream.write_all(answer.as_bytes());
    });
    let first_line = || {
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        let lines: Vec<String> = heard
            .iter()
            .filter_map(|head| head.lines().next().map(str::to_owned))
            .collect();
        lines.first().cloned().unwrap_or_default()
    };
    let address = format!("http://{proxy}");
    // No such host exists: only a proxy can answer for it.
    let (plain, tls) = ("http://models.invalid/v1", "https://models.invalid/v1");
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let output = ask(plain, &[(name, &address)]);
        assert_eq!(out(&output), "Hello.\n", "{name}: {}", err(&output));
        assert_eq!(
            first_line(),
            "POST http://models.invalid/v1/chat/completions HTTP/1.1"
        );
    }
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        assert_eq!(code(&ask(tls, &[(name, &address)])), Some(4));
        assert_eq!(
            first_line(),
            "CONNECT models.invalid:443 HTTP/1.1",
            "{name}"
        );
    }
    for unproxied in ["models.invalid", ".invalid", "*", "other,models.invalid"] {
        let output = ask(plain, &[("ALL_PROXY", &address), ("NO_PROXY", unproxied)]);
        assert_eq!(
            (code(&output), first_line()),
            (Some(4), String::new()),
            "{unproxied}"
        );
    }
    // A proxy cannot reach this machine, whatever is said.
    let service = Service::start([says("Hello."), says("Hello.")]);
    let port = service.root().rsplit(':').next().unwrap();
    for base_url in [&service.url, &format!("http://localhost:{port}")] {
        let output = ask(
            base_url,
            &[("ALL_PROXY", &address), ("HTTP_PROXY", &address)],
        );
        assert_eq!(out(&output), "Hello.\n", "{}", err(&output));
        assert_eq!(first_line(), "");
    }
    // Its password is one like any other.
    let known = format!("http://me:proxy-password-1@{proxy}");
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("leak.txt"), "proxy-password-1").unwrap();
    let output = claw(folder.path())
        .env("HTTPS_PROXY", &known)
        .args(["tools", "call", "read_file", r#"{"path": "leak.txt"}"#])
        .output()
        .unwrap();
    assert!(out(&output).contains("***") && !out(&output).contains("proxy-password"));
}
