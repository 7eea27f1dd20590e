//! What requests look like on the wire.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::dialect::Dialect;
use crate::provider::prefix::Body as _;
use crate::provider::samples::{BARE, call, image, result, results, toolset};
use crate::provider::{Capabilities, History, Kept};

const PEER: Peer<'_> = Peer {
    provider: "p",
    quirks: Quirks::COMMON,
    capabilities: Capabilities::FULL,
};

fn messages(system: &str, messages: &[Message], peer: Peer<'_>) -> Value {
    let request = Request {
        system,
        messages,
        dialect: Dialect::named("openai").expect("the table has it"),
        ..BARE
    };
    let body = encode(&request, peer, false);
    let mut body: Value = serde_json::from_slice(&body).expect("a body is JSON");
    body["messages"].take()
}

#[test]
fn calls_and_results_are_paired_by_id() {
    let conversation = [
        Message::assistant(vec![call("c1", r#"{"a":"\"é"}"#), call("c2", "{}")]),
        results(vec![
            result("c1", vec![ContentBlock::text("ok")], false),
            result("c2", vec![], false),
        ]),
        Message::assistant(vec![ContentBlock::text("Done.")]),
    ];
    let function = |arguments: &str| json!({"name": "f", "arguments": arguments});
    assert_eq!(
        messages("", &conversation, PEER),
        json!([
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": function(r#"{"a":"\"é"}"#)},
                {"id": "c2", "type": "function", "function": function("{}")},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
            {"role": "tool", "tool_call_id": "c2", "content": "(no text)"},
            {"role": "assistant", "content": "Done."},
        ])
    );
}

#[test]
fn a_failed_call_says_so_once() {
    let texts = [
        "city unknown",
        "Error: city unknown",
        "Tool call to `f` was not run: x",
        "é",
    ];
    let content = texts.map(|text| result("c", vec![ContentBlock::text(text)], true));
    let encoded = messages("", &[results(content.into())], PEER);
    let read: Vec<&str> = encoded
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        read,
        ["Error: city unknown", texts[1], texts[2], "Error: é"]
    );
}

#[test]
fn arguments_that_are_no_object_do_not_spoil_the_next_request() {
    for arguments in ["{\"a\":", "", "[1]", "{a:1}", "{} {}"] {
        let encoded = messages("", &[Message::assistant(vec![call("c", arguments)])], PEER);
        let sent = encoded[0]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap();
        let sent: Value = serde_json::from_str(sent).unwrap();
        assert_eq!(sent, json!({"unreadable_arguments": arguments}));
    }
}

#[test]
fn a_name_that_no_tool_may_have_does_not_spoil_the_next_request() {
    let long = "x".repeat(65);
    for (name, begins, is_kept) in [
        ("read_file-2", "read_file-2", true),
        ("functions.read file", "functions_read_file_", false),
        ("wétter\u{0}", "w_tter__", false),
        ("", "_", false),
        (&long, &long[..55], false),
    ] {
        let made_up = ContentBlock::ToolCall(ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments: "{}".into(),
        });
        let encoded = messages("", &[Message::assistant(vec![made_up])], PEER);
        let sent = encoded[0]["tool_calls"][0]["function"]["name"]
            .as_str()
            .unwrap();
        assert!(sent.starts_with(begins), "{name} -> {sent}");
        assert_eq!(sent == name, is_kept, "{name} -> {sent}");
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(
            (1..=64).contains(&sent.len()) && sent.chars().all(is_allowed),
            "{sent}"
        );
    }
}

#[test]
fn images_go_where_the_format_takes_them() {
    let conversation = [
        Message {
            role: Role::User,
            content: vec![
                ContentBlock::text("Look"),
                ContentBlock::Image(Image::Url("https://h/a.png".into())),
            ],
        },
        results(vec![result(
            "c",
            vec![ContentBlock::text("a chart"), image("image/png")],
            false,
        )]),
    ];
    let url = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    assert_eq!(
        messages("", &conversation, PEER),
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Look"},
                url("https://h/a.png"),
            ]},
            {"role": "tool", "tool_call_id": "c", "content": "a chart"},
            {"role": "user", "content": [
                {"type": "text", "text": "Images of the tool results above:"},
                url("data:image/png;base64,QUJD"),
            ]},
        ])
    );
    let mut blind = PEER;
    blind.capabilities.vision = false;
    assert_eq!(
        messages("", &conversation, blind),
        json!([
            {"role": "user", "content": "Look[image left out: the model takes none]"},
            {"role": "tool", "tool_call_id": "c",
                "content": "a chart[image left out: the model takes none]"},
        ])
    );
}

