//! Chat completions, and what Ollama and DashScope made of them.

use serde_json::Value;

use super::pairs::Pairs;
use super::{Fault, list, name, object, text};

/// Where they differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Arguments are text, results name their call.
    OpenAi,
    /// Arguments are an object, results name their tool.
    Ollama,
}

pub(super) fn check(messages: &Value, form: Form) -> Result<(), Fault> {
    let mut pairs = Pairs::default();
    let mut before = "";
    for (at, message) in list("messages", messages)?.iter().enumerate() {
        let place = format!("messages[{at}]");
        let role = text(&place, message, "role")?;
        if role != "tool" {
            pairs.end(&place)?;
        }
        match role {
            "system" | "developer" if matches!(before, "" | "system" | "developer") => {
                said(&place, message)?;
            }
            "user" => said(&place, message)?,
            "assistant" if matches!(before, "user" | "tool") => {
                assistant(&place, message, form, &mut pairs)?;
            }
            "tool" if matches!(before, "assistant" | "tool") => {
                said(&place, message)?;
                let by_name = message["tool_name"].as_str().or(message["name"].as_str());
                match form {
                    Form::OpenAi => {
                        pairs.result(&place, Some(text(&place, message, "tool_call_id")?), None)?;
                    }
                    Form::Ollama => pairs.result(
                        &place,
                        message["tool_call_id"].as_str(),
                        Some(by_name.unwrap_or_default()),
                    )?,
                }
            }
            _ => return Err(Fault::new(place, format!("`{role}` after `{before}`"))),
        }
        before = role;
    }
    pairs.end("messages")?;
    match before {
        "user" | "tool" => Ok(()),
        _ => Err(Fault::new("messages", "the user or a tool must speak last")),
    }
}

fn assistant(place: &str, message: &Value, form: Form, pairs: &mut Pairs) -> Result<(), Fault> {
    if message.get("tool_calls").is_none() {
        return said(place, message);
    }
    for call in list(place, &message["tool_calls"])? {
        let function = &call["function"];
        name(place, text(place, function, "name")?)?;
        let id = match form {
            Form::OpenAi => {
                object(place, text(place, function, "arguments")?)?;
                let id = text(place, call, "id")?;
                if id.is_empty() {
                    return Err(Fault::new(place, "a call without an id"));
                }
                id
            }
            Form::Ollama => {
                if !function["arguments"].is_object() {
                    return Err(Fault::new(place, "arguments that are no object"));
                }
                call["id"].as_str().unwrap_or_default()
            }
        };
        pairs.call(place, id, text(place, function, "name")?)?;
    }
    Ok(())
}

/// Checks that a message has content.
fn said(place: &str, message: &Value) -> Result<(), Fault> {
    let with_image = message["images"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    match &message["content"] {
        Value::String(text) if !text.trim().is_empty() || with_image => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            let empty = |part: &Value| part["text"].as_str().is_some_and(|it| it.trim().is_empty());
            match parts.iter().any(empty) {
                true => Err(Fault::new(place, "an empty text among its parts")),
                false => Ok(()),
            }
        }
        _ => Err(Fault::new(place, "no content")),
    }
}
