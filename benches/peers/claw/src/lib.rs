//! The same agent in claw: three tools, one provider, sessions in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bench_common::{PROMPT, SYSTEM, figures, modes};
use claw::agent::Observer;
use claw::event::{Event, Status};
use claw::limits::Limits;
use claw::message::{ContentBlock, Message, StopReason, ToolCall};
use claw::prelude::*;
use claw::provider::{Capabilities, Delta, OpenAiChat, Provider};
use claw::session::{Append, Barrier, MemoryStore, SessionStore};
use claw::tool::{Prepared, ToolContext};

/// Tells the weather.
#[tool(effect = pure)]
pub fn get_weather(
    /// City.
    city: &str,
    /// Days ahead.
    days: u32,
    /// Whether in metric units.
    metric: bool,
) -> String {
    format!("{city}: {days} days, metric={metric}")
}

/// Searches documents.
#[tool(effect = pure)]
pub fn search_docs(
    /// What to look for.
    query: &str,
    /// How many.
    limit: u32,
    /// Language.
    lang: &str,
) -> String {
    format!("{limit} hits for {query} in {lang}")
}

/// Adds three numbers.
#[tool(effect = pure)]
pub fn add3(
    /// The first.
    a: f64,
    /// The second.
    b: f64,
    /// The third.
    c: f64,
) -> String {
    (a + b + c).to_string()
}

/// Returns a provider for the service at `base`, which answers in one piece unless it `streams`.
pub fn provider(base: &str, streams: bool) -> Arc<dyn Provider> {
    let key = Some("k".to_owned().into());
    let service = OpenAiChat::new("mock", base, key).expect("an address");
    Arc::new(service.declare(Capabilities {
        streaming: streams,
        ..Capabilities::FULL
    }))
}

/// Returns an agent that keeps its sessions in `store`.
pub fn agent(provider: Arc<dyn Provider>, model: &str, store: Arc<dyn SessionStore>) -> Agent {
    let tools = Toolset::of(claw::tools![get_weather, search_docs, add3]);
    Agent::builder()
        .model(provider, model)
        .system(SYSTEM)
        .tools(tools.expect("names of their own"))
        .store(store)
        // Nothing is compacted: all that was said is sent, as the floor does.
        .limits(Limits {
            window: Some(1 << 32),
            ..Limits::default()
        })
        .build()
        .expect("an agent")
}

/// What was said before, four messages at a time: question, call, result, answer.
pub fn past(messages: usize) -> Vec<Event> {
    let text = |text: &str| vec![ContentBlock::text(text)];
    let assistant = |content, stop| Event::Assistant {
        content,
        stop,
        usage: None,
        incomplete: false,
    };
    let turns = (0..messages / 4).flat_map(|turn| {
        let id = format!("past_{turn}");
        let call = ToolCall {
            id: id.clone(),
            name: "get_weather".to_owned(),
            arguments: r#"{"city":"Oslo","days":3,"metric":true}"#.to_owned(),
        };
        [
            Event::UserInput {
                key: format!("past-{turn}"),
                content: text("And what is the weather tomorrow?"),
            },
            assistant(vec![ContentBlock::ToolCall(call)], StopReason::ToolCalls),
            Event::Outcome {
                call: id,
                status: Status::Ok,
                content: text("Oslo: 3 days, metric=true"),
                blob: None,
                progress: None,
                spent: None,
            },
            assistant(text("It stays mild, with some rain."), StopReason::Stop),
        ]
    });
    turns.collect()
}

/// The agent as it is measured: each turn in a session of its own.
pub struct Measured {
    plain: Agent,
    streaming: Agent,
    tools: Toolset,
    store: Arc<dyn SessionStore>,
    sessions: AtomicU64,
    /// Whether sessions are deleted after their turn, as a floor drops what was said.
    forgets: bool,
}

/// Counts the pieces of an answer.
struct Pieces(usize);

impl Observer for Pieces {
    fn delta(&mut self, delta: &Delta) {
        self.0 += usize::from(matches!(delta, Delta::Text { .. }));
    }
}

impl Measured {
    async fn turn(&self, agent: &Agent, observer: &mut dyn Observer) -> String {
        let id = self.sessions.fetch_add(1, Ordering::Relaxed).to_string();
        let mut session = agent.session(&id).await.expect("a new session");
        let outcome = session
            .run_observed(Message::user(PROMPT), observer)
            .await
            .expect("a store that works");
        if self.forgets {
            session.close().await.expect("a store that works");
            self.store.delete(&id).await.expect("a store that works");
        }
        outcome.text
    }
}

impl modes::Agent for Measured {
    fn new(base: &str, model: &str) -> Self {
        let (store, forgets) = store();
        let plain = agent(provider(base, false), model, store.clone());
        Self {
            streaming: agent(provider(base, true), model, store.clone()),
            tools: plain.tools().clone(),
            plain,
            store,
            sessions: AtomicU64::new(0),
            forgets,
        }
    }

    async fn run(&self) -> String {
        self.turn(&self.plain, &mut ()).await
    }

    async fn stream(&self) -> usize {
        let mut pieces = Pieces(0);
        self.turn(&self.streaming, &mut pieces).await;
        pieces.0
    }

    async fn run_after(&self, messages: usize) -> Option<Duration> {
        let id = self.sessions.fetch_add(1, Ordering::Relaxed).to_string();
        let lease = self.store.open(&id).await.expect("a new session");
        let append = Append {
            after: 0,
            events: past(messages).into(),
            barrier: Barrier::Buffered,
            taken: &[],
        };
        let kept = self.store.append(&lease, append).await;
        kept.expect("a store that works");
        self.store.close(lease).await.expect("a store that works");
        let mut session = self.plain.session(&id).await.expect("it is there");
        let start = figures::cpu();
        let outcome = session.run(PROMPT).await.expect("a store that works");
        let spent = figures::cpu() - start;
        assert!(outcome.text.ends_with("0.75."), "{outcome:?}");
        if self.forgets {
            session.close().await.expect("a store that works");
            self.store.delete(&id).await.expect("a store that works");
        }
        Some(spent)
    }

    async fn call(&self, arguments: &str) -> String {
        let tool = self.tools.get("get_weather").expect("it is there");
        let arguments = tool.validate(arguments).expect("they fit");
        match tool.call(&ToolContext::detached(), &arguments) {
            Prepared::Done(outcome) => format!("{:?}", outcome.expect("it works")),
            _ => unreachable!("a sync tool"),
        }
    }
}

/// Returns a store, and whether sessions are deleted in it: one in memory, or the SQLite file that `BENCH_STORE` names,
/// with every commit synced.
fn store() -> (Arc<dyn SessionStore>, bool) {
    #[cfg(feature = "sqlite")]
    if let Some(file) = std::env::var_os("BENCH_STORE") {
        let options = claw::session::SqliteOptions::new("bench");
        let store = claw::session::SqliteStore::at(file, options);
        return (Arc::new(store.expect("the file can be written")), false);
    }
    (Arc::new(MemoryStore::new()), true)
}
