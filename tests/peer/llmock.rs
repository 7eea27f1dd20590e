//! `llmock`, a Python package: calls tools by their schemas, fails on demand, and judges how its clients cope.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::Format;
use crate::process::{Peer, installed};
use crate::run::{NOTES, Run, claw, configure, each, model_of};

/// The four formats it speaks, then services with ways of their own.
const FORMATS: [Format<'static>; 8] = [
    Format::new("chat", "").at("/v1", "/v1/chat/completions", "/v1/chat/completions"),
    Format::new("responses", "format = \"openai-responses\"").at(
        "/v1",
        "/v1/responses",
        "/v1/responses",
    ),
    Format::new("messages", "format = \"anthropic\"").at(
        "/anthropic",
        "/anthropic/v1/messages",
        "/anthropic/v1/messages",
    ),
    Format::new("generate", "format = \"gemini\"").at(
        "/gemini",
        "/gemini/v1beta/models/generate-streamed:streamGenerateContent",
        "/gemini/v1beta/models/generate-whole:generateContent",
    ),
    Format::new("mistral", "").at(
        "/mistral/v1",
        "/mistral/v1/chat/completions",
        "/mistral/v1/chat/completions",
    ),
    Format::new("groq", "").at(
        "/groq/openai/v1",
        "/groq/openai/v1/chat/completions",
        "/groq/openai/v1/chat/completions",
    ),
    Format::new("together", "").at(
        "/together/v1",
        "/together/v1/chat/completions",
        "/together/v1/chat/completions",
    ),
    Format::new("xai", "").at(
        "/xai/v1",
        "/xai/v1/chat/completions",
        "/xai/v1/chat/completions",
    ),
];

/// The formats proper.
fn formats() -> &'static [Format<'static>] {
    &FORMATS[..4]
}

/// The peer calls the tool that shares most words with the prompt; this leaves it one.
const ONE_TOOL: &str = "[policy]\ndeny = [\"exec\", \"write_file\", \"edit_file\", \"read_many\", \"read_output\", \
                        \"list_dir\", \"grep\", \"glob\", \"now\", \"session*\"]";

/// Starts the peer; `None` where it is not installed. What it says names the model, and nothing else.
fn start(arguments: &[&str]) -> Option<Peer> {
    let program = installed("peer-py/bin/llmock");
    if !program.exists() {
        println!("skipped: Python package `llmock` is not installed under target/peer-py");
        return None;
    }
    let mut command = Command::new(program);
    command
        .args(["serve", "--port", "0", "--response-style", "static"])
        .args(arguments)
        .env("PYTHONUNBUFFERED", "1");
    Some(Peer::start(&mut command, "Uvicorn running on "))
}

fn answer(format: &Format<'_>, streams: bool) -> String {
    format!("Mock response from {}.", model_of(format, streams))
}

/// Lets these things happen to the requests that come next.
fn plan(peer: &Peer, behaviours: &[Value]) {
    peer.ask(
        "POST",
        "/_llmock/scenario",
        &json!({ "behaviors": behaviours }),
    );
}

/// Returns path, status and whether a stream was asked for, of each request that the peer has seen.
fn requests(peer: &Peer) -> Vec<(String, u64, bool)> {
    let requests = peer.ask("GET", "/_llmock/requests", &Value::Null);
    let requests = requests["requests"].as_array().unwrap().iter();
    let seen = requests.map(|request| {
        (
            request["path"].as_str().unwrap().to_owned(),
            request["status"].as_u64().unwrap(),
            request["stream"].as_bool().unwrap(),
        )
    });
    seen.collect()
}

#[test]
fn a_tool_is_called_by_its_schema_in_every_format() {
    let Some(peer) = start(&[]) else { return };
    for format in &FORMATS {
        for streams in [true, false] {
            let about = model_of(format, streams);
            peer.ask("POST", "/_llmock/reset", &Value::Null);
            let run = Run::new(format, &peer.root(), streams, ONE_TOOL, "read the file");
            run.assert_answered(&about, &answer(format, streams));
            let path = if streams {
                format.streamed
            } else {
                format.whole
            };
            let expected = (path.to_owned(), 200, streams);
            assert_eq!(requests(&peer), [expected.clone(), expected], "{about}");
        }
    }
}

