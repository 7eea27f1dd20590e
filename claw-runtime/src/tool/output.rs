//! What a tool gives back.

use serde_json::Value;

use crate::message::ContentBlock;

/// What a tool gives back when it worked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// The same as data, for programs.
    pub structured: Option<Value>,
    /// A stable key of what was reached; the loop guard compares it instead of the text.
    pub progress: Option<String>,
}

impl ToolOutput {
    /// Returns an output of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            ..Self::default()
        }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Why a tool failed, as the model reads it: what was wrong and what would be right, without secrets or backtraces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    message: String,
}

impl ToolError {
    /// Returns an error with this text for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}
