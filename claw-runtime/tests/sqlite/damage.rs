//! Files that are torn, cut or changed: no panic, a clear error, and what is whole before the damage is read.

use std::fs;
use std::path::Path;

use claw_runtime::session::{
    SessionStore, SqliteOptions, SqliteStore, StoreError, Unreadable, journal,
};
use rusqlite::Connection;

use crate::{begin, beside, crashed, open, place};

/// Numbers that look random and are the same each time.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    }
}

/// Reads all there is of a damaged file; whatever it says, it says where. Returns how many events were read.
async fn read(path: &Path, whole: &[claw_runtime::session::Stored]) -> Option<usize> {
    let named = |error: StoreError| {
        let message = error.to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
    };
    let store = match SqliteStore::at(path, SqliteOptions::new("p")) {
        Ok(store) => store,
        Err(error) => {
            named(error);
            return None;
        }
    };
    let journal = match journal::read(&store, "s").await {
        Ok(journal) => journal,
        Err(StoreError::NotFound { .. }) => return None,
        Err(error) => {
            named(error);
            return None;
        }
    };
    // What is read is what was written.
    assert_eq!(journal.events, whole[..journal.events.len()]);
    if journal.fault.is_some() {
        assert!(!store.check().await.unwrap().is_empty());
    }
    Some(journal.events.len())
}

#[tokio::test]
async fn a_log_cut_anywhere_keeps_a_prefix() {
    let (_folder, path) = place();
    let store = open(&path);
    begin(&store, "s", 60).await;
    let whole = journal::load(&store, "s").await.unwrap();
    let log = fs::read(beside(&path, "-wal")).unwrap();
    let mut number = numbers(4);
    let mut lengths: Vec<_> = (0..40).map(|_| number(log.len() as u64)).collect();
    lengths.extend([0, 1, 31, 32, 33, 32 + 24 + 4096, log.len() as u64]);
    lengths.sort_unstable();
    let mut last = 0;
    for length in lengths {
        let (_copy, copy) = crashed(&path);
        fs::write(beside(&copy, "-wal"), &log[..length as usize]).unwrap();
        let store = open(&copy);
        // Before the first append there is nothing to read.
        let events = match journal::read(&store, "s").await {
            Ok(journal) => {
                assert_eq!(journal.fault, None);
                journal.events
            }
            Err(StoreError::NotFound { .. }) => vec![],
            Err(error) => panic!("{error}"),
        };
        assert_eq!(events, whole[..events.len()]);
        assert!(events.len() >= last, "a longer log holds less");
        last = events.len();
        assert_eq!(store.check().await.unwrap(), []);
        // And it goes on.
        let lease = store.open("s").await.unwrap();
        crate::append(
            &store,
            &lease,
            events.len() as u64,
            crate::said("on"),
            crate::Barrier::Durable,
        )
        .await
        .unwrap();
    }
    assert_eq!(last, whole.len());
}

#[tokio::test]
async fn a_file_cut_or_scribbled_on_anywhere_is_read_as_far_as_it_goes() {
    let (_folder, path) = place();
    let store = open(&path);
    begin(&store, "s", 150).await;
    let whole = journal::load(&store, "s").await.unwrap();
    drop(store);
    let bytes = fs::read(&path).unwrap();
    let mut number = numbers(5);
    let mut read_some = 0;
    for round in 0..120 {
        let mut torn = bytes.clone();
        let at = number(bytes.len() as u64) as usize;
        match round % 3 {
            0 => torn.truncate(at),
            1 => {
                let end = torn.len().min(at + 512);
                torn[at..end].fill(0xa5);
            }
            _ => {
                let page = at / 4096 * 4096;
                torn[page..page + 4096].fill(0);
            }
        }
        let (_copy, copy) = place();
        fs::write(&copy, torn).unwrap();
        let read = read(&copy, &whole).await;
        read_some += usize::from(read.is_some_and(|count| count > 0 && count < whole.len()));
    }
    assert!(read_some > 20, "{read_some} of 120 were read in part");
}

