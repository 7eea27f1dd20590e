//! One turn as a state machine without I/O: [`Turn::step`] takes an input and says what to append and what to do.
//!
//! No clock, no randomness, no network in here, so that crash points, odd models and chunk borders are plain tests. A
//! small driver performs the commands; it starts one only after the events of the same step are appended.

use std::sync::Arc;
use std::time::Duration;

use crate::event::{Answer, Event, Status, TurnOutcome};
use crate::message::ContentBlock;
use crate::provider::{ProviderError, Reply, Target, ToolChoice};
use crate::session::Barrier;
use crate::tool::ValidArguments;

use crate::limits::Limits;
use crate::policy::Policy;
use crate::registry::Toolset;
use crate::session::View;

/// What stays the same for a whole turn.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The tools the model may be offered; the policy's denied ones are already gone.
    pub tools: Toolset,
    /// What runs, asks or is denied.
    pub policy: Arc<Policy>,
    /// Bounds.
    pub limits: Limits,
    /// Whom to ask, in order; the next one is tried when one keeps failing.
    pub targets: Vec<Target>,
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
}

impl Turn {
    /// Returns a turn over the session folded into `view`.
    pub fn new(setup: Setup, view: View) -> Self {
        Self { setup, view }
    }

    /// Takes an input and says what to append and what to do.
    pub fn step(&mut self, now: Millis, input: Input) -> Step {
        let _ = (now, input, &self.setup);
        Step::default()
    }

    /// Returns the session as folded so far, appended events included.
    pub fn view(&self) -> &View {
        &self.view
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
    /// Stop.
    Cancel,
    /// A timer ran out.
    Fired(Timer),
}

/// What the turn wants appended and, after that, done.
#[derive(Debug, Default)]
pub struct Step {
    /// Events to append, in one transaction.
    pub append: Vec<Event>,
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
        target: Target,
        /// Whether it may call tools.
        tool_choice: ToolChoice,
    },
    /// Drop the running request.
    AbortRequest,
    /// Run a call; answer with [`Input::Outcome`].
    Run {
        /// The call's id.
        call: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: ValidArguments,
        /// When to give up.
        timeout: Duration,
    },
    /// Stop a running call; its outcome still comes.
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
    /// Start a timer; answer with [`Input::Fired`].
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
