//! A tool: its description, its declared effect, and the shim that reads arguments and calls the function.

mod check;
mod context;
mod entry;
mod output;
pub(crate) mod returns;
mod spawn;
mod spec;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::schema::Property;
/// Makes the `#[tool]` methods of an `impl` block tools of the type: `&self` is the state they work on.
///
/// They are not linked by themselves, as they need a value: an agent or a program is given one.
///
/// ```
/// # extern crate claw_runtime as claw;
/// use claw::agent::Agent;
/// use claw::tool::tools;
///
/// struct Shelf {
///     notes: Vec<String>,
/// }
///
/// #[tools(group = "notes")]
/// impl Shelf {
///     /// Reads a note.
///     #[tool(effect = read, example(at = 0))]
///     fn note(
///         &self,
///         /// Which one, from 0 on.
///         at: usize,
///     ) -> Result<&str, String> {
///         self.notes.get(at).map(String::as_str).ok_or(format!("there is no note {at}"))
///     }
/// }
///
/// let shelf = Shelf { notes: vec!["milk".to_owned()] };
/// let builder = Agent::builder().toolset(shelf);
/// # let _ = builder;
/// # assert_eq!(Shelf::TOOLS.len(), 1);
/// ```
///
/// Methods take what functions take, and keys mean what they mean there; `group` and `crate` on the block hold for all of
/// them. The type gets a constant `TOOLS` and the trait [`Tools`].
pub use claw_macros::tools;
pub use context::{CallInfo, OutputRead, Services, StateMap, ToolContext, Workspace};
pub use entry::{
    Method, Need, Origin, Prepared, Reconcile, Reconciled, Reject, Shim, ToolDef, ToolEntry, Tools,
};
pub use output::{ToolError, ToolOutput};
pub use spawn::{Spawn, SpawnError, Spawned};
pub use spec::{Approve, Effect, Spec};

use crate::schema::report::{LISTED, clip_to};
use crate::schema::{
    self, Coerce, Engine, Note, Schema, SchemaError, Unknown, Valid, render, validate,
};

/// A tool, linked or added at run time.
pub struct Tool {
    spec: Spec,
    body: Body,
    joined: OnceLock<Joined>,
    read: OnceLock<Read>,
    output: OnceLock<Option<Arc<str>>>,
}

enum Body {
    Linked(&'static ToolEntry),
    Dynamic {
        schema: Value,
        handler: Handler,
        /// What compiles the patterns in its schema.
        engine: Engine,
    },
}

/// The function behind a tool that was added at run time.
pub type Handler = Arc<
    dyn for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// The schema as text, and what was seen on the way.
struct Joined {
    json: Arc<str>,
    /// Whether the fast path checks all of the schema.
    has_fast_path: bool,
    has_secrets: bool,
}

/// The schema read back: made when the slow path needs it.
struct Read {
    schema: Schema,
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
            joined: OnceLock::new(),
            read: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    /// Returns the tools of a `#[tools] impl`.
    pub fn all_of<T: Tools>() -> impl Iterator<Item = Arc<Self>> {
        T::TOOLS.iter().map(|entry| Arc::new(Self::linked(entry)))
    }