#[test]
fn a_model_without_system_role_reads_instructions_in_the_first_user_message() {
    let mut peer = PEER;
    peer.capabilities.system_role = false;
    let expected = json!([{"role": "user", "content": "Be brief.\n\nHi"}]);
    assert_eq!(
        messages("Be brief.", &[Message::user("Hi")], peer),
        expected
    );
    let alone = json!([{"role": "user", "content": "Be brief."}]);
    assert_eq!(messages("Be brief.", &[], peer), alone);
}

#[test]
fn reasoning_goes_back_only_where_it_is_asked_for() {
    let opaque = |model: &str| ContentBlock::Opaque {
        provider: "p".into(),
        model: model.into(),
        value: json!({"reasoning_details": [{"data": model}]}),
    };
    let reasoning = ContentBlock::Reasoning { text: "Hm.".into() };
    let said = vec![reasoning, opaque("other"), opaque("m"), call("c", "{}")];
    let conversation = [
        Message::assistant(said),
        Message::assistant(vec![call("c", "{}")]),
        Message::assistant(vec![ContentBlock::text("Done.")]),
    ];
    let plain = messages("", &conversation, PEER);
    assert_eq!(plain[0].get("reasoning_content"), None);
    assert_eq!(plain[0]["reasoning_details"], json!([{"data": "m"}]));
    let mut peer = PEER;
    peer.quirks.replay = Replay::WithCalls;
    let replayed = messages("", &conversation, peer);
    assert_eq!(replayed[0]["reasoning_content"], "Hm.");
    assert_eq!(replayed[1]["reasoning_content"], "", "empty is not absent");
    assert_eq!(replayed[2].get("reasoning_content"), None);
}

#[test]
fn foreign_ids_are_shortened_alike_in_call_and_result() {
    let mut peer = PEER;
    peer.quirks.short_call_ids = true;
    let long = "call_0123456789";
    let conversation = [
        Message::assistant(vec![call(long, "{}"), call("D681PevKs", "{}")]),
        results(vec![
            result(long, vec![], false),
            result("D681PevKs", vec![], false),
        ]),
    ];
    let encoded = messages("", &conversation, peer);
    let id = encoded[0]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{id}"
    );
    assert_eq!(encoded[1]["tool_call_id"], id);
    assert_eq!(encoded[0]["tool_calls"][1]["id"], "D681PevKs");
    assert_eq!(encoded[2]["tool_call_id"], "D681PevKs");
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let conversation = [
        Message::user("a"),
        Message::assistant(vec![call("c", "{}")]),
        results(vec![result("c", vec![image("image/png")], false)]),
        Message::assistant(vec![]),
        Message::user("b"),
    ];
    let request = Request {
        messages: &[],
        dialect: Dialect::CANONICAL,
        ..BARE
    };
    let bytes = |messages: &[Message]| {
        let mut body = Body {
            out: Buffer::new(),
            request: &request,
            stream: false,
            peer: PEER,
            fold: String::new(),
            offer: None,
        };
        body.messages(messages);
        body.out.as_bytes().to_vec()
    };
    let whole = bytes(&conversation);
    for end in 0..conversation.len() {
        assert!(whole.starts_with(&bytes(&conversation[..end])));
    }
    let text = String::from_utf8(whole).unwrap();
    assert!(
        !text.contains("\"content\":null}"),
        "nobody says nothing: {text}"
    );
}

#[test]
fn the_list_of_models_is_read_in_the_forms_in_use() {
    let ids = Some(vec!["a".to_owned(), "b".to_owned()]);
    for body in [
        json!({"data": [{"id": "a"}, {"id": "b"}, 3]}),
        json!({"models": [{"name": "a"}, {"name": "b"}]}),
        json!([{"id": "a"}, {"id": "b"}]),
    ] {
        assert_eq!(model_ids(&body), ids);
    }
    assert_eq!(model_ids(&json!({"error": "x"})), None);
}

/// What happens between two requests of a session.
#[derive(Clone, Debug)]
enum Said {
    User(String),
    Calls(Vec<String>, bool),
    Assistant(String),
    Standing(String),
    /// Nothing: the model is asked again, with a word that only this request carries.
    Again(String),
}

