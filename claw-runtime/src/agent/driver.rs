//! The driver: performs what the turn machine commands, and tells it what came of it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::clock::{Clock, millis};
use super::inbox::Given;
use super::keep::{append_kept, keep, outcome};
use super::live::{Line, Shown, Unseen, Watch};
use super::mask::{append_failed, masked};
use super::meter::Meter;
use super::pending::{Side, answer, pending_or};
use super::prompt::{form, prompt};
use super::services::TurnServices;
use super::{Agent, ApprovalRequest, Inner, Observer, inbox};
use crate::dialect::{Dialect, Offer};
use crate::dispatch::{self, Ended, Finished, Job};
use crate::event::{Answer, Event, Status, TurnOutcome};
use crate::fallback;
use crate::message::{ContentBlock, text_of};
use crate::provider::{
    Delta, DeltaSink, FailureClass, History, Kept, Protocol, ProviderError, Reply, Request, Target,
    ToolChoice,
};
use crate::session::{Append, Barrier, Lease, StoreError};
use crate::tool::{CallInfo, Tool, ToolContext, ValidArguments};
use crate::turn::{Command, Input, Millis, Step, Turn};

/// How long a turn looks at nothing but itself after it was woken for an empty inbox.
const WOKEN: Duration = Duration::from_millis(200);

/// A turn to drive, in a session whose last event is `head`.
pub(super) struct Drive<'r> {
    pub(super) agent: &'r Arc<Inner>,
    pub(super) lease: &'r Lease,
    pub(super) kept: &'r Kept,
    pub(super) turn: &'r mut Turn,
    /// What the turn begins or goes on with.
    pub(super) first: Vec<Given>,
    pub(super) head: u64,
    pub(super) token: &'r CancellationToken,
}

/// Drives one turn until it ends or is parked. Returns the outcome and the last event then.
pub(super) async fn drive(drive: Drive<'_>, observer: &mut dyn Observer) -> (TurnOutcome, u64) {
    let Drive {
        agent,
        lease,
        kept,
        turn,
        first,
        mut head,
        token,
    } = drive;
    let watch = Watch::new(observer);
    let mut meter = Meter::default();
    let mut work = Work::new(agent, lease, kept, &watch, token, turn.active());
    work.seen = first.iter().flat_map(|given| &given.taken).copied().max();
    work.ready = first.into();
    loop {
        let Given { input, taken } = work.next().await;
        // A future has room to its end for what it held at several waits, so little is held at more than one.
        let step = {
            let input = masked(&agent.secrets, input);
            meter.settle(agent, &input).await;
            turn.step(work.clock.now(), input)
        };
        let step = work.keep(turn, step, &mut head, taken).await;
        let mut limit = meter.hold(agent, &step.commands).await.err();
        let outcome = step.commands.into_iter().find_map(|command| {
            if matches!(command, Command::Request { .. })
                && let Some(limit) = limit.take()
            {
                work.ready.push_back(Input::OverBudget { limit }.into());
                return None;
            }
            work.perform(turn, command)
        });
        if let Some(outcome) = outcome {
            work.clean_up().await;
            return (outcome, head);
        }
    }
}

/// What is under way.
struct Work<'r> {
    agent: &'r Arc<Inner>,
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
    /// Whether the running request is held to the form, so that only an answer of that form streams.
    held: bool,
    calls: Side<'r, Ended>,
    /// What may be stopped.
    running: Vec<ToolContext>,
    /// What is done for them; made with the first call, for an answer without calls needs none, and of those many are open.
    services: Option<Arc<TurnServices>>,
    /// The question that is open, by its call.
    ask: Option<(String, BoxFuture<'r, Input>)>,
    ready: VecDeque<Given>,
    /// Told when the inbox may hold something; `None` when that cannot be told any more.
    posted: Option<BoxFuture<'r, Result<(), StoreError>>>,
    /// The last entry of the inbox that was read.
    seen: Option<u64>,
    /// Told when the session is about to be lost to another host.
    lost: BoxFuture<'r, ()>,
}

