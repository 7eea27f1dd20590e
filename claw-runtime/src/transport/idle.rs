//! Connections that wait for the next request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::connection::Connection;

/// How long a connection waits. Servers seldom keep one for longer.
const LONGEST: Duration = Duration::from_secs(300);
/// How long it is taken to be as it was left. No server says goodbye that soon.
const FRESH: Duration = Duration::from_secs(1);

/// The connections of one server that are open and have nothing to do, the last used at the end.
#[derive(Default)]
pub(super) struct Idle {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<(Instant, Box<Connection>)>,
    /// Whether a task closes what has waited too long.
    is_swept: bool,
}

impl State {
    fn pop(&mut self) -> Option<(Instant, Box<Connection>)> {
        let mut waiting = self.waiting.iter();
        let at = waiting.rposition(|(_, connection)| connection.is_at_home())?;
        Some(self.waiting.remove(at))
    }
}

impl Idle {
    /// Takes the connection that was used last, of those that this runtime moves and that are still open as far as can be known.
    pub(super) async fn take(&self) -> Option<Box<Connection>> {
        loop {
            let (since, mut connection) = self.lock().pop()?;
            if since.elapsed() > FRESH {
                // The runtime looks at its sockets meanwhile: what came while it was busy with something else is seen then.
                tokio::task::yield_now().await;
            }
            if since.elapsed() < LONGEST && connection.is_usable() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer has come to its end, where it can be used again.
    pub(super) fn keep(self: &Arc<Self>, mut connection: Box<Connection>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if !connection.is_usable() {
            return;
        }
        let mut state = self.lock();
        state.waiting.push((Instant::now(), connection));
        let is_swept = std::mem::replace(&mut state.is_swept, true);
        // A runtime that ends drops the task at once, and that looks here too.
        drop(state);
        if !is_swept {
            runtime.spawn(sweep(Swept(Arc::downgrade(self))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connections a task sweeps. A task that ends otherwise, with its runtime, leaves word that another is needed.
struct Swept(Weak<Idle>);

impl Drop for Swept {
    fn drop(&mut self) {
        if let Some(idle) = self.0.upgrade() {
            idle.lock().is_swept = false;
        }
    }
}

/// Closes what has waited too long, until nothing waits.
async fn sweep(mut swept: Swept) {
    loop {
        tokio::time::sleep(LONGEST).await;
        let Some(idle) = swept.0.upgrade() else {
            return;
        };
        let mut state = idle.lock();
        let first = state
            .waiting
            .partition_point(|(since, _)| since.elapsed() >= LONGEST);
        let closed: Vec<_> = state.waiting.drain(..first).collect();
        let is_empty = state.waiting.is_empty();
        if is_empty {
            // Told here, where nothing can be kept meanwhile.
            state.is_swept = false;
        }
        drop(state);
        drop(closed);
        if is_empty {
            swept.0 = Weak::new();
            return;
        }
    }
}
