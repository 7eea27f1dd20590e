//! The driver: performs what the turn machine commands, and tells it what came of it.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::clock::Clock;
use super::{Agent, AgentError, ApprovalRequest, Inner, Observer};
use crate::dialect::{Dialect, Offer};
use crate::dispatch::{self, Finished, Job};
use crate::event::{Answer, Event, TurnOutcome};
use crate::fallback;
use crate::message::{ContentBlock, text_of};
use crate::provider::{
    Delta, DeltaSink, FailureClass, History, Kept, Protocol, ProviderError, Reply, Request, Target,
    ToolChoice,
};
use crate::session::{Append, Barrier, Lease, View};
use crate::tool::{CallInfo, ToolContext, ValidArguments};
use crate::turn::{Command, Input, Setup, Turn};

/// How many progress lines may wait; more are dropped, for they only inform.
const PROGRESS_LINES: usize = 64;

impl Agent {
    pub(super) fn setup(&self, view: &View, lease: &Lease, events: u64) -> Setup {
        let inner = &self.inner;
        let seed = lease
            .session
            .bytes()
            .fold(events, |seed, byte| seed.rotate_left(7) ^ u64::from(byte));
        Setup {
            tools: inner.tools.clone(),
            policy: inner.policy.clone(),
            limits: inner.limits.clone(),
            coerce: inner.coerce,
            targets: self.targets(view),
            system: crate::digest::of(inner.system.as_bytes()),
            seed,
        }
    }
}

/// Keeps the system prompt and the tool definitions as blobs, before an event names their digests.
pub(super) async fn keep_context(
    agent: &Agent,
    lease: &Lease,
    view: &View,
) -> Result<(), AgentError> {
    let inner = &agent.inner;
    let known = view.context();
    if known.is_none_or(|(system, _)| system != crate::digest::of(inner.system.as_bytes())) {
        inner.store.put_blob(lease, inner.system.as_bytes()).await?;
    }
    if known.is_none_or(|(_, toolset)| toolset != inner.tools.digest()) {
        inner
            .store
            .put_blob(lease, inner.tools.definitions().as_bytes())
            .await?;
    }
    Ok(())
}

/// Drives one turn to its end, in a session whose last event is `head`. Returns the outcome and the last event then.
pub(super) async fn drive(
    agent: &Inner,
    lease: &Lease,
    kept: &Kept,
    turn: &mut Turn,
    first: Input,
    mut head: u64,
    token: &CancellationToken,
    observer: &mut dyn Observer,
) -> (TurnOutcome, u64) {
    let watch = Watch {
        observer: Mutex::new(observer),
        shown: AtomicBool::new(false),
    };
    let mut work = Work::new(agent, lease, kept, &watch, token);
    let mut input = first;
    loop {
        let mut step = turn.step(work.clock.now(), input);
        while !step.append.is_empty() {
            let append = Append {
                after: head,
                events: &step.append,
                barrier: step.barrier.unwrap_or(Barrier::Buffered),
                taken: &[],
            };
            let next = match agent.store.append(lease, append).await {
                Ok(()) => {
                    head += step.append.len() as u64;
                    step.append.iter().for_each(|event| work.event(event));
                    Input::Appended
                }
                Err(error) => Input::AppendFailed {
                    message: error.to_string(),
                },
            };
            step = turn.step(work.clock.now(), next);
        }
        for command in step.commands {
            if let Some(outcome) = work.perform(turn, command) {
                work.clean_up().await;
                return (outcome, head);
            }
        }
        input = work.next().await;
    }
}

/// A progress line: the call's id and the text.
type Line = (String, String);

/// What is under way.
struct Work<'r> {
    agent: &'r Inner,
    lease: &'r Lease,
    kept: &'r Kept,
    watch: &'r Watch<'r>,
    token: &'r CancellationToken,
    /// The turn's cancelling, waited for in one go: it is asked about again and again.
    cancel: Pin<Box<WaitForCancellationFuture<'r>>>,
    cancelled: bool,
    clock: Clock,
    request: Option<BoxFuture<'r, Result<Reply, ProviderError>>>,
    /// The tools of the running request, as the model knows them.
    offer: Option<Arc<Offer>>,
    /// Whether the text of the last reply reached the observer while it came.
    live: bool,
    calls: FuturesUnordered<BoxFuture<'r, Finished>>,
    stops: HashMap<String, CancellationToken>,
    asks: FuturesUnordered<BoxFuture<'r, Input>>,
    progress: (mpsc::Sender<Line>, mpsc::Receiver<Line>),
    ready: VecDeque<Input>,
}

