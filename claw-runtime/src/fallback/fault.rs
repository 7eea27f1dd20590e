//! What the model reads about something that looked like a call: what was wrong, and the form that would be right.

use serde_json::Value;

use super::repair::quoted;
use super::resolve::schema_of;
use super::{Fault, FaultCode};
use crate::nearest::nearest;
use crate::tool::Tool;

/// How much of the offending text is quoted, in characters.
const CLIP: usize = 80;

/// Returns the start of `text` on one line, clipped.
pub(super) fn clip(text: &str) -> String {
    let mut words = String::new();
    for (at, c) in text.trim_start().chars().enumerate() {
        if at == CLIP {
            words.push('…');
            break;
        }
        words.push(if c.is_control() { ' ' } else { c });
    }
    words
}

/// Returns a fault with the right form for `tool`, or the general one.
pub(super) fn fault(code: FaultCode, what: String, tool: Option<&Tool>) -> Fault {
    let form = match tool {
        Some(tool) => example(tool),
        None => r#"<tool_call>{"name": "…", "arguments": {…}}</tool_call>"#.to_owned(),
    };
    Fault {
        code,
        message: format!("{what} Send it as {form}"),
    }
}

/// The text ended inside a call.
pub(super) fn truncated(quote: &str, tool: Option<&Tool>) -> Fault {
    fault(
        FaultCode::Truncated,
        format!(
            "The tool call was not run: the reply ended inside it, after `{}`. When it is long, send less at once.",
            clip(tail(quote))
        ),
        tool,
    )
}

/// The last characters of `text`, where a cut is seen.
fn tail(text: &str) -> &str {
    let from = text
        .char_indices()
        .rev()
        .nth(CLIP - 1)
        .map_or(0, |(at, _)| at);
    &text[from..]
}

/// Not JSON; `at` is where reading stopped.
pub(super) fn invalid_json(text: &str, at: usize, why: &str, tool: Option<&Tool>) -> Fault {
    let near = clip(text.get(at..).unwrap_or_default());
    let place = if near.is_empty() {
        String::new()
    } else {
        format!(" at `{near}`")
    };
    fault(
        FaultCode::InvalidJson,
        format!("The tool call was not run: its JSON is not valid{place}: {why}."),
        tool,
    )
}

/// Arguments that are no object, or that can be read in two ways.
pub(super) fn invalid_arguments(tool: &Tool, why: &str) -> Fault {
    fault(
        FaultCode::InvalidArguments,
        format!("The call of `{}` was not run: {why}.", tool.name()),
        Some(tool),
    )
}

/// A call of a tool that does not exist, with the nearest names.
pub(super) fn unknown_tool<'a>(name: &str, tools: impl Iterator<Item = &'a Tool>) -> Fault {
    let name = clip(name);
    let tools: Vec<&Tool> = tools.collect();
    let near = nearest(&name, tools.iter().map(|tool| tool.name()))
        .and_then(|near| tools.iter().find(|tool| tool.name() == near).copied());
    let hint = match near {
        Some(tool) => format!(" Did you mean `{}`?", tool.name()),
        None if tools.is_empty() => String::new(),
        None => {
            let mut list: Vec<_> = tools
                .iter()
                .take(8)
                .map(|tool| format!("`{}`", tool.name()))
                .collect();
            if tools.len() > list.len() {
                list.push("…".to_owned());
            }
            format!(" There are: {}.", list.join(", "))
        }
    };
    fault(
        FaultCode::UnknownTool,
        format!("The tool call was not run: there is no tool `{name}`.{hint}"),
        near,
    )
}

/// Returns the form of a call of `tool`, with the names of its required parameters.
fn example(tool: &Tool) -> String {
    let schema = schema_of(tool);
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(6)
        .collect();
    let arguments: Vec<String> = required
        .into_iter()
        .map(|name| {
            let value = match schema["properties"][name]["type"].as_str() {
                Some("integer" | "number") => "0",
                Some("boolean") => "true",
                Some("array") => "[…]",
                Some("object") => "{…}",
                _ => "\"…\"",
            };
            format!("{}: {value}", quoted(name))
        })
        .collect();
    format!(
        "<tool_call>{{\"name\": {}, \"arguments\": {{{}}}}}</tool_call>",
        quoted(tool.name()),
        arguments.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_clipped_to_one_line() {
        let long = "a\nb".repeat(100);
        assert_eq!(clip(&long).chars().count(), CLIP + 1);
        assert!(!clip(&long).contains('\n'));
        assert!(tail(&"é".repeat(200)).chars().count() == CLIP);
    }
}
