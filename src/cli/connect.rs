//! From the settings of a service to the provider that speaks its wire format.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use claw_runtime::provider::abilities::Rule;
use claw_runtime::provider::openai_chat::Quirks;
use claw_runtime::provider::presets::Format;
use claw_runtime::provider::{
    Anthropic, Azure, DashScope, Effort, Gemini, Ollama, OpenAiChat, OpenAiResponses, Provider,
    SetupError, Thinking, anthropic, gemini,
};
use secrecy::SecretString;

/// What it takes to make a provider.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) quirks: Quirks,
    /// What its models can do, the strongest rule last.
    pub(super) rules: Vec<Rule>,
    pub(super) thinking: Thinking,
    pub(super) effort: Option<Effort>,
    pub(super) api_version: Option<String>,
    pub(super) deployments: BTreeMap<String, String>,
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
            ca_file,
            quirks,
            rules,
            thinking,
            effort,
            api_version,
            deployments,
        } = self;
        // Every provider takes the same, and none is of the other's type.
        macro_rules! made {
            ($provider:ident) => {{
                let mut made = $provider::new(name, &url, key)?.rules(rules);
                for (name, value) in &headers {
                    made = made.header(name, value)?;
                }
                if let Some(file) = &ca_file {
                    made = made.ca_file(file)?;
                }
                made
            }};
        }
        Ok(match format {
            Format::OpenAiResponses => {
                let made = made!(OpenAiResponses);
                Arc::new(match effort {
                    Some(effort) => made.effort(effort),
                    None => made,
                })
            }
            Format::Azure => {
                let mut azure = made!(Azure);
                if let Some(version) = api_version {
                    azure = azure.api_version(version);
                }
                let deployments = deployments.into_iter();
                Arc::new(deployments.fold(azure, |azure, (model, deployment)| {
                    azure.deployment(model, deployment)
                }))
            }
            Format::Anthropic => Arc::new(made!(Anthropic).options(anthropic::Options {
                thinking,
                ..anthropic::Options::COMMON
            })),
            Format::Gemini => Arc::new(made!(Gemini).options(gemini::Options {
                thinking,
                ..gemini::Options::COMMON
            })),
            Format::Ollama => Arc::new(made!(Ollama).thinking(thinking)),
            Format::DashScope => Arc::new(made!(DashScope).thinking(thinking)),
            _ => Arc::new(made!(OpenAiChat).quirks(quirks)),
        })
    }
}
