//! What arguments a tool takes, and whether a call brings them.
//!
//! Three forms of one thing. [`Node`]: const data made by the compiler, with the JSON Schema as pre-escaped
//! [`Piece`]s; joined once, when a toolset is built. The reader behind a tool's shim: the fast path, straight from the
//! call's text. [`Schema`]: the JSON Schema read back into a tree, for tools of this program and for tools that arrive
//! at run time alike; [`validate`] walks it when the fast path refuses, so that there is one report and one coercion.

mod node;

mod check;
mod coerce;
mod declaration;
mod expected;
mod json;
mod number;
mod reader;
mod report;
mod signature;
mod tree;
mod validate;

#[cfg(test)]
mod tests;

pub use coerce::Coerce;
pub use node::{Kind, Node, Piece};
pub use report::{Invalid, Problem};
pub use tree::Schema;
pub use validate::{Note, Unknown, Valid, validate};
