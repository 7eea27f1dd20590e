//! One turn as a state machine without I/O: [`Turn::step`] takes an input and says what to append and what to do.
//!
//! No clock, no randomness, no network in here, so that crash points, odd models and chunk borders are plain tests. A
//! small driver performs the commands; it starts one only after the events of the same step are appended.

mod approval;
mod budget;
mod calls;
mod canonical;
mod compact;
mod end;
mod form;
mod gate;
mod guard;
mod ids;
mod outbox;
mod past;
mod paths;
mod recover;
mod replay;
mod reply;
mod request;
mod round;
mod secret;
pub(crate) mod stable;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use calls::Kept;
pub use compact::{Room, SummaryRequest};
use end::Tally;
use guard::Guard;
use outbox::Outbox;
use recover::{Interrupted, Parked};
use request::Asking;
use round::Round;

use crate::budget::{Allowance, Reserved, Spent};
use crate::event::{Answer, EndReason, Event, Status, TurnOutcome};
use crate::limits::Limits;
use crate::message::{ContentBlock, Message, Usage};
use crate::policy::Policy;
use crate::provider::{Constrain, Protocol, ProviderError, Reply, Target, ToolChoice};
use crate::registry::Toolset;
use crate::schema::Coerce;
use crate::session::{Barrier, View};
use crate::tool::{Tool, ValidArguments};

/// What stays the same for a whole turn.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The tools the model may be offered; the policy's denied ones are already gone.
    pub tools: Toolset,
    /// What runs, asks or is denied.
    pub policy: Arc<Policy>,
    /// Bounds.
    pub limits: Limits,
    /// How far arguments may be coerced, where the tool says nothing.
    pub coerce: Coerce,
    /// Whom to ask, in order; the next one is tried when one keeps failing.
    pub targets: Vec<Arc<Target>>,
    /// How each of them is asked once it refuses tool definitions; the next one is asked where there is no way.
    pub otherwise: Vec<Option<Protocol>>,
    /// What may be spent, and at what price.
    pub allowance: Allowance,
    /// The room each of them has; assumed where there is none.
    pub room: Vec<Room>,
    /// When each of them is held to a form under the prompt protocol; never where there is none, and where it cannot be.
    pub constrain: Vec<Constrain>,
    /// Digest of the system prompt.
    pub system: String,
    /// Seed of the retry jitter, so that the machine itself has no randomness.
    pub seed: u64,
}

/// One turn. It begins with the first [`Input::Posted`] and ends with [`Command::Finish`].
#[derive(Debug)]
pub struct Turn {
    setup: Setup,
    view: View,
    now: Millis,
    /// When the active time is used up.
    deadline: Millis,
    phase: Phase,
    /// Inputs that came while an append was due.
    inbox: VecDeque<Input>,
    /// Events handed to the driver and not yet acknowledged.
    due: Option<Arc<[Event]>>,
    out: Outbox,
    round: u32,
    /// Which of the chain is asked.
    target: usize,
    /// Numbers the requests, so that a stale timer is told from the running one.
    requests: u64,
    calls: u32,
    usage: Usage,
    guard: Guard,
    tally: Tally,
    /// Why the turn wraps up after this round.
    stop: Option<EndReason>,
    /// Why the turn ends after this round without the model being asked again.
    ending: Option<EndReason>,
    /// A question that left its process with the turn.
    parked: Option<Parked>,
    /// Whether the turn still rests on that question, so that its journal says so.
    asleep: bool,
    /// Whether something was said that no request has carried yet.
    unread: bool,
    /// Whether the last round went on with a broken answer.
    continued: bool,
    /// The beginning of an answer that goes on in this round.
    begun: String,
    /// Whether a summary could not be made, so that none is tried again unless it must be.
    no_summary: bool,
    /// Whether this is no turn but a compaction between turns.
    only_compacts: bool,
}

#[derive(Debug)]
enum Phase {
    /// Nothing was posted yet.
    Idle,
    /// A model is asked, or will be after a pause.
    Asking(Asking),
    /// The calls of a round are decided on and run.
    Calling(Round),
    /// The process of the turn ended; it is to be picked up.
    Interrupted(Box<Interrupted>),
    /// The turn is over; nothing counts any more.
    Finished,
}

impl Turn {
    /// Returns a turn over the session folded into `view`.
    pub fn new(setup: Setup, view: View) -> Self {
        Self {
            setup,
            view,
            now: 0,
            deadline: 0,
            phase: Phase::Idle,
            inbox: VecDeque::new(),
            due: None,
            out: Outbox::default(),
            round: 0,
            target: 0,
            requests: 0,
            calls: 0,
            usage: Usage::default(),
            guard: Guard::default(),
            tally: Tally::default(),
            stop: None,
            ending: None,
            parked: None,
            asleep: false,
            unread: false,
            continued: false,
            begun: String::new(),
            no_summary: false,
            only_compacts: false,
        }
    }

