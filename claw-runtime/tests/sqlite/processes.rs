//! Several processes at one file, and some that are killed.

use std::time::Duration;

use claw_runtime::session::{Barrier, Query, SessionStore, StoreError, journal};

use crate::child::{Running, appender};
use crate::{append, begin, open, place, said};

#[tokio::test]
async fn a_killed_process_loses_nothing_and_holds_nothing() {
    let (_folder, path) = place();
    let store = open(&path);
    let mut kept = 0;
    for round in 0..6 {
        let session = format!("s{round}");
        let mut child = Running::start(appender(&path, &session, ""));
        for _ in 0..=round * 7 {
            kept = child.says("kept ").unwrap().parse().unwrap();
        }
        let pid = child.child.id();
        match store.open(&session).await {
            Err(StoreError::Live { owner, .. }) => assert_eq!(owner, format!("process {pid}")),
            other => panic!("{other:?}"),
        }
        // Writing goes on meanwhile, here and there.
        begin(&store, &format!("own {round}"), 10).await;
        child.child.kill().unwrap();
        child.child.wait().unwrap();
        while let Some(more) = child.says("kept ") {
            kept = more.parse().unwrap();
        }
        // The kernel freed it with the process: no waiting.
        let lease = store.open(&session).await.unwrap();
        let events = journal::load(&store, &session).await.unwrap();
        // The one under way may have been kept too.
        assert!(
            (kept..=kept + 1).contains(&events.len()),
            "{kept} {}",
            events.len()
        );
        append(
            &store,
            &lease,
            events.len() as u64,
            said("on"),
            Barrier::Durable,
        )
        .await
        .unwrap();
    }
    assert_eq!(store.check().await.unwrap(), []);
    let list = store.sessions(&Query::default()).await.unwrap();
    assert!(list.iter().all(|one| one.here));
}

#[tokio::test]
async fn processes_take_turns() {
    let (_folder, path) = place();
    let store = open(&path);
    let mut children: Vec<_> = (0..3)
        .map(|n| Running::start(appender(&path, &format!("s{n}"), "")))
        .collect();
    for child in &mut children {
        child.says("kept ").unwrap();
    }
    // Three that write without pause do not keep a fourth from its pace.
    let lease = store.open("paced").await.unwrap();
    for n in 0..30 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        append(&store, &lease, n, said("paced"), Barrier::Durable)
            .await
            .unwrap();
    }
    for child in &mut children {
        let kept: usize = child.says("kept ").unwrap().parse().unwrap();
        assert!(kept > 1, "starved");
    }
    drop(children);
    assert_eq!(store.check().await.unwrap(), []);
}
