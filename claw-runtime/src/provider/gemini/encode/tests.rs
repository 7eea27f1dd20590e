//! What requests look like on the wire.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::dialect::Dialect;
use crate::provider::samples::{self, call, image, result, results, toolset};
use crate::provider::{Capabilities, History, Kept};

const PEER: Peer<'_> = Peer {
    provider: "p",
    quirks: Options::COMMON,
    capabilities: Capabilities::FULL,
};

const BARE: Request<'_> = Request {
    model: "gemini-2.5-flash",
    ..samples::BARE
};

fn body(request: Request<'_>, peer: Peer<'_>) -> Value {
    serde_json::from_slice(&encode(&request, peer)).expect("a body is JSON")
}

fn contents(model: &str, messages: &[Message]) -> Value {
    let request = Request {
        model,
        messages,
        ..BARE
    };
    body(request, PEER)["contents"].take()
}

fn tools() -> crate::registry::Toolset {
    let n = json!({"n": {"type": "integer", "maximum": 9}});
    toolset([("a/b", n), ("c", json!({}))])
}

#[test]
fn a_request_has_its_parts_in_the_fields_of_the_format() {
    let tools = tools();
    let conversation = [Message::user("Hi")];
    let request = Request {
        system: "Be brief.",
        messages: &conversation,
        tools: Some(&tools),
        dialect: Dialect::named("gemini").expect("there is one"),
        tool_choice: ToolChoice::None,
        max_output_tokens: Some(99),
        stop: &["1", "2", "3", "4", "5", "6"],
        ..BARE
    };
    let mut peer = PEER;
    peer.quirks.thinking = Thinking::Adaptive;
    let sent = body(request, peer);
    let declared = &sent["tools"][0]["functionDeclarations"];
    let name = declared[0]["name"].as_str().expect("a name");
    assert!(name.starts_with("a_b_"), "{name}");
    assert_eq!(
        sent,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [
                {"name": name, "description": "It.", "parametersJsonSchema": {
                    "type": "object", "properties": {"n": {"type": "integer", "maximum": 9}},
                    "additionalProperties": false,
                }},
                {"name": "c", "description": "It.", "parametersJsonSchema": {
                    "type": "object", "properties": {}, "additionalProperties": false,
                }},
            ]}],
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
            "generationConfig": {
                "maxOutputTokens": 99,
                "stopSequences": ["1", "2", "3", "4", "5"],
                "thinkingConfig": {"includeThoughts": true},
            },
        })
    );
    let older = Request {
        dialect: Dialect::named("gemini-parameters").expect("there is one"),
        tool_choice: ToolChoice::Required,
        ..request
    };
    let sent = body(older, PEER);
    assert_eq!(
        sent["tools"][0]["functionDeclarations"],
        json!([
            {"name": name, "description": "It.", "parameters": {
                "type": "object", "properties": {"n": {"type": "integer", "maximum": 9}},
            }},
            // An object without properties is refused in this field.
            {"name": "c", "description": "It."},
        ])
    );
    assert_eq!(
        sent["toolConfig"],
        json!({"functionCallingConfig": {"mode": "ANY"}})
    );
    let plain = Request {
        messages: &conversation,
        ..BARE
    };
    assert_eq!(
        body(plain, PEER),
        json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})
    );
}

#[test]
fn thinking_is_asked_for_as_the_format_says() {
    for (thinking, sent) in [
        (Thinking::Unsaid, Value::Null),
        (Thinking::Adaptive, json!({"includeThoughts": true})),
        (
            Thinking::Budget(512),
            json!({"includeThoughts": true, "thinkingBudget": 512}),
        ),
        (Thinking::Off, json!({"thinkingBudget": 0})),
    ] {
        let mut peer = PEER;
        peer.quirks.thinking = thinking;
        let config = &body(BARE, peer)["generationConfig"];
        assert_eq!(config["thinkingConfig"], sent, "{thinking:?}");
    }
}

#[test]
fn calls_and_results_are_parts_in_the_same_order() {
    let conversation = [
        Message::assistant(vec![
            ContentBlock::text("Two."),
            call("0123456af", r#" {"a":"\"é"}"#),
            call("call-2", "{}"),
        ]),
        results(vec![
            result("0123456af", vec![ContentBlock::text("ok")], false),
            result("call-2", vec![], true),
        ]),
    ];
    assert_eq!(
        contents("gemini-2.5-pro", &conversation),
        json!([
            {"role": "model", "parts": [
                {"text": "Two."},
                // This id was made here: the service sent none.
                {"functionCall": {"name": "f", "args": {"a": "\"é"}}},
                {"functionCall": {"id": "call-2", "name": "f", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "ok"}}},
                {"functionResponse": {"id": "call-2", "name": "f", "response": {"error": "(no text)"}}},
            ]},
        ])
    );
}

#[test]
fn arguments_that_are_no_object_do_not_spoil_the_next_request() {
    for arguments in ["{\"a\":", "", "[1]", "{a:1}", "{} {}"] {
        let sent = contents("m", &[Message::assistant(vec![call("c", arguments)])]);
        assert_eq!(
            sent[0]["parts"][0]["functionCall"]["args"],
            json!({"unreadable_arguments": arguments})
        );
    }
}

