//! Hosts that lose their session, and hosts that pick up what others left.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use claw_runtime::agent::Observer;
use claw_runtime::event::{EndReason, Status};
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::session::{MemoryStore, SessionStore};
use claw_runtime::tool::{Effect, ToolError};
use serde_json::json;
use tokio::sync::Notify;

use crate::tapped::{Stop, Tapped};
use crate::{Ledger, allow_all, builder, events, model, noted, statuses, tool};

#[tokio::test]
async fn a_host_that_may_not_act_starts_nothing_and_says_so() {
    let store = Arc::new(Tapped::new(Arc::new(MemoryStore::new()), None));
    store.may_not_act.store(true, Ordering::SeqCst);
    let ledger = Ledger::default();
    let agent = builder(
        store.clone(),
        [noted("send", Effect::Once, &ledger)],
        model([calls("send", json!({"n": 1})), says("It did not go out.")]),
    )
    .policy(allow_all())
    .build()
    .unwrap();
    let outcome = agent.session("s").await.unwrap().run("go").await.unwrap();
    assert_eq!(outcome.text, "It did not go out.");
    assert!(ledger.lock().unwrap().is_empty());
    let events = events(&*store, "s").await;
    assert_eq!(statuses(&events), [Status::NotStarted]);
}

#[tokio::test]
async fn a_host_that_loses_its_lease_stops_what_runs() {
    let store = Arc::new(Tapped::new(Arc::new(MemoryStore::new()), None));
    let (runs, stopped) = (Arc::new(Notify::new()), Ledger::default());
    let wait = {
        let (runs, stopped) = (runs.clone(), stopped.clone());
        tool("wait", Effect::Read, move |ctx, _| {
            let (runs, stopped) = (runs.clone(), stopped.clone());
            Box::pin(async move {
                runs.notify_one();
                ctx.cancellation().cancelled().await;
                stopped.lock().unwrap().push("stopped".to_owned());
                Err(ToolError::new("stopped"))
            })
        })
    };
    let agent = builder(
        store.clone(),
        [wait],
        model([calls("wait", json!({"n": 1}))]),
    )
    .build()
    .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let lose = async {
        runs.notified().await;
        store.lost.notify_one();
    };
    let (outcome, ()) = tokio::join!(session.run("go"), lose);
    let reason = outcome.unwrap().reason;
    assert!(
        matches!(&reason, EndReason::StoreFailed { message } if message.contains("losing the session")),
        "{reason:?}"
    );
    assert_eq!(*stopped.lock().unwrap(), ["stopped"]);
}

#[tokio::test]
async fn a_host_picks_up_every_unfinished_session_that_nobody_owns() {
    let store = Arc::new(MemoryStore::new());
    let ledger = Ledger::default();
    let script = || model([calls("calc", json!({"n": 1})), says("Done.")]);
    let calc = || [noted("calc", Effect::Pure, &ledger)];
    for id in ["a", "b", "c", "owned", "other"] {
        let tapped = Arc::new(Tapped::new(store.clone(), Some(Stop::After(1))));
        let agent = builder(tapped.clone(), calc(), script()).build().unwrap();
        let mut session = agent.session(id).await.unwrap();
        tokio::select! {
            biased;
            () = tapped.stopped.notified() => {}
            _ = session.run("go") => panic!("it was cut off"),
        }
        if id != "owned" {
            session.close().await.unwrap();
        }
    }
    let agent = builder(store.clone(), calc(), script()).build().unwrap();
    agent
        .session("whole")
        .await
        .unwrap()
        .run("hi")
        .await
        .unwrap();
    ledger.lock().unwrap().clear();
    let watch = |info: &claw_runtime::session::SessionInfo| {
        let watched: Option<Box<dyn Observer>> = (info.id != "other").then(|| Box::new(()) as _);
        watched
    };
    let mut resumed: Vec<_> = agent
        .resume_all(2, watch)
        .await
        .unwrap()
        .into_iter()
        .map(|recovered| (recovered.session, recovered.outcome.unwrap().text))
        .collect();
    resumed.sort();
    let done = |id: &str| (id.to_owned(), "Done.".to_owned());
    assert_eq!(resumed, [done("a"), done("b"), done("c")]);
    assert_eq!(ledger.lock().unwrap().len(), 3);
    assert!(agent.resume_all(0, watch).await.unwrap().is_empty());
    let lease = store.open("a").await.unwrap();
    store.close(lease).await.unwrap();
}
