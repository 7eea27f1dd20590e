//! Small departures from the chat completion format that services are known for, one stream each.
#![allow(clippy::unwrap_used)]

use claw_runtime::message::{ContentBlock, StopReason, ToolCall};
use claw_runtime::provider::{Delta, DeltaSink, FailureClass, ProviderError, Reply};
use claw_runtime::provider::{Head, openai_chat};
use serde_json::{Value, json};

struct Discard;

impl DeltaSink for Discard {
    fn delta(&mut self, _: Delta) {}
}

fn read(body: &str) -> Result<Reply, ProviderError> {
    let head = Head {
        status: 200,
        ..Head::default()
    };
    let mut decoder = openai_chat::decoder("p", "m", head);
    decoder.feed(body.as_bytes(), &mut Discard);
    decoder.finish(&mut Discard)
}

/// Reads a stream of these deltas, ended with `stop`.
fn deltas(deltas: &[Value]) -> Result<Reply, ProviderError> {
    let mut body: String = deltas
        .iter()
        .map(|delta| {
            format!(
                "data: {}\n\n",
                json!({"choices": [{"index": 0, "delta": delta}]})
            )
        })
        .collect();
    body.push_str("data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n");
    read(&body)
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::text(text)
}

fn reasoning(text: &str) -> ContentBlock {
    ContentBlock::Reasoning { text: text.into() }
}

fn call(id: &str, name: &str, arguments: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

#[test]
fn reasoning_is_read_from_either_field_and_not_twice() {
    let reply = deltas(&[
        json!({"reasoning": "H"}),
        json!({"reasoning": "m", "reasoning_content": "m"}),
        json!({"content": "Yes"}),
    ]);
    assert_eq!(reply.unwrap().content, [reasoning("Hm"), text("Yes")]);
}

#[test]
fn content_may_be_a_list_of_parts() {
    let reply = deltas(&[
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}),
        json!({"content": [{"type": "text", "text": "Y"}]}),
        json!({"content": "es"}),
    ]);
    assert_eq!(reply.unwrap().content, [reasoning("Hm"), text("Yes")]);
}

#[test]
fn a_refusal_is_shown_and_marked() {
    let reply = deltas(&[json!({"refusal": "I can"}), json!({"refusal": "not."})]).unwrap();
    let mark = ContentBlock::Opaque {
        provider: "p".into(),
        model: "m".into(),
        value: json!({"refusal": "I cannot."}),
    };
    assert_eq!(reply.content, [text("I cannot."), mark]);
}

#[test]
fn parts_to_give_back_are_kept() {
    let reply = deltas(&[
        json!({"reasoning_details": [{"text": "a"}]}),
        json!({"reasoning_details": [{"data": "b"}], "content": "Yes"}),
    ]);
    let kept = ContentBlock::Opaque {
        provider: "p".into(),
        model: "m".into(),
        value: json!({"reasoning_details": [{"text": "a"}, {"data": "b"}]}),
    };
    assert_eq!(reply.unwrap().content, [text("Yes"), kept]);
}

#[test]
fn the_old_function_call_is_a_call() {
    let reply = deltas(&[
        json!({"function_call": {"name": "f", "arguments": "{\"a\""}}),
        json!({"function_call": {"arguments": ":1}"}}),
    ])
    .unwrap();
    let [ContentBlock::ToolCall(call)] = &reply.content[..] else {
        panic!("{reply:?}");
    };
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("f", "{\"a\":1}")
    );
    assert_eq!(reply.stop, StopReason::ToolCalls);
}

#[test]
fn calls_of_one_chunk_that_nothing_tells_apart_are_several() {
    let function = json!({"function": {"name": "f", "arguments": ""}});
    let reply = deltas(&[json!({"tool_calls": [function, function]})]).unwrap();
    assert_eq!(reply.content.len(), 2);
    let body = json!({"choices": [{"message": {"tool_calls": [function, function]}}]});
    assert_eq!(read(&body.to_string()).unwrap().content.len(), 2);
}

#[test]
fn arguments_as_an_object_stay_as_the_model_wrote_them() {
    let stream = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":"0","id":7,"function":{"name":"f","arguments":{"z":1.10,"a":12345678901234567890123}}}]},"finish_reason":"tool_calls"}]}"#;
    let reply = read(stream).unwrap();
    assert_eq!(
        reply.content,
        [call("7", "f", r#"{"z":1.10,"a":12345678901234567890123}"#)]
    );
}

#[test]
fn halves_of_a_character_meet_over_two_chunks() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83c\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\udf27b\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(read(stream).unwrap().content, [text("a🌧b")]);
}

#[test]
fn only_the_first_choice_counts() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}},{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":1,\"finish_reason\":\"length\"}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\"}]}\n\n",
    );
    let reply = read(stream).unwrap();
    assert_eq!(
        (reply.content, reply.stop),
        (vec![text("a")], StopReason::Stop)
    );
}

#[test]
fn events_without_blank_lines_between_them_are_several() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n",
        "data: [DONE]\n",
    );
    assert_eq!(read(stream).unwrap().content, [text("ab")]);
}

#[test]
fn a_document_over_several_data_lines_is_one() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":\n",
        "data: {\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(read(stream).unwrap().content, [text("a")]);
}

