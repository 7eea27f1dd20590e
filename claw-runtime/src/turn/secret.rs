//! Secret arguments: the tool gets them, the journal, the model's next request and a person's question do not.

use std::collections::HashMap;

use serde_json::Value;

use crate::message::ToolCall;
use crate::registry::Toolset;
use crate::tool::Tool;

/// What stands in place of a secret value.
const MASK: &str = "***";

/// Returns a call as it may be kept and shown. What cannot be read, so that its secret could not be found, is left out.
pub(super) fn without_secrets(call: &ToolCall, tools: &Toolset) -> ToolCall {
    let mut call = call.clone();
    if let Some(tool) = tools.get(&call.name) {
        call.arguments = masked(tool, call.arguments);
    }
    call
}

/// Returns the arguments of a tool with secrets as they may be kept and shown: secret values masked at any depth, and with
/// them what may hold one unnamed, which is what was sent under a name that is not declared, and JSON in text.
pub(super) fn masked(tool: &Tool, arguments: String) -> String {
    if !tool.has_secrets() {
        return arguments;
    }
    let Ok(Value::Object(mut members)) = serde_json::from_str(&arguments) else {
        return "{}".to_owned();
    };
    let names = tool.schema().names();
    for (name, value) in &mut members {
        // A secret's own name misspelt is no name of the tool's.
        if *names.get(name.as_str()).unwrap_or(&true) {
            *value = MASK.into();
        } else {
            mask(value, &names);
        }
    }
    Value::Object(members).to_string()
}

/// Tells whether text that could not be read as calls may hold a secret: it names a tool that takes one, or a secret argument.
/// Neither the text nor a fault that quotes it may be kept then.
pub(super) fn may_hold_secrets(text: &str, tools: &Toolset) -> bool {
    let text = text.to_lowercase();
    let names = |name: &str| text.contains(&name.to_lowercase());
    tools.iter().filter(|tool| tool.has_secrets()).any(|tool| {
        let arguments = tool.schema().names();
        names(tool.name())
            || arguments
                .iter()
                .any(|(name, secret)| *secret && names(name))
    })
}

/// Tells whether a journaled call lacks a secret it was made with, or may do so.
pub(super) fn is_lost(tool: &Tool, arguments: &str) -> bool {
    fn holds(value: &Value) -> bool {
        match value {
            Value::String(text) => text == MASK,
            Value::Array(items) => items.iter().any(holds),
            Value::Object(members) => members.values().any(holds),
            _ => false,
        }
    }
    // What could not be read was left out as a whole.
    tool.schema().has_secrets()
        && serde_json::from_str(arguments).map_or(true, |value| {
            holds(&value) || value == Value::Object(serde_json::Map::new())
        })
}

fn mask(value: &mut Value, names: &HashMap<&str, bool>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if names.get(name.as_str()) == Some(&true) {
                    *value = MASK.into();
                } else {
                    mask(value, names);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, names)),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => *value = MASK.into(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::tool::{Spec, ToolOutput};

    fn tool(secret: &'static [&'static str]) -> Tool {
        let mut spec = Spec::new("t".into(), "A tool.".into());
        spec.secret = secret;
        let schema = json!({
            "type": "object",
            "properties": {
                "user": {"type": "string"},
                "token": {"type": "string", "x-aliases": ["api_token"]},
                "keys": {"type": "array", "items": {"type": "string", "format": "password"}},
                "hosts": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "password": {"type": "string", "writeOnly": true}},
                }},
            },
        });
        Tool::dynamic(
            spec,
            schema,
            Arc::new(|_, _| Box::pin(std::future::ready(Ok(ToolOutput::default())))),
        )
    }

    #[test]
    fn a_secret_is_masked_wherever_it_may_stand() {
        let cases = [
            (
                r#"{"user":"ann","token":"S"}"#,
                r#"{"token":"***","user":"ann"}"#,
            ),
            (r#"{"api_token":"S"}"#, r#"{"api_token":"***"}"#),
            (
                r#"{"Token":"S","tokn":{"a":"S"}}"#,
                r#"{"Token":"***","tokn":"***"}"#,
            ),
            (
                r#"{"hosts":[{"name":"h","password":"S"}]}"#,
                r#"{"hosts":[{"name":"h","password":"***"}]}"#,
            ),
            (
                r#"{"hosts":"[{\"name\":\"h\",\"password\":\"S\"}]"}"#,
                r#"{"hosts":"***"}"#,
            ),
            (r#"{"keys":["S"]}"#, r#"{"keys":"***"}"#),
            (r#""{\"token\":\"S\"}""#, "{}"),
            (r#"{"token":"S"#, "{}"),
        ];
        // The order of members is not ours to say: it differs with what else is built.
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for (sent, kept) in cases {
            let masked = masked(&tool(&["token"]), sent.to_owned());
            assert_eq!(read(&masked), read(kept), "{sent}");
        }
        let nested = r#"{"hosts":[{"password":"S"}]}"#.to_owned();
        assert_eq!(
            masked(&tool(&[]), nested),
            r#"{"hosts":[{"password":"***"}]}"#
        );
    }
}
