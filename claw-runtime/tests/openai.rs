//! The OpenAI provider against servers on loopback: what it sends, and what it makes of good and bad answers.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "not every server of the module is needed here")]
mod support;

use std::time::Duration;

use claw_runtime::message::{ContentBlock, Message, StopReason, Usage};
use claw_runtime::provider::openai_chat::{MaxTokens, Quirks};
use claw_runtime::provider::{
    Capabilities, Delta, FailureClass, OpenAiChat, Provider, ProviderError, Reply, Request,
    Timeouts, ToolChoice,
};
use secrecy::SecretString;
use serde_json::json;
use support::asked::{Seen, weather};
use support::{Act, Server, answer, chunk, gzip, json as json_answer, open_stream, stream};

const KEY: &str = "key-1234567890";
const TEXT: &str = r#"data: {"choices":[{"delta":{"content":"Hello"}}]}

"#;
const CALL: &str = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}]}}]}

"#;
const STOP: &str = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

"#;
const DONE: &str = "data: [DONE]\n\n";

fn provider(server: &Server) -> OpenAiChat {
    let key = SecretString::from(KEY.to_owned());
    OpenAiChat::new("test", &server.base, Some(key)).unwrap()
}

/// Returns a provider that soon gives up; only tests that wait for it use it, so that a slow machine fails no other.
fn hasty(server: &Server) -> OpenAiChat {
    provider(server).timeouts(Timeouts {
        connect: Duration::from_secs(5),
        first_content: Duration::from_millis(600),
        between_content: Duration::from_millis(500),
    })
}

fn request(messages: &[Message]) -> Request<'_> {
    Request {
        model: "m-1",
        ..support::request(messages)
    }
}

async fn streamed(provider: &OpenAiChat) -> Result<Reply, ProviderError> {
    let messages = [Message::user("Hi")];
    provider
        .complete(request(&messages), Some(Box::new(Seen::default())))
        .await
}

async fn whole(provider: &OpenAiChat) -> Result<Reply, ProviderError> {
    provider
        .complete(request(&[Message::user("Hi")]), None)
        .await
}

/// Returns the error of one streamed request that is answered this way and soon given up.
async fn stall(acts: Vec<Act>) -> ProviderError {
    let server = Server::start([acts]).await;
    let hasty = hasty(&server);
    let read = tokio::time::timeout(Duration::from_secs(20), streamed(&hasty));
    read.await.expect("it is given up").unwrap_err()
}

/// Returns the error of one streamed request that is answered this way.
async fn failure(acts: Vec<Act>) -> ProviderError {
    let server = Server::start([acts]).await;
    streamed(&provider(&server)).await.unwrap_err()
}

#[tokio::test]
async fn a_request_is_sent_as_the_format_says() {
    let server = Server::start([stream(&[TEXT, STOP, DONE])]).await;
    let provider = provider(&server)
        .header("x-title", "claw")
        .unwrap()
        .quirks(Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            ..Quirks::COMMON
        });
    let tools = weather();
    let messages = [Message::user("Hi")];
    let request = Request {
        system: "Be brief.",
        tools: Some(&tools),
        tool_choice: ToolChoice::Required,
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
    assert_eq!(
        seen.0,
        [Delta::Text {
            text: "Hello".into()
        }]
    );

    let received = &server.received()[0];
    assert!(
        received
            .head
            .starts_with("post /v1/chat/completions http/1.1"),
        "{}",
        received.head
    );
    for header in [
        "authorization: bearer key-1234567890",
        "x-title: claw",
        "content-type: application/json",
        "accept: text/event-stream",
        "accept-encoding: gzip",
    ] {
        assert!(
            received.head.lines().any(|line| line == header),
            "{header}: {}",
            received.head
        );
    }
    assert_eq!(
        received.json(),
        json!({
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "weather",
                "description": "Weather \"now\".",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            }}],
            "tool_choice": "required",
            "max_completion_tokens": 99,
            "stop": ["</x>"],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn a_whole_reply_and_a_streamed_one_are_the_same() {
    let body = json!({
        "choices": [{"message": {
            "content": "Let me see.",
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{\"a\":1}"}}],
        }, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    });
    let mut piece = body.clone();
    piece["choices"][0]["delta"] = piece["choices"][0]["message"].take();
    let pieces = format!("data: {piece}\n\n");
    let server = Server::start([stream(&[&pieces, DONE]), json_answer(200, &body)]).await;
    let provider = provider(&server);
    let reply = streamed(&provider).await.unwrap();
    assert_eq!(whole(&provider).await.unwrap(), reply);
    assert_eq!(reply.stop, StopReason::ToolCalls);
    assert_eq!(reply.content.len(), 3);
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cached_tokens: 4,
        reasoning_tokens: 2,
    };
    assert_eq!(reply.usage, Some(usage));
    let received = server.received();
    assert_eq!(received[1].json().get("stream"), None);
    assert!(received[1].head.contains("accept: application/json"));
    assert_eq!(server.connections().0, 1, "the connection is used again");
}

