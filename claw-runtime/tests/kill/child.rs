//! The process that is killed: one turn of a scripted agent over SQLite.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use claw_runtime::agent::Agent;
use claw_runtime::message::{ContentBlock, Role, StopReason, ToolCall};
use claw_runtime::policy::Policy;
use claw_runtime::provider::scripted::{Answer, says};
use claw_runtime::provider::{Reply, Request, Scripted};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{Append, Lease, SessionStore, SqliteOptions, SqliteStore, StoreFuture};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolOutput};
use serde_json::json;

/// Where the child stops and waits for its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Halt {
    Nowhere,
    /// Before the nth append.
    Before(usize),
    /// After it, before the turn hears of it.
    After(usize),
}

impl Halt {
    pub(crate) fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("before", nth)) => Self::Before(nth.parse().unwrap()),
            Some(("after", nth)) => Self::After(nth.parse().unwrap()),
            _ => Self::Nowhere,
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Self::Nowhere => "nowhere".to_owned(),
            Self::Before(nth) => format!("before:{nth}"),
            Self::After(nth) => format!("after:{nth}"),
        }
    }
}

/// Returns the calls of each answer of a script: tool, id and number.
fn script(name: &str) -> &'static [&'static [(&'static str, &'static str, u32)]] {
    match name {
        "pure" => &[
            &[("calc", "a", 1), ("calc", "b", 2)],
            &[("calc", "c", 1)],
            &[("calc", "d", 3)],
        ],
        _ => &[
            &[("send", "a", 1), ("calc", "b", 2), ("send", "c", 3)],
            &[("put", "d", 4)],
            &[("send", "e", 5), ("put", "f", 6)],
        ],
    }
}

pub(crate) fn agent(store: Arc<dyn SessionStore>, folder: &Path, name: &str) -> Agent {
    let answers = script(name);
    let model = Scripted::from_fn(move |request: &Request<'_>| -> Answer {
        let said = request
            .messages
            .iter()
            .filter(|message| message.role == Role::Assistant);
        let Some(calls) = answers.get(said.count()) else {
            return says("Done.");
        };
        let call = |(tool, id, n): &(&str, &str, u32)| {
            ContentBlock::ToolCall(ToolCall {
                id: (*id).to_owned(),
                name: (*tool).to_owned(),
                arguments: format!("{{\"n\":{n}}}"),
            })
        };
        Reply {
            content: calls.iter().map(call).collect(),
            cut_calls: Vec::new(),
            stop: StopReason::ToolCalls,
            usage: None,
        }
        .into()
    });
    let tools = [
        ("calc", Effect::Pure),
        ("put", Effect::Idempotent),
        ("send", Effect::Once),
    ];
    let tools = tools.map(|(name, effect)| tool(name, effect, folder.join("ledger")));
    Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new(tools).unwrap())
        .policy(Policy {
            allow: vec!["*".to_owned()],
            ..Policy::default()
        })
        .store(store)
        .build()
        .unwrap()
}

fn tool(name: &'static str, effect: Effect, ledger: PathBuf) -> Arc<Tool> {
    let mut spec = Spec::new(name.into(), "A tool of the test.".into());
    spec.effect = effect;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let handler: Handler = Arc::new(move |ctx, arguments| {
        let line = format!("{name} {} {}\n", ctx.call_id(), arguments["n"]);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&ledger)
            .unwrap();
        file.write_all(line.as_bytes()).unwrap();
        file.sync_all().unwrap();
        Box::pin(std::future::ready(Ok(ToolOutput::text("did it"))))
    });
    Arc::new(Tool::dynamic(spec, schema, handler))
}

pub(crate) fn store(folder: &Path) -> SqliteStore {
    SqliteStore::at(folder.join("sessions.db"), SqliteOptions::new("kill")).unwrap()
}

/// Goes on with the turn, or begins it.
pub(crate) fn live(folder: PathBuf, script: &str, halt: Halt) {
    let store = Arc::new(Halting {
        inner: store(&folder),
        halt,
        appends: AtomicUsize::new(0),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut session = agent(store, &folder, script).session("s").await.unwrap();
        if session.resume(&mut ()).await.unwrap().is_none() && session.messages().is_empty() {
            session.run("Go.").await.unwrap();
        }
        tell("done");
    });
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// A store that tells what it has kept, and stops where it is told.
struct Halting {
    inner: SqliteStore,
    halt: Halt,
    appends: AtomicUsize,
}

fn stop() -> ! {
    tell("halt");
    loop {
        std::thread::park();
    }
}

impl SessionStore for Halting {
    fn append<'a>(&'a self, lease: &'a Lease, append: Append<'a>) -> StoreFuture<'a, ()> {
        let nth = self.appends.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if self.halt == Halt::Before(nth) {
                stop();
            }
            let kept = append.after + append.events.len() as u64;
            self.inner.append(lease, append).await?;
            tell(&format!("kept {kept}"));
            if self.halt == Halt::After(nth) {
                stop();
            }
            Ok(())
        })
    }

    pass_on!(open close records restore sessions delete put_blob blob blobs post inbox posted count may_act lost);
}
