//! The journal: what happened in a session, append-only. The model's view is a fold over it.
//!
//! Events are written before the effect they name. Field names are the stored form: change them only with a new
//! [`VERSION`] and an upcast on read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::{Reserved, Spent};
use crate::message::{ContentBlock, StopReason, Usage};
use crate::provider::{FailureClass, Target, ToolChoice};
use crate::tool::Effect;

/// The version events are written in.
pub const VERSION: u32 = 1;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Someone said something to the agent; begins a turn, or is folded into a running one at the next safe point.
    UserInput {
        /// The idempotency key it was posted under.
        key: String,
        /// What was said.
        content: Vec<ContentBlock>,
    },
    /// What stands before the conversation changed; written before the first request and whenever it changes.
    ContextChanged {
        /// Digest of the system prompt, whose text is a blob.
        system: String,
        /// Digest of the toolset, whose definitions are a blob.
        toolset: String,
    },
    /// Something about an endpoint was learnt.
    Learnt {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// What.
        fact: Fact,
    },
    /// A model is about to be asked; one event an attempt.
    ModelRequest {
        /// The round within the turn, from 1.
        round: u32,
        /// The attempt within the round, from 1.
        attempt: u32,
        /// Who is asked, and how.
        target: Arc<Target>,
        /// Whether it may call tools.
        tool_choice: ToolChoice,
        /// Why it is asked again, told to the model as a user message that only this request carries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        re_ask: Option<ReAsk>,
        /// Whether the reply is held to the form of the prompt protocol, where the service heeds it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        constrained: bool,
        /// What it holds back of the budget, and at what price; absent where nothing is limited and no price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Reserved>,
        /// What the answer is for.
        #[serde(default, skip_serializing_if = "Purpose::is_answer")]
        purpose: Purpose,
    },
    /// An attempt failed.
    ModelFailed {
        /// What kind of failure.
        class: FailureClass,
        /// What was said.
        message: String,
        /// After how many milliseconds the same model is asked again; absent when it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_ms: Option<u64>,
        /// Tokens spent on it, where the service told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The model answered.
    Assistant {
        /// What it said, with the ids claw gave to its calls.
        content: Vec<ContentBlock>,
        /// Why it ended.
        stop: StopReason,
        /// What it cost, as far as told.
        usage: Option<Usage>,
        /// Whether the stream broke after something was shown; partial calls are dropped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        incomplete: bool,
    },
    /// Beside the calls of the last reply stood what cannot be read as calls; told with the last result of the round.
    Faulty {
        /// What is wrong with it, for the model.
        fault: String,
    },
    /// What policy and validation say of a call.
    Decision {
        /// The call's id.
        call: String,
        /// Allow, deny or ask.
        verdict: Verdict,
        /// The rule that said so, in words.
        rule: String,
    },
    /// A person is asked about a call.
    ApprovalAsked {
        /// The call's id.
        call: String,
        /// Digest of tool and exact arguments.
        digest: String,
    },
    /// A person answered, or the time ran out.
    Approval {
        /// The call's id.
        call: String,
        /// The digest the answer covers.
        digest: String,
        /// The answer.
        answer: Answer,
    },
    /// A call is about to start.
    Intent {
        /// The call's id.
        call: String,
        /// How often it was started, from 1.
        attempt: u32,
        /// Its declared effect.
        effect: Effect,
        /// Digest of the tool and its canonical arguments, after validation.
        digest: String,
    },
    /// A call ended, or was not run.
    Outcome {
        /// The call's id.
        call: String,
        /// How it ended.
        status: Status,
        /// What the model reads; bounded.
        content: Vec<ContentBlock>,
        /// Digest of the whole output, where `content` had to be cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<String>,
        /// What the loop guard compares in place of the text; absent where that is the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<String>,
        /// What it spent of the budget, as a sub-agent does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
    },
    /// The loop guard spoke.
    Guard {
        /// The call it is about.
        call: String,
        /// Note, refuse or stop.
        verdict: GuardVerdict,
    },
    /// The turn is to end: once its calls are answered, the model is asked for a last answer without calls.
    WrapUp {
        /// Why.
        reason: EndReason,
    },
    /// A question about a call is open and the turn waits for it outside any process: its owner gave the session up.
    Blocked {
        /// The call's id.
        call: String,
        /// Digest of tool and exact arguments.
        digest: String,
        /// When the answer is no without anybody's word, in milliseconds since the Unix epoch.
        expires_ms: u64,
    },
    /// A turn goes on whose owner died, or whose question was answered.
    Resumed {
        /// How often it was taken over without anything new in between, from 1; 0 after an answer.
        takeover: u32,
    },
    /// The session belongs to a sub-agent; its first event.
    Spawned {
        /// The session of the call that started it.
        parent: String,
        /// That call's id.
        call: String,
        /// How many sub-agents deep, from 1.
        depth: u32,
    },
    /// The model's view became shorter. What is hidden stays in the journal.
    Compacted {
        /// The last event whose messages are hidden; 0 when none are.
        through: u64,
        /// What stands for the hidden messages; absent when they were dropped without a summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Results still in view whose text is kept as a blob from now on, with a reference in its place.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        elided: Vec<Elided>,
        /// Why.
        cause: Cause,
        /// The conversation's estimated tokens before.
        before: u64,
        /// Its estimated tokens after.
        after: u64,
        /// What the summary cost, as far as told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The view was to become shorter and stays as it was.
    CompactionFailed {
        /// Why.
        message: String,
        /// What was spent on it, as far as told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The conversation is again what it was after an earlier event. What came between stays in the journal, and counts for
    /// everything but the conversation: what was spent, what was allowed, what may have had its effect.
    Undone {
        /// The last event that counts. A place within a turn means the place before that turn's next step.
        to: u64,
    },
    /// What the user said in an event stays in view, word for word, whatever is hidden around it.
    Pinned {
        /// The event.
        seq: u64,
    },
    /// Cancelling was asked for.
    CancelRequested,
    /// The turn is over.
    TurnEnd {
        /// How it ended.
        outcome: TurnOutcome,
        /// Its active time in milliseconds.
        active_ms: u64,
    },
}

impl Event {
    /// Returns the event's name in the journal: `user_input`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UserInput { .. } => "user_input",
            Self::ContextChanged { .. } => "context_changed",
            Self::Learnt { .. } => "learnt",
            Self::ModelRequest { .. } => "model_request",
            Self::ModelFailed { .. } => "model_failed",
            Self::Assistant { .. } => "assistant",
            Self::Faulty { .. } => "faulty",
            Self::Decision { .. } => "decision",
            Self::ApprovalAsked { .. } => "approval_asked",
            Self::Approval { .. } => "approval",
            Self::Intent { .. } => "intent",
            Self::Outcome { .. } => "outcome",
            Self::Guard { .. } => "guard",
            Self::WrapUp { .. } => "wrap_up",
            Self::Blocked { .. } => "blocked",
            Self::Resumed { .. } => "resumed",
            Self::Spawned { .. } => "spawned",
            Self::Compacted { .. } => "compacted",
            Self::CompactionFailed { .. } => "compaction_failed",
            Self::Undone { .. } => "undone",
            Self::Pinned { .. } => "pinned",
            Self::CancelRequested => "cancel_requested",
            Self::TurnEnd { .. } => "turn_end",
        }
    }

    /// Iterates over the digests of the blobs it refers to.
    pub fn blobs(&self) -> impl Iterator<Item = &str> {
        let (named, elided): (_, &[Elided]) = match self {
            Self::ContextChanged { system, toolset } => ([Some(system), Some(toolset)], &[]),
            Self::Outcome { blob, .. } => ([blob.as_ref(), None], &[]),
            Self::Compacted { elided, .. } => ([None, None], elided),
            _ => ([None, None], &[]),
        };
        let elided = elided.iter().map(|elided| &elided.digest);
        named
            .into_iter()
            .flatten()
            .chain(elided)
            .map(String::as_str)
    }
}

