//! Settings, and their faults.

use std::fs;

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
            "[providers.a]\nformat = \"claude\"",
            ":2:10: `providers.a.format`: expected one of `openai-chat`",
        ),
        (
            "[providers.a]\nthinking = \"much\"",
            ":2:12: `providers.a.thinking`: expected `adaptive`, `off` or a number of tokens, found \"much\"",
        ),
        (
            "[providers.a]\nthinking = 0",
            ":2:12: `providers.a.thinking`: expected a number of tokens of at least 1",
        ),
        (
            "[providers.a]\nthinking = true",
            ":2:12: `providers.a.thinking`: ",
        ),
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
            let output = with_config(&text, &["--config", "claw.toml", "tools", "list"]);
            let err = err(&output);
            assert_eq!(code(&output), Some(2), "{pattern}");
            let fault = format!("`policy.{list}`: `{pattern}` matches no tool");
            assert!(err.contains(&fault) && err.contains(hint), "{err}");
        }
    }
    let others = "[policy]\ndeny = [\"group:fs\", \"browser_*\", \"group:payments\", \"*\"]";
    assert_eq!(
        code(&with_config(
            others,
            &["--config", "claw.toml", "tools", "list"]
        )),
        Some(0)
    );
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

#[test]
fn unknown_keys_at_any_depth_name_the_nearest() {
    for (text, expected) in [
        (
            "protocl = \"native\"",
            ":1:1: unknown key `protocl`; did you mean `protocol`?",
        ),
        (
            "[providers.lab]\nbaseurl = \"http://h\"",
            ":2:1: unknown key `providers.lab.baseurl`; did you mean `providers.lab.base_url`?",
        ),
        (
            "providers = { lab = { model = [] } }",
            ":1:23: unknown key `providers.lab.model`; did you mean `providers.lab.models`?",
        ),
        (
            "[policy]\nalow = []",
            ":2:1: unknown key `policy.alow`; did you mean `policy.allow`?",
        ),
        (
            "limits.active-time = \"1m\"",
            ":1:8: unknown key `limits.active-time`; did you mean `limits.active_time`?",
        ),
        (
            "[polices]\ndeny = []",
            ":1:2: unknown key `polices`; did you mean `policy`?",
        ),
        ("stamp = true\nstamp = false", ":2:1: duplicate key"),
        (
            "protocol = \"prmpt\"",
            ":1:12: `protocol`: unknown variant `prmpt`, expected one of `native`",
        ),
    ] {
        let output = with_config(text, &["tools", "list"]);
        let err = err(&output);
        assert_eq!(code(&output), Some(2), "{text}");
        assert!(
            err.contains(&format!("claw.toml{expected}")),
            "{expected} in {err}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_a_config_is_refused_in_words() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("claw.toml");
    let refused = || {
        let output = claw(folder.path())
            .args(["tools", "list"])
            .output()
            .unwrap();
        assert_eq!((code(&output), out(&output)), (Some(2), String::new()));
        err(&output)
    };
    fs::create_dir(&file).unwrap();
    assert!(refused().contains("claw.toml`: it is no regular file"));
    fs::remove_dir(&file).unwrap();
    fs::write(&file, [b's', 0xff, 0xfe]).unwrap();
    assert!(refused().contains("claw.toml`: it is not UTF-8 text"));
    fs::write(&file, vec![b'#'; 1024 * 1024 + 1]).unwrap();
    assert!(refused().contains("claw.toml`: it is larger than 1 MiB"));
    fs::write(&file, "[".repeat(100_000)).unwrap();
    assert!(refused().contains("claw.toml:1:"));
}

#[test]
fn a_misspelt_variable_is_told_and_foreign_ones_are_not() {
    let folder = tempdir().unwrap();
    let output = claw(folder.path())
        .env("CLAW_MODLE", "a:b")
        .env("CLAW_LIMIT_ROUNDS", "3")
        .env("CLAW_HOME_OF_ANOTHER", "x")
        .args(["tools", "list"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0));
    let mut told: Vec<String> = err(&output).lines().map(str::to_owned).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "warning: `CLAW_LIMIT_ROUNDS` in the environment is no setting; did you mean `CLAW_LIMITS_ROUNDS`?",
            "warning: `CLAW_MODLE` in the environment is no setting; did you mean `CLAW_MODEL`?",
        ]
    );
}

#[test]
fn the_sample_of_every_setting_is_a_config() {
    let sample = include_str!("../../src/config/claw.toml");
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("all.toml"), sample).unwrap();
    let output = claw(folder.path())
        .args(["tools", "list", "--config", "all.toml"])
        .output()
        .unwrap();
    assert_eq!((code(&output), err(&output)), (Some(0), String::new()));
}
