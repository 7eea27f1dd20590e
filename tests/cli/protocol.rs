//! How tool calls travel, as the settings say.

use std::fs;

use tempfile::tempdir;

use crate::service::{Service, claw, content, says};
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