    /// Returns a tool that is known only at run time, with the JSON Schema of its arguments.
    pub fn dynamic(spec: Spec, schema: Value, handler: Handler) -> Self {
        Self {
            spec,
            body: Body::Dynamic {
                schema,
                handler,
                engine: Engine::REGEX,
            },
            joined: OnceLock::new(),
            read: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    /// Returns a tool that a model can be told of and that does not run, with the schema of its arguments as it stands in a
    /// text: a value keeps neither the order of members nor large numbers.
    pub(crate) fn described(spec: Spec, schema: String) -> Self {
        let value = serde_json::from_str(&schema).unwrap_or_default();
        let run: Handler = Arc::new(|_, _| {
            Box::pin(async { Err(ToolError::new("a description of a tool does not run")) })
        });
        let tool = Self::dynamic(spec, value, run);
        let has_secrets = tool.schema().has_secrets();
        Self {
            joined: OnceLock::from(Joined {
                json: schema.into(),
                has_fast_path: false,
                has_secrets,
            }),
            ..tool
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

    /// Reads what `#[tool(meta(…))]` says into a type of the application.
    ///
    /// # Errors
    ///
    /// Fails when a member is missing, unknown or of another type.
    pub fn meta<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(match self.spec.meta {
            "" => "{}",
            meta => meta,
        })
    }

    /// Returns what finds out what became of a call whose outcome was lost, where the tool has it.
    pub fn reconcile(&self) -> Option<Reconcile> {
        match &self.body {
            Body::Linked(entry) => entry.reconcile,
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
        self.joined().json.clone()
    }

    /// Returns the canonical schema with what only claw reads of it: `x-aliases`, the other names of a parameter.
    pub fn full_schema(&self) -> Value {
        match &self.body {
            Body::Linked(entry) => {
                let (full, _) = render::full(entry.properties, entry.examples);
                serde_json::from_str(&full).expect("the renderer writes JSON")
            }
            Body::Dynamic { schema, .. } => schema.clone(),
        }
    }

    /// Returns the JSON Schema of results as text, for tools whose results are objects of a known type.
    pub fn output_schema(&self) -> Option<Arc<str>> {
        let Body::Linked(entry) = &self.body else {
            return None;
        };
        self.output
            .get_or_init(|| (entry.output)().map(Arc::from))
            .clone()
    }

    /// Returns the canonical schema as a tree.
    pub fn schema(&self) -> &Schema {
        &self.read().schema
    }

    /// Tells whether any argument, or part of one, is secret.
    pub(crate) fn has_secrets(&self) -> bool {
        self.joined().has_secrets
    }

    /// Compiles what others wrote of the schema.
    pub(crate) fn check_schema(&self) -> Result<(), SchemaError> {
        let compiles = match &self.body {
            Body::Linked(entry) => schema::holds_foreign(entry.properties),
            Body::Dynamic { .. } => true,
        };
        match compiles.then(|| self.read().fault.clone()).flatten() {
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

    fn joined(&self) -> &Joined {
        self.joined.get_or_init(|| match &self.body {
            Body::Linked(entry) => {
                let rendered = render::object(entry.properties, entry.examples);
                // A call that uses an alias is renamed by the slow path, so that policy, journal and tool see
                // declared names only.
                let is_aliased = entry.properties.iter().any(|of| !of.aliases.is_empty());
                Joined {
                    json: rendered.text.into(),
                    has_fast_path: !rendered.slow && !is_aliased,
                    // A foreign type says in its schema what is secret.
                    has_secrets: rendered.secret
                        || !self.spec.secret.is_empty()
                        || (rendered.slow && self.schema().has_secrets()),
                }
            }
            Body::Dynamic { schema, .. } => Joined {
                json: schema.to_string().into(),
                has_fast_path: false,
                has_secrets: self.schema().has_secrets(),
            },
        })
    }

    fn read(&self) -> &Read {
        self.read.get_or_init(|| {
            let (schema, fault) = match &self.body {
                Body::Linked(entry) => {
                    let (full, engine) = render::full(entry.properties, entry.examples);
                    if schema::holds_foreign(entry.properties) {
                        foreign(&full, engine)
                    } else {
                        (Schema::parse_with(&full, engine), None)
                    }
                }
                Body::Dynamic { schema, engine, .. } => foreign(&schema.to_string(), Some(*engine)),
            };
            Read {
                schema: schema.with_secret(self.spec.secret),
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
            && self.joined().has_fast_path
            && check(entry, arguments).is_ok()
        {
            return Ok(ValidArguments {
                text: arguments.to_owned(),
                notes: Vec::new(),
            });
        }
        let Read { schema, fault } = self.read();
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

/// Reads a schema that others wrote, in part at least: with a fault, the tree serves to show and mask.
fn foreign(text: &str, engine: Option<Engine>) -> (Schema, Option<SchemaError>) {
    let value = serde_json::from_str(text).unwrap_or(Value::Bool(true));
    match Schema::foreign_by(&value, &BTreeMap::new(), engine) {
        Ok(schema) => (schema, None),
        Err(fault) => (Schema::parse_with(text, engine), Some(fault)),
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
