//! Runs one call: off the async threads where it blocks, with a deadline, so that a tool that panics or hangs takes
//! neither the turn nor the process with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::event::Status;
use crate::message::{ContentBlock, Image};
use crate::secret::Secrets;
use crate::tool::{
    Effect, Prepared, Reconcile, Reconciled, Tool, ToolContext, ToolError, ToolOutput,
    ValidArguments,
};
use crate::turn::stable;

/// How long a stopped call may still take to clean up, for example to end a process tree.
const GRACE: Duration = Duration::from_secs(2);

/// How many abandoned blocking calls may still hang before further ones are refused.
const MOST_ABANDONED: usize = 8;

/// How much of images by value an output may hold, in bytes of base64: services take no more in one request.
const MOST_IMAGE_BYTES: usize = 8 << 20;

/// A call to run.
pub(crate) struct Job<'r> {
    pub(crate) tool: Arc<Tool>,
    pub(crate) ctx: ToolContext,
    pub(crate) arguments: ValidArguments,
    pub(crate) timeout: Duration,
    pub(crate) output_chars: usize,
    pub(crate) abandoned: &'r Arc<Abandoned>,
    /// What no output may hold.
    pub(crate) secrets: &'r Secrets,
}

/// A call that ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) call: String,
    pub(crate) status: Status,
    pub(crate) content: Vec<ContentBlock>,
    /// The whole text, where `content` had to be cut.
    pub(crate) whole: Option<String>,
    /// What tells this outcome from another, where that is not what `content` says.
    pub(crate) progress: Option<String>,
}

/// What came of a call that was run, or of asking its tool about one that had been.
#[derive(Debug, PartialEq)]
pub(crate) enum Ended {
    Finished(Finished),
    /// It had not taken effect.
    NotDone {
        call: String,
    },
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

/// Runs a call to its end. Dropping the future cancels the call's token and stops an async tool at once; a thread that
/// runs on is counted as abandoned.
pub(crate) async fn run(job: Job<'_>) -> Ended {
    Ended::Finished(run_to_end(job).await)
}

/// Asks a tool what became of a call whose outcome was lost. Where it does not know, or fails to tell, nobody does.
pub(crate) async fn reconcile(job: Job<'_>) -> Ended {
    let Job {
        tool,
        ctx,
        arguments,
        timeout,
        output_chars,
        secrets,
        ..
    } = job;
    let call = ctx.call_id().to_owned();
    let found = match tool.reconcile() {
        Some(reconcile) => find_out(reconcile, ctx, arguments, timeout).await,
        None => Reconciled::Unknown,
    };
    let (status, output) = match found {
        Reconciled::NotDone => return Ended::NotDone { call },
        Reconciled::Done(output) => (Status::Ok, output),
        Reconciled::Unknown => {
            let text =
                "The process ended while this call ran, and what became of it cannot be found out.";
            (Status::Unknown, ToolOutput::text(text))
        }
    };
    tracing::info!(tool = tool.name(), ?status, "call reconciled");
    Ended::Finished(finished(call, status, output, output_chars, secrets))
}

async fn find_out(
    reconcile: Reconcile,
    ctx: ToolContext,
    arguments: ValidArguments,
    timeout: Duration,
) -> Reconciled {
    let Ok(arguments) = serde_json::from_str::<serde_json::Value>(arguments.text()) else {
        return Reconciled::Unknown;
    };
    let stop = ctx.cancellation().clone();
    // A task of its own: a panic ends it and not the turn.
    let task = AbortOnDropHandle::new(tokio::spawn(
        async move { reconcile(&ctx, &arguments).await },
    ));
    tokio::select! {
        biased;
        found = task => found.unwrap_or_else(|error| {
            if let Ok(payload) = error.try_into_panic() {
                leave(payload);
            }
            Reconciled::Unknown
        }),
        () = stop.cancelled() => Reconciled::Unknown,
        () = tokio::time::sleep(timeout) => Reconciled::Unknown,
    }
}

async fn run_to_end(job: Job<'_>) -> Finished {
    let Job {
        tool,
        ctx,
        arguments,
        timeout,
        output_chars,
        abandoned,
        secrets,
    } = job;
    let call = ctx.call_id().to_owned();
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
            progress: None,
        };
    }
    let name = tool.name();
    let started = std::time::Instant::now();
    let end = if blocking {
        let stop = ctx.cancellation().clone();
        let call = run_blocking(tool.clone(), ctx, arguments, abandoned.clone());
        wait(call, timeout, stop).await
    } else if tool.is_sync() && Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        run_here(&tool, &ctx, &arguments)
    } else {
        let stop = ctx.cancellation().clone();
        wait(run_async(tool.clone(), ctx, arguments), timeout, stop).await
    };
    let (status, output) = match end {
        End::Returned(Ok(output)) => (Status::Ok, output),
        End::Returned(Err(error)) => (Status::Error, ToolOutput::text(error.to_string())),
        End::Panicked => {
            let text = format!("`{name}` failed: it panicked");
            (Status::Panicked, ToolOutput::text(text))
        }
        End::Stopped => (
            Status::Cancelled,
            ToolOutput::text(format!("`{name}` was cancelled")),
        ),
        End::TimedOut => {
            let text = format!("`{name}` did not finish within {timeout:?} and was stopped");
            (Status::TimedOut, ToolOutput::text(text))
        }
    };
    tracing::info!(
        tool = name,
        ?status,
        elapsed_ms = started.elapsed().as_millis(),
        "call finished"
    );
    finished(call, status, output, output_chars, secrets)
}

