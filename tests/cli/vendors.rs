//! A round with a tool against services that speak formats of their own.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::service::{Answer, Service, claw};
use crate::{code, err, out};

/// Runs the program with a note to read, a model and a key; returns the requests.
fn note_is_read(script: [Answer; 2], model: &str, provider: &str, key: &str) -> Vec<Value> {
    let service = Service::start(script);
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("note.txt"), "remember\n").unwrap();
    let config = format!("[providers.{provider}]\nbase_url = {:?}", service.url);
    fs::write(folder.path().join("claw.toml"), config).unwrap();
    let output = claw(folder.path())
        .env(key, "key-1234")
        .args(["run", "--model", model, "What does the note say?"])
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), out(&output)),
        (Some(0), "It says: remember.\n".into()),
        "{}",
        err(&output)
    );
    assert!(err(&output).contains("✓ read_file"), "{}", err(&output));
    service.requests()
}

fn anthropic(events: &[Value]) -> Answer {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    });
    Answer::Events(lines.collect())
}

fn block(index: usize, block: &Value, deltas: &[Value]) -> Vec<Value> {
    let begin = json!({"type": "content_block_start", "index": index, "content_block": block});
    let deltas = deltas
        .iter()
        .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let end = json!({"type": "content_block_stop", "index": index});
    [begin].into_iter().chain(deltas).chain([end]).collect()
}

#[test]
fn anthropic_reads_a_note() {
    let start = json!({"type": "message_start", "message": {
        "content": [], "usage": {"input_tokens": 9, "output_tokens": 1},
    }});
    let stop = |reason: &str| {
        [
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]
    };
    let calls = [
        vec![start.clone()],
        block(
            0,
            &json!({"type": "thinking", "thinking": "", "signature": ""}),
            &[
                json!({"type": "thinking_delta", "thinking": "I look."}),
                json!({"type": "signature_delta", "signature": "EqQB"}),
            ],
        ),
        block(
            1,
            &json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}),
            &[
                json!({"type": "input_json_delta", "partial_json": "{\"path\":"}),
                json!({"type": "input_json_delta", "partial_json": "\"note.txt\"}"}),
            ],
        ),
        stop("tool_use").into(),
    ];
    let says = [
        vec![start],
        block(
            0,
            &json!({"type": "text", "text": ""}),
            &[json!({"type": "text_delta", "text": "It says: remember."})],
        ),
        stop("end_turn").into(),
    ];
    let requests = note_is_read(
        [anthropic(&calls.concat()), anthropic(&says.concat())],
        "anthropic:claude-x",
        "anthropic",
        "ANTHROPIC_API_KEY",
    );
    assert_eq!(requests[0]["model"], "claude-x");
    let tools = requests[0]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "read_file");
    assert_eq!(tool.unwrap()["input_schema"]["type"], "object");
    let messages = requests[1]["messages"].as_array().unwrap();
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "EqQB"},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "note.txt"}},
        ]})
    );
    let result = &messages[2]["content"][0];
    assert_eq!(result["tool_use_id"], "toolu_1");
    assert!(result["content"].as_str().unwrap().contains("remember"));
}

#[test]
fn gemini_reads_a_note() {
    let says = |parts: Value| {
        let candidate =
            json!({"content": {"role": "model", "parts": parts}, "finishReason": "STOP"});
        Answer::Events(format!(
            "data: {}\r\n\r\n",
            json!({"candidates": [candidate]})
        ))
    };
    let call = json!({
        "functionCall": {"name": "read_file", "args": {"path": "note.txt"}}, "thoughtSignature": "c2ln",
    });
    let requests = note_is_read(
        [
            says(json!([call.clone()])),
            says(json!([{"text": "It says: remember."}])),
        ],
        "gemini:gemini-3-x",
        "gemini",
        "GEMINI_API_KEY",
    );
    let tools = requests[0]["tools"][0]["functionDeclarations"].as_array();
    let tool = tools
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "read_file");
    assert_eq!(tool.unwrap()["parametersJsonSchema"]["type"], "object");
    let contents = requests[1]["contents"].as_array().unwrap();
    assert_eq!(contents[1], json!({"role": "model", "parts": [call]}));
    let response = &contents[2]["parts"][0]["functionResponse"];
    assert_eq!(response["name"], "read_file");
    assert!(
        response["response"]["output"]
            .as_str()
            .unwrap()
            .contains("remember")
    );
}

#[test]
fn thinking_is_a_setting_of_the_formats_that_have_it() {
    let folder = tempdir().unwrap();
    let asked = |format: &str, thinking: &str| {
        let service = Service::start([]);
        let config = format!(
            "[providers.lab]\nbase_url = {:?}\nformat = {format:?}\nthinking = {thinking}",
            service.url
        );
        fs::write(folder.path().join("claw.toml"), config).unwrap();
        let output = claw(folder.path())
            .args(["run", "--model", "lab:m", "hi"])
            .output()
            .unwrap();
        (service.requests().first().cloned(), err(&output))
    };
    let (request, _) = asked("anthropic", "2048");
    let thinking = json!({"type": "enabled", "budget_tokens": 2048});
    assert_eq!(request.unwrap()["thinking"], thinking);
    let (request, _) = asked("gemini", "\"off\"");
    let config = &request.unwrap()["generationConfig"]["thinkingConfig"];
    assert_eq!(config, &json!({"thinkingBudget": 0}));
    let (request, _) = asked("ollama", "\"off\"");
    assert_eq!(request.unwrap()["think"], false);
    let (request, _) = asked("dashscope", "2048");
    assert_eq!(request.unwrap()["parameters"]["thinking_budget"], 2048);
    let (request, said) = asked("openai-chat", "\"off\"");
    assert_eq!(request, None);
    assert!(said.contains("`providers.lab.thinking` is set"), "{said}");
}
