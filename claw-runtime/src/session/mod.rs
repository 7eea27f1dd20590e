//! Sessions: an append-only journal of events, and the stores that keep it.
//!
//! [`record`] is the stored form, [`View`] the fold to what the model sees. A store keeps records and knows nothing of
//! either's meaning.

pub mod check;
pub mod export;
mod inbox;
pub mod journal;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
pub mod record;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod view;

pub use inbox::{Posted, Waiting};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use record::{Record, Stored, Unreadable};
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, Finding, SqliteOptions, SqliteStore};
pub use store::{
    Append, Barrier, Lease, MOST_BLOB_BYTES, Parent, Phase, Query, SessionInfo, SessionStore,
    StoreError, StoreFuture,
};
pub(crate) use view::SHOWN;
pub use view::{OpenCall, Started, View};
