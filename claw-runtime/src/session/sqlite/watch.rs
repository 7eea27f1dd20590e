//! Who waits for an inbox, and what wakes them: posts of this host at once, those of other processes within 200 ms.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Notify;

use super::faults::{failed, of_sqlite};
use super::schema;
use crate::session::StoreError;

/// How often others' writes are looked for while somebody waits.
const PACE: Duration = Duration::from_millis(200);

/// Wakes those that wait.
pub(super) struct Watch {
    path: Arc<PathBuf>,
    waiting: Mutex<HashMap<String, Arc<Notify>>>,
    /// Held by the one of them that looks for all.
    look: tokio::sync::Mutex<Option<Look>>,
}

/// A connection that can tell whether others wrote: the number changes with their commits.
struct Look {
    conn: Connection,
    version: Option<i64>,
}

/// One that waits.
pub(super) struct Waiter<'a> {
    watch: &'a Watch,
    session: &'a str,
    /// Tells that its inbox may hold something new.
    pub(super) notify: Arc<Notify>,
}

impl Watch {
    /// Returns a watch that looks at nothing, for nobody waits.
    pub(super) fn new(path: Arc<PathBuf>) -> Self {
        Self {
            path,
            waiting: Mutex::default(),
            look: tokio::sync::Mutex::default(),
        }
    }

    /// Wakes those that wait for a session.
    pub(super) fn wake(&self, session: &str) {
        if let Some(notify) = self.waiting().get(session) {
            notify.notify_waiters();
        }
    }

    /// Lets somebody wait.
    pub(super) fn wait<'a>(&'a self, session: &'a str) -> Waiter<'a> {
        let notify = self
            .waiting()
            .entry(session.to_owned())
            .or_default()
            .clone();
        Waiter {
            watch: self,
            session,
            notify,
        }
    }

    /// Looks for what other processes post, for all that wait. Whoever waits runs this; one looks, the others wait for their
    /// turn, in case that one leaves.
    ///
    /// # Errors
    ///
    /// Returns when the database cannot be read, and only then.
    pub(super) async fn look(&self) -> StoreError {
        let mut held = self.look.lock().await;
        loop {
            tokio::time::sleep(PACE).await;
            let path = self.path.clone();
            // Lost when this future is dropped meanwhile: the next begins with one that knows nothing, and wakes all.
            let look = held.take();
            let looking = tokio::task::spawn_blocking(move || {
                let mut look = match look {
                    Some(look) => look,
                    None => Look::begin(&path)?,
                };
                let posted = look.posted()?;
                Ok::<_, rusqlite::Error>((look, posted))
            });
            match looking.await {
                Ok(Ok((look, posted))) => {
                    *held = Some(look);
                    posted.iter().for_each(|session| self.wake(session));
                }
                Ok(Err(error)) => return of_sqlite(&self.path, &error),
                Err(error) => return failed(&self.path, format_args!("cannot be read: {error}")),
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Look {
    fn begin(path: &Path) -> rusqlite::Result<Self> {
        Ok(Self {
            conn: schema::reading(path)?,
            version: None,
        })
    }

    /// Returns the sessions in whose inbox something waits, when anybody wrote since the last look.
    fn posted(&mut self) -> rusqlite::Result<Vec<String>> {
        let mut version = self.conn.prepare_cached("PRAGMA data_version")?;
        let now = version.query_row([], |row| row.get(0))?;
        if self.version == Some(now) {
            return Ok(Vec::new());
        }
        let mut find = self.conn.prepare_cached(
            "SELECT id FROM sessions WHERE number IN (SELECT session FROM inbox WHERE input IS NOT NULL)",
        )?;
        let posted = find.query_map([], |row| row.get(0))?;
        let posted = posted.collect::<Result<_, _>>()?;
        self.version = Some(now);
        Ok(posted)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.watch.waiting();
        // This one and the table's: nobody else waits for the session.
        if Arc::strong_count(&self.notify) == 2 {
            waiting.remove(self.session);
        }
    }
}
