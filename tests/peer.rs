//! The program against peers that were not written by us: a scripted service from npm, and a small real model.
//!
//! Each test says that it skipped where its peer is not at hand. `.ci/run` installs the npm peer under `target/peer`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs `claw` in `folder` with nothing of this machine's own settings.
fn claw(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_claw"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A peer's process, ended with the test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const FIXTURES: &str = r#"{"fixtures": [
    {"match": {"userMessage": "notes", "hasToolResult": false},
     "response": {"toolCalls": [{"name": "read_file", "arguments": "{\"path\": \"notes.txt\"}"}]}},
    {"match": {"userMessage": "mistake", "hasToolResult": false},
     "response": {"toolCalls": [{"name": "read_file", "arguments": "{\"file\": \"notes.txt\"}"}]}},
    {"match": {"userMessage": "write", "hasToolResult": false},
     "response": {"toolCalls": [{"name": "write_file", "arguments": "{\"path\": \"x\", \"content\": \"y\"}"}]}},
    {"match": {"hasToolResult": true}, "response": {"content": "That is what the tool said."}},
    {"match": {"userMessage": "key"},
     "response": {"error": {"message": "wrong key", "type": "authentication_error"}, "status": 401}}
]}"#;

/// Starts the npm peer on a free port; `None` where it is not installed.
fn start_aimock(folder: &Path) -> Option<(Peer, String)> {
    let program = Path::new(ROOT).join("target/peer/node_modules/.bin/llmock");
    if !program.exists() {
        return None;
    }
    let fixtures = folder.join("fixtures.json");
    std::fs::write(&fixtures, FIXTURES).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut child = Command::new(program)
        .args(["-p", &port.to_string(), "-f"])
        .arg(&fixtures)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let peer = Peer(child);
    let listens = lines
        .map_while(Result::ok)
        .any(|line| line.contains("listening"));
    assert!(listens, "the peer ended before it listened");
    Some((peer, format!("http://127.0.0.1:{port}/v1")))
}

#[test]
fn a_whole_loop_with_a_peer_of_native_calls() {
    let folder = tempfile::tempdir().unwrap();
    let Some((_peer, base)) = start_aimock(folder.path()) else {
        println!("skipped: npm package `@copilotkit/aimock` is not installed under target/peer");
        return;
    };
    std::fs::write(folder.path().join("notes.txt"), "hello from the notes\n").unwrap();
    let ask = |prompt| {
        claw(
            folder.path(),
            &[
                "run",
                "--json",
                "--model",
                "openai:gpt-4o",
                "--base-url",
                &base,
                prompt,
            ],
        )
    };
    let outcome_of = |output: &Output| -> (String, String) {
        let events = text(&output.stdout);
        let find = |kind: &str| {
            events
                .lines()
                .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
                .find(|event| event["event"] == kind)
                .unwrap_or_else(|| panic!("no `{kind}` in:\n{events}\n{}", text(&output.stderr)))
        };
        let outcome = find("outcome");
        let said = outcome["content"][0]["text"].as_str().unwrap().to_owned();
        (outcome["status"].as_str().unwrap().to_owned(), said)
    };

    let run = ask("read my notes");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert_eq!(
        outcome_of(&run),
        ("ok".to_owned(), "hello from the notes\n".to_owned())
    );
    assert!(text(&run.stdout).contains("That is what the tool said."));

    let (status, report) = outcome_of(&ask("make a mistake"));
    assert_eq!(status, "invalid");
    assert!(
        report.contains("- /path: required, missing (string)"),
        "{report}"
    );

    let (status, refusal) = outcome_of(&ask("write it down"));
    assert_eq!(status, "denied");
    assert!(refusal.contains("`write_file`"), "{refusal}");
    assert!(!folder.path().join("x").exists());

    assert_eq!(ask("wrong key").status.code(), Some(4));
}

#[test]
fn a_small_real_model_is_asked_in_prose_and_nothing_breaks() {
    let server = Path::new(ROOT).join("../shared/bin/model-server");
    if !server.exists() {
        println!("skipped: there is no model server beside the project");
        return;
    }
    let Some(base) = start_model(&server) else {
        println!("skipped: the model server does not start here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "hello from the notes\n").unwrap();
    std::fs::write(
        folder.path().join("claw.toml"),
        format!(
            "model = \"local:smollm2-135m-instruct\"\n\
             [providers.local]\nbase_url = \"{base}\"\nprotocol = \"prompt\"\n\
             [policy]\nallow = [\"now\"]\ndeny = [\"exec\", \"write_file\", \"edit_file\", \"read_many\", \"grep\", \"glob\", \"list_dir\"]\n\
             [limits]\nrounds = 4\nmax_output_tokens = 120\n"
        ),
    )
    .unwrap();
    for prompt in ["What time is it? Use the tool `now`.", "Say hello."] {
        let started = Instant::now();
        let run = claw(
            folder.path(),
            &["run", "--json", "--config", "claw.toml", prompt],
        );
        let events: Vec<serde_json::Value> = text(&run.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let request = events
            .iter()
            .find(|event| event["event"] == "model_request")
            .unwrap();
        assert_eq!(request["target"]["protocol"], "prompt");
        let end = events
            .iter()
            .find(|event| event["event"] == "turn_end")
            .unwrap();
        println!(
            "{prompt} -> {} in {:?}\n  {}",
            run.status,
            started.elapsed(),
            end["outcome"]
        );
        for event in events.iter().filter(|event| event["event"] == "outcome") {
            println!("  call: {event}");
        }
        // What a weak model says is its own affair; that the turn ends in a written outcome is ours.
        assert!(
            matches!(run.status.code(), Some(0 | 4 | 5)),
            "{}",
            text(&run.stderr)
        );
        assert!(!end["outcome"]["text"].as_str().unwrap().is_empty());
    }
}

/// Starts the model server, or finds it running; it prints its address.
fn start_model(server: &PathBuf) -> Option<String> {
    let deadline = Instant::now() + Duration::from_secs(600);
    let mut child = Command::new(server)
        .arg("start")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take()?)
        .read_line(&mut line)
        .ok()?;
    while child.try_wait().ok()?.is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let base = line.trim();
    base.starts_with("http").then(|| base.to_owned())
}
