//! A small real model, where its server stands beside the project.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::claw;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
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
        let run = claw(folder.path())
            .args(["run", "--json", "--config", "claw.toml", prompt])
            .output()
            .unwrap();
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
