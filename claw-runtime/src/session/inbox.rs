//! What comes from outside a turn: one way in for messages, answers and cancelling, from whatever host.

use serde::{Deserialize, Serialize};

use crate::event::Answer;
use crate::message::ContentBlock;

/// Something posted to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "posted", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Posted {
    /// Somebody said something: begins a turn, or joins the running one at its next safe point.
    Message {
        /// What.
        content: Vec<ContentBlock>,
    },
    /// Somebody answered an open question about a call.
    Approval {
        /// The call's id.
        call: String,
        /// The digest of tool and exact arguments that the answer covers.
        digest: String,
        /// The answer.
        answer: Answer,
    },
    /// Somebody wants the turn stopped.
    Cancel,
}

/// Something that waits in an inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Names it to the store, in the order things were posted.
    pub id: u64,
    /// The idempotency key it was posted under.
    pub key: String,
    /// What was posted.
    pub input: Posted,
}
