//! What arguments a tool takes, and whether a call brings them.
//!
//! Three forms of one thing. [`Node`]: const data made by the compiler, joined to JSON Schema text once, when a toolset
//! is built. The reader behind a tool's shim: the fast path, straight from the call's text into slots. [`Schema`]: the
//! JSON Schema read back into a tree, for tools of this program and for tools that arrive at run time alike;
//! [`validate`] walks it when the fast path refuses, so that there is one report and one coercion. Schemas that others wrote
//! are then checked in full.

pub(crate) mod bounds;
pub(crate) mod cursor;
pub(crate) mod flatten;
pub(crate) mod format;
pub(crate) mod held;
pub(crate) mod input;
pub(crate) mod literal;
pub(crate) mod node;
pub(crate) mod normalise;
pub(crate) mod pattern;
pub(crate) mod portable;
pub(crate) mod render;
pub(crate) mod slot;
mod types;

mod check;
mod coerce;
mod declaration;
mod ecma;
mod expected;
mod foreign;
pub(crate) mod json;
mod number;
pub(crate) mod reader;
pub(crate) mod report;
mod room;
mod signature;
mod tree;
mod validate;

#[cfg(test)]
mod tests;

pub use bounds::{Bounds, Num};
pub use coerce::Coerce;
pub use cursor::Cursor;
pub use flatten::{Flat, Flatten};
pub use foreign::SchemaError;
pub(crate) use foreign::holds_foreign;
pub use input::{State, ToolInput};
pub use node::{Example, Foreign, Kind, Named, Node, Preset, Property, Source, Words};
pub use pattern::{Engine, Pattern};
pub use report::{Invalid, Problem};
pub use tree::Schema;
pub(crate) use tree::resolve;
pub use validate::{Note, Unknown, Valid, validate};
