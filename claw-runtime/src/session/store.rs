//! What keeps sessions: one trait over memory, SQLite and Postgres.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::inbox::{Posted, Waiting};
use super::record::{Record, Unreadable};
use crate::event::{Event, Purpose};

/// The answer of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Keeps journals, blobs and inboxes, and knows who owns which session.
///
/// A value of this type is one *host*: what it opens is its own until it closes it, another host takes it over, or the
/// host dies. It serves one program, whose name stands in the sessions it creates. Every store keeps these promises:
///
/// - An append is one transaction: all events or none, and (session, seq) has no gaps. It is refused when the session is
///   owned by somebody else meanwhile, or when its journal is longer than the writer knows.
/// - Acknowledged means that the future returned `Ok`.
/// - Payloads are never rewritten. Each record's hash covers the one before.
/// - What a session refers to by digest is there when the append that names it is acknowledged.
pub trait SessionStore: Send + Sync {
    /// Takes ownership of a session, creating it when it does not exist. A second open on the same host takes it from
    /// the first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Live`] when another living host owns it; [`StoreError::OtherProgram`] when it is another program's.
    fn open<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Lease>;

    /// Gives a session up, so that another host may own it.
    fn close(&self, lease: Lease) -> StoreFuture<'_, ()>;

    /// Appends events; acknowledged means that this returned.
    ///
    /// # Errors
    ///
    /// [`StoreError::FenceLost`] and [`StoreError::Moved`] say that the writer's picture is old: nothing was kept.
    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()>;

    /// Returns the records after `after`, in order; from the first with 0. Where the medium is damaged, what stands before
    /// is followed by a [`Record::lost`].
    fn records<'a>(&'a self, session: &'a str, after: u64) -> StoreFuture<'a, Vec<Record>>;

    /// Creates a session from the records of another or of a file, owned by nobody. Its blobs are added by its owner.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`]; [`StoreError::Damaged`] when the records are no whole chain from the first.
    fn restore<'a>(
        &'a self,
        session: &'a str,
        parent: Option<&'a Parent>,
        records: &'a [Record],
    ) -> StoreFuture<'a, ()>;

    /// Returns the sessions that fit, the one used last first.
    fn sessions<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<SessionInfo>>;

    /// Deletes a session with its journal, its inbox and the blobs that nothing else refers to.
    ///
    /// # Errors
    ///
    /// [`StoreError::Live`] when another living host owns it.
    fn delete<'a>(&'a self, session: &'a str) -> StoreFuture<'a, ()>;

    /// Keeps bytes under their digest, at most [`MOST_BLOB_BYTES`], and lets the session refer to them. Returns the digest.
    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String>;

    /// Returns the bytes of a digest, to a session that refers to them.
    fn blob<'a>(&'a self, session: &'a str, digest: &'a str) -> StoreFuture<'a, Option<Arc<[u8]>>>;

    /// Returns the digests a session refers to, sorted.
    fn blobs<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Vec<String>>;

    /// Puts something into a session's inbox; from any host, owner or not. Returns `false` when something was posted under
    /// this key before, taken meanwhile or not: then nothing is kept.
    fn post<'a>(
        &'a self,
        session: &'a str,
        key: &'a str,
        input: &'a Posted,
    ) -> StoreFuture<'a, bool>;

    /// Returns what waits in the owner's inbox, the oldest first. It waits until an [`Append::taken`] names it.
    fn inbox<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Vec<Waiting>>;

    /// Waits until the inbox may hold something new; may return without.
    fn posted<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()>;

    /// Adds to a counter that all hosts share, unless that would take it past `most`. Returns whether it was added.
    /// A negative amount gives back, and always fits.
    fn count<'a>(&'a self, counter: &'a str, add: i64, most: u64) -> StoreFuture<'a, bool>;

    /// Tells whether the owner may start effects now: not once less than a third of its time is left, for an effect
    /// that starts must not outlive the ownership it started under. A host that lost its time and has a new one has it
    /// for new leases only.
    fn may_act(&self, lease: &Lease) -> bool {
        let _ = lease;
        true
    }

    /// Waits until the owner's time is about to run out because it could not be renewed, or has run out; what runs must be
    /// stopped then.
    fn lost<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, ()> {
        let _ = lease;
        Box::pin(std::future::pending())
    }
}

/// The largest blob, in bytes.
pub const MOST_BLOB_BYTES: usize = 8 << 20;

