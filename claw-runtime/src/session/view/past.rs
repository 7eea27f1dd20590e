//! What a conversation was at earlier events, so that steps back and forth cost what they change.
//!
//! Each turn and each compaction is a step with a parent: a tree, of which the conversation is one leaf. A step keeps what
//! stood in its place before; exchanging the two leads to the parent, and exchanging them again leads back. So any earlier
//! state is reached by walking, undone steps are never lost, and nothing is kept twice but what a compaction rewrites.

use crate::message::Message;

use super::conversation::{Head, Mark};

/// Every state the conversation went through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Past {
    steps: Vec<Step>,
    current: usize,
    /// From which event on which step was current.
    moments: Vec<(u64, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Step {
    kind: Kind,
    /// The event that began it.
    seq: u64,
    parent: usize,
    depth: usize,
    at: usize,
    /// What stands from message `at` on in the parent while the step holds, and in the step while it does not.
    other: Other,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A turn, or a compaction between turns: it is undone as a whole.
    Whole,
    /// A compaction within a turn.
    Within,
    /// What follows a step back; `forth` is where a step forth leads.
    Back {
        /// The last event of that state.
        forth: Option<u64>,
    },
}

/// The end of a conversation that is not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Other {
    pub(super) messages: Vec<Message>,
    pub(super) marks: Vec<Mark>,
    /// The head, where the step changed it.
    pub(super) head: Option<Head>,
}

impl Default for Past {
    fn default() -> Self {
        let root = Step {
            kind: Kind::Within,
            seq: 0,
            parent: 0,
            depth: 0,
            at: 0,
            other: Other::default(),
        };
        // Most views see one more, and a list that grows makes room for four.
        let mut steps = Vec::with_capacity(2);
        steps.push(root);
        Self {
            steps,
            current: 0,
            moments: vec![(0, 0)],
        }
    }
}

impl Past {
    /// Begins a step with event `seq`; `other` is what stands from `at` on in the state before.
    pub(super) fn begin(&mut self, kind: Kind, seq: u64, at: usize, other: Other) {
        self.steps.push(Step {
            kind,
            seq,
            parent: self.current,
            depth: self.steps[self.current].depth + 1,
            at,
            other,
        });
        self.current = self.steps.len() - 1;
        self.moments.push((seq, self.current));
    }

    /// Returns the steps to exchange, in order, to get to the state after event `to`, and where a step forth would lead
    /// after that; `seq` is the event that says so.
    pub(super) fn path(&mut self, to: u64, seq: u64) -> (Vec<usize>, Option<u64>) {
        let next = self.moments.partition_point(|(since, _)| *since <= to);
        let (_, target) = self.moments[next.saturating_sub(1)];
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let (mut from, mut into) = (self.current, target);
        while from != into {
            if self.steps[from].depth >= self.steps[into].depth {
                up.push(from);
                from = self.steps[from].parent;
            } else {
                down.push(into);
                into = self.steps[into].parent;
            }
        }
        let forth = match (down.is_empty(), self.steps[target].kind) {
            (true, _) => seq.checked_sub(1),
            (false, Kind::Back { forth }) => forth,
            (false, _) => None,
        };
        up.extend(down.into_iter().rev());
        self.current = target;
        (up, forth)
    }

    /// Gives out where a step begins and what it exchanges.
    pub(super) fn exchange(&mut self, step: usize) -> (usize, &mut Other) {
        let step = &mut self.steps[step];
        (step.at, &mut step.other)
    }

    /// Returns the last event before the last turn, or the last compaction after it.
    pub(super) fn back(&self) -> Option<u64> {
        let mut at = self.current;
        while at != 0 {
            let step = &self.steps[at];
            if step.kind == Kind::Whole {
                return step.seq.checked_sub(1);
            }
            at = step.parent;
        }
        None
    }

    /// Returns the last event of the state that was left by the last step back, when nothing was said since.
    pub(super) fn forth(&self) -> Option<u64> {
        match self.steps[self.current].kind {
            Kind::Back { forth } => forth,
            _ => None,
        }
    }
}
