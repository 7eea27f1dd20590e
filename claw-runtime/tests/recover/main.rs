//! Sessions whose process ends in the middle of a turn, with the real driver over a real store.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

extern crate claw_runtime as claw;

#[macro_use]
#[path = "../support/pass_on.rs"]
mod pass_on;

mod approvals;
mod cut;
mod hosts;
mod inbox;
mod reconcile;
mod tapped;

use std::sync::{Arc, Mutex};

use claw_runtime::agent::{Agent, AgentBuilder, Observer};
use claw_runtime::event::{Event, Status};
use claw_runtime::message::{ContentBlock, Message, text_of};
use claw_runtime::policy::Policy;
use claw_runtime::provider::Scripted;
use claw_runtime::provider::scripted::{Answer, fails};
use claw_runtime::provider::{FailureClass, Request};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{SessionStore, journal};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolContext, ToolError, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// What the world saw of each call that started.
pub(crate) type Ledger = Arc<Mutex<Vec<String>>>;

pub(crate) fn tool<F>(name: &'static str, effect: Effect, run: F) -> Arc<Tool>
where
    F: for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
{
    let mut spec = Spec::new(name.into(), "A tool of the test.".into());
    spec.effect = effect;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let handler: Handler = Arc::new(run);
    Arc::new(Tool::dynamic(spec, schema, handler))
}

/// Returns a tool that is in the ledger from when it starts.
pub(crate) fn noted(name: &'static str, effect: Effect, ledger: &Ledger) -> Arc<Tool> {
    let ledger = ledger.clone();
    tool(name, effect, move |_, arguments| {
        let line = format!("{name} {}", arguments["n"]);
        ledger.lock().unwrap().push(line.clone());
        Box::pin(std::future::ready(Ok(ToolOutput::text(format!(
            "did {line}"
        )))))
    })
}

/// Returns a model that answers the same conversation in the same way, whichever process asks: with the nth answer after n
/// messages of its own.
pub(crate) fn model(answers: impl IntoIterator<Item = Answer>) -> Scripted {
    let answers: Vec<_> = answers.into_iter().collect();
    Scripted::from_fn(move |request: &Request<'_>| {
        let assistant = |message: &&Message| message.role == claw_runtime::message::Role::Assistant;
        let said = request.messages.iter().filter(assistant).count();
        let past = || fails(FailureClass::BadRequest);
        answers.get(said).cloned().unwrap_or_else(past)
    })
}

pub(crate) fn builder(
    store: Arc<dyn SessionStore>,
    tools: impl IntoIterator<Item = Arc<Tool>>,
    model: Scripted,
) -> AgentBuilder {
    Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new(tools).unwrap())
        .store(store)
}

pub(crate) fn allow_all() -> Policy {
    Policy {
        allow: vec!["*".to_owned()],
        ..Policy::default()
    }
}

pub(crate) async fn events(store: &dyn SessionStore, session: &str) -> Vec<Event> {
    let journal = journal::load(store, session).await.unwrap();
    journal.into_iter().map(|stored| stored.event).collect()
}

pub(crate) fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::kind).collect()
}

pub(crate) fn statuses(events: &[Event]) -> Vec<Status> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Outcome { status, .. } => Some(*status),
            _ => None,
        })
        .collect()
}

/// Returns one line a message.
pub(crate) fn transcript(messages: &[Message]) -> Vec<String> {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolCall(call) => format!("{}({})", call.name, call.arguments),
        ContentBlock::ToolResult(result) => text_of(&result.content),
        other => format!("{other:?}"),
    };
    messages
        .iter()
        .map(|message| {
            let blocks: Vec<_> = message.content.iter().map(block).collect();
            format!("{:?}: {}", message.role, blocks.join(" | ")).to_lowercase()
        })
        .collect()
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Event>,
    pub(crate) restarted: Vec<u32>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
    fn round_restarted(&mut self, round: u32) {
        self.restarted.push(round);
    }
}
