//! Stores that fail or change hands: no effect without its event, no event twice, and the session goes on.
#![allow(clippy::unwrap_used)]

#[macro_use]
#[path = "support/pass_on.rs"]
mod pass_on;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use claw_runtime::agent::Agent;
use claw_runtime::event::{EndReason, Event};
use claw_runtime::policy::Policy;
use claw_runtime::provider::Scripted;
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{
    Append, Lease, MemoryStore, SessionStore, StoreError, StoreFuture, View, journal,
};
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::json;

/// How a store fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It does nothing.
    Lost,
    /// It keeps what it was given, and says that it did not.
    Kept,
}

/// A store whose `nth` write fails.
struct Failing {
    inner: MemoryStore,
    fault: Fault,
    writes: AtomicUsize,
    nth: usize,
}

impl Failing {
    fn new(fault: Fault, nth: usize) -> Self {
        Self {
            inner: MemoryStore::new(),
            fault,
            writes: AtomicUsize::new(0),
            nth,
        }
    }

    async fn write<T>(&self, write: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        if self.writes.fetch_add(1, Ordering::SeqCst) + 1 != self.nth {
            return write.await;
        }
        if self.fault == Fault::Kept {
            write.await?;
        }
        Err(StoreError::Failed {
            message: "disk full".to_owned(),
        })
    }
}

impl SessionStore for Failing {
    pass_on!(open close records restore sessions delete blob blobs post inbox posted count may_act lost);

    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        Box::pin(self.write(self.inner.append(lease, append)))
    }
    fn put_blob<'a>(&'a self, lease: &'a Lease, bytes: &'a [u8]) -> StoreFuture<'a, String> {
        Box::pin(self.write(self.inner.put_blob(lease, bytes)))
    }
}

/// Returns an agent that calls a tool twice in its first turn, and how often the tool ran.
fn agent(store: Arc<dyn SessionStore>) -> (Agent, Arc<AtomicUsize>) {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let tool = Tool::dynamic(
        Spec {
            effect: Effect::Once,
            ..Spec::new("act".into(), "A tool of the test.".into())
        },
        json!({"type": "object", "properties": {"nth": {"type": "integer"}}}),
        Arc::new(move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            // Long, so that it is kept as a blob too.
            Box::pin(std::future::ready(Ok(ToolOutput::text("y".repeat(20_000)))))
        }),
    );
    let model = Scripted::from_fn(|request| match request.messages {
        [_] => calls("act", json!({"nth": 1})).and_calls("act", json!({"nth": 2})),
        _ => says("Done."),
    });
    let agent = Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new([Arc::new(tool)]).unwrap())
        .policy(Policy {
            allow: vec!["*".to_owned()],
            ..Policy::default()
        })
        .store(store)
        .build()
        .unwrap();
    (agent, ran)
}

async fn events_of(store: &dyn SessionStore) -> Vec<Event> {
    let stored = journal::load(store, "s").await.unwrap();
    assert!(stored.iter().zip(1..).all(|(event, seq)| event.seq == seq));
    stored.into_iter().map(|stored| stored.event).collect()
}

#[tokio::test]
async fn whichever_write_fails_nothing_runs_unnoted_and_the_session_goes_on() {
    let mut failed = 0;
    for (fault, nth) in (1..=10).flat_map(|nth| [(Fault::Lost, nth), (Fault::Kept, nth)]) {
        let store = Arc::new(Failing::new(fault, nth));
        let (agent, ran) = agent(store.clone());
        let mut session = agent.session("s").await.unwrap();
        match session.run("go").await {
            // The prompt's blobs, before anything was posted.
            Err(error) => assert!(nth <= 2, "{fault:?} {nth}: {error}"),
            Ok(outcome) => {
                failed += usize::from(matches!(outcome.reason, EndReason::StoreFailed { .. }));
                assert!(!outcome.text.is_empty(), "{fault:?} {nth}");
            }
        }
        let events = events_of(&*store).await;
        let intents = events
            .iter()
            .filter(|event| matches!(event, Event::Intent { .. }));
        assert!(
            ran.load(Ordering::SeqCst) <= intents.count(),
            "{fault:?} {nth}: ran without an intent"
        );

        let outcome = session.run("and now?").await.unwrap();
        if outcome.reason == EndReason::Answered {
            assert!(
                outcome.text.ends_with("Done."),
                "{fault:?} {nth}: {outcome:?}"
            );
            let folded: View = events_of(&*store).await.iter().collect();
            // Whole views are too long to print.
            assert!(
                session.view() == Some(&folded),
                "{fault:?} {nth}: the view is not the journal's"
            );
        }
        let outcome = session.run("still there?").await.unwrap();
        assert_eq!(outcome.text, "Done.", "{fault:?} {nth}");
        assert!(
            ran.load(Ordering::SeqCst) <= 2,
            "{fault:?} {nth}: ran twice"
        );
    }
    assert!(failed > 8, "{failed} writes failed in a turn");
}

#[tokio::test]
async fn an_owner_that_lost_its_session_starts_nothing_more() {
    let store = Arc::new(MemoryStore::new());
    let (agent, ran) = agent(store.clone());
    let mut first = agent.session("s").await.unwrap();
    let mut second = agent.session("s").await.unwrap();
    assert_eq!(second.run("go").await.unwrap().text, "Done.");
    let before = events_of(&*store).await;

    // It knows the context from its own fold only, so the first write is a blob or an event.
    match first.run("go").await {
        Err(error) => assert_eq!(error.to_string(), "session `s` is owned elsewhere now"),
        Ok(outcome) => assert!(matches!(outcome.reason, EndReason::StoreFailed { .. })),
    }
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    assert_eq!(events_of(&*store).await, before);
    assert_eq!(second.run("still yours?").await.unwrap().text, "Done.");
}
