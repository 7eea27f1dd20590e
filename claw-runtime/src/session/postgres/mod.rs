//! Sessions in Postgres: many hosts share them, and any host can serve any session.
//!
//! Each operation is one statement where it can be, and one short transaction where it cannot: nothing is held between the
//! database and a host that may stop at any point. Who owns what is decided by row locks and by the database's clock.
//!
//! An append is one statement that begins with the update of the session's row, under the fence, the host's time, and the
//! last event and its hash. A writer that was overtaken waits for that row, sees it changed, and writes nothing.

mod blob;
mod connect;
mod fault;
mod host;
mod inbox;
mod journal;
mod list;
mod owner;
mod schema;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Client, Pool};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::connect::{DEADLINE, Way};
use self::fault::Fault;
use self::host::Host;
use self::owner::Owned;
use super::inbox::{Posted, Waiting};
use super::record::Record;
use super::store::{
    Append, Lease, Parent, Query, SessionInfo, SessionStore, StoreError, StoreFuture,
};

/// How sessions are kept in Postgres.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// Where: `postgres://user:password@host:5432/database?sslmode=require`. A certificate is always checked, also for
    /// `sslmode=prefer`, which is the default; `disable` speaks no TLS.
    pub url: SecretString,
    /// The program whose sessions these are.
    pub program: String,
    /// A PEM file of certificates to trust beside the public ones; the url's `sslrootcert` comes first.
    pub roots: Option<PathBuf>,
    /// For how long a host owns its sessions without a word to the database; 15 s when left so, from 300 ms to an hour.
    /// It is renewed each third of it.
    pub lease: Duration,
    /// How long others wait after that, so that what still runs on the host can be stopped; 5 s when left so, at most an
    /// hour.
    pub grace: Duration,
    /// How many connections there may be at once, beside the one that renews and listens; 8 when left so.
    pub connections: usize,
}

impl PostgresOptions {
    /// Returns the default options for a program and a url.
    pub fn new(program: impl Into<String>, url: impl Into<SecretString>) -> Self {
        Self {
            url: url.into(),
            program: program.into(),
            roots: None,
            lease: Duration::from_secs(15),
            grace: Duration::from_secs(5),
            connections: 8,
        }
    }
}

const LEAST_LEASE: Duration = Duration::from_millis(300);
const MOST_LEASE: Duration = Duration::from_secs(3600);

