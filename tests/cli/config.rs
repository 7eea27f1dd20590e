//! Settings, and their faults.

use tempfile::tempdir;

use crate::service::claw;
use crate::{code, err, out, run, with_config};

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
fn a_pattern_that_looks_misspelt_does_not_deny_nothing() {
    for (pattern, hint) in [
        ("Exec", "did you mean `exec`?"),
        ("write-file", "did you mean `write_file`?"),
        (" exec", "did you mean `exec`?"),
        ("group:FS", "did you mean `group:fs`?"),
        ("group:fs*", "did you mean `group:fs`?"),
        ("group:", "expected a name"),
        ("", "expected a name"),
        ("[abcdefgh]*", "expected a name"),
    ] {
        for list in ["deny", "ask", "allow"] {
            let text = format!("[policy]\n{list} = [\"now\", \"{pattern}\"]");
            let output = with_config(&text, &["tools", "list"]);
            let err = err(&output);
            assert_eq!(code(&output), Some(2), "{pattern}");
            let fault = format!("`policy.{list}`: `{pattern}` matches no tool");
            assert!(err.contains(&fault) && err.contains(hint), "{err}");
        }
    }
    let others = "[policy]\ndeny = [\"group:fs\", \"browser_*\", \"group:payments\", \"*\"]";
    assert_eq!(code(&with_config(others, &["tools", "list"])), Some(0));
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
