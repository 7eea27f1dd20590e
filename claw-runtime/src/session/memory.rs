//! Sessions in memory: gone with the process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    inner: Mutex<Inner>,
    posted: Notify,
}

#[derive(Default)]
struct Inner {
    sessions: HashMap<String, Session>,
    counters: HashMap<String, u64>,
    blobs: HashMap<String, Arc<[u8]>>,
    hosts: u64,
    /// The last fence given out: one sequence for all sessions, for one may be deleted and another take its name.
    fence: u64,
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
        let mut inner = self.inner();
        inner.hosts += 1;
        Self {
            program: program.to_owned(),
            host: inner.hosts,
            medium: self.medium.clone(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.medium.inner()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        for session in self.medium.inner().sessions.values_mut() {
            session.owner.take_if(|owner| *owner == self.host);
        }
    }
}

impl Medium {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic between two field writes cannot happen here, so a poisoned map is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn not_elsewhere(&self, id: &str, host: u64) -> Result<(), StoreError> {
        match self.owner {
            Some(owner) if owner != host => Err(StoreError::Live {
                session: id.to_owned(),
                owner: name(owner),
            }),
            _ => Ok(()),
        }
    }
}

impl Inner {
    fn find(&self, session: &str) -> Result<&Session, StoreError> {
        self.sessions.get(session).ok_or_else(|| not_found(session))
    }

    fn find_mut(&mut self, session: &str) -> Result<&mut Session, StoreError> {
        self.sessions
            .get_mut(session)
            .ok_or_else(|| not_found(session))
    }

    fn owned(&mut self, lease: &Lease) -> Result<&mut Session, StoreError> {
        let session = self.find_mut(&lease.session)?;
        if session.fence != lease.fence || session.owner.is_none() {
            return Err(StoreError::FenceLost {
                session: lease.session.clone(),
            });
        }
        Ok(session)
    }

    fn open(&mut self, id: &str, host: u64, program: &str) -> Result<Lease, StoreError> {
        let now = now_ms();
        let session = self
            .sessions
            .entry(id.to_owned())
            .or_insert_with(|| Session {
                program: program.to_owned(),
                created_ms: now,
                updated_ms: now,
                ..Session::default()
            });
        if session.program != program {
            return Err(StoreError::OtherProgram {
                session: id.to_owned(),
                program: session.program.clone(),
            });
        }
        session.not_elsewhere(id, host)?;
        self.fence += 1;
        session.fence = self.fence;
        session.owner = Some(host);
        Ok(Lease {
            session: id.to_owned(),
            fence: session.fence,
        })
    }

    fn append(&mut self, lease: &Lease, append: Append<'_>) -> Result<(), StoreError> {
        let now = now_ms();
        let session = self.owned(lease)?;
        let head = session.entries.len() as u64;
        if head != append.after {
            return Err(StoreError::Moved {
                session: lease.session.clone(),
                head,
                expected: append.after,
            });
        }
        for (at, event) in append.events.iter().enumerate() {
            session.phase = session.phase.after(event);
            session.entries.push(Entry::Event {
                time_ms: now,
                together: append.events.clone(),
                at,
            });
        }
        if session.title.is_none() {
            session.title = title(&*append.events);
        }
        for id in append.taken {
            session.inbox.remove(id);
        }
        session.updated_ms = now;
        Ok(())
    }

