//! Tools that hang, block, flood and ignore what they are told: what a turn and a session survive.
#![allow(clippy::unwrap_used)]

extern crate claw_runtime as claw;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use claw::State;
use claw::agent::Agent;
use claw::event::EndReason;
use claw::limits::Limits;
use claw::message::{ContentBlock, Message, text_of};
use claw::provider::Scripted;
use claw::provider::scripted::{calls, says};
use claw::registry::Toolset;
use claw::tool::ToolContext;
use serde_json::json;

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a second time");
    }
}

/// Panics with a payload that panics when it is dropped, on a thread of its own.
#[claw::tool(effect = read)]
fn explode() -> String {
    std::panic::panic_any(Bomb)
}

/// Panics with a payload that panics when it is dropped, on a task.
#[claw::tool(effect = read)]
async fn explode_later() -> String {
    std::panic::panic_any(Bomb)
}

/// A number that panics when it is odd.
#[derive(schemars::JsonSchema, serde::Deserialize)]
#[serde(try_from = "u32")]
#[schemars(with = "u32")]
struct Even;

impl TryFrom<u32> for Even {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        assert!(number.is_multiple_of(2), "odd");
        Ok(Self)
    }
}

/// Takes an even number.
#[claw::tool(effect = read)]
fn halve(
    /// The number.
    number: Even,
) -> String {
    let Even = number;
    "halved".to_owned()
}

/// What the tools of the test share with it.
#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    cancelled: AtomicUsize,
    release: AtomicBool,
}

