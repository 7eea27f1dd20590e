//! Ollama's own format: `/api/chat`, one JSON document a line.
//!
//! Beside the OpenAI form that Ollama serves too, this one sets the context window, tells what a model can do and shows
//! its reasoning. Calls arrive whole, and often without ids.

mod chunk;
#[cfg(feature = "http")]
mod encode;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub use service::Ollama;

use super::decode::{Decoder, Head};

/// Returns a decoder for one answer of `model` at `provider`.
pub fn decoder(provider: &str, model: &str, head: Head) -> Decoder {
    Decoder::new(Box::new(chunk::Chunks::default()), provider, model, head)
}
