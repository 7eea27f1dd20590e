//! A store that a test can stop at an append: the process of its turn is then dropped, as a kill would end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use claw_runtime::session::{
    Append, Lease, MemoryStore, Parent, Posted, Query, Record, SessionInfo, SessionStore,
    StoreFuture, Waiting,
};
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

/// Where the process stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// Before the nth append is kept.
    Before(usize),
    /// After it is kept, before anybody hears of it.
    After(usize),
}

/// One host over a shared memory store.
#[derive(Default)]
pub(crate) struct Tapped {
    pub(crate) inner: Arc<MemoryStore>,
    stop: Option<Stop>,
    appends: AtomicUsize,
    pub(crate) stopped: Notify,
    pub(crate) may_not_act: AtomicBool,
    pub(crate) lost: Notify,
}

impl Tapped {
    pub(crate) fn new(inner: Arc<MemoryStore>, stop: Option<Stop>) -> Self {
        Self {
            inner,
            stop,
            ..Self::default()
        }
    }

    async fn hang(&self) {
        self.stopped.notify_one();
        std::future::pending().await
    }
}

impl SessionStore for Tapped {
    fn open<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Lease> {
        self.inner.open(session)
    }
    fn close(&self, lease: Lease) -> StoreFuture<'_, ()> {
        self.inner.close(lease)
    }
    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        let nth = self.appends.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if self.stop == Some(Stop::Before(nth)) {
                self.hang().await;
            }
            self.inner.append(lease, append).await?;
            if self.stop == Some(Stop::After(nth)) {
                self.hang().await;
            }
            Ok(())
        })
    }
    fn records<'a>(&'a self, session: &'a str, after: u64) -> StoreFuture<'a, Vec<Record>> {
        self.inner.records(session, after)
    }
    fn restore<'a>(
        &'a self,
        session: &'a str,
        parent: Option<&'a Parent>,
        records: &'a [Record],
    ) -> StoreFuture<'a, ()> {
        self.inner.restore(session, parent, records)
    }
    fn sessions<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Vec<SessionInfo>> {
        self.inner.sessions(query)
    }
    fn delete<'a>(&'a self, session: &'a str) -> StoreFuture<'a, ()> {
        self.inner.delete(session)
    }
    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String> {
        self.inner.put_blob(lease, bytes)
    }
    fn blob<'a>(&'a self, session: &'a str, digest: &'a str) -> StoreFuture<'a, Option<Arc<[u8]>>> {
        self.inner.blob(session, digest)
    }
    fn blobs<'a>(&'a self, session: &'a str) -> StoreFuture<'a, Vec<String>> {
        self.inner.blobs(session)
    }
    fn post<'a>(
        &'a self,
        session: &'a str,
        key: &'a str,
        input: &'a Posted,
    ) -> StoreFuture<'a, bool> {
        self.inner.post(session, key, input)
    }
    fn inbox<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Vec<Waiting>> {
        self.inner.inbox(lease)
    }
    fn posted<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, ()> {
        self.inner.posted(lease)
    }
    fn count<'a>(&'a self, counter: &'a str, add: i64, most: u64) -> StoreFuture<'a, bool> {
        self.inner.count(counter, add, most)
    }
    fn may_act(&self, _: &Lease) -> bool {
        !self.may_not_act.load(Ordering::SeqCst)
    }
    fn lost<'a>(&'a self, _: &'a Lease) -> BoxFuture<'a, ()> {
        Box::pin(self.lost.notified())
    }
}
