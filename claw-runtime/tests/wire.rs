//! Recorded answers of every wire format, through the decoders that the providers use.
//!
//! The cases are data: `tests/data/wire/README.md` says what they hold and how answers compare. `CLAW_CASES_WIRE` names
//! another folder. [`project`] turns a reply or failure into the events that a case expects; it is the only mapping.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use claw_runtime::message::{ContentBlock, StopReason, ToolCall, Usage};
use claw_runtime::provider::{
    Decoder, Delta, DeltaSink, FailureClass, Head, ProviderError, Reply, anthropic, dashscope,
    gemini, ollama, openai_chat, openai_responses,
};
use proptest::prelude::*;
use serde_json::{Value, json};

type Answer = Result<Reply, ProviderError>;
type Decode = fn(&str, &str, Head) -> Decoder;

/// Every format, how many of its cases come with the sources, and its decoder once there is one: with a decoder, each
/// of its cases must pass.
const FORMATS: [(&str, usize, Option<Decode>); 6] = [
    ("openai_chat", 48, Some(openai_chat::decoder)),
    ("openai_responses", 5, Some(openai_responses::decoder)),
    ("anthropic", 34, Some(anthropic::decoder)),
    ("gemini", 32, Some(gemini::decoder)),
    ("ollama", 6, Some(ollama::decoder)),
    ("dashscope", 4, Some(increments)),
];

fn increments(provider: &str, model: &str, head: Head) -> Decoder {
    dashscope::decoder(provider, model, dashscope::Pieces::New, head)
}

fn repeats(provider: &str, model: &str, head: Head) -> Decoder {
    dashscope::decoder(provider, model, dashscope::Pieces::All, head)
}

/// Decodes, and checks on the way that the pieces shown add up to the reply.
fn read(decode: Decode, head: Head, chunks: &[&[u8]]) -> Answer {
    let mut shown = Shown::default();
    let mut decoder = decode("provider", "model", head);
    for chunk in chunks {
        if decoder.feed(chunk, &mut shown).done {
            break;
        }
    }
    let answer = decoder.finish(&mut shown);
    let content = match &answer {
        Ok(reply) => &reply.content,
        Err(error) => &error.partial,
    };
    assert_eq!(shown.text, claw_runtime::message::text_of(content));
    if let Ok(reply) = &answer {
        assert!(shown.calls >= reply.content.iter().filter(|block| is_call(block)).count());
    }
    answer
}

fn is_call(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::ToolCall(_))
}

#[derive(Default)]
struct Shown {
    text: String,
    calls: usize,
}

impl DeltaSink for Shown {
    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::Text { text } => self.text.push_str(&text),
            Delta::CallStarted { .. } => self.calls += 1,
            _ => {}
        }
    }
}

/// Returns the events of an answer: said things joined with their neighbours, calls, usage, then the end.
fn project(answer: &Answer) -> Vec<Value> {
    let said = match answer {
        Ok(reply) => &reply.content,
        Err(error) => &error.partial,
    };
    // A refusal is text to the reader, and marked by a part that keeps it.
    let refusal = said.iter().find_map(|block| match block {
        ContentBlock::Opaque { value, .. } => value["refusal"].as_str(),
        _ => None,
    });
    let mut events: Vec<Value> = Vec::new();
    for block in said {
        let (kind, text) = match block {
            ContentBlock::Text { text } => ("text", text),
            ContentBlock::Reasoning { text } => ("reasoning", text),
            // A thinking block comes back whole, behind its text.
            ContentBlock::Opaque { value, .. } if value["type"] == "thinking" => {
                let thinking = value["thinking"].as_str().unwrap();
                if let Some(last) = events.last_mut().filter(|_| !thinking.is_empty()) {
                    assert_eq!(last["text"], thinking);
                    last["signature"] = value["signature"].clone();
                }
                continue;
            }
            _ => continue,
        };
        match events.last_mut() {
            Some(last) if last["type"] == kind && last["signature"].is_null() => {
                last["text"] = format!("{}{text}", last["text"].as_str().unwrap()).into();
            }
            _ => events.push(json!({"type": kind, "text": text})),
        }
    }
    if let Some(refusal) = refusal {
        let last = events.last_mut().expect("a refusal stands in the text");
        let before = last["text"]
            .as_str()
            .unwrap()
            .strip_suffix(refusal)
            .unwrap()
            .to_owned();
        if before.is_empty() {
            events.pop();
        } else {
            last["text"] = before.into();
        }
        events.push(json!({"type": "refusal", "text": refusal}));
    }
    match answer {
        Ok(reply) => {
            // A signature stands in front of the call it belongs to.
            let mut signature = None;
            events.extend(said.iter().filter_map(|block| match block {
                ContentBlock::Opaque { value, .. } => {
                    signature = value.get("thoughtSignature");
                    None
                }
                ContentBlock::ToolCall(call) => {
                    let mut event = project_call(call);
                    if let Some(signature) = signature.take() {
                        event["signature"] = signature.clone();
                    }
                    Some(event)
                }
                _ => None,
            }));
            events.extend(reply.cut_calls.iter().map(|call| {
                json!({"type": "tool_call_error", "id": call.id, "name": call.name,
                    "raw_arguments": call.arguments, "code": "truncated"})
            }));
            events.extend(reply.usage.map(project_usage));
            let reason = match &reply.stop {
                StopReason::Stop => "stop",
                StopReason::ToolCalls => "tool_calls",
                StopReason::Length => "length",
                StopReason::ContentFilter => "content_filter",
                StopReason::Pause => "pause",
                StopReason::Other(word) => word,
                other => panic!("no word for {other:?}"),
            };
            events.push(json!({"type": "finish", "reason": reason}));
        }
        Err(error) => {
            events.extend(error.usage.map(project_usage));
            // A malformed call is asked for again, though not by the same request.
            let retryable =
                error.class.is_retryable() || error.class == FailureClass::MalformedCall;
            events.push(
                json!({"type": "error", "code": code(error), "message": error.message,
                "retryable": retryable}),
            );
        }
    }
    events
}

