//! Running programs: `exec`.
//!
//! A call owns what it starts. When it ends, for whatever reason, every process it left behind is ended too, also those that
//! moved to a session of their own. This is tidiness, not a wall: what a program may do is up to the sandbox.

mod clip;
mod refuse;
mod run;
mod shell;
mod tree;

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use claw::tool;
use claw::tool::{ToolContext, ToolError};
use tokio::time::Instant;

use run::{Ending, run};

/// The most seconds a command may take; below the timeout of the tool.
const MAX_TIMEOUT: u32 = 590;
/// Time before the call's own deadline that is kept to end the processes and to answer.
const RESERVE: Duration = Duration::from_secs(3);

/// Runs a shell command (`sh -c`) in the workspace and returns its output, stdout and stderr together, and its exit code. There is
/// no terminal. Processes left in the background are ended when the command ends.
#[tool(effect = once, destructive, coerce = safe, group = "runtime", approve = ask, timeout = "10m")]
pub async fn exec(
    ctx: &ToolContext,
    /// The command line, for example `cargo test 2>&1 | tail -20`.
    #[arg(len = 1..)]
    command: &str,
    /// Seconds after which it is ended.
    #[arg(range = 1..=590, default = 120)]
    timeout_s: u32,
    /// Text for its standard input; without it, the input is empty.
    stdin: Option<&str>,
) -> Result<String, ToolError> {
    let workspace = ctx.workspace().ok_or_else(|| {
        ToolError::new(
            "this agent has no workspace, so there is no folder to run commands in; tell the user",
        )
    })?;
    if command.contains('\0') {
        return Err(ToolError::new("`command` holds a NUL; leave it out"));
    }
    if let Some(reason) = refuse::reason(command) {
        return Err(ToolError::new(format!("refused, not run: {reason}")));
    }
    let seconds = timeout_s.clamp(1, MAX_TIMEOUT);
    let started = Instant::now();
    let mut deadline = started + Duration::from_secs(seconds.into());
    if let Some(given_up) = ctx.deadline() {
        let given_up = Instant::from_std(given_up);
        deadline = deadline.min(given_up.checked_sub(RESERVE).unwrap_or(given_up));
    }

    let outcome = run(ctx, workspace, command, stdin, deadline)
        .await
        .map_err(|err| match err.kind() {
            ErrorKind::ArgumentListTooLong => ToolError::new(
                "`command` is too long; write the script to a file and run that, or give the text as `stdin`",
            ),
            _ => ToolError::new(format!("the command could not be run: {err}")),
        })?;
    let mut out = outcome.output;
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    match outcome.ending {
        Ending::Exited(status) => {
            let background = match outcome.left {
                0 => String::new(),
                1 => "; 1 process in the background was ended".to_owned(),
                left => format!("; {left} processes in the background were ended"),
            };
            Ok(format!("{out}[{}{background}]", describe(status)))
        }
        Ending::TimedOut => Err(ToolError::new(format!(
            "{out}[timed out after {} s; the command and all it had started were ended]",
            started.elapsed().as_secs()
        ))),
        Ending::Cancelled => Err(ToolError::new(format!(
            "{out}[cancelled; the command and all it had started were ended]"
        ))),
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}{}", signal_name(signal)),
        (None, None) => status.to_string(),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (hangup)",
        2 => " (interrupt)",
        4 => " (illegal instruction)",
        6 => " (abort)",
        8 => " (arithmetic error)",
        9 => " (kill, perhaps out of memory)",
        11 => " (segmentation fault)",
        13 => " (broken pipe)",
        15 => " (terminate)",
        _ => "",
    }
}
