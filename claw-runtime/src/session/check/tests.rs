//! What each checker takes and refuses, in small.

use serde_json::{Value, json};

use super::*;

fn said(family: Family, body: &Value) -> String {
    match family.check(body) {
        Ok(()) => "fine".to_owned(),
        Err(fault) => fault.to_string(),
    }
}

fn cases(family: Family, field: &str, cases: &[(Value, &str)]) {
    for (history, expected) in cases {
        let body = match field {
            "input.messages" => json!({ "input": { "messages": history } }),
            field => json!({ field: history }),
        };
        let said = said(family, &body);
        assert!(said.contains(expected), "{history}\n{said}\n{expected}");
    }
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<_> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "found"})
}

#[test]
fn chat_completions() {
    let system = json!({"role": "system", "content": "Be kind."});
    let dotted = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "a.b", "arguments": "{}"}}]});
    let empty = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "ab", "arguments": ""}}]});
    let silent = json!({"role": "assistant", "content": ""});
    let table = [
        (json!([system, user("hi")]), "fine"),
        (
            json!([user("hi"), calls(&["a", "b"]), result("a"), result("b")]),
            "fine",
        ),
        (
            json!([user("hi"), calls(&["a"]), result("a"), user("more")]),
            "fine",
        ),
        (json!([]), "messages: a list that is missing"),
        (json!([user("")]), "messages[0]: no content"),
        (
            json!([user("hi"), calls(&["a"]), user("hi")]),
            "messages[2]: the call `a` (look) has no result",
        ),
        (
            json!([user("hi"), calls(&["a", "b"]), result("a")]),
            "the call `b` (look) has no result",
        ),
        (
            json!([user("hi"), calls(&["a", "b"]), result("b"), result("a")]),
            "messages[2]: the result of another call",
        ),
        (
            json!([user("hi"), result("a")]),
            "messages[1]: `tool` after `user`",
        ),
        (
            json!([user("hi"), calls(&["a"]), result("a"), result("a")]),
            "messages[3]: a result without a call",
        ),
        (
            json!([user("hi"), calls(&["a", "a"]), result("a"), result("a")]),
            "the id `a` is used twice",
        ),
        (json!([calls(&["a"]), result("a")]), "`assistant` after ``"),
        (json!([user("hi"), silent]), "messages[1]: no content"),
        (json!([user("hi"), dotted]), "`a.b` is no name of a tool"),
        (
            json!([user("hi"), empty]),
            "arguments that are no JSON object",
        ),
        (
            json!([user("hi"), {"role": "assistant", "content": "hi"}]),
            "must speak last",
        ),
    ];
    cases(Family::OpenAiChat, "messages", &table);
    cases(Family::DashScope, "input.messages", &table);
}

#[test]
fn ollama() {
    let call = |arguments: Value| json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": arguments}}]});
    let result = |name: &str| json!({"role": "tool", "tool_name": name, "content": "found"});
    cases(
        Family::Ollama,
        "messages",
        &[
            (json!([user("hi"), call(json!({})), result("look")]), "fine"),
            (
                json!([user("hi"), call(json!("{}")), result("look")]),
                "no object",
            ),
            (
                json!([user("hi"), call(json!({})), result("find")]),
                "another call",
            ),
            (
                json!([user("hi"), call(json!({})), user("hi")]),
                "has no result",
            ),
        ],
    );
}

#[test]
fn responses() {
    let user =
        |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let output =
        |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "found"});
    let thought = json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"});
    cases(
        Family::OpenAiResponses,
        "input",
        &[
            (json!([user("hi")]), "fine"),
            (
                json!([
                    user("hi"),
                    thought,
                    call("a"),
                    call("b"),
                    output("a"),
                    output("b")
                ]),
                "fine",
            ),
            (
                json!([user("hi"), thought, user("hi")]),
                "input[2]: reasoning without what it led to",
            ),
            (json!([user("hi"), call("a"), user("hi")]), "has no result"),
            (json!([user("hi"), output("a")]), "a result without a call"),
            (json!([user("hi"), call("a"), output("b")]), "another call"),
            (json!([user("hi"), call("a")]), "has no result"),
            (json!([call("a"), output("a")]), "cannot stand here"),
            (json!([{"role": "user", "content": []}]), "missing or empty"),
        ],
    );
}

