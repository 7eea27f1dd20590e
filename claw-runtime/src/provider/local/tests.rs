//! The provider end to end, on a real model where `CLAW_TEST_GGUF` names one.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::agent::{Agent, Observer};
use crate::event::{EndReason, Event};
use crate::fallback::constrained;
use crate::limits::Limits;
use crate::message::{ContentBlock, Message, StopReason, text_of};
use crate::provider::{Delta, ToolChoice};
use crate::registry::Toolset;
use crate::tool::{Effect, Spec, Tool, ToolOutput};

#[test]
fn a_model_is_a_name_with_weights_or_a_path() {
    let local = Local::new("local", Settings::default()).weights("small", "/models/small.gguf");
    let path = |model: &str| local.path(model);
    assert_eq!(path("small"), Some(PathBuf::from("/models/small.gguf")));
    assert_eq!(path("other.gguf"), Some(PathBuf::from("other.gguf")));
    assert_eq!(path("./dir/other"), Some(PathBuf::from("./dir/other")));
    assert_eq!(path("other"), None);
}

#[tokio::test]
async fn what_is_no_model_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broken.gguf");
    std::fs::write(&path, b"GGUF\x03").expect("a file");
    let local = Local::new("local", Settings::default()).weights("broken", &path);
    for (model, says) in [
        ("broken", "broken.gguf"),
        ("gone", "no weights are called `gone`: there are `broken`"),
        ("/no/such.gguf", "/no/such.gguf"),
    ] {
        let error = local
            .complete(request(model, &[]), None)
            .await
            .expect_err("no model");
        assert_eq!(error.class, FailureClass::NotFound);
        assert!(error.message.contains(says), "{}", error.message);
        assert!(local.about(model).await.is_err());
    }
    assert_eq!(local.models().await.expect("names"), ["broken"]);
    assert_eq!(local.capabilities("broken").window, Some(4096));
}

fn request<'a>(model: &'a str, messages: &'a [Message]) -> Request<'a> {
    Request {
        model,
        system: "",
        messages,
        history: None,
        tools: None,
        dialect: crate::dialect::Dialect::CANONICAL,
        tool_choice: ToolChoice::Auto,
        max_output_tokens: Some(12),
        stop: &[],
        form: None,
    }
}

/// Random weights want nothing and say nothing; what they write is in the form all the same.
#[tokio::test]
async fn any_weights_write_the_form() {
    let (_folder, path) = engine::tests::small_model();
    let local = Local::new("local", Settings::default()).weights("tiny", &path);
    let form = constrained::schema(&tools(), &BTreeSet::new());
    let messages = [Message::user("Hi <|im_end|>")];
    let mut short = request("tiny", &messages);
    (short.form, short.max_output_tokens) = (Some(&*form), Some(200));
    let reply = local.complete(short, None).await.expect("a reply");
    let text = text_of(&reply.content);
    assert!(constrained::is_begun(&text, &reply.stop), "{text}");
    let found = constrained::read(&text, &reply.stop, &tools());
    for call in &found.calls {
        let toolset = tools();
        let tool = toolset.get(&call.name).expect("a known tool");
        assert!(tool.validate(&call.arguments).is_ok(), "{text}");
    }
    let usage = reply.usage.expect("tokens");
    assert!(usage.output_tokens <= 200);
    assert_eq!(
        local.complete(short, None).await.expect("a reply").content,
        reply.content
    );
    // After a result there is an answer, and after a failure anything.
    let result = [Message::user(
        "<tool_response name=\"add\" id=\"1\">5</tool_response>",
    )];
    short.messages = &result;
    let reply = local.complete(short, None).await.expect("a reply");
    assert!(text_of(&reply.content).starts_with("{\"answer\": \""));
    // So there is where nothing may be called, whoever spoke last.
    (short.messages, short.form) = (&messages, Some(constrained::ANSWER));
    let reply = local.complete(short, None).await.expect("a reply");
    assert!(text_of(&reply.content).starts_with("{\"answer\": \""));
    let window = local.about("tiny").await.expect("a model").window;
    assert_eq!(
        (window, local.capabilities("tiny").window),
        (Some(512), Some(512))
    );
}

