//! The program's settings: files and environment into one typed value.
//!
//! Four layers, each stronger than the one before: the user's file (`$XDG_CONFIG_HOME/claw/claw.toml`), the working
//! folder's `claw.toml` or the file named by `--config`, the environment (`CLAW_MODEL` and its like), and flags. Tables
//! merge key by key; lists and values replace. Secrets are never written here: a file names the variable or the file
//! that holds one.
//!
//! ```toml
//! model = "openai:gpt-5-mini"       # provider:model
//! base_url = "http://127.0.0.1:8080/v1"  # an OpenAI-compatible service; replaces the provider's own address
//! workspace = "."                   # the folder the tools work in, relative to this file
//! system = "Answer in Danish."      # standing instructions, in place of the built-in ones
//! user_timezone = "Europe/Oslo"     # for the stamp of each message; the system's zone when left out
//! stamp = true                      # whether messages carry the stamp `[Sat 2026-02-28 14:30 +08:00]`
//! discover = true                   # whether a local server is looked for when no model is named
//!
//! [providers.lab]                   # an own name, used as `lab:some-model`
//! base_url = "https://llm.lab.example/v1"
//! key_env = "LAB_KEY"               # the variable that holds the key; or `key_file`, a path
//! models = ["some-model"]           # the first is taken where none is named
//! native_tools = false              # the model takes no tool definitions: use the prompt protocol
//! headers = { x-team = "blue" }
//!
//! [policy]
//! profile = "coding"                # minimal, coding, messaging, local or full: which built-in tools are offered
//! allow = ["write_file"]            # run without asking; `*` matches any run of characters, `group:fs` a group
//! ask = ["group:web"]
//! deny = ["exec"]                   # never offered
//!
//! [limits]                          # one turn's bounds; durations are seconds or "90s", "5m", "1h"
//! rounds = 50
//! calls_per_round = 32
//! calls_per_turn = 200
//! active_time = "30m"
//! re_asks = 2
//! empty_replies = 1
//! attempts = 4
//! call_timeout = "2m"
//! output_chars = 12000
//! same_invalid_call = 2
//! repeats_noted = 3
//! repeats_refused = 5
//! repeats_stopped = 7
//! failures_in_row = 10
//! wrap_up_time = "1m"
//! retry_after = "1m"
//! max_output_tokens = 4096
//! ```

mod check;
mod limits;
mod load;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use claw_runtime::policy::Policy;
use serde::Deserialize;

pub(crate) use check::ConfigError;
pub(crate) use limits::LimitsConfig;
pub(crate) use load::{Loaded, Sources, load};
pub(crate) use value::{Address, EnvName, Profile, Zone};

/// Every setting, with what nobody set left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// `provider:model`, or one of both.
    pub(crate) model: Option<String>,
    /// Address of an OpenAI-compatible service.
    pub(crate) base_url: Option<Address>,
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
    /// Services by name.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// What may run.
    pub(crate) policy: PolicyConfig,
    /// Bounds of a turn.
    pub(crate) limits: LimitsConfig,
}

/// One service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    /// Its address.
    pub(crate) base_url: Option<Address>,
    /// The environment variable that holds its key.
    pub(crate) key_env: Option<EnvName>,
    /// The file that holds its key.
    pub(crate) key_file: Option<PathBuf>,
    /// Whether its models take tool definitions.
    pub(crate) native_tools: Option<bool>,
    /// Headers sent with each request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Its models, the preferred one first.
    pub(crate) models: Vec<String>,
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
