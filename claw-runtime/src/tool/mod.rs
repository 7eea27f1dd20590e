//! A tool: its description, its declared effect, and the shim that reads arguments and calls the function.

mod context;
mod entry;
mod output;
pub(crate) mod returns;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::schema::Property;
pub use context::{CallInfo, Progress, StateMap, ToolContext, Workspace};
pub use entry::{Need, Origin, Prepared, Reject, Shim, ToolDef, ToolEntry};
pub use output::{ToolError, ToolOutput};

use crate::schema::report::{LISTED, clip_to};
use crate::schema::{self, Coerce, Note, Schema, SchemaError, Unknown, Valid, render, validate};

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
    /// Names of the secrets the tool may be given.
    pub secrets: &'static [&'static str],
    /// How far arguments may be coerced; `None` is as far as the agent says, or strict for a destructive tool.
    pub coerce: Option<Coerce>,
}

impl Spec {
    /// Returns the declaration of a tool with nothing but a name and a description: effect `once`, no group.
    pub const fn new(name: Cow<'static, str>, description: Cow<'static, str>) -> Self {
        Self {
            name,
            title: Cow::Borrowed(""),
            description,
            group: Cow::Borrowed(""),
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
}

/// A tool, linked or added at run time.
pub struct Tool {
    spec: Spec,
    body: Body,
    parsed: OnceLock<Parsed>,
}

enum Body {
    Linked(&'static ToolEntry),
    Dynamic { schema: Value, handler: Handler },
}

/// The function behind a tool that was added at run time.
pub type Handler = Arc<
    dyn for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

struct Parsed {
    json: Arc<str>,
    schema: Schema,
    /// Whether a part of the schema is known only at run time; such a tool has no fast path.
    has_fast_path: bool,
    /// Why the schema cannot be used; no call passes it.
    fault: Option<SchemaError>,
}

/// Arguments that have passed validation; only [`Tool::validate`] makes them.
#[derive(Clone, PartialEq, Eq)]
pub struct ValidArguments {
    text: String,
    notes: Vec<String>,
}

/// Leaves out the values, as some are secret.
impl std::fmt::Debug for ValidArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValidArguments")
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl ValidArguments {
    /// Returns the arguments as JSON text, after coercion.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what was coerced or dropped, one line each, for the model.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Tool {
    /// Returns the tool of a linked entry.
    pub fn linked(entry: &'static ToolEntry) -> Self {
        Self {
            spec: entry.spec.clone(),
            body: Body::Linked(entry),
            parsed: OnceLock::new(),
        }
    }

    /// Returns a tool that is known only at run time, with the JSON Schema of its arguments.
    pub fn dynamic(spec: Spec, schema: Value, handler: Handler) -> Self {
        Self {
            spec,
            body: Body::Dynamic { schema, handler },
            parsed: OnceLock::new(),
        }
    }

    /// Returns what is declared about the tool.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns where the tool comes from, for a linked one.
    pub fn origin(&self) -> Option<&'static Origin> {
        match &self.body {
            Body::Linked(entry) => Some(&entry.origin),
            Body::Dynamic { .. } => None,
        }
    }

    /// Iterates over the state the tool needs from its agent.
    pub fn needs(&self) -> impl Iterator<Item = Need> {
        self.properties()
            .iter()
            .filter_map(|property| property.need)
    }

    /// Returns the canonical JSON Schema of the arguments as text.
    pub fn input_schema(&self) -> Arc<str> {
        self.parsed().json.clone()
    }

    /// Returns the canonical schema as a tree.
    pub fn schema(&self) -> &Schema {
        &self.parsed().schema
    }

    /// Compiles what others wrote of the schema.
    pub(crate) fn check_schema(&self) -> Result<(), SchemaError> {
        let compiles = match &self.body {
            Body::Linked(entry) => schema::holds_foreign(entry.properties),
            Body::Dynamic { .. } => true,
        };
        match compiles.then(|| self.parsed().fault.clone()).flatten() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn properties(&self) -> &'static [Property] {
        match &self.body {
            Body::Linked(entry) => entry.properties,
            Body::Dynamic { .. } => &[],
        }
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let (json, full, is_foreign) = match &self.body {
                Body::Linked(entry) => {
                    let rendered = render::object(entry.properties);
                    (rendered.text, rendered.full, rendered.foreign)
                }
                Body::Dynamic { schema, .. } => (schema.to_string(), schema.to_string(), true),
            };
            // A call that uses an alias is renamed by the slow path, so that policy, journal and tool see declared names
            // only.
            let is_aliased = self.properties().iter().any(|of| !of.aliases.is_empty());
            let value = || serde_json::from_str(&full).unwrap_or(Value::Bool(true));
            let (schema, fault) = match is_foreign.then(|| Schema::foreign(&value())) {
                None => (Schema::parse_text(&full), None),
                Some(Ok(schema)) => (schema, None),
                Some(Err(fault)) => (Schema::parse_text(&full), Some(fault)),
            };
            Parsed {
                json: json.into(),
                schema: schema.with_secret(self.spec.secret),
                has_fast_path: !is_foreign && !is_aliased,
                fault,
            }
        })
    }