impl<'r> Work<'r> {
    fn new(
        agent: &'r Arc<Inner>,
        lease: &'r Lease,
        kept: &'r Kept,
        watch: &'r Watch<'r>,
        token: &'r CancellationToken,
        active: Millis,
    ) -> Self {
        Self {
            agent,
            lease,
            kept,
            watch,
            token,
            cancel: Box::pin(token.cancelled()),
            cancelled: false,
            clock: Clock::start_at(active),
            request: None,
            offer: None,
            live: false,
            held: false,
            calls: Side::default(),
            running: Vec::new(),
            services: None,
            ask: None,
            ready: VecDeque::new(),
            posted: Some(agent.store.posted(lease)),
            seen: None,
            lost: agent.store.lost(lease),
        }
    }

    /// Appends what a step brought, and what follows from that, until nothing more is to be kept before the commands.
    async fn keep(
        &mut self,
        turn: &mut Turn,
        mut step: Step,
        head: &mut u64,
        mut taken: Vec<u64>,
    ) -> Step {
        let (agent, lease) = (self.agent, self.lease);
        loop {
            // What the turn makes nothing of leaves the inbox all the same.
            let ignored = step.append.is_empty();
            if ignored && taken.is_empty() {
                return step;
            }
            let append = Append {
                after: *head,
                events: step.append.clone(),
                barrier: step.barrier.unwrap_or(Barrier::Buffered),
                taken: &std::mem::take(&mut taken),
            };
            let appended = append_kept(agent, lease, turn.view(), append).await;
            if ignored {
                if let Err(error) = appended {
                    tracing::warn!(%error, "an ignored message stays in the inbox");
                }
                return step;
            }
            let next = match appended {
                Ok(()) => {
                    *head += step.append.len() as u64;
                    let is_shorter = |event: &Event| matches!(event, Event::Compacted { .. });
                    if step.append.iter().any(is_shorter) {
                        self.kept.clear();
                    }
                    self.appended(&step.append);
                    Input::Appended
                }
                Err(error) => append_failed(&agent.secrets, &error),
            };
            step = turn.step(self.clock.now(), next);
        }
    }

    /// Shows appended events, and drops the question they answer.
    fn appended(&mut self, events: &[Event]) {
        let resumed = |event: &Event| matches!(event, Event::Resumed { .. });
        let restarts = events.iter().any(resumed);
        for event in events {
            match event {
                Event::ModelRequest { round, attempt, .. } if restarts && *attempt > 1 => {
                    self.watch.observer().round_restarted(*round);
                }
                Event::Approval { call, .. } => {
                    self.ask = self.ask.take().filter(|(asked, _)| asked != call);
                }
                _ => {}
            }
            self.event(event);
        }
    }