fn said() -> impl Strategy<Value = Said> {
    let text = "[a-z\"\\\\é\u{1F600} ]{0,12}";
    prop_oneof![
        text.prop_map(Said::User),
        (vec(text, 1..3), any::<bool>()).prop_map(|(calls, image)| Said::Calls(calls, image)),
        text.prop_map(Said::Assistant),
        text.prop_map(Said::Standing),
        text.prop_map(Said::Again),
    ]
}

fn say(conversation: &mut Vec<Message>, said: &Said) {
    match said {
        Said::User(text) => match conversation.last_mut() {
            // The last message alone may still grow.
            Some(last) if last.role == Role::User => last.content.push(ContentBlock::text(text)),
            _ => conversation.push(Message::user(text)),
        },
        Said::Calls(calls, with_image) => {
            let at = conversation.len();
            let ids: Vec<_> = (0..calls.len()).map(|nth| format!("c{at}-{nth}")).collect();
            let asked = ids.iter().zip(calls);
            let asked = asked.map(|(id, text)| call(id, &json!({ "a": text }).to_string()));
            conversation.push(Message::assistant(asked.collect()));
            let given = ids.iter().zip(calls).map(|(id, text)| {
                let mut content = vec![ContentBlock::text(text)];
                content.extend(with_image.then(|| image("image/png")));
                result(id, content, text.is_empty())
            });
            conversation.push(results(given.collect()));
        }
        Said::Assistant(text) => {
            conversation.push(Message::assistant(vec![ContentBlock::text(text)]));
        }
        Said::Standing(text) => conversation.push(Message {
            role: Role::System,
            content: vec![ContentBlock::text(text)],
        }),
        Said::Again(_) => {}
    }
}

proptest! {
    /// Whatever is said, and whoever is asked: going on from the last request's bytes gives those of a fresh one.
    #[test]
    fn what_is_kept_is_what_would_be_written(
        steps in vec((said(), 0..8_u8), 1..24),
        system in "[a-z ]{0,8}",
    ) {
        let kept = Kept::default();
        let mut conversation = Vec::new();
        let mut peer = PEER;
        for (step, change) in &steps {
            say(&mut conversation, step);
            match change {
                0 => peer.capabilities.vision ^= true,
                1 => peer.capabilities.system_role ^= true,
                2 => peer.quirks.short_call_ids ^= true,
                _ => {}
            }
            let mut sent = conversation.clone();
            let settled = sent.len().saturating_sub(1);
            if let Said::Again(text) = step {
                sent.push(Message::user(text));
            }
            let request = Request {
                model: if *change == 3 { "other" } else { "m" },
                system: &system,
                messages: &sent,
                history: Some(History { settled, kept: &kept }),
                tools: None,
                dialect: Dialect::CANONICAL,
                tool_choice: ToolChoice::Auto,
                max_output_tokens: (*change == 4).then_some(9),
                stop: &[],
                form: (*change == 6).then_some("{}"),
            };
            let fresh = encode(&Request { history: None, ..request }, peer, *change == 5);
            prop_assert_eq!(encode(&request, peer, *change == 5), fresh);
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
            system: "s",
            messages: &conversation,
            history: Some(History {
                settled: conversation.len() - 1,
                kept: &kept,
            }),
            dialect: Dialect::CANONICAL,
            ..BARE
        };
        let body = encode(&request, PEER, false);
        let at = body.as_ptr();
        // The first two rounds may still find room.
        if round > 2 {
            assert_eq!(last, Some(at), "round {round} copied the conversation");
        }
        last = Some(at);
    }
}

#[test]
fn tools_and_earlier_calls_are_written_in_the_dialect() {
    let tools = toolset([("a.b", json!({"n": {"type": "integer"}}))]);
    let mut earlier = call("c", "{}");
    let ContentBlock::ToolCall(of_tool) = &mut earlier else {
        unreachable!("it is one");
    };
    of_tool.name = "a.b".into();
    let request = Request {
        messages: &[Message::assistant(vec![earlier])],
        tools: Some(&tools),
        dialect: Dialect::named("deepseek-strict").expect("there is one"),
        ..BARE
    };
    let body: Value =
        serde_json::from_slice(&encode(&request, PEER, false)).expect("a body is JSON");
    let function = &body["tools"][0]["function"];
    let name = function["name"].as_str().expect("a name");
    assert!(name.starts_with("a_b_"), "{name}");
    assert_eq!(
        function,
        &json!({
            "name": name, "description": "It.", "strict": true,
            "parameters": {
                "type": "object", "properties": {"n": {"type": ["integer", "null"]}},
                "required": ["n"], "additionalProperties": false,
            },
        })
    );
    assert_eq!(
        body["messages"][0]["tool_calls"][0]["function"],
        json!({"name": name, "arguments": "{\"n\":null}"})
    );
}