/// Blocks its thread until it is cancelled or released.
#[claw::tool(effect = read)]
fn block(ctx: &ToolContext, shared: State<'_, Arc<Shared>>) {
    shared.running.fetch_add(1, Ordering::SeqCst);
    while !shared.release.load(Ordering::SeqCst) {
        if ctx.cancellation().is_cancelled() {
            shared.cancelled.fetch_add(1, Ordering::SeqCst);
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    shared.running.fetch_sub(1, Ordering::SeqCst);
}

/// Blocks its thread until it is released, whatever anybody says.
#[claw::tool(effect = read)]
fn hang(shared: State<'_, Arc<Shared>>) {
    shared.running.fetch_add(1, Ordering::SeqCst);
    while !shared.release.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    shared.running.fetch_sub(1, Ordering::SeqCst);
}

/// Cleans up slowly when it is cancelled.
#[claw::tool(effect = read)]
async fn tidy(ctx: &ToolContext, shared: State<'_, Arc<Shared>>) {
    shared.running.fetch_add(1, Ordering::SeqCst);
    ctx.cancellation().cancelled().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    shared.cancelled.fetch_add(1, Ordering::SeqCst);
}

fn agent(model: Scripted, limits: Limits) -> (Agent, Arc<Shared>) {
    let shared = Arc::new(Shared::default());
    let agent = Agent::builder()
        .model(Arc::new(model), "m")
        .tools(
            Toolset::of(claw::tools![
                block,
                hang,
                tidy,
                explode,
                explode_later,
                halve
            ])
            .unwrap(),
        )
        .state(shared.clone())
        .limits(limits)
        .build()
        .unwrap();
    (agent, shared)
}

/// Waits until `met`; a machine that is slow for ten seconds fails.
async fn until(met: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !met() {
        assert!(Instant::now() < end, "it never came to pass");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn last_result(messages: &[Message]) -> String {
    let results = messages.iter().flat_map(|message| &message.content);
    let mut text = results.filter_map(|block| match block {
        ContentBlock::ToolResult(result) => Some(text_of(&result.content)),
        _ => None,
    });
    text.next_back().unwrap_or_default()
}

#[tokio::test]
async fn dropping_a_turn_tells_a_blocking_call() {
    let (agent, shared) = agent(
        Scripted::new([calls("block", json!({}))]),
        Limits::default(),
    );
    let mut session = agent.session("s").await.unwrap();
    tokio::select! {
        outcome = session.run("go") => panic!("{outcome:?}"),
        () = until(|| shared.running.load(Ordering::SeqCst) == 1) => {}
    }
    until(|| shared.cancelled.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_cancelled_call_may_clean_up_before_the_turn_is_over() {
    let (agent, shared) = agent(Scripted::new([calls("tidy", json!({}))]), Limits::default());
    let mut session = agent.session("s").await.unwrap();
    let canceller = session.canceller();
    let (outcome, ()) = tokio::join!(session.run("go"), async {
        until(|| shared.running.load(Ordering::SeqCst) == 1).await;
        assert!(canceller.cancel());
    });
    assert_eq!(outcome.unwrap().reason, EndReason::Cancelled);
    assert_eq!(shared.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn threads_that_dropped_turns_left_hanging_are_counted() {
    let model = Scripted::from_fn(|request| match request.messages.last().unwrap().role {
        claw::message::Role::Tool => says("I see."),
        _ => calls("hang", json!({})),
    });
    let (agent, shared) = agent(model, Limits::default());
    for hanging in 1..=8 {
        let mut session = agent.session(&hanging.to_string()).await.unwrap();
        tokio::select! {
            outcome = session.run("go") => panic!("{outcome:?}"),
            () = until(|| shared.running.load(Ordering::SeqCst) == hanging) => {}
        }
    }
    let mut session = agent.session("refused").await.unwrap();
    assert_eq!(session.run("go").await.unwrap().text, "I see.");
    assert_eq!(
        last_result(session.messages()),
        "`hang` was not run: 8 earlier calls hang and still hold a thread each"
    );
    shared.release.store(true, Ordering::SeqCst);
    until(|| shared.running.load(Ordering::SeqCst) == 0).await;
    let mut session = agent.session("free again").await.unwrap();
    assert_eq!(session.run("go").await.unwrap().text, "I see.");
    assert_eq!(last_result(session.messages()), "done");
}

#[tokio::test]
async fn a_limit_may_be_as_long_as_it_likes() {
    let limits = Limits {
        active_time: Duration::MAX,
        call_timeout: Duration::MAX,
        wrap_up_time: Duration::MAX,
        retry_after: Duration::MAX,
        rounds: 1,
        ..Limits::default()
    };
    let (agent, shared) = agent(
        Scripted::new([calls("block", json!({})), says("Wrapped up.")]),
        limits,
    );
    shared.release.store(true, Ordering::SeqCst);
    let outcome = agent.session("s").await.unwrap().run("go").await.unwrap();
    assert_eq!(outcome.text, "Wrapped up.");
}

#[tokio::test]
async fn a_panic_whose_payload_panics_too_is_one_failed_call() {
    for tool in ["explode", "explode_later"] {
        let (agent, _) = agent(
            Scripted::new([calls(tool, json!({})), says("I see.")]),
            Limits::default(),
        );
        let mut session = agent.session("s").await.unwrap();
        assert_eq!(session.run("go").await.unwrap().text, "I see.");
        assert_eq!(
            last_result(session.messages()),
            format!("`{tool}` failed: it panicked\nNote: no data was obtained.")
        );
    }
}

#[tokio::test]
async fn arguments_whose_type_panics_are_refused() {
    let model = Scripted::new([
        calls("halve", json!({"number": 3})),
        calls("halve", json!({"number": 4})),
        says("I see."),
    ]);
    let (agent, _) = agent(model, Limits::default());
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("go").await.unwrap().text, "I see.");
    let results = session.messages().iter().flat_map(|it| &it.content);
    let results: Vec<_> = results
        .filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some(text_of(&result.content)),
            _ => None,
        })
        .collect();
    assert_eq!(
        results,
        [
            "Tool call to `halve` was not run: the tool failed to read its arguments at byte 0.\nSend the corrected call.",
            "halved",
        ]
    );
}
