//! The SQLite store where the disk, the file or the process fails it; what every store promises is asked in `conformance`.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)]

mod child;
mod damage;
mod full;
mod places;
mod processes;

use std::path::{Path, PathBuf};

use claw_runtime::event::Event;
use claw_runtime::message::ContentBlock;
use claw_runtime::session::{
    Append, Barrier, Lease, SessionStore, SqliteOptions, SqliteStore, StoreError,
};
use tempfile::TempDir;

/// A folder of its own, and the file in it.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    (folder, path)
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::at(path, SqliteOptions::new("p")).unwrap()
}

/// Returns what is said when the file cannot be opened.
fn refused(path: &Path) -> String {
    match SqliteStore::at(path, SqliteOptions::new("p")) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

fn said(text: &str) -> Event {
    Event::UserInput {
        key: String::new(),
        content: vec![ContentBlock::text(text)],
    }
}

async fn append(
    store: &SqliteStore,
    lease: &Lease,
    after: u64,
    event: Event,
    barrier: Barrier,
) -> Result<(), StoreError> {
    let append = Append {
        after,
        events: [event].into(),
        barrier,
        taken: &[],
    };
    store.append(lease, append).await
}

/// Opens a session and says as many things in it, each in an append of its own.
async fn begin(store: &SqliteStore, session: &str, count: u64) -> Lease {
    let lease = store.open(session).await.unwrap();
    for n in 0..count {
        let event = said(&format!("{n} {}", "x".repeat(n as usize % 700)));
        append(store, &lease, n, event, Barrier::Durable)
            .await
            .unwrap();
    }
    lease
}

/// Returns the path of a file beside the database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Copies the database as a crash would leave it: with its log, without what lives in memory.
fn crashed(path: &Path) -> (TempDir, PathBuf) {
    let (folder, copy) = place();
    std::fs::copy(path, &copy).unwrap();
    if beside(path, "-wal").exists() {
        std::fs::copy(beside(path, "-wal"), beside(&copy, "-wal")).unwrap();
    }
    (folder, copy)
}
