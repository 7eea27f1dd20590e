//! The calls of one reply and what stands about each.

use std::sync::Arc;

use super::guard::Mark;
use super::paths::Touched;
use crate::event::Status;
use crate::tool::{Effect, Tool, ValidArguments};

/// A call between its decision and its outcome.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) run: Option<Run>,
    pub(super) state: State,
    /// How often it was started.
    pub(super) attempts: u32,
    /// Refused for its place alone, which is no failure of the model.
    pub(super) excused: bool,
}

/// What it takes to run a call.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) tool: Arc<Tool>,
    pub(super) arguments: ValidArguments,
    pub(super) digest: String,
    pub(super) mark: Mark,
    touched: Touched,
}

#[derive(Debug)]
pub(super) enum State {
    /// Decided without running; the outcome is not yet an event.
    Answered { status: Status, text: String },
    /// A person must be asked; `always` when no earlier answer counts.
    ToAsk { rule: String, always: bool },
    /// A person is being asked.
    Asking { rule: String },
    /// It may run.
    Ready,
    /// It runs.
    Running,
    /// Its outcome is an event.
    Done(Status),
}

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) calls: Vec<Call>,
    /// Faults beside good calls, told with the last result.
    pub(super) notice: Option<String>,
}

impl Call {
    pub(super) fn new(
        id: String,
        name: String,
        tool: Arc<Tool>,
        arguments: ValidArguments,
        digest: String,
        mark: Mark,
        state: State,
    ) -> Self {
        let touched = Touched::by(&tool, &arguments);
        Self {
            id,
            name,
            run: Some(Run {
                tool,
                arguments,
                digest,
                mark,
                touched,
            }),
            state,
            attempts: 0,
            excused: false,
        }
    }

    pub(super) fn answered(id: String, name: String, status: Status, text: String) -> Self {
        Self {
            id,
            name,
            run: None,
            state: State::Answered { status, text },
            attempts: 0,
            excused: false,
        }
    }

    pub(super) fn excused(mut self) -> Self {
        self.excused = true;
        self
    }

    pub(super) fn effect(&self) -> Effect {
        self.run
            .as_ref()
            .map_or(Effect::Pure, |run| run.tool.spec().effect)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }
}

impl Run {
    /// Tells whether two calls may run side by side.
    fn beside(&self, other: &Self) -> bool {
        let free = |run: &Self| run.tool.spec().parallel;
        let harmless = |run: &Self| run.tool.spec().effect.is_harmless();
        let apart = || free(self) || free(other) || !self.touched.conflicts(&other.touched);
        (free(self) || harmless(self)) && (free(other) || harmless(other)) && apart()
    }
}

impl Round {
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.calls.iter().position(|call| call.id == id)
    }

    /// Returns the calls to start next: the first that is ready and those after it that may run beside it.
    pub(super) fn batch(&self) -> Vec<usize> {
        let mut batch: Vec<usize> = Vec::new();
        let ready = |call: &&Call| matches!(call.state, State::Ready);
        for (at, call) in self.calls.iter().enumerate() {
            let Some(run) = Some(call).filter(ready).and_then(|call| call.run.as_ref()) else {
                continue;
            };
            let fits = batch
                .iter()
                .filter_map(|other| self.calls[*other].run.as_ref())
                .all(|other| run.beside(other));
            if !fits {
                break;
            }
            batch.push(at);
        }
        batch
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|call| call.is_running())
            .map(|call| call.id.as_str())
    }
}
