//! What is declared about a tool.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::ToolCall;
use crate::schema::Coerce;

/// What is declared about a tool.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What the model calls it: `[A-Za-z_][A-Za-z0-9_-]*`, at most 64 characters.
    pub name: Cow<'static, str>,
    /// What people call it; empty for the name.
    pub title: Cow<'static, str>,
    /// What it does, for the model.
    pub description: Cow<'static, str>,
    /// The policy group: `fs`, `search`, `web`, `runtime`, `memory`, `sessions`, or an own one; empty for none.
    pub group: Cow<'static, str>,
    /// What a call does to the world.
    pub effect: Effect,
    /// Whether a call may destroy something.
    pub destructive: bool,
    /// How long a call may take; `None` for the default of the limits.
    pub timeout: Option<Duration>,
    /// Whether it is a sync function that must run off the async threads.
    pub blocking: bool,
    /// Whether calls may run beside others whatever they touch.
    pub parallel: bool,
    /// What the tool itself says about approval.
    pub approve: Approve,
    /// Arguments whose value is a path that is read.
    pub reads: &'static [&'static str],
    /// Arguments whose value is a path that is written.
    pub writes: &'static [&'static str],
    /// Arguments whose value is a network address.
    pub net: &'static [&'static str],
    /// Arguments that are secret: masked in reports, events and approvals.
    pub secret: &'static [&'static str],
    /// Names of the variables that hold the secrets the tool uses; the program masks their values everywhere.
    pub secrets: &'static [&'static str],
    /// How far arguments may be coerced; `None` is safe, or strict for a destructive tool.
    pub coerce: Option<Coerce>,
    /// Whether a call reaches beyond the program's own world: the network, other people.
    pub open_world: bool,
    /// Whether calling it again and again is how it is used, so that the loop guard is patient.
    pub poll: bool,
    /// Whether it is kept from models; programs call it all the same.
    pub hidden: bool,
    /// Characters of output that the model reads; `None` for the default of the limits.
    pub max_output: Option<usize>,
    /// Other names a call may use, such as former ones.
    pub aliases: &'static [&'static str],
    /// Words to find and group it by.
    pub tags: &'static [&'static str],
    /// The version of its contract, from 1 on.
    pub version: u32,
    /// What the application wants to know of it, as a JSON object; empty for nothing. Read with [`Tool::meta`].
    ///
    /// [`Tool::meta`]: crate::tool::Tool::meta
    pub meta: &'static str,
}

impl Spec {
    /// Returns the declaration of a tool with nothing but a name and a description: effect `once`, no group.
    pub const fn new(name: Cow<'static, str>, description: Cow<'static, str>) -> Self {
        Self::with_texts(name, Cow::Borrowed(""), description, Cow::Borrowed(""))
    }

    /// Returns what `#[tool]` starts from: all texts at once, as a constant cannot replace them later.
    #[doc(hidden)]
    pub const fn declared([name, title, description, group]: [&'static str; 4]) -> Self {
        Self::with_texts(
            Cow::Borrowed(name),
            Cow::Borrowed(title),
            Cow::Borrowed(description),
            Cow::Borrowed(group),
        )
    }

    const fn with_texts(
        name: Cow<'static, str>,
        title: Cow<'static, str>,
        description: Cow<'static, str>,
        group: Cow<'static, str>,
    ) -> Self {
        Self {
            name,
            title,
            description,
            group,
            effect: Effect::Once,
            destructive: false,
            timeout: None,
            blocking: false,
            parallel: false,
            approve: Approve::Policy,
            reads: &[],
            writes: &[],
            net: &[],
            secret: &[],
            secrets: &[],
            coerce: None,
            open_world: false,
            poll: false,
            hidden: false,
            max_output: None,
            aliases: &[],
            tags: &[],
            version: 1,
            meta: "",
        }
    }
}

/// What a call does to the world, as declared: decides approval, sandbox and recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Computes from its arguments; runs again freely.
    Pure,
    /// Looks at the world, changes nothing; runs again freely.
    Read,
    /// Changes the world; a second run changes nothing more.
    Idempotent,
    /// Changes the world each time: never repeated by claw.
    Once,
}

impl Effect {
    /// Tells whether a call leaves the world as it was.
    pub const fn is_harmless(self) -> bool {
        matches!(self, Self::Pure | Self::Read)
    }

    /// Returns the word used in declarations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Once => "once",
        }
    }
}

/// What a tool's declaration says about approval.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Approve {
    /// Nothing: the policy decides by effect.
    Policy,
    /// It needs none.
    Never,
    /// It asks, unless a rule allows it.
    Ask,
    /// It asks every time, whatever the rules say.
    Always,
    /// A function decides on each call, from the call as it was sent and its validated arguments. It must answer the
    /// same for the same call.
    When(fn(&ToolCall, &Value) -> Approve),
}

impl Approve {
    /// Returns what is said about this call. A predicate that panics is taken for one that asks.
    pub(crate) fn of(self, call: &ToolCall, arguments: &str) -> Self {
        let Self::When(predicate) = self else {
            return self;
        };
        let Ok(arguments) = serde_json::from_str(arguments) else {
            return Self::Always;
        };
        let judge = AssertUnwindSafe(|| predicate(call, &arguments));
        match catch_unwind(judge) {
            Ok(Self::When(_)) | Err(_) => Self::Always,
            Ok(approve) => approve,
        }
    }
}
