//! The program's settings: files and environment into one typed value.
//!
//! Four layers, each stronger than the one before: the user's file (`$XDG_CONFIG_HOME/claw/claw.toml`), the working
//! folder's `claw.toml` or the file named by `--config`, the environment (`CLAW_MODEL` and its like), and flags. Tables
//! merge key by key; lists and values replace. Secrets are never written here: a file names the variable or the file
//! that holds one, or the command that prints it. The working folder's file may have come from anybody: [`trust`] says what it may not decide.
//! Every key stands in `claw.toml` beside this file, which is also part of the crate's documentation.

mod budget;
mod check;
mod limits;
mod load;
mod mask;
mod reasoning;
mod trust;
mod value;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use claw_runtime::policy::Policy;
use claw_runtime::provider::abilities::{Change, Rule};
use claw_runtime::provider::{Constrain, Protocol};
use serde::Deserialize;

pub(crate) use budget::{BudgetConfig, ModelConfig};
pub(crate) use check::ConfigError;
pub(crate) use limits::LimitsConfig;
#[cfg(feature = "local")]
pub(crate) use load::is_file;
pub(crate) use load::{Sources, load};
pub(crate) use mask::MaskConfig;
pub(crate) use reasoning::{EffortConfig, ThinkingConfig};
pub(crate) use trust::Untrusted;
pub(crate) use value::{
    Address, Durability, EnvName, Profile, Size, Span, StoreKind, Temperature, WireFormat, Zone,
    is_local,
};

/// Every setting, with what nobody set left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// `provider:model`, or one of both.
    pub(crate) model: Option<String>,
    /// Address of the service that is asked, OpenAI-compatible unless the model names another.
    pub(crate) base_url: Option<Address>,
    /// The file of an authority that services are trusted by, besides the public ones.
    pub(crate) ca_file: Option<PathBuf>,
    /// The folder the agent works in.
    pub(crate) workspace: Option<PathBuf>,
    /// Standing instructions.
    pub(crate) system: Option<String>,
    /// The zone of the stamp on each message.
    pub(crate) user_timezone: Option<Zone>,
    /// Whether messages carry a stamp.
    pub(crate) stamp: Option<bool>,
    /// Whether a local server is looked for when no model is named.
    pub(crate) discover: Option<bool>,
    /// How tool calls travel, whatever the provider's own setting.
    pub(crate) protocol: Option<Protocol>,
    /// Whether models are refused that can call no tools.
    pub(crate) must_call: Option<bool>,
    /// Services by name.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// What may run.
    pub(crate) policy: PolicyConfig,
    /// Bounds of a turn.
    pub(crate) limits: LimitsConfig,
    /// What may be spent.
    pub(crate) budget: BudgetConfig,
    /// What services are not told.
    pub(crate) mask: MaskConfig,
    /// What models cost, by `provider:model`.
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// Where sessions are kept.
    pub(crate) sessions: SessionsConfig,
}

/// Where sessions are kept.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SessionsConfig {
    /// In what.
    pub(crate) store: Option<StoreKind>,
    /// The SQLite file.
    pub(crate) file: Option<PathBuf>,
    /// What a kept event survives.
    pub(crate) durability: Option<Durability>,
    /// The environment variable that holds the address of the Postgres database.
    pub(crate) url_env: Option<EnvName>,
}