    /// Takes an input and says what to append and what to do.
    ///
    /// A step that appends has no commands: they come with the step for [`Input::Appended`], which may itself append
    /// more. An input that comes while an append is due is kept until then. After [`Command::Finish`], always the last
    /// command of its step, every input is ignored.
    pub fn step(&mut self, now: Millis, input: Input) -> Step {
        self.now = self.now.max(now);
        let mut next = None;
        match input {
            Input::Appended => {
                for event in self.due.take().iter().flat_map(|due| due.iter()) {
                    self.view.apply(event);
                }
                self.compact_due();
            }
            Input::AppendFailed { message } => {
                if self.due.take().is_some() {
                    self.store_failed(message);
                }
            }
            input if self.due.is_some() => self.inbox.push_back(input),
            // What was kept is taken by now.
            input => next = Some(input),
        }
        while self.due.is_none() {
            if let Some((append, barrier)) = self.out.flush() {
                self.due = Some(append.clone());
                return Step {
                    append,
                    barrier: Some(barrier),
                    commands: Vec::new(),
                };
            }
            let Some(input) = next.take().or_else(|| self.inbox.pop_front()) else {
                return Step {
                    commands: std::mem::take(&mut self.out.commands),
                    ..Step::default()
                };
            };
            self.take(input);
        }
        Step::default()
    }

    fn take(&mut self, input: Input) {
        if matches!(self.phase, Phase::Finished) {
            return;
        }
        match input {
            Input::Shown => self.shown(),
            Input::Reply(reply) => self.reply(reply),
            Input::Failed(error) => self.failed(error),
            Input::OverBudget { limit } => self.over_budget(limit),
            Input::Outcome {
                call,
                status,
                content,
                blob,
                progress,
                spent,
            } => {
                let kept = Kept {
                    blob,
                    progress,
                    spent,
                };
                self.outcome(&call, status, content, kept);
            }
            Input::Approval {
                call,
                digest,
                answer,
            } => self.approval(&call, digest, answer),
            Input::Posted { key, content } => self.posted(key, content),
            Input::Said { key, content } => self.said_before(key, content),
            Input::Parked {
                call,
                digest,
                expires_ms,
            } => self.park(&call, &digest, expires_ms),
            Input::NotDone { call } => self.not_done(&call),
            Input::Resume { now_ms } => self.pick_up(Some(now_ms)),
            Input::Settle => self.pick_up(None),
            Input::Lost { message } => self.store_failed(message),
            Input::Cancel => self.cancel(),
            Input::Compact => self.compact(),
            Input::Fired(timer) => self.fired(timer),
            // Taken by `step`: they are about the append, not about the turn.
            Input::Appended | Input::AppendFailed { .. } => {}
        }
    }

    /// Takes what was said: begins the turn, or joins it with the next request.
    fn posted(&mut self, key: String, content: Vec<ContentBlock>) {
        let known = self.view.has_key(&key);
        if matches!(self.phase, Phase::Idle) {
            if known && self.view.has_ended() {
                return self.finish_again();
            }
            if !known {
                self.out.durable(Event::UserInput { key, content });
            }
            self.begin();
        } else if !known {
            self.wake();
            self.out.durable(Event::UserInput { key, content });
            self.unread = true;
        }
    }

    /// Takes what was said before the turn begins.
    fn said_before(&mut self, key: String, content: Vec<ContentBlock>) {
        if matches!(self.phase, Phase::Idle) && !self.view.has_key(&key) {
            self.out.durable(Event::UserInput { key, content });
        }
    }

    fn begin(&mut self) {
        self.tell_context();
        self.arm_active_time(self.setup.limits.active_time);
        self.next_round();
    }

    /// Journals what stands before the conversation, when that changed.
    fn tell_context(&mut self) {
        let context = (self.setup.system.as_str(), self.setup.tools.digest());
        if self.view.context() != Some(context) {
            self.out.event(Event::ContextChanged {
                system: context.0.to_owned(),
                toolset: context.1.to_owned(),
            });
        }
    }

    /// Returns the active time so far.
    pub fn active(&self) -> Millis {
        self.now
    }

    /// Returns the session as folded so far, appended events included.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns what the request that was just commanded sends; see [`View::request_messages`].
    pub fn request_messages(&self) -> Cow<'_, [Message]> {
        self.view.request_messages()
    }

    /// Gives the view back when the turn is over.
    pub fn into_view(self) -> View {
        self.view
    }
}

/// Milliseconds of the turn's active time.
pub type Millis = u64;

