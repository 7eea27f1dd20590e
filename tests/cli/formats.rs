//! Every wire format through the program: settings, one round of tools, what is sent and what is answered.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::service::{Answer, Request, Service, claw};
use crate::{code, err, out};

const KEY: &str = "key-1234567890";

/// Lets the model `m` of a service read a file under these settings; returns what the service was sent.
fn one_round(settings: &str, answers: [Answer; 2]) -> [Request; 2] {
    let service = Service::start(answers);
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("note.txt"), "remember\n").unwrap();
    let settings = format!(
        "model = \"work:m\"\n[providers.work]\n{}",
        settings.replace("ROOT", service.root())
    );
    fs::write(folder.path().join("claw.toml"), settings).unwrap();
    let output = claw(folder.path())
        .env("WORK_KEY", KEY)
        .args(["run", "--config", "claw.toml", "What does the note say?"])
        .output()
        .unwrap();
    assert_eq!(
        (code(&output), out(&output)),
        (Some(0), "It says: remember.\n".into()),
        "{}",
        err(&output)
    );
    assert!(err(&output).contains("✓ read_file"), "{}", err(&output));
    service
        .received()
        .try_into()
        .unwrap_or_else(|requests: Vec<Request>| panic!("{} requests", requests.len()))
}

fn events(events: &[Value]) -> Answer {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    Answer::Body("text/event-stream", events.collect())
}

fn lines(lines: &[Value]) -> Answer {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    Answer::Body("application/x-ndjson", lines.collect())
}

/// Returns the definition of a tool in a list of tools of the OpenAI form.
fn offered<'v>(tools: &'v Value, name: &str) -> Option<&'v Value> {
    let mut functions = tools.as_array()?.iter().map(|tool| &tool["function"]);
    functions.find(|function| function["name"] == name)
}

fn last_but(messages: &Value, back: usize) -> &Value {
    let messages = messages.as_array().unwrap();
    &messages[messages.len() - 1 - back]
}

#[test]
fn openai_responses() {
    let item = json!({"id": "fc_1", "type": "function_call", "call_id": "call_1",
        "name": "read_file", "arguments": "{\"path\":\"note.txt\"}"});
    let thought =
        json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c3Q="});
    let completed = json!({"type": "response.completed", "response": {"status": "completed"}});
    let [first, second] = one_round(
        "format = \"openai-responses\"\nbase_url = \"ROOT/v1\"\nkey_env = \"WORK_KEY\"\n\
         capabilities = { m = { reasoning = true } }\neffort = \"low\"",
        [
            events(&[
                json!({"type": "response.output_item.done", "output_index": 0, "item": thought}),
                json!({"type": "response.output_item.done", "output_index": 1, "item": item}),
                completed.clone(),
            ]),
            events(&[
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": "It says: "}),
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": "remember."}),
                completed,
            ]),
        ],
    );
    assert_eq!(first.path, "/v1/responses");
    assert!(
        first
            .headers
            .contains(&format!("authorization: bearer {KEY}"))
    );
    assert_eq!(first.body["store"], false);
    assert_eq!(first.body["reasoning"], json!({"effort": "low"}));
    assert_eq!(
        first.body["include"],
        json!(["reasoning.encrypted_content"])
    );
    let tools = first.body["tools"].as_array().unwrap();
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "read_file")
        .unwrap();
    assert_eq!(tool["strict"], false);
    assert_eq!(tool["parameters"]["type"], "object");
    let input = &second.body["input"];
    assert_eq!(last_but(input, 2), &thought);
    assert_eq!(
        last_but(input, 1),
        &json!({"type": "function_call", "call_id": "call_1", "name": "read_file",
            "arguments": "{\"path\":\"note.txt\"}"})
    );
    assert_eq!(last_but(input, 0)["type"], "function_call_output");
    assert_eq!(last_but(input, 0)["call_id"], "call_1");
    assert!(
        last_but(input, 0)["output"]
            .as_str()
            .unwrap()
            .contains("remember")
    );
}

#[test]
fn azure() {
    let [first, second] = one_round(
        "format = \"azure\"\nbase_url = \"ROOT\"\nkey_env = \"WORK_KEY\"\n\
         api_version = \"2024-10-21\"\ndeployments = { m = \"our-m\" }",
        [
            crate::service::calls("read_file", &json!({"path": "note.txt"})),
            crate::service::says("It says: remember."),
        ],
    );
    assert_eq!(
        first.path,
        "/openai/deployments/our-m/chat/completions?api-version=2024-10-21"
    );
    assert!(first.headers.contains(&format!("api-key: {KEY}")));
    assert!(!first.headers.contains("authorization"));
    assert_eq!(first.body["model"], "our-m");
    assert!(offered(&first.body["tools"], "read_file").is_some());
    assert_eq!(last_but(&second.body["messages"], 0)["role"], "tool");
}