/// One service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    /// Its address.
    pub(crate) base_url: Option<Address>,
    /// The wire format it speaks; that of a known service or OpenAI chat completions when left out.
    pub(crate) format: Option<WireFormat>,
    /// The environment variable that holds its key.
    pub(crate) key_env: Option<EnvName>,
    /// The file that holds its key.
    pub(crate) key_file: Option<PathBuf>,
    /// The program that prints its key, and the program's arguments; before the others where it is set.
    pub(crate) key_command: Vec<String>,
    /// The file of an authority that it is trusted by, in place of the one for all services.
    pub(crate) ca_file: Option<PathBuf>,
    /// How tool calls travel to and from its models.
    pub(crate) protocol: Option<Protocol>,
    /// When its models are held to a form under the prompt protocol.
    pub(crate) constrain: Option<Constrain>,
    /// Whether what `[mask]` says is hidden from it; when left out, from services elsewhere and not from those on this machine.
    pub(crate) mask: Option<bool>,
    /// Headers sent with each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Whether trusted settings name a header.
    #[serde(skip)]
    pub(crate) has_trusted_headers: bool,
    /// Its models, the preferred one first.
    pub(crate) models: Vec<String>,
    /// Whether its models reason before they answer.
    pub(crate) thinking: Option<ThinkingConfig>,
    /// How hard they do, where the format has words for it.
    pub(crate) effort: Option<EffortConfig>,
    /// The version of Azure's older addresses; its v1 address when left out.
    pub(crate) api_version: Option<String>,
    /// Azure's deployments by the model's name.
    pub(crate) deployments: BTreeMap<String, String>,
    /// Threads the embedded model computes with.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Tokens of a prompt and its reply together, at most, of the embedded model.
    pub(crate) context: Option<NonZeroU32>,
    /// Memory the embedded model may take.
    pub(crate) memory: Option<Size>,
    /// How long the embedded model stays loaded without a request.
    pub(crate) idle: Option<Span>,
    /// How freely the embedded model chooses its words.
    pub(crate) temperature: Option<Temperature>,
    /// What the embedded model's choices begin from.
    pub(crate) seed: Option<u64>,
    /// What its models can do, by a name in which `*` stands for any run of characters; where claw knows no better.
    pub(crate) capabilities: BTreeMap<String, Change>,
}

impl ProviderConfig {
    /// The keys that are for the embedded model alone.
    pub(crate) const EMBEDDED: &[&str] = &[
        "threads",
        "context",
        "memory",
        "idle",
        "temperature",
        "seed",
    ];

    /// Returns the first key that is set and for the embedded model alone.
    pub(crate) fn embedded_key(&self) -> Option<&'static str> {
        let set = [
            self.threads.is_some(),
            self.context.is_some(),
            self.memory.is_some(),
            self.idle.is_some(),
            self.temperature.is_some(),
            self.seed.is_some(),
        ];
        let first = set.iter().position(|is_set| *is_set)?;
        Some(Self::EMBEDDED[first])
    }

    /// Returns the first key that is set and for services alone.
    #[cfg(feature = "local")]
    pub(crate) fn service_key(&self) -> Option<&'static str> {
        [
            (self.base_url.is_some(), "base_url"),
            (self.format.is_some(), "format"),
            (self.key_env.is_some(), "key_env"),
            (self.key_file.is_some(), "key_file"),
            (!self.key_command.is_empty(), "key_command"),
            (self.ca_file.is_some(), "ca_file"),
            (self.mask.is_some(), "mask"),
            (self.effort.is_some(), "effort"),
            (!self.headers.is_empty(), "headers"),
            (self.thinking.is_some(), "thinking"),
            (self.api_version.is_some(), "api_version"),
            (!self.deployments.is_empty(), "deployments"),
        ]
        .into_iter()
        .find_map(|(is_set, key)| is_set.then_some(key))
    }

    /// Returns the rules about its models, the one about all of them first, so that exact names weigh most.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let mut rules: Vec<Rule> = self
            .capabilities
            .iter()
            .map(|(models, change)| Rule {
                models: models.clone(),
                change: *change,
                is_guess: false,
            })
            .collect();
        rules.sort_by_key(|rule| {
            let wildcards = rule.models.matches('*').count();
            (wildcards == 0, rule.models.len() - wildcards)
        });
        let of_all = self.constrain.map(|constrain| Rule {
            models: "*".to_owned(),
            change: Change {
                constrain: Some(constrain),
                ..Change::default()
            },
            is_guess: false,
        });
        rules.splice(..0, of_all);
        rules
    }
}

/// What may run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PolicyConfig {
    /// Which built-in tools are offered.
    pub(crate) profile: Option<Profile>,
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

impl PolicyConfig {
    /// Returns the runtime's policy.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            allow: self.allow.clone(),
            ask: self.ask.clone(),
            deny: self.deny.clone(),
        }
    }
}
