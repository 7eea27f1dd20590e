//! What requests look like on the wire.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::dialect::Dialect;
use crate::provider::samples::{BARE, call, image, result, results, toolset, user};
use crate::provider::{Capabilities, History, Kept};

const PEER: Peer<'_> = Peer {
    provider: "p",
    quirks: Options::COMMON,
    capabilities: Capabilities::FULL,
};

fn body(request: Request<'_>, peer: Peer<'_>) -> Value {
    serde_json::from_slice(&encode(&request, peer, false)).expect("a body is JSON")
}

/// Returns the messages as they are sent without marks.
fn messages(messages: &[Message]) -> Value {
    let mut peer = PEER;
    peer.quirks.cache = false;
    body(Request { messages, ..BARE }, peer)["messages"].take()
}

fn tools() -> crate::registry::Toolset {
    let n = json!({"n": {"type": "integer", "maximum": 9}});
    toolset([("a.b", n.clone()), ("c", n)])
}

#[test]
fn a_request_has_what_the_format_requires_and_its_marks() {
    let tools = tools();
    let conversation = [
        Message::user("Hi"),
        Message::assistant(vec![ContentBlock::text("Yes?")]),
        Message::user("Go"),
    ];
    let request = Request {
        system: "Be brief.",
        messages: &conversation,
        tools: Some(&tools),
        dialect: Dialect::named("anthropic").expect("there is one"),
        stop: &["</x>"],
        ..BARE
    };
    let mark = json!({"type": "ephemeral"});
    let schema = json!({
        "type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "additionalProperties": false,
    });
    let sent = body(request, PEER);
    let name = sent["tools"][0]["name"].as_str().expect("a name");
    assert!(name.starts_with("a_b_"), "{name}");
    let text = |text: &str| json!({"type": "text", "text": text});
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": mark});
    assert_eq!(
        sent,
        json!({
            "model": "m",
            "tools": [
                {"name": name, "description": "It.", "input_schema": schema},
                {"name": "c", "description": "It.", "input_schema": schema, "cache_control": mark},
            ],
            "system": [marked("Be brief.")],
            "messages": [
                {"role": "user", "content": [marked("Hi")]},
                {"role": "assistant", "content": [text("Yes?")]},
                {"role": "user", "content": [marked("Go")]},
            ],
            "max_tokens": 16_384,
            "stop_sequences": ["</x>"],
        })
    );
    let mut peer = PEER;
    peer.quirks.cache = false;
    assert!(!body(request, peer).to_string().contains("cache_control"));
    let streamed: Value = serde_json::from_slice(&encode(&request, PEER, true)).expect("JSON");
    assert_eq!(streamed["stream"], true);
    let strict = Request {
        dialect: Dialect::named("anthropic-strict").expect("there is one"),
        ..request
    };
    assert_eq!(body(strict, PEER)["tools"][0]["strict"], true);
}

#[test]
fn the_choice_of_calling_is_said_only_where_tools_are() {
    let tools = tools();
    for (tool_choice, thinking, sent) in [
        (ToolChoice::Auto, Thinking::Unsaid, Value::Null),
        (
            ToolChoice::None,
            Thinking::Adaptive,
            json!({"type": "none"}),
        ),
        (
            ToolChoice::Required,
            Thinking::Unsaid,
            json!({"type": "any"}),
        ),
        // Both at once are refused.
        (ToolChoice::Required, Thinking::Adaptive, Value::Null),
    ] {
        let mut peer = PEER;
        peer.quirks.thinking = thinking;
        let with = Request {
            tools: Some(&tools),
            tool_choice,
            ..BARE
        };
        assert_eq!(body(with, peer)["tool_choice"], sent);
        let without = Request {
            tool_choice,
            ..BARE
        };
        assert_eq!(body(without, peer)["tool_choice"], Value::Null);
    }
}

