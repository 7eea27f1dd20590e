//! `tools`: looking at them, and calling one by hand.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::service::claw;
use crate::{code, err, out, run};

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
fn show_tells_what_the_policy_says_of_a_tool_and_why() {
    for (config, name, expected) in [
        ("", "read_file", "policy      runs: `read` tools run\n"),
        ("", "exec", "policy      asks: the tool asks for approval\n"),
        (
            "[policy]\nallow = [\"group:runtime\"]",
            "exec",
            "policy      runs: policy allows `group:runtime`\n",
        ),
        (
            "[policy]\ndeny = [\"ex*\"]",
            "exec",
            "policy      denied: policy denies `ex*`\n",
        ),
        (
            "[policy]\ndeny = [\"ex*\"]",
            "exec",
            "offered     no: policy denies `ex*`\n",
        ),
        (
            "[policy]\nprofile = \"minimal\"",
            "exec",
            "offered     no: profile `minimal` leaves out group `runtime`\n",
        ),
        (
            "[limits]\ndepth = 0",
            "session_spawn",
            "offered     no: `limits.depth` of 0 allows no sub-agents\n",
        ),
    ] {
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("my.toml"), config).unwrap();
        let output = claw(folder.path())
            .args(["tools", "show", name, "--config", "my.toml"])
            .output()
            .unwrap();
        assert!(
            out(&output).contains(expected),
            "{expected} in\n{}",
            out(&output)
        );
    }
    let (_folder, output) = run(&["tools", "list", "--json"]);
    let list: Value = serde_json::from_str(&out(&output)).unwrap();
    let exec = list
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "exec");
    let exec = exec.unwrap();
    assert_eq!(
        (&exec["verdict"], &exec["offered"], &exec["timeout_ms"]),
        (&"ask".into(), &true.into(), &600_000.into())
    );
    assert!(
        exec["parameters"]
            .as_str()
            .unwrap()
            .starts_with("command: string")
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
    let (_folder, output) = run(&["tools", "call", "read_file", r#"{"path":"none"}"#, "--json"]);
    assert_eq!(code(&output), Some(6));
    let result: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(result["status"], "error");
}