#[test]
fn a_signature_goes_back_on_the_part_it_came_with() {
    let own = |model: &str, value: Value| ContentBlock::Opaque {
        provider: "p".into(),
        model: model.into(),
        value,
    };
    let of_call = |signature: &str| json!({"thoughtSignature": signature, "part": "functionCall"});
    let of_text = json!({"thoughtSignature": "t", "part": "text"});
    let model = "gemini-3-pro";
    let conversation = [
        Message::assistant(vec![
            ContentBlock::Reasoning { text: "Hm".into() },
            own(
                model,
                json!({"text": "Hm", "thought": true, "thoughtSignature": "h"}),
            ),
            ContentBlock::text("a"),
            own(model, of_text.clone()),
            ContentBlock::text("b"),
            own(model, of_call("c")),
            call("c1", "{}"),
            call("c2", "{}"),
            own(model, json!({"text": "", "thoughtSignature": "e"})),
        ]),
        // Of another model, and where its part is gone: a signature belongs to no other part.
        Message::assistant(vec![
            own("gemini-3-flash", of_call("x")),
            call("c3", "{}"),
            own(model, of_text),
            call("c4", "{}"),
        ]),
        Message::assistant(vec![own(
            model,
            json!({"text": "", "thoughtSignature": "alone"}),
        )]),
    ];
    let f = |id: &str| json!({"id": id, "name": "f", "args": {}});
    assert_eq!(
        contents(model, &conversation),
        json!([
            {"role": "model", "parts": [
                {"text": "Hm", "thought": true, "thoughtSignature": "h"},
                {"text": "a"},
                {"text": "b", "thoughtSignature": "t"},
                {"functionCall": f("c1"), "thoughtSignature": "c"},
                {"functionCall": f("c2")},
                {"text": "", "thoughtSignature": "e"},
            ]},
            {"role": "model", "parts": [
                {"functionCall": f("c3"), "thoughtSignature": FOREIGN},
                {"functionCall": f("c4")},
            ]},
        ])
    );
    // An older model knows no signatures, and gets none for a foreign call.
    assert_eq!(
        contents("gemini-2.5-pro", &conversation)[0]["parts"][2],
        json!({"functionCall": f("c1")})
    );
}

#[test]
fn newer_models_want_signatures() {
    for (model, wants) in [
        ("gemini-3-pro-preview", true),
        ("models/gemini-3.1-flash", true),
        ("gemini-10-pro", true),
        ("gemini-flash-latest", true),
        ("gemini-2.5-flash", false),
        ("gemini-exp", false),
        ("gemma-4", false),
    ] {
        assert_eq!(wants_signatures(model), wants, "{model}");
    }
}

