//! DashScope's own format, for Qwen and what else the service runs.
//!
//! Messages stand in `input`, all else in `parameters`; models that see have an address and a form of content of their
//! own. Answers are always streamed: models that think refuse anything else. The service speaks the OpenAI form too, as
//! the provider `qwen`.

mod chunk;
#[cfg(feature = "http")]
mod encode;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub use service::DashScope;

use super::decode::{Decoder, Head};

/// What each event of a stream holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pieces {
    /// What is new (`incremental_output`).
    #[default]
    New,
    /// All that was said so far, as the service does unasked.
    All,
}

/// Returns a decoder for one answer of `model` at `provider`, whose events hold `pieces`.
pub fn decoder(provider: &str, model: &str, pieces: Pieces, head: Head) -> Decoder {
    Decoder::new(Box::new(chunk::Chunks::new(pieces)), provider, model, head)
}