#[test]
fn the_models_that_are_served_are_listed() {
    let Some(peer) = start(&[]) else { return };
    let served = [
        "chat:gpt-4o",
        "responses:gpt-4o",
        "messages:claude-opus-4-6",
        "generate:gemini-2.5-pro",
    ];
    for (format, model) in formats().iter().zip(served) {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path(), format, &peer.root(), true, "");
        let listed = claw(folder.path())
            .args(["models", format.name, "--json", "--config", "peer.toml"])
            .output()
            .unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(
            listed.contains(&format!("\"{model}\"")),
            "{}: {listed}",
            format.name
        );
    }
}

#[test]
fn broken_calls_are_told_to_the_model_and_not_run() {
    let Some(peer) = start(&[]) else { return };
    for format in formats() {
        for streams in [true, false] {
            // Where arguments travel as a document the peer makes an empty one of what it breaks off.
            let whole = match format.name {
                "generate" => true,
                "messages" => !streams,
                _ => false,
            };
            let broken = if whole {
                ("invalid", "- /path: required, missing (string)")
            } else {
                ("cut", "its arguments break off after 23 characters")
            };
            for (kind, (status, words)) in [
                ("malformed_arguments", broken),
                ("unknown_tool", ("unknown_tool", "`llmock_unknown_tool`")),
            ] {
                let about = format!("{}: {kind}", model_of(format, streams));
                plan(&peer, &[json!({"type": "tool_fault", "kind": kind})]);
                let run = Run::new(format, &peer.root(), streams, ONE_TOOL, "read the file");
                let expected = (Some(0), format!("{}\n", answer(format, streams)));
                assert_eq!(
                    (run.code, run.out.clone()),
                    expected,
                    "{about}: {}",
                    run.err
                );
                let [(is, text)] = run.outcomes()[..] else {
                    panic!("{about}: {:?}", run.outcomes());
                };
                assert!(
                    is == status && text.contains(words),
                    "{about}: {is}: {text}"
                );
                assert_eq!(run.events("intent").len(), 0, "{about}");
            }
        }
    }
}

/// What goes wrong, and what is to be made of it.
struct Fault {
    name: String,
    behaviours: Vec<Value>,
    /// The classes it may count as.
    classes: &'static [&'static str],
    /// The pauses between the attempts at the first request, in milliseconds.
    pauses: Vec<u64>,
    /// The chunk that breaks in the first request and in the second; what is sent after each of them comes through.
    breaks_after: Option<u64>,
}

fn fails(status: u16, wait: Option<f64>, times: u64, classes: &'static [&'static str]) -> Fault {
    let pause = |at: u64| wait.map_or(1_000 << at, |wait| (wait * 1_000.0) as u64);
    Fault {
        name: format!("status {status}"),
        behaviours: vec![
            json!({"type": "fail", "status": status, "retry_after": wait, "times": times}),
        ],
        classes,
        pauses: (0..times).map(pause).collect(),
        breaks_after: None,
    }
}

fn breaks(kind: &str, after: u64, classes: &'static [&'static str]) -> Fault {
    let fault = |after: u64| json!({"type": "stream_fault", "kind": kind, "after_chunks": after, "stall_seconds": 0.5});
    Fault {
        name: format!("{kind} after {after}"),
        behaviours: vec![fault(after), fault(9_999), fault(after)],
        classes,
        pauses: Vec::new(),
        breaks_after: Some(after),
    }
}

fn faults() -> [Fault; 11] {
    const CUT: &[&str] = &["network", "incomplete_stream"];
    [
        fails(429, Some(1.5), 1, &["rate_limit"]),
        fails(500, None, 2, &["overloaded"]),
        fails(503, Some(0.25), 3, &["overloaded"]),
        fails(529, Some(0.0), 3, &["overloaded"]),
        breaks("disconnect", 0, CUT),
        breaks("disconnect", 2, CUT),
        breaks("truncate", 0, CUT),
        breaks("truncate", 2, CUT),
        breaks("malformed", 0, &["bad_response"]),
        breaks("malformed", 1, &["bad_response"]),
        breaks("stall", 1, &[]),
    ]
}

