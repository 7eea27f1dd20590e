//! Who watches a turn, and who says yes.

use futures_util::future::BoxFuture;

use crate::event::{Answer, Event};
use crate::provider::Delta;

/// A person's yes: asks about calls that the policy does not let run by itself.
pub trait Approval: Send + Sync {
    /// Asks, and waits for the answer. [`Answer::Unanswered`] denies, naming the rule. Dropping the future withdraws the
    /// question.
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Answer>;
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

/// Watches a turn. Called on the turn's task: return quickly.
pub trait Observer: Send {
    /// An event was appended to the journal.
    fn event(&mut self, event: &Event) {
        let _ = event;
    }

    /// A piece of the running reply came. Not journaled; all text of a reply comes this way once, streamed or not.
    fn delta(&mut self, delta: &Delta) {
        let _ = delta;
    }

    /// A running call tells how far it is.
    fn progress(&mut self, call: &str, line: &str) {
        let _ = (call, line);
    }
}

impl Observer for () {}
