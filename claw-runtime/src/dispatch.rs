//! Runs one call: off the async threads where it blocks, with a deadline, so that a tool that panics or hangs takes
//! neither the turn nor the process with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::event::Status;
use crate::message::ContentBlock;
use crate::tool::{Effect, Prepared, Tool, ToolContext, ToolError, ToolOutput, ValidArguments};

/// How long a stopped call may still take to clean up, for example to end a process tree.
const GRACE: Duration = Duration::from_secs(2);

/// How many abandoned blocking calls may still hang before further ones are refused.
const MOST_ABANDONED: usize = 8;

/// A call to run.
pub(crate) struct Job {
    pub(crate) call: String,
    pub(crate) tool: Arc<Tool>,
    pub(crate) ctx: ToolContext,
    pub(crate) arguments: ValidArguments,
    pub(crate) timeout: Duration,
    pub(crate) stop: CancellationToken,
    pub(crate) output_chars: usize,
    pub(crate) abandoned: Arc<Abandoned>,
}

/// A call that ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) call: String,
    pub(crate) status: Status,
    pub(crate) content: Vec<ContentBlock>,
    /// The whole text, where `content` had to be cut.
    pub(crate) whole: Option<String>,
}

/// Blocking calls that were given up and still hold their thread.
#[derive(Debug, Default)]
pub(crate) struct Abandoned(AtomicUsize);

type Outcome = Result<ToolOutput, ToolError>;

/// What became of a started call.
enum End {
    Returned(Outcome),
    Panicked,
    Stopped,
    TimedOut,
}

/// Runs a call to its end. Dropping the future stops an async tool at once.
pub(crate) async fn run(job: Job) -> Finished {
    let Job {
        call,
        tool,
        ctx,
        arguments,
        timeout,
        stop,
        output_chars,
        abandoned,
    } = job;
    let blocking = tool.is_sync() && (tool.spec().effect != Effect::Pure || tool.spec().blocking);
    if blocking && abandoned.0.load(Ordering::Relaxed) >= MOST_ABANDONED {
        let text = format!(
            "`{}` was not run: {MOST_ABANDONED} earlier calls hang and still hold a thread each",
            tool.name()
        );
        return Finished {
            call,
            status: Status::Refused,
            content: vec![ContentBlock::text(text)],
            whole: None,
        };
    }
    let name = tool.name().to_owned();
    let started = std::time::Instant::now();
    let end = if blocking {
        run_blocking(tool, ctx, arguments, timeout, &stop, &abandoned).await
    } else {
        run_async(tool, ctx, arguments, timeout, &stop).await
    };
    let (status, content) = match end {
        End::Returned(Ok(output)) => (Status::Ok, output.content),
        End::Returned(Err(error)) => (Status::Error, vec![ContentBlock::text(error.to_string())]),
        End::Panicked => (
            Status::Panicked,
            vec![ContentBlock::text(format!("`{name}` failed: it panicked"))],
        ),
        End::Stopped => (
            Status::Cancelled,
            vec![ContentBlock::text(format!("`{name}` was cancelled"))],
        ),
        End::TimedOut => {
            let text = format!("`{name}` did not finish within {timeout:?} and was stopped");
            (Status::TimedOut, vec![ContentBlock::text(text)])
        }
    };
    tracing::info!(
        tool = name,
        ?status,
        elapsed_ms = started.elapsed().as_millis(),
        "call finished"
    );
    let (content, whole) = bounded(content, output_chars);
    Finished {
        call,
        status,
        content,
        whole,
    }
}