impl<'r> Work<'r> {
    fn new(
        agent: &'r Inner,
        lease: &'r Lease,
        kept: &'r Kept,
        watch: &'r Watch<'r>,
        token: &'r CancellationToken,
    ) -> Self {
        Self {
            agent,
            lease,
            kept,
            watch,
            token,
            cancel: Box::pin(token.cancelled()),
            cancelled: false,
            clock: Clock::start(),
            request: None,
            offer: None,
            live: false,
            calls: FuturesUnordered::new(),
            stops: HashMap::new(),
            asks: FuturesUnordered::new(),
            progress: mpsc::channel(PROGRESS_LINES),
            ready: VecDeque::new(),
        }
    }

    /// Shows an appended event; the text of a reply that did not stream comes first, as one delta.
    fn event(&self, event: &Event) {
        let mut observer = self.watch.observer();
        if let Event::Assistant { content, .. } = event
            && !self.live
        {
            let text = text_of(content);
            if !text.is_empty() {
                observer.delta(&Delta::Text { text });
            }
        }
        observer.event(event);
    }

    fn perform(&mut self, turn: &Turn, command: Command) -> Option<TurnOutcome> {
        match command {
            Command::Request {
                target,
                tool_choice,
            } => self.request(turn, &target, tool_choice),
            Command::AbortRequest => self.request = None,
            Command::Run {
                call,
                tool,
                arguments,
                timeout,
            } => self.run(call, &tool, arguments, timeout),
            Command::Stop { call } => {
                if let Some(stop) = self.stops.get(&call) {
                    stop.cancel();
                }
            }
            Command::Ask {
                call,
                tool,
                arguments,
                digest,
                rule,
            } => {
                let approval = &self.agent.approval;
                let session = &self.lease.session;
                self.asks.push(Box::pin(async move {
                    let request = ApprovalRequest {
                        session,
                        call: &call,
                        tool: &tool,
                        arguments: &arguments,
                        rule: &rule,
                    };
                    let answer: Answer = approval.ask(request).await;
                    Input::Approval {
                        call,
                        digest,
                        answer,
                    }
                }));
            }
            Command::Arm { timer, after } => self.clock.arm(timer, after),
            Command::Finish(outcome) => return Some(outcome),
        }
        None
    }

    fn request(&mut self, turn: &Turn, target: &Target, tool_choice: ToolChoice) {
        let agent = self.agent;
        let model = agent
            .models
            .iter()
            .find(|model| model.provider.name() == target.provider && model.name == target.model);
        let Some(model) = model else {
            let message = format!("there is no model `{}:{}`", target.provider, target.model);
            self.ready.push_back(Input::Failed(ProviderError::new(
                FailureClass::NotFound,
                message,
            )));
            return;
        };
        let prompted = target.protocol == Protocol::Prompt;
        let offered = target.protocol == Protocol::Native && !agent.tools.is_empty();
        let capabilities = model.provider.capabilities(&model.name);
        let streams = capabilities.streaming && (!offered || capabilities.streaming_with_tools);
        let dialect = Dialect::named(&target.dialect).unwrap_or(Dialect::CANONICAL);
        self.offer = offered.then(|| agent.tools.offer(dialect));
        // Under the prompt protocol a reply is text for us until its calls are found, so it is not shown as it comes.
        self.live = streams && !prompted;
        self.watch.shown.store(false, Ordering::Relaxed);
        let sink: Option<Box<dyn DeltaSink + 'r>> = match (streams, self.live) {
            (false, _) => None,
            (true, true) => Some(Box::new(Shown {
                watch: self.watch,
                offer: self.offer.clone(),
            })),
            (true, false) => Some(Box::new(Unseen)),
        };
        let messages = turn.request_messages();
        let (system, messages) = match prompted {
            true => (
                fallback::system(&agent.system, &agent.tools).into(),
                fallback::messages(&messages).into(),
            ),
            false => (std::borrow::Cow::Borrowed(&*agent.system), messages),
        };
        let request = Request {
            model: &model.name,
            system: &system,
            messages: &messages,
            // Under the prompt protocol the conversation is rendered anew each time.
            history: (!prompted).then(|| History {
                settled: turn.view().settled(),
                kept: self.kept,
            }),
            tools: offered.then_some(&agent.tools),
            dialect,
            tool_choice,
            max_output_tokens: agent.limits.max_output_tokens,
            stop: if prompted { fallback::STOP } else { &[] },
        };
        self.request = Some(model.provider.complete(request, sink));
    }

    fn run(
        &mut self,
        call: String,
        name: &str,
        arguments: ValidArguments,
        timeout: std::time::Duration,
    ) {
        let Some(tool) = self.agent.tools.get(name) else {
            // The machine looked it up in this very toolset.
            tracing::error!(tool = name, "a call to run names no tool");
            return;
        };
        let stop = self.token.child_token();
        let lines = self.progress.0.clone();
        let id = call.clone();
        let ctx = ToolContext::new(CallInfo {
            session_id: self.lease.session.clone(),
            call_id: call.clone(),
            cancel: stop.clone(),
            deadline: std::time::Instant::now().checked_add(timeout),
            workspace: self.agent.workspace.clone(),
            state: self.agent.state.clone(),
            progress: Some(Arc::new(move |line: &str| {
                // A full queue drops the line: progress only informs.
                let _ = lines.try_send((id.clone(), line.to_owned()));
            })),
        });
        self.stops.insert(call.clone(), stop.clone());
        let job = Job {
            call,
            tool: tool.clone(),
            ctx,
            arguments,
            timeout,
            stop,
            output_chars: tool
                .spec()
                .max_output
                .unwrap_or(self.agent.limits.output_chars),
            abandoned: self.agent.abandoned.clone(),
        };
        self.calls.push(Box::pin(dispatch::run(job)));
    }

    /// Lets the calls that were stopped clean up; dispatch gives them their grace. What they say comes too late to count.
    async fn clean_up(&mut self) {
        self.stops.values().for_each(CancellationToken::cancel);
        while self.calls.next().await.is_some() {}
    }

    /// Waits for the next thing the turn must hear of.
    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return input;
            }
            let waits_for_person =
                !self.asks.is_empty() && self.calls.is_empty() && self.request.is_none();
            self.clock.set_running(!waits_for_person);
            tokio::select! {
                biased;
                () = self.cancel.as_mut(), if !self.cancelled => {
                    self.cancelled = true;
                    self.asks.clear();
                    return Input::Cancel;
                }
                Some((call, line)) = self.progress.1.recv() => self.watch.observer().progress(&call, &line),
                Some(finished) = self.calls.next(), if !self.calls.is_empty() => {
                    self.stops.remove(&finished.call);
                    return keep(self.agent, self.lease, finished).await;
                }
                reply = poll(&mut self.request) => {
                    self.request = None;
                    if self.watch.shown.load(Ordering::Relaxed) {
                        self.ready.push_back(Input::Shown);
                    }
                    self.ready.push_back(match reply {
                        Ok(reply) => Input::Reply(self.lifted(reply)),
                        Err(error) => Input::Failed(error),
                    });
                }
                Some(answer) = self.asks.next(), if !self.asks.is_empty() => return answer,
                timer = self.clock.fired() => return Input::Fired(timer),
            }
        }
    }

    /// Turns the calls of a reply into canonical ones: what is validated and journaled knows no dialect.
    fn lifted(&self, mut reply: Reply) -> Reply {
        let Some(offer) = &self.offer else {
            return reply;
        };
        let calls = reply.content.iter_mut().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        });
        calls
            .chain(&mut reply.cut_calls)
            .for_each(|call| offer.lift(call));
        reply
    }
}

