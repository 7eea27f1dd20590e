//! Starting sub-agents from a tool.

use crate::budget::{Budget, Spent};
use crate::event::EndReason;

/// A task for a sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spawn {
    /// What it is told.
    pub task: String,
    /// Which agent of those the running one knows by name; `None` for one like itself.
    pub agent: Option<String>,
    /// The names of the tools it may use; `None` for all of its agent.
    pub tools: Option<Vec<String>>,
    /// What it may spend; never more than is left to the one who starts it.
    pub budget: Budget,
    /// Rounds it may take; never more than its agent's limits say.
    pub rounds: Option<u32>,
    /// Tells several tasks of one call apart. The same call with the same key is the same sub-agent, also after a crash.
    pub key: String,
}

impl Spawn {
    /// Returns a task without limits of its own.
    pub fn new(task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            ..Self::default()
        }
    }
}

/// What became of a sub-agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Spawned {
    /// Its session.
    pub session: String,
    /// Its written answer.
    pub text: String,
    /// How it came to an end.
    pub reason: EndReason,
    /// What it spent in all.
    pub spent: Spent,
}

/// Why a sub-agent was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The call does not belong to an agent, as with `tools call`.
    #[error("there is no agent here that could start another")]
    NoAgent,
    /// Sub-agents of sub-agents, too deep.
    #[error("not started: sub-agents go {most} deep at most; do the task yourself")]
    TooDeep {
        /// The limit.
        most: u32,
    },
    /// No agent of this name.
    #[error("there is no agent `{name}`; {}", listed("agents", .known))]
    UnknownAgent {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// No tool of this name.
    #[error("the sub-agent has no tool `{name}`; {}", listed("tools", .known))]
    UnknownTool {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// Its session cannot be used.
    #[error("the sub-agent's session cannot be used: {message}")]
    Session {
        /// Why.
        message: String,
    },
}

fn listed(what: &str, names: &[String]) -> String {
    match names {
        [] => format!("there are no {what}"),
        names => format!("{what}: `{}`", names.join("`, `")),
    }
}