fn finished(
    call: String,
    status: Status,
    mut output: ToolOutput,
    output_chars: usize,
    secrets: &Secrets,
) -> Finished {
    // Before it is cut: a part of a secret is not found any more.
    secrets.mask_content(&mut output.content);
    let (content, whole) = bounded(output.content, output_chars);
    // What was cut out may be all that differs.
    let progress = match output.progress {
        Some(key) => Some(stable::short(&secrets.mask(&key))),
        None => whole.as_deref().map(stable::fingerprint),
    };
    Finished {
        call,
        status,
        content,
        whole,
        progress,
    }
}

/// Runs a pure sync call where the turn runs: on a runtime of one thread a task of its own could not be stopped either, and
/// would cost the turn a timer and a walk through the scheduler.
fn run_here(tool: &Tool, ctx: &ToolContext, arguments: &ValidArguments) -> End {
    match catch_unwind(AssertUnwindSafe(|| tool.call(ctx, arguments))) {
        Ok(Prepared::Done(outcome)) => End::Returned(outcome),
        Ok(Prepared::Future(_) | Prepared::Checked) => {
            End::Returned(Err(ToolError::new("the call was not run")))
        }
        Err(payload) => {
            leave(payload);
            End::Panicked
        }
    }
}

/// Runs a call on a task of its own, so that a panic ends the task and not the turn.
async fn run_async(tool: Arc<Tool>, ctx: ToolContext, arguments: ValidArguments) -> End {
    let task = AbortOnDropHandle::new(tokio::spawn(async move {
        match tool.call(&ctx, &arguments) {
            Prepared::Future(future) => future.await,
            Prepared::Done(outcome) => outcome,
            Prepared::Checked => Err(ToolError::new("the call was only checked")),
        }
    }));
    match task.await {
        Ok(outcome) => End::Returned(outcome),
        Err(error) => {
            if let Ok(payload) = error.try_into_panic() {
                leave(payload);
            }
            End::Panicked
        }
    }
}

/// Runs a call on a thread of its own. Dropping the future leaves the thread behind, counted.
async fn run_blocking(
    tool: Arc<Tool>,
    ctx: ToolContext,
    arguments: ValidArguments,
    abandoned: Arc<Abandoned>,
) -> End {
    let hold = Arc::new(Hold {
        state: AtomicU8::new(RUNS),
        abandoned,
    });
    let free = Returned(hold.clone());
    let _give_up = GiveUp(hold);
    // One that still waits for a thread is not started any more when this is dropped.
    let task = AbortOnDropHandle::new(tokio::task::spawn_blocking(move || {
        let _free = free;
        catch_unwind(AssertUnwindSafe(|| match tool.call(&ctx, &arguments) {
            Prepared::Done(outcome) => outcome,
            Prepared::Future(_) | Prepared::Checked => Err(ToolError::new("the call was not run")),
        }))
        .map_err(leave)
    }));
    match task.await {
        Ok(Ok(outcome)) => End::Returned(outcome),
        Ok(Err(_)) | Err(_) => End::Panicked,
    }
}