#[test]
fn reasoning_goes_back_as_each_service_wants_it() {
    let thought = ContentBlock::Reasoning {
        text: "Hm\n".into(),
    };
    let conversation = [
        Message::assistant(vec![thought.clone(), call("c1", "{}")]),
        Message::assistant(vec![call("c2", "{}")]),
        Message::assistant(vec![thought, ContentBlock::text("Done.")]),
    ];
    let sent = |replay| {
        let mut peer = PEER;
        peer.quirks.replay = replay;
        let sent = messages("", &conversation, peer);
        let field = |at: usize| sent[at]["reasoning_content"].as_str().map(str::to_owned);
        let text = |at: usize| sent[at]["content"].as_str().map(str::to_owned);
        ([field(0), field(1), field(2)], [text(0), text(2)])
    };
    let some = |text: &str| Some(text.to_owned());
    let plain = [None, some("Done.")];
    assert_eq!(sent(Replay::Never), ([None, None, None], plain.clone()));
    assert_eq!(
        sent(Replay::WhereGiven),
        ([some("Hm\n"), None, None], plain.clone())
    );
    assert_eq!(
        sent(Replay::WithCalls),
        ([some("Hm\n"), some(""), None], plain)
    );
    let tagged = [
        some("<think>\nHm\n</think>\n\n"),
        some("<think>\nHm\n</think>\n\nDone."),
    ];
    assert_eq!(sent(Replay::InText), ([None, None, None], tagged));
}

#[test]
fn fields_that_a_service_refuses_or_needs_follow_its_quirks() {
    let schema = json!({"type": "object", "properties": {}});
    let handler: crate::tool::Handler = Arc::new(|_, _| {
        Box::pin(async { Ok::<_, crate::tool::ToolError>(crate::tool::ToolOutput::text("")) })
    });
    let spec = crate::tool::Spec::new("f".into(), "F.".into());
    let tool = Arc::new(crate::tool::Tool::dynamic(spec, schema, handler));
    let tools = crate::registry::Toolset::new([tool]).unwrap();
    let messages = [Message::user("Hi")];
    let sent = |quirks| {
        let request = Request {
            messages: &messages,
            tools: Some(&tools),
            dialect: Dialect::named("openai").expect("the table has it"),
            tool_choice: ToolChoice::None,
            max_output_tokens: Some(9),
            stop: &["x"],
            ..BARE
        };
        let body = encode(&request, Peer { quirks, ..PEER }, true);
        let mut body: Value = serde_json::from_slice(&body).expect("a body is JSON");
        let fields = body.as_object_mut().expect("a body is an object");
        for same in ["model", "messages", "tools", "stream"] {
            fields.remove(same).expect("every body has it");
        }
        body
    };
    let of = |name: &str| sent(crate::provider::presets::named(name).unwrap().quirks);
    let usage = json!({"include_usage": true});
    for (name, fields) in [
        (
            "lmstudio",
            json!({"tool_choice": "none", "max_tokens": 9, "stop": ["x"], "stream_options": usage}),
        ),
        (
            "openai",
            json!({"tool_choice": "none", "max_completion_tokens": 9, "stream_options": usage}),
        ),
        (
            "xai",
            json!({"tool_choice": "none", "max_completion_tokens": 9, "stream_options": usage}),
        ),
        (
            "minimax",
            json!({"max_completion_tokens": 9, "stop": ["x"], "stream_options": usage}),
        ),
        (
            "mistral",
            json!({"tool_choice": "none", "max_tokens": 9, "stop": ["x"]}),
        ),
        (
            "qwen",
            json!({"tool_choice": "none", "parallel_tool_calls": true, "max_tokens": 9,
                "stop": ["x"], "stream_options": usage}),
        ),
        (
            "llamacpp",
            json!({"tool_choice": "none", "max_tokens": 9, "stop": ["x"], "stream_options": usage,
                "return_progress": true}),
        ),
    ] {
        assert_eq!(of(name), fields, "{name}");
    }
}

#[test]
fn a_form_is_a_strict_json_schema() {
    let messages = [Message::user("Hi")];
    let request = Request {
        messages: &messages,
        form: Some(r#"{"type":"object"}"#),
        ..BARE
    };
    let body: Value = serde_json::from_slice(&encode(&request, PEER, true)).expect("JSON");
    assert_eq!(
        body,
        json!({
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": {"type": "object"}, "strict": true},
            },
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}
