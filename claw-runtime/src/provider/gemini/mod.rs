//! Gemini `generateContent`: contents of parts, signatures that go back on the part they came with.

mod chunk;
#[cfg(feature = "http")]
mod encode;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub use service::Gemini;

use super::Thinking;
use super::decode::{Decoder, Head};

/// Returns a decoder for one answer of `model` at `provider`.
pub fn decoder(provider: &str, model: &str, head: Head) -> Decoder {
    Decoder::new(Box::new(chunk::Chunks::default()), provider, model, head)
}

/// What is asked for beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the model thinks before it answers. Models that cannot refuse the question.
    pub thinking: Thinking,
    /// The name of the [dialect](crate::dialect) its tools are lowered to: `gemini`, or `gemini-parameters` for the older
    /// field.
    pub dialect: &'static str,
}

impl Options {
    /// What every model takes.
    pub const COMMON: Self = Self {
        thinking: Thinking::Unsaid,
        dialect: "gemini",
    };
}

impl Default for Options {
    fn default() -> Self {
        Self::COMMON
    }
}
