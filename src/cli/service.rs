//! A service as the settings describe it: its address, its key, and whether the one may go to the other.

use std::sync::Arc;

use claw_runtime::provider::abilities;
use claw_runtime::provider::openai_chat::Quirks;
use claw_runtime::provider::presets::{self, Format, Preset};
use claw_runtime::provider::veil::{Veil, Veiled};
use claw_runtime::provider::{Protocol, Provider, Thinking};
use secrecy::SecretString;

use super::connect::Connection;
use super::embedded::{self, Embedded};
use super::exit::Failure;
use super::key::{self, variable};
use super::secrets;
use crate::config::{Address, Config, ProviderConfig, Untrusted, is_local};

/// The name of a service that is known by its address alone.
pub(super) const UNNAMED: &str = "custom";

/// Models taken where none is named; of other services the first one listed.
const USUAL: &[(&str, &str)] = &[
    ("openai", "gpt-5-mini"),
    ("openai-responses", "gpt-5-mini"),
    ("openrouter", "openrouter/auto"),
    ("gemini", "gemini-flash-latest"),
    ("mistral", "mistral-medium-latest"),
    ("qwen", "qwen-plus"),
    ("dashscope", "qwen-plus"),
];

/// A service to connect to, or the model in this program.
pub(super) struct Service {
    reach: Reach,
    /// The model taken where none is named; may be empty.
    pub(super) model: String,
    /// Its models as the settings name them.
    pub(super) models: Vec<String>,
    /// How calls travel, where the settings say so.
    pub(super) protocol: Option<Protocol>,
}

/// How models are asked.
enum Reach {
    Service(Box<Remote>),
    Embedded(Embedded),
}

/// A service elsewhere.
struct Remote {
    connection: Connection,
    /// What prints the key, where no other place has it; run when the key is needed.
    key_command: Vec<String>,
    /// What it is not told.
    veil: Option<Veil>,
}

impl Service {
    /// Tells whether a service of this name is configured or in the table, or is the model in this program.
    pub(super) fn is_known(config: &Config, name: &str) -> bool {
        config.providers.contains_key(name)
            || presets::named(name).is_some()
            || embedded::is(config, name)
    }

    /// Puts together what the settings and the table say about the service.
    pub(super) fn of(config: &Config, name: &str) -> Result<Self, Failure> {
        let own = config.providers.get(name).cloned().unwrap_or_default();
        if embedded::is(config, name) {
            let embedded = Embedded::of(&own)?;
            return Ok(Self {
                model: embedded.usual(),
                models: embedded.models(),
                protocol: config.protocol.or(own.protocol),
                reach: Reach::Embedded(embedded),
            });
        }
        if let Some(key) = own.embedded_key() {
            return Err(Failure::usage(format!(
                "`providers.{name}.{key}` is set, and `{name}` is a service"
            ))
            .hint("take it out: it is for the model in this program, `local`"));
        }
        // A service under an own name is at the address of its format, where there is but one.
        let known = presets::named(name).or_else(|| {
            let format = own.format.filter(|_| own.base_url.is_none())?.0;
            presets::of(format)
        });
        let address = config.base_url.as_ref().or(own.base_url.as_ref());
        let key = key::at_hand(name, &own, known, config.base_url.is_some());
        if let Some(address) = address {
            check_trust(name, address, known, &own, &key)?;
        }
        let base_url = address
            .map(|address| address.as_str().to_owned())
            .or_else(|| known.and_then(usual_address))
            .ok_or_else(|| {
                let failure = Failure::usage(format!("provider `{name}` has no address"))
                    .hint(format!("add `base_url` under `[providers.{name}]`"));
                match known.and_then(|known| address_variable(known.format)) {
                    Some(variable) => failure.hint(format!("or set `{variable}`")),
                    None => failure,
                }
            })?;
        let model = own
            .models
            .first()
            .or(own.deployments.keys().next())
            .cloned()
            .or_else(|| {
                let usual = USUAL.iter().find(|(provider, _)| *provider == name);
                usual.map(|(_, model)| (*model).to_owned())
            })
            .unwrap_or_default();
        let format = own
            .format
            .map(|format| format.0)
            .or(known.map(|known| known.format));
        let format = format.unwrap_or_default();
        let thinks = matches!(
            format,
            Format::Anthropic | Format::Gemini | Format::Ollama | Format::DashScope
        );
        if own.thinking.is_some() && !thinks {
            return Err(Failure::usage(format!(
                "`providers.{name}.thinking` is set, and the service speaks another format"
            ))
            .hint("take it out: it is for the formats anthropic, gemini, ollama and dashscope"));
        }
        if own.effort.is_some() && format != Format::OpenAiResponses {
            return Err(Failure::usage(format!(
                "`providers.{name}.effort` is set, and the service speaks another format"
            ))
            .hint("take it out, or say `format = \"openai-responses\"`"));
        }
        let hides = own.mask.unwrap_or_else(|| !is_local(&base_url));
        let veil = if hides { veil(config)? } else { None };
        let kind = known.or_else(|| own.format.and_then(|format| presets::of(format.0)));
        let mut rules = kind.map_or(Vec::new(), |kind| abilities::known(kind.name));
        rules.extend(own.rules());
        let connection = Connection {
            name: name.to_owned(),
            format,
            base_url,
            key: key?,
            headers: own.headers,
            ca_file: own.ca_file.or_else(|| config.ca_file.clone()),
            quirks: known.map_or(Quirks::COMMON, |known| known.quirks),
            rules,
            thinking: own.thinking.map_or(Thinking::Unsaid, |it| it.0),
            effort: own.effort.map(|it| it.0),
            api_version: own.api_version,
            deployments: own.deployments,
        };
        Ok(Self {
            reach: Reach::Service(Box::new(Remote {
                connection,
                key_command: own.key_command,
                veil,
            })),
            model,
            models: own.models,
            protocol: config.protocol.or(own.protocol),
        })
    }

