//! Turns against the service: `run`, `chat` and `doctor`.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::service::{Answer, Service, calls, content, fails, says};
use crate::{code, err, out, run};

#[test]
fn the_answer_alone_is_on_stdout_without_escape_codes() {
    let service = Service::start([says("It is 12\u{a0}°C.\x1b[31m")]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "How warm", "is it?"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert_eq!(out(&output), "It is 12\u{a0}°C.␛[31m\n");
    assert!(!err(&output).contains('\x1b'));
    let requests = service.requests();
    let asked = requests[0]["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let text = content(&asked);
    let (stamp, prompt) = text.split_once("] ").unwrap();
    assert_eq!(prompt, "How warm is it?");
    assert_eq!(stamp.len(), "[Sat 2026-02-28 14:30 +08:00".len(), "{stamp}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_a_failure() {
    let service = Service::start([says("lost"), says("lost")]);
    let folder = tempdir().unwrap();
    for args in [&["run", "hi"][..], &["run", "--json", "hi"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_claw"))
            .args(args)
            .env_clear()
            .env("HOME", folder.path())
            .env("CLAW_BASE_URL", &service.url)
            .env("CLAW_MODEL", "m")
            .current_dir(folder.path())
            .stdin(std::process::Stdio::null())
            .stdout(full)
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn text_piped_in_follows_the_prompt() {
    let service = Service::start([says("short"), says("alone")]);
    let folder = tempdir().unwrap();
    service
        .claw(folder.path())
        .args(["--no-stamp", "run", "Shorten:"])
        .write_stdin("a long story\n")
        .assert()
        .success();
    service
        .claw(folder.path())
        .args(["--no-stamp"])
        .write_stdin("only piped")
        .assert()
        .success();
    let prompts: Vec<String> = service
        .requests()
        .iter()
        .map(|request| content(request["messages"].as_array().unwrap().last().unwrap()))
        .collect();
    assert_eq!(prompts, ["Shorten:\n\na long story\n", "only piped"]);
}

#[test]
fn json_is_one_event_a_line_with_the_outcome_last() {
    let service = Service::start([calls("read_file", &json!({"path": "no"})), says("gone")]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "--json", "read it"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let events: Vec<Value> = out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    for name in [
        "user_input",
        "model_request",
        "delta",
        "assistant",
        "intent",
        "outcome",
        "turn_end",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let last = events.last().unwrap();
    assert_eq!(last["event"], "end");
    assert_eq!(
        (&last["outcome"]["text"], &last["exit_code"]),
        (&json!("gone"), &json!(0))
    );
}

#[test]
fn json_without_a_model_is_an_event_too() {
    let (_folder, output) = run(&["run", "--json", "hi"]);
    let last: Value = serde_json::from_str(out(&output).lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["event"], &last["exit_code"]),
        (&json!("error"), &json!(3))
    );
    assert_eq!(code(&output), Some(3));
}

#[test]
fn a_refused_key_ends_with_4_and_is_not_repeated() {
    let service = Service::start([fails(401, "Incorrect API key provided: key-1234")]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "hi", "--log", "trace"])
        .output()
        .unwrap();
    assert_eq!((code(&output), out(&output)), (Some(4), String::new()));
    let err = err(&output);
    assert!(
        err.contains("not authorised") && err.contains("hint: check the key"),
        "{err}"
    );
    assert!(!err.contains("key-1234"), "{err}");
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn without_a_terminal_a_call_that_asks_is_denied_and_the_rule_named() {
    let service = Service::start([
        calls("write_file", &json!({"path": "new.txt", "content": "x"})),
        says("I was not allowed to."),
    ]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "write it"])
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), out(&output)),
        (Some(0), "I was not allowed to.\n".into())
    );
    assert!(!folder.path().join("new.txt").exists());
    let told = content(
        service.requests()[1]["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap(),
    );
    assert!(told.contains("ask"), "{told}");
    assert!(err(&output).contains("✗ write_file("), "{}", err(&output));
}

#[test]
fn an_allowed_call_runs_without_a_question() {
    let service = Service::start([
        calls("write_file", &json!({"path": "new.txt", "content": "x"})),
        says("Done."),
    ]);
    let folder = tempdir().unwrap();
    fs::write(
        folder.path().join("claw.toml"),
        "[policy]\nallow = [\"write_file\"]",
    )
    .unwrap();
    service
        .claw(folder.path())
        .args(["run", "-q", "write it", "--config", "claw.toml"])
        .assert()
        .success()
        .stdout("Done.\n")
        .stderr("");
    assert_eq!(
        fs::read_to_string(folder.path().join("new.txt")).unwrap(),
        "x"
    );
}

#[test]
fn a_limit_ends_with_5_and_an_answer() {
    let service =
        Service::start((0..9).map(|n| calls("read_file", &json!({"path": format!("{n}.txt")}))));
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .env("CLAW_LIMITS_ROUNDS", "2")
        .args(["run", "read all"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(5), "{}", err(&output));
    assert!(!out(&output).trim().is_empty());
    assert!(
        err(&output).contains("ended by a limit"),
        "{}",
        err(&output)
    );
}

#[test]
fn chat_from_a_pipe_is_one_turn_a_line_without_prompts() {
    let service = Service::start([says("one"), says("two")]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["--no-stamp", "chat"])
        .write_stdin("first\n\n/hlep\nsecond")
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), out(&output)),
        (Some(0), "one\ntwo\n".into())
    );
    assert!(err(&output).contains("did you mean `/help`?"));
    let messages = service.requests()[1]["messages"].clone();
    let said: Vec<String> = messages
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(content)
        .collect();
    assert_eq!(said, ["first", "one", "second"]);
}

#[test]
fn chat_goes_on_with_another_model_and_forgets_when_cleared() {
    let service = Service::start([says("one"), says("two"), says("three")]);
    let folder = tempdir().unwrap();
    service
        .claw(folder.path())
        .args(["--no-stamp", "chat"])
        .write_stdin("a\n/model n\nb\n/clear\nc\n/exit\nnever\n")
        .assert()
        .success()
        .stdout("one\ntwo\nthree\n");
    let requests = service.requests();
    let seen: Vec<(&str, usize)> = requests
        .iter()
        .map(|request| {
            (
                request["model"].as_str().unwrap(),
                request["messages"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(seen, [("m", 2), ("n", 4), ("n", 2)]);
}

#[test]
fn doctor_reaches_the_service() {
    let service = Service::start([]);
    let folder = tempdir().unwrap();
    let output = service.claw(folder.path()).arg("doctor").output().unwrap();
    let report = out(&output);
    assert_eq!(code(&output), Some(0), "{report}");
    for what in [
        "✓ config",
        "✓ workspace",
        "✓ tools",
        "✓ model",
        "✓ protocol   native",
        "✓ limits",
    ] {
        assert!(report.contains(what), "{what} in\n{report}");
    }
    assert!(
        report.contains("the service answers and offers it"),
        "{report}"
    );
    assert!(!report.contains("key-1234") && !report.contains('\x1b'));
}

#[cfg(unix)]
#[test]
fn signals_end_a_run_with_their_codes() {
    for (signal, expected) in [("-INT", 130), ("-TERM", 143)] {
        let service = Service::start([Answer::Silence]);
        let folder = tempdir().unwrap();
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_claw"))
            .args(["run", "hi"])
            .env_clear()
            .env("HOME", folder.path())
            .env("CLAW_BASE_URL", &service.url)
            .env("CLAW_MODEL", "m")
            .current_dir(folder.path())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while service.requests().is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "ended before it asked");
            std::thread::yield_now();
        }
        let killed = std::process::Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{signal}");
    }
}