#[test]
fn a_last_event_cut_within_is_an_incomplete_stream() {
    let stream =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"del";
    let error = read(stream).unwrap_err();
    assert_eq!(error.class, FailureClass::IncompleteStream);
    assert_eq!(error.partial, [text("a")]);
}

#[test]
fn a_cut_call_is_set_apart_and_its_fellows_stay() {
    let body = json!({"choices": [{"finish_reason": "length", "message": {"tool_calls": [
        {"id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "function": {"name": "g", "arguments": "{\"x\":\"y"}},
    ]}}]});
    let reply = read(&body.to_string()).unwrap();
    assert_eq!(reply.content, [call("a", "f", "{}")]);
    assert_eq!(reply.cut_calls.len(), 1);
    assert_eq!(reply.cut_calls[0].arguments, "{\"x\":\"y");
    assert_eq!(reply.stop, StopReason::Length);
}

#[test]
fn a_call_without_a_name_is_a_malformed_call() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{}"}}]});
    let error = deltas(&[json!({"content": "Hm"}), call]).unwrap_err();
    assert_eq!(error.class, FailureClass::MalformedCall);
    assert_eq!(error.partial, [text("Hm")]);
}

#[test]
fn the_stop_reason_follows_the_content() {
    let cases = [
        ("tool_calls", StopReason::Stop),
        ("end_turn", StopReason::Stop),
        ("model_length", StopReason::Length),
        ("new_word", StopReason::Other("new_word".into())),
    ];
    for (word, stop) in cases {
        let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": word}]});
        assert_eq!(read(&body.to_string()).unwrap().stop, stop);
    }
}

#[test]
fn a_stream_that_ends_with_an_error_word_has_failed() {
    let stream =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"error\"}]}\n\n";
    let error = read(stream).unwrap_err();
    assert_eq!(error.class, FailureClass::Overloaded);
    assert_eq!(error.partial, [text("a")]);
}

#[test]
fn an_event_named_error_is_one_whatever_its_data_look_like() {
    let cases = [
        "event: error\ndata: {\"message\":\"worker died\"}\n\n",
        "error: {\"code\":500,\"message\":\"worker died\"}\n\n",
        "{\"error\":\"worker died\"}\n\n",
    ];
    for failure in cases {
        let stream =
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\n\n{failure}");
        let error = read(&stream).unwrap_err();
        assert_eq!(
            (error.class, error.message.as_str()),
            (FailureClass::Overloaded, "worker died")
        );
        assert_eq!(error.partial, [text("a")]);
    }
}

#[test]
fn a_stream_that_closes_with_the_whole_message_says_it_once() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(read(stream).unwrap().content, [text("a")]);
}

#[test]
fn counts_that_are_none_do_no_harm() {
    let usages = [
        (
            json!({"prompt_tokens": 1e300, "completion_tokens": -3}),
            Some((1 << 40, 0)),
        ),
        (json!({"prompt_tokens": 3.0}), Some((3, 0))),
        (json!({"prompt_tokens": "3"}), Some((3, 0))),
        (json!({}), None),
        (json!("x"), None),
    ];
    for (usage, expected) in usages {
        let body = json!({"choices": [{"message": {"content": "a"}}], "usage": usage});
        let read = read(&body.to_string()).unwrap().usage;
        assert_eq!(
            read.map(|usage| (usage.input_tokens, usage.output_tokens)),
            expected
        );
    }
}

#[test]
fn progress_is_content_and_nothing_else() {
    let head = Head {
        status: 200,
        ..Head::default()
    };
    let mut decoder = openai_chat::decoder("p", "m", head);
    let mut content = |piece: &str| decoder.feed(piece.as_bytes(), &mut Discard).content;
    let cases = [
        (": ping\n\n", false),
        (
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            false,
        ),
        (
            "data: {\"choices\":[],\"prompt_progress\":{\"total\":9,\"processed\":3}}\n\n",
            true,
        ),
        ("event: ping\ndata: {\"type\":\"ping\"}\n\n", false),
        (
            "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"a\"}}]}\n\n",
            true,
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
            true,
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\"}}]}}]}\n\n",
            false,
        ),
    ];
    for (piece, expected) in cases {
        assert_eq!(content(piece), expected, "{piece}");
    }
}

#[test]
fn small_bytes_do_not_become_much_memory() {
    let choices = format!("{{\"choices\":[{}{{}}]}}", "{},".repeat(4096));
    let calls = "{\"function\":{\"name\":\"f\"}},".repeat(4097);
    let calls = calls.trim_end_matches(',');
    let calls = format!("{{\"choices\":[{{\"message\":{{\"tool_calls\":[{calls}]}}}}]}}");
    for body in [choices, calls] {
        let error = read(&body).unwrap_err();
        assert_eq!(error.class, FailureClass::BadResponse, "{error}");
    }

    let piece = |index| json!({"tool_calls": [{"index": index, "function": {"name": "f"}}]});
    let pieces: Vec<_> = (0..5_000).map(piece).collect();
    let error = deltas(&pieces).unwrap_err();
    assert_eq!(error.message, "answer of more than 4096 tool calls");
    assert_eq!(deltas(&pieces[..4096]).unwrap().content.len(), 4096);
}