#[tokio::test]
async fn a_model_that_cannot_stream_is_not_asked_to() {
    let body = json!({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]});
    let server = Server::start([json_answer(200, &body)]).await;
    let provider = provider(&server).declare_model(
        "m-1",
        Capabilities {
            streaming: false,
            ..Capabilities::FULL
        },
    );
    let mut seen = Seen::default();
    let messages = [Message::user("Hi")];
    provider
        .complete(request(&messages), Some(Box::new(&mut seen)))
        .await
        .unwrap();
    assert_eq!(server.received()[0].json().get("stream"), None);
    assert_eq!(
        seen.0,
        [Delta::Text {
            text: "Hello".into()
        }]
    );
}

#[tokio::test]
async fn refusals_are_classified_and_never_repeat_the_key() {
    use FailureClass::*;
    let error = |message: &str, code: &str| json!({"error": {"message": message, "code": code}});
    let cases = [
        (
            401,
            error(&format!("bad key {KEY}"), "invalid_api_key"),
            Auth,
        ),
        (403, error("no", "x"), Auth),
        (404, error("no model", "model_not_found"), NotFound),
        (
            400,
            error("\"m-1\" does not support tools", "x"),
            ToolsUnsupported,
        ),
        (
            400,
            error("maximum context length is 10", "context_length_exceeded"),
            ContextLength,
        ),
        (400, error("bad field", "x"), BadRequest),
        (429, error("used up", "insufficient_quota"), Quota),
        (429, error("slow down", "rate_limit_exceeded"), RateLimit),
        (500, error("oops", "server_error"), Overloaded),
        (529, error("busy", "overloaded_error"), Overloaded),
    ];
    for (status, body, class) in cases {
        let error = failure(json_answer(status, &body)).await;
        assert_eq!(
            (error.class, error.status),
            (class, Some(status)),
            "{error}"
        );
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    }
}

#[tokio::test]
async fn a_wait_is_taken_from_the_headers() {
    let date = "date: Mon, 30 Nov 2026 12:00:00 GMT\r\n";
    let cases = [
        ("retry-after: 7\r\n".to_owned(), 7),
        (
            format!("{date}retry-after: Mon, 30 Nov 2026 12:01:00 GMT\r\n"),
            60,
        ),
    ];
    for (headers, seconds) in cases {
        let error = failure(answer(429, &headers, "slow")).await;
        assert_eq!(error.class, FailureClass::RateLimit);
        assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)));
        assert_eq!(error.message, "slow");
    }
}

