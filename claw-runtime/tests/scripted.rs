//! The provider that plays a script.
#![allow(clippy::unwrap_used)]

use claw_runtime::dialect::Dialect;
use claw_runtime::message::{ContentBlock, Message, StopReason};
use claw_runtime::provider::scripted::{calls, fails, says};
use claw_runtime::provider::{
    Delta, DeltaSink, FailureClass, Provider, ProviderError, Reply, Request, Scripted, ToolChoice,
};
use serde_json::json;

#[derive(Default)]
struct Seen(Vec<Delta>);

impl DeltaSink for Seen {
    fn delta(&mut self, delta: Delta) {
        self.0.push(delta);
    }
}

async fn ask(
    model: &Scripted,
    text: &str,
    seen: Option<&mut Seen>,
) -> Result<Reply, ProviderError> {
    let messages = [Message::user(text)];
    let request = Request {
        model: "m",
        system: "s",
        messages: &messages,
        history: None,
        tools: None,
        dialect: Dialect::CANONICAL,
        tool_choice: ToolChoice::Auto,
        max_output_tokens: Some(7),
        stop: &["x"],
        form: None,
    };
    match seen {
        Some(seen) => model.complete(request, Some(Box::new(seen))).await,
        None => model.complete(request, None).await,
    }
}

#[tokio::test]
async fn answers_come_in_order_and_the_end_is_an_error() {
    let model = Scripted::new([
        calls("f", json!({"a": 1})).and_calls("g", json!("{cut")),
        fails(FailureClass::RateLimit),
        says("Done."),
    ]);
    let first = ask(&model, "1", None).await.unwrap();
    assert_eq!(first.stop, StopReason::ToolCalls);
    let made: Vec<_> = first
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some((call.name.as_str(), call.arguments.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(made, [("f", "{\"a\":1}"), ("g", "{cut")]);
    assert_eq!(
        ask(&model, "2", None).await.unwrap_err().class,
        FailureClass::RateLimit
    );
    assert_eq!(
        ask(&model, "3", None).await.unwrap().content,
        [ContentBlock::text("Done.")]
    );
    let over = ask(&model, "4", None).await.unwrap_err();
    assert_eq!(over.class, FailureClass::BadRequest);
    assert_eq!(
        over.message,
        "the script has 3 answers and was asked for more"
    );
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[1].messages, [Message::user("2")]);
    assert_eq!(
        (requests[0].system.as_str(), requests[0].streamed),
        ("s", false)
    );
}

#[tokio::test]
async fn ids_are_unique_over_all_replies() {
    let model = Scripted::new([calls("f", json!({}))]).repeating();
    let mut ids = std::collections::HashSet::new();
    for _ in 0..3 {
        let reply = ask(&model, "", None).await.unwrap();
        let message = Message::assistant(reply.content);
        let id = message.calls().next().unwrap().id.clone();
        assert!(id.len() == 9 && ids.insert(id));
    }
}

#[tokio::test]
async fn pieces_shown_add_up_to_the_reply() {
    let text = "Twelve degrees in Zürich ☔.";
    let model = Scripted::new([says(text).and_calls("f", json!({}))]);
    let mut seen = Seen::default();
    ask(&model, "", Some(&mut seen)).await.unwrap();
    let shown: Vec<&str> = seen
        .0
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(shown.len() > 2);
    assert_eq!(shown.concat(), text);
    let started = Delta::CallStarted {
        index: 0,
        name: "f".into(),
    };
    assert_eq!(seen.0.last(), Some(&started));
    assert!(model.requests()[0].streamed);
}

#[tokio::test]
async fn a_function_answers_by_what_it_reads() {
    let model = Scripted::from_fn(|request| {
        let last = request.messages.last().unwrap().text();
        if last == "fail" {
            fails(FailureClass::Auth)
        } else {
            says(last.to_uppercase())
        }
    });
    assert_eq!(
        ask(&model, "hi", None).await.unwrap().content,
        [ContentBlock::text("HI")]
    );
    assert_eq!(
        ask(&model, "fail", None).await.unwrap_err().class,
        FailureClass::Auth
    );
}
