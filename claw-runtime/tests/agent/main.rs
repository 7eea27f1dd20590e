//! A whole turn: agent, driver, dispatch, store, with a scripted model in and the transcript out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod models;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use claw_runtime::agent::{Agent, Approval, ApprovalRequest, Observer};
use claw_runtime::event::{Answer, EndReason, Event, Status};
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, Usage, text_of};
use claw_runtime::provider::scripted::{Scripted, calls, fails, says};
use claw_runtime::provider::{Capabilities, Delta, FailureClass, Protocol, Reply};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, SessionStore};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolContext, ToolError, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

fn tool<F>(name: &'static str, effect: Effect, run: F) -> Arc<Tool>
where
    F: for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
{
    let mut spec = Spec::new(name.into(), "A tool of the test.".into());
    spec.effect = effect;
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    let handler: Handler = Arc::new(run);
    Arc::new(Tool::dynamic(spec, schema, handler))
}

fn weather() -> Arc<Tool> {
    tool("weather", Effect::Read, |_, arguments| {
        Box::pin(async move {
            Ok(ToolOutput::text(format!(
                "12 °C in {}",
                arguments["city"].as_str().unwrap()
            )))
        })
    })
}

fn agent(model: Scripted, tools: impl IntoIterator<Item = Arc<Tool>>) -> (Agent, Arc<Scripted>) {
    let model = Arc::new(model);
    let tools = Toolset::new(tools).unwrap();
    (
        Agent::builder()
            .model(model.clone(), "m")
            .tools(tools)
            .system("Be brief.")
            .build()
            .unwrap(),
        model,
    )
}

/// One line a message, for comparing whole conversations.
fn transcript(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| {
            let blocks = message.content.iter().map(|block| match block {
                ContentBlock::Text { text } => text.clone(),
                ContentBlock::ToolCall(call) => format!("{}({})", call.name, call.arguments),
                ContentBlock::ToolResult(result) => {
                    let mark = if result.is_error { "✗" } else { "✓" };
                    format!("{mark} {}", text_of(&result.content))
                }
                other => format!("{other:?}"),
            });
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            format!("{role}: {}", blocks.collect::<Vec<_>>().join(" | "))
        })
        .collect()
}

#[derive(Default)]
struct Seen {
    events: Vec<Event>,
    text: String,
    progress: Vec<String>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
    fn delta(&mut self, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.text.push_str(text);
        }
    }
    fn progress(&mut self, _: &str, line: &str) {
        self.progress.push(line.to_owned());
    }
}

#[tokio::test]
async fn a_call_is_run_and_its_result_is_answered() {
    let (agent, model) = agent(
        Scripted::new([
            calls("weather", json!({"city": "Oslo"})),
            says("It is 12 °C."),
        ]),
        [weather()],
    );
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    let outcome = session
        .run_observed(Message::user("How is Oslo?"), &mut seen)
        .await
        .unwrap();
    assert_eq!((outcome.text.as_str(), outcome.rounds), ("It is 12 °C.", 2));
    assert_eq!(outcome.reason, EndReason::Answered);
    assert_eq!(
        transcript(session.messages()),
        [
            "user: How is Oslo?",
            "assistant: weather({\"city\":\"Oslo\"})",
            "tool: ✓ 12 °C in Oslo",
            "assistant: It is 12 °C.",
        ]
    );
    assert_eq!(seen.text, "It is 12 °C.");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        (
            requests[0].system.as_str(),
            requests[0].tools.clone().unwrap()
        ),
        ("Be brief.", vec!["weather".to_owned()])
    );
}

#[tokio::test]
async fn a_change_of_the_arguments_is_told_once() {
    let (agent, model) = agent(
        Scripted::new([
            calls("weather", json!({"city": "Oslo", "days": "2"})),
            says("Cold."),
        ]),
        [weather()],
    );
    let mut session = agent.session("s").await.unwrap();
    session.run("Weather?").await.unwrap();
    let requests = model.requests();
    let told = transcript(&requests[1].messages).pop().unwrap();
    assert_eq!(told, "tool: ✓ 12 °C in Oslo\nNote: /days: \"2\" became 2");
}

#[tokio::test]
async fn a_session_goes_on_in_another_process_from_its_journal() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let build = |model: Scripted| {
        Agent::builder()
            .model(Arc::new(model), "m")
            .store(store.clone())
            .build()
            .unwrap()
    };
    build(Scripted::new([says("Noted.")]))
        .session("s")
        .await
        .unwrap()
        .run("I am Ada.")
        .await
        .unwrap();
    let model = Scripted::from_fn(|request| says(format!("{} messages", request.messages.len())));
    let outcome = build(model)
        .session("s")
        .await
        .unwrap()
        .run("Who am I?")
        .await
        .unwrap();
    assert_eq!(outcome.text, "3 messages");
}

#[tokio::test]
async fn the_round_limit_ends_in_a_written_answer() {
    let model = Scripted::from_fn(|request| match request.tool_choice {
        claw_runtime::provider::ToolChoice::None => says("This is as far as I got."),
        _ => calls(
            "weather",
            json!({"city": format!("{}", request.messages.len())}),
        ),
    });
    let model = Arc::new(model);
    let agent = Agent::builder()
        .model(model.clone(), "m")
        .tools(Toolset::new([weather()]).unwrap())
        .limits(Limits {
            rounds: 3,
            ..Limits::default()
        })
        .build()
        .unwrap();
    let outcome = agent.session("s").await.unwrap().run("go").await.unwrap();
    assert_eq!(outcome.text, "This is as far as I got.");
    assert!(outcome.truncated());
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_turn_can_be_spawned() {
    let (agent, _) = agent(Scripted::new([says("Hello.")]), []);
    let turn = tokio::spawn(async move { agent.session("s").await?.run("Hi!").await });
    assert_eq!(turn.await.unwrap().unwrap().text, "Hello.");
}

#[tokio::test]
async fn an_agent_needs_a_model() {
    let error = Agent::builder().build().unwrap_err().to_string();
    assert_eq!(
        error,
        "the agent has no model: add `.model(provider, name)`"
    );
}

#[tokio::test]
async fn two_models_of_one_name_are_refused() {
    let model = || Arc::new(Scripted::new([says("Hello.")]));
    let two = Agent::builder().model(model(), "a").model(model(), "b");
    let error = two.model(model(), "a").build().unwrap_err().to_string();
    assert_eq!(
        error,
        "two models are named `scripted:a`: give one of the providers another name"
    );
}

#[tokio::test]
async fn tokens_beyond_counting_are_no_overflow() {
    let usage = Usage {
        input_tokens: u64::MAX,
        output_tokens: 1,
        ..Usage::default()
    };
    let model = Scripted::from_fn(move |_| Reply {
        content: vec![ContentBlock::text("Fine.")],
        cut_calls: Vec::new(),
        stop: StopReason::Stop,
        usage: Some(usage),
    });
    let (agent, _) = agent(model, []);
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    session.run("go on").await.unwrap();
    let spent = session.view().unwrap().usage();
    assert_eq!((spent.input_tokens, spent.output_tokens), (u64::MAX, 2));
}
