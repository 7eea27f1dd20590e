//! Sessions in memory: gone with the process.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::{BoxFuture, ready};
use tokio::sync::Notify;

use super::inbox::{Posted, Waiting};
use super::journal::title;
use super::record::{self, Record, START};
use super::store::{
    Append, Lease, MOST_BLOB_BYTES, Parent, Phase, Query, SessionInfo, SessionStore, StoreError,
    StoreFuture,
};
use crate::event::Event;

/// Sessions in memory. A host of its own, unless it [joins](Self::join) another.
#[derive(Default)]
pub struct MemoryStore {
    program: String,
    host: u64,
    medium: Arc<Medium>,
}

/// What the hosts share.
#[derive(Default)]
struct Medium {
    /// Each has a lock of its own, so that turns do not wait for one another.
    sessions: RwLock<HashMap<String, Arc<Slot>>>,
    rest: Mutex<Rest>,
}

/// What is not one session's. Where several locks are held, this is the first, then that of all sessions, then one's.
#[derive(Default)]
struct Rest {
    counters: HashMap<String, u64>,
    blobs: HashMap<String, Arc<[u8]>>,
    hosts: u64,
    /// The last fence given out: one sequence for all sessions, for one may be deleted and another take its name.
    fence: u64,
}

#[derive(Default)]
struct Slot {
    session: Mutex<Session>,
    /// Told when something was posted.
    posted: Notify,
}

#[derive(Default)]
struct Session {
    program: String,
    fence: u64,
    owner: Option<u64>,
    entries: Vec<Entry>,
    parent: Option<Parent>,
    title: Option<String>,
    phase: Phase,
    created_ms: u64,
    updated_ms: u64,
    blobs: HashSet<String>,
    /// Everything ever posted, by key.
    keys: HashSet<String>,
    inbox: BTreeMap<u64, Waiting>,
    posted: u64,
}

/// Events are made records when somebody asks: a turn in memory need not pay for bytes and hashes.
enum Entry {
    /// The event that stands at this place of those that were appended together.
    Event {
        time_ms: u64,
        together: Arc<[Event]>,
        at: usize,
    },
    Record(Record),
}

impl MemoryStore {
    /// Returns an empty store, whose program has no name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns another host of the same sessions, which serves `program`. It lives until it is dropped.
    pub fn join(&self, program: &str) -> Self {
        let mut rest = self.medium.rest();
        rest.hosts += 1;
        Self {
            program: program.to_owned(),
            host: rest.hosts,
            medium: self.medium.clone(),
        }
    }

    fn find(&self, session: &str) -> Result<Arc<Slot>, StoreError> {
        self.medium.find(session)
    }

