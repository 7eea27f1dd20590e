//! OpenAI's Responses API, without anything stored at the service.
//!
//! Every request brings the whole conversation (`store: false`); reasoning comes encrypted and goes back as it came,
//! in front of the calls it led to. `previous_response_id`, conversations at the service, its built-in tools and
//! background responses are not used: the journal is the one place a session lives.

#[cfg(feature = "http")]
mod encode;
mod events;
#[cfg(feature = "http")]
mod service;

#[cfg(feature = "http")]
pub use service::OpenAiResponses;

use super::decode::{Decoder, Head};

/// Returns a decoder for one response of `model` at `provider`.
pub fn decoder(provider: &str, model: &str, head: Head) -> Decoder {
    Decoder::new(Box::new(events::Events::default()), provider, model, head)
}