/// What the world tells the turn.
#[derive(Clone, Debug)]
pub enum Input {
    /// The events of the last step are kept.
    Appended,
    /// They are not; nothing of that step may start.
    AppendFailed {
        /// What the store said.
        message: String,
    },
    /// Something of the running reply reached the user, so the request cannot be repeated unseen.
    Shown,
    /// The model's finished reply.
    Reply(Reply),
    /// The attempt failed.
    Failed(ProviderError),
    /// The request was not made, for a limit that is shared with others is used up.
    OverBudget {
        /// Which, with its sizes.
        limit: String,
    },
    /// A call ended.
    Outcome {
        /// The call's id.
        call: String,
        /// How.
        status: Status,
        /// What the model reads, already bounded.
        content: Vec<ContentBlock>,
        /// Digest of the whole output, where it had to be cut.
        blob: Option<String>,
        /// What the loop guard compares in place of the text: the tool's own key of what was reached.
        progress: Option<String>,
        /// What it spent of the budget, as a sub-agent does.
        spent: Option<Spent>,
    },
    /// A person answered, or nobody could be asked.
    Approval {
        /// The call's id.
        call: String,
        /// The digest the answer covers.
        digest: String,
        /// The answer.
        answer: Answer,
    },
    /// Someone wrote while the turn runs; folded in at the next safe point.
    Posted {
        /// Idempotency key.
        key: String,
        /// What was said.
        content: Vec<ContentBlock>,
    },
    /// Somebody said something before the turn begins with an [`Input::Posted`].
    Said {
        /// Idempotency key.
        key: String,
        /// What was said.
        content: Vec<ContentBlock>,
    },
    /// Nobody is here to answer; somebody may answer until then.
    Parked {
        /// The call's id.
        call: String,
        /// The digest that was asked about.
        digest: String,
        /// When the answer is no, in milliseconds since the Unix epoch; an earlier word on the same question counts.
        expires_ms: u64,
    },
    /// A call of which that was unknown did not take effect, and may be made again.
    NotDone {
        /// The call's id.
        call: String,
    },
    /// Goes on with an interrupted turn; see [`Turn::resume`].
    Resume {
        /// What the wall clock shows, in milliseconds since the Unix epoch: questions expire by it.
        now_ms: u64,
    },
    /// Brings an interrupted turn to an end: what can be known of its calls is found out, nothing new is started.
    Settle,
    /// The session is about to be lost to another host: what runs is stopped.
    Lost {
        /// What the store says.
        message: String,
    },
    /// Stop.
    Cancel,
    /// Make the conversation shorter, and do nothing else: instead of the first input, between turns.
    Compact,
    /// A timer ran out.
    Fired(Timer),
}

/// What the turn wants appended and, after that, done.
#[derive(Debug, Default)]
pub struct Step {
    /// Events to append, in one transaction.
    pub append: Arc<[Event]>,
    /// How firmly.
    pub barrier: Option<Barrier>,
    /// What to do after the append is acknowledged; empty while an append is due.
    pub commands: Vec<Command>,
}

/// Something the driver must do.
#[derive(Debug)]
pub enum Command {
    /// Ask the model; answer with [`Input::Reply`] or [`Input::Failed`].
    Request {
        /// Who and how.
        target: Arc<Target>,
        /// Whether it may call tools.
        tool_choice: ToolChoice,
        /// Whether the reply is held to the form of the [prompt protocol](crate::fallback::constrained).
        constrained: bool,
        /// Output limit in tokens.
        max_output_tokens: Option<u64>,
        /// What it holds back of the budget.
        reserved: Option<Reserved>,
    },
    /// Drop the running request.
    AbortRequest,
    /// Run a call; answer with [`Input::Outcome`].
    Run {
        /// The call's id.
        call: String,
        /// The tool.
        tool: Arc<Tool>,
        /// Its arguments.
        arguments: ValidArguments,
        /// When to give up.
        timeout: Duration,
    },
    /// Find out what became of a call whose outcome was lost; answer with [`Input::Outcome`] or [`Input::NotDone`].
    Reconcile {
        /// The call's id.
        call: String,
        /// The tool, which has a [`Reconcile`](crate::tool::Reconcile).
        tool: Arc<Tool>,
        /// Its arguments.
        arguments: ValidArguments,
        /// When to give up.
        timeout: Duration,
    },
    /// Stop a running call. Its outcome is already written; one that still comes is ignored.
    Stop {
        /// The call's id.
        call: String,
    },
    /// Ask a person; answer with [`Input::Approval`].
    Ask {
        /// The call's id.
        call: String,
        /// The tool.
        tool: String,
        /// The arguments as they will run, secrets masked.
        arguments: String,
        /// Digest of tool and exact arguments.
        digest: String,
        /// The rule that asks.
        rule: String,
    },
    /// Start a timer; answer with [`Input::Fired`]. An earlier one of the same name is replaced.
    Arm {
        /// Which.
        timer: Timer,
        /// How long.
        after: Duration,
    },
    /// The turn is over.
    Finish(TurnOutcome),
}

/// A timer of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The pause before the next attempt is over.
    Retry {
        /// The request it belongs to, so that a stale one is ignored.
        request: u64,
    },
    /// The turn's active time is used up.
    ActiveTime,
}