fn project_usage(usage: Usage) -> Value {
    json!({"type": "usage", "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens})
}

fn project_call(call: &ToolCall) -> Value {
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => {
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
        }
        // Validation, not the wire, has the word on these; the model reads its report.
        Err(_) => json!({"type": "tool_call_error", "id": call.id, "name": call.name,
            "raw_arguments": call.arguments, "code": "malformed"}),
    }
}

fn code(error: &ProviderError) -> &'static str {
    use FailureClass::*;
    let is_load = matches!(error.status, Some(503 | 529))
        || ["overload", "unavailable"]
            .iter()
            .any(|word| error.message.to_lowercase().contains(word));
    match error.class {
        Quota => "quota",
        RateLimit => "overloaded",
        Overloaded if is_load => "overloaded",
        Overloaded => "provider_error",
        ContextLength => "context_length",
        Auth | BadRequest | NotFound | ToolsUnsupported | Filtered => "invalid_request",
        Network | Stalled | IncompleteStream => "incomplete_stream",
        BadResponse if error.message.starts_with("a stream event") => "bad_chunk",
        BadResponse => "bad_response",
        MalformedCall => "malformed_tool_call",
        other => panic!("no code for {other:?}"),
    }
}

/// Tells how `events` differ from what a case expects, or nothing.
fn difference(expected: &[Value], events: &[Value]) -> Option<String> {
    let differ = |why: &str| {
        Some(format!(
            "{why}\n  expected {expected:?}\n  found    {events:?}"
        ))
    };
    if expected.len() != events.len() {
        return differ("another number of events");
    }
    let mut ids = HashSet::new();
    for (want, found) in expected.iter().zip(events) {
        if found["type"] == "tool_call" && !ids.insert(found["id"].clone()) {
            return differ("an id is used twice");
        }
        for (key, value) in want.as_object().unwrap() {
            let is_equal = match (key.as_str(), value.as_str()) {
                ("message_contains", Some(part)) => found["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(part)),
                ("id", Some("*")) => found["id"].as_str().is_some_and(|id| {
                    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
                }),
                _ => found[key] == *value,
            };
            if !is_equal {
                return differ(&format!("another `{key}`"));
            }
        }
    }
    None
}

/// Returns the body cut in each way that a case asks for, with the name of the cut.
fn cuts<'a>(body: &'a [u8], splits: &[usize]) -> Vec<(&'static str, Vec<&'a [u8]>)> {
    let mut at_splits = Vec::new();
    let mut start = 0;
    for split in splits.iter().copied().chain([body.len()]) {
        let end = split.clamp(start, body.len());
        at_splits.push(&body[start..end]);
        start = end;
    }
    vec![
        ("whole", vec![body]),
        ("byte by byte", body.chunks(1).collect()),
        (
            "after each line feed",
            body.split_inclusive(|byte| *byte == b'\n').collect(),
        ),
        ("at the splits", at_splits),
    ]
}

