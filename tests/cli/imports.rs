//! Sessions from a file that nobody vouches for, and what is told of those that somebody else runs.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tempfile::tempdir;

use crate::service::{Answer, Service, calls, claw, says};
use crate::{code, err, out};

fn sessions(folder: &Path, args: &[&str]) -> std::process::Output {
    claw(folder).arg("sessions").args(args).output().unwrap()
}

#[test]
fn what_a_file_lets_run_is_told_and_what_became_of_its_calls_too() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let service = Service::start(vec![
        calls("exec", &json!({"command": "echo hi"})),
        says("Said hi."),
        says("I looked."),
    ]);
    let run = |args: &[&str]| service.claw(path).args(args).output().unwrap();
    let output = run(&["run", "--park", "1h", "--session", "p", "say hi"]);
    assert_eq!(code(&output), Some(7), "{}", err(&output));
    let output = sessions(path, &["answer", "p", "--session"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let output = run(&["sessions", "resume", "p"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let file = out(&sessions(path, &["export", "p"]));

    fs::write(path.join("whole.jsonl"), &file).unwrap();
    let output = sessions(path, &["import", "whole.jsonl", "--as", "copy"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let told = err(&output);
    assert!(
        told.contains("somebody allowed calls for the whole session (1 times)")
            && !told.contains("under way"),
        "{told}"
    );

    // As a process leaves it that ends in the midst of the call.
    let started = file.find("\"kind\":\"intent\"").unwrap();
    let end = started + file[started..].find('\n').unwrap();
    fs::write(path.join("cut.jsonl"), &file[..=end]).unwrap();
    let output = sessions(path, &["import", "cut.jsonl", "--as", "cut"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(
        err(&output).contains("a turn is under way"),
        "{}",
        err(&output)
    );
    let output = run(&["sessions", "resume", "cut"]);
    assert_eq!((code(&output), &*out(&output)), (Some(0), "I looked.\n"));
    let told = err(&output);
    assert!(
        told.contains("✗ exec(command: \"echo hi\"): The process ended while this call ran."),
        "{told}"
    );
}

#[test]
fn a_file_without_a_readable_beginning_is_no_session() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("a.jsonl"), "{\"claw_session\":1,\"id\":\"a\"}").unwrap();
    let output = sessions(path, &["import", "a.jsonl"]);
    assert_eq!(code(&output), Some(2));
    assert!(
        err(&output).starts_with(
            "error: not an exported session: its first line cannot be read: the line breaks off\n"
        ),
        "{}",
        err(&output)
    );
}

#[test]
fn no_id_at_all_names_no_session() {
    let folder = tempdir().unwrap();
    let service = Service::start(vec![says("ok")]);
    let run = |args: &[&str]| service.claw(folder.path()).args(args).output().unwrap();
    assert_eq!(code(&run(&["run", "--session", "only", "hello"])), Some(0));
    for args in [
        &["sessions", "delete", "--yes", ""][..],
        &["run", "--session", "", "hello"],
    ] {
        let output = run(args);
        assert_eq!(code(&output), Some(2), "{args:?}");
        assert!(
            err(&output).contains("a session's id is empty"),
            "{}",
            err(&output)
        );
    }
    let list = out(&sessions(folder.path(), &["list"]));
    // One line, with what was said and not with when.
    assert!(
        list.starts_with("only ") && list.ends_with("  hello\n"),
        "{list}"
    );
}

#[test]
fn a_session_in_use_names_its_process_and_the_way_out() {
    let folder = tempdir().unwrap();
    let service = Service::start(vec![Answer::Silence]);
    let mut running = std::process::Command::new(env!("CARGO_BIN_EXE_claw"))
        .args(["run", "--session", "s", "wait"])
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("CLAW_BASE_URL", &service.url)
        .env("CLAW_MODEL", "m")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while service.requests().is_empty() {
        assert_eq!(running.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for args in [
        &["run", "--session", "s", "x"][..],
        &["sessions", "resume", "s"],
    ] {
        let output = service.claw(folder.path()).args(args).output().unwrap();
        assert_eq!(code(&output), Some(1));
        assert_eq!(
            err(&output),
            format!(
                "error: session `s` is in use by process {}\n\
                 hint: leave it there first, or begin a branch: `sessions branch ID`\n",
                running.id()
            )
        );
    }
    running.kill().unwrap();
    running.wait().unwrap();
}
