//! The rules that each kind of service has for a history, as checkers that can be run.
//!
//! A history that breaks one is refused by the service, and then refused again with every later request: the session is
//! stuck. So these rules are checked over every prefix of every journal in tests, and a host can check a session that came
//! from elsewhere before it goes on with it. [`conversation`] checks the fold itself, [`Family::check`] a request as it is
//! about to be sent. Where services of one kind differ, the strictest one that is known counts.

mod anthropic;
mod chat;
mod gemini;
mod pairs;
mod responses;

use serde_json::Value;

use crate::message::{ContentBlock, Message, Role};
use pairs::Pairs;

/// A kind of service, by the form of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// OpenAI's chat completions, and all who speak them.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
    /// DashScope's own generation.
    DashScope,
    /// Ollama's own chat.
    Ollama,
}

/// A rule that a history breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Fault {
    /// Where: `messages[3]`.
    pub place: String,
    /// What is wrong there, and what is expected.
    pub message: String,
}

impl Fault {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl Family {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::DashScope,
        Self::Ollama,
    ];

    /// Checks the history in the body of a request.
    ///
    /// # Errors
    ///
    /// Returns the first rule that it breaks.
    pub fn check(self, body: &Value) -> Result<(), Fault> {
        match self {
            Self::OpenAiChat => chat::check(&body["messages"], chat::Form::OpenAi),
            Self::DashScope => chat::check(&body["input"]["messages"], chat::Form::OpenAi),
            Self::Ollama => chat::check(&body["messages"], chat::Form::Ollama),
            Self::OpenAiResponses => responses::check(&body["input"]),
            Self::Anthropic => anthropic::check(&body["messages"]),
            Self::Gemini => gemini::check(&body["contents"]),
        }
    }
}

/// Checks a conversation as the view has it: the user speaks first, then model and user or tools take turns; every call is
/// answered once, in order, in the very next message; ids are unique; nothing is empty.
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub fn conversation(messages: &[Message]) -> Result<(), Fault> {
    let mut pairs = Pairs::default();
    let mut before = None;
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let fault = |message: String| Fault::new(&place, message);
        let legal = match message.role {
            Role::User => matches!(before, None | Some(Role::Assistant | Role::Tool)),
            Role::Assistant => matches!(before, Some(Role::User | Role::Tool)),
            Role::Tool => before == Some(Role::Assistant),
            Role::System => false,
        };
        if !legal {
            let before = before.map_or("nothing".to_owned(), |role| format!("{role:?}"));
            return Err(fault(format!("{:?} after {before}", message.role)));
        }
        before = Some(message.role);
        if message.content.is_empty() {
            return Err(fault("an empty message".to_owned()));
        }
        if message.role != Role::Tool {
            pairs.end(&place)?;
        }
        for block in &message.content {
            match (message.role, block) {
                (Role::Assistant, ContentBlock::ToolCall(call)) => {
                    object(&place, &call.arguments)?;
                    pairs.call(&place, &call.id, &call.name)?;
                }
                (Role::Tool, ContentBlock::ToolResult(result)) => {
                    if result.content.is_empty() {
                        return Err(fault(format!("the result of `{}` is empty", result.name)));
                    }
                    pairs.result(&place, Some(&result.call_id), None)?;
                }
                (Role::Tool, _) | (_, ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_)) => {
                    return Err(fault(format!("{:?} cannot say this", message.role)));
                }
                _ => {}
            }
        }
        let silent = message.calls().next().is_none() && message.text().trim().is_empty();
        if message.role == Role::Assistant && silent && !shows(&message.content) {
            return Err(fault("the model says nothing and calls nothing".to_owned()));
        }
    }
    pairs.end("messages")
}

/// Checks a conversation as the prompt protocol renders it: plain text and images, user and model in turn, the user last.
///
/// # Errors
///
/// Returns the first rule that it breaks.
pub fn plain(messages: &[Message]) -> Result<(), Fault> {
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let expected = if at % 2 == 0 {
            Role::User
        } else {
            Role::Assistant
        };
        if message.role != expected {
            return Err(Fault::new(
                place,
                format!("{:?} instead of {expected:?}", message.role),
            ));
        }
        let is_plain = |block: &ContentBlock| {
            matches!(
                block,
                ContentBlock::Text { .. } | ContentBlock::Image(_) | ContentBlock::Resource { .. }
            )
        };
        if !message.content.iter().all(is_plain) {
            return Err(Fault::new(place, "something that is no plain text"));
        }
        if message.text().trim().is_empty() && !shows(&message.content) {
            return Err(Fault::new(place, "an empty message"));
        }
    }
    match messages.len() % 2 {
        1 => Ok(()),
        _ => Err(Fault::new("messages", "the user must speak last")),
    }
}

fn shows(content: &[ContentBlock]) -> bool {
    content.iter().any(|block| {
        matches!(
            block,
            ContentBlock::Image(_) | ContentBlock::Resource { .. }
        )
    })
}

/// Checks arguments that are JSON text.
fn object(place: &str, arguments: &str) -> Result<(), Fault> {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => Ok(()),
        _ => Err(Fault::new(place, "arguments that are no JSON object")),
    }
}

/// Checks the name of a tool as services take it.
fn name(place: &str, name: &str) -> Result<(), Fault> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=64).contains(&name.len()) && name.bytes().all(legal) {
        return Ok(());
    }
    Err(Fault::new(
        place,
        format!("`{name}` is no name of a tool: expected 1 to 64 of A-Z, a-z, 0-9, _ and -"),
    ))
}

/// Returns a text field.
fn text<'v>(place: &str, value: &'v Value, field: &str) -> Result<&'v str, Fault> {
    value[field]
        .as_str()
        .ok_or_else(|| Fault::new(place, format!("`{field}` is no text")))
}

/// Returns the entries of a list that must not be empty.
fn list<'v>(place: &str, value: &'v Value) -> Result<&'v [Value], Fault> {
    match value.as_array() {
        Some(list) if !list.is_empty() => Ok(list),
        _ => Err(Fault::new(place, "a list that is missing or empty")),
    }
}

#[cfg(test)]
mod tests;
