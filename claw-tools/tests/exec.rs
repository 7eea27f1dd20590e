//! The `exec` tool with real processes.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use claw_runtime::tool::{ToolContext, ToolError};
use claw_tools::exec;
use common::workspace;

/// Runs a command. A call that hangs fails its test, and no other: what runs on behind it sleeps for minutes.
async fn exec(
    ctx: &ToolContext,
    command: &str,
    seconds: u32,
    stdin: Option<&str>,
) -> Result<String, ToolError> {
    let call = exec::exec(ctx, command, seconds, stdin);
    let ended = tokio::time::timeout(Duration::from_secs(120), call).await;
    ended.unwrap_or_else(|_| panic!("the call hangs: {command}"))
}

async fn run(ctx: &ToolContext, command: &str) -> String {
    exec(ctx, command, 20, None)
        .await
        .unwrap_or_else(|err| format!("error: {err}"))
}

/// The id that a command wrote to the file `pid`, once it is there.
async fn pid(dir: &Path) -> String {
    let written = async {
        loop {
            let text = std::fs::read_to_string(dir.join("pid")).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let written = tokio::time::timeout(Duration::from_secs(60), written).await;
    written.expect("a pid is written")
}

/// Tells whether a process runs; one that is dead but not waited for does not.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

#[tokio::test]
async fn output_and_exit_code_are_told() {
    let (_dir, ctx) = workspace(&[("file", "content\n")]);
    assert_eq!(
        run(&ctx, "cat file; echo err >&2; echo out").await,
        "content\nerr\nout\n[exit code 0]"
    );
    assert_eq!(run(&ctx, "printf x; exit 3").await, "x\n[exit code 3]");
    assert_eq!(run(&ctx, "true").await, "[exit code 0]");
    assert!(
        run(&ctx, "no_such_program")
            .await
            .ends_with("[exit code 127]")
    );
    assert_eq!(
        run(&ctx, "kill -9 $$").await,
        "[ended by signal 9 (kill, perhaps out of memory)]"
    );
    assert_eq!(
        run(&ctx, "printf 'a\\377b'").await,
        "a\u{fffd}b\n[exit code 0]"
    );
}

#[tokio::test]
async fn input_is_given_or_empty() {
    let (_dir, ctx) = workspace(&[]);
    assert_eq!(run(&ctx, "cat").await, "[exit code 0]");
    let given = exec(&ctx, "cat", 120, Some("hello")).await.unwrap();
    assert_eq!(given, "hello\n[exit code 0]");
    let large = "x".repeat(1 << 20);
    assert_eq!(
        exec(&ctx, "wc -c", 120, Some(&large)).await.unwrap().trim(),
        "1048576\n[exit code 0]"
    );
    assert_eq!(
        exec(&ctx, "true", 120, Some(&large)).await.unwrap(),
        "[exit code 0]"
    );
}

#[tokio::test]
async fn endless_output_ends_with_the_timeout_in_bounded_memory() {
    let (_dir, ctx) = workspace(&[]);
    let err = exec(&ctx, "echo first; yes", 1, None)
        .await
        .unwrap_err()
        .to_string();
    assert!(err.starts_with("first\ny\n") && err.len() < 11_000);
    assert!(
        err.contains("bytes left out") && err.contains("[timed out after "),
        "{err}"
    );
}

#[tokio::test]
async fn a_timeout_ends_the_whole_tree() {
    for command in [
        "echo $$ > pid; sleep 300",
        "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 300; done'",
        "setsid sh -c 'echo $$ > pid; exec sleep 300'; sleep 300",
        "setsid sh -c 'setsid sh -c \"echo \\$\\$ > pid; exec sleep 300\" &' & sleep 300",
        "env -i setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 300",
    ] {
        let (dir, ctx) = workspace(&[]);
        let err = exec(&ctx, command, 1, None).await.unwrap_err();
        assert!(err.to_string().contains("timed out"), "{command}: {err}");
        let pid = pid(dir.path()).await;
        assert!(!runs(&pid), "{command}");
    }
}

#[tokio::test]
async fn cancelling_ends_the_whole_tree() {
    let (dir, ctx) = workspace(&[]);
    let command = "echo before; (setsid sh -c 'echo $$ > pid; exec sleep 300' &) ; sleep 300";
    let cancel = async {
        let pid = pid(dir.path()).await;
        ctx.cancellation().cancel();
        pid
    };
    let (result, pid) = tokio::join!(exec(&ctx, command, 120, None), cancel);
    let err = result.unwrap_err().to_string();
    assert!(err.starts_with("before\n[cancelled"), "{err}");
    assert!(!runs(&pid));
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_tree() {
    let (dir, ctx) = workspace(&[]);
    let command = "setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 300";
    let pid = tokio::select! {
        _ = exec(&ctx, command, 120, None) => unreachable!("the command sleeps"),
        pid = pid(dir.path()) => pid,
    };
    assert!(!runs(&pid));
}

#[tokio::test]
async fn a_background_process_neither_holds_the_call_nor_outlives_it() {
    let (dir, ctx) = workspace(&[]);
    let got = run(
        &ctx,
        "sh -c 'echo $$ > pid; exec sleep 300' & while ! [ -s pid ]; do :; done; echo done",
    )
    .await;
    assert_eq!(
        got,
        "done\n[exit code 0; 1 process in the background was ended]"
    );
    assert!(!runs(&pid(dir.path()).await));
}

#[tokio::test]
async fn a_background_process_without_environment_does_not_outlive_the_call() {
    let (_dir, ctx) = workspace(&[]);
    for command in [
        "env -i sleep 1000 & exit 0",
        "env -i sleep 1000 > /dev/null 2>&1 & exit 0",
    ] {
        // The shell is gone long before a second look at its children.
        assert_eq!(
            run(&ctx, command).await,
            "[exit code 0; 1 process in the background was ended]"
        );
    }
}

#[tokio::test]
async fn output_still_in_the_pipe_when_the_command_ends_is_read() {
    let (_dir, ctx) = workspace(&[]);
    for _ in 0..20 {
        let got = run(&ctx, "head -c 60000 /dev/zero | tr '\\0' x; echo end").await;
        assert!(got.ends_with("xend\n[exit code 0]"), "{got}");
    }
}

#[tokio::test]
async fn the_calls_own_deadline_leaves_time_to_answer() {
    let (dir, _) = workspace(&[]);
    let call = claw_runtime::tool::CallInfo {
        deadline: Some(Instant::now() + Duration::from_secs(4)),
        workspace: Some(std::sync::Arc::new(
            claw_runtime::tool::Workspace::open(dir.path()).unwrap(),
        )),
        ..Default::default()
    };
    let err = exec(&ToolContext::new(call), "sleep 300", 300, None)
        .await
        .unwrap_err();
    let err = err.to_string();
    let (_, after) = err.split_once("timed out after ").expect("a timeout");
    let (seconds, _) = after.split_once(" s;").expect("its seconds");
    assert!(seconds.parse::<u64>().unwrap() < 4, "{err}");
}

#[tokio::test]
async fn keys_of_the_host_are_not_handed_on() {
    const NAME: &str = "keys_of_the_host_are_not_handed_on";
    // Only a process that was started with a key has one to hand on.
    if std::env::var_os("CLAW_TEST_API_KEY").is_none() {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env("CLAW_TEST_API_KEY", "sesame")
            .env("CLAW_TEST_PLAIN", "plain")
            .output()
            .unwrap();
        assert!(again.status.success(), "{again:?}");
        return;
    }
    let (_dir, ctx) = workspace(&[]);
    let got = run(&ctx, "env").await;
    assert!(got.contains("CLAW_TEST_PLAIN=plain") && got.contains("PATH="));
    assert!(!got.contains("sesame") && !got.contains("CLAW_TEST_API_KEY"));
}

#[tokio::test]
async fn bad_calls_are_refused() {
    let (_dir, ctx) = workspace(&[]);
    assert!(run(&ctx, "a\0b").await.contains("NUL"));
    let err = exec(&ToolContext::detached(), "true", 120, None)
        .await
        .unwrap_err();
    assert!(err.to_string().contains("no workspace"));
    let long = run(&ctx, &"x".repeat(3_000_000)).await;
    assert!(long.contains("write the script to a file"), "{long}");
}
