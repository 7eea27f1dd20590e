//! The one thread that writes: what waits when it looks up is one transaction.
//!
//! A commit costs a sync whatever is in it, so the more sessions write, the less each pays. Each piece of work is still all
//! or nothing, by a savepoint.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::{mpsc, oneshot};

use super::Durability;
use super::faults::{Fault, failed, of_sqlite};
use super::gate::Gate;
use super::schema::BUSY;
use crate::session::{Barrier, StoreError};

/// Pieces of work that may wait, and go into one transaction.
const MOST_JOBS: usize = 128;

/// Pages in the log before they are moved into the database: 4 MiB.
const MOST_PAGES: i32 = 1024;

/// Hands work to the thread that writes, and ends it when dropped.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    path: Arc<PathBuf>,
}

/// A piece of work, whatever it answers.
trait Job: Send {
    /// Whether it must survive power loss.
    fn firm(&self) -> bool;

    /// Does the work, or does it again when nothing came of it. `Ok` says that its changes are to be kept.
    fn run(&mut self, conn: &Connection) -> Result<(), StoreError>;

    /// Says how it went, given how the transaction went.
    fn end(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Task<T, F> {
    barrier: Barrier,
    work: F,
    answer: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    path: Arc<PathBuf>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: Fn(&Connection) -> Result<T, Fault> + Send,
{
    fn firm(&self) -> bool {
        self.barrier == Barrier::Durable
    }

    fn run(&mut self, conn: &Connection) -> Result<(), StoreError> {
        let answer = (self.work)(conn).map_err(|fault| fault.at(&self.path));
        let kept = answer.as_ref().map(|_| ()).map_err(StoreError::clone);
        self.answer = Some(answer);
        kept
    }

    fn end(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match (self.answer, committed) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(all)) => Err(all),
            (Some(answer), Ok(())) => answer,
            (None, Ok(())) => Err(failed(&self.path, "was not written to")),
        };
        // Nobody may wait any more; what is written is written.
        let _ = self.reply.send(answer);
    }
}

impl Writer {
    /// Begins to write.
    pub(super) fn begin(
        mut conn: Connection,
        gate: Gate,
        path: Arc<PathBuf>,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI32::new(0));
        let last = pages.clone();
        let note = move |_: &mut Wal, pages| {
            last.store(pages, Ordering::Relaxed);
            Ok(())
        };
        conn.wal_hook(Some(note))
            .map_err(|error| of_sqlite(&path, &error))?;
        let (jobs, waiting) = mpsc::channel(MOST_JOBS);
        let thread = Thread {
            conn,
            gate,
            path: path.clone(),
            durability,
            firm: true,
            pages,
            next: MOST_PAGES,
        };
        let thread = std::thread::Builder::new()
            .name("claw-sqlite".to_owned())
            .spawn(move || thread.run(waiting))
            .map_err(|error| failed(&path, format_args!("cannot have a thread: {error}")))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            path,
        })
    }

    /// Does work in a transaction. Its changes are kept when it and the commit succeed, and only then.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        barrier: Barrier,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = || failed(&self.path, "is not written to any more: its thread ended");
        let (reply, answer) = oneshot::channel();
        let task = Box::new(Task {
            barrier,
            work,
            answer: None,
            reply,
            path: self.path.clone(),
        });
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(task).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread ends when nobody can send; what is under way is milliseconds.
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Thread {
    conn: Connection,
    gate: Gate,
    path: Arc<PathBuf>,
    durability: Durability,
    /// Whether commits are synced as firmly as they may have to be.
    firm: bool,
    /// Pages in the log, as the last commit left it.
    pages: Arc<AtomicI32>,
    /// So many are reason for a checkpoint.
    next: i32,
}

impl Thread {
    fn run(mut self, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
        let mut jobs = Vec::with_capacity(MOST_JOBS);
        while waiting.blocking_recv_many(&mut jobs, MOST_JOBS) > 0 {
            let alone = jobs.len() == 1;
            match self.commit(&mut jobs) {
                Ok(Err(_)) if !alone => {
                    // Whose fault it is shows when each is alone, and the others do not suffer from it.
                    for mut job in jobs.drain(..) {
                        let committed = self.commit(std::slice::from_mut(&mut job));
                        job.end(committed.flatten());
                    }
                }
                committed => {
                    let committed = committed.flatten();
                    for job in jobs.drain(..) {
                        job.end(committed.clone());
                    }
                }
            }
            // When nobody waits for it. What fails here is tried again after the next commit.
            let _ = self.checkpoint();
        }
    }

    /// Does work in one transaction. The inner result is the transaction's; the outer one fails when it could not begin.
    fn commit(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<Result<(), StoreError>, StoreError> {
        let failed = |error: rusqlite::Error| of_sqlite(&self.path, &error);
        let firm = jobs.iter().any(|job| job.firm());
        if firm != self.firm {
            // A log that is synced later still keeps the order: what is behind in it never survives what is before.
            let sync = if firm {
                self.durability.firm()
            } else {
                self.durability.loose()
            };
            self.conn.execute_batch(sync).map_err(failed)?;
            self.firm = firm;
        }
        let _turn = self.gate.enter()?;
        sql(&self.conn, "BEGIN IMMEDIATE").map_err(failed)?;
        let done = self.transaction(jobs);
        if !self.conn.is_autocommit() {
            // Only one that failed is still open.
            sql(&self.conn, "ROLLBACK").map_err(failed)?;
        }
        Ok(done)
    }

    fn transaction(&self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| of_sqlite(&self.path, &error);
        if let [job] = jobs {
            // Its error is its own to tell.
            if job.run(&self.conn).is_err() {
                return Ok(());
            }
        } else {
            for job in jobs {
                sql(&self.conn, "SAVEPOINT job").map_err(failed)?;
                if let Err(error) = job.run(&self.conn) {
                    if self.conn.is_autocommit() {
                        // SQLite gave the whole transaction up: the disk is full or broken.
                        return Err(error);
                    }
                    sql(&self.conn, "ROLLBACK TO job").map_err(failed)?;
                }
                sql(&self.conn, "RELEASE job").map_err(failed)?;
            }
        }
        sql(&self.conn, "COMMIT").map_err(failed)
    }

    /// Moves the log into the database when it has grown, so that it stays short.
    fn checkpoint(&mut self) -> rusqlite::Result<()> {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < MOST_PAGES {
            // It began anew.
            self.next = MOST_PAGES;
        }
        if pages < self.next {
            return Ok(());
        }
        self.next = pages.saturating_add(MOST_PAGES);
        // Without waiting, until readers have held it up for long.
        let (mode, patience) = if pages < 16 * MOST_PAGES {
            ("PASSIVE", Duration::ZERO)
        } else {
            ("TRUNCATE", Duration::from_millis(100))
        };
        self.conn.busy_timeout(patience)?;
        let pragma = format!("PRAGMA wal_checkpoint({mode})");
        let moved = self.conn.query_row(&pragma, [], |_| Ok(()));
        self.conn.busy_timeout(BUSY)?;
        moved
    }
}

/// Runs a statement that is kept prepared.
fn sql(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}
