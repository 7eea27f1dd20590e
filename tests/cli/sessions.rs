//! Sessions outlive the program: named, continued, listed, branched, moved.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::service::{Service, calls, says};
use crate::{code, err, out};

/// A folder with one session of two turns, `work`.
fn worked() -> (TempDir, Service) {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "seven\n").unwrap();
    let service = Service::start(vec![
        calls("read_file", &json!({"path": "a.txt"})),
        says("It says seven."),
        says("You asked what a.txt says."),
    ]);
    for prompt in ["what does a.txt say?", "what did I ask?"] {
        let output = service
            .claw(folder.path())
            .args(["run", "--session", "work", "--no-stamp", prompt])
            .output()
            .unwrap();
        assert_eq!(code(&output), Some(0), "{}", err(&output));
    }
    (folder, service)
}

fn sessions(folder: &Path, args: &[&str]) -> std::process::Output {
    crate::service::claw(folder)
        .arg("sessions")
        .args(args)
        .output()
        .unwrap()
}

fn listed(folder: &Path) -> Vec<Value> {
    let output = sessions(folder, &["list", "--json"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    serde_json::from_str(&out(&output)).unwrap()
}

#[test]
fn a_session_goes_on_in_another_process() {
    let (folder, service) = worked();
    let sent = service.requests();
    let last = sent.last().unwrap()["messages"].as_array().unwrap().clone();
    let said: Vec<_> = last
        .iter()
        .skip(1)
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(last[1]["content"], "what does a.txt say?");

    let list = listed(folder.path());
    assert_eq!(list.len(), 1);
    assert_eq!(list[0]["id"], "work");
    assert_eq!(list[0]["title"], "what does a.txt say?");
    assert_eq!(list[0]["state"], "idle");

    let output = sessions(folder.path(), &["show", "wo"]);
    let shown = out(&output);
    for part in [
        "what does a.txt say?",
        "▸ read_file({\"path\":\"a.txt\"})",
        "✓ ",
        "It says seven.",
        "You asked what a.txt says.",
    ] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
}

#[test]
fn the_last_session_is_continued_and_a_new_one_is_the_default() {
    let (folder, _service) = worked();
    let service = Service::start(vec![says("new"), says("old")]);
    let run = |args: &[&str]| {
        let output = service.claw(folder.path()).args(args).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", err(&output));
    };
    run(&["run", "--no-stamp", "hello"]);
    run(&["run", "--no-stamp", "-c", "again"]);
    let sent = service.requests();
    assert_eq!(sent[0]["messages"].as_array().unwrap().len(), 2);
    assert_eq!(sent[1]["messages"].as_array().unwrap().len(), 4);
    let list = listed(folder.path());
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["title"], "hello");
    assert_eq!(list[1]["id"], "work");
}

#[test]
fn ephemeral_keeps_nothing() {
    let folder = tempdir().unwrap();
    let service = Service::start(vec![says("ok")]);
    let output = service
        .claw(folder.path())
        .args(["run", "--ephemeral", "hello"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(!folder.path().join(".local").exists());
    let output = sessions(folder.path(), &["list", "--ephemeral"]);
    assert_eq!(code(&output), Some(2));
    let output = service
        .claw(folder.path())
        .args(["run", "--ephemeral", "-c", "hello"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(2), "{}", err(&output));
}

#[test]
fn a_session_moves_through_a_file_and_branches() {
    let (folder, _service) = worked();
    let path = folder.path();
    let output = sessions(path, &["export", "work", "work.jsonl"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let file = fs::read_to_string(path.join("work.jsonl")).unwrap();
    // A file that is there is not written over.
    let output = sessions(path, &["export", "work", "work.jsonl"]);
    assert_eq!(code(&output), Some(1));
    assert!(
        err(&output).contains("cannot write `work.jsonl`"),
        "{}",
        err(&output)
    );

    let output = sessions(path, &["import", "work.jsonl"]);
    assert!(
        err(&output).contains("there is a session `work` already"),
        "{}",
        err(&output)
    );
    let output = sessions(path, &["import", "work.jsonl", "--as", "copy"]);
    assert_eq!(
        (code(&output), &*out(&output)),
        (Some(0), "copy\n"),
        "{}",
        err(&output)
    );
    let output = sessions(path, &["export", "copy"]);
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(&out(&output)), body(&file));

    // Torn in its fourth line.
    let ends: Vec<_> = file.match_indices('\n').map(|(at, _)| at).collect();
    fs::write(path.join("torn.jsonl"), &file[..ends[3] - 5]).unwrap();
    let output = sessions(path, &["import", "torn.jsonl", "--as", "torn"]);
    assert_eq!(code(&output), Some(1), "{}", err(&output));
    assert!(
        err(&output).contains("line 4 and what follows was not taken"),
        "{}",
        err(&output)
    );
    let rest = fs::read_to_string(path.join("torn.jsonl.rest")).unwrap();
    assert_eq!(rest, file[ends[2] + 1..ends[3] - 5]);

    let output = sessions(path, &["branch", "work", "--at", "1", "--as", "again"]);
    assert_eq!(
        (code(&output), &*out(&output)),
        (Some(0), "again\n"),
        "{}",
        err(&output)
    );
    let again = listed(path)
        .into_iter()
        .find(|it| it["id"] == "again")
        .unwrap();
    assert_eq!(again["parent"], json!({"session": "work", "seq": 1}));
    assert_eq!(again["events"], 1);
    let output = sessions(path, &["branch", "work", "--at", "999"]);
    assert_eq!(code(&output), Some(2));
    assert!(
        err(&output).contains("session `work` has no event 999"),
        "{}",
        err(&output)
    );

    // What was torn off held its blobs.
    let output = sessions(path, &["verify"]);
    assert_eq!(code(&output), Some(1), "{}", err(&output));
    assert!(
        err(&output).contains("✗ torn: the blob `"),
        "{}",
        err(&output)
    );
    for id in ["work", "copy", "again"] {
        assert!(
            err(&output).contains(&format!("✓ {id}: ")),
            "{}",
            err(&output)
        );
    }
}

#[test]
fn a_question_waits_for_its_answer_in_another_process() {
    for (answer, written) in [("--yes", true), ("--no", false)] {
        let folder = tempdir().unwrap();
        let service = Service::start(vec![
            calls("write_file", &json!({"path": "b.txt", "content": "eight"})),
            says("So be it."),
        ]);
        let run = |args: &[&str]| service.claw(folder.path()).args(args).output().unwrap();
        let output = run(&["run", "--park", "1h", "--session", "p", "write b.txt"]);
        assert_eq!(code(&output), Some(7), "{}", err(&output));
        assert_eq!(listed(folder.path())[0]["state"], "asks");
        assert!(!folder.path().join("b.txt").exists());

        // Still open: nobody has answered.
        let output = run(&["sessions", "resume", "p", "--park", "1h"]);
        assert_eq!(code(&output), Some(7), "{}", err(&output));
        let output = sessions(folder.path(), &["answer", "p", answer]);
        assert_eq!(code(&output), Some(0), "{}", err(&output));
        let output = run(&["sessions", "resume", "p", "--park", "1h"]);
        assert_eq!(code(&output), Some(0), "{}", err(&output));
        assert_eq!(out(&output), "So be it.\n");
        assert_eq!(folder.path().join("b.txt").exists(), written);
        assert_eq!(listed(folder.path())[0]["state"], "idle");
        let output = sessions(folder.path(), &["answer", "p", "--yes"]);
        assert!(
            err(&output).contains("session `p` asks nothing"),
            "{}",
            err(&output)
        );
    }
}

#[test]
fn a_question_that_was_taken_back_is_not_open() {
    let folder = tempdir().unwrap();
    let service = Service::start(vec![calls("exec", &json!({"command": "echo hi"}))]);
    let output = service
        .claw(folder.path())
        .args(["run", "--park", "1h", "--session", "p", "say hi"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(7), "{}", err(&output));
    let output = sessions(folder.path(), &["undo", "p"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let output = sessions(folder.path(), &["answer", "p", "--yes"]);
    assert_eq!(
        (code(&output), &*err(&output)),
        (Some(2), "error: session `p` asks nothing\n")
    );
}

#[test]
fn what_is_sent_to_a_resting_session_is_said_when_it_goes_on() {
    let (folder, _service) = worked();
    for _ in 0..2 {
        let output = sessions(
            folder.path(),
            &["send", "work", "--key", "k", "one more thing"],
        );
        assert_eq!(code(&output), Some(0), "{}", err(&output));
    }
    let service = Service::start(vec![says("Heard.")]);
    let resume = || {
        service
            .claw(folder.path())
            .args(["sessions", "resume", "work"])
            .output()
            .unwrap()
    };
    let output = resume();
    assert_eq!(
        (code(&output), &*out(&output)),
        (Some(0), "Heard.\n"),
        "{}",
        err(&output)
    );
    let sent = service.requests();
    let last = sent[0]["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["content"], "one more thing");
    let output = resume();
    assert_eq!(
        (code(&output), &*out(&output)),
        (Some(0), ""),
        "{}",
        err(&output)
    );
    assert!(
        err(&output).contains("nothing is left to do"),
        "{}",
        err(&output)
    );
}

#[test]
fn deleting_is_asked_for_twice_or_said_for_sure() {
    let (folder, _service) = worked();
    let output = sessions(folder.path(), &["delete", "work"]);
    assert_eq!(code(&output), Some(2));
    assert_eq!(listed(folder.path()).len(), 1);
    let output = sessions(folder.path(), &["delete", "work", "--yes"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(listed(folder.path()).is_empty());
    let output = sessions(folder.path(), &["show", "work"]);
    assert_eq!(code(&output), Some(2));
    assert!(
        err(&output).contains("there is no session `work`"),
        "{}",
        err(&output)
    );
}

#[test]
fn the_folders_own_config_does_not_say_where_sessions_go() {
    let (folder, _service) = worked();
    let config = "[sessions]\nfile = \"/tmp/elsewhere.db\"\n";
    fs::write(folder.path().join("claw.toml"), config).unwrap();
    let output = sessions(folder.path(), &["list"]);
    assert!(
        err(&output).contains("may not decide `sessions`"),
        "{}",
        err(&output)
    );
    assert!(out(&output).contains("work"), "{}", out(&output));
}

#[test]
fn the_agent_cannot_touch_its_own_sessions() {
    let folder = tempdir().unwrap();
    let service = Service::start(vec![
        calls(
            "read_file",
            &json!({"path": ".local/share/claw/sessions.db"}),
        ),
        says("Refused."),
    ]);
    let output = service
        .claw(folder.path())
        .args(["run", "--json", "read your sessions"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(
        out(&output).contains("may not be opened: permission denied"),
        "{}",
        out(&output)
    );
}

#[test]
fn turns_are_taken_back_and_brought_again() {
    let folder = tempdir().unwrap();
    let service = Service::start(vec![says("one"), says("two"), says("three")]);
    let output = service
        .claw(folder.path())
        .args(["chat", "--session", "u", "--no-stamp"])
        .write_stdin("first\n/undo\n/undo\nsecond\n/usage\n")
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(
        err(&output).contains("taken back; what its calls did is done"),
        "{}",
        err(&output)
    );
    assert!(
        err(&output).contains("there is nothing to take back"),
        "{}",
        err(&output)
    );
    let sent = service.requests();
    let last = sent[1]["messages"].as_array().unwrap().clone();
    assert_eq!(last.len(), 2, "{last:?}");
    assert_eq!(last[1]["content"], "second");

    let output = sessions(folder.path(), &["undo", "u"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let output = sessions(folder.path(), &["undo", "u", "--redo"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let output = sessions(folder.path(), &["undo", "u", "--redo"]);
    assert_eq!(code(&output), Some(1), "{}", err(&output));
    let output = service
        .claw(folder.path())
        .args(["run", "--session", "u", "--no-stamp", "third"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let sent = service.requests();
    let roles: Vec<_> = sent[2]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["second", "two", "third"]);
}

#[test]
fn doctor_says_whether_sessions_are_whole() {
    let (folder, service) = worked();
    let doctor = || service.claw(folder.path()).arg("doctor").output().unwrap();
    assert!(
        out(&doctor()).contains("1 whole, in "),
        "{}",
        out(&doctor())
    );
    let file = folder.path().join(".local/share/claw/sessions.db");
    fs::write(
        &file,
        "no database, but long enough to look like one".repeat(100),
    )
    .unwrap();
    let output = doctor();
    assert!(out(&output).contains("✗ sessions"), "{}", out(&output));
    assert_ne!(code(&output), Some(0));
    // Everything else says so too, and nothing is written over.
    let output = service
        .claw(folder.path())
        .args(["run", "hello"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(1), "{}", err(&output));
    assert!(err(&output).contains("sessions.db"), "{}", err(&output));
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("no database")
    );
}

#[test]
fn a_session_is_played_again_without_its_model_and_tools() {
    let (folder, service) = worked();
    fs::remove_file(folder.path().join("a.txt")).unwrap();
    let asked = service.requests();
    let output = sessions(folder.path(), &["replay", "work"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert_eq!(out(&output), "It says seven.\nYou asked what a.txt says.\n");
    for part in [
        "› what does a.txt say?",
        "▸ read_file(path: \"a.txt\")",
        "✓ read_file: ",
    ] {
        assert!(
            err(&output).contains(part),
            "{part} is missing in\n{}",
            err(&output)
        );
    }
    // The requests are those that were sent.
    let output = sessions(folder.path(), &["replay", "work", "--requests"]);
    let played: Vec<Value> = out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(played.len(), 3);
    for (played, asked) in played.iter().zip(&asked) {
        let count = asked["messages"].as_array().unwrap().len() - 1;
        assert_eq!(played["messages"].as_array().unwrap().len(), count);
    }
    assert_eq!(service.requests().len(), 3);
}