/// What can be learnt about an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// The model refuses tool definitions; calls go through the prompt protocol.
    NoNativeTools,
    /// The service refuses a tool's schema in a dialect; tools go in the next laxer one.
    SchemaRefused {
        /// The [dialect](crate::dialect)'s name.
        dialect: String,
    },
    /// The model is not held to a form: its service refuses one or does not heed it, or it reasons within its text.
    NoForms,
    /// The service cannot follow a form with the arguments of these tools, so the form leaves them open.
    FormRefused {
        /// Their names.
        tools: Vec<String>,
    },
    /// The model reads at most so many tokens, prompt and answer together. The fact learnt last counts.
    Window {
        /// How many.
        tokens: u64,
    },
}

/// What the answer to a model request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// The conversation.
    #[default]
    Answer,
    /// A summary that hides a part of the conversation; the conversation does not see request and answer.
    Summary,
}

impl Purpose {
    fn is_answer(&self) -> bool {
        *self == Self::Answer
    }
}

/// Why a view became shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The next request would nearly have filled the model's window.
    Window,
    /// The service said that the request was too long.
    Overflow,
    /// There were more messages than the settings allow.
    Messages,
    /// Somebody asked for it.
    Asked,
}

/// A result whose text gives way to a reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elided {
    /// The call's id.
    pub call: String,
    /// Digest of the whole text, which is a blob.
    pub digest: String,
}