/// Ownership of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// Grows with each owner, over all sessions of the store; an append under an old one fails.
    pub fence: u64,
}

/// What one append writes.
#[derive(Clone, Debug)]
pub struct Append<'a> {
    /// The seq of the last event the writer knows of; 0 for a new session.
    pub after: u64,
    /// The events, shared with whoever folds them.
    pub events: Arc<[Event]>,
    /// How firmly.
    pub barrier: Barrier,
    /// Ids of inbox entries that these events take in: they leave the inbox in the same transaction.
    pub taken: &'a [u64],
}

/// Whether an append must survive power loss before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// It must.
    Durable,
    /// It may ride along with the next durable one.
    Buffered,
}

/// The session and place another one began from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The session.
    pub session: String,
    /// The last seq they have in common.
    pub seq: u64,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Only those of this program.
    pub program: Option<String>,
    /// Only those with a turn that has not ended, parked ones included.
    pub unfinished: bool,
    /// At most so many; all when 0.
    pub limit: usize,
}

/// A session as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// The program that created it and alone resumes it.
    pub program: String,
    /// The first words of its first message.
    pub title: String,
    /// Where it began, when it is a branch.
    pub parent: Option<Parent>,
    /// The seq of its last event.
    pub head: u64,
    /// When it was created, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last written, likewise.
    pub updated_ms: u64,
    /// Whether a turn is open.
    pub phase: Phase,
    /// Who owns it, when a living host does: `process 4711`.
    pub owner: Option<String>,
    /// Whether that is this very host.
    pub here: bool,
}

/// Where a session stands, as its last events say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No turn is open.
    #[default]
    Idle,
    /// A turn has begun and not ended: it runs, or was interrupted when no living host owns the session.
    Open,
    /// A turn waits for a person.
    Parked {
        /// Until when, in milliseconds since the Unix epoch; after that the answer is no.
        until_ms: u64,
    },
}

impl Phase {
    /// Returns where a session stands after one more event.
    pub fn after(self, event: &Event) -> Self {
        Self::told(event).unwrap_or(self)
    }

    /// Returns where a session stands after events, when they tell: the last one that does so decides.
    pub fn of(events: &[Event]) -> Option<Self> {
        events.iter().rev().find_map(Self::told)
    }

    fn told(event: &Event) -> Option<Self> {
        match event {
            Event::TurnEnd { .. } | Event::Undone { .. } => Some(Self::Idle),
            // A summary may be made between turns.
            Event::ModelRequest {
                purpose: Purpose::Summary,
                ..
            } => None,
            Event::Blocked { expires_ms, .. } => Some(Self::Parked {
                until_ms: *expires_ms,
            }),
            Event::UserInput { .. }
            | Event::ModelRequest { .. }
            | Event::Approval { .. }
            | Event::Resumed { .. } => Some(Self::Open),
            _ => None,
        }
    }
}

/// Why a store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another owner took the session.
    #[error("session `{session}` is owned elsewhere now")]
    FenceLost {
        /// The session.
        session: String,
    },
    /// The journal is longer or shorter than the writer knows.
    #[error("session `{session}` ends at event {head}, not at {expected}: read it again")]
    Moved {
        /// The session.
        session: String,
        /// Where it ends.
        head: u64,
        /// Where the writer thought it ended.
        expected: u64,
    },
    /// Another living host owns the session.
    #[error("session `{session}` is in use by {owner}")]
    Live {
        /// The session.
        session: String,
        /// Who: `process 4711`.
        owner: String,
    },
    /// Another program's session.
    #[error("session `{session}` belongs to the program `{program}`")]
    OtherProgram {
        /// The session.
        session: String,
        /// Its program.
        program: String,
    },
    /// The session does not exist.
    #[error("there is no session `{session}`")]
    NotFound {
        /// The session.
        session: String,
    },
    /// A session of this name exists.
    #[error("there is a session `{session}` already")]
    Exists {
        /// The session.
        session: String,
    },
    /// Too many bytes for a blob.
    #[error("{bytes} bytes are too many for one blob: at most {MOST_BLOB_BYTES}")]
    TooLarge {
        /// How many.
        bytes: usize,
    },
    /// The records are damaged.
    #[error("session `{session}` is damaged: {fault}")]
    Damaged {
        /// The session.
        session: String,
        /// Where and how.
        fault: Unreadable,
    },
    /// The medium failed.
    #[error("the session store failed: {message}")]
    Failed {
        /// What it said.
        message: String,
    },
}