#[test]
fn thinking_fits_into_the_output_limit() {
    for (thinking, limit, sent) in [
        (Thinking::Unsaid, None, Value::Null),
        (Thinking::Off, None, json!({"type": "disabled"})),
        (Thinking::Adaptive, Some(10), json!({"type": "adaptive"})),
        (
            Thinking::Budget(4_000),
            None,
            json!({"type": "enabled", "budget_tokens": 4_000}),
        ),
        (
            Thinking::Budget(4_000),
            Some(2_000),
            json!({"type": "enabled", "budget_tokens": 1_999}),
        ),
        (
            Thinking::Budget(1),
            Some(2_000),
            json!({"type": "enabled", "budget_tokens": 1_024}),
        ),
        (Thinking::Budget(4_000), Some(1_024), Value::Null),
    ] {
        let mut peer = PEER;
        peer.quirks.thinking = thinking;
        let request = Request {
            max_output_tokens: limit,
            ..BARE
        };
        let sent_body = body(request, peer);
        assert_eq!(sent_body["thinking"], sent, "{thinking:?} in {limit:?}");
        assert_eq!(sent_body["max_tokens"], limit.unwrap_or(16_384));
    }
}

#[test]
fn calls_and_results_are_blocks_paired_by_id() {
    let conversation = [
        Message::assistant(vec![
            ContentBlock::text("Two."),
            call("toolu_1", r#" {"a":"\"é"}"#),
            call("functions.f:0", "{}"),
        ]),
        results(vec![
            result("toolu_1", vec![ContentBlock::text("ok")], false),
            result("functions.f:0", vec![], true),
        ]),
    ];
    let sent = messages(&conversation);
    let made = sent[0]["content"][2]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(made.starts_with("toolu_") && made.len() == 30, "{made}");
    assert_eq!(
        sent,
        json!([
            {"role": "assistant", "content": [
                {"type": "text", "text": "Two."},
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": "\"é"}},
                {"type": "tool_use", "id": made, "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"},
                {"type": "tool_result", "tool_use_id": made, "content": "(no text)", "is_error": true},
            ]},
        ])
    );
}

#[test]
fn arguments_that_are_no_object_do_not_spoil_the_next_request() {
    for arguments in ["{\"a\":", "", "[1]", "{a:1}", "{} {}"] {
        let sent = messages(&[Message::assistant(vec![call("c", arguments)])]);
        assert_eq!(
            sent[0]["content"][0]["input"],
            json!({"unreadable_arguments": arguments})
        );
    }
}

#[test]
fn thinking_goes_back_to_the_model_it_came_from_as_it_came() {
    let own = |model: &str, value: Value| ContentBlock::Opaque {
        provider: "p".into(),
        model: model.into(),
        value,
    };
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "Eq=="});
    let redacted = json!({"type": "redacted_thinking", "data": "xyz"});
    let reasoning = ContentBlock::Reasoning { text: "a".into() };
    let conversation = [
        Message::assistant(vec![
            reasoning.clone(),
            own("m", thinking(" a\n")),
            own("m", redacted.clone()),
            own("other", thinking("b")),
            own("m", json!({"refusal": "of another format"})),
            call("c1", "{}"),
            own("m", thinking("")),
            call("c2", "{}"),
            // A message may not end with it.
            own("m", thinking("cut off")),
        ]),
        Message::assistant(vec![reasoning, own("m", thinking("alone"))]),
        Message::assistant(vec![ContentBlock::text(" \n")]),
    ];
    let tool_use = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    assert_eq!(
        messages(&conversation),
        json!([{"role": "assistant", "content": [
            thinking(" a\n"), redacted, tool_use("c1"), thinking(""), tool_use("c2"),
        ]}])
    );
}

#[test]
fn images_go_where_the_format_takes_them() {
    let url = |url: &str| ContentBlock::Image(Image::Url(url.into()));
    let conversation = [
        user(vec![
            url("https://h/a.png"),
            ContentBlock::text("and"),
            url("data:image/webp;base64,QUJD"),
            image("image/bmp"),
        ]),
        results(vec![result(
            "c",
            vec![ContentBlock::text("a chart"), image("image/png")],
            false,
        )]),
    ];
    let base64 = |media_type: &str| {
        json!({"type": "image",
            "source": {"type": "base64", "media_type": media_type, "data": "QUJD"}})
    };
    assert_eq!(
        messages(&conversation),
        json!([
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "url", "url": "https://h/a.png"}},
                {"type": "text", "text": "and"},
                base64("image/webp"),
                {"type": "text", "text": "[image left out: `image/bmp` is not taken]"},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c",
                    "content": [{"type": "text", "text": "a chart"}, base64("image/png")]},
            ]},
        ])
    );
    let mut blind = PEER;
    blind.capabilities.vision = false;
    let request = Request {
        messages: &conversation,
        ..BARE
    };
    let sent = body(request, blind).to_string();
    assert!(!sent.contains("QUJD") && sent.contains("[image left out: the model takes none]"));
}

