//! What requests look like on the wire.

use serde_json::{Value, json};

use super::*;
use crate::dialect::Dialect;
use crate::message::{Image, ToolResult};
use crate::provider::Capabilities;
use crate::provider::samples::{BARE, assert_goes_on, call};

const PEER: Peer<'_> = Peer {
    provider: "p",
    quirks: Options {
        window: Some(8192),
        thinking: Thinking::Unsaid,
    },
    capabilities: Capabilities::FULL,
};

fn request<'a>(system: &'a str, messages: &'a [Message]) -> Request<'a> {
    Request {
        model: "qwen3",
        system,
        messages,
        dialect: Dialect::named("ollama").expect("the table has it"),
        ..BARE
    }
}

fn body(request: &Request<'_>, peer: Peer<'_>, stream: bool) -> Value {
    serde_json::from_slice(&encode(request, peer, stream)).expect("a body is JSON")
}

fn results(content: Vec<ContentBlock>) -> Message {
    Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: "c1".into(),
            name: "f".into(),
            content,
            is_error: false,
        })],
    }
}

#[test]
fn options_stand_apart_and_the_window_is_always_set() {
    let messages = [Message::user("Hi")];
    let asked = Request {
        max_output_tokens: Some(99),
        stop: &["</x>"],
        ..request("Be brief.", &messages)
    };
    assert_eq!(
        body(&asked, PEER, true),
        json!({
            "model": "qwen3",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
            ],
            "stream": true,
            "options": {"num_ctx": 8192, "num_predict": 99, "stop": ["</x>"]},
        })
    );
    let servers_own = Peer {
        quirks: Options {
            window: None,
            ..PEER.quirks
        },
        ..PEER
    };
    let plain = request("", &messages);
    assert_eq!(
        body(&plain, servers_own, false),
        json!({"model": "qwen3", "messages": [{"role": "user", "content": "Hi"}], "stream": false})
    );
    let stopped = Request {
        stop: &["x"],
        ..plain
    };
    assert_eq!(
        body(&stopped, servers_own, false)["options"],
        json!({"stop": ["x"]})
    );
}

#[test]
fn a_form_is_the_format() {
    let messages = [Message::user("Hi")];
    let asked = Request {
        form: Some(r#"{"type":"object"}"#),
        ..request("", &messages)
    };
    assert_eq!(
        body(&asked, PEER, false),
        json!({
            "model": "qwen3",
            "messages": [{"role": "user", "content": "Hi"}],
            "stream": false,
            "format": {"type": "object"},
            "options": {"num_ctx": 8192},
        })
    );
}

#[test]
fn arguments_are_objects_and_results_name_their_tool() {
    let conversation = [
        Message::assistant(vec![
            ContentBlock::Reasoning { text: "Hm".into() },
            call("c1", r#"{"a": 1.50}"#),
            call("c2", "[1]"),
        ]),
        results(vec![ContentBlock::text("ok")]),
    ];
    let encoded = encode(&request("", &conversation), PEER, false);
    assert!(
        String::from_utf8_lossy(&encoded).contains(r#""arguments":{"a": 1.50}"#),
        "as the model wrote them"
    );
    let body: Value = serde_json::from_slice(&encoded).unwrap();
    assert_eq!(
        body["messages"],
        json!([
            {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": [
                {"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"a": 1.5}}},
                {"id": "c2", "function": {"index": 1, "name": "f",
                    "arguments": {"unreadable_arguments": "[1]"}}},
            ]},
            {"role": "tool", "content": "ok", "tool_name": "f", "tool_call_id": "c1"},
        ])
    );
}

#[test]
fn images_travel_by_value_only() {
    let conversation = [
        Message {
            role: Role::User,
            content: vec![
                ContentBlock::text("See: "),
                ContentBlock::Image(Image::Data {
                    media_type: "image/png".into(),
                    base64: "QUJD".into(),
                }),
                ContentBlock::Image(Image::Url("data:image/png;base64,REVG".into())),
                ContentBlock::Image(Image::Url("https://h/a.png".into())),
            ],
        },
        results(vec![ContentBlock::Image(Image::Data {
            media_type: "image/png".into(),
            base64: "R0hJ".into(),
        })]),
    ];
    assert_eq!(
        body(&request("", &conversation), PEER, false)["messages"],
        json!([
            {"role": "user", "images": ["QUJD", "REVG"],
                "content": "See: [image left out: this service takes images by value only]"},
            {"role": "tool", "content": "(no text)", "tool_name": "f", "tool_call_id": "c1"},
            {"role": "user", "images": ["R0hJ"], "content": "Images of the tool results above:"},
        ])
    );
}

#[test]
fn a_round_goes_on_from_the_bytes_of_the_last_one() {
    let conversation = [
        Message::user("Hi"),
        Message::assistant(vec![call("c1", "{}")]),
        results(vec![ContentBlock::text("ok")]),
        Message::user("And?"),
    ];
    assert_goes_on(&conversation, request("s", &[]), |it| {
        encode(it, PEER, true)
    });
}

#[test]
fn thinking_is_asked_for_or_forbidden() {
    for (thinking, sent) in [
        (Thinking::Unsaid, Value::Null),
        (Thinking::Adaptive, json!(true)),
        (Thinking::Budget(9), json!(true)),
        (Thinking::Off, json!(false)),
    ] {
        let quirks = Options {
            thinking,
            ..PEER.quirks
        };
        let body = body(&request("", &[]), Peer { quirks, ..PEER }, true);
        assert_eq!(body["think"], sent, "{thinking:?}");
    }
}
