//! What requests look like on the wire.

use serde_json::json;

use super::*;
use crate::dialect::Dialect;
use crate::provider::Capabilities;
use crate::provider::samples::{BARE, assert_goes_on, call, image};

const PEER: Peer<'_> = Peer {
    provider: "p",
    quirks: None,
    capabilities: Capabilities::FULL,
};

fn request<'a>(system: &'a str, messages: &'a [Message]) -> Request<'a> {
    Request {
        system,
        messages,
        dialect: Dialect::named("openai").expect("the table has it"),
        ..BARE
    }
}

fn body(request: &Request<'_>, peer: Peer<'_>, stream: bool) -> Value {
    serde_json::from_slice(&encode(request, peer, stream)).expect("a body is JSON")
}

fn input(messages: &[Message]) -> Value {
    body(&request("", messages), PEER, false)["input"].take()
}

fn results(results: &[(&str, Vec<ContentBlock>, bool)]) -> Message {
    let result = |(id, content, is_error): &(&str, Vec<ContentBlock>, bool)| {
        ContentBlock::ToolResult(ToolResult {
            call_id: (*id).into(),
            name: "f".into(),
            content: content.clone(),
            is_error: *is_error,
        })
    };
    Message {
        role: Role::Tool,
        content: results.iter().map(result).collect(),
    }
}

fn opaque(model: &str, value: Value) -> ContentBlock {
    ContentBlock::Opaque {
        provider: "p".into(),
        model: model.into(),
        value,
    }
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "c3Rhcg==", "status": null})
}

#[test]
fn nothing_is_stored_and_reasoning_is_asked_for_where_there_is_some() {
    let messages = [Message::user("Hi")];
    let reasons = Peer {
        capabilities: Capabilities {
            reasoning: true,
            ..Capabilities::FULL
        },
        ..PEER
    };
    let asked = Request {
        max_output_tokens: Some(99),
        stop: &["</x>"],
        ..request("Be brief.", &messages)
    };
    for (word, effort) in Effort::ALL {
        let hard = Peer {
            quirks: Some(effort),
            ..reasons
        };
        let sent = body(&asked, hard, true);
        assert_eq!(sent["reasoning"], json!({"effort": word}));
        let other = Peer {
            quirks: Some(effort),
            ..PEER
        };
        assert!(body(&asked, other, true).get("reasoning").is_none());
    }
    assert_eq!(
        body(&asked, reasons, true),
        json!({
            "model": "m",
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": "Hi"}],
            "max_output_tokens": 99,
            "stream": true,
        })
    );
    assert_eq!(body(&asked, PEER, false).get("include"), None);
}

#[test]
fn calls_and_results_are_items_paired_by_call_id() {
    let long = "x".repeat(65);
    let conversation = [
        Message::assistant(vec![
            ContentBlock::text("Let me see."),
            call("c1", r#"{"a":"\"é"}"#),
            call(&long, "{\"a\":"),
        ]),
        results(&[
            (
                "c1",
                vec![ContentBlock::text("ok"), image("image/png")],
                false,
            ),
            (&long, vec![ContentBlock::text("no")], true),
        ]),
    ];
    let short = &crate::digest::of(long.as_bytes())[..32];
    assert_eq!(
        input(&conversation),
        json!([
            {"role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": r#"{"a":"\"é"}"#},
            {"type": "function_call", "call_id": short, "name": "f",
                "arguments": r#"{"unreadable_arguments":"{\"a\":"}"#},
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "ok"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"},
            ]},
            {"type": "function_call_output", "call_id": short, "output": "Error: no"},
        ])
    );
}

#[test]
fn reasoning_goes_back_in_its_place_to_the_model_it_came_from() {
    let first = opaque("m", reasoning("rs_1"));
    let second = opaque("m", reasoning("rs_2"));
    let other = opaque("other", reasoning("rs_3"));
    let conversation = [
        Message::user("Hi"),
        Message::assistant(vec![
            ContentBlock::Reasoning { text: "Hm".into() },
            first,
            call("c1", "{}"),
            other,
            second.clone(),
            call("c2", "{}"),
        ]),
        results(&[("c1", vec![], false), ("c2", vec![], false)]),
        // Cut off before it led to anything.
        Message::assistant(vec![second]),
    ];
    let item = |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "c3Rhcg=="});
    let function =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output =
        |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "(no text)"});
    assert_eq!(
        input(&conversation),
        json!([
            {"role": "user", "content": "Hi"},
            item("rs_1"), function("c1"),
            item("rs_2"), function("c2"),
            output("c1"), output("c2"),
        ])
    );
}

#[test]
fn the_phase_of_a_message_goes_back_with_it() {
    let phase = |phase: &str| opaque("m", json!({"phase": phase}));
    let conversation = [Message::assistant(vec![
        phase("commentary"),
        ContentBlock::text("Looking."),
        call("c1", "{}"),
        phase("final_answer"),
        ContentBlock::text("Done."),
        ContentBlock::text("Really."),
    ])];
    let input = input(&conversation);
    assert_eq!(
        input[0],
        json!({"role": "assistant", "content": "Looking.", "phase": "commentary"})
    );
    assert_eq!(
        input[2],
        json!({"role": "assistant", "content": "Done.", "phase": "final_answer"})
    );
    assert_eq!(input[3], json!({"role": "assistant", "content": "Really."}));
}

#[test]
fn images_and_standing_words_have_the_forms_of_this_wire() {
    let conversation = [
        Message {
            role: Role::System,
            content: vec![ContentBlock::text("Be kind.")],
        },
        Message {
            role: Role::User,
            content: vec![
                ContentBlock::text("What is it?"),
                ContentBlock::Image(Image::Url("https://h/a.png".into())),
                image("image/png"),
            ],
        },
    ];
    assert_eq!(
        input(&conversation),
        json!([
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": [
                {"type": "input_text", "text": "What is it?"},
                {"type": "input_image", "detail": "auto", "image_url": "https://h/a.png"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,QUJD"},
            ]},
        ])
    );
    let blind = Peer {
        capabilities: Capabilities {
            vision: false,
            ..Capabilities::FULL
        },
        ..PEER
    };
    let sent = body(&request("", &conversation), blind, false);
    assert_eq!(
        sent["input"][1]["content"],
        "What is it?[image left out: the model takes none][image left out: the model takes none]"
    );
}

#[test]
fn a_round_goes_on_from_the_bytes_of_the_last_one() {
    let conversation = [
        Message::user("Hi"),
        Message::assistant(vec![opaque("m", reasoning("rs_1")), call("c1", "{}")]),
        results(&[("c1", vec![ContentBlock::text("ok")], false)]),
        Message::user("And?"),
    ];
    assert_goes_on(&conversation, request("s", &[]), |it| {
        encode(it, PEER, true)
    });
}
