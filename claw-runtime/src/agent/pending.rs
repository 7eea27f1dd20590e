//! Waiting for what may not be under way.

use futures_util::future::BoxFuture;

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
