//! What `#[tool]` leaves in the program: const data and one function pointer a tool.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;

use super::{Spec, ToolContext, ToolError, ToolOutput};
use crate::schema::{Example, Property};
use futures_util::future::BoxFuture;
use serde_json::Value;

/// One tool as the compiler left it.
pub struct ToolEntry {
    /// What is declared.
    pub spec: Spec,
    /// The parameters in order, injected ones too.
    pub properties: &'static [Property],
    /// Calls to learn from.
    pub examples: &'static [Example],
    /// Returns the schema of results as JSON text, where they have one.
    pub output: fn() -> Option<String>,
    /// Whether the function is sync.
    pub is_sync: bool,
    /// Reads arguments and calls the function.
    pub shim: Shim,
    /// Finds out what became of a call that was started and has no outcome.
    pub reconcile: Option<Reconcile>,
    /// Where it was declared.
    pub origin: Origin,
}

impl ToolEntry {
    /// Returns an entry that is no tool: it keeps the slice from being empty, which some linkers do not bear.
    #[doc(hidden)]
    pub const fn sentinel() -> Self {
        Self {
            spec: Spec::declared([""; 4]),
            properties: &[],
            examples: &[],
            output: || None,
            is_sync: true,
            shim: |_, _| Ok(Prepared::Checked),
            reconcile: None,
            origin: Origin {
                package: "",
                module: "",
                file: "",
                line: 0,
            },
        }
    }

    pub(crate) fn is_sentinel(&self) -> bool {
        self.spec.name.is_empty()
    }
}

/// Reads the arguments and, given a context, calls the function. Without a context it only checks.
pub type Shim = for<'a> fn(Option<&'a ToolContext>, &'a str) -> Result<Prepared<'a>, Reject>;

/// Finds out what became of a call whose outcome was lost, from its validated arguments.
pub type Reconcile = for<'a> fn(&'a ToolContext, &'a Value) -> BoxFuture<'a, Reconciled>;

/// What became of a call whose outcome was lost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reconciled {
    /// It took effect, with this output.
    Done(ToolOutput),
    /// It did not take effect, and may be made again.
    NotDone,
    /// That cannot be found out.
    Unknown,
}

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
    pub what: Cow<'static, str>,
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

/// A state type a tool needs.
#[derive(Clone, Copy)]
pub struct Need {
    /// The type's name, for the message.
    pub name: fn() -> &'static str,
    /// The type.
    pub id: fn() -> TypeId,
}

impl fmt::Debug for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Need").field(&(self.name)()).finish()
    }
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

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEntry")
            .field("spec", &self.spec)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Has tools that work on it; implemented by `#[tools]` on an `impl` block. Given to an agent with
/// [`AgentBuilder::toolset`](crate::agent::AgentBuilder::toolset).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "no `#[tools]` on an `impl` block of it",
    note = "write `#[tools]` on `impl {Self} {{ … }}` and `#[tool]` on its methods"
)]
pub trait Tools: Any + Send + Sync {
    /// The tools.
    const TOOLS: &'static [ToolEntry];
}

/// One method of a `#[tools] impl`, by its place.
#[doc(hidden)]
pub trait Method<const AT: usize> {
    /// The tool.
    const ENTRY: ToolEntry;
}

/// Names a tool function for [`tools!`](crate::tools); implemented by `#[tool]`.
pub trait ToolDef {
    /// The tool.
    const ENTRY: ToolEntry;
}