fn run(folder: &Path, case: &Value, decode: Decode) -> Result<(), String> {
    let body = std::fs::read(folder.join(case["file"].as_str().unwrap()))
        .map_err(|error| format!("body: {error}"))?;
    let head = Head {
        status: case["status"].as_u64().unwrap_or(200) as u16,
        retry_after: None,
    };
    let splits = case["splits"].as_array().into_iter().flatten();
    let splits: Vec<usize> = splits
        .filter_map(|at| at.as_u64())
        .map(|at| at as usize)
        .collect();
    let expected = case["events"].as_array().unwrap();
    let decode = match case["options"]["incremental_output"].as_bool() {
        Some(false) => repeats,
        _ => decode,
    };
    for (name, chunks) in cuts(&body, &splits) {
        let answer = read(decode, head.clone(), &chunks);
        if let Some(difference) = difference(expected, &project(&answer)) {
            return Err(format!("{name}: {difference}"));
        }
    }
    Ok(())
}

#[test]
fn wire_cases() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/wire");
    let other = std::env::var_os("CLAW_CASES_WIRE").map(PathBuf::from);
    let is_own = other.is_none();
    let folder = other.unwrap_or(own);
    if is_own && !folder.is_dir() {
        println!("skipped: no wire cases beside this package");
        return;
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of the cases can be read")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".expect.json"))
        .collect();
    files.sort();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut ran, mut failures) = (0, Vec::new());
    for file in &files {
        let case: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let id = file
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace(".expect.json", "");
        let dialect = case["dialect"].as_str().unwrap_or("");
        let Some((dialect, _, decode)) = FORMATS.iter().find(|format| format.0 == dialect) else {
            failures.push((id, format!("unknown dialect `{dialect}`")));
            continue;
        };
        *counts.entry(dialect).or_default() += 1;
        let Some(decode) = decode else { continue };
        ran += 1;
        if let Err(why) = run(&folder, &case, *decode) {
            failures.push((id, why));
        }
    }
    for (dialect, own_cases, decode) in FORMATS {
        let count = counts.get(dialect).copied().unwrap_or(0);
        let state = if decode.is_some() { "run" } else { "not yet" };
        println!("{dialect}: {count} cases, {state}");
        assert!(!is_own || count >= own_cases, "{dialect} lost cases");
    }
    println!(
        "{ran} ran, {} passed, {} failed",
        ran - failures.len().min(ran),
        failures.len()
    );
    for (id, why) in &failures {
        println!("FAILED {id}: {why}");
    }
    assert!(failures.is_empty(), "{} wire cases failed", failures.len());
}

fn cut_at<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2)
        .map(|pair| &bytes[pair[0]..pair[1]])
        .collect()
}

