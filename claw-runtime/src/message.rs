//! What is said in a session: messages made of content blocks, tool calls and tool results.
//!
//! The same types serve every provider; how they look on the wire is the provider's business.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The person, or the program that speaks for them.
    User,
    /// The model.
    Assistant,
    /// Results of the tool calls of the assistant message before.
    Tool,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<ContentBlock>,
}

impl Message {
    /// Returns a user message of one text block.
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            content: vec![ContentBlock::text(text)],
        }
    }

    /// Returns an assistant message of these blocks.
    pub fn assistant(content: Vec<ContentBlock>) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }

    /// Returns the text blocks joined, without reasoning, calls and results.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }

    /// Iterates over the tool calls in the order the model made them.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Returns the text blocks of `content` joined.
pub fn text_of(content: &[ContentBlock]) -> String {
    joined(content).into_owned()
}

/// Returns the text blocks of `content` joined, which most often are one.
pub(crate) fn joined(content: &[ContentBlock]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text),
        _ => None,
    });
    let first = texts.next().map_or("", String::as_str);
    let mut joined = Cow::Borrowed(first);
    texts.for_each(|text| joined.to_mut().push_str(text));
    joined
}

/// A typed piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text, shown as it is.
    Text {
        /// The text.
        text: String,
    },
    /// An image, by address or by value.
    Image(Image),
    /// A tool the model wants called.
    ToolCall(ToolCall),
    /// What a tool call gave.
    ToolResult(ToolResult),
    /// The model's reasoning, shown dimmed and never parsed for calls.
    Reasoning {
        /// The reasoning as text; may be empty where a provider hides it.
        text: String,
    },
    /// A part that belongs to one provider and model (signature, encrypted reasoning): kept verbatim, given back to the
    /// same one only.
    Opaque {
        /// The provider that made the part.
        provider: String,
        /// The model that made the part.
        model: String,
        /// The part as it came.
        value: Value,
    },
    /// A link to something a tool produced.
    Resource {
        /// Where it is.
        uri: String,
        /// What it is, for a reader.
        description: String,
    },
}

impl ContentBlock {
    /// Returns a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// An image for a model with vision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    /// At an address the provider can reach.
    Url(String),
    /// By value.
    Data {
        /// For example `image/png`.
        media_type: String,
        /// The bytes in standard base64.
        base64: String,
    },
}

/// A tool the model wants called, with the arguments it wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the session; made by claw where the provider sent none or a used one.
    pub id: String,
    /// The tool's name as the registry knows it.
    pub name: String,
    /// The arguments as JSON text, exactly as the model wrote them.
    pub arguments: String,
}

/// What a tool call gave, as the model reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The [`ToolCall::id`] that this answers.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// Text, images, links.
    pub content: Vec<ContentBlock>,
    /// Whether the call failed or was not run.
    pub is_error: bool,
}

/// Why a model ended a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said what it wanted to say.
    Stop,
    /// It asks for tool calls.
    ToolCalls,
    /// The output limit cut it.
    Length,
    /// The provider's filter cut it.
    ContentFilter,
    /// The provider paused a long turn; the same request continues it.
    Pause,
    /// A word this version does not know, kept verbatim.
    Other(String),
}

/// Tokens spent by one model request, or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub input_tokens: u64,
    /// Generated tokens, reasoning included.
    pub output_tokens: u64,
    /// Part of `input_tokens` that came from a prompt cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Part of `output_tokens` that was reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl std::ops::AddAssign for Usage {
    /// Counts come from services and may be anything, so a sum stops at the greatest number.
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cached_tokens, other.cached_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
    }
}
