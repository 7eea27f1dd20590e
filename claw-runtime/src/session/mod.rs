//! Sessions: an append-only journal of events, and the stores that keep it.

mod memory;
mod view;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use memory::MemoryStore;
pub use view::{OpenCall, Started, View};

use crate::event::Event;

/// Keeps journals and blobs.
///
/// An append is one transaction: all events or none. (session, seq) has no gaps.
pub trait SessionStore: Send + Sync {
    /// Takes ownership of a session, creating it when it does not exist.
    fn open<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Appends events; acknowledged means that this returned.
    fn append<'a>(
        &'a self,
        lease: &'a Lease,
        events: &'a [Event],
        barrier: Barrier,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the whole journal in order.
    fn load<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>>;

    /// Gives a session up, so that another host may own it.
    fn close(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps bytes under their digest.
    fn put_blob<'a>(
        &'a self,
        lease: &'a Lease,
        bytes: &'a [u8],
    ) -> BoxFuture<'a, Result<String, StoreError>>;

    /// Returns the bytes of a digest, to a session that refers to them.
    fn blob<'a>(
        &'a self,
        session: &'a str,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>>;
}

/// Ownership of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// Grows with each owner; an append under an old one fails.
    pub fence: u64,
}

/// One stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its place, from 1.
    pub seq: u64,
    /// Milliseconds since the Unix epoch, set by the store.
    pub time_ms: u64,
    /// The event.
    pub event: Event,
}

/// Whether an append must survive power loss before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// It must.
    Durable,
    /// It may ride along with the next durable one.
    Buffered,
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
    /// The session does not exist.
    #[error("there is no session `{session}`")]
    NotFound {
        /// The session.
        session: String,
    },
    /// The medium failed.
    #[error("the session store failed: {message}")]
    Failed {
        /// What it said.
        message: String,
    },
}
