//! The Gemini provider against servers on loopback: what it sends, and what it makes of good and bad answers.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not every server of the module is needed here")]
mod support;

use std::time::Duration;

use claw_runtime::dialect::Dialect;
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, ToolCall, ToolResult, Usage};
use claw_runtime::provider::gemini::Options;
use claw_runtime::provider::{FailureClass, Gemini, Provider, Request, Thinking, ToolChoice};
use secrecy::SecretString;
use serde_json::{Value, json};
use support::asked::{Seen, weather};
use support::{Server, answer, json as json_answer, stream};

const KEY: &str = "AIza-1234567890";

fn provider(server: &Server) -> Gemini {
    let key = SecretString::from(KEY.to_owned());
    Gemini::new("test", &server.base, Some(key)).unwrap()
}

fn request(messages: &[Message]) -> Request<'_> {
    Request {
        model: "gemini-3-x",
        dialect: Dialect::named("gemini").unwrap(),
        ..support::request(messages)
    }
}

fn says(parts: Value, finish: Value, usage: Value) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}],
        "usageMetadata": usage,
    })
}

#[tokio::test]
async fn a_request_is_sent_as_the_format_says() {
    let pieces = [
        says(
            json!([{"text": "Hel"}]),
            Value::Null,
            json!({"promptTokenCount": 3}),
        ),
        says(
            json!([{"text": "lo"}]),
            "STOP".into(),
            json!({"promptTokenCount": 3, "candidatesTokenCount": 2}),
        ),
    ]
    .map(|document| format!("data: {document}\r\n\r\n"));
    let server = Server::start([stream(&[&pieces[0], &pieces[1]])]).await;
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
    assert_eq!(seen.0.len(), 2);

    let received = &server.received()[0];
    let line = "post /v1/models/gemini-3-x:streamgeneratecontent?alt=sse http/1.1";
    assert!(received.head.starts_with(line), "{}", received.head);
    let key = format!("x-goog-api-key: {}", KEY.to_lowercase());
    assert!(
        received.head.lines().any(|line| line == key),
        "{}",
        received.head
    );
    assert_eq!(
        received.json(),
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{
                "name": "weather",
                "description": "Weather \"now\".",
                "parametersJsonSchema": {
                    "type": "object", "properties": {"city": {"type": "string"}},
                },
            }]}],
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
            "generationConfig": {
                "maxOutputTokens": 99,
                "stopSequences": ["</x>"],
                "thinkingConfig": {"includeThoughts": true},
            },
        })
    );
}

#[tokio::test]
async fn parallel_calls_and_their_signature_go_back_with_the_results() {
    let parts = json!([
        {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "weather", "args": {"city": "Rome"}}},
    ]);
    let usage = json!({
        "promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 7,
    });
    let asked = says(parts.clone(), "STOP".into(), usage);
    let answered = says(json!([{"text": "12 and 20"}]), "STOP".into(), Value::Null);
    let server = Server::start([json_answer(200, &asked), json_answer(200, &answered)]).await;
    let provider = provider(&server);
    let mut messages = vec![Message::user("Weather?")];
    let reply = provider.complete(request(&messages), None).await.unwrap();
    assert_eq!(reply.stop, StopReason::ToolCalls);
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 12,
        cached_tokens: 4,
        reasoning_tokens: 7,
    };
    assert_eq!(reply.usage, Some(usage));
    let message = Message::assistant(reply.content);
    let calls: Vec<ToolCall> = message.calls().cloned().collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].id, calls[1].id);
    messages.push(message);
    let result = |call: &ToolCall, text: &str, is_error| {
        ContentBlock::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: vec![ContentBlock::text(text)],
            is_error,
        })
    };
    messages.push(Message {
        role: Role::Tool,
        content: vec![
            result(&calls[0], "12", false),
            result(&calls[1], "no such city", true),
        ],
    });
    provider.complete(request(&messages), None).await.unwrap();
    let received = server.received();
    assert!(
        received[0]
            .head
            .starts_with("post /v1/models/gemini-3-x:generatecontent http/1.1"),
        "{}",
        received[0].head
    );
    let response =
        |response: Value| json!({"functionResponse": {"name": "weather", "response": response}});
    assert_eq!(
        received[1].json()["contents"],
        json!([
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": parts},
            {"role": "user", "parts": [
                response(json!({"output": "12"})), response(json!({"error": "no such city"})),
            ]},
        ])
    );
}

#[tokio::test]
async fn failures_have_their_class_wait_and_no_key() {
    let failed = |code: u16, status: &str, message: &str, details: Value| {
        let body = json!({"error": {"code": code, "status": status, "message": message, "details": details}});
        answer(code, "content-type: application/json\r\n", body.to_string())
    };
    let retry = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}]);
    let cases = [
        (
            failed(
                400,
                "INVALID_ARGUMENT",
                &format!("API key not valid: {KEY}"),
                json!([]),
            ),
            FailureClass::Auth,
            None,
        ),
        (
            failed(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota",
                retry,
            ),
            FailureClass::RateLimit,
            Some(17),
        ),
        (
            failed(503, "UNAVAILABLE", "The model is overloaded.", Value::Null),
            FailureClass::Overloaded,
            None,
        ),
        (
            failed(
                404,
                "NOT_FOUND",
                "models/x is not found for API version v1beta",
                Value::Null,
            ),
            FailureClass::NotFound,
            None,
        ),
    ];
    for (acts, class, wait) in cases {
        let server = Server::start([acts]).await;
        let messages = [Message::user("Hi")];
        let error = provider(&server)
            .complete(request(&messages), Some(Box::new(Seen::default())))
            .await
            .unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert_eq!(error.retry_after, wait.map(Duration::from_secs), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn the_models_that_answer_are_listed() {
    let list = json!({"models": [
        {"name": "models/gemini-a", "supportedGenerationMethods": ["generateContent", "countTokens"]},
        {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/gemini-b"},
        {"displayName": "no name"},
    ]});
    let server = Server::start([json_answer(200, &list)]).await;
    assert_eq!(
        provider(&server).models().await.unwrap(),
        ["gemini-a", "gemini-b"]
    );
    let head = &server.received()[0].head;
    assert!(
        head.starts_with("get /v1/models?pagesize=1000 http/1.1"),
        "{head}"
    );
}