/// Waits for a call; one that is stopped or late gets a moment to clean up. Dropping this stops it.
async fn wait(call: impl Future<Output = End>, timeout: Duration, stop: CancellationToken) -> End {
    let mut call = pin!(call);
    let dropped = stop.clone().drop_guard();
    let end = tokio::select! {
        biased;
        end = &mut call => {
            dropped.disarm();
            return end;
        }
        () = stop.cancelled() => End::Stopped,
        () = tokio::time::sleep(timeout) => End::TimedOut,
    };
    stop.cancel();
    match tokio::time::timeout(GRACE, call).await {
        // It had finished its work all the same.
        Ok(End::Returned(Ok(output))) => End::Returned(Ok(output)),
        _ => end,
    }
}

/// Leaves what a tool panicked with where it is: it is the tool's own, and dropping it may panic again.
fn leave(payload: Box<dyn Any + Send>) {
    std::mem::forget(payload);
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

/// Gives the call up, if it still runs, when nobody waits for it any more.
struct GiveUp(Arc<Hold>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Told when the thread is free again, or was never taken.
struct Returned(Arc<Hold>);

impl Drop for Returned {
    fn drop(&mut self) {
        if self.0.state.swap(RETURNED, Ordering::SeqCst) == GIVEN_UP {
            self.0.abandoned.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Keeps an output within bounds: text is cut to `limit` characters in all, keeping head and tail, and images and links that
/// are too much are left out. Returns the whole text too when it had to be cut.
fn bounded(mut content: Vec<ContentBlock>, limit: usize) -> (Vec<ContentBlock>, Option<String>) {
    let left_out = leave_out(&mut content, limit);
    let (mut content, whole) = cut(content, limit);
    if left_out > 0 {
        content.push(ContentBlock::text(format!(
            "\n[… {left_out} images or links left out: an output holds at most {} MiB of images and {limit} characters of \
             links …]",
            MOST_IMAGE_BYTES >> 20
        )));
    }
    (content, whole)
}

/// Takes out the images and links that are past the bounds, and what no tool can say. Returns how many images and links.
fn leave_out(content: &mut Vec<ContentBlock>, limit: usize) -> usize {
    /// What a block takes beside what it holds.
    const FRAME: usize = 64;
    let (mut images, mut links, mut left_out) = (MOST_IMAGE_BYTES, limit, 0);
    content.retain(|block| {
        let (room, size) = match block {
            ContentBlock::Text { text } => return !text.is_empty(),
            ContentBlock::Image(Image::Data { media_type, base64 }) => {
                (&mut images, media_type.len() + base64.len())
            }
            ContentBlock::Image(Image::Url(url)) => (&mut links, url.len()),
            ContentBlock::Resource { uri, description } => {
                (&mut links, uri.len() + description.len())
            }
            _ => return false,
        };
        let rest = room.checked_sub(size + FRAME);
        match rest {
            Some(rest) => *room = rest,
            None => left_out += 1,
        }
        rest.is_some()
    });
    left_out
}

fn cut(content: Vec<ContentBlock>, limit: usize) -> (Vec<ContentBlock>, Option<String>) {
    let whole = crate::message::joined(&content);
    let length = whole.chars().count();
    if length <= limit {
        return (content, None);
    }
    let whole = whole.into_owned();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn image(bytes: usize) -> ContentBlock {
        ContentBlock::Image(Image::Data {
            media_type: "image/png".to_owned(),
            base64: "A".repeat(bytes),
        })
    }

    fn link(length: usize) -> ContentBlock {
        ContentBlock::Resource {
            uri: "u".repeat(length),
            description: String::new(),
        }
    }

    #[test]
    fn images_and_links_are_bounded_as_text_is() {
        let small = vec![ContentBlock::text("seen"), image(1 << 20), link(100)];
        assert_eq!(bounded(small.clone(), 300), (small, None));

        let large = vec![
            image(9 << 20),
            ContentBlock::text("seen"),
            link(1_000),
            image(10),
        ];
        let (content, whole) = bounded(large, 300);
        let note = "\n[… 2 images or links left out: an output holds at most 8 MiB of images and 300 characters of links …]";
        let expected = [
            ContentBlock::text("seen"),
            image(10),
            ContentBlock::text(note),
        ];
        assert_eq!((&content[..], whole), (&expected[..], None));

        let (many, _) = bounded(vec![image(0); 200_000], 300);
        assert!(many.len() < 140_000);
        assert_eq!(
            bounded(vec![ContentBlock::text(""); 1_000], 300),
            (vec![], None)
        );
    }

    #[test]
    fn what_only_a_model_or_claw_can_say_is_no_output() {
        let call = crate::message::ToolCall {
            id: "c".to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
        };
        assert_eq!(
            bounded(vec![ContentBlock::ToolCall(call)], 300),
            (vec![], None)
        );
    }
}