/// What the peer cannot see is kept out: each prompt is another, for who asks the same again in a new process is to the
/// peer a client that does not wait; and no stream is cut behind its finish reason, where the answer is whole.
#[test]
fn the_verdict_is_passed() {
    each(formats(), |format| {
        let Some(peer) = start(&[]) else { return };
        let mut attempts = 0;
        for fault in faults() {
            let about = format!("{}: {}", format.name, fault.name);
            // A call that comes in one piece does not break after it.
            let in_one_piece =
                format.name == "generate" && fault.breaks_after.is_some_and(|after| after > 0);
            let skipped = usize::from(in_one_piece);
            plan(&peer, &fault.behaviours[skipped..]);
            let prompt = format!("read the file through {}", fault.name);
            let run = Run::new(format, &peer.root(), true, ONE_TOOL, &prompt);
            peer.ask("DELETE", "/_llmock/scenario", &Value::Null);
            run.assert_answered(&about, &answer(format, true));

            let failures = run.failures();
            let (classes, pauses): (Vec<_>, Vec<_>) = failures.into_iter().unzip();
            assert!(
                classes.iter().all(|class| fault.classes.contains(class)),
                "{about}: {classes:?}"
            );
            let expected = match fault.breaks_after {
                None => fault.pauses,
                Some(_) if fault.classes.is_empty() => vec![],
                Some(_) => vec![1_000; 2 - skipped],
            };
            assert_eq!(pauses.len(), expected.len(), "{about}: {}", run.err);
            for (pause, expected) in pauses.into_iter().zip(expected) {
                let range = match fault.behaviours[0]["retry_after"].is_number() {
                    true => expected..=expected,
                    false => expected * 9 / 10..=expected * 11 / 10,
                };
                assert!(range.contains(&pause.unwrap()), "{about}: {pause:?}");
            }
            attempts += 2 + classes.len();
        }
        let verdict = peer.ask("GET", "/_llmock/verdict", &Value::Null);
        assert_eq!(verdict["passed"], true, "{}: {verdict}", format.name);
        assert_eq!(verdict["attempts"], attempts, "{}: {verdict}", format.name);
        // A stream that is at its end before its reader can leave is taken for one that was read to the end. That it was
        // not is seen above.
        let findings = verdict["findings"].as_array().unwrap().iter();
        let others: Vec<_> = findings
            .filter(|finding| finding["code"] != "malformed_chunk_ignored")
            .collect();
        assert!(others.is_empty(), "{}: {others:?}", format.name);
    });
}

#[test]
fn an_answer_that_lacks_only_the_last_word_of_its_format_is_whole() {
    let Some(peer) = start(&[]) else { return };
    for (format, finished) in formats().iter().zip([3, 99, 6, 99]) {
        for kind in ["truncate", "disconnect"] {
            let about = format!("{}: {kind}", format.name);
            peer.ask("POST", "/_llmock/reset", &Value::Null);
            plan(
                &peer,
                &[
                    json!({"type": "reply", "text": "Done."}),
                    json!({"type": "stream_fault", "kind": kind, "after_chunks": finished}),
                ],
            );
            let run = Run::new(format, &peer.root(), true, ONE_TOOL, "say done");
            assert_eq!(
                (run.code, &*run.out),
                (Some(0), "Done.\n"),
                "{about}: {}",
                run.err
            );
            assert_eq!(run.failures(), [], "{about}");
            assert_eq!(requests(&peer).len(), 1, "{about}");
        }
    }
}