/// Why a model is asked again within a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReAsk {
    /// The model's faulty text, bounded.
    pub said: String,
    /// What was wrong with it and what is expected.
    pub fault: String,
}

/// Allow, deny or ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not.
    Deny,
    /// A person decides.
    Ask,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This one call.
    Once,
    /// The same tool with the same arguments, for the rest of the session.
    Session,
    /// This tool, for the rest of the session; the host may write a lasting rule.
    Always,
    /// No.
    Deny,
    /// Nobody could be asked, or nobody answered in time.
    Unanswered,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The tool gave a result.
    Ok,
    /// The tool gave an error.
    Error,
    /// The tool does not exist.
    UnknownTool,
    /// The arguments do not fit; not run.
    Invalid,
    /// The call breaks off, as at an output limit; not run.
    Cut,
    /// Policy or a person refused; not run.
    Denied,
    /// A limit or the loop guard refused; not run.
    Refused,
    /// Cancelled before it started.
    NotStarted,
    /// It took too long, and running it again is harmless.
    TimedOut,
    /// Cancelled while it ran, and running it again is harmless.
    Cancelled,
    /// It panicked, and running it again is harmless.
    Panicked,
    /// Its process ended while it ran, and it is not run again; running it again is harmless.
    Crashed,
    /// It was started and may have had its effect; never repeated by claw.
    Unknown,
}

impl Status {
    /// Tells whether the model reads the result as an error.
    pub fn is_error(self) -> bool {
        self != Self::Ok
    }
}

/// What the loop guard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardVerdict {
    /// The model is told that it repeats itself.
    Note,
    /// The call is refused.
    Refuse,
    /// The turn wraps up.
    Stop,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnOutcome {
    /// The written answer; never empty unless cancelled.
    pub text: String,
    /// How it came to an end.
    pub reason: EndReason,
    /// Rounds used.
    pub rounds: u32,
    /// Tokens used.
    pub usage: Usage,
}

impl TurnOutcome {
    /// Tells whether a limit ended the turn before the model did.
    pub fn truncated(&self) -> bool {
        matches!(self.reason, EndReason::Limit { .. })
    }
}

/// How a turn came to an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The model answered.
    Answered,
    /// A limit ended it; the text says what was done and what was not.
    Limit {
        /// Which, in words: `50 rounds`.
        limit: String,
    },
    /// The model could not be reached or kept failing.
    Failed {
        /// What kind of failure.
        class: FailureClass,
        /// What was said.
        message: String,
    },
    /// Somebody cancelled it.
    Cancelled,
    /// Its process ended before it did, and it was brought to an end instead of going on.
    Interrupted {
        /// How that came, in words.
        message: String,
    },
    /// It has not ended: it waits for an answer to a question about a call, and goes on when that is posted. Never in a
    /// journal.
    Parked {
        /// The call's id.
        call: String,
        /// Digest of tool and exact arguments, which an answer must name.
        digest: String,
        /// When the answer is no without anybody's word, in milliseconds since the Unix epoch.
        expires_ms: u64,
    },
    /// The journal could not be written; nothing was started that it does not hold.
    StoreFailed {
        /// What the store said.
        message: String,
    },
}
