//! What `#[tool]` leaves in the program: const data and one function pointer a tool.

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;

use super::{Spec, ToolContext, ToolError, ToolOutput};
use crate::schema::Property;
use futures_util::future::BoxFuture;

/// One tool as the compiler left it.
pub struct ToolEntry {
    /// What is declared.
    pub spec: Spec,
    /// The parameters in order, injected ones too.
    pub properties: &'static [Property],
    /// Whether the function is sync.
    pub is_sync: bool,
    /// Reads arguments and calls the function.
    pub shim: Shim,
    /// Where it was declared.
    pub origin: Origin,
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

/// Names a tool function for [`tools!`](crate::tools); implemented by `#[tool]`.
pub trait ToolDef {
    /// The tool.
    const ENTRY: ToolEntry;
}
