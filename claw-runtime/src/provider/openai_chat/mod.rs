//! OpenAI chat completions: the format that most services and every local server speak.
//!
//! The services differ in small things, which are data: see [`Quirks`] and [`presets`](super::presets). The Responses
//! API and Azure's deployment addresses are other formats and not here.

mod chunk;
#[cfg(feature = "http")]
mod encode;
#[cfg(feature = "http")]
mod props;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub(super) use encode::{Peer, encode, model_ids};
#[cfg(feature = "http")]
pub use service::OpenAiChat;

pub(super) use chunk::{content, stop_reason};

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
    /// How reasoning goes back to the model.
    pub replay: Replay,
    /// Whether call ids must be nine letters and digits (Mistral).
    pub short_call_ids: bool,
    /// Whether it takes `tool_choice`; MiniMax does not.
    pub tool_choice: bool,
    /// Whether it takes `stop`; models of OpenAI and xAI that reason do not.
    pub stop: bool,
    /// Whether several calls in one reply must be asked for with `parallel_tool_calls` (Qwen).
    pub ask_parallel: bool,
    /// Whether it tells on `return_progress` how much of a long prompt it has read (llama.cpp).
    pub prompt_progress: bool,
    /// Whether it tells at `/props` what the chat template has room for (llama.cpp, which drops tools without a word where
    /// that has none).
    pub props: bool,
    /// The name of the [dialect](crate::dialect) its tools are lowered to.
    pub dialect: &'static str,
}

impl Quirks {
    /// The common form, as local servers take it.
    pub const COMMON: Self = Self {
        max_tokens: MaxTokens::MaxTokens,
        stream_usage: true,
        replay: Replay::Never,
        short_call_ids: false,
        tool_choice: true,
        stop: true,
        ask_parallel: false,
        prompt_progress: false,
        props: false,
        dialect: "openai",
    };
}

impl Default for Quirks {
    fn default() -> Self {
        Self::COMMON
    }
}

/// How reasoning goes back to the model in later requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Not at all; some services refuse the field.
    Never,
    /// As `reasoning_content` of a message with calls, where there is some: gateways to many models, open models.
    WhereGiven,
    /// As `reasoning_content` of every message with calls, and be it empty: DeepSeek and Kimi refuse one without.
    WithCalls,
    /// In `<think>` in front of the text, as it came (MiniMax).
    InText,
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
