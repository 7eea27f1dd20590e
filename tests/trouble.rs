//! Tools that panic or hang, in a real process: this program is its own subject, told apart by `TROUBLE`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use claw::prelude::*;
use claw::provider::Scripted;
use claw::provider::scripted::{calls, says};
use claw::serde_json::json;

/// Panics while it is awaited.
#[tool(effect = read)]
async fn boom() -> String {
    panic!("token-1234");
}

/// Panics on a thread of its own.
#[tool(effect = read)]
fn boom_blocking() -> String {
    panic!("token-1234");
}

/// Never returns, and heeds nobody.
#[tool(effect = read, timeout = "100ms")]
fn hang() -> String {
    loop {
        std::thread::park();
    }
}

/// The same without a deadline that comes.
#[tool(effect = read, timeout = "1h")]
fn hang_long() -> String {
    hang()
}

/// Never returns, on the program's own thread.
#[tool(effect = pure)]
fn spin() -> String {
    loop {
        std::hint::spin_loop();
    }
}

fn main() -> ExitCode {
    if let Ok(tool) = std::env::var("TROUBLE") {
        let model = Scripted::new([calls(&tool, json!({})), says("I go on.")]);
        return claw::program().model(Arc::new(model), "demo").main();
    }
    a_panic_is_one_line_and_the_turn_goes_on();
    a_panic_is_logged_with_its_place_and_nothing_secret();
    a_backtrace_that_was_asked_for_comes();
    a_call_by_hand_that_panics_is_a_failed_tool();
    a_thread_that_hangs_does_not_keep_the_program();
    #[cfg(unix)]
    {
        termination_ends_a_turn_whose_tool_hangs();
        a_second_interrupt_ends_a_program_whose_own_thread_hangs();
    }
    println!("trouble: ok");
    ExitCode::SUCCESS
}

fn program(tool: &str, args: &[&str]) -> Command {
    let folder = std::env::temp_dir();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(args)
        .env_clear()
        .env("TROUBLE", tool)
        .env("HOME", folder.join("no-such-home"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn a_panic_is_one_line_and_the_turn_goes_on() {
    for tool in ["boom", "boom_blocking"] {
        let (code, out, err) = run(&mut program(tool, &["run", "go"]));
        assert_eq!((code, out.as_str()), (Some(0), "I go on.\n"), "{err}");
        assert_eq!(
            err,
            format!(
                "▸ {tool}()\na tool panicked; `--log error` tells where, `RUST_BACKTRACE=1` all\n\
                 ✗ {tool}: `{tool}` failed: it panicked⏎Note: no data was obtained.\n"
            )
        );
    }
}

fn a_panic_is_logged_with_its_place_and_nothing_secret() {
    let (code, _, err) = run(&mut program("boom", &["run", "go", "--log", "error"]));
    assert_eq!(code, Some(0));
    assert!(
        err.contains("ERROR") && err.contains("tests/trouble.rs:"),
        "{err}"
    );
    assert!(
        !err.contains("token-1234") && !err.contains("`--log error`"),
        "{err}"
    );
}

fn a_backtrace_that_was_asked_for_comes() {
    let (code, _, err) = run(program("boom", &["run", "go"]).env("RUST_BACKTRACE", "1"));
    assert_eq!(code, Some(0));
    assert!(
        err.contains("token-1234") && err.contains("stack backtrace"),
        "{err}"
    );
    let mut keyed = program("boom", &["run", "go"]);
    let (_, _, err) = run(keyed
        .env("RUST_BACKTRACE", "1")
        .env("X_API_KEY", "token-1234"));
    assert!(err.contains("panicked at") && err.contains("***"), "{err}");
    assert!(!err.contains("token-1234"), "{err}");
}

fn a_call_by_hand_that_panics_is_a_failed_tool() {
    let (code, out, err) = run(&mut program("", &["tools", "call", "boom_blocking"]));
    assert_eq!((code, out.as_str()), (Some(6), ""));
    assert!(
        err.ends_with("the tool failed: the tool panicked\n"),
        "{err}"
    );
}

fn a_thread_that_hangs_does_not_keep_the_program() {
    let (code, out, err) = run(&mut program("hang", &["run", "go"]));
    assert_eq!((code, out.as_str()), (Some(0), "I go on.\n"), "{err}");
    let (code, _, err) = run(&mut program("", &["tools", "call", "hang"]));
    assert_eq!(code, Some(6));
    assert!(err.contains("gave no result within 100ms"), "{err}");
}

/// Starts a turn and waits until its call runs. The rest of standard error is thrown away.
#[cfg(unix)]
fn calling(tool: &str) -> Child {
    let mut child = program(tool, &["run", "go"]).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert_eq!(line, format!("▸ {tool}()\n"));
    std::thread::spawn(move || err.read_to_end(&mut Vec::new()));
    child
}

#[cfg(unix)]
fn signal(child: &Child, signal: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status().unwrap();
    assert!(sent.success());
}

#[cfg(unix)]
fn termination_ends_a_turn_whose_tool_hangs() {
    let mut child = calling("hang_long");
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[cfg(unix)]
fn a_second_interrupt_ends_a_program_whose_own_thread_hangs() {
    let mut child = calling("spin");
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        signal(&child, "-INT");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
}
