//! A tool: its description, its declared effect, and the shim that reads arguments and calls the function.

mod check;
mod context;
mod entry;
mod output;
pub(crate) mod returns;
mod spec;

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
pub use context::{CallInfo, Progress, StateMap, ToolContext, Workspace};
pub use entry::{
    Method, Need, Origin, Prepared, Reconcile, Reconciled, Reject, Shim, ToolDef, ToolEntry, Tools,
};
pub use output::{ToolError, ToolOutput};
pub use spec::{Approve, Effect, Spec};

use crate::schema::{Coerce, Schema, Unknown, Valid, render, validate};

/// A tool, linked or added at run time.
pub struct Tool {
    spec: Spec,
    body: Body,
    parsed: OnceLock<Parsed>,
    output: OnceLock<Option<Arc<str>>>,
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
    /// Whether the fast path checks all of the schema.
    has_fast_path: bool,
}

/// Arguments that have passed validation; only [`Tool::validate`] makes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidArguments {
    text: String,
    notes: Vec<String>,
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
            body: Body::Dynamic { schema, handler },
            parsed: OnceLock::new(),
            output: OnceLock::new(),
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
        self.parsed().json.clone()
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
        &self.parsed().schema
    }

    fn properties(&self) -> &'static [Property] {
        match &self.body {
            Body::Linked(entry) => entry.properties,
            Body::Dynamic { .. } => &[],
        }
    }

    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let (json, schema, has_fast_path) = match &self.body {
                Body::Linked(entry) => {
                    let rendered = render::object(entry.properties, entry.examples);
                    // A call that uses an alias is renamed by the slow path, so that policy, journal and tool see
                    // declared names only.
                    let aliased = entry.properties.iter().any(|of| !of.aliases.is_empty());
                    let schema = Schema::parse_text(&rendered.full);
                    (rendered.text, schema, !rendered.slow && !aliased)
                }
                Body::Dynamic { schema, .. } => (schema.to_string(), Schema::parse(schema), false),
            };
            Parsed {
                json: json.into(),
                schema: schema.with_secret(self.spec.secret),
                has_fast_path,
            }
        })
    }

    /// Validates arguments without running anything.
    ///
    /// # Errors
    ///
    /// Returns the report for the model when the arguments do not fit.
    pub fn validate(&self, arguments: &str) -> Result<ValidArguments, String> {
        if let Body::Linked(entry) = &self.body
            && self.parsed().has_fast_path
            && (entry.shim)(None, arguments).is_ok()
        {
            return Ok(ValidArguments {
                text: arguments.to_owned(),
                notes: Vec::new(),
            });
        }
        let schema = self.schema();
        let coerce = self.spec.coerce.unwrap_or(if self.spec.destructive {
            Coerce::Strict
        } else {
            Coerce::Safe
        });
        let unknown = if self.spec.effect.is_harmless() {
            Unknown::Drop
        } else {
            Unknown::Refuse
        };
        let Valid { text, notes, .. } = validate(schema, arguments, coerce, unknown)
            .map_err(|invalid| invalid.report(self.name(), schema))?;
        if let Body::Linked(entry) = &self.body
            && let Err(reject) = (entry.shim)(None, &text)
        {
            return Err(format!(
                "Tool call to `{}` was not run: {reject}.\nSend the corrected call.",
                self.name()
            ));
        }
        Ok(ValidArguments {
            text,
            notes: notes.iter().map(ToString::to_string).collect(),
        })
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
            Body::Linked(entry) => (entry.shim)(Some(ctx), &arguments.text)
                .unwrap_or_else(|reject| Prepared::Done(Err(ToolError::new(reject.to_string())))),
            Body::Dynamic { handler, .. } => match serde_json::from_str(&arguments.text) {
                Ok(value) => Prepared::Future(handler(ctx, value)),
                Err(error) => Prepared::Done(Err(ToolError::new(error.to_string()))),
            },
        }
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
