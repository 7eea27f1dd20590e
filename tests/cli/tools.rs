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
