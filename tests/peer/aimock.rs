//! `@copilotkit/aimock`, an npm package: replies by script, in every format of ours but DashScope's.

use std::process::Command;

use serde_json::{Value, json};

use crate::Format;
use crate::process::{KEY, Peer, installed};
use crate::run::{NOTES, Run, each, model_of};

const ANSWER: &str = "That is what the tool said.";

const FORMATS: [Format<'static>; 7] = [
    Format::new("chat", "").at("/v1", "/v1/chat/completions", "/v1/chat/completions"),
    Format::new("responses", "format = \"openai-responses\"").at(
        "/v1",
        "/v1/responses",
        "/v1/responses",
    ),
    Format::new("messages", "format = \"anthropic\"").at("", "/v1/messages", "/v1/messages"),
    Format::new("generate", "format = \"gemini\"").at(
        "",
        "/v1beta/models/generate-streamed:streamGenerateContent?alt=sse",
        "/v1beta/models/generate-whole:generateContent",
    ),
    Format::new("azure", "format = \"azure\"").at(
        "",
        "/openai/v1/chat/completions",
        "/openai/v1/chat/completions",
    ),
    Format::new(
        "deployed",
        "format = \"azure\"\napi_version = \"2024-10-21\"\ndeployments = { \"deployed-whole\" = \"ours\" }",
    )
    .at(
        "",
        "/openai/deployments/deployed-streamed/chat/completions?api-version=2024-10-21",
        "/openai/deployments/ours/chat/completions?api-version=2024-10-21",
    ),
    Format::new("native", "format = \"ollama\"").at("", "/api/chat", "/api/chat"),
];

