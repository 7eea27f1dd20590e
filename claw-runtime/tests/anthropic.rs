//! The Anthropic provider against servers on loopback: what it sends, and what it makes of good and bad answers.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not every server of the module is needed here")]
mod support;

use std::time::Duration;

use claw_runtime::dialect::Dialect;
use claw_runtime::message::{ContentBlock, Message, StopReason, ToolCall, Usage};
use claw_runtime::provider::anthropic::Options;
use claw_runtime::provider::{
    Anthropic, Delta, FailureClass, Provider, Request, Thinking, Timeouts, ToolChoice,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use support::asked::{Seen, weather};
use support::{Act, Server, answer, chunk, json as json_answer, open_stream, stream};

const KEY: &str = "sk-ant-1234567890";

fn provider(server: &Server) -> Anthropic {
    let key = SecretString::from(KEY.to_owned());
    Anthropic::new("test", &server.base, Some(key)).unwrap()
}

fn request(messages: &[Message]) -> Request<'_> {
    Request {
        model: "claude-x",
        dialect: Dialect::named("anthropic").unwrap(),
        ..support::request(messages)
    }
}

fn event(event: &Value) -> String {
    format!(
        "event: {}\ndata: {event}\n\n",
        event["type"].as_str().unwrap()
    )
}

fn text_events(text: &str) -> [String; 3] {
    [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
    ]
    .map(|it| event(&it))
}

fn end_events() -> [String; 3] {
    [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]
    .map(|it| event(&it))
}

#[tokio::test]
async fn a_request_is_sent_as_the_format_says() {
    let events = [text_events("Hello"), end_events()].concat();
    let pieces: Vec<&str> = events.iter().map(String::as_str).collect();
    let server = Server::start([stream(&pieces)]).await;
    let provider = provider(&server).options(Options {
        thinking: Thinking::Adaptive,
        ..Options::COMMON
    });
    let tools = weather();
    let messages = [Message::user("Hi")];
    let request = Request {
        system: "Be brief.",
        tools: Some(&tools),
        tool_choice: ToolChoice::None,
        max_output_tokens: Some(99),
        stop: &["</x>"],
        ..request(&messages)
    };
    let mut seen = Seen::default();
    let reply = provider
        .complete(request, Some(Box::new(&mut seen)))
        .await
        .unwrap();
    assert_eq!(reply.content, [ContentBlock::text("Hello")]);
    assert_eq!(reply.stop, StopReason::Stop);
    let text = "Hello".to_owned();
    assert_eq!(seen.0, [Delta::Text { text }]);

    let received = &server.received()[0];
    let line = "post /v1/messages http/1.1";
    assert!(received.head.starts_with(line), "{}", received.head);
    for header in [
        "x-api-key: sk-ant-1234567890",
        "anthropic-version: 2026-10-21",
        "content-type: application/json",
        "accept: text/event-stream",
    ] {
        assert!(
            received.head.lines().any(|line| line == header),
            "{header}: {}",
            received.head
        );
    }
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        received.json(),
        json!({
            "model": "claude-x",
            "tools": [{
                "name": "weather",
                "description": "Weather \"now\".",
                "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
                "cache_control": mark,
            }],
            "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Hi", "cache_control": mark},
            ]}],
            "max_tokens": 99,
            "thinking": {"type": "adaptive"},
            "tool_choice": {"type": "none"},
            "stop_sequences": ["</x>"],
            "stream": true,
        })
    );
}

#[tokio::test]
async fn a_call_and_its_thinking_go_back_with_the_result() {
    let thinking = json!({"type": "thinking", "thinking": "Look.", "signature": "EqQB"});
    let tool_use =
        json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}});
    let asked = json!({
        "type": "message", "content": [thinking, tool_use], "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30,
            "output_tokens": 5,
        },
    });
    let answered = json!({
        "type": "message", "content": [{"type": "text", "text": "12 °C"}], "stop_reason": "end_turn",
    });
    let server = Server::start([json_answer(200, &asked), json_answer(200, &answered)]).await;
    let provider = provider(&server);
    let mut messages = vec![Message::user("Weather?")];
    let reply = provider.complete(request(&messages), None).await.unwrap();
    assert_eq!(reply.stop, StopReason::ToolCalls);
    let call = ToolCall {
        id: "toolu_1".into(),
        name: "weather".into(),
        arguments: "{\"city\":\"Oslo\"}".into(),
    };
    let own = ContentBlock::Opaque {
        provider: "test".into(),
        model: "claude-x".into(),
        value: thinking.clone(),
    };
    let text = "Look.".to_owned();
    assert_eq!(
        reply.content,
        [
            ContentBlock::Reasoning { text },
            own,
            ContentBlock::ToolCall(call)
        ]
    );
    let usage = Usage {
        input_tokens: 60,
        output_tokens: 5,
        cached_tokens: 30,
        reasoning_tokens: 0,
    };
    assert_eq!(reply.usage, Some(usage));
    messages.push(Message::assistant(reply.content));
    messages.push(Message {
        role: claw_runtime::message::Role::Tool,
        content: vec![ContentBlock::ToolResult(
            claw_runtime::message::ToolResult {
                call_id: "toolu_1".into(),
                name: "weather".into(),
                content: vec![ContentBlock::text("12")],
                is_error: false,
            },
        )],
    });
    let reply = provider.complete(request(&messages), None).await.unwrap();
    assert_eq!(reply.content, [ContentBlock::text("12 °C")]);
    let received = server.received();
    assert_eq!(received[0].json().get("stream"), None);
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        received[1].json()["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Weather?", "cache_control": mark}]},
            {"role": "assistant", "content": [thinking, tool_use]},
            {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "toolu_1", "content": "12", "cache_control": mark,
            }]},
        ])
    );
    assert_eq!(server.connections().0, 1, "the connection is used again");
}

