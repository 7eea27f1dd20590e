//! The protocol's own side of a conversation: the system prompt, and past calls and results as text.

use serde_json::value::RawValue;

use super::repair::quoted;
use crate::message::{ContentBlock, Message, Role, ToolCall, ToolResult};
use crate::registry::Toolset;

pub(super) const RULES: &str = r#"# Tools

You can call tools. A call is one JSON object between tags:
<tool_call>{"name": "tool name", "arguments": {"parameter": "value"}}</tool_call>

- Reply with text, or with calls; text before calls is allowed, calls come last.
- Several calls are several pairs of tags, one after another. Write nothing after the last </tool_call>.
- Results come back in <tool_response> tags. Wait for them; never write a <tool_response> yourself.
- Never put a call into your reasoning, and never put an example between the tags.
- `?` marks a parameter that may be left out.

Example, with a tool that does not exist:
user: Is the kettle on?
assistant: <tool_call>{"name": "example: kettle", "arguments": {"room": "kitchen"}}</tool_call>
user: <tool_response name="example: kettle" id="0">on</tool_response>
assistant: Yes, the kettle in the kitchen is on.

These tools exist, and no others:
"#;

/// The rules for a model that is held to the form of [`constrained`](super::constrained).
pub(super) const FORM_RULES: &str = r#"# Tools

You can call tools. Reply with one JSON object and nothing else.
To call a tool: {"name": "tool name", "arguments": {"parameter": "value"}}
To answer: {"answer": "text"}
Results of calls come back in <tool_response> tags. `?` marks a parameter that may be left out.

These tools exist, and no others:
"#;

pub(super) fn system(system: &str, rules: &str, tools: &Toolset) -> String {
    if tools.is_empty() {
        return system.to_owned();
    }
    let mut out = String::new();
    if !system.trim().is_empty() {
        out.push_str(system.trim_end());
        out.push_str("\n\n");
    }
    out.push_str(rules);
    for tool in tools.iter() {
        out.push('\n');
        let description = &tool.spec().description;
        out.push_str(&tool.schema().declaration(tool.name(), description));
        out.push('\n');
    }
    out
}

/// How what the model said is shown to it again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Calls between tags, answers as they are.
    Tagged,
    /// As the objects of the form that the model is held to.
    Formed,
}

pub(super) fn messages(messages: &[Message], said: Said) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        let role = match message.role {
            Role::Tool => Role::User,
            role => role,
        };
        let mut content = Vec::new();
        for block in &message.content {
            render(block, said, &mut content);
        }
        if said == Said::Formed && role == Role::Assistant && message.calls().next().is_none() {
            for block in &mut content {
                if let ContentBlock::Text { text } = block {
                    *text = format!("{{\"answer\": {}}}", quoted(text));
                }
            }
        }
        if content.is_empty() {
            continue;
        }
        match out.last_mut() {
            Some(last) if last.role == role => {
                for block in content {
                    add(block, &mut last.content, "\n\n");
                }
            }
            _ => out.push(Message { role, content }),
        }
    }
    out
}

fn render(block: &ContentBlock, said: Said, out: &mut Vec<ContentBlock>) {
    match block {
        ContentBlock::Reasoning { .. } | ContentBlock::Opaque { .. } => {}
        ContentBlock::Text { text } if text.is_empty() => {}
        ContentBlock::Text { .. } | ContentBlock::Image(_) => add(block.clone(), out, ""),
        ContentBlock::ToolCall(call) => add(ContentBlock::text(call_text(call, said)), out, "\n"),
        ContentBlock::ToolResult(result) => {
            for block in result_blocks(result) {
                add(block, out, "\n");
            }
        }
        ContentBlock::Resource { uri, description } => {
            add(ContentBlock::text(link(uri, description)), out, "\n");
        }
    }
}

/// Adds a block; text joins the text before, so that a message is as few blocks as can be.
fn add(block: ContentBlock, out: &mut Vec<ContentBlock>, between: &str) {
    match (out.last_mut(), block) {
        (Some(ContentBlock::Text { text: last }), ContentBlock::Text { text }) => {
            last.push_str(between);
            last.push_str(&text);
        }
        (_, block) => out.push(block),
    }
}

fn link(uri: &str, description: &str) -> String {
    format!("[{description}]({uri})")
}

fn call_text(call: &ToolCall, said: Said) -> String {
    let text = call.arguments.trim();
    let arguments = match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => raw.get().to_owned(),
        Err(_) if text.is_empty() => "{}".to_owned(),
        // Not JSON, as it came from a model: shown for what it was, as a string.
        Err(_) => quoted(text),
    };
    let name = quoted(&call.name);
    let call = format!("{{\"name\": {name}, \"arguments\": {arguments}}}");
    match said {
        Said::Tagged => format!("<tool_call>{call}</tool_call>"),
        Said::Formed => call,
    }
}

/// How a result begins, how the beginning of a failed one ends, and how any ends.
const RESULT: &str = "<tool_response name=\"";
const FAILED: &str = " error=\"true\"";
const RESULT_END: &str = "</tool_response>";

/// A message that begins with results of calls, as [`messages`] writes it.
#[cfg(feature = "local")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Results<'a> {
    /// What each tool said, without the tags around it.
    pub(crate) texts: Vec<&'a str>,
    /// Whether a call failed.
    pub(crate) failed: bool,
    /// What the user said after them.
    pub(crate) rest: &'a str,
}

/// Reads the results a message begins with; `None` where it begins with none. What a tool says has no such tags in it, as
/// [`neutral`] writes it.
#[cfg(feature = "local")]
pub(crate) fn results(message: &str) -> Option<Results<'_>> {
    let mut read = Results {
        texts: Vec::new(),
        failed: false,
        rest: message,
    };
    while let Some(after) = read.rest.trim_start().strip_prefix(RESULT) {
        let (head, after) = after.split_once('>')?;
        let (text, after) = after.split_once(RESULT_END)?;
        read.failed |= head.ends_with(FAILED);
        read.texts.push(text.trim());
        read.rest = after;
    }
    read.rest = read.rest.trim_start();
    (!read.texts.is_empty()).then_some(read)
}

fn result_blocks(result: &ToolResult) -> Vec<ContentBlock> {
    let error = if result.is_error { FAILED } else { "" };
    let mut text = format!(
        "{RESULT}{}\" id=\"{}\"{error}>",
        attribute(&result.name),
        attribute(&result.call_id)
    );
    let mut out = Vec::new();
    for block in &result.content {
        match block {
            ContentBlock::Text { text: body } => text.push_str(&neutral(body)),
            ContentBlock::Resource { uri, description } => {
                text.push_str(&neutral(&link(uri, description)));
            }
            ContentBlock::Image(_) => {
                out.push(ContentBlock::text(std::mem::take(&mut text)));
                out.push(block.clone());
            }
            _ => {}
        }
    }
    text.push_str(RESULT_END);
    out.push(ContentBlock::text(text));
    out
}

fn attribute(text: &str) -> String {
    text.replace(['"', '<', '>', '\n', '\r'], "_")
}

/// Takes the meaning from tags of the protocol in a tool's answer: it must not end its own response, or begin another.
fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest).as_bytes();
        let is_tag = name
            .get(.."tool_response".len())
            .is_some_and(|name| name.eq_ignore_ascii_case(b"tool_response"));
        out.push_str(if is_tag { "&lt;" } else { "<" });
    }
    out.push_str(rest);
    out
}
