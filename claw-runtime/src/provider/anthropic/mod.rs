//! Anthropic Messages: typed content blocks, thinking with signatures, marks for the prompt cache.
//!
//! Written for version `2026-10-21` of the API, which takes no sampling parameters; none are ever sent. Services of other
//! vendors that speak the format differ in what [`Options`] says.

mod chunk;
#[cfg(feature = "http")]
mod encode;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub use service::Anthropic;

use super::Thinking;
use super::decode::{Decoder, Head};

/// Returns a decoder for one message of `model` at `provider`.
pub fn decoder(provider: &str, model: &str, head: Head) -> Decoder {
    Decoder::new(Box::new(chunk::Chunks::default()), provider, model, head)
}

/// What is asked for beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the model reasons before it answers. A budget is 1,024 tokens at least, and less than the output limit.
    pub thinking: Thinking,
    /// Whether the request marks what may be cached. A service without a prompt cache ignores the marks.
    pub cache: bool,
    /// The output limit in tokens where a request names none: the format requires one.
    pub max_tokens: u64,
    /// The name of the [dialect](crate::dialect) its tools are lowered to; `anthropic-strict` asks for strict tools.
    pub dialect: &'static str,
}

impl Options {
    /// What every current model of the vendor takes.
    pub const COMMON: Self = Self {
        thinking: Thinking::Unsaid,
        cache: true,
        max_tokens: 16_384,
        dialect: "anthropic",
    };
}

impl Default for Options {
    fn default() -> Self {
        Self::COMMON
    }
}
