//! Turns at the database, between processes.
//!
//! SQLite lets waiting writers sleep and try again, so that one in a loop starves the others. An advisory lock on a file
//! beside the database wakes them in turn; SQLite's own lock stays behind it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use super::faults::{failed, of_io};
use super::place::{beside, private_file};
use crate::session::StoreError;

/// How long a turn is waited for. A commit takes milliseconds; a process stopped in the midst of one never ends it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The lock file.
pub(super) struct Gate {
    path: PathBuf,
    file: File,
    patience: Duration,
}

/// A turn at the database; it ends when this is dropped.
pub(super) struct Turn<'a> {
    own: &'a File,
    waited: Option<File>,
}

impl Gate {
    /// Opens the gate of a database.
    pub(super) fn new(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database, "-gate");
        let file = private_file(&path).map_err(|error| of_io(&path, "opened", &error))?;
        Ok(Self {
            path,
            file,
            patience: PATIENCE,
        })
    }

    /// Waits for a turn.
    ///
    /// # Errors
    ///
    /// Fails when none comes in ten seconds, for a process stopped in the midst of its own.
    pub(super) fn enter(&self) -> Result<Turn<'_>, StoreError> {
        let waited = match self.file.try_lock() {
            Ok(()) => None,
            Err(TryLockError::WouldBlock) => Some(self.wait()?),
            Err(TryLockError::Error(error)) => return Err(of_io(&self.path, "locked", &error)),
        };
        Ok(Turn {
            own: &self.file,
            waited,
        })
    }

    /// Queues up. A lock is waited for by a thread of its own, for a wait cannot be broken off.
    fn wait(&self) -> Result<File, StoreError> {
        // A lock belongs to an opened file: one waited for in vain must not be mistaken for a later one.
        let file = private_file(&self.path).map_err(|error| of_io(&self.path, "opened", &error))?;
        // Handed over, or, when nobody waits any more, dropped and so freed.
        let (hand, wait) = mpsc::sync_channel(0);
        let waiting = std::thread::Builder::new().spawn(move || {
            let locked = file.lock().map(|()| file);
            let _ = hand.send(locked);
        });
        waiting.map_err(|error| of_io(&self.path, "waited for", &error))?;
        match wait.recv_timeout(self.patience) {
            Ok(locked) => locked.map_err(|error| of_io(&self.path, "locked", &error)),
            Err(_) => Err(failed(
                &self.path,
                format_args!(
                    "is held by another process for {} seconds: it is stopped in the midst of a write; let it go on or end \
                     it, then try again",
                    self.patience.as_secs()
                ),
            )),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A lock that cannot be given up goes with the file, at the latest with the process.
        let _ = self.waited.as_ref().unwrap_or(self.own).unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("s.db");
        let holder = Gate::new(&database).unwrap();
        let mut waiter = Gate::new(&database).unwrap();
        let turn = holder.enter().unwrap();

        waiter.patience = Duration::from_millis(20);
        let Err(error) = waiter.enter() else {
            panic!("two hold it");
        };
        let message = error.to_string();
        assert!(
            message.contains("s.db-gate") && message.contains("stopped"),
            "{message}"
        );

        // One that waits gets it when the other is done; so does the one waited for in vain, which gives it up at once.
        waiter.patience = Duration::from_secs(60);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| waiter.enter().map(drop));
            std::thread::sleep(Duration::from_millis(20));
            drop(turn);
            waits.join().unwrap().unwrap();
        });
        drop(holder.enter().unwrap());
        drop(waiter.enter().unwrap());
    }
}
