//! What callers of a program's tools rely on, as it stands in a snapshot.
//!
//! Everything declared that a model, a program or a policy can notice, and nothing that it cannot: not where a tool is
//! declared, not how its function runs. Sorted throughout, so that equal tools give equal bytes.

use std::collections::{BTreeMap, BTreeSet};

use claw_runtime::registry::Toolset;
use claw_runtime::schema::Coerce;
use claw_runtime::tool::{Approve, Effect, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of a snapshot; another number is another form.
pub(super) const FORM: u32 = 1;

/// The tools of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contract {
    /// [`FORM`].
    pub(super) snapshot: u32,
    pub(super) tools: BTreeMap<String, Terms>,
}

/// One tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Terms {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) aliases: BTreeSet<String>,
    pub(super) version: u32,
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) tags: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) hidden: bool,
    pub(super) effect: Effect,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) destructive: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) open_world: bool,
    pub(super) approve: Approval,
    pub(super) coerce: Coercion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) reads: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) writes: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) net: BTreeSet<String>,
    /// Arguments that are masked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) secret: BTreeSet<String>,
    /// Secrets it may be given.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) secrets: BTreeSet<String>,
    pub(super) input_schema: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output_schema: Option<Value>,
}

/// What the declaration says about approval, the most willing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Approval {
    Never,
    /// By effect.
    Policy,
    /// By a function of the tool.
    Function,
    Ask,
    Always,
}

/// How far arguments may be coerced, the most willing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Coercion {
    Lenient,
    Safe,
    Strict,
}

impl Approval {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Policy => "by effect",
            Self::Function => "by a function",
            Self::Ask => "ask",
            Self::Always => "always",
        }
    }
}

impl Coercion {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Lenient => "lenient",
            Self::Safe => "safe",
            Self::Strict => "strict",
        }
    }
}

impl Contract {
    /// Returns what callers of these tools rely on.
    pub(super) fn of(tools: &Toolset) -> Self {
        Self {
            snapshot: FORM,
            tools: tools
                .iter()
                .map(|tool| (tool.name().to_owned(), Terms::of(tool)))
                .collect(),
        }
    }
}

impl Terms {
    fn of(tool: &Tool) -> Self {
        let spec = tool.spec();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            title: spec.title.to_string(),
            aliases: set(spec.aliases),
            version: spec.version,
            description: spec.description.to_string(),
            group: spec.group.to_string(),
            tags: set(spec.tags),
            hidden: spec.hidden,
            effect: spec.effect,
            destructive: spec.destructive,
            open_world: spec.open_world,
            approve: match spec.approve {
                Approve::Never => Approval::Never,
                Approve::Policy => Approval::Policy,
                Approve::When(_) => Approval::Function,
                Approve::Ask => Approval::Ask,
                _ => Approval::Always,
            },
            coerce: match spec.coerce {
                Some(Coerce::Lenient) => Coercion::Lenient,
                Some(Coerce::Strict) => Coercion::Strict,
                None if spec.destructive => Coercion::Strict,
                _ => Coercion::Safe,
            },
            timeout_ms: spec
                .timeout
                .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            reads: set(spec.reads),
            writes: set(spec.writes),
            net: set(spec.net),
            secret: set(spec.secret),
            secrets: set(spec.secrets),
            input_schema: tool.full_schema(),
            output_schema: tool
                .output_schema()
                .and_then(|schema| serde_json::from_str(&schema).ok()),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}
