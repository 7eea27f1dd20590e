//! Who watches a turn, and who says yes.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::event::{Answer, Event};
use crate::provider::Delta;

/// A person's yes: asks about calls that the policy does not let run by itself.
pub trait Approval: Send + Sync {
    /// Asks, and waits for the answer. [`Answer::Unanswered`] denies, naming the rule. Dropping the future withdraws the
    /// question.
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Answer>;

    /// Returns how long a question that [`ask`](Self::ask) leaves unanswered may wait for somebody to answer it through the
    /// session's inbox: the turn is parked meanwhile. `None` denies at once.
    fn waits(&self) -> Option<Duration> {
        None
    }
}

/// What a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalRequest<'a> {
    /// The session.
    pub session: &'a str,
    /// The call's id.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The arguments as they will run, secrets masked.
    pub arguments: &'a str,
    /// Digest of tool and exact arguments, which a posted answer must name.
    pub digest: &'a str,
    /// The rule that asks.
    pub rule: &'a str,
}

/// Answers every question with [`Answer::Unanswered`]: for programs without a person.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approval for Nobody {
    fn ask<'a>(&'a self, _: ApprovalRequest<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Unanswered })
    }
}

/// Leaves every question to whoever answers it through the session's inbox in this time; after that the answer is no.
#[derive(Clone, Copy, Debug)]
pub struct Later(pub Duration);

impl Approval for Later {
    fn ask<'a>(&'a self, _: ApprovalRequest<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Unanswered })
    }

    fn waits(&self) -> Option<Duration> {
        Some(self.0)
    }
}

/// Watches a turn. Called on the turn's task: return quickly.
pub trait Observer: Send {
    /// Tells whether somebody follows the text of a reply as it grows, asked before each request. Where nobody does, text
    /// comes when the reply is whole, and a reply that broke off is asked for again from its beginning; what was followed
    /// is not taken back, so there the model goes on from it.
    fn is_live(&self) -> bool {
        true
    }

    /// An event was appended to the journal.
    fn event(&mut self, event: &Event) {
        let _ = event;
    }

    /// A piece of the running reply came. Not journaled; all text of a reply comes this way once, streamed or not.
    fn delta(&mut self, delta: &Delta) {
        let _ = delta;
    }

    /// A turn that was interrupted asks the model again: what came of this round's reply before, and was not journaled, is
    /// void.
    fn round_restarted(&mut self, round: u32) {
        let _ = round;
    }

    /// A running call tells how far it is.
    fn progress(&mut self, call: &str, line: &str) {
        let _ = (call, line);
    }
}

impl Observer for () {
    fn is_live(&self) -> bool {
        false
    }
}