async fn run_async(
    tool: Arc<Tool>,
    ctx: ToolContext,
    arguments: ValidArguments,
    timeout: Duration,
    stop: &CancellationToken,
) -> End {
    // A task of its own, so that a panic ends the task and not the turn.
    let mut task = AbortOnDropHandle::new(tokio::spawn(async move {
        match tool.call(&ctx, &arguments) {
            Prepared::Future(future) => future.await,
            Prepared::Done(outcome) => outcome,
            Prepared::Checked => Err(ToolError::new("the call was only checked")),
        }
    }));
    let returned = |joined: Result<Outcome, tokio::task::JoinError>| match joined {
        Ok(outcome) => End::Returned(outcome),
        Err(_) => End::Panicked,
    };
    let end = tokio::select! {
        biased;
        joined = &mut task => return returned(joined),
        () = stop.cancelled() => End::Stopped,
        () = tokio::time::sleep(timeout) => End::TimedOut,
    };
    stop.cancel();
    match tokio::time::timeout(GRACE, &mut task).await {
        // It had finished its work all the same.
        Ok(Ok(Ok(output))) => End::Returned(Ok(output)),
        _ => end,
    }
}

async fn run_blocking(
    tool: Arc<Tool>,
    ctx: ToolContext,
    arguments: ValidArguments,
    timeout: Duration,
    stop: &CancellationToken,
    abandoned: &Arc<Abandoned>,
) -> End {
    let hold = Arc::new(Hold {
        state: AtomicU8::new(RUNS),
        abandoned: abandoned.clone(),
    });
    let held = hold.clone();
    let mut task = tokio::task::spawn_blocking(move || {
        let _held = Returned(held);
        catch_unwind(AssertUnwindSafe(|| match tool.call(&ctx, &arguments) {
            Prepared::Done(outcome) => outcome,
            Prepared::Future(_) | Prepared::Checked => Err(ToolError::new("the call was not run")),
        }))
    });
    let end = tokio::select! {
        biased;
        joined = &mut task => return returned(joined),
        () = stop.cancelled() => End::Stopped,
        () = tokio::time::sleep(timeout) => End::TimedOut,
    };
    stop.cancel();
    match tokio::time::timeout(GRACE, &mut task).await {
        Ok(joined) => match returned(joined) {
            End::Returned(Ok(output)) => End::Returned(Ok(output)),
            _ => end,
        },
        Err(_) => {
            hold.give_up();
            end
        }
    }
}

fn returned(joined: Result<std::thread::Result<Outcome>, tokio::task::JoinError>) -> End {
    match joined {
        Ok(Ok(outcome)) => End::Returned(outcome),
        Ok(Err(_)) | Err(_) => End::Panicked,
    }
}

/// Counts a thread from when its call is given up until the call returns.
struct Hold {
    state: AtomicU8,
    abandoned: Arc<Abandoned>,
}

const RUNS: u8 = 0;
const GIVEN_UP: u8 = 1;
const RETURNED: u8 = 2;

impl Hold {
    fn give_up(&self) {
        // Counted before the state says so, so that a call that returns meanwhile never subtracts first.
        self.abandoned.0.fetch_add(1, Ordering::SeqCst);
        if self
            .state
            .compare_exchange(RUNS, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            self.abandoned.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Told when the thread is free again.
struct Returned(Arc<Hold>);

impl Drop for Returned {
    fn drop(&mut self) {
        if self.0.state.swap(RETURNED, Ordering::SeqCst) == GIVEN_UP {
            self.0.abandoned.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Cuts the text blocks of an output to `limit` characters in all, keeping head and tail. Returns the whole text too
/// when it had to be cut.
fn bounded(content: Vec<ContentBlock>, limit: usize) -> (Vec<ContentBlock>, Option<String>) {
    let whole = crate::message::text_of(&content);
    let length = whole.chars().count();
    if length <= limit {
        return (content, None);
    }
    let head = limit * 2 / 3;
    let tail = limit - head;
    let head_end = whole
        .char_indices()
        .nth(head)
        .map_or(whole.len(), |(at, _)| at);
    let tail_start = whole
        .char_indices()
        .nth(length - tail)
        .map_or(whole.len(), |(at, _)| at);
    let text = format!(
        "{}\n[… {} of {length} characters left out …]\n{}",
        &whole[..head_end],
        length - limit,
        &whole[tail_start..]
    );
    let mut kept = vec![ContentBlock::text(text)];
    kept.extend(
        content
            .into_iter()
            .filter(|block| !matches!(block, ContentBlock::Text { .. })),
    );
    (kept, Some(whole))
}
