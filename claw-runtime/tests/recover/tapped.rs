//! A store that a test can stop at an append: the process of its turn is then dropped, as a kill would end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use claw_runtime::session::{Append, Lease, MemoryStore, SessionStore, StoreFuture};
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
    pass_on!(open close records restore sessions delete put_blob blob blobs post inbox posted count);

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
    fn may_act(&self, _: &Lease) -> bool {
        !self.may_not_act.load(Ordering::SeqCst)
    }
    fn lost<'a>(&'a self, _: &'a Lease) -> BoxFuture<'a, ()> {
        Box::pin(self.lost.notified())
    }
}
