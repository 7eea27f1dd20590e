//! What requests look like on the wire.

use serde_json::{Value, json};

use super::*;
use crate::dialect::Dialect;
use crate::message::ToolResult;
use crate::provider::Capabilities;
use crate::provider::samples::{BARE, assert_goes_on, call};

const BLIND: Peer<'_> = Peer {
    provider: "p",
    quirks: Options {
        pieces: Pieces::New,
        thinking: Thinking::Unsaid,
    },
    capabilities: Capabilities {
        vision: false,
        ..Capabilities::FULL
    },
};

const SEES: Peer<'_> = Peer {
    capabilities: Capabilities::FULL,
    ..BLIND
};

fn request<'a>(system: &'a str, messages: &'a [Message]) -> Request<'a> {
    Request {
        model: "qwen-plus",
        system,
        messages,
        dialect: Dialect::named("dashscope").expect("the table has it"),
        ..BARE
    }
}

fn body(request: &Request<'_>, peer: Peer<'_>) -> Value {
    serde_json::from_slice(&encode(request, peer)).expect("a body is JSON")
}

fn conversation() -> [Message; 3] {
    [
        Message {
            role: Role::User,
            content: vec![
                ContentBlock::text("What is it?"),
                ContentBlock::Image(Image::Data {
                    media_type: "image/png".into(),
                    base64: "QUJD".into(),
                }),
                ContentBlock::Image(Image::Url("https://h/a.png".into())),
            ],
        },
        Message::assistant(vec![call("c1", r#"{"a":1}"#), call("c2", "{")]),
        Message {
            role: Role::Tool,
            content: vec![ContentBlock::ToolResult(ToolResult {
                call_id: "c1".into(),
                name: "f".into(),
                content: vec![ContentBlock::text("no such city")],
                is_error: true,
            })],
        },
    ]
}

fn calls() -> Value {
    json!([
        {"index": 0, "id": "c1", "type": "function",
            "function": {"name": "f", "arguments": r#"{"a":1}"#}},
        {"index": 1, "id": "c2", "type": "function",
            "function": {"name": "f", "arguments": r#"{"unreadable_arguments":"{"}"#}},
    ])
}

#[test]
fn messages_are_input_and_all_else_parameters() {
    let messages = [Message::user("Hi")];
    let asked = Request {
        max_output_tokens: Some(99),
        stop: &["</x>"],
        ..request("Be brief.", &messages)
    };
    assert_eq!(
        body(&asked, BLIND),
        json!({
            "model": "qwen-plus",
            "input": {"messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
            ]},
            "parameters": {
                "result_format": "message",
                "incremental_output": true,
                "max_tokens": 99,
                "stop": ["</x>"],
            },
        })
    );
    let repeats = Peer {
        quirks: Options {
            pieces: Pieces::All,
            ..BLIND.quirks
        },
        ..BLIND
    };
    assert_eq!(
        body(&asked, repeats)["parameters"]["incremental_output"],
        false
    );
}

#[test]
fn a_model_that_reads_only_gets_texts() {
    let text =
        "What is it?[image left out: the model takes none][image left out: the model takes none]";
    assert_eq!(
        body(&request("", &conversation()), BLIND)["input"]["messages"],
        json!([
            {"role": "user", "content": text},
            {"role": "assistant", "content": "", "tool_calls": calls()},
            {"role": "tool", "content": "Error: no such city", "tool_call_id": "c1"},
        ])
    );
}

#[test]
fn a_model_that_sees_gets_lists_without_types() {
    assert_eq!(
        body(&request("Look.", &conversation()), SEES)["input"]["messages"],
        json!([
            {"role": "system", "content": [{"text": "Look."}]},
            {"role": "user", "content": [
                {"image": "data:image/png;base64,QUJD"},
                {"image": "https://h/a.png"},
                {"text": "What is it?"},
            ]},
            {"role": "assistant", "content": [{"text": ""}], "tool_calls": calls()},
            {"role": "tool", "content": [{"text": "Error: no such city"}], "tool_call_id": "c1"},
        ])
    );
}

#[test]
fn a_round_goes_on_from_the_bytes_of_the_last_one() {
    let conversation = conversation();
    assert_goes_on(&conversation, request("s", &[]), |it| encode(it, SEES));
}

#[test]
fn thinking_is_asked_for_bounded_or_forbidden() {
    for (thinking, enabled, budget) in [
        (Thinking::Unsaid, Value::Null, Value::Null),
        (Thinking::Adaptive, json!(true), Value::Null),
        (Thinking::Budget(9), json!(true), json!(9)),
        (Thinking::Off, json!(false), Value::Null),
    ] {
        let quirks = Options {
            thinking,
            ..BLIND.quirks
        };
        let body = body(&request("", &[]), Peer { quirks, ..BLIND });
        let parameters = &body["parameters"];
        assert_eq!(parameters["enable_thinking"], enabled, "{thinking:?}");
        assert_eq!(parameters["thinking_budget"], budget, "{thinking:?}");
    }
}
