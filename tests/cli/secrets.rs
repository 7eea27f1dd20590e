//! Keys: where they come from, and that the program shows them nowhere.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;
use tempfile::tempdir;

use crate::service::{Answer, Service, calls, claw, fails, says};
use crate::{code, err, out};

const KEY: &str = "sk-lab/0123456789+abcdef";

/// The key as it stands and as services, tools and logs write it.
const FORMS: &[&str] = &[
    KEY,
    "sk-lab%2F0123456789%2Babcdef",
    r"sk-lab\/0123456789+abcdef",
    // base64 of the key, of `user:` and the key.
    "c2stbGFiLzAxMjM0NTY3ODkrYWJjZGVm",
    "dXNlcjpzay1sYWIvMDEyMzQ1Njc4OSthYmNkZWY=",
    "736b2d6c61622f303132333435363738392b616263646566",
];

fn assert_clean(what: &str, text: &str) {
    for form in FORMS {
        assert!(!text.contains(form), "{what} shows `{form}`: {text}");
    }
    assert!(!text.contains("0123456789"), "{what} shows a part: {text}");
}

/// Asserts that no file below `folder` holds the key.
fn assert_clean_files(folder: &Path) {
    let mut left = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name == "leak.txt" || name == "config.toml" {
                continue;
            }
            seen += 1;
            let bytes = fs::read(&path).unwrap();
            assert_clean(&name, &String::from_utf8_lossy(&bytes));
        }
    }
    assert!(seen > 0, "nothing was kept");
}

fn leaks() -> String {
    FORMS.join(" and ")
}

fn run(service: &Service, folder: &Path, args: &[&str]) -> Output {
    service
        .claw(folder)
        .env("CLAW_API_KEY", KEY)
        .env("XDG_DATA_HOME", folder.join("data"))
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn a_key_that_everybody_repeats_is_shown_and_kept_nowhere() {
    let script = || {
        [
            fails(500, &format!("busy; you sent {}", leaks())),
            calls("read_file", &json!({"path": "leak.txt"})),
            says(&format!("It says {}.", leaks())),
        ]
    };
    for extra in [
        &["-q"][..],
        &["--json"],
        &["--log", "trace"],
        &["--log", "trace", "--log-json"],
    ] {
        let folder = tempdir().unwrap();
        fs::write(
            folder.path().join("leak.txt"),
            format!("{}\n{}", leaks(), leaks()),
        )
        .unwrap();
        let service = Service::start(script());
        let asked = format!("My key is {KEY}.");
        let args: Vec<&str> = ["run", &asked].iter().chain(extra).copied().collect();
        let output = run(&service, folder.path(), &args);
        assert_eq!(code(&output), Some(0), "{}", err(&output));
        assert_clean("standard output", &out(&output));
        assert_clean("standard error", &err(&output));
        assert!(out(&output).contains("***"), "{}", out(&output));
        let heard = format!("{:?}", service.requests());
        assert_clean("the service", &heard);
        assert!(heard.contains("***"));
        let sent = service.received()[0].headers.clone();
        assert!(sent.contains(&format!("bearer {KEY}")), "{sent}");
        assert_clean_files(folder.path());
        let id = run(&service, folder.path(), &["sessions", "list", "--json"]);
        let id: serde_json::Value = serde_json::from_str(&out(&id)).unwrap();
        let id = id[0]["id"].as_str().unwrap();
        for args in [
            &["sessions", "show", id][..],
            &["sessions", "export", id],
            &["sessions", "replay", id],
            &["sessions", "replay", id, "--requests"],
        ] {
            let output = run(&service, folder.path(), args);
            assert_eq!(code(&output), Some(0), "{args:?}: {}", err(&output));
            assert!(out(&output).contains("***"), "{args:?}: {}", out(&output));
            assert_clean(&format!("{args:?}"), &out(&output));
            assert_clean(&format!("{args:?}"), &err(&output));
        }
    }
}

#[test]
fn failures_and_hand_made_calls_show_no_key() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("leak.txt"), leaks()).unwrap();
    for (status, message) in [
        (401, format!("bad key {}", leaks())),
        (400, format!("{} {KEY}", "x".repeat(590))),
        (
            400,
            r#"got {"api_key": "another-one-9"}, X_TOKEN=another-one-9"#.to_owned(),
        ),
    ] {
        let service = Service::start([fails(status, &message)]);
        for json in [None, Some("--json")] {
            let args: Vec<&str> = ["run", "hi"].into_iter().chain(json).collect();
            let output = run(&service, folder.path(), &args);
            assert_eq!(code(&output), Some(4));
            for text in [out(&output), err(&output)] {
                assert_clean("a failure", &text);
                assert!(
                    !text.contains("another-one-9") && !text.contains("sk-lab"),
                    "{text}"
                );
            }
        }
    }
    let service = Service::start([]);
    for json in [None, Some("--json")] {
        let args = ["tools", "call", "read_file", r#"{"path": "leak.txt"}"#];
        let args: Vec<&str> = args.into_iter().chain(json).collect();
        let output = run(&service, folder.path(), &args);
        assert_eq!(code(&output), Some(0));
        assert!(out(&output).contains("***"), "{}", out(&output));
        assert_clean("tools call", &out(&output));
    }
    let output = run(&service, folder.path(), &["doctor", "--model", KEY]);
    assert_clean("doctor", &out(&output));
    assert_clean("doctor", &err(&output));
}

