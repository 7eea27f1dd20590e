//! Running programs: `exec`.
//!
//! A call owns what it starts. When it ends, for whatever reason, every process it left behind is ended too, also those that
//! moved to a session of their own. This is tidiness, not a wall: what a program may do is up to the sandbox.

mod clip;
mod tree;

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use claw::tool;
use claw::tool::{ToolContext, ToolError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use clip::Clip;
use tree::Tree;

/// The most seconds a command may take; below the timeout of the tool.
const MAX_TIMEOUT: u32 = 590;
/// Time before the call's own deadline that is kept to end the processes and to answer.
const RESERVE: Duration = Duration::from_secs(3);
/// How long output is still read after the command has ended, as a program in the background may hold it open.
const LINGER: Duration = Duration::from_millis(200);
/// How often new processes are looked for while the command runs.
const SAMPLE: Duration = Duration::from_millis(50);

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
    let seconds = timeout_s.clamp(1, MAX_TIMEOUT);
    let started = Instant::now();
    let mut deadline = started + Duration::from_secs(seconds.into());
    if let Some(given_up) = ctx.deadline() {
        let given_up = Instant::from_std(given_up);
        deadline = deadline.min(given_up.checked_sub(RESERVE).unwrap_or(given_up));
    }

    let failed =
        |err: std::io::Error| ToolError::new(format!("the command could not be started: {err}"));
    // One pipe for both streams keeps the order in which they were written.
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let marker = tree::marker();
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(command)
        .current_dir(workspace.path())
        .env(&marker, "1")
        .env("TERM", "dumb")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(if stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_none_or(is_secret) {
            shell.env_remove(name);
        }
    }
    let mut child = shell.spawn().map_err(failed)?;
    // It holds our ends of the pipe.
    drop(shell);
    let mut tree = Tree::new(child.id(), marker);
    let reader = std::process::ChildStdout::from(OwnedFd::from(reader));
    let mut reader = ChildStdout::from_std(reader).map_err(failed)?;
    let mut clip = Clip::default();

    let input = feed(child.stdin.take(), stdin.unwrap_or_default());
    tokio::pin!(input);
    let mut is_fed = false;
    let mut is_open = true;
    let mut status: Option<ExitStatus> = None;
    let mut linger = deadline;
    let mut sample = interval(SAMPLE);
    sample.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut buffer = vec![0; 16 * 1024];
    let ending = loop {
        tokio::select! {
            () = ctx.cancellation().cancelled() => break Ending::Cancelled,
            () = sleep_until(linger) => break match status {
                Some(status) => Ending::Exited(status),
                None => Ending::TimedOut,
            },
            read = reader.read(&mut buffer), if is_open => match read {
                Ok(length) if length > 0 => clip.push(&buffer[..length]),
                _ => is_open = false,
            },
            exited = child.wait(), if status.is_none() => {
                status = Some(exited.map_err(failed)?);
                tree.leader_is_gone();
                linger = (Instant::now() + LINGER).min(deadline);
            }
            () = &mut input, if !is_fed => is_fed = true,
            _ = sample.tick(), if status.is_none() => tree.sample(),
        }
        if let (Some(status), false) = (status, is_open) {
            break Ending::Exited(status);
        }
    };
    let left = tokio::task::spawn_blocking(move || tree.end())
        .await
        .map_err(|_| ToolError::new("the processes of the command could not be ended"))?;
    // What they had written before is still in the pipe.
    let until = Instant::now() + LINGER;
    while is_open {
        match timeout_at(until, reader.read(&mut buffer)).await {
            Ok(Ok(length)) if length > 0 && Instant::now() < until => clip.push(&buffer[..length]),
            _ => is_open = false,
        }
    }

    let mut out = clip.into_text();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    match ending {
        Ending::Exited(status) => {
            let background = match left {
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

enum Ending {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Writes the input and closes it. A command that does not read it is no fault.
async fn feed(pipe: Option<ChildStdin>, text: &str) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(text.as_bytes()).await;
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

/// Tells whether a variable looks like one that holds a secret: programs that a model starts do not need our keys.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
        .iter()
        .any(|part| name.contains(part))
        || ["KEY", "TOKEN"].iter().any(|end| {
            name.strip_suffix(end).is_some_and(|before| {
                before.is_empty() || before.ends_with('_') || before.ends_with("API")
            })
        })
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn variables_that_look_like_secrets_are_known() {
        for secret in [
            "OPENAI_API_KEY",
            "OPENAI_APIKEY",
            "GITHUB_TOKEN",
            "TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "db_password",
            "CLIENT_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(is_secret(secret), "{secret}");
        }
        for plain in [
            "PATH",
            "HOME",
            "LANG",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "",
        ] {
            assert!(!is_secret(plain), "{plain}");
        }
    }
}
