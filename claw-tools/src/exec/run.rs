//! One run: feeds, reads and waits until the command ends, its time is over or the turn is cancelled.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;

use claw::tool::{ToolContext, Workspace};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::clip::Clip;
use super::shell::shell;
use super::tree::{Tree, marker};

/// How long output is still read after the command has ended, as a program in the background may hold it open.
const LINGER: Duration = Duration::from_millis(200);
/// How often new processes are looked for while the command runs.
const SAMPLE: Duration = Duration::from_millis(50);

/// How a run went.
pub(super) struct Outcome {
    /// What was written, in order, bounded.
    pub(super) output: String,
    pub(super) ending: Ending,
    /// How many processes were still there and had to be ended.
    pub(super) left: usize,
}

/// Why a run ended.
pub(super) enum Ending {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Runs a command; when this returns or is dropped, nothing that it started is left.
pub(super) async fn run(
    ctx: &ToolContext,
    workspace: &Workspace,
    command: &str,
    input: Option<&str>,
    deadline: Instant,
) -> io::Result<Outcome> {
    let (reader, writer) = io::pipe()?;
    let marker = marker();
    // The command holds our end for writing; it must be dropped for the output to have an end.
    let mut child = shell(command, workspace.path(), &marker, input.is_some(), writer)?.spawn()?;
    let mut tree = Tree::new(child.id(), marker);
    let reader = std::process::ChildStdout::from(OwnedFd::from(reader));
    let mut output = Output {
        reader: ChildStdout::from_std(reader)?,
        buffer: vec![0; 16 * 1024],
        clip: Clip::default(),
        is_open: true,
    };
    let feed = feed(child.stdin.take(), input.unwrap_or_default());
    tokio::pin!(feed);
    let mut is_fed = false;
    let mut status: Option<ExitStatus> = None;
    let mut until = deadline;
    let mut sample = interval(SAMPLE);
    sample.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ending = loop {
        if let (Some(status), false) = (status, output.is_open) {
            break Ending::Exited(status);
        }
        tokio::select! {
            () = ctx.cancellation().cancelled() => break Ending::Cancelled,
            () = sleep_until(until) => break match status {
                Some(status) => Ending::Exited(status),
                None => Ending::TimedOut,
            },
            () = output.read(), if output.is_open => {}
            exited = child.wait(), if status.is_none() => {
                status = Some(exited?);
                tree.leader_is_gone();
                until = (Instant::now() + LINGER).min(deadline);
            }
            () = &mut feed, if !is_fed => is_fed = true,
            _ = sample.tick(), if status.is_none() => tree.sample(),
        }
    };
    let left = tokio::task::spawn_blocking(move || tree.end())
        .await
        .map_err(io::Error::other)?;
    // What was written before is still in the pipe.
    let until = Instant::now() + LINGER;
    while output.is_open && Instant::now() < until {
        if timeout_at(until, output.read()).await.is_err() {
            break;
        }
    }
    Ok(Outcome {
        output: output.clip.into_text(),
        ending,
        left,
    })
}

struct Output {
    reader: ChildStdout,
    buffer: Vec<u8>,
    clip: Clip,
    is_open: bool,
}

impl Output {
    /// Reads once. Dropping it half-way loses nothing.
    async fn read(&mut self) {
        match self.reader.read(&mut self.buffer).await {
            Ok(length) if length > 0 => self.clip.push(&self.buffer[..length]),
            _ => self.is_open = false,
        }
    }
}

/// Writes the input and closes it. A command that does not read it is no fault.
async fn feed(pipe: Option<ChildStdin>, text: &str) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(text.as_bytes()).await;
    }
}
