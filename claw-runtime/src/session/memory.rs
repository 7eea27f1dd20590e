//! Sessions in memory: gone with the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;

use super::{Barrier, Lease, SessionStore, StoreError, Stored};
use crate::event::Event;

/// Sessions in memory.
#[derive(Default)]
pub struct MemoryStore {
    sessions: Mutex<HashMap<String, Journal>>,
}

#[derive(Default)]
struct Journal {
    fence: u64,
    events: Vec<Stored>,
    blobs: HashMap<String, Arc<[u8]>>,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Journal>> {
        // A panic between two field writes cannot happen here, so a poisoned map is whole.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owned<T>(&self, lease: &Lease, f: impl FnOnce(&mut Journal) -> T) -> Result<T, StoreError> {
        let mut sessions = self.sessions();
        let journal = sessions
            .get_mut(&lease.session)
            .ok_or_else(|| StoreError::NotFound {
                session: lease.session.clone(),
            })?;
        if journal.fence != lease.fence {
            return Err(StoreError::FenceLost {
                session: lease.session.clone(),
            });
        }
        Ok(f(journal))
    }
}

impl SessionStore for MemoryStore {
    fn open<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            let mut sessions = self.sessions();
            let journal = sessions.entry(session.to_owned()).or_default();
            journal.fence += 1;
            Ok(Lease {
                session: session.to_owned(),
                fence: journal.fence,
            })
        })
    }

    fn append<'a>(
        &'a self,
        lease: &'a Lease,
        events: &'a [Event],
        _: Barrier,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let time_ms = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| {
                    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
                });
            self.owned(lease, |journal| {
                for event in events {
                    let seq = journal.events.len() as u64 + 1;
                    journal.events.push(Stored {
                        seq,
                        time_ms,
                        event: event.clone(),
                    });
                }
            })
        })
    }

    fn load<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move {
            self.sessions()
                .get(session)
                .map(|journal| journal.events.clone())
                .ok_or_else(|| StoreError::NotFound {
                    session: session.to_owned(),
                })
        })
    }

    fn close(&self, _: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn put_blob<'a>(
        &'a self,
        lease: &'a Lease,
        bytes: &'a [u8],
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(async move {
            let digest = crate::digest::of(bytes);
            self.owned(lease, |journal| {
                journal
                    .blobs
                    .entry(digest.clone())
                    .or_insert_with(|| bytes.into());
            })?;
            Ok(digest)
        })
    }

    fn blob<'a>(
        &'a self,
        session: &'a str,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        Box::pin(async move {
            Ok(self
                .sessions()
                .get(session)
                .and_then(|journal| journal.blobs.get(digest).cloned()))
        })
    }
}