/// Starts the peer with these fixtures; `None` where it is not installed.
fn start(fixtures: &[Value], arguments: &[&str]) -> Option<Peer> {
    let program = installed("peer/node_modules/.bin/llmock");
    if !program.exists() {
        println!("skipped: npm package `@copilotkit/aimock` is not installed under target/peer");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fixtures.json");
    std::fs::write(&file, json!({ "fixtures": fixtures }).to_string()).unwrap();
    let mut command = Command::new(program);
    command
        .args(["-p", "0", "-f"])
        .arg(&file)
        .args(arguments)
        .env("AIMOCK_API_KEYS", KEY);
    Some(Peer::start(&mut command, "listening on "))
}

/// Each format, streamed and whole.
fn ways() -> Vec<(&'static Format<'static>, bool)> {
    let ways = |format| [(format, true), (format, false)];
    FORMATS.iter().flat_map(ways).collect()
}

fn calls(name: &str, arguments: &Value) -> Value {
    json!({"toolCalls": [{"name": name, "arguments": arguments.to_string()}]})
}

fn reads_notes() -> Value {
    calls("read_file", &json!({"path": "notes.txt"}))
}

fn answers() -> Value {
    json!({"match": {"hasToolResult": true}, "response": {"content": ANSWER}})
}

/// Returns the name that the peer knows a model by: the deployment's, where there is one.
fn seen_as(model: &str) -> &str {
    if model == "deployed-whole" {
        "ours"
    } else {
        model
    }
}

/// Returns the requests of a model that the peer has seen: path, and whether a stream was asked for.
fn requests(peer: &Peer, model: &str) -> Vec<(String, bool)> {
    let journal = peer.ask("GET", "/__aimock/journal", &Value::Null);
    let entries = journal.as_array().unwrap().iter();
    let of_model = entries.filter(|entry| entry["body"]["model"] == model);
    of_model
        .map(|entry| {
            let path = entry["path"].as_str().unwrap().to_owned();
            (path, entry["body"]["stream"] == true)
        })
        .collect()
}

#[test]
fn a_tool_is_called_and_its_result_answered_in_every_format() {
    let fixtures = [
        json!({"match": {"hasToolResult": false}, "response": reads_notes()}),
        answers(),
    ];
    let Some(peer) = start(&fixtures, &[]) else {
        return;
    };
    each(&ways(), |(format, streams)| {
        let run = Run::new(format, &peer.root(), *streams, "", "read my notes");
        let model = model_of(format, *streams);
        run.assert_answered(&model, ANSWER);
        assert_eq!(run.failures(), [], "{model}");
        let path = if *streams {
            format.streamed
        } else {
            format.whole
        };
        let expected = (path.to_owned(), *streams);
        assert_eq!(
            requests(&peer, seen_as(&model)),
            [expected.clone(), expected],
            "{model}"
        );
    });
}

#[test]
fn calls_that_may_not_run_are_told_so_in_every_format() {
    let call = |word: &str, call| json!({"match": {"userMessage": word, "hasToolResult": false}, "response": call});
    let fixtures = [
        call("mistake", calls("read_file", &json!({"file": "notes.txt"}))),
        call(
            "write",
            calls("write_file", &json!({"path": "x", "content": "y"})),
        ),
        answers(),
        json!({"match": {"userMessage": "refused"},
            "response": {"error": {"message": "wrong key", "type": "authentication_error"}, "status": 401}}),
    ];
    let Some(peer) = start(&fixtures, &[]) else {
        return;
    };
    each(&ways(), |(format, streams)| {
        let about = model_of(format, *streams);
        let ask = |prompt| Run::new(format, &peer.root(), *streams, "", prompt);

        let run = ask("make a mistake");
        assert_eq!(
            (run.code, &*run.out),
            (Some(0), &*format!("{ANSWER}\n")),
            "{about}"
        );
        let [("invalid", report)] = run.outcomes()[..] else {
            panic!("{about}: {:?}", run.outcomes());
        };
        assert!(
            report.contains("- /path: required, missing (string)"),
            "{about}: {report}"
        );

        let run = ask("write it down");
        assert_eq!(run.code, Some(0), "{about}");
        let [("denied", refusal)] = run.outcomes()[..] else {
            panic!("{about}: {:?}", run.outcomes());
        };
        assert!(refusal.contains("`write_file`"), "{about}: {refusal}");
        assert!(!run.folder.path().join("x").exists(), "{about}");

        let run = ask("be refused");
        assert_eq!((run.code, &*run.out), (Some(4), ""), "{about}");
        assert_eq!(run.failures(), [("auth", None)], "{about}");
        assert!(run.err.contains("wrong key"), "{about}: {}", run.err);
    });
}

/// What goes wrong: its name, what it adds to a fixture or puts in its place, and the classes it may count as.
fn faults() -> [(&'static str, Value, &'static [&'static str]); 8] {
    let error = |status: u16| json!({"response": {"error": {"message": "no"}, "status": status}});
    [
        ("limited", error(429), &["rate_limit"]),
        ("busy", error(503), &["overloaded"]),
        (
            "dropped",
            json!({"chaos": {"dropRate": 1}}),
            &["overloaded"],
        ),
        (
            "quota",
            json!({"chaos": {"rateLimitRate": 1}}),
            &["rate_limit"],
        ),
        // Ollama's documents end with a line feed, and half of one is a line without its end.
        (
            "garbled",
            json!({"chaos": {"malformedRate": 1}}),
            &["bad_response", "incomplete_stream"],
        ),
        (
            "hung up",
            json!({"chaos": {"disconnectRate": 1}}),
            &["network"],
        ),
        (
            "cut",
            json!({"chunkSize": 4, "truncateAfterChunks": 3}),
            &["network", "incomplete_stream"],
        ),
        (
            "cut later",
            json!({"chunkSize": 1, "latency": 20, "disconnectAfterMs": 90}),
            &["network", "incomplete_stream"],
        ),
    ]
}

/// Tells whether a call comes in one piece and so is not cut by this fault.
fn is_in_one_piece(format: &Format<'_>, fault: &str) -> bool {
    matches!(format.name, "generate" | "native") && fault.starts_with("cut")
}

#[test]
fn what_goes_wrong_once_is_overcome_in_every_format() {
    let mut fixtures = Vec::new();
    for (format, streams) in ways() {
        for (name, fault, _) in faults() {
            for (second, reply) in [(false, reads_notes()), (true, json!({"content": ANSWER}))] {
                if !second && is_in_one_piece(format, name) {
                    continue;
                }
                let mut fixture = json!({
                    "match": {
                        "model": seen_as(&model_of(format, streams)),
                        "userMessage": format!("through: {name}."),
                        "hasToolResult": second,
                        "sequenceIndex": 0,
                    },
                    "response": reply,
                });
                let fields = fixture.as_object_mut().unwrap();
                fields.extend(fault.as_object().unwrap().clone());
                fixtures.push(fixture);
            }
        }
    }
    fixtures.push(
        json!({"match": {"hasToolResult": false}, "response": reads_notes(), "chunkSize": 5}),
    );
    fixtures.push(answers());
    let Some(peer) = start(&fixtures, &["--latency", "2", "--chunk-size", "1"]) else {
        return;
    };
    let mut cases = Vec::new();
    for (format, streams) in ways() {
        for fault in faults() {
            // What has no pieces cannot be cut between them.
            if streams || !fault.0.starts_with("cut") {
                cases.push((format, streams, fault));
            }
        }
    }
    each(&cases, |(format, streams, (name, _, classes))| {
        let about = format!("{}: {name}", model_of(format, *streams));
        let prompt = format!("read my notes through: {name}.");
        let run = Run::new(format, &peer.root(), *streams, "", &prompt);
        run.assert_answered(&about, ANSWER);
        // Each request failed once, and was made again after a second; but where the second found the connection of the
        // first closed, it went out on a new one at once.
        let once = is_in_one_piece(format, name) || *name == "hung up";
        let failed = if once { 1 } else { 2 };
        let failures = run.failures();
        assert_eq!(failures.len(), failed, "{about}: {}", run.err);
        for (class, pause) in failures {
            assert!(classes.contains(&class), "{about}: {class}");
            assert!(
                (900..=1_100).contains(&pause.unwrap()),
                "{about}: {pause:?}"
            );
        }
        assert_eq!(run.events("model_request").len(), 2 + failed, "{about}");
    });
}

#[test]
fn what_stays_wrong_ends_the_run_with_the_reason() {
    let fixtures = [
        json!({"match": {"hasToolResult": false}, "response": reads_notes()}),
        answers(),
    ];
    let Some(peer) = start(&fixtures, &[]) else {
        return;
    };
    let chaos = [
        ("ratelimit", "rate_limit", "rate limited"),
        ("drop", "overloaded", "service unavailable"),
        ("malformed", "", "answer"),
        ("disconnect", "network", "network failure"),
    ];
    let cases: Vec<_> = ways()
        .into_iter()
        .flat_map(|way| chaos.map(|chaos| (way, chaos)))
        .collect();
    each(&cases, |((format, streams), (mode, class, words))| {
        let about = format!("{}: {mode}", model_of(format, *streams));
        // The peer takes its chaos from headers, too, so that each run has its own.
        let format = Format {
            settings: &format!(
                "{}\nheaders = {{ x-aimock-chaos-{mode} = \"1\" }}",
                format.settings
            ),
            ..**format
        };
        let run = Run::new(
            &format,
            &peer.root(),
            *streams,
            "[limits]\nattempts = 2",
            "read my notes",
        );
        assert_eq!((run.code, &*run.out), (Some(4), ""), "{about}: {}", run.err);
        let failures = run.failures();
        assert!(
            matches!(failures[..], [(_, Some(_)), (_, None)]),
            "{about}: {failures:?}"
        );
        assert!(
            failures.iter().all(|it| class.is_empty() || it.0 == *class),
            "{about}: {failures:?}"
        );
        assert_eq!(run.outcomes(), [], "{about}");
        let end = run.events("turn_end");
        assert_eq!(end[0]["outcome"]["reason"]["type"], "failed", "{about}");
        let reason = "error: the model failed: ";
        assert!(
            run.err.contains(reason) && run.err.contains(words),
            "{about}: {}",
            run.err
        );
        assert!(!run.err.contains(KEY), "{about}");
    });
}

#[test]
fn reasoning_and_several_calls_go_back_as_each_format_demands() {
    let calls = json!([
        {"name": "read_file", "arguments": "{\"path\": \"notes.txt\"}"},
        {"name": "read_file", "arguments": "{\"path\": \"missing.txt\"}"},
    ]);
    let fixtures = [
        json!({"match": {"hasToolResult": false}, "response": {
            "reasoning": "I look at both.",
            "reasoningSignature": "c2lnbmVk",
            "redactedThinking": ["aGlkZGVu"],
            "toolCalls": calls,
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        }}),
        json!({"match": {"hasToolResult": true}, "response": {
            "content": ANSWER,
            "usage": {"prompt_tokens": 13, "completion_tokens": 5},
        }}),
    ];
    let Some(peer) = start(&fixtures, &[]) else {
        return;
    };
    each(&ways(), |(format, streams)| {
        let about = model_of(format, *streams);
        // The peer refuses a round of tools that does not begin with the thinking it sent, where thinking is asked for.
        let settings = match format.name {
            "messages" => format!("{}\nthinking = 2000", format.settings),
            _ => format.settings.to_owned(),
        };
        let format = Format {
            settings: &settings,
            ..**format
        };
        let run = Run::new(&format, &peer.root(), *streams, "", "look at both");
        assert_eq!(
            (run.code, &*run.out),
            (Some(0), &*format!("{ANSWER}\n")),
            "{about}: {}",
            run.err
        );
        // Calls that run side by side end in any order.
        let mut outcomes = run.outcomes();
        outcomes.sort_unstable();
        let [("error", missing), ("ok", text)] = outcomes[..] else {
            panic!("{about}: {outcomes:?}");
        };
        assert!(
            text == NOTES && missing.contains("missing.txt"),
            "{about}: {missing}"
        );
        let said = run.events("assistant")[0]["content"].to_string();
        // Over Ollama's format the peer sends reasoning in a field of another's making, and counts nothing.
        let (reasons, counts) = match format.name {
            "native" => (false, [0, 0]),
            _ => (true, [24, 12]),
        };
        assert_eq!(said.contains("I look at both."), reasons, "{about}: {said}");
        let usage = &run.events("turn_end")[0]["outcome"]["usage"];
        let counted = [&usage["input_tokens"], &usage["output_tokens"]];
        assert_eq!(counted, counts, "{about}: {usage}");
    });
}

#[test]
fn an_answer_that_reached_the_output_limit_ends_with_its_own_code() {
    let fixtures =
        [json!({"match": {}, "response": {"content": "Half an ans", "finishReason": "length"}})];
    let Some(peer) = start(&fixtures, &[]) else {
        return;
    };
    // Over Ollama's format the peer says `stop` always.
    let ways: Vec<_> = ways()
        .into_iter()
        .filter(|(format, _)| format.name != "native")
        .collect();
    each(&ways, |(format, streams)| {
        let run = Run::new(format, &peer.root(), *streams, "", "go on and on");
        let about = model_of(format, *streams);
        assert_eq!(
            (run.code, &*run.out),
            (Some(5), "Half an ans\n"),
            "{about}: {}",
            run.err
        );
        let reason = &run.events("turn_end")[0]["outcome"]["reason"];
        assert_eq!(reason["type"], "limit", "{about}: {reason}");
    });
}