    /// Shows an appended event; the text of a reply that did not stream comes first, as one delta.
    fn event(&self, event: &Event) {
        let mut observer = self.watch.observer();
        // A service may say something else than the form holds.
        let streamed = self.live && (!self.held || self.watch.shown.load(Ordering::Relaxed));
        if let Event::Assistant { content, .. } = event
            && !streamed
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
                constrained,
                max_output_tokens,
                ..
            } => self.request(turn, &target, tool_choice, constrained, max_output_tokens),
            Command::AbortRequest => self.request = None,
            Command::Run {
                call,
                tool,
                arguments,
                timeout,
            } => {
                if self.calls.is_empty() {
                    self.services().purse.refill(turn.left());
                }
                self.run(call, tool, arguments, timeout);
            }
            Command::Stop { call } => {
                if let Some(ctx) = self.running.iter().find(|ctx| ctx.call_id() == call) {
                    ctx.cancellation().cancel();
                }
            }
            Command::Reconcile {
                call,
                tool,
                arguments,
                timeout,
            } => {
                let job = self.job(call, tool, arguments, timeout);
                self.calls.push(dispatch::reconcile(job));
            }
            Command::Ask {
                call,
                tool,
                arguments,
                digest,
                rule,
            } => {
                let agent = self.agent;
                let session = &self.lease.session;
                let asked = call.clone();
                let ask = Box::pin(async move {
                    let request = ApprovalRequest {
                        session,
                        call: &call,
                        tool: &tool,
                        arguments: &arguments,
                        digest: &digest,
                        rule: &rule,
                    };
                    let answer = agent.approval.ask(request).await;
                    match agent.approval.waits() {
                        Some(wait) if answer == Answer::Unanswered => Input::Parked {
                            call,
                            digest,
                            expires_ms: (agent.clock)().saturating_add(millis(wait)),
                        },
                        _ => Input::Approval {
                            call,
                            digest,
                            answer,
                        },
                    }
                });
                self.ask = Some((asked, ask));
            }
            Command::Arm { timer, after } => self.clock.arm(timer, after),
            Command::Finish(outcome) => return Some(outcome),
        }
        None
    }

    fn request(
        &mut self,
        turn: &Turn,
        target: &Target,
        tool_choice: ToolChoice,
        constrained: bool,
        max_output_tokens: Option<u64>,
    ) {
        let agent = self.agent;
        let model = agent
            .models
            .iter()
            .find(|model| model.provider.name() == target.provider && model.name == target.model);
        let Some(model) = model else {
            let message = format!("there is no model `{}:{}`", target.provider, target.model);
            let error = ProviderError::new(FailureClass::NotFound, message);
            self.ready.push_back(Input::Failed(error).into());
            return;
        };
        let summary = turn.summary_request();
        let prompted = target.protocol == Protocol::Prompt && summary.is_none();
        let offered =
            target.protocol == Protocol::Native && !agent.tools.is_empty() && summary.is_none();
        let capabilities = model.provider.capabilities(&model.name);
        let streams = capabilities.streaming && (!offered || capabilities.streaming_with_tools);
        let dialect = Dialect::named(&target.dialect).unwrap_or(Dialect::CANONICAL);
        self.offer = offered.then(|| agent.tools.offer(dialect));
        // Under the prompt protocol a reply is text for us until its calls are found, so it is not shown as it comes; one
        // that is held to the form says at its beginning what it is.
        let held = prompted && constrained;
        let unseen = prompted && !held || summary.is_some();
        self.live = streams && !unseen && self.watch.observer().is_live();
        self.held = held;
        self.watch.shown.store(false, Ordering::Relaxed);
        let sink: Option<Box<dyn DeltaSink + 'r>> = match (streams, unseen) {
            (false, _) => None,
            (true, true) => Some(Box::new(Unseen)),
            (true, false) => Some(Box::new(Shown::new(
                self.watch,
                self.live,
                self.offer.clone(),
                held.then(fallback::Answering::default),
                agent.secrets.pieces(),
            ))),
        };
        let (system, messages) = match &summary {
            Some(summary) => (summary.system.into(), vec![summary.message.clone()].into()),
            None => prompt(agent, model, turn, target.protocol, constrained),
        };
        let form = constrained.then(|| form(agent, model, turn, tool_choice));
        let request = Request {
            model: &model.name,
            system: &system,
            messages: &messages,
            // Under the prompt protocol the conversation is rendered anew each time.
            history: (!prompted && summary.is_none()).then(|| History {
                settled: turn.view().settled(),
                kept: self.kept,
            }),
            tools: offered.then_some(&agent.tools),
            dialect,
            tool_choice,
            max_output_tokens,
            stop: if prompted && form.is_none() {
                fallback::STOP
            } else {
                &[]
            },
            form: form.as_deref(),
        };
        self.request = Some(model.provider.complete(request, sink));
    }

    fn run(&mut self, call: String, tool: Arc<Tool>, arguments: ValidArguments, timeout: Duration) {
        // The session may be somebody else's by the time the call has its effect.
        if !self.agent.store.may_act(self.lease) {
            let text = "Not run: this host is losing the session to another one.";
            let not_started = Input::Outcome {
                call,
                status: Status::NotStarted,
                content: vec![ContentBlock::text(text)],
                blob: None,
                progress: None,
                spent: None,
            };
            return self.ready.push_back(not_started.into());
        }
        let job = self.job(call, tool, arguments, timeout);
        self.calls.push(dispatch::run(job));
    }

    fn job(
        &mut self,
        call: String,
        tool: Arc<Tool>,
        arguments: ValidArguments,
        timeout: Duration,
    ) -> Job<'r> {
        let (agent, services) = (self.agent, self.services().clone());
        let ctx = ToolContext::new(CallInfo {
            session_id: services.session.clone(),
            call_id: call,
            tool: Some(tool.clone()),
            cancel: self.token.clone(),
            deadline: std::time::Instant::now().checked_add(timeout),
            workspace: agent.workspace.clone(),
            state: agent.state.clone(),
            services: Some(services),
        });
        self.running.push(ctx.clone());
        let own = tool.spec().max_output;
        Job {
            output_chars: own.unwrap_or(agent.limits.output_chars),
            tool,
            ctx,
            arguments,
            timeout,
            abandoned: &agent.abandoned,
            secrets: &agent.secrets,
        }
    }

    fn services(&mut self) -> &Arc<TurnServices> {
        self.services.get_or_insert_with(|| {
            let agent = Agent {
                inner: self.agent.clone(),
            };
            Arc::new(TurnServices::new(agent, &self.lease.session))
        })
    }

    /// Lets the calls that were stopped clean up; dispatch gives them their grace. What they say comes too late to count.
    async fn clean_up(&mut self) {
        let stop = |ctx: &ToolContext| ctx.cancellation().cancel();
        self.running.iter().for_each(stop);
        while self.calls.next().await.is_some() {}
    }

    /// Waits for the next thing the turn must hear of.
    async fn next(&mut self) -> Given {
        loop {
            if let Some(given) = self.ready.pop_front() {
                return given;
            }
            let waits_for_person =
                self.ask.is_some() && self.calls.is_empty() && self.request.is_none();
            self.clock.set_running(!waits_for_person);
            tokio::select! {
                biased;
                () = self.cancel.as_mut(), if !self.cancelled => {
                    self.cancelled = true;
                    self.ask = None;
                    return Input::Cancel.into();
                }
                () = self.lost.as_mut() => {
                    self.lost = Box::pin(std::future::pending());
                    let message = "this host is losing the session: its lease could not be renewed".to_owned();
                    return Input::Lost { message }.into();
                }
                posted = pending_or(&mut self.posted) => self.read_inbox(posted).await,
                (call, line) = next_line(&self.services) => self.watch.observer().progress(&call, &line),
                Some(ended) = self.calls.next(), if !self.calls.is_empty() => {
                    return match self.ended(ended) {
                        Ok(input) => input,
                        Err(keeping) => keeping.await,
                    }
                    .into();
                }
                reply = pending_or(&mut self.request) => {
                    self.request = None;
                    if self.watch.shown.load(Ordering::Relaxed) {
                        self.ready.push_back(Input::Shown.into());
                    }
                    let input = reply.map_or_else(Input::Failed, |reply| Input::Reply(self.lifted(reply)));
                    self.ready.push_back(input.into());
                }
                answer = answer(&mut self.ask) => {
                    self.ask = None;
                    return answer.into();
                }
                timer = self.clock.fired() => return Input::Fired(timer).into(),
            }
        }
    }

    /// Returns what the turn is told of a call that ended; where the whole of its output is to be kept, what does that first.
    fn ended(&mut self, ended: Ended) -> Result<Input, BoxFuture<'r, Input>> {
        let (Ended::Finished(Finished { call, .. }) | Ended::NotDone { call }) = &ended;
        self.running.retain(|ctx| ctx.call_id() != call);
        let services = self.services.as_ref();
        let spent = services.and_then(|services| services.spent(call));
        let mut finished = match ended {
            Ended::Finished(finished) => finished,
            Ended::NotDone { call } => return Ok(Input::NotDone { call }),
        };
        match finished.whole.take() {
            None => Ok(outcome(finished, None, spent)),
            Some(whole) => {
                let keeping = keep(self.agent, self.lease, finished, whole, spent);
                Err(Box::pin(keeping))
            }
        }
    }

    /// Reads what is new in the inbox.
    async fn read_inbox(&mut self, posted: Result<(), StoreError>) {
        self.posted = None;
        let read = match posted {
            Ok(()) => inbox::read(self.agent, self.lease, self.seen).await,
            Err(error) => Err(error),
        };
        match read {
            Ok(entries) => {
                let (store, lease) = (&self.agent.store, self.lease);
                // A store may wake us for nothing, but not in a circle.
                let in_vain = entries.is_empty();
                self.posted = Some(Box::pin(async move {
                    if in_vain {
                        tokio::time::sleep(WOKEN).await;
                    }
                    store.posted(lease).await
                }));
                let last = entries.iter().flat_map(|given| &given.taken).max();
                self.seen = last.copied().or(self.seen);
                self.ready.extend(entries);
            }
            // Whoever owns the session now reads it.
            Err(error) => tracing::warn!(%error, "the inbox is not read any more"),
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

/// Waits for the next progress line of a running call.
async fn next_line(services: &Option<Arc<TurnServices>>) -> Line {
    match services {
        Some(services) => services.lines.next().await,
        None => std::future::pending().await,
    }
}