/// Sessions in Postgres, as one host.
///
/// ```no_run
/// use claw_runtime::session::{PostgresOptions, PostgresStore};
///
/// # async fn begin() -> Result<(), claw_runtime::session::StoreError> {
/// let url = "postgres://claw:secret@db.example/claw?sslmode=require";
/// let store = PostgresStore::connect(PostgresOptions::new("my-agent", url)).await?;
/// # Ok(())
/// # }
/// ```
///
/// What is acknowledged is as firm as the server makes a commit: by default it survives power loss there, and where the
/// server waits for replicas, the loss of the server. A pooler between must keep a connection for a client as long as the
/// client does, for posts are heard of by `LISTEN`.
///
/// When it is dropped the host leaves, and others may take its sessions at once; when its process dies they wait until
/// its lease and the grace are over.
pub struct PostgresStore {
    program: String,
    pool: Pool,
    host: Arc<Host>,
    owned: Mutex<HashMap<String, Owned>>,
    _leave: DropGuard,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("program", &self.program)
            .field("host", &self.host.id())
            .finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects, brings the tables (in the schema `claw`) up to date, and joins the hosts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] when the url cannot be read, the server not be reached, or the tables not be made or are newer
    /// than this program.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time and I/O.
    pub async fn connect(mut options: PostgresOptions) -> Result<Self, StoreError> {
        options.lease = options.lease.clamp(LEAST_LEASE, MOST_LEASE);
        options.grace = options.grace.min(MOST_LEASE);
        let way = Way::new(&options).map_err(|fault| fault.into_error("at the start"))?;
        let doing = format!("connecting to {}", way.server());
        let joined = timeout(DEADLINE, Self::join(options, way)).await;
        let joined = joined.unwrap_or(Err(Fault::Late));
        joined.map_err(|fault| fault.into_error(&doing))
    }

    async fn join(options: PostgresOptions, way: Way) -> Result<Self, Fault> {
        let pool = way.pool(options.connections)?;
        let mut client = pool.get().await?;
        schema::migrate(&mut client).await?;
        let name = format!("process {}", std::process::id());
        let host = Host::join(&client, name, options.lease, options.grace).await?;
        let host = Arc::new(host);
        let stop = CancellationToken::new();
        let leave = stop.clone().drop_guard();
        let kept = host.clone();
        // Ends by the guard: when the store is dropped, it gives up its place and is done.
        tokio::spawn(async move { kept.keep(&way, &stop).await });
        Ok(Self {
            program: options.program,
            pool,
            host,
            owned: Mutex::default(),
            _leave: leave,
        })
    }

    /// Gives up after a while, and puts what went wrong into words.
    async fn run<T>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, StoreError> {
        let done = timeout(DEADLINE, work).await.unwrap_or(Err(Fault::Late));
        done.map_err(|fault| {
            // Where one connection is lost others are, and it takes a moment until each knows.
            if fault.is_unknown() {
                self.pool.retain(|_, _| false);
            }
            fault.into_error(doing)
        })
    }

    fn answer<'a, T: Send + 'a>(
        &'a self,
        doing: &'static str,
        name: &'a str,
        work: impl Future<Output = Result<T, Fault>> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move { self.run(&format!("{doing} `{name}`"), work).await })
    }

    async fn client(&self) -> Result<Client, Fault> {
        Ok(self.pool.get().await?)
    }

    fn owned(&self) -> MutexGuard<'_, HashMap<String, Owned>> {
        // Entries are replaced whole, so a poisoned map is whole.
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for PostgresStore {
    fn open<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Lease> {
        self.answer("opening session", session, self.take(session))
    }

    fn close(&self, lease: Lease) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let doing = format!("closing session `{}`", lease.session);
            self.run(&doing, self.give_up(&lease)).await
        })
    }

    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        let work = self.write(lease, append);
        self.answer("appending to session", &lease.session, work)
    }

    fn records<'a>(&'a self, session: &'a str, after: u64) -> StoreFuture<'a, Vec<Record>> {
        self.answer("reading session", session, self.read(session, after))
    }

    fn restore<'a>(
        &'a self,
        session: &'a str,
        parent: Option<&'a Parent>,
        records: &'a [Record],
    ) -> StoreFuture<'a, ()> {
        let work = self.bring_back(session, parent, records);
        self.answer("restoring session", session, work)
    }

    fn sessions<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<SessionInfo>> {
        Box::pin(self.run("listing sessions", self.list(query)))
    }

    fn delete<'a>(&'a self, session: &'a str) -> StoreFuture<'a, ()> {
        self.answer("deleting session", session, self.remove(session))
    }

    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String> {
        let work = self.keep_blob(lease, bytes);
        self.answer("keeping a blob for session", &lease.session, work)
    }

    fn blob<'a>(&'a self, session: &'a str, digest: &'a str) -> StoreFuture<'a, Option<Arc<[u8]>>> {
        let work = self.read_blob(session, digest);
        self.answer("reading a blob of session", session, work)
    }

    fn blobs<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Vec<String>> {
        self.answer(
            "listing the blobs of session",
            session,
            self.list_blobs(session),
        )
    }

    fn post<'a>(
        &'a self,
        session: &'a str,
        key: &'a str,
        input: &'a Posted,
    ) -> StoreFuture<'a, bool> {
        self.answer(
            "posting to session",
            session,
            self.put_in(session, key, input),
        )
    }

    fn inbox<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Vec<Waiting>> {
        self.answer(
            "reading the inbox of session",
            &lease.session,
            self.waiting(lease),
        )
    }

    fn posted<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        Box::pin(self.hear_of(lease))
    }

    fn count<'a>(&'a self, counter: &'a str, add: i64, most: u64) -> StoreFuture<'a, bool> {
        self.answer("counting", counter, self.add(counter, add, most))
    }

    fn may_act(&self, lease: &Lease) -> bool {
        self.host_of(lease).is_some_and(|id| self.host.may_act(id))
    }

    fn lost<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(id) = self.host_of(lease) {
                self.host.lost(id).await;
            }
        })
    }
}