#[test]
fn a_key_cut_over_pieces_of_a_stream_is_not_shown() {
    let folder = tempdir().unwrap();
    for size in [1, 3, 7, 11] {
        let text = format!("It is {} and nothing else", leaks());
        let letters: Vec<char> = text.chars().collect();
        let pieces = letters.chunks(size).map(|piece| {
            let text: String = piece.iter().collect();
            json!({"choices": [{"index": 0, "delta": {"content": text}}]})
        });
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let service = Service::start([Answer::Stream(pieces.chain([end]).collect())]);
        let output = run(&service, folder.path(), &["run", "--json", "hi"]);
        assert_eq!(code(&output), Some(0));
        let mut shown = String::new();
        for line in out(&output).lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            shown.push_str(line["delta"]["text"].as_str().unwrap_or_default());
        }
        assert!(
            shown.starts_with("It is *** and ***") && shown.ends_with("nothing else"),
            "{shown}"
        );
        assert_clean("the stream", &shown);
    }
}

#[cfg(unix)]
#[test]
fn a_key_may_come_from_a_command() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let script = folder.path().join("key-of");
    let ran = folder.path().join("ran");
    let write = |body: &str| {
        fs::write(
            &script,
            format!("#!/bin/sh\necho x >> {}\n{body}\n", ran.display()),
        )
        .unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    };
    let service = Service::start([says("Hello."), says("Hello.")]);
    let settings = |trusted: bool| {
        let text = format!(
            "model = \"lab:m\"\n[providers.lab]\nbase_url = \"{}\"\nkey_command = [\"./key-of\", \"lab one\"]",
            service.url
        );
        let file = if trusted { "config.toml" } else { "claw.toml" };
        fs::write(folder.path().join(file), text).unwrap();
    };
    settings(true);
    let run = |args: &[&str]| {
        let mut command = claw(folder.path());
        command
            .args(args)
            .args(["--ephemeral", "--config"])
            .arg(&config);
        command.output().unwrap()
    };
    write(&format!("test \"$1\" = 'lab one' && echo '{KEY}'"));
    let output = run(&["run", "hi"]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(
        service.received()[0]
            .headers
            .contains(&format!("bearer {KEY}"))
    );
    // What needs no key does not ask for one.
    let before = fs::read_to_string(&ran).unwrap();
    assert_eq!(before, "x\n");
    let tools = claw(folder.path())
        .args(["tools", "list", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    assert_eq!(code(&tools), Some(0));
    assert_eq!(fs::read_to_string(&ran).unwrap(), before);
    for (body, what) in [
        (
            format!("echo '{KEY}' >&2; echo '{KEY}'; exit 7"),
            "exit status: 7",
        ),
        (
            format!("echo '{KEY}'; echo '{KEY}'"),
            "expected one line that holds the key",
        ),
    ] {
        write(&body);
        let output = run(&["run", "hi"]);
        assert_eq!(code(&output), Some(2));
        let err = err(&output);
        assert!(
            err.contains(what) && err.contains("`key_command` of `[providers.lab]`"),
            "{err}"
        );
        assert_clean("the failure", &err);
    }
    // The file of the folder may have come from anybody: it starts no program.
    fs::remove_file(&ran).unwrap();
    settings(false);
    let output = claw(folder.path())
        .args(["run", "--ephemeral", "hi"])
        .output()
        .unwrap();
    assert!(
        err(&output).contains("`providers.lab.key_command`: ignored"),
        "{}",
        err(&output)
    );
    assert!(!ran.exists());
}