#[test]
fn azure_at_its_v1_address() {
    let [first, _] = one_round(
        "format = \"azure\"\nbase_url = \"ROOT\"\nkey_env = \"WORK_KEY\"",
        [
            crate::service::calls("read_file", &json!({"path": "note.txt"})),
            crate::service::says("It says: remember."),
        ],
    );
    assert_eq!(first.path, "/openai/v1/chat/completions");
    assert_eq!(first.body["model"], "m");
}

#[test]
fn ollama() {
    let call = json!({"function": {"name": "read_file", "arguments": {"path": "note.txt"}}});
    let [first, second] = one_round(
        "format = \"ollama\"\nbase_url = \"ROOT\"\ncapabilities = { m = { window = 8192 } }",
        [
            lines(&[
                json!({"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": false}),
                json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
            ]),
            lines(&[
                json!({"message": {"role": "assistant", "content": "It says: remember."}, "done": false}),
                json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
            ]),
        ],
    );
    assert_eq!(first.path, "/api/chat");
    assert!(!first.headers.contains("authorization"));
    assert_eq!(first.body["options"]["num_ctx"], 8192);
    assert_eq!(first.body["stream"], true);
    assert!(offered(&first.body["tools"], "read_file").is_some());
    let messages = &second.body["messages"];
    let asked = &last_but(messages, 1)["tool_calls"][0];
    assert_eq!(asked["function"]["arguments"], json!({"path": "note.txt"}));
    let result = last_but(messages, 0);
    assert_eq!(
        (&result["role"], &result["tool_name"]),
        (&json!("tool"), &json!("read_file"))
    );
    assert_eq!(result["tool_call_id"], asked["id"]);
    assert!(result["content"].as_str().unwrap().contains("remember"));
}

#[test]
fn dashscope() {
    let said = |message: Value, reason: &str| {
        json!({"output": {"choices": [{"message": message, "finish_reason": reason}]},
            "usage": {"input_tokens": 3, "output_tokens": 1}})
    };
    let call = |arguments: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [{"index": 0, "id": "call_1",
            "type": "function", "function": {"name": "read_file", "arguments": arguments}}]})
    };
    let [first, second] = one_round(
        "format = \"dashscope\"\nbase_url = \"ROOT/api/v1\"\nkey_env = \"WORK_KEY\"",
        [
            events(&[
                said(call("{\"path\":"), "null"),
                said(call("\"note.txt\"}"), "tool_calls"),
            ]),
            events(&[
                said(json!({"role": "assistant", "content": "It says: "}), "null"),
                said(json!({"role": "assistant", "content": "remember."}), "stop"),
            ]),
        ],
    );
    assert_eq!(
        first.path,
        "/api/v1/services/aigc/text-generation/generation"
    );
    assert!(first.headers.contains("x-dashscope-sse: enable"));
    assert!(
        first
            .headers
            .contains(&format!("authorization: bearer {KEY}"))
    );
    let parameters = &first.body["parameters"];
    assert_eq!(parameters["result_format"], "message");
    assert_eq!(parameters["incremental_output"], true);
    assert_eq!(parameters["parallel_tool_calls"], true);
    assert!(offered(&parameters["tools"], "read_file").is_some());
    let messages = &second.body["input"]["messages"];
    assert_eq!(
        last_but(messages, 1)["tool_calls"][0]["function"]["arguments"],
        "{\"path\":\"note.txt\"}"
    );
    assert_eq!(last_but(messages, 0)["tool_call_id"], "call_1");
}

#[test]
fn a_weak_model_is_held_to_a_form() {
    let call = r#"{"name": "read_file", "arguments": {"path": "note.txt"}}"#;
    let answer = r#"{"answer": "It says: remember."}"#;
    let line = |text: &str| {
        lines(&[
            json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"}),
        ])
    };
    let requests = one_round(
        "format = \"ollama\"\nbase_url = \"ROOT\"\nprotocol = \"prompt\"\nconstrain = \"always\"",
        [line(call), line(answer)],
    );
    for request in &requests {
        assert!(request.body["format"]["oneOf"].is_array());
        assert_eq!(request.body["options"]["stop"], Value::Null);
    }
    let chunk = |text: &str| {
        events(&[
            json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}),
        ])
    };
    let requests = one_round(
        "base_url = \"ROOT/v1\"\nprotocol = \"prompt\"\nconstrain = \"never\"\n\
         capabilities = { m = { constrain = \"always\" } }",
        [chunk(call), chunk(answer)],
    );
    for request in &requests {
        let form = &request.body["response_format"]["json_schema"];
        assert!(form["schema"]["oneOf"].is_array());
        assert_eq!(request.body["stop"], Value::Null);
    }
}