/// Keeps the whole of an output that had to be cut, so that it can be read later. Borrows nothing of the work under way:
/// what runs is not `Sync`, and a turn must be able to move between threads.
async fn keep(agent: &Inner, lease: &Lease, finished: Finished) -> Input {
    let Finished {
        call,
        status,
        content,
        whole,
        progress,
    } = finished;
    let blob = match whole {
        Some(whole) => match agent.store.put_blob(lease, whole.as_bytes()).await {
            Ok(digest) => Some(digest),
            Err(error) => {
                tracing::warn!(%error, call, "the whole output of a call was not kept");
                None
            }
        },
        None => None,
    };
    Input::Outcome {
        call,
        status,
        content,
        blob,
        progress,
    }
}

/// Polls the running request; pends while there is none.
async fn poll(
    request: &mut Option<BoxFuture<'_, Result<Reply, ProviderError>>>,
) -> Result<Reply, ProviderError> {
    match request {
        Some(request) => request.await,
        None => std::future::pending().await,
    }
}

/// The observer, shared between the turn and the running request: both live on one task, so the lock is never waited
/// for.
struct Watch<'o> {
    observer: Mutex<&'o mut dyn Observer>,
    shown: AtomicBool,
}

impl<'o> Watch<'o> {
    fn observer(&self) -> MutexGuard<'_, &'o mut dyn Observer> {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows the pieces of a reply as they come, tools by the names we know them by.
struct Shown<'r> {
    watch: &'r Watch<'r>,
    offer: Option<Arc<Offer>>,
}

impl DeltaSink for Shown<'_> {
    fn delta(&mut self, mut delta: Delta) {
        if matches!(delta, Delta::Text { .. }) {
            self.watch.shown.store(true, Ordering::Relaxed);
        }
        if let (Delta::CallStarted { name, .. }, Some(offer)) = (&mut delta, &self.offer) {
            *name = offer.name(name).to_owned();
        }
        self.watch.observer().delta(&delta);
    }
}

/// Takes the pieces of a reply that nobody sees yet: the request streams all the same, for its idle timer.
struct Unseen;

impl DeltaSink for Unseen {
    fn delta(&mut self, _: Delta) {}
}