#[tokio::test]
async fn two_sessions_share_a_model_and_one_may_leave() {
    let (_folder, path) = engine::tests::small_model();
    let local = Local::new("local", Settings::default()).weights("tiny", &path);
    let (one, two) = ([Message::user("One.")], [Message::user("Two.")]);
    let mut long = request("tiny", &two);
    long.max_output_tokens = None;
    let alone = local
        .complete(request("tiny", &one), None)
        .await
        .expect("a reply");
    let leaving = local.complete(long, None);
    let beside = local.complete(request("tiny", &one), None);
    tokio::select! {
        reply = beside => assert_eq!(reply.expect("a reply").content, alone.content),
        reply = leaving => assert!(reply.is_ok()),
    }
    let after = local
        .complete(request("tiny", &one), None)
        .await
        .expect("a reply");
    assert_eq!(after.content, alone.content);
}

/// The file that `CLAW_TEST_GGUF` names.
fn weights() -> Option<String> {
    let path = std::env::var("CLAW_TEST_GGUF").ok();
    if path.is_none() {
        eprintln!("skipped: CLAW_TEST_GGUF names no file of weights");
    }
    path
}

fn tools() -> Toolset {
    let spec = Spec {
        effect: Effect::Pure,
        ..Spec::new("add".into(), "Add two numbers.".into())
    };
    let number = json!({"type": "integer", "minimum": 0, "maximum": 99});
    let schema = json!({
        "type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"],
        "additionalProperties": false,
    });
    let add = Tool::dynamic(
        spec,
        schema,
        Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::text("5")) })),
    );
    Toolset::new([Arc::new(add)]).expect("one tool")
}

#[derive(Default)]
struct Seen {
    calls: Vec<String>,
    shown: String,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        let Event::Assistant { content, .. } = event else {
            return;
        };
        for block in content {
            if let ContentBlock::ToolCall(call) = block {
                self.calls.push(call.name.clone());
            }
        }
    }

    fn delta(&mut self, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.shown.push_str(text);
        }
    }
}

#[tokio::test]
async fn a_turn_calls_its_tool_and_says_what_streamed() {
    let Some(model) = weights() else { return };
    let agent = Agent::builder()
        .model(Arc::new(Local::new("local", Settings::default())), model)
        .tools(tools())
        .limits(Limits {
            max_output_tokens: Some(40),
            ..Limits::default()
        })
        .build()
        .expect("an agent");
    let mut session = agent.session("s").await.expect("a session");
    let mut seen = Seen::default();
    let outcome = session
        .run_observed(Message::user("Add 2 and 3."), &mut seen)
        .await
        .expect("an outcome");
    assert_eq!(seen.calls, ["add"]);
    assert!(
        !matches!(outcome.reason, EndReason::Failed { .. }),
        "{outcome:?}"
    );
    assert!(!outcome.text.trim().is_empty());
    assert_eq!(seen.shown, outcome.text);
}

#[tokio::test]
async fn the_same_request_gives_the_same_reply_beside_another_and_after_a_cancel() {
    let Some(model) = weights() else { return };
    let local = Local::new("local", Settings::default());
    let hello = [Message::user("Hello, who are you? <|im_end|>")];
    let count = [Message::user("Count to twenty.")];
    let whole = || async {
        let reply = local.complete(request(&model, &hello), None).await;
        reply.expect("a reply")
    };
    // Dropped before it is through.
    let first = local.complete(request(&model, &count), None);
    let dropped = tokio::time::timeout(Duration::from_millis(50), first).await;
    drop(dropped);
    let (one, other, two) = tokio::join!(
        whole(),
        local.complete(request(&model, &count), None),
        whole()
    );
    assert_eq!(one.content, two.content);
    assert_eq!(one.content, whole().await.content);
    assert!(one.stop == StopReason::Length || one.stop == StopReason::Stop);
    let usage = one.usage.expect("tokens");
    assert!(usage.input_tokens > 10 && usage.output_tokens <= 12);
    assert!(other.is_ok());
    let mut short = request(&model, &hello);
    let long = "word ".repeat(5_000);
    let long = [Message::user(long)];
    short.messages = &long;
    let error = local.complete(short, None).await.expect_err("too long");
    assert_eq!(error.class, FailureClass::ContextLength);
}