#[tokio::test]
async fn what_stands_before_a_lost_page_is_read() {
    let (_folder, path) = place();
    let store = open(&path);
    begin(&store, "s", 200).await;
    begin(&store, "other", 5).await;
    let whole = journal::load(&store, "s").await.unwrap();
    drop(store);
    // The page that holds event 151.
    let mut bytes = fs::read(&path).unwrap();
    let needle = format!("\"150 {}", "x".repeat(150));
    let at = bytes
        .windows(needle.len())
        .position(|bytes| bytes == needle.as_bytes())
        .unwrap();
    let page = at / 4096 * 4096;
    bytes[page..page + 4096].fill(0);
    fs::write(&path, bytes).unwrap();

    let store = open(&path);
    let journal = journal::read(&store, "s").await.unwrap();
    let count = journal.events.len();
    assert!((100..=150).contains(&count), "{count}");
    assert_eq!(journal.events, whole[..count]);
    let lost = Unreadable::Lost {
        seq: count as u64 + 1,
    };
    assert_eq!(journal.fault, Some(lost.clone()));
    let damaged = StoreError::Damaged {
        session: "s".to_owned(),
        fault: lost,
    };
    assert_eq!(journal::load(&store, "s").await, Err(damaged));
    assert_eq!(journal::load(&store, "other").await.unwrap().len(), 5);
    let found = store.check().await.unwrap();
    assert!(
        found.iter().any(|one| one.session.as_deref() == Some("s")),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .all(|one| one.session.as_deref() != Some("other")),
        "{found:?}"
    );
    // What still reads can be taken elsewhere.
    let records = store.records("s", 0).await.unwrap();
    let elsewhere = place();
    let new = open(&elsewhere.1);
    new.restore("s", None, &records[..count]).await.unwrap();
    assert_eq!(journal::load(&new, "s").await.unwrap(), whole[..count]);
}

#[tokio::test]
async fn rows_that_were_changed_or_taken_away_are_found() {
    let changes = [
        (
            "UPDATE events SET payload = CAST('{\"event\":\"cancel_requested\"}' AS BLOB) WHERE seq = 4",
            Unreadable::Hash { seq: 4 },
        ),
        (
            "UPDATE events SET time_ms = time_ms + 1 WHERE seq = 4",
            Unreadable::Hash { seq: 4 },
        ),
        (
            "UPDATE events SET hash = zeroblob(5) WHERE seq = 4",
            Unreadable::Lost { seq: 4 },
        ),
        (
            "UPDATE events SET kind = CAST(x'ff41' AS TEXT) WHERE seq = 4",
            Unreadable::Lost { seq: 4 },
        ),
        (
            "DELETE FROM events WHERE seq = 4",
            Unreadable::Gap {
                expected: 4,
                found: 5,
            },
        ),
        (
            "DELETE FROM events WHERE seq > 3",
            Unreadable::Lost { seq: 4 },
        ),
        (
            "DELETE FROM events WHERE seq = 10",
            Unreadable::Lost { seq: 10 },
        ),
    ];
    for (change, fault) in changes {
        let (_folder, path) = place();
        let store = open(&path);
        begin(&store, "s", 10).await;
        let other = Connection::open(&path).unwrap();
        assert!(other.execute(change, []).unwrap() > 0);
        let journal = journal::read(&store, "s").await.unwrap();
        let before = if change.ends_with("10") { 9 } else { 3 };
        assert_eq!(
            (journal.events.len(), journal.fault),
            (before, Some(fault)),
            "{change}"
        );
        let found = store.check().await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].session.as_deref(), Some("s"));
    }
}

#[tokio::test]
async fn a_blob_with_other_bytes_is_found() {
    let (_folder, path) = place();
    let store = open(&path);
    let lease = begin(&store, "s", 1).await;
    let digest = store.put_blob(&lease, b"as it was").await.unwrap();
    assert_eq!(store.check().await.unwrap(), []);
    let other = Connection::open(&path).unwrap();
    other
        .execute("UPDATE blobs SET bytes = zeroblob(9)", [])
        .unwrap();
    let found = store.check().await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains(&digest), "{found:?}");
}
