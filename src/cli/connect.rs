//! From the settings of a service to the provider that speaks its wire format.

use std::collections::BTreeMap;
use std::sync::Arc;

use claw_runtime::provider::openai_chat::Quirks;
use claw_runtime::provider::presets::Format;
use claw_runtime::provider::{
    Anthropic, Azure, DashScope, Gemini, Ollama, OpenAiChat, OpenAiResponses, Provider, SetupError,
};
use secrecy::SecretString;

/// What it takes to make a provider.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) quirks: Quirks,
}

impl Connection {
    /// Makes the provider. Nothing is sent yet.
    pub(super) fn make(self) -> Result<Arc<dyn Provider>, SetupError> {
        let Self {
            name,
            format,
            base_url: url,
            key,
            headers,
            quirks,
        } = self;
        Ok(match format {
            Format::OpenAiResponses => {
                let made = OpenAiResponses::new(name, &url, key);
                Arc::new(with(made, &headers, OpenAiResponses::header)?)
            }
            Format::Azure => {
                let made = Azure::new(name, &url, key);
                Arc::new(with(made, &headers, Azure::header)?)
            }
            Format::Anthropic => {
                let made = Anthropic::new(name, &url, key);
                Arc::new(with(made, &headers, Anthropic::header)?)
            }
            Format::Gemini => {
                let made = Gemini::new(name, &url, key);
                Arc::new(with(made, &headers, Gemini::header)?)
            }
            Format::Ollama => {
                let made = Ollama::new(name, &url, key);
                Arc::new(with(made, &headers, Ollama::header)?)
            }
            Format::DashScope => {
                let made = DashScope::new(name, &url, key);
                Arc::new(with(made, &headers, DashScope::header)?)
            }
            _ => {
                let made = OpenAiChat::new(name, &url, key).map(|made| made.quirks(quirks));
                Arc::new(with(made, &headers, OpenAiChat::header)?)
            }
        })
    }
}

/// Adds the headers that the settings name.
fn with<P>(
    made: Result<P, SetupError>,
    headers: &BTreeMap<String, String>,
    header: impl Fn(P, &str, &str) -> Result<P, SetupError>,
) -> Result<P, SetupError> {
    headers
        .iter()
        .try_fold(made?, |made, (name, value)| header(made, name, value))
}