#[test]
fn images_go_where_the_format_takes_them() {
    let url = |url: &str| ContentBlock::Image(Image::Url(url.into()));
    let conversation = [
        Message {
            role: Role::User,
            content: vec![
                url("https://h/a.PNG?x=1"),
                url("https://h/a"),
                ContentBlock::text("and"),
                url("data:image/webp;base64,QUJD"),
                image("image/gif"),
            ],
        },
        results(vec![
            result(
                "c",
                vec![ContentBlock::text("a chart"), image("image/png")],
                false,
            ),
            result("d", vec![], false),
        ]),
    ];
    let inline = |media_type: &str| json!({"inlineData": {"mimeType": media_type, "data": "QUJD"}});
    let response = |id: &str, text: &str| json!({"functionResponse": {"id": id, "name": "f", "response": {"output": text}}});
    assert_eq!(
        contents("m", &conversation),
        json!([
            {"role": "user", "parts": [
                {"fileData": {"mimeType": "image/png", "fileUri": "https://h/a.PNG?x=1"}},
                {"fileData": {"fileUri": "https://h/a"}},
                {"text": "and"},
                inline("image/webp"),
                {"text": "[image left out: `image/gif` is not taken]"},
            ]},
            {"role": "user", "parts": [
                response("c", "a chart"),
                response("d", "(no text)"),
                {"text": "Images of the tool results above:"},
                inline("image/png"),
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
        Message {
            role: Role::User,
            content: vec![ContentBlock::text(" ")],
        },
        Message::assistant(vec![ContentBlock::text("\n")]),
    ];
    assert_eq!(
        contents("m", &conversation),
        json!([{"role": "user", "parts": [{"text": "[empty message]"}]}])
    );
}

#[test]
fn results_have_the_name_of_their_call() {
    let tools = tools();
    let mut called = call("c1", "{}");
    let mut given = result("c1", vec![], false);
    if let (ContentBlock::ToolCall(call), ContentBlock::ToolResult(result)) =
        (&mut called, &mut given)
    {
        call.name = "a/b".into();
        result.name = "a/b".into();
    }
    let conversation = [Message::assistant(vec![called]), results(vec![given])];
    for tools in [Some(&tools), None] {
        let request = Request {
            messages: &conversation,
            tools,
            dialect: Dialect::named("gemini").expect("there is one"),
            ..BARE
        };
        let sent = body(request, PEER);
        let name = &sent["contents"][0]["parts"][0]["functionCall"]["name"];
        assert!(name.as_str().expect("a name").starts_with("a_b_"));
        let response = &sent["contents"][1]["parts"][0]["functionResponse"];
        assert_eq!(&response["name"], name);
    }
}

fn said() -> impl Strategy<Value = Vec<Message>> {
    let text = "[a-z\"\\\\é ]{0,8}";
    let round = (text, any::<bool>()).prop_map(|(text, with_image)| {
        let mut content = vec![ContentBlock::text(&text)];
        content.extend(with_image.then(|| image("image/png")));
        vec![
            Message::assistant(vec![call("c", &json!({ "a": text }).to_string())]),
            results(vec![result("c", content, text.is_empty())]),
        ]
    });
    prop_oneof![
        text.prop_map(|text| vec![Message::user(text)]),
        text.prop_map(|text| vec![Message::assistant(vec![ContentBlock::text(text)])]),
        round,
    ]
}

proptest! {
    /// Whatever is said: going on from the last request's bytes gives those of a fresh one.
    #[test]
    fn what_is_kept_is_what_would_be_written(steps in vec((said(), 0..6_u8), 1..16)) {
        let kept = Kept::default();
        let mut conversation = Vec::new();
        let mut peer = PEER;
        for (step, change) in steps {
            conversation.extend(step);
            peer.capabilities.vision ^= change == 0;
            if change == 1 {
                peer.quirks.thinking = Thinking::Budget(9);
            }
            let request = Request {
                model: if change == 2 { "gemini-3-pro" } else { "m" },
                messages: &conversation,
                history: Some(History { settled: conversation.len() - 1, kept: &kept }),
                ..BARE
            };
            let fresh = encode(&Request { history: None, ..request }, peer);
            prop_assert_eq!(&encode(&request, peer), &fresh);
            prop_assert!(serde_json::from_slice::<Value>(&fresh).is_ok());
        }
    }
}

/// Returns parts as a model may send them.
fn parts() -> impl Strategy<Value = Vec<Value>> {
    let text = "[a-z é]{0,6}[a-z]";
    let part = prop_oneof![
        text.prop_map(|text| json!({ "text": text })),
        text.prop_map(|text| json!({"text": text, "thought": true})),
        text.prop_map(|text| json!({"functionCall": {"name": "f", "args": {"a": text}}})),
        Just(json!({"text": ""})),
    ];
    let signature = prop::option::of("[A-Za-z+/]{1,6}");
    let signed = (part, signature).prop_map(|(mut part, signature)| {
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        part
    });
    vec(signed, 1..8)
}

struct Discard;

impl crate::provider::DeltaSink for Discard {
    fn delta(&mut self, _: crate::provider::Delta) {}
}

proptest! {
    /// Whatever a model sends goes back to it: every call and every signature, on the part and in the place it had.
    #[test]
    fn what_came_goes_back(parts in parts(), together in any::<bool>()) {
        let is_signed = |part: &Value| part["thoughtSignature"].is_string();
        let mut expected: Vec<Value> = Vec::new();
        // Whether the last part may take in the next text: what is between them shows nothing.
        let mut is_open = false;
        for part in &parts {
            let is_text = part["text"].is_string() && part["thought"].is_null();
            if !is_signed(part) && (part["thought"] == true || part["text"] == "") {
                is_open &= part["text"] == "";
                continue;
            }
            match expected.last_mut() {
                Some(last) if is_open && is_text && !is_signed(part) => {
                    let both = [&last["text"], &part["text"]].map(|it| it.as_str().unwrap_or_default());
                    last["text"] = both.concat().into();
                }
                _ => expected.push(part.clone()),
            }
            is_open = is_text && !is_signed(part);
        }
        let is_said = |part: &Value| {
            part["functionCall"].is_object() || (part["thought"].is_null() && part["text"] != "")
        };
        if !expected.iter().any(is_said) {
            expected.clear();
        }
        let document = |parts: &[Value], finish: Value| {
            let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": finish});
            format!("data: {}\n\n", json!({"candidates": [candidate]}))
        };
        let body = if together {
            document(&parts, "STOP".into())
        } else {
            let each = parts.iter().map(|part| document(std::slice::from_ref(part), Value::Null));
            each.chain([document(&[], "STOP".into())]).collect()
        };
        let head = crate::provider::Head { status: 200, retry_after: None };
        let mut decoder = super::super::decoder("p", "m", head);
        decoder.feed(body.as_bytes(), &mut Discard);
        let reply = decoder.finish(&mut Discard).expect("a good answer");
        let mut content = reply.content;
        for block in &mut content {
            if let ContentBlock::ToolCall(call) = block {
                // As a call without an id on the wire is named.
                call.id = "0123456af".to_owned();
            }
        }
        let sent = contents("m", &[Message::assistant(content)]);
        let sent = sent.get(0).map_or(json!([]), |message| message["parts"].clone());
        prop_assert_eq!(sent, json!(expected));
    }
}