#[tokio::test]
async fn answers_of_the_wrong_kind_are_named() {
    use FailureClass::*;
    let html = "content-type: text/html\r\n";
    let page = "<!doctype html><p>hi";
    let cases = [
        (answer(200, html, page), BadResponse, "web page"),
        (
            answer(502, html, page),
            Overloaded,
            "status 502 with a web page",
        ),
        (
            answer(200, "", "hello, I am a router"),
            BadResponse,
            "`hello, I am a router` came in the place of a chat completion",
        ),
        (answer(200, "", "data: what\n\n"), BadResponse, "no JSON"),
        (answer(200, "", "{\"choices\":"), BadResponse, "no JSON"),
        (answer(200, "", "[]"), BadResponse, "no JSON"),
        (answer(200, "", ""), IncompleteStream, "empty"),
        (
            answer(302, "location: http://127.0.0.1:1/\r\n", ""),
            BadRequest,
            "redirects",
        ),
        (
            json_answer(200, &json!({"error": "no such model: not found"})),
            NotFound,
            "no such model",
        ),
        (
            vec![
                Act::Send(b"\x00\xff\xfe nonsense\r\n\r\n".to_vec()),
                Act::Close,
            ],
            Network,
            "",
        ),
    ];
    for (acts, class, words) in cases {
        let error = failure(acts).await;
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_stream_labelled_as_json_is_read_as_a_stream() {
    let body = [TEXT, STOP, DONE].concat();
    let acts = answer(200, "content-type: application/json\r\n", body);
    let server = Server::start([acts]).await;
    let reply = streamed(&provider(&server)).await.unwrap();
    assert_eq!(reply.content, [ContentBlock::text("Hello")]);
}

#[tokio::test]
async fn a_compressed_answer_is_read() {
    let body = gzip([TEXT, STOP, DONE].concat().as_bytes());
    let server = Server::start([answer(200, "content-encoding: gzip\r\n", body)]).await;
    let reply = streamed(&provider(&server)).await.unwrap();
    assert_eq!(reply.content, [ContentBlock::text("Hello")]);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_a_network_failure() {
    let promised = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n".to_vec();
    for acts in [vec![Act::Close], vec![Act::Send(promised), Act::Close]] {
        let error = failure(acts).await;
        assert_eq!(error.class, FailureClass::Network, "{error}");
        assert!(error.partial.is_empty());
        assert!(!error.message.contains("127.0.0.1"), "{error}");
    }
    let nobody = OpenAiChat::new("test", "http://127.0.0.1:1/v1", None).unwrap();
    let error = whole(&nobody).await.unwrap_err();
    assert_eq!(error.class, FailureClass::Network);
    assert!(error.message.to_lowercase().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_stream_cut_in_the_middle_keeps_its_text_and_drops_its_calls() {
    let mut cut = open_stream(&[TEXT, CALL]);
    cut.push(Act::Close);
    for acts in [cut, stream(&[TEXT, CALL])] {
        let error = failure(acts).await;
        assert_eq!(error.class, FailureClass::IncompleteStream, "{error}");
        assert_eq!(error.partial, [ContentBlock::text("Hello")]);
    }
}

#[tokio::test]
async fn a_connection_cut_after_the_stop_reason_loses_nothing() {
    let mut cut = open_stream(&[TEXT, STOP]);
    cut.push(Act::Close);
    let server = Server::start([cut]).await;
    let reply = streamed(&provider(&server)).await.unwrap();
    assert_eq!(reply.content, [ContentBlock::text("Hello")]);
}

#[tokio::test]
async fn an_error_within_a_stream_ends_it() {
    let error = "data: {\"error\":{\"message\":\"worker died\",\"code\":502}}\n\n";
    let mut acts = open_stream(&[TEXT, error]);
    acts.push(Act::Drip(vec![], 10));
    let error = failure(acts).await;
    assert_eq!(
        (error.class, error.status),
        (FailureClass::Overloaded, Some(502))
    );
    assert_eq!(error.message, "worker died");
    assert_eq!(error.partial, [ContentBlock::text("Hello")]);
}

#[tokio::test]
async fn keep_alives_do_not_hide_a_stall() {
    let ping = ":\n\n";
    let empty = "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n";
    for (pieces, drip, partial) in [
        (&[][..], ping, vec![]),
        (&[TEXT][..], ping, vec![ContentBlock::text("Hello")]),
        (&[TEXT][..], empty, vec![ContentBlock::text("Hello")]),
    ] {
        let mut acts = open_stream(pieces);
        acts.push(Act::Drip(chunk(drip), 20));
        let error = stall(acts).await;
        assert_eq!(error.class, FailureClass::Stalled, "{error}");
        assert_eq!(error.partial, partial);
    }
}

#[tokio::test]
async fn slow_content_is_no_stall() {
    // Longer in all than either limit, never silent for as long as one.
    let mut acts = open_stream(&[]);
    let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    acts.push(Act::Drip(chunk(piece), 20));
    let server = Server::start([acts]).await;
    let provider = hasty(&server);
    let read = tokio::time::timeout(Duration::from_millis(1500), streamed(&provider));
    assert!(read.await.is_err(), "the stream still runs");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let mut silent = open_stream(&[]);
    silent.push(Act::Drip(vec![], 1000));
    for acts in [vec![Act::Drip(vec![], 1000)], silent] {
        let error = stall(acts).await;
        assert_eq!(error.class, FailureClass::Stalled, "{error}");
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let comments = format!(":{}\n", "x".repeat(1 << 16)).into_bytes();
    for flood in [vec![b'x'; 1 << 16], comments, vec![b' '; 1 << 16]] {
        let acts = vec![Act::Send(head.clone()), Act::Flood(flood)];
        let server = Server::start([acts]).await;
        let provider = provider(&server);
        let error = tokio::time::timeout(Duration::from_secs(60), streamed(&provider))
            .await
            .unwrap()
            .unwrap_err();
        assert_eq!(error.class, FailureClass::BadResponse, "{error}");
        assert!(error.message.contains("MiB"), "{error}");
    }
    let refusal = vec![
        Act::Send(b"HTTP/1.1 500 X\r\n\r\n".to_vec()),
        Act::Flood(vec![b'x'; 1 << 16]),
    ];
    let error = failure(refusal).await;
    assert_eq!(error.class, FailureClass::Overloaded);
    assert!(error.message.len() < 1000);
}

#[tokio::test]
async fn dropping_the_future_ends_the_request() {
    let mut acts = open_stream(&[TEXT]);
    acts.push(Act::Drip(chunk(":\n\n"), 5));
    let server = Server::start([acts]).await;
    let provider = provider(&server);
    let dropped = tokio::time::timeout(Duration::from_millis(100), streamed(&provider)).await;
    assert!(dropped.is_err());
    let left = async {
        while server.connections() != (1, 1) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), left)
        .await
        .expect("the connection closes");
}

#[tokio::test]
async fn a_timeout_may_be_as_long_as_it_likes() {
    let server = Server::start([stream(&[TEXT, STOP, DONE])]).await;
    let patient = provider(&server).timeouts(Timeouts {
        connect: Duration::MAX,
        first_content: Duration::MAX,
        between_content: Duration::MAX,
    });
    assert_eq!(
        streamed(&patient).await.unwrap().content,
        [ContentBlock::text("Hello")]
    );
}

#[tokio::test]
async fn models_are_listed() {
    let models = json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}, {"x": 1}]});
    let refused = json!({"error": {"message": "bad key"}});
    let server = Server::start([
        json_answer(200, &models),
        json_answer(401, &refused),
        answer(200, "", "<html>"),
    ])
    .await;
    let provider = provider(&server);
    assert_eq!(provider.models().await.unwrap(), ["a", "b"]);
    assert_eq!(
        provider.models().await.unwrap_err().class,
        FailureClass::Auth
    );
    assert_eq!(
        provider.models().await.unwrap_err().class,
        FailureClass::BadResponse
    );
    assert!(server.received()[0].head.starts_with("get /v1/models "));
}

/// llama-server drops tools without a word where the template of its model has no place for them.
#[tokio::test]
async fn a_template_without_a_place_for_tools_is_found_out_once() {
    let props = json!({
        "default_generation_settings": {"n_ctx": 2048},
        "chat_template_caps": {"supports_tools": false, "supports_tool_calls": false},
    });
    let server = Server::start([json_answer(200, &props), stream(&[TEXT, STOP, DONE])]).await;
    let quirks = Quirks {
        props: true,
        ..Quirks::COMMON
    };
    let provider = provider(&server).quirks(quirks);
    let messages = [Message::user("Hi")];
    let tools = weather();
    for _ in 0..2 {
        let request = Request {
            tools: Some(&tools),
            tool_choice: ToolChoice::Required,
            ..request(&messages)
        };
        let refused = provider.complete(request, None).await.unwrap_err();
        assert_eq!(refused.class, FailureClass::ToolsUnsupported);
    }
    let about = provider.about("m-1").await.unwrap();
    assert_eq!((about.native_tools, about.window), (false, Some(2048)));
    assert!(
        server.received()[0]
            .head
            .starts_with("get /props?model=m-1 ")
    );
    assert_eq!(server.received().len(), 1);
    // Without tools nothing is asked.
    streamed(&provider).await.unwrap();
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_server_that_tells_nothing_of_its_template_is_sent_tools() {
    let server = Server::start([answer(404, "", "no"), stream(&[TEXT, STOP, DONE])]).await;
    let quirks = Quirks {
        props: true,
        ..Quirks::COMMON
    };
    let provider = provider(&server).quirks(quirks);
    let messages = [Message::user("Hi")];
    let tools = weather();
    let request = Request {
        tools: Some(&tools),
        ..request(&messages)
    };
    let mut seen = Seen::default();
    let reply = provider.complete(request, Some(Box::new(&mut seen))).await;
    assert_eq!(reply.unwrap().content, [ContentBlock::text("Hello")]);
    assert!(server.received()[1].body.contains("\"tools\""));
}
