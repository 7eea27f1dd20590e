//! What comes in from outside while a turn runs, before it and after it.

use std::sync::Arc;

use claw_runtime::event::{Answer, EndReason, Event};
use claw_runtime::message::ContentBlock;
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::session::{MemoryStore, Posted, SessionStore};
use claw_runtime::tool::{Effect, Tool, ToolOutput};
use serde_json::json;
use tokio::sync::Notify;

use crate::tapped::{Stop, Tapped};
use crate::{builder, events, model, tool, transcript};

fn message(text: &str) -> Posted {
    Posted::Message {
        content: vec![ContentBlock::text(text)],
    }
}

/// Returns a tool that waits until it is let go, and tells when it runs.
fn gate(runs: &Arc<Notify>, go: &Arc<Notify>) -> Arc<Tool> {
    let (runs, go) = (runs.clone(), go.clone());
    tool("wait", Effect::Read, move |_, _| {
        let (runs, go) = (runs.clone(), go.clone());
        Box::pin(async move {
            runs.notify_one();
            go.notified().await;
            Ok(ToolOutput::text("waited"))
        })
    })
}

/// hermes#60543 and others: a message while tools run comes after all results, never between a call and its result.
#[tokio::test]
async fn a_message_while_tools_run_joins_at_the_next_safe_point_and_once_a_key() {
    let (runs, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let store = Arc::new(MemoryStore::new());
    let script = [
        calls("wait", json!({"n": 1})).and_calls("wait", json!({"n": 2})),
        says("Shorter, then."),
    ];
    let agent = builder(store.clone(), [gate(&runs, &go)], model(script))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let talk = async {
        runs.notified().await;
        for _ in 0..2 {
            store
                .post("s", "web-7", &message("Keep it short."))
                .await
                .unwrap();
        }
        // Taken in while the tools still run.
        while !store.inbox_is_empty("s").await {
            tokio::task::yield_now().await;
        }
        go.notify_one();
        go.notify_one();
        go.notify_waiters();
    };
    let (outcome, ()) = tokio::join!(session.run("go"), talk);
    assert_eq!(outcome.unwrap().text, "Shorter, then.");
    assert_eq!(
        transcript(session.messages()),
        [
            "user: go",
            "assistant: wait({\"n\":1}) | wait({\"n\":2})",
            "tool: waited | waited",
            "user: keep it short.",
            "assistant: shorter, then.",
        ]
    );
    let again = store.post("s", "web-7", &message("Keep it short.")).await;
    assert!(!again.unwrap(), "the key holds after it was taken");
}

#[tokio::test]
async fn what_waits_when_no_turn_runs_begins_the_next_in_order_with_one_request() {
    let store = Arc::new(MemoryStore::new());
    let agent = builder(store.clone(), [], model([says("Both."), says("And you.")]))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    assert!(session.run_posted(&mut ()).await.unwrap().is_none());
    store.post("s", "a", &message("First.")).await.unwrap();
    store.post("s", "b", &Posted::Cancel).await.unwrap();
    store.post("s", "c", &message("Second.")).await.unwrap();
    let outcome = session.run_posted(&mut ()).await.unwrap().unwrap();
    assert_eq!(outcome.text, "Both.");
    store.post("s", "d", &message("Third.")).await.unwrap();
    session.run("Fourth.").await.unwrap();
    assert_eq!(
        transcript(session.messages()),
        [
            "user: first. | second.",
            "assistant: both.",
            "user: third. | fourth.",
            "assistant: and you."
        ]
    );
    assert!(store.inbox_is_empty("s").await);
    let asked = events(&*store, "s").await;
    let requests = |event: &&Event| matches!(event, Event::ModelRequest { .. });
    assert_eq!(asked.iter().filter(requests).count(), 2);
    assert!(session.run_posted(&mut ()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_posted_cancel_stops_the_turn_and_leaves_a_usable_session() {
    let (runs, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let store = Arc::new(MemoryStore::new());
    let script = [calls("wait", json!({"n": 1})), says("-"), says("Here.")];
    let agent = builder(store.clone(), [gate(&runs, &go)], model(script))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let stop = async {
        runs.notified().await;
        store.post("s", "stop", &Posted::Cancel).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(session.run("go"), stop);
    assert_eq!(outcome.unwrap().reason, EndReason::Cancelled);
    assert_eq!(session.run("there?").await.unwrap().text, "Here.");
}

/// A message leaves the inbox in the very append that journals it: cut off before, it waits; after, it is said.
#[tokio::test]
async fn a_message_is_in_the_inbox_or_in_the_journal_never_in_neither_or_both() {
    for (stop, waits) in [(Stop::Before(1), true), (Stop::After(1), false)] {
        let store = Arc::new(MemoryStore::new());
        let tapped = Arc::new(Tapped::new(store.clone(), Some(stop)));
        let (runs, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let script = || model([says("One."), says("Two.")]);
        let agent = builder(tapped.clone(), [gate(&runs, &go)], script())
            .build()
            .unwrap();
        let mut session = agent.session("s").await.unwrap();
        store.post("s", "a", &message("First.")).await.unwrap();
        store.post("s", "b", &message("Second.")).await.unwrap();
        let mut nobody = ();
        tokio::select! {
            biased;
            () = tapped.stopped.notified() => {}
            _ = session.run_posted(&mut nobody) => panic!("it was cut off"),
        }
        drop(session);
        let agent = builder(store.clone(), [gate(&runs, &go)], script())
            .build()
            .unwrap();
        let mut session = agent.session("s").await.unwrap();
        assert_eq!(store.inbox_is_empty("s").await, !waits, "{stop:?}");
        session.resume(&mut ()).await.unwrap();
        let said = transcript(session.messages()).join("\n");
        for text in ["first.", "second."] {
            assert_eq!(said.matches(text).count(), 1, "{said}");
        }
        assert!(store.inbox_is_empty("s").await);
    }
}

#[tokio::test]
async fn an_answer_to_no_question_is_dropped() {
    let store = Arc::new(MemoryStore::new());
    let agent = builder(store.clone(), [], model([says("Fine.")]))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let stray = Posted::Approval {
        call: "c".to_owned(),
        digest: "d".to_owned(),
        answer: Answer::Always,
    };
    store.post("s", "x", &stray).await.unwrap();
    assert_eq!(session.run("hi").await.unwrap().text, "Fine.");
    assert!(store.inbox_is_empty("s").await);
    let kinds = crate::kinds(&events(&*store, "s").await);
    assert!(!kinds.contains(&"approval"), "{kinds:?}");
}

trait Inbox {
    async fn inbox_is_empty(&self, session: &str) -> bool;
}

impl Inbox for MemoryStore {
    async fn inbox_is_empty(&self, session: &str) -> bool {
        // Its owner alone may read an inbox, and every owner here has the newest lease.
        let info = self.sessions(&Default::default()).await.unwrap();
        assert!(info.iter().any(|info| info.id == session));
        for fence in (1..5).rev() {
            let lease = claw_runtime::session::Lease {
                session: session.to_owned(),
                fence,
            };
            if let Ok(waiting) = self.inbox(&lease).await {
                return waiting.is_empty();
            }
        }
        panic!("nobody owns `{session}`");
    }
}
