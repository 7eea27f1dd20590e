//! Sessions in a SQLite file: for one machine, any number of processes.
//!
//! A file, a write-ahead log and a lock beside it, and one lock file a host. One thread writes, readers wait for nobody. What
//! is deliberately not done: a cache of what the file says, for other processes write it too.

mod check;
mod faults;
mod gate;
mod host;
mod place;
mod reads;
mod schema;
mod watch;
mod writer;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::gate::Gate;
use self::host::Host;
use self::reads::Readers;
use self::watch::Watch;
use self::writer::Writer;
use super::inbox::{Posted, Waiting};
use super::journal::title;
use super::record::{self, Record};
use super::store::{
    Append, Barrier, Lease, MOST_BLOB_BYTES, Parent, Phase, Query, SessionInfo, SessionStore,
    StoreError, StoreFuture,
};

pub use check::Finding;

/// How a store on a disk is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The program that is served: sessions it creates are its own.
    pub program: String,
    /// What an acknowledged append survives.
    pub durability: Durability,
    /// The file grows to at most so many bytes, the log beside it aside; without limit when absent.
    pub most_bytes: Option<u64>,
}

impl SqliteOptions {
    /// Returns options for a program: fully durable, without a limit.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            ..Self::default()
        }
    }
}

/// What an acknowledged append survives. Order is kept in any case but `Off`: what is lost is lost from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss: a commit is synced to the disk.
    #[default]
    Full,
    /// The process's end, however it comes; power loss may take the last seconds.
    Normal,
    /// The process's end. Power loss may damage the file.
    Off,
}

impl Durability {
    /// Returns how a commit that is waited for is synced.
    fn firm(self) -> &'static str {
        match self {
            Self::Full => "PRAGMA synchronous = FULL",
            Self::Normal | Self::Off => self.loose(),
        }
    }

    /// Returns how one is synced that may ride along with a later one.
    fn loose(self) -> &'static str {
        match self {
            Self::Full | Self::Normal => "PRAGMA synchronous = NORMAL",
            Self::Off => "PRAGMA synchronous = OFF",
        }
    }
}

/// Sessions in a SQLite file. One host; dropped, it gives up what it owns.
pub struct SqliteStore {
    // In this order: the writer's connection closes last and moves the log into the file; then the host dies.
    watch: Watch,
    readers: Arc<Readers>,
    writer: Writer,
    host: Arc<Host>,
    program: Arc<str>,
    path: Arc<PathBuf>,
}

impl SqliteStore {
    /// Opens a file, creating it and its folder when they do not exist: private to the user. Blocks for some milliseconds.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] when the place cannot be written or is a network file system, the file is damaged, another
    /// program's, or a newer claw's.
    pub fn at(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = Arc::new(place::prepare(path.as_ref())?);
        let gate = Gate::new(&path)?;
        let turn = gate.enter()?;
        let conn = schema::writing(&path, options.durability, options.most_bytes)?;
        let host = Arc::new(Host::begin(&path)?);
        drop(turn);
        Ok(Self {
            watch: Watch::new(path.clone()),
            readers: Readers::new(path.clone()),
            writer: Writer::begin(conn, gate, path.clone(), options.durability)?,
            host,
            program: options.program.into(),
            path,
        })
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads everything and returns what is wrong; empty when all is well.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be opened. Damage is no error here.
    pub async fn check(&self) -> Result<Vec<Finding>, StoreError> {
        self.readers.read(|conn| Ok(check::check(conn))).await
    }
}

impl SessionStore for SqliteStore {
    fn open<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Lease> {
        let (host, program, id) = (self.host.clone(), self.program.clone(), session.to_owned());
        // Who lives owns; a power cut ends all of them, so ownership itself need not survive one.
        let opened = self.writer.write(Barrier::Buffered, move |conn| {
            writes::open(conn, &host, &program, &id)
        });
        Box::pin(opened)
    }