    /// Makes the provider that has `model`. Nothing is sent yet.
    pub(super) fn connect(self, model: &str) -> Result<Arc<dyn Provider>, Failure> {
        match self.reach {
            Reach::Service(remote) => remote.connect(),
            Reach::Embedded(embedded) => embedded.connect(model),
        }
    }
}

impl Remote {
    /// Makes the provider, with the key that its command prints, if it has one.
    fn connect(mut self) -> Result<Arc<dyn Provider>, Failure> {
        if !self.key_command.is_empty() {
            self.connection.key = Some(key::printed_by(&self.connection.name, &self.key_command)?);
        }
        let provider = self.connection.make().map_err(Failure::usage)?;
        provider.secrets(secrets::known());
        Ok(match self.veil {
            Some(veil) => Arc::new(Veiled::new(provider, veil)),
            None => provider,
        })
    }
}

/// Returns what the settings hide from services, if anything.
pub(super) fn veil(config: &Config) -> Result<Option<Veil>, Failure> {
    let veil = config.mask.veil();
    veil.map_err(|error| Failure::usage(format!("`[mask]`: {error}")))
}

/// Returns the address of a known service: the one in the table, or in the variable that its own tools read.
pub(super) fn usual_address(known: &Preset) -> Option<String> {
    if known.base_url.is_empty() {
        address_variable(known.format).and_then(variable)
    } else {
        Some(known.base_url.to_owned())
    }
}

/// Returns the variable that holds the address of a service where everybody has one of their own.
fn address_variable(format: Format) -> Option<&'static str> {
    (format == Format::Azure).then_some("AZURE_OPENAI_ENDPOINT")
}

/// Keeps secrets from an address that only an untrusted file names, and tells when what is said goes to one.
fn check_trust(
    name: &str,
    address: &Address,
    known: Option<&Preset>,
    own: &ProviderConfig,
    key: &Result<Option<SecretString>, Failure>,
) -> Result<(), Failure> {
    let Some(Untrusted { place, way_out }) = address.untrusted(known.map(|known| known.base_url))
    else {
        return Ok(());
    };
    let address = address.as_str();
    let has_key = own.key_env.is_some() || !own.key_command.is_empty() || !matches!(key, Ok(None));
    let secret = if has_key {
        "the key"
    } else if own.has_trusted_headers {
        "your headers"
    } else {
        super::exit::warn(&format!(
            "`{address}` is named by `{place}` alone; what you write and what tools read goes there"
        ));
        return Ok(());
    };
    Err(Failure::usage(format!(
        "{secret} of `{name}` may not go to `{address}`, which `{place}` alone names"
    ))
    .hint(way_out.clone()))
}