#[tokio::test]
async fn another_version_of_the_format_may_be_asked_for() {
    let server = Server::start([json_answer(200, &json!({"data": []}))]).await;
    let provider = provider(&server)
        .header("anthropic-version", "2023-06-01")
        .unwrap();
    assert_eq!(provider.models().await.unwrap(), [""; 0]);
    let head = &server.received()[0].head;
    assert!(
        head.starts_with("get /v1/models?limit=1000 http/1.1"),
        "{head}"
    );
    let versions: Vec<_> = head
        .lines()
        .filter(|it| it.starts_with("anthropic-version"))
        .collect();
    assert_eq!(versions, ["anthropic-version: 2023-06-01"]);
}

#[tokio::test]
async fn failures_have_their_class_wait_and_no_key() {
    let failed = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"})
            .to_string()
    };
    let cases = [
        (
            answer(
                401,
                "",
                failed("authentication_error", &format!("bad {KEY}")),
            ),
            FailureClass::Auth,
            None,
        ),
        (
            answer(
                429,
                "retry-after: 7\r\n",
                failed("rate_limit_error", "slow down"),
            ),
            FailureClass::RateLimit,
            Some(7),
        ),
        (
            answer(
                429,
                "date: Mon, 30 Nov 2026 12:00:00 GMT\r\n\
                 anthropic-ratelimit-requests-remaining: 0\r\n\
                 anthropic-ratelimit-requests-reset: 2026-11-30T12:00:09Z\r\n",
                failed("rate_limit_error", "slow down"),
            ),
            FailureClass::RateLimit,
            Some(9),
        ),
        (
            answer(529, "", failed("overloaded_error", "Overloaded")),
            FailureClass::Overloaded,
            None,
        ),
    ];
    for (acts, class, wait) in cases {
        let server = Server::start([acts]).await;
        let messages = [Message::user("Hi")];
        let error = provider(&server)
            .complete(request(&messages), None)
            .await
            .unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert_eq!(error.retry_after, wait.map(Duration::from_secs), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn pings_do_not_keep_a_stalled_answer_alive() {
    let events = text_events("Half");
    let pieces: Vec<&str> = events.iter().map(String::as_str).collect();
    let mut acts = open_stream(&pieces);
    let ping = event(&json!({"type": "ping"}));
    acts.push(Act::Drip(chunk(&ping), 20));
    let server = Server::start([acts]).await;
    let provider = provider(&server).timeouts(Timeouts {
        connect: Duration::from_secs(5),
        first_content: Duration::from_secs(10),
        between_content: Duration::from_millis(300),
    });
    let messages = [Message::user("Hi")];
    let asked = provider.complete(request(&messages), Some(Box::new(Seen::default())));
    let error = tokio::time::timeout(Duration::from_secs(20), asked)
        .await
        .expect("it is given up")
        .unwrap_err();
    assert_eq!(error.class, FailureClass::Stalled);
    assert_eq!(error.partial, [ContentBlock::text("Half")]);
}

#[tokio::test]
async fn the_models_are_listed() {
    let list = json!({"data": [{"type": "model", "id": "claude-a"}, {"id": "claude-b"}], "has_more": false});
    let server = Server::start([json_answer(200, &list), json_answer(200, &json!({"x": 1}))]).await;
    let provider = provider(&server);
    assert_eq!(provider.models().await.unwrap(), ["claude-a", "claude-b"]);
    let error = provider.models().await.unwrap_err();
    assert_eq!(error.class, FailureClass::BadResponse);
    assert!(error.message.contains("check the base URL"), "{error}");
}