    fn close(&self, lease: Lease) -> StoreFuture<'_, ()> {
        let host = self.host.clone();
        let closed = self.writer.write(Barrier::Buffered, move |conn| {
            writes::close(conn, &host, &lease)
        });
        Box::pin(closed)
    }

    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let events = append.events.iter().map(|event| {
                let payload = record::payload(event)?;
                Ok((event.kind(), payload))
            });
            let written = writes::Written {
                after: append.after,
                events: events.collect::<Result<_, StoreError>>()?,
                title: title(&*append.events),
                phase: Phase::of(&append.events),
                taken: append.taken.to_vec(),
            };
            let (host, lease) = (self.host.clone(), lease.clone());
            self.writer
                .write(append.barrier, move |conn| {
                    writes::append(conn, &host, &lease, &written)
                })
                .await
        })
    }

    fn records<'a>(&'a self, session: &'a str, after: u64) -> StoreFuture<'a, Vec<Record>> {
        let id = session.to_owned();
        Box::pin(
            self.readers
                .read(move |conn| reads::records(conn, &id, after)),
        )
    }

    fn restore<'a>(
        &'a self,
        session: &'a str,
        parent: Option<&'a Parent>,
        records: &'a [Record],
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            record::verify(records).map_err(|fault| StoreError::Damaged {
                session: session.to_owned(),
                fault,
            })?;
            let (program, id) = (self.program.clone(), session.to_owned());
            let (parent, records) = (parent.cloned(), records.to_vec());
            self.writer
                .write(Barrier::Durable, move |conn| {
                    writes::restore(conn, &program, &id, parent.as_ref(), &records)
                })
                .await
        })
    }

    fn sessions<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<SessionInfo>> {
        let (host, query) = (self.host.clone(), query.clone());
        Box::pin(
            self.readers
                .read(move |conn| reads::sessions(conn, &host, &query)),
        )
    }

    fn delete<'a>(&'a self, session: &'a str) -> StoreFuture<'a, ()> {
        let (host, id) = (self.host.clone(), session.to_owned());
        let deleted = self.writer.write(Barrier::Durable, move |conn| {
            writes::delete(conn, &host, &id)
        });
        Box::pin(deleted)
    }

    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String> {
        Box::pin(async move {
            if bytes.len() > MOST_BLOB_BYTES {
                return Err(StoreError::TooLarge { bytes: bytes.len() });
            }
            let digest = crate::digest::of(bytes);
            let (host, lease, name) = (self.host.clone(), lease.clone(), digest.clone());
            let bytes = bytes.to_vec();
            // Firm with the append that names it.
            self.writer
                .write(Barrier::Buffered, move |conn| {
                    writes::put_blob(conn, &host, &lease, &name, &bytes)
                })
                .await?;
            Ok(digest)
        })
    }

    fn blob<'a>(&'a self, session: &'a str, digest: &'a str) -> StoreFuture<'a, Option<Arc<[u8]>>> {
        let (id, digest) = (session.to_owned(), digest.to_owned());
        Box::pin(
            self.readers
                .read(move |conn| reads::blob(conn, &id, &digest)),
        )
    }

    fn blobs<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Vec<String>> {
        let id = session.to_owned();
        Box::pin(self.readers.read(move |conn| reads::blobs(conn, &id)))
    }

    fn post<'a>(
        &'a self,
        session: &'a str,
        key: &'a str,
        input: &'a Posted,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (id, key) = (session.to_owned(), key.to_owned());
            let input = serde_json::to_vec(input).map_err(|error| {
                faults::failed(
                    &self.path,
                    format_args!("cannot keep what is posted: {error}"),
                )
            })?;
            let posted = self.writer.write(Barrier::Durable, move |conn| {
                writes::post(conn, &id, &key, &input)
            });
            let new = posted.await?;
            self.watch.wake(session);
            Ok(new)
        })
    }

    fn inbox<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Vec<Waiting>> {
        let (host, lease) = (self.host.clone(), lease.clone());
        Box::pin(
            self.readers
                .read(move |conn| reads::inbox(conn, &host, &lease)),
        )
    }

    fn posted<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let waiter = self.watch.wait(&lease.session);
            loop {
                let mut woken = std::pin::pin!(waiter.notify.notified());
                // Listens from here on, so that nothing is missed between the look and the wait.
                woken.as_mut().enable();
                if !self.inbox(lease).await?.is_empty() {
                    return Ok(());
                }
                tokio::select! {
                    () = woken => {}
                    error = self.watch.look() => return Err(error),
                }
            }
        })
    }

    fn count<'a>(&'a self, counter: &'a str, add: i64, most: u64) -> StoreFuture<'a, bool> {
        let counter = counter.to_owned();
        // What is counted is spent after an append that syncs it too.
        let counted = self.writer.write(Barrier::Buffered, move |conn| {
            writes::count(conn, &counter, add, most)
        });
        Box::pin(counted)
    }
}