#[test]
fn nothing_blank_is_sent() {
    let conversation = [
        user(vec![ContentBlock::text(" "), ContentBlock::text("a")]),
        user(vec![ContentBlock::text("")]),
    ];
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(
        messages(&conversation),
        json!([
            {"role": "user", "content": text("a")},
            {"role": "user", "content": text("[empty message]")},
        ])
    );
    let blank = Request {
        system: " \n",
        ..BARE
    };
    assert_eq!(body(blank, PEER)["system"], Value::Null);
}

#[test]
fn the_list_of_models_is_read() {
    let body = json!({"data": [{"type": "model", "id": "a"}, {"id": "b"}, 3], "has_more": false});
    assert_eq!(model_ids(&body), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(model_ids(&json!({"error": "x"})), None);
}

fn said() -> impl Strategy<Value = Vec<Message>> {
    let text = "[a-z\"\\\\é ]{0,8}";
    let round = (vec(text, 1..4), any::<bool>()).prop_map(|(texts, with_image)| {
        let calls = texts.iter().enumerate();
        let calls =
            calls.map(|(at, text)| call(&format!("c{at}"), &json!({ "a": text }).to_string()));
        let given = texts.iter().enumerate().map(|(at, text)| {
            let mut content = vec![ContentBlock::text(text)];
            content.extend(with_image.then(|| image("image/png")));
            result(&format!("c{at}"), content, text.is_empty())
        });
        vec![
            Message::assistant(calls.collect()),
            results(given.collect()),
        ]
    });
    prop_oneof![
        text.prop_map(|text| vec![Message::user(text)]),
        text.prop_map(|text| vec![Message::assistant(vec![ContentBlock::text(text)])]),
        round,
    ]
}

fn marks(body: &Value) -> usize {
    body.to_string().matches("cache_control").count()
}

proptest! {
    /// Whatever is said: going on from the last request's bytes gives those of a fresh one, with at most four marks.
    #[test]
    fn what_is_kept_is_what_would_be_written(
        steps in vec((said(), 0..6_u8), 1..16),
        system in "[a-z ]{0,8}",
    ) {
        let kept = Kept::default();
        let tools = tools();
        let mut conversation = Vec::new();
        let mut peer = PEER;
        for (step, change) in steps {
            conversation.extend(step);
            peer.capabilities.vision ^= change == 0;
            peer.quirks.cache ^= change == 1;
            let mut sent = conversation.clone();
            let settled = sent.len() - 1;
            if change == 2 {
                sent.push(Message::user("again"));
            }
            let request = Request {
                system: &system,
                messages: &sent,
                tools: Some(&tools),
                history: Some(History { settled, kept: &kept }),
                ..BARE
            };
            let fresh = encode(&Request { history: None, ..request }, peer, false);
            prop_assert_eq!(&encode(&request, peer, false), &fresh);
            let body: Value = serde_json::from_slice(&fresh).expect("a body is JSON");
            prop_assert!(marks(&body) <= 4);
        }
    }
}

#[test]
fn a_request_goes_on_in_the_bytes_of_the_last() {
    let kept = Kept::default();
    let mut conversation = vec![Message::user("x".repeat(10_000))];
    let mut last = None;
    for round in 0..20 {
        conversation.push(Message::assistant(vec![call(&format!("c{round}"), "{}")]));
        let answer = result(&format!("c{round}"), vec![ContentBlock::text("ok")], false);
        conversation.push(results(vec![answer]));
        let request = Request {
            messages: &conversation,
            history: Some(History {
                settled: conversation.len() - 1,
                kept: &kept,
            }),
            ..BARE
        };
        let at = encode(&request, PEER, false).as_ptr();
        // The first rounds may still find room.
        if round > 2 {
            assert_eq!(last, Some(at), "round {round} copied the conversation");
        }
        last = Some(at);
    }
}

/// Returns blocks as a model may send them, ids apart.
fn blocks() -> impl Strategy<Value = Vec<Value>> {
    let text = "[a-z é]{0,6}[a-z]";
    let block = prop_oneof![
        text.prop_map(|text| json!({"type": "text", "text": text})),
        (" ?[a-z]{0,4}\n?", "[A-Za-z+/]{0,6}").prop_map(|(thinking, signature)| {
            json!({"type": "thinking", "thinking": thinking, "signature": signature})
        }),
        "[a-z]{1,4}".prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
        text.prop_map(|text| json!({"type": "tool_use", "name": "f", "input": {"a": text}})),
    ];
    vec(block, 1..8).prop_map(|mut blocks| {
        for (at, block) in blocks.iter_mut().enumerate() {
            if block["type"] == "tool_use" {
                block["id"] = format!("toolu_{at}").into();
            }
        }
        blocks
    })
}

/// Returns the events that stream a block in two pieces.
fn events(index: usize, block: &Value) -> String {
    let mut begun = block.clone();
    let mut deltas = Vec::new();
    let mut cut = |field: &str, delta: &str, key: &str, text: &str| {
        let at = text.chars().next().map_or(0, char::len_utf8);
        begun[field] = if field == "input" {
            json!({})
        } else {
            "".into()
        };
        for piece in [&text[..at], &text[at..]] {
            deltas.push(json!({"type": delta, key: piece}));
        }
    };
    let of = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => cut("text", "text_delta", "text", &of("text")),
        Some("thinking") => {
            cut("thinking", "thinking_delta", "thinking", &of("thinking"));
            cut(
                "signature",
                "signature_delta",
                "signature",
                &of("signature"),
            );
        }
        Some("tool_use") => {
            cut(
                "input",
                "input_json_delta",
                "partial_json",
                &block["input"].to_string(),
            );
        }
        _ => {}
    }
    let mut out = format!(
        "data: {}\n\n",
        json!({"type": "content_block_start", "index": index, "content_block": begun})
    );
    for delta in deltas {
        let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
        out.push_str(&format!("data: {event}\n\n"));
    }
    let end = json!({"type": "content_block_stop", "index": index});
    out + &format!("data: {end}\n\n")
}