/// A reader of `--json` has seen the pieces, so the model goes on from them; the peer would have them asked for again.
#[test]
fn what_a_live_reader_has_seen_is_not_said_again() {
    let Some(peer) = start(&[]) else { return };
    for (format, after) in formats().iter().zip([3, 6, 5, 2]) {
        let text = |text: &str| json!({"type": "reply", "text": text});
        let cut = json!({"type": "stream_fault", "kind": "truncate", "after_chunks": after});
        plan(
            &peer,
            &[text("One two three four."), cut, text("three four.")],
        );
        let arguments = ["--json", "count"];
        let run = Run::with(format, &peer.root(), true, ONE_TOOL, &arguments, |_| {});
        assert_eq!(run.code, Some(0), "{}: {}", format.name, run.out);
        let events = run
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let said: String = events
            .filter_map(|event: Value| event["delta"]["text"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(said, "One two three four.", "{}", format.name);
        let end = run.events("turn_end");
        assert_eq!(
            end[0]["outcome"]["text"], "One two three four.",
            "{}",
            format.name
        );
        assert_eq!(
            run.failures(),
            [("incomplete_stream", None)],
            "{}",
            format.name
        );
        let said = run.events("assistant");
        assert_eq!(said.len(), 2, "{}", format.name);
        assert_eq!(said[0]["incomplete"], true, "{}", format.name);
    }
}

#[test]
fn a_wait_that_is_too_long_ends_the_run_and_says_so() {
    // One request a minute for each key of a service.
    let Some(peer) = start(&["--rpm", "1"]) else {
        return;
    };
    let more = format!("{ONE_TOOL}\n[limits]\nretry_after = \"5s\"");
    for format in formats().iter().filter(|format| format.name != "responses") {
        let run = Run::new(format, &peer.root(), true, &more, "read the file");
        assert_eq!(
            (run.code, &*run.out),
            (Some(4), ""),
            "{}: {}",
            format.name,
            run.err
        );
        assert_eq!(run.outcomes(), [("ok", NOTES)], "{}", format.name);
        assert_eq!(run.failures(), [("rate_limit", None)], "{}", format.name);
        let words = "error: the model failed: rate limited: Rate limit reached for requests per minute: limit 1.";
        assert!(run.err.contains(words), "{}: {}", format.name, run.err);
    }
    // No request was made that had no chance.
    assert_eq!(requests(&peer).len(), 6);
}

#[test]
fn a_conversation_that_is_too_long_is_shortened_and_asked_again() {
    let Some(peer) = start(&["--context-window", "1500"]) else {
        return;
    };
    // The peer counts text in these two formats only.
    for format in formats()
        .iter()
        .filter(|it| ["chat", "messages"].contains(&it.name))
    {
        let call = json!({"name": "read_file", "arguments": {"path": "long.txt"}});
        plan(&peer, &[json!({"type": "reply", "tool_calls": [call]})]);
        let write = |folder: &Path| {
            std::fs::write(folder.join("long.txt"), "word ".repeat(1_600)).unwrap();
        };
        let prompt = ["read the file"];
        let run = Run::with(format, &peer.root(), true, ONE_TOOL, &prompt, write);
        let expected = (Some(0), format!("{}\n", answer(format, true)));
        assert_eq!(
            (run.code, run.out.clone()),
            expected,
            "{}: {}",
            format.name,
            run.err
        );
        assert_eq!(
            run.failures(),
            [("context_length", None)],
            "{}",
            format.name
        );
        assert_eq!(run.events("compacted").len(), 1, "{}", format.name);
        assert_eq!(run.events("intent").len(), 1, "{}", format.name);
    }
}

/// Where nothing comes after the first piece for longer than the format's patience, the reader leaves and asks again.
#[test]
fn a_stream_that_stands_still_is_left() {
    // The other two formats have pauses of some minutes.
    let [chat, _, _, generate] = formats() else {
        unreachable!("there are four formats");
    };
    each(&[(chat, 2), (generate, 1)], |(format, after)| {
        let Some(peer) = start(&[]) else { return };
        let behaviours = [
            json!({"type": "reply", "text": "One two."}),
            json!({"type": "reply", "text": "One two three."}),
            json!({"type": "stream_fault", "kind": "stall", "after_chunks": after, "stall_seconds": 60}),
        ];
        plan(&peer, &behaviours);
        let run = Run::new(format, &peer.root(), true, ONE_TOOL, "count");
        let expected = (Some(0), "One two three.\n");
        assert_eq!(
            (run.code, &*run.out),
            expected,
            "{}: {}",
            format.name,
            run.err
        );
        let classes: Vec<_> = run.failures().into_iter().map(|it| it.0).collect();
        assert_eq!(classes, ["stalled"], "{}", format.name);
        let verdict = peer.ask("GET", "/_llmock/verdict", &Value::Null);
        assert_eq!(verdict["findings"], json!([]), "{}", format.name);
        assert_eq!(verdict["calls"], 1, "{}: {verdict}", format.name);
    });
}