    /// Does something with a session that this lease owns.
    fn owned<T>(
        &self,
        lease: &Lease,
        act: impl FnOnce(&mut Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let slot = self.find(&lease.session)?;
        let mut session = slot.session();
        session.check(lease)?;
        act(&mut session)
    }

    fn open_session(&self, id: &str) -> Result<Lease, StoreError> {
        let now = now_ms();
        // All are held to the end, so that it is not deleted meanwhile.
        let mut rest = self.medium.rest();
        let mut sessions = self.medium.sessions_mut();
        let slot = sessions.entry(id.to_owned()).or_insert_with(|| {
            let session = Session {
                program: self.program.clone(),
                created_ms: now,
                updated_ms: now,
                ..Session::default()
            };
            Arc::new(Slot::of(session))
        });
        let mut session = slot.session();
        if session.program != self.program {
            return Err(StoreError::OtherProgram {
                session: id.to_owned(),
                program: session.program.clone(),
            });
        }
        session.not_elsewhere(id, self.host)?;
        rest.fence += 1;
        session.fence = rest.fence;
        session.owner = Some(self.host);
        Ok(Lease {
            session: id.to_owned(),
            fence: session.fence,
        })
    }

    fn restore_session(
        &self,
        id: &str,
        parent: Option<&Parent>,
        records: &[Record],
    ) -> Result<(), StoreError> {
        let exists = || StoreError::Exists {
            session: id.to_owned(),
        };
        if self.find(id).is_ok() {
            return Err(exists());
        }
        record::verify(records).map_err(|fault| StoreError::Damaged {
            session: id.to_owned(),
            fault,
        })?;
        let now = now_ms();
        let (events, _) = record::read(records);
        let events = || events.iter().map(|stored| &stored.event);
        let session = Session {
            program: self.program.clone(),
            entries: records.iter().cloned().map(Entry::Record).collect(),
            parent: parent.cloned(),
            title: title(events()),
            phase: events().fold(Phase::Idle, Phase::after),
            created_ms: now,
            updated_ms: now,
            ..Session::default()
        };
        match self.medium.sessions_mut().entry(id.to_owned()) {
            // Somebody made one of this name meanwhile.
            MapEntry::Occupied(_) => Err(exists()),
            MapEntry::Vacant(place) => {
                place.insert(Arc::new(Slot::of(session)));
                Ok(())
            }
        }
    }

    fn delete_session(&self, id: &str) -> Result<(), StoreError> {
        let mut sessions = self.medium.sessions_mut();
        let slot = sessions.get(id).ok_or_else(|| not_found(id))?;
        slot.session().not_elsewhere(id, self.host)?;
        let gone = sessions.remove(id);
        drop(sessions);
        // Dropped here, where nobody waits for it.
        let blobs = gone.map(|gone| std::mem::take(&mut gone.session().blobs));
        let blobs = blobs.unwrap_or_default();
        if blobs.is_empty() {
            return Ok(());
        }
        let mut rest = self.medium.rest();
        let sessions = self.medium.sessions();
        for digest in blobs {
            let holds = |slot: &Arc<Slot>| slot.session().blobs.contains(&digest);
            if !sessions.values().any(holds) {
                rest.blobs.remove(&digest);
            }
        }
        Ok(())
    }

    fn keep_blob(&self, lease: &Lease, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        // Held to the end, so that a session that is deleted meanwhile does not take it along.
        let mut rest = self.medium.rest();
        self.owned(lease, |session| {
            session.blobs.insert(digest.to_owned());
            Ok(())
        })?;
        if !rest.blobs.contains_key(digest) {
            rest.blobs.insert(digest.to_owned(), bytes.into());
        }
        Ok(())
    }

    fn list(&self, query: &Query) -> Vec<SessionInfo> {
        let sessions = self.medium.sessions();
        let found = sessions.iter().filter_map(|(id, slot)| {
            let session = slot.session();
            let fits = (!query.unfinished || session.phase != Phase::Idle)
                && query
                    .program
                    .as_ref()
                    .is_none_or(|program| *program == session.program);
            fits.then(|| session.info(id, self.host))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by(|a, b| (b.updated_ms, &a.id).cmp(&(a.updated_ms, &b.id)));
        if query.limit > 0 {
            found.truncate(query.limit);
        }
        found
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        for slot in self.medium.sessions().values() {
            slot.session().owner.take_if(|owner| *owner == self.host);
        }
    }
}

// A panic between two field writes cannot happen in here, so what a lock is poisoned over is whole.
impl Medium {
    fn sessions(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<Slot>>> {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions_mut(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<Slot>>> {
        self.sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, session: &str) -> Result<Arc<Slot>, StoreError> {
        let slot = self.sessions().get(session).cloned();
        slot.ok_or_else(|| not_found(session))
    }
}

impl Slot {
    fn of(session: Session) -> Self {
        Self {
            session: Mutex::new(session),
            posted: Notify::new(),
        }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Fails where `lease` is not the newest, or nobody's any more.
    fn check(&self, lease: &Lease) -> Result<(), StoreError> {
        if self.fence == lease.fence && self.owner.is_some() {
            return Ok(());
        }
        Err(StoreError::FenceLost {
            session: lease.session.clone(),
        })
    }

    fn not_elsewhere(&self, id: &str, host: u64) -> Result<(), StoreError> {
        match self.owner {
            Some(owner) if owner != host => Err(StoreError::Live {
                session: id.to_owned(),
                owner: name(owner),
            }),
            _ => Ok(()),
        }
    }

    fn append(&mut self, id: &str, append: Append<'_>) -> Result<(), StoreError> {
        let now = now_ms();
        let head = self.entries.len() as u64;
        if head != append.after {
            return Err(StoreError::Moved {
                session: id.to_owned(),
                head,
                expected: append.after,
            });
        }
        for (at, event) in append.events.iter().enumerate() {
            self.phase = self.phase.after(event);
            self.entries.push(Entry::Event {
                time_ms: now,
                together: append.events.clone(),
                at,
            });
        }
        if self.title.is_none() {
            self.title = title(&*append.events);
        }
        for id in append.taken {
            self.inbox.remove(id);
        }
        self.updated_ms = now;
        Ok(())
    }

    fn records(&self, after: u64) -> Result<Vec<Record>, StoreError> {
        let mut before = START;
        let mut records = Vec::new();
        for (entry, seq) in self.entries.iter().zip(1..) {
            let record = match entry {
                Entry::Event {
                    time_ms,
                    together,
                    at,
                } => Record::new(&before, seq, *time_ms, &together[*at])?,
                Entry::Record(record) => record.clone(),
            };
            before = record.hash;
            if seq > after {
                records.push(record);
            }
        }
        Ok(records)
    }

    fn info(&self, id: &str, host: u64) -> SessionInfo {
        SessionInfo {
            id: id.to_owned(),
            program: self.program.clone(),
            title: self.title.clone().unwrap_or_default(),
            parent: self.parent.clone(),
            head: self.entries.len() as u64,
            created_ms: self.created_ms,
            updated_ms: self.updated_ms,
            phase: self.phase,
            owner: self.owner.map(name),
            here: self.owner == Some(host),
        }
    }

    fn post(&mut self, key: &str, input: &Posted) -> bool {
        if !self.keys.insert(key.to_owned()) {
            return false;
        }
        self.posted += 1;
        let id = self.posted;
        self.inbox.insert(
            id,
            Waiting {
                id,
                key: key.to_owned(),
                input: input.clone(),
            },
        );
        true
    }
}

impl SessionStore for MemoryStore {
    fn open<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Lease> {
        answer(self.open_session(session))
    }

    fn close(&self, lease: Lease) -> StoreFuture<'_, ()> {
        // Somebody else's is none of ours to close.
        let _ = self.owned(&lease, |session| {
            session.owner = None;
            Ok(())
        });
        answer(Ok(()))
    }

    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        answer(self.owned(lease, |session| session.append(&lease.session, append)))
    }

    fn records<'a>(&'a self, session: &'a str, after: u64) -> StoreFuture<'a, Vec<Record>> {
        let slot = self.find(session);
        answer(slot.and_then(|slot| slot.session().records(after)))
    }

    fn restore<'a>(
        &'a self,
        session: &'a str,
        parent: Option<&'a Parent>,
        records: &'a [Record],
    ) -> StoreFuture<'a, ()> {
        answer(self.restore_session(session, parent, records))
    }

    fn sessions<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<SessionInfo>> {
        answer(Ok(self.list(query)))
    }

    fn delete<'a>(&'a self, session: &'a str) -> StoreFuture<'a, ()> {
        answer(self.delete_session(session))
    }

    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String> {
        if bytes.len() > MOST_BLOB_BYTES {
            return answer(Err(StoreError::TooLarge { bytes: bytes.len() }));
        }
        // Hashed before anything is locked: others need not wait for it.
        let digest = crate::digest::of(bytes);
        let kept = self.keep_blob(lease, &digest, bytes);
        answer(kept.map(|()| digest))
    }

    fn blob<'a>(&'a self, session: &'a str, digest: &'a str) -> StoreFuture<'a, Option<Arc<[u8]>>> {
        let holds = |slot: Arc<Slot>| slot.session().blobs.contains(digest);
        let refers = self.find(session).is_ok_and(holds);
        let blob = refers.then(|| self.medium.rest().blobs.get(digest).cloned());
        answer(Ok(blob.flatten()))
    }

    fn blobs<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Vec<String>> {
        let blobs = self.find(session).map(|slot| {
            let mut digests: Vec<_> = slot.session().blobs.iter().cloned().collect();
            digests.sort();
            digests
        });
        answer(blobs)
    }

    fn post<'a>(
        &'a self,
        session: &'a str,
        key: &'a str,
        input: &'a Posted,
    ) -> StoreFuture<'a, bool> {
        answer(self.find(session).map(|slot| {
            let is_new = slot.session().post(key, input);
            slot.posted.notify_waiters();
            is_new
        }))
    }

    fn inbox<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Vec<Waiting>> {
        answer(self.owned(lease, |session| {
            Ok(session.inbox.values().cloned().collect())
        }))
    }

    fn posted<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        let slot = self.find(&lease.session);
        Box::pin(async move {
            let slot = slot?;
            let mut posted = pin!(slot.posted.notified());
            // Listens from here on, so that nothing is missed between the look and the wait.
            posted.as_mut().enable();
            let is_empty = {
                let session = slot.session();
                session.check(lease)?;
                session.inbox.is_empty()
            };
            if is_empty {
                posted.await;
            }
            Ok(())
        })
    }

    fn count<'a>(&'a self, counter: &'a str, add: i64, most: u64) -> StoreFuture<'a, bool> {
        let mut rest = self.medium.rest();
        let value = rest.counters.entry(counter.to_owned()).or_default();
        let sum = value.saturating_add_signed(add);
        let fits = add <= 0 || sum <= most;
        if fits {
            *value = sum;
        }
        answer(Ok(fits))
    }
}

fn answer<'a, T: Send + 'a>(answer: Result<T, StoreError>) -> BoxFuture<'a, Result<T, StoreError>> {
    Box::pin(ready(answer))
}

/// What a host is called in errors and lists.
fn name(host: u64) -> String {
    format!("host {host} of this process")
}

fn not_found(session: &str) -> StoreError {
    StoreError::NotFound {
        session: session.to_owned(),
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