struct Discard;

impl crate::provider::DeltaSink for Discard {
    fn delta(&mut self, _: crate::provider::Delta) {}
}

proptest! {
    /// Whatever a model sends, streamed or whole, goes back to it as it came: every block, in its order.
    #[test]
    fn what_came_goes_back(blocks in blocks()) {
        let mut expected: Vec<Value> = Vec::new();
        for block in &blocks {
            match expected.last_mut() {
                // Neighbouring texts are one.
                Some(last) if last["type"] == "text" && block["type"] == "text" => {
                    let both = [&last["text"], &block["text"]].map(|it| it.as_str().unwrap_or_default());
                    last["text"] = both.concat().into();
                }
                _ => expected.push(block.clone()),
            }
        }
        let is_said = |block: &Value| matches!(block["type"].as_str(), Some("text" | "tool_use"));
        expected.truncate(expected.iter().rposition(is_said).map_or(0, |last| last + 1));
        let mut stream: String = blocks.iter().enumerate().map(|(at, block)| events(at, block)).collect();
        stream.push_str("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n");
        stream.push_str("data: {\"type\":\"message_stop\"}\n\n");
        let whole = json!({"type": "message", "content": blocks, "stop_reason": "end_turn"}).to_string();
        for body in [stream, whole] {
            let head = crate::provider::Head { status: 200, retry_after: None };
            let mut decoder = super::super::decoder("p", "m", head);
            decoder.feed(body.as_bytes(), &mut Discard);
            let reply = decoder.finish(&mut Discard).expect("a good answer");
            let sent = messages(&[Message::assistant(reply.content)]);
            let sent = sent.get(0).map_or(json!([]), |message| message["content"].clone());
            prop_assert_eq!(sent, json!(expected));
        }
    }
}
