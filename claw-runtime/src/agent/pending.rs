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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake};

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_runs_side_by_side_wakes_when_something_ended_and_never_by_itself() {
        let woken = Arc::new(Woken::default());
        let waker = woken.clone().into();
        let cx = &mut Context::from_waker(&waker);
        let mut side = Side::default();
        let ends: [_; 3] = std::array::from_fn(|_| {
            let (end, ended) = oneshot::channel::<u32>();
            side.push(async { ended.await.expect("somebody ends it") });
            end
        });
        assert_eq!(pin!(side.next()).poll(cx), Poll::Pending);
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        for (number, end) in (0..3_u32).zip(ends).rev() {
            end.send(number).expect("somebody waits for it");
            assert_eq!(woken.0.load(Ordering::Relaxed), 3 - number);
            assert_eq!(pin!(side.next()).poll(cx), Poll::Ready(Some(number)));
            assert_eq!(side.is_empty(), number == 0);
        }
        assert_eq!(pin!(side.next()).poll(cx), Poll::Ready(None));
    }
}