/// Returns streams that are nearly right: known pieces in any order, some damaged.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::sample::select(vec![
        "", "a", "<think>", "</think>", "é\\n", "\\ud83c", "\\udf27", "🌧",
    ]);
    let arguments = prop::sample::select(vec![
        "\"\"",
        "\"{\"",
        "\"{}\"",
        "\"{\\\"a\\\":1}\"",
        "{\"a\":1}",
        "null",
        "3",
    ]);
    let call = (
        prop::option::of(0..3u8),
        prop::sample::select(vec!["", "c1", "c2"]),
        prop::sample::select(vec!["", "f", "g"]),
        arguments,
    )
        .prop_map(|(index, id, name, arguments)| {
            let index = index.map_or(String::new(), |index| format!("\"index\":{index},"));
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{{index}\"id\":\"{id}\",\"function\":{{\"name\":\"{name}\",\"arguments\":{arguments}}}}}]}}}}]}}\n\n"
            )
        });
    let said = (
        prop::sample::select(vec!["content", "reasoning_content", "refusal"]),
        text,
    )
        .prop_map(|(field, text)| {
            format!("data: {{\"choices\":[{{\"delta\":{{\"{field}\":\"{text}\"}}}}]}}\r\n\r\n")
        });
    let other = prop::sample::select(vec![
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[{\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":1e300,\"completion_tokens\":-2}}\n\n",
        "data: [DONE]\n\n",
        ": ping\n\n",
        "data: {\"error\":{\"message\":\"x\"}}\n\n",
        "data: {\"choices\":",
        "{\"error\":\"x\"}\n",
        "\u{feff}",
        "\r",
    ])
    .prop_map(str::to_owned);
    let noise = prop::collection::vec(any::<u8>(), 0..8);
    let piece = prop_oneof![
        4 => call.prop_map(String::into_bytes),
        4 => said.prop_map(String::into_bytes),
        3 => other.prop_map(String::into_bytes),
        1 => noise,
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// Returns the pieces of every recorded answer of a format: events, or lines.
fn recorded(dialect: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/wire");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    let mut pieces = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.to_string_lossy().ends_with(".expect.json"))
    {
        let case: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if case["dialect"] != dialect {
            continue;
        }
        let body = std::fs::read(folder.join(case["file"].as_str().unwrap())).unwrap();
        let mut piece = Vec::new();
        for line in body.split_inclusive(|byte| *byte == b'\n') {
            piece.extend_from_slice(line);
            if line.iter().all(u8::is_ascii_whitespace) || line.starts_with(b"{") {
                pieces.push(std::mem::take(&mut piece));
            }
        }
        pieces.push(piece);
    }
    pieces
}

#[test]
fn what_is_no_stream_is_told_by_its_first_line_however_it_is_cut() {
    for (bytes, told) in [
        ("\n Ollama is\nrunning\n\ndata: [DONE]\n\n", "`Ollama is`"),
        (
            "\0data: [DONE]\n\ndata: [DONE]\n\ndata: {\"choices\":[]}\n\n",
            "`data: [DONE]`",
        ),
    ] {
        let single: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
        for cut in [vec![bytes.as_bytes()], single] {
            let head = Head {
                status: 200,
                ..Head::default()
            };
            let error = read(openai_chat::decoder, head, &cut).unwrap_err();
            assert!(
                error.message.starts_with(told),
                "{bytes:?}: {}",
                error.message
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_gives_the_same_reply_however_it_is_cut(
        bytes in streams(),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
        status in prop::sample::select(vec![200u16, 204, 302, 400, 429, 500]),
    ) {
        let head = Head { status, ..Head::default() };
        let whole = read(openai_chat::decoder, head.clone(), &[&bytes]);
        prop_assert_eq!(read(openai_chat::decoder, head.clone(), &cut_at(&bytes, &cuts)), whole.clone());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read(openai_chat::decoder, head, &single), whole.clone());
        if let Ok(reply) = whole {
            let calls: Vec<&ToolCall> = reply.content.iter().filter_map(|block| match block {
                ContentBlock::ToolCall(call) => Some(call),
                _ => None,
            }).chain(&reply.cut_calls).collect();
            let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            prop_assert_eq!(ids.len(), calls.len());
            prop_assert!(calls.iter().all(|call| !call.name.is_empty() && !call.arguments.is_empty()));
        }
    }

    #[test]
    fn any_bytes_give_the_same_answer_however_they_are_cut(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let head = Head { status: 200, ..Head::default() };
        for decode in FORMATS.iter().filter_map(|format| format.2) {
            let whole = read(decode, head.clone(), &[&bytes]);
            prop_assert_eq!(read(decode, head.clone(), &cut_at(&bytes, &cuts)), whole);
        }
    }

    #[test]
    fn recorded_pieces_in_any_order_give_the_same_answer_however_they_are_cut(
        format in 0..FORMATS.len(),
        repeating in any::<bool>(),
        order in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.1, any::<prop::sample::Index>())), 1..12),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let (dialect, _, decode) = FORMATS[format];
        // A stream whose events repeat what was said is read by its own rules.
        let decode = decode.map(|decode| if dialect == "dashscope" && repeating { repeats } else { decode });
        let pieces = recorded(dialect);
        let (Some(decode), false) = (decode, pieces.is_empty()) else { return Ok(()) };
        let mut bytes = Vec::new();
        for (piece, damage) in &order {
            let piece = piece.get(&pieces);
            let end = damage.map_or(piece.len(), |at| at.index(piece.len() + 1));
            bytes.extend_from_slice(&piece[..end]);
        }
        let head = Head { status: 200, ..Head::default() };
        let whole = read(decode, head.clone(), &[&bytes]);
        prop_assert_eq!(read(decode, head.clone(), &cut_at(&bytes, &cuts)), whole.clone());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read(decode, head, &single), whole.clone());
        if let Ok(reply) = whole {
            let calls = reply.content.iter().filter_map(|block| match block {
                ContentBlock::ToolCall(call) => Some(call),
                _ => None,
            });
            let calls: Vec<&ToolCall> = calls.chain(&reply.cut_calls).collect();
            let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            prop_assert_eq!(ids.len(), calls.len());
            prop_assert!(calls.iter().all(|call| !call.name.is_empty() && !call.arguments.is_empty()));
        }
    }
}
