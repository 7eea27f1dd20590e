//! What a turn shows on standard error, line by line.

use std::fs;

use serde_json::json;
use tempfile::tempdir;

use crate::service::{Service, calls, content, fails, says};
use crate::{code, err, out};

#[test]
fn a_failed_attempt_tells_when_the_next_one_comes() {
    let service = Service::start([fails(429, "slow down"), says("there")]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "hi"])
        .output()
        .unwrap();
    assert_eq!((code(&output), out(&output)), (Some(0), "there\n".into()));
    let err = err(&output);
    assert!(
        err.starts_with("! rate limited: slow down; trying again in ")
            && err.ends_with(" s (2 of 4)\n"),
        "{err}"
    );
}

#[test]
fn what_a_terminal_obeys_is_neutral_in_calls_and_results() {
    const ACTIVE: &str = "\x1b]0;t\x07\u{9b}2J\u{202e}\u{2066}";
    let service = Service::start([
        calls("read_file", &json!({"path": format!("{ACTIVE}.txt")})),
        calls(&format!("no{ACTIVE}"), &json!({})),
        calls("read_file", &json!({"path": "long.txt"})),
        says(&format!("Done{ACTIVE}.")),
    ]);
    let folder = tempdir().unwrap();
    let long = format!("{ACTIVE}{}", "漢字 ".repeat(500));
    fs::write(folder.path().join("long.txt"), long).unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "go"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let shown = out(&output) + &err(&output);
    let is_neutral = |c: char| !c.is_control() || c == '\n';
    assert!(shown.chars().all(is_neutral), "{shown:?}");
    assert!(!shown.contains(['\u{202e}', '\u{2066}']), "{shown:?}");
    let err = err(&output);
    assert_eq!(err.lines().count(), 5, "{err}");
    // 100 columns where there is no terminal, and two a character of this text.
    assert!(err.lines().all(|line| line.chars().count() <= 100), "{err}");
    let last = err.lines().last().unwrap();
    assert!(last.ends_with('…') && last.chars().count() < 75, "{last}");
}

#[test]
fn a_tool_loop_shows_calls_on_stderr_and_ends_with_the_answer() {
    let service = Service::start([
        calls("read_file", &json!({"path": "note.txt"})),
        says("It says: remember."),
    ]);
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("note.txt"), "remember\n").unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "What does the note say?"])
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), out(&output)),
        (Some(0), "It says: remember.\n".into())
    );
    let err = err(&output);
    assert!(err.contains("▸ read_file(path: \"note.txt\")"), "{err}");
    assert!(err.contains("✓ read_file"), "{err}");
    let last = service.requests()[1]["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["role"], "tool");
    assert!(content(&last).contains("remember"));
}
