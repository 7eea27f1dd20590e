//! Flags, help, and what stops the program before it asks anybody.

use serde_json::Value;
use tempfile::tempdir;

use crate::service::{Service, claw};
use crate::{code, err, out, run};

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
fn without_a_model_each_way_to_go_on_is_told() {
    let (_folder, output) = run(&["run", "hi"]);
    assert_eq!(code(&output), Some(3));
    let err = err(&output);
    assert!(err.starts_with("error: no model is configured\n"), "{err}");
    assert_eq!(err.matches("hint: ").count(), 4, "{err}");
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

#[test]
fn without_a_prompt_the_way_out_is_told() {
    let folder = tempdir().unwrap();
    for stdin in ["", " \n\t"] {
        for args in [&["run"][..], &["run", ""], &[]] {
            let output = claw(folder.path())
                .args(args)
                .write_stdin(stdin)
                .output()
                .unwrap();
            assert_eq!(code(&output), Some(2), "{args:?}");
            assert_eq!(
                err(&output),
                "error: there is no prompt\nhint: give it as an argument, as in `run \"What time is it?\"`, or pipe it in\n"
            );
        }
    }
}

#[test]
fn more_text_than_a_prompt_holds_is_refused_before_anybody_is_asked() {
    let service = Service::start([]);
    let folder = tempdir().unwrap();
    let output = service
        .claw(folder.path())
        .args(["run", "shorten"])
        .write_stdin(vec![b'x'; 10 * 1024 * 1024])
        .output()
        .unwrap();
    assert_eq!((code(&output), out(&output)), (Some(2), String::new()));
    let err = err(&output);
    assert!(
        err.contains("longer than 4 MiB") && err.contains("hint: put it into a file"),
        "{err}"
    );
    assert_eq!(service.connections(), 0);
}

#[cfg(not(feature = "local"))]
#[test]
fn a_program_without_a_model_of_its_own_says_how_to_get_one() {
    for args in [&["model"][..], &["model", "pull", "x", "--name", "y"]] {
        let (_folder, output) = run(args);
        assert_eq!(code(&output), Some(2));
        let err = err(&output);
        assert!(
            err.contains("hint: build it with claw's feature `local`"),
            "{err}"
        );
    }
    let (_folder, output) = run(&["--help"]);
    assert!(!out(&output).contains("  model "), "{}", out(&output));
}
