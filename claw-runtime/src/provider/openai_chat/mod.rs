//! OpenAI chat completions: the format that most services and every local server speak.
//!
//! The services differ in small things, which are data: see [`Quirks`] and [`presets`](super::presets). The Responses
//! API and Azure's deployment addresses are other formats and not here.

mod chunk;
#[cfg(feature = "http")]
mod encode;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub(super) use encode::{Peer, encode, model_ids};
#[cfg(feature = "http")]
pub use service::OpenAiChat;

pub(super) use chunk::stop_reason;

use super::decode::{Decoder, Head};

/// Returns a decoder for one chat completion of `model` at `provider`.
pub fn decoder(provider: &str, model: &str, head: Head) -> Decoder {
    Decoder::new(Box::new(chunk::Chunks::default()), provider, model, head)
}

/// Where a service departs from the common form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The field that limits the output.
    pub max_tokens: MaxTokens,
    /// Whether it takes `stream_options`, and so tells the tokens of a stream.
    pub stream_usage: bool,
    /// Whether a message with calls must bring its reasoning back (DeepSeek, Kimi).
    pub replay_reasoning: bool,
    /// Whether call ids must be nine letters and digits (Mistral).
    pub short_call_ids: bool,
    /// The name of the [dialect](crate::dialect) its tools are lowered to.
    pub dialect: &'static str,
}

impl Quirks {
    /// The common form, as local servers take it.
    pub const COMMON: Self = Self {
        max_tokens: MaxTokens::MaxTokens,
        stream_usage: true,
        replay_reasoning: false,
        short_call_ids: false,
        dialect: "openai",
    };
}

impl Default for Quirks {
    fn default() -> Self {
        Self::COMMON
    }
}

/// The name of the field that limits the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxTokens {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`: what OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

impl MaxTokens {
    /// Returns the field's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}
