//! What the suite asks stores through, and the words its stories are told in.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use claw_runtime::event::{EndReason, Event, TurnOutcome};
use claw_runtime::message::{ContentBlock, Usage};
use claw_runtime::session::{
    Append, Barrier, Lease, MemoryStore, Posted, Record, SessionStore, StoreError,
};
use futures_util::future::BoxFuture;

/// A host, as the suite knows it.
pub(crate) type Host = Arc<dyn SessionStore>;

/// A place that hosts share; fresh for each test.
pub(crate) trait Medium: Send + Sync {
    /// Begins another host, which serves `program`. Dropped, it is dead without having given anything up.
    fn host<'a>(&'a self, program: &'a str) -> BoxFuture<'a, Host>;

    /// Returns how long after its death a host may still be taken for a living one.
    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns how many blobs are kept for all sessions, when that can be told from outside.
    fn blobs(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(ready(None))
    }
}

/// Memory, as a medium.
pub(crate) async fn memory() -> Option<impl Medium> {
    struct Memory(MemoryStore);
    impl Medium for Memory {
        fn host<'a>(&'a self, program: &'a str) -> BoxFuture<'a, Host> {
            Box::pin(ready(Arc::new(self.0.join(program)) as Host))
        }
    }
    Some(Memory(MemoryStore::new()))
}

/// A SQLite file in a folder of its own.
#[cfg(feature = "sqlite")]
pub(crate) async fn sqlite() -> Option<impl Medium> {
    use claw_runtime::session::{SqliteOptions, SqliteStore};

    struct Sqlite(tempfile::TempDir);
    impl Sqlite {
        fn store(&self, program: &str) -> SqliteStore {
            SqliteStore::at(self.0.path().join("s.db"), SqliteOptions::new(program)).unwrap()
        }
    }
    impl Medium for Sqlite {
        fn host<'a>(&'a self, program: &'a str) -> BoxFuture<'a, Host> {
            Box::pin(ready(Arc::new(self.store(program)) as Host))
        }
        fn blobs(&self) -> BoxFuture<'_, Option<usize>> {
            let conn = rusqlite::Connection::open(self.0.path().join("s.db")).unwrap();
            let count =
                conn.query_row("SELECT count(*) FROM blobs", [], |row| row.get::<_, i64>(0));
            Box::pin(ready(usize::try_from(count.unwrap()).ok()))
        }
    }
    Some(Sqlite(tempfile::tempdir().unwrap()))
}

/// Begins a host of the program `p`.
pub(crate) async fn host(medium: &dyn Medium) -> Host {
    medium.host("p").await
}

/// Begins two hosts of the program `p`.
pub(crate) async fn two(medium: &dyn Medium) -> (Host, Host) {
    (host(medium).await, host(medium).await)
}

/// Appends durably and takes nothing in.
pub(crate) async fn append(
    host: &dyn SessionStore,
    lease: &Lease,
    after: u64,
    events: &[Event],
) -> Result<(), StoreError> {
    let append = Append {
        after,
        events: events.into(),
        barrier: Barrier::Durable,
        taken: &[],
    };
    host.append(lease, append).await
}

/// Opens a session and appends to its beginning.
pub(crate) async fn begin(host: &dyn SessionStore, session: &str, events: &[Event]) -> Lease {
    let lease = host.open(session).await.unwrap();
    append(host, &lease, 0, events).await.unwrap();
    lease
}

/// Returns a session's events, having checked that its records are whole.
pub(crate) async fn events(host: &dyn SessionStore, session: &str) -> Vec<Event> {
    let records = host.records(session, 0).await.unwrap();
    claw_runtime::session::record::verify(&records).unwrap();
    read(&records)
}

/// Returns the events of records.
pub(crate) fn read(records: &[Record]) -> Vec<Event> {
    records.iter().map(|one| one.read().unwrap()).collect()
}

/// Somebody says something.
pub(crate) fn said(text: &str) -> Event {
    Event::UserInput {
        key: text.to_owned(),
        content: vec![ContentBlock::text(text)],
    }
}

/// A turn ends with an answer.
pub(crate) fn ended() -> Event {
    Event::TurnEnd {
        outcome: TurnOutcome {
            text: "Done.".to_owned(),
            reason: EndReason::Answered,
            rounds: 1,
            usage: Usage::default(),
        },
        active_ms: 5,
    }
}

/// A message to post.
pub(crate) fn message(text: &str) -> Posted {
    Posted::Message {
        content: vec![ContentBlock::text(text)],
    }
}

/// Waits until a store's clock has gone on, so that times differ.
pub(crate) async fn tick() {
    tokio::time::sleep(Duration::from_millis(3)).await;
}

/// Fails instead of hanging for ever.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, what)
        .await
        .expect("within a minute")
}