    fn records(&self, session: &str, after: u64) -> Result<Vec<Record>, StoreError> {
        let mut before = START;
        let mut records = Vec::new();
        for (entry, seq) in self.find(session)?.entries.iter().zip(1..) {
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

    fn restore(
        &mut self,
        id: &str,
        program: &str,
        parent: Option<&Parent>,
        records: &[Record],
    ) -> Result<(), StoreError> {
        if self.sessions.contains_key(id) {
            return Err(StoreError::Exists {
                session: id.to_owned(),
            });
        }
        record::verify(records).map_err(|fault| StoreError::Damaged {
            session: id.to_owned(),
            fault,
        })?;
        let now = now_ms();
        let (events, _) = record::read(records);
        let events = || events.iter().map(|stored| &stored.event);
        self.sessions.insert(
            id.to_owned(),
            Session {
                program: program.to_owned(),
                entries: records.iter().cloned().map(Entry::Record).collect(),
                parent: parent.cloned(),
                title: title(events()),
                phase: events().fold(Phase::Idle, Phase::after),
                created_ms: now,
                updated_ms: now,
                ..Session::default()
            },
        );
        Ok(())
    }

    fn sessions(&self, query: &Query, host: u64) -> Vec<SessionInfo> {
        let mut found: Vec<_> = self
            .sessions
            .iter()
            .filter(|(_, session)| !query.unfinished || session.phase != Phase::Idle)
            .filter(|(_, session)| match &query.program {
                Some(program) => *program == session.program,
                None => true,
            })
            .map(|(id, session)| SessionInfo {
                id: id.clone(),
                program: session.program.clone(),
                title: session.title.clone().unwrap_or_default(),
                parent: session.parent.clone(),
                head: session.entries.len() as u64,
                created_ms: session.created_ms,
                updated_ms: session.updated_ms,
                phase: session.phase,
                owner: session.owner.map(name),
                here: session.owner == Some(host),
            })
            .collect();
        found.sort_by(|a, b| (b.updated_ms, &a.id).cmp(&(a.updated_ms, &b.id)));
        if query.limit > 0 {
            found.truncate(query.limit);
        }
        found
    }

    fn delete(&mut self, session: &str, host: u64) -> Result<(), StoreError> {
        self.find(session)?.not_elsewhere(session, host)?;
        let gone = self
            .sessions
            .remove(session)
            .ok_or_else(|| not_found(session))?;
        for digest in gone.blobs {
            if !self
                .sessions
                .values()
                .any(|other| other.blobs.contains(&digest))
            {
                self.blobs.remove(&digest);
            }
        }
        Ok(())
    }

    fn put_blob(&mut self, lease: &Lease, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.owned(lease)?.blobs.insert(digest.to_owned());
        if !self.blobs.contains_key(digest) {
            self.blobs.insert(digest.to_owned(), bytes.into());
        }
        Ok(())
    }

    fn post(&mut self, session: &str, key: &str, input: &Posted) -> Result<bool, StoreError> {
        let session = self.find_mut(session)?;
        if !session.keys.insert(key.to_owned()) {
            return Ok(false);
        }
        session.posted += 1;
        let id = session.posted;
        session.inbox.insert(
            id,
            Waiting {
                id,
                key: key.to_owned(),
                input: input.clone(),
            },
        );
        Ok(true)
    }

    fn count(&mut self, counter: &str, add: i64, most: u64) -> bool {
        let value = self.counters.entry(counter.to_owned()).or_default();
        let sum = value.saturating_add_signed(add);
        let fits = add <= 0 || sum <= most;
        if fits {
            *value = sum;
        }
        fits
    }
}

impl SessionStore for MemoryStore {
    fn open<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Lease> {
        answer(self.inner().open(session, self.host, &self.program))
    }

    fn close(&self, lease: Lease) -> StoreFuture<'_, ()> {
        if let Ok(session) = self.inner().owned(&lease) {
            session.owner = None;
        }
        answer(Ok(()))
    }

    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        answer(self.inner().append(lease, append))
    }

    fn records<'a>(&'a self, session: &'a str, after: u64) -> StoreFuture<'a, Vec<Record>> {
        answer(self.inner().records(session, after))
    }

    fn restore<'a>(
        &'a self,
        session: &'a str,
        parent: Option<&'a Parent>,
        records: &'a [Record],
    ) -> StoreFuture<'a, ()> {
        answer(
            self.inner()
                .restore(session, &self.program, parent, records),
        )
    }

    fn sessions<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<SessionInfo>> {
        answer(Ok(self.inner().sessions(query, self.host)))
    }

    fn delete<'a>(&'a self, session: &'a str) -> StoreFuture<'a, ()> {
        answer(self.inner().delete(session, self.host))
    }

    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String> {
        if bytes.len() > MOST_BLOB_BYTES {
            return answer(Err(StoreError::TooLarge { bytes: bytes.len() }));
        }
        // Hashed before the store is locked: other sessions need not wait for it.
        let digest = crate::digest::of(bytes);
        let kept = self.inner().put_blob(lease, &digest, bytes);
        answer(kept.map(|()| digest))
    }

    fn blob<'a>(&'a self, session: &'a str, digest: &'a str) -> StoreFuture<'a, Option<Arc<[u8]>>> {
        let inner = self.inner();
        let refers = inner
            .sessions
            .get(session)
            .is_some_and(|session| session.blobs.contains(digest));
        let blob = refers.then(|| inner.blobs.get(digest).cloned()).flatten();
        answer(Ok(blob))
    }

    fn blobs<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Vec<String>> {
        let blobs = self.inner().find(session).map(|session| {
            let mut digests: Vec<_> = session.blobs.iter().cloned().collect();
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
        let new = self.inner().post(session, key, input);
        self.medium.posted.notify_waiters();
        answer(new)
    }

    fn inbox<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Vec<Waiting>> {
        let waiting = self
            .inner()
            .owned(lease)
            .map(|session| session.inbox.values().cloned().collect());
        answer(waiting)
    }

    fn posted<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        let posted = self.medium.posted.notified();
        Box::pin(async move {
            let mut posted = std::pin::pin!(posted);
            // Listens from here on, so that nothing is missed between the look and the wait.
            posted.as_mut().enable();
            if self.inner().owned(lease)?.inbox.is_empty() {
                posted.await;
            }
            Ok(())
        })
    }

    fn count<'a>(&'a self, counter: &'a str, add: i64, most: u64) -> StoreFuture<'a, bool> {
        answer(Ok(self.inner().count(counter, add, most)))
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
