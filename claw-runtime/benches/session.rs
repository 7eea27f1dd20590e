//! What a turn costs against the length of its session, and what an open session keeps in memory.
//!
//! A turn of two rounds with one `read` call and a scripted model, so that nothing but claw is measured; on a session that has
//! just begun and on one of 10,000 events, in processor time of all threads, medians of blocks measured in turn.

use std::sync::Arc;

use claw_runtime::agent::{Agent, Session};
use claw_runtime::message::{ContentBlock, Role, StopReason, ToolCall};
use claw_runtime::provider::{Capabilities, DeltaSink, Provider, ProviderError, Reply, Request};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, SessionStore, SqliteOptions, SqliteStore};
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

/// Events of a turn: what was said, two requests, two answers, decision, intent, outcome, end.
const EVENTS_A_TURN: usize = 9;
const LONG: usize = 10_000;
const OPEN: usize = 1_000;
/// Turns of a block: enough for the kernel's clock of processor time, which ticks.
const TURNS: usize = 50;

/// Calls the tool once a turn, and keeps nothing of what it was asked.
struct Quick;

impl Provider for Quick {
    fn name(&self) -> &str {
        "quick"
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::FULL
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        _: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let asked = request.messages.last().map(|message| message.role);
        let block = match asked {
            Some(Role::User) => ContentBlock::ToolCall(ToolCall {
                id: String::new(),
                name: "look".to_owned(),
                arguments: r#"{"n":1}"#.to_owned(),
            }),
            _ => ContentBlock::text("Seen."),
        };
        let reply = Reply {
            content: vec![block],
            cut_calls: Vec::new(),
            stop: StopReason::Stop,
            usage: None,
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

fn agent(store: Arc<dyn SessionStore>) -> Agent {
    let spec = Spec {
        effect: Effect::Read,
        ..Spec::new("look".into(), "Looks at a number.".into())
    };
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let look = Tool::dynamic(
        spec,
        schema,
        Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::text("seen")) })),
    );
    Agent::builder()
        .model(Arc::new(Quick), "m")
        .tools(Toolset::new([Arc::new(look)]).expect("one tool"))
        .limits(claw_runtime::limits::Limits {
            // Measured is the length of a session, not how it is made shorter.
            window: Some(u64::MAX / 4),
            ..Default::default()
        })
        .store(store)
        .build()
        .expect("an agent")
}

async fn session(agent: &Agent, id: &str, events: usize) -> Session {
    let mut session = agent.session(id).await.expect("a session");
    for _ in 0..events / EVENTS_A_TURN {
        turn(&mut session).await;
    }
    session
}

async fn turn(session: &mut Session) {
    let outcome = session.run("look").await.expect("an outcome");
    assert_eq!(outcome.text, "Seen.");
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

/// Returns the processor microseconds of all threads so far, as Linux tells it; nothing elsewhere.
fn cpu_us() -> f64 {
    // What runs is counted when it gives way.
    std::thread::sleep(std::time::Duration::from_millis(1));
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanos = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() / 1e3
}

/// Returns bytes that the process holds in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

/// Returns the median microseconds a turn of a new and of a long session take.
fn turns(store: Arc<dyn SessionStore>, long: usize, blocks: usize) -> [f64; 2] {
    let runtime = runtime();
    let agent = agent(store);
    runtime.block_on(async {
        let mut old = session(&agent, "long", long).await;
        let mut times = [Vec::new(), Vec::new()];
        for block in 0..blocks {
            let mut new = session(&agent, &format!("new-{block}"), EVENTS_A_TURN).await;
            for (at, session) in [&mut new, &mut old].into_iter().enumerate() {
                let start = cpu_us();
                for _ in 0..TURNS {
                    turn(session).await;
                }
                times[at].push((cpu_us() - start) / TURNS as f64);
            }
            new.close().await.expect("closed");
        }
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
    })
}

fn main() {
    // As a test each runs once, on a small scale.
    let test = std::env::args().any(|arg| arg == "--test");
    let (long, blocks, open) = if test { (90, 1, 10) } else { (LONG, 11, OPEN) };
    // First, while nothing was given back to the allocator that could be used again.
    memory(open);
    println!("a turn of two rounds           new session   {long} events   ratio");
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = SqliteStore::at(folder.path().join("s.db"), SqliteOptions::new("bench"));
    let stores: [(&str, Arc<dyn SessionStore>); 2] = [
        ("memory", Arc::new(MemoryStore::new())),
        ("SQLite, durable", Arc::new(sqlite.expect("a store"))),
    ];
    for (name, store) in stores {
        let [new, old] = turns(store, long, blocks);
        println!(
            "{name:28} {new:>11.1} µs {old:>11.1} µs   {:>5.2}",
            old / new
        );
    }
}

/// Prints what an open session takes.
fn memory(open: usize) {
    let runtime = runtime();
    let agent = agent(Arc::new(MemoryStore::new()));
    runtime.block_on(async {
        let before = resident();
        let mut sessions = Vec::with_capacity(open);
        for nth in 0..open {
            sessions.push(session(&agent, &nth.to_string(), EVENTS_A_TURN).await);
        }
        let each = resident().saturating_sub(before) / open;
        println!(
            "an open session of one turn, its journal in memory too: {:.1} kB",
            each as f64 / 1e3
        );
        drop(sessions);
    });
}
