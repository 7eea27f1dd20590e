//! Waiting for what may not be under way.

use std::task::Poll;

use futures_util::future::{BoxFuture, poll_fn};

use crate::turn::Input;

/// Polls what is under way; pends while nothing is.
pub(super) async fn pending_or<T>(work: &mut Option<BoxFuture<'_, T>>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

/// Waits for the answer to the open question.
pub(super) async fn answer(ask: &mut Option<(String, BoxFuture<'_, Input>)>) -> Input {
    match ask {
        Some((_, answer)) => answer.await,
        None => std::future::pending().await,
    }
}

/// What runs side by side. All of it is polled when something of it may have ended, for it is little: the calls of a round.
///
/// futures' own set wakes its task after each look at everything it holds, so that the turn would run once more for nothing.
pub(super) struct Side<'r, T>(Vec<BoxFuture<'r, T>>);

impl<T> Default for Side<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'r, T> Side<'r, T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, work: impl Future<Output = T> + Send + 'r) {
        self.0.push(Box::pin(work));
    }

    /// Waits for the next to end; `None` when nothing runs.
    pub(super) async fn next(&mut self) -> Option<T> {
        poll_fn(|cx| {
            for at in 0..self.0.len() {
                if let Poll::Ready(ended) = self.0[at].as_mut().poll(cx) {
                    drop(self.0.swap_remove(at));
                    return Poll::Ready(Some(ended));
                }
            }
            match self.0.is_empty() {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }
}
