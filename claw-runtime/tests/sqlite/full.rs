//! Disks that are full, and a log that must not fill them.

use std::fs;

use claw_runtime::session::{
    Barrier, SessionStore, SqliteOptions, SqliteStore, StoreError, journal,
};

use crate::child::{Running, appender};
use crate::{append, begin, beside, open, place, said};

#[tokio::test]
async fn a_file_that_may_not_grow_keeps_what_it_has() {
    let (_folder, path) = place();
    let mut options = SqliteOptions::new("p");
    options.most_bytes = Some(256 << 10);
    let store = SqliteStore::at(&path, options).unwrap();
    let spare = begin(&store, "spare", 40).await;
    let lease = store.open("s").await.unwrap();
    let text = "z".repeat(3000);
    let mut kept = 0;
    let error = loop {
        match append(&store, &lease, kept, said(&text), Barrier::Durable).await {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "it grows without end");
    };
    let StoreError::Failed { message } = &error else {
        panic!("{error:?}");
    };
    assert!(message.contains(&path.display().to_string()), "{message}");
    assert!(
        message.contains("is full") && message.contains("free some space"),
        "{message}"
    );
    assert!(kept > 20, "{kept}");
    // A blob neither, and what is small or read goes on.
    let refused = store.put_blob(&lease, &[0; 300 << 10]).await;
    assert!(
        matches!(refused, Err(StoreError::Failed { .. })),
        "{refused:?}"
    );
    assert_eq!(store.blobs("s").await, Ok(vec![]));
    let events = journal::load(&store, "s").await.unwrap();
    assert_eq!(events.len() as u64, kept);
    assert_eq!(store.check().await.unwrap(), []);
    // With room again, it goes on where it was.
    store.close(spare).await.unwrap();
    store.delete("spare").await.unwrap();
    append(&store, &lease, kept, said(&text), Barrier::Durable)
        .await
        .unwrap();
}

#[tokio::test]
async fn appends_of_one_moment_that_fit_are_kept_beside_one_that_does_not() {
    let (_folder, path) = place();
    let mut options = SqliteOptions::new("p");
    options.most_bytes = Some(1 << 20);
    let store = SqliteStore::at(&path, options).unwrap();
    let mut leases = Vec::new();
    for n in 0..8 {
        leases.push(store.open(&format!("s{n}")).await.unwrap());
    }
    let large = said(&"z".repeat(2 << 20));
    for after in 0..5 {
        let appends = leases.iter().enumerate().map(|(n, lease)| {
            let event = if n == 3 { large.clone() } else { said("small") };
            let after = if n == 3 { 0 } else { after };
            append(&store, lease, after, event, Barrier::Durable)
        });
        for (n, result) in futures_util::future::join_all(appends)
            .await
            .into_iter()
            .enumerate()
        {
            assert_eq!(result.is_err(), n == 3, "{n}: {result:?}");
        }
    }
    assert_eq!(store.check().await.unwrap(), []);
}

#[cfg(unix)]
#[tokio::test]
async fn a_limit_of_the_system_loses_nothing_acknowledged() {
    let (_folder, path) = place();
    // In blocks of 512 bytes or a kilobyte, as the shell counts; without the signal, as on a full disk.
    let mut child = Running::start(appender(&path, "s", "trap '' XFSZ; ulimit -f 400;"));
    let mut kept = 0;
    let error = loop {
        let line = child.says("").expect("it says why it ends");
        if let Some(count) = line.strip_prefix("kept ") {
            kept = count.parse().unwrap();
        } else if let Some(error) = line.strip_prefix("failed ") {
            break error.to_owned();
        }
    };
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert!(error.contains("nothing of this write was kept"), "{error}");
    assert!(kept > 5, "{kept}");
    drop(child);
    let store = open(&path);
    let events = journal::load(&store, "s").await.unwrap();
    assert_eq!(events.len(), kept);
    assert_eq!(store.check().await.unwrap(), []);
    let lease = store.open("s").await.unwrap();
    append(&store, &lease, kept as u64, said("on"), Barrier::Durable)
        .await
        .unwrap();
}

#[tokio::test]
async fn the_log_stays_short() {
    let (_folder, path) = place();
    let store = open(&path);
    let lease = store.open("s").await.unwrap();
    let event = said(&"w".repeat(40_000));
    let mut longest = 0;
    for n in 0..800 {
        append(&store, &lease, n, event.clone(), Barrier::Buffered)
            .await
            .unwrap();
        longest = longest.max(fs::metadata(beside(&path, "-wal")).unwrap().len());
    }
    // 32 MB went through it.
    assert!(longest < 8 << 20, "{longest}");
    assert!(fs::metadata(&path).unwrap().len() > 16 << 20);
}
