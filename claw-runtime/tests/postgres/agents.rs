//! Agents on several hosts: a session goes on wherever it is opened.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use claw_runtime::agent::{Agent, AgentError};
use claw_runtime::event::{EndReason, Event, Status};
use claw_runtime::policy::Policy;
use claw_runtime::provider::Scripted;
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{PostgresStore, StoreError, View, journal};
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use serde_json::json;
use tokio::sync::Notify;

use crate::server::server;
use crate::{end_time, host, options};

/// What the test sees of the tool, and how it lets it end.
#[derive(Default)]
struct Hand {
    begun: AtomicUsize,
    started: Notify,
    end: Notify,
}

/// Returns an agent that calls its tool in the first round of each turn.
fn agent(store: Arc<PostgresStore>, hand: Arc<Hand>) -> Agent {
    let tool = Tool::dynamic(
        Spec {
            effect: Effect::Once,
            ..Spec::new("act".into(), "A tool of the test.".into())
        },
        json!({"type": "object", "properties": {}}),
        Arc::new(move |_, _| {
            let hand = hand.clone();
            Box::pin(async move {
                hand.begun.fetch_add(1, Ordering::SeqCst);
                hand.started.notify_one();
                hand.end.notified().await;
                Ok(ToolOutput::text("Did it."))
            })
        }),
    );
    let model = Scripted::from_fn(|request| match request.messages.len() % 4 {
        1 => calls("act", json!({})),
        _ => says("Done."),
    });
    Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new([Arc::new(tool)]).unwrap())
        .policy(Policy {
            allow: vec!["*".to_owned()],
            ..Policy::default()
        })
        .store(store)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_session_goes_on_at_another_host() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let hand = Arc::new(Hand::default());
    let mut views = Vec::new();
    for turn in 1..=3 {
        let store = host(&database.url()).await;
        let agent = agent(store.clone(), hand.clone());
        // Until the host before has left.
        let mut session = loop {
            match agent.session("s").await {
                Ok(session) => break session,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        hand.end.notify_one();
        assert_eq!(session.run("go").await.unwrap().text, "Done.");
        assert_eq!(session.messages().len(), 4 * turn);
        let journal = journal::load(&*store, "s").await.unwrap();
        let folded: View = journal.iter().map(|stored| &stored.event).collect();
        assert!(
            session.view() == Some(&folded),
            "the view is not the journal's"
        );
        views.push(session.messages().to_vec());
    }
    assert_eq!(views[1], views[2][..8]);
    assert_eq!(hand.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_turn_whose_session_was_taken_ends_and_starts_nothing_more() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let hand = Arc::new(Hand::default());
    let a = host(&database.url()).await;
    let b = host(&database.url()).await;
    let mut session = agent(a, hand.clone()).session("s").await.unwrap();

    let (outcome, ()) = tokio::join!(session.run("go"), async {
        hand.started.notified().await;
        // While the call runs, its host's time ends and another takes the session.
        end_time(&database.client().await).await;
        claw_runtime::session::SessionStore::open(&*b, "s")
            .await
            .unwrap();
        hand.end.notify_one();
    });
    let outcome = outcome.unwrap();
    assert!(
        matches!(outcome.reason, EndReason::StoreFailed { .. }),
        "{outcome:?}"
    );
    assert_eq!(hand.begun.load(Ordering::SeqCst), 1);

    // What the new owner finds is a call that was started and has no outcome: whether it was done, nobody knows.
    let journal = journal::load(&*b, "s").await.unwrap();
    let last = journal.last().map(|stored| &stored.event);
    assert!(matches!(last, Some(Event::Intent { .. })), "{last:?}");
    finishes(&b, &hand).await;
}

/// Has a turn finished that another host began, whose call is not made again.
async fn finishes(store: &Arc<PostgresStore>, hand: &Arc<Hand>) {
    let begun = hand.begun.load(Ordering::SeqCst);
    let mut session = loop {
        match agent(store.clone(), hand.clone()).session("s").await {
            Ok(session) => break session,
            // Its dead owner's time is not over yet.
            Err(AgentError::Store(StoreError::Live { .. })) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert!(session.unfinished().await.unwrap());
    let outcome = session.resume(&mut ()).await.unwrap().unwrap();
    assert_eq!(
        (outcome.text.as_str(), outcome.reason),
        ("Done.", EndReason::Answered)
    );
    assert_eq!(hand.begun.load(Ordering::SeqCst), begun);

    let journal = journal::load(&**store, "s").await.unwrap();
    let outcomes = journal.iter().filter_map(|stored| match &stored.event {
        Event::Outcome { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [Status::Unknown]);
}

const URL: &str = "CLAW_TEST_AGENT_URL";

/// A process that is killed while its tool runs.
#[test]
fn child() {
    let Ok(url) = std::env::var(URL) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut options = options(&url);
        options.lease = Duration::from_secs(1);
        options.grace = Duration::from_millis(300);
        let store = PostgresStore::connect(options).await.unwrap();
        let hand = Arc::new(Hand::default());
        let mut session = agent(Arc::new(store), hand.clone())
            .session("s")
            .await
            .unwrap();
        let _ = tokio::join!(session.run("go"), async {
            hand.started.notified().await;
            eprintln!("started");
        });
    });
}

#[tokio::test]
async fn the_turn_of_a_killed_host_is_finished_elsewhere() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let b = host(&database.url()).await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "agents::child", "--nocapture"])
        .env(URL, database.url())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let started = lines.map_while(Result::ok).any(|line| line == "started");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(started);
    finishes(&b, &Arc::default()).await;
}