#[test]
fn anthropic() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let model = |content: Value| json!({"role": "assistant", "content": content});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "found"});
    let text = |text: &str| json!({"type": "text", "text": text});
    cases(
        Family::Anthropic,
        "messages",
        &[
            (json!([user(json!("hi"))]), "fine"),
            (
                json!([
                    user(json!("hi")),
                    model(json!([text("ok"), call("a"), call("b")])),
                    user(json!([result("a"), result("b"), text("and?")]))
                ]),
                "fine",
            ),
            (json!([model(json!("hi"))]), "`assistant` after ``"),
            (json!([user(json!("hi")), user(json!("hi"))]), "fine"),
            (json!([user(json!(" "))]), "an empty text"),
            (json!([user(json!([]))]), "missing or empty"),
            (
                json!([
                    user(json!("hi")),
                    model(json!([call("a")])),
                    user(json!("hi"))
                ]),
                "has no result",
            ),
            (
                json!([
                    user(json!("hi")),
                    model(json!([call("a")])),
                    user(json!([text("x"), result("a")]))
                ]),
                "has no result before this",
            ),
            (
                json!([user(json!("hi")), model(json!([call("a:0")]))]),
                "`a:0` is no id",
            ),
            (
                json!([user(json!([result("a")]))]),
                "a result without a call",
            ),
            (
                json!([user(json!("hi")), model(json!("hi"))]),
                "must speak last",
            ),
        ],
    );
}

#[test]
fn gemini() {
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let call = json!({"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "x"});
    let result = json!({"functionResponse": {"name": "look", "response": {"output": "found"}}});
    let hi = json!([{"text": "hi"}]);
    cases(
        Family::Gemini,
        "contents",
        &[
            (json!([user(hi.clone())]), "fine"),
            (
                json!([
                    user(hi.clone()),
                    model(json!([call])),
                    user(json!([result]))
                ]),
                "fine",
            ),
            (
                json!([user(hi.clone()), model(json!([call])), user(hi.clone())]),
                "has no result",
            ),
            (
                json!([
                    user(hi.clone()),
                    model(json!([call, call])),
                    user(json!([result]))
                ]),
                "has no result",
            ),
            (json!([user(json!([result]))]), "a result without a call"),
            (json!([user(json!([{"text": ""}]))]), "an empty text"),
            (json!([model(hi.clone())]), "`model` after ``"),
            (
                json!([user(hi.clone()), model(hi.clone())]),
                "must speak last",
            ),
            (json!([user(json!([]))]), "missing or empty"),
        ],
    );
}

#[test]
fn conversations() {
    use crate::message::{ToolCall, ToolResult};
    let call = |id: &str, arguments: &str| {
        ContentBlock::ToolCall(ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: arguments.to_owned(),
        })
    };
    let result = |id: &str| Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: id.to_owned(),
            name: "look".to_owned(),
            content: vec![ContentBlock::text("found")],
            is_error: false,
        })],
    };
    let hi = || Message::user("hi");
    let table = [
        (vec![hi()], "fine"),
        (
            vec![hi(), Message::assistant(vec![call("a", "{}")]), result("a")],
            "fine",
        ),
        (
            vec![hi(), Message::assistant(vec![call("a", "{}")])],
            "has no result",
        ),
        (
            vec![hi(), Message::assistant(vec![call("a", "")]), result("a")],
            "no JSON object",
        ),
        (
            vec![hi(), Message::assistant(vec![call("a", "{}")]), result("b")],
            "another call",
        ),
        (vec![hi(), hi()], "User after User"),
        (vec![result("a")], "Tool after nothing"),
        (vec![hi(), Message::assistant(vec![])], "an empty message"),
        (
            vec![hi(), Message::assistant(vec![ContentBlock::text(" ")])],
            "says nothing",
        ),
    ];
    for (messages, expected) in table {
        let said =
            conversation(&messages).map_or_else(|fault| fault.to_string(), |()| "fine".into());
        assert!(said.contains(expected), "{said}");
    }
    assert!(plain(&[hi()]).is_ok());
    assert!(plain(&[hi(), Message::assistant(vec![call("a", "{}")]), hi()]).is_err());
    assert!(plain(&[hi(), Message::assistant(vec![ContentBlock::text("yes")])]).is_err());
}
