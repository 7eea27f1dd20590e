//! The program as a process: what it prints where, and the code it ends with.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::fs;
use std::process::Output;

use serde_json::{Value, json};
use support::{Answer, Service, calls, claw, fails, says};
use tempfile::{TempDir, tempdir};

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Runs the program in an empty folder.
fn run(args: &[&str]) -> (TempDir, Output) {
    let folder = tempdir().unwrap();
    let output = claw(folder.path()).args(args).output().unwrap();
    (folder, output)
}

/// Runs the program in a folder with this config.
fn with_config(config: &str, args: &[&str]) -> Output {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("claw.toml"), config).unwrap();
    claw(folder.path()).args(args).output().unwrap()
}

mod usage {
    use super::*;

    #[test]
    fn version_and_help_are_answers() {
        let (_folder, output) = run(&["--version"]);
        assert_eq!(
            out(&output),
            format!("claw {}\n", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(code(&output), Some(0));
        let (_folder, output) = run(&["--help"]);
        for word in ["chat", "run", "tools", "doctor", "Exit codes:", "130"] {
            assert!(out(&output).contains(word), "{word}");
        }
        assert_eq!(code(&output), Some(0));
    }

    #[test]
    fn wrong_usage_ends_with_2_and_a_clean_stdout() {
        for args in [
            &["dance"][..],
            &["run", "--loud", "x"],
            &["tools"],
            &["run"],
        ] {
            let (_folder, output) = run(args);
            assert_eq!(
                (code(&output), out(&output)),
                (Some(2), String::new()),
                "{args:?}"
            );
        }
    }

    #[test]
    fn without_a_model_three_lines_tell_how_to_go_on() {
        let (_folder, output) = run(&["run", "hi"]);
        assert_eq!(code(&output), Some(3));
        let err = err(&output);
        assert!(err.starts_with("error: no model is configured\n"), "{err}");
        assert_eq!(err.matches("hint: ").count(), 3, "{err}");
    }

    #[test]
    fn an_unknown_provider_names_the_nearest() {
        let (_folder, output) = run(&["run", "hi", "--model", "opneai:x"]);
        assert_eq!(code(&output), Some(2));
        assert!(
            err(&output).contains("did you mean `openai`?"),
            "{}",
            err(&output)
        );
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        let (_folder, output) = run(&["run", "hi", "--model", "openai:x"]);
        assert_eq!(code(&output), Some(2));
        assert!(
            err(&output).contains("`OPENAI_API_KEY` is not set"),
            "{}",
            err(&output)
        );
    }

    #[test]
    fn an_unreadable_workspace_is_named() {
        let service = Service::start([]);
        let folder = tempdir().unwrap();
        let output = service
            .claw(folder.path())
            .args(["run", "hi", "-C", "/nowhere/at/all"])
            .output()
            .unwrap();
        assert_eq!(code(&output), Some(2));
        assert!(err(&output).contains("cannot use the workspace `/nowhere/at/all`"));
        assert_eq!(service.requests(), Vec::<Value>::new());
    }

    #[test]
    fn binary_input_is_refused() {
        let folder = tempdir().unwrap();
        let output = claw(folder.path())
            .arg("run")
            .write_stdin(vec![b'a', 0xff])
            .output()
            .unwrap();
        assert_eq!(code(&output), Some(2));
        assert!(err(&output).contains("not UTF-8 text (byte 1)"));
    }
}

mod config {
    use super::*;

    #[test]
    fn faults_name_file_line_and_column() {
        for (text, expected) in [
            (
                "model = \"a:b\"\nworkspce = \".\"",
                ":2:1: unknown key `workspce`; did you mean `workspace`?",
            ),
            (
                "[limits]\nrounds = \"x\"",
                ":2:10: `limits.rounds`: expected a whole number from 0",
            ),
            (
                "user_timezone = \"Mars/Base\"",
                ":1:17: `user_timezone`: expected a time zone this system knows",
            ),
            ("model = \"", ":1:"),
            (
                "[providers.a]\napi_key = \"sk-1234\"",
                ":2:1: `providers.a.api_key`: a secret must not stand in a config file",
            ),
        ] {
            let output = with_config(text, &["tools", "list"]);
            let err = err(&output);
            assert_eq!(code(&output), Some(2), "{text}");
            assert!(err.contains(&format!("claw.toml{expected}")), "{err}");
            assert!(!err.contains("1234"), "{err}");
        }
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error() {
        let (_folder, output) = run(&["--config", "none.toml", "tools", "list"]);
        assert_eq!(code(&output), Some(2));
        assert!(err(&output).contains("none.toml"));
    }

    #[test]
    fn doctor_reports_a_broken_config_and_ends_with_2() {
        let output = with_config("colour = 1", &["doctor"]);
        assert_eq!(code(&output), Some(2));
        assert!(out(&output).contains("✗ config"), "{}", out(&output));
    }

    #[test]
    fn the_policy_keeps_denied_tools_from_the_list() {
        let output = with_config("[policy]\ndeny = [\"exec\"]", &["tools", "list"]);
        assert_eq!(code(&output), Some(0));
        assert!(!out(&output).contains("exec"));
        assert!(out(&output).contains("read_file"));
    }

    #[test]
    fn a_bad_variable_is_named() {
        let folder = tempdir().unwrap();
        let output = claw(folder.path())
            .env("CLAW_PROFILE", "everything")
            .args(["tools", "list"])
            .output()
            .unwrap();
        assert_eq!(code(&output), Some(2));
        assert!(err(&output).contains("`CLAW_PROFILE`: expected one of `minimal`"));
    }
}

mod tools {
    use super::*;

    #[test]
    fn list_and_show_tell_what_is_declared() {
        let (_folder, output) = run(&["tools", "list"]);
        let list = out(&output);
        let row = |name: &str| {
            list.lines()
                .find(|line| line.split_whitespace().next() == Some(name))
                .unwrap_or_else(|| panic!("no `{name}` in\n{list}"))
        };
        assert!(row("read_file").contains("runs"));
        assert!(row("write_file").contains("asks"));
        let (_folder, output) = run(&["tools", "show", "read_file"]);
        assert!(out(&output).contains("path: string"), "{}", out(&output));
        let (_folder, output) = run(&["tools", "show", "read_file", "--json"]);
        let shown: Value = serde_json::from_str(&out(&output)).unwrap();
        assert_eq!(shown["effect"], "read");
        assert_eq!(
            shown["input_schema"]["properties"]["path"]["type"],
            "string"
        );
    }

    #[test]
    fn an_unknown_tool_names_the_nearest() {
        let (_folder, output) = run(&["tools", "show", "raed_file"]);
        assert_eq!(code(&output), Some(2));
        assert!(err(&output).contains("did you mean `read_file`?"));
    }

    #[test]
    fn call_runs_a_tool_without_a_model() {
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("note.txt"), "remember\n").unwrap();
        let output = claw(folder.path())
            .args(["tools", "call", "read_file", r#"{"path":"note.txt"}"#])
            .output()
            .unwrap();
        assert_eq!(code(&output), Some(0), "{}", err(&output));
        assert!(out(&output).contains("remember"));
        let output = claw(folder.path())
            .args(["tools", "call", "read_file", "-", "--json"])
            .write_stdin(r#"{"path":"note.txt"}"#)
            .output()
            .unwrap();
        let result: Value = serde_json::from_str(&out(&output)).unwrap();
        assert_eq!(result["status"], "ok");
    }

    #[test]
    fn call_reports_arguments_that_do_not_fit() {
        let (_folder, output) = run(&["tools", "call", "read_file", r#"{"pth":"x"}"#]);
        assert_eq!((code(&output), out(&output)), (Some(6), String::new()));
        let err = err(&output);
        assert!(err.contains("was not run") && err.contains("path"), "{err}");
    }

    #[test]
    fn a_tool_that_fails_ends_with_6() {
        let (_folder, output) =
            run(&["tools", "call", "read_file", r#"{"path":"none"}"#, "--json"]);
        assert_eq!(code(&output), Some(6));
        let result: Value = serde_json::from_str(&out(&output)).unwrap();
        assert_eq!(result["status"], "error");
    }
}

mod turn {
    use super::*;

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
            .args(["run", "-q", "write it"])
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
        let service = Service::start(
            (0..9).map(|n| calls("read_file", &json!({"path": format!("{n}.txt")}))),
        );
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

    /// Returns the text of a message on the wire, in either of its forms.
    fn content(message: &Value) -> String {
        match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect(),
            _ => String::new(),
        }
    }
}
