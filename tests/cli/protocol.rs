//! How tool calls travel, as the settings say.

use std::fs;

use tempfile::tempdir;

use crate::service::{Service, claw, content, fails, says};
use crate::{code, err, out};

#[test]
fn a_model_without_native_tools_calls_in_prose() {
    let service = Service::start([
        says(
            "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"note.txt\"}}</tool_call>",
        ),
        says("It says: remember."),
    ]);
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("note.txt"), "remember\n").unwrap();
    let config = format!(
        "model = \"lab\"\n[providers.lab]\nbase_url = {:?}\nmodels = [\"m\"]\nprotocol = \"prompt\"",
        service.url
    );
    fs::write(folder.path().join("claw.toml"), config).unwrap();
    let output = claw(folder.path())
        .args(["run", "What does the note say?"])
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), out(&output)),
        (Some(0), "It says: remember.\n".into()),
        "{}",
        err(&output)
    );
    assert!(err(&output).contains("✓ read_file"), "{}", err(&output));
    let request = service.requests()[0].clone();
    assert!(request.get("tools").is_none(), "{request}");
    assert!(content(&request["messages"][0]).contains("read_file"));
}

#[test]
fn the_protocol_can_be_fixed_by_flag_and_config() {
    let folder = tempdir().unwrap();
    let asked = |config: &str, args: &[&str]| {
        let service = Service::start([says("hi")]);
        fs::write(folder.path().join("claw.toml"), config).unwrap();
        let mut command = service.claw(folder.path());
        let output = command.args(["run", "hi"]).args(args).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", err(&output));
        let request = service.requests()[0].clone();
        (
            request.get("tools").is_some(),
            content(&request["messages"][0]).contains("<tool_call>"),
        )
    };
    assert_eq!(asked("", &[]), (true, false));
    assert_eq!(asked("", &["--protocol", "prompt"]), (false, true));
    assert_eq!(asked("", &["--protocol", "chat"]), (false, false));
    assert_eq!(asked("protocol = \"prompt\"", &[]), (false, true));
    let of_provider = "[providers.custom]\nprotocol = \"chat\"";
    assert_eq!(asked(of_provider, &[]), (false, false));
    assert_eq!(asked(of_provider, &["--protocol", "native"]), (true, false));
    let service = Service::start([]);
    let output = service.claw(folder.path()).arg("doctor").output().unwrap();
    assert!(
        out(&output).contains("chat: no tools are offered; `providers.custom.protocol` says so"),
        "{}",
        out(&output)
    );
}

#[test]
fn a_model_that_refuses_tools_is_asked_without_and_that_is_told_once() {
    let folder = tempdir().unwrap();
    let service = Service::start([
        fails(400, "\"m\" does not support tools"),
        says("Hello."),
        says("Hello again."),
    ]);
    let run = |args: &[&str]| {
        let output = service.claw(folder.path()).args(args).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", err(&output));
        err(&output)
    };
    let told = "`custom:m` takes no tool definitions; it is asked without them from now on";
    assert_eq!(run(&["run", "hi"]).matches(told).count(), 1);
    assert!(!run(&["run", "-c", "hi"]).contains(told));
    let requests = service.requests();
    let offered: Vec<bool> = requests
        .iter()
        .map(|it| it.get("tools").is_some())
        .collect();
    assert_eq!(offered, [true, false, false]);
    let models = service.claw(folder.path()).arg("models").output().unwrap();
    assert!(
        out(&models).contains("custom:m  prompt (learnt)"),
        "{}",
        out(&models)
    );
}

#[test]
fn a_model_that_calls_nothing_only_talks_or_is_refused() {
    let folder = tempdir().unwrap();
    let config =
        "[providers.custom.capabilities]\nm = { native_tools = false, prompt_tools = false }";
    fs::write(folder.path().join("claw.toml"), config).unwrap();
    let service = Service::start([says("Hello.")]);
    let output = service
        .claw(folder.path())
        .args(["run", "hi"])
        .output()
        .unwrap();
    assert_eq!(out(&output), "Hello.\n");
    assert!(
        err(&output).contains("`custom:m` can call no tools, so it only talks"),
        "{}",
        err(&output)
    );
    assert!(service.requests()[0].get("tools").is_none());
    let listed = service.claw(folder.path()).arg("models").output().unwrap();
    assert!(out(&listed).contains("custom:m  none"), "{}", out(&listed));
    let doctor = service.claw(folder.path()).arg("doctor").output().unwrap();
    assert!(out(&doctor).contains("declared to call no tools, so it only talks"));
    let output = service
        .claw(folder.path())
        .env("CLAW_MUST_CALL", "true")
        .args(["run", "hi"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(1));
    assert!(
        err(&output)
            .contains("model `custom:m` can call no tools, and this agent takes no such model")
    );
    assert_eq!(service.requests().len(), 1);
}