    /// Validates arguments without running anything.
    ///
    /// # Errors
    ///
    /// Returns the report for the model when the arguments do not fit.
    pub fn validate(&self, arguments: &str) -> Result<ValidArguments, String> {
        self.validate_as(arguments, Coerce::default())
    }

    /// Validates arguments without running anything, coercing as far as `agent` says where the tool says nothing.
    ///
    /// # Errors
    ///
    /// Returns the report for the model when the arguments do not fit.
    pub fn validate_as(&self, arguments: &str, agent: Coerce) -> Result<ValidArguments, String> {
        if let Body::Linked(entry) = &self.body
            && self.parsed().has_fast_path
            && check(entry, arguments).is_ok()
        {
            return Ok(ValidArguments {
                text: arguments.to_owned(),
                notes: Vec::new(),
            });
        }
        let Parsed { schema, fault, .. } = self.parsed();
        if let Some(fault) = fault {
            let name = self.name();
            return Err(format!(
                "Tool call to `{name}` was not run: its arguments cannot be checked ({fault}). Go on without it."
            ));
        }
        let coerce = match self.spec.coerce {
            Some(coerce) => coerce,
            None if self.spec.destructive => Coerce::Strict,
            None => agent,
        };
        let unknown = if self.spec.effect.is_harmless() {
            Unknown::Drop
        } else {
            Unknown::Refuse
        };
        let Valid { text, notes, .. } = validate(schema, arguments, coerce, unknown)
            .map_err(|invalid| invalid.report(self.name(), schema))?;
        if let Body::Linked(entry) = &self.body
            && let Err(reject) = check(entry, &text)
        {
            return Err(format!(
                "Tool call to `{}` was not run: {}.\nSend the corrected call.",
                self.name(),
                self.explained(reject)
            ));
        }
        Ok(ValidArguments {
            text,
            notes: shown(&notes),
        })
    }

    /// Returns a refusal as a model may read it: what serde says repeats the value, however long or secret.
    fn explained(&self, mut reject: Reject) -> Reject {
        if let Cow::Owned(what) = &reject.what {
            reject.what = if self.schema().has_secrets() {
                Cow::Borrowed("a value of another form is expected")
            } else {
                let mut clipped = String::new();
                clip_to(what, 200, &mut clipped);
                Cow::Owned(clipped)
            };
        }
        reject
    }

    /// Tells whether [`Tool::call`] answers at once, on the calling thread, so that a blocking one must be moved off.
    pub fn is_sync(&self) -> bool {
        match &self.body {
            Body::Linked(entry) => entry.is_sync,
            Body::Dynamic { .. } => false,
        }
    }

    /// Starts a call. A sync tool has run when this returns; an async one runs when the result is polled.
    pub fn call<'a>(&self, ctx: &'a ToolContext, arguments: &'a ValidArguments) -> Prepared<'a> {
        match &self.body {
            Body::Linked(entry) => {
                (entry.shim)(Some(ctx), &arguments.text).unwrap_or_else(|reject| {
                    let reject = self.explained(reject).to_string();
                    Prepared::Done(Err(ToolError::new(reject)))
                })
            }
            Body::Dynamic { handler, .. } => match serde_json::from_str(&arguments.text) {
                Ok(value) => Prepared::Future(handler(ctx, value)),
                Err(error) => Prepared::Done(Err(ToolError::new(error.to_string()))),
            },
        }
    }
}

/// Reads arguments without running anything. A type of the tool's author reads itself, and may panic.
fn check(entry: &ToolEntry, arguments: &str) -> Result<(), Reject> {
    let read = catch_unwind(AssertUnwindSafe(|| (entry.shim)(None, arguments).map(drop)));
    read.unwrap_or_else(|payload| {
        // It is the author's too: dropping it may panic again.
        std::mem::forget(payload);
        Err(Reject {
            name: None,
            what: "the tool failed to read its arguments".into(),
            at: 0,
        })
    })
}

/// Writes what was changed, one line each; of many, only the number.
fn shown(notes: &[Note]) -> Vec<String> {
    let mut shown: Vec<String> = notes.iter().take(LISTED).map(ToString::to_string).collect();
    if notes.len() > LISTED {
        shown.push(format!("and {} more changes", notes.len() - LISTED));
    }
    shown
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
