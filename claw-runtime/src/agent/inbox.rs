//! The way in from outside: entries of a session's inbox as inputs of its turn.

use super::Inner;
use crate::session::{Lease, Posted, StoreError, Waiting};
use crate::turn::Input;

/// An input, and the entries of the inbox that leave it when the turn takes this in.
pub(super) struct Given {
    pub(super) input: Input,
    pub(super) taken: Vec<u64>,
}

impl From<Input> for Given {
    fn from(input: Input) -> Self {
        Self {
            input,
            taken: Vec::new(),
        }
    }
}

/// Returns what waits in the inbox after the entry `seen`, for a turn that runs or goes on.
pub(super) async fn read(
    agent: &Inner,
    lease: &Lease,
    seen: Option<u64>,
) -> Result<Vec<Given>, StoreError> {
    let entries = agent.store.inbox(lease).await?;
    let new = entries
        .into_iter()
        .filter(|entry| seen.is_none_or(|seen| entry.id > seen));
    Ok(new.map(given).collect())
}

fn given(entry: Waiting) -> Given {
    let Waiting { id, key, input } = entry;
    let input = match input {
        Posted::Message { content } => Input::Posted {
            key: key_of(&key),
            content,
        },
        Posted::Approval {
            call,
            digest,
            answer,
        } => Input::Approval {
            call,
            digest,
            answer,
        },
        Posted::Cancel => Input::Cancel,
    };
    Given {
        input,
        taken: vec![id],
    }
}

/// What waits before a turn begins.
#[derive(Default)]
pub(super) struct Before {
    /// The messages, to be said first.
    pub(super) said: Vec<Given>,
    /// Entries about a turn that is over.
    pub(super) stale: Vec<u64>,
}

/// Returns what waits in the inbox of a session without a running turn.
pub(super) async fn before(agent: &Inner, lease: &Lease) -> Result<Before, StoreError> {
    let (mut said, mut stale) = (Vec::new(), Vec::new());
    for Given { input, taken } in read(agent, lease, None).await? {
        match input {
            Input::Posted { key, content } => said.push(Given {
                input: Input::Said { key, content },
                taken,
            }),
            _ => stale.extend(taken),
        }
    }
    Ok(Before { said, stale })
}

/// Returns the journal's key of what was posted under `key`: apart from the keys that a session gives by itself.
fn key_of(key: &str) -> String {
    format!("posted/{key}")
}
