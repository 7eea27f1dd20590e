//! What `#[tool]` expands to names. Not for use by hand; changes without notice.

pub use linkme;
pub use serde;
pub use serde_json;

pub use crate::schema::Coerce;
pub use crate::schema::cursor::Cursor;
pub use crate::schema::flatten::{Flat, Flatten, distinct};
pub use crate::schema::input::{
    Probe, Shapes, State, ToolInput, Via, ViaSchemars, Way, content, field, owned, preset, shape,
    unknown_variant, unknown_word, variant, via,
};
pub use crate::schema::node::{
    Bounds, Constraint, Kind, Named, Node, Num, Preset, Property, Source, Words, takes,
};
pub use crate::schema::slot::{Arg, Known, Owned, Slot, With, members, parse};
pub use crate::tool::returns::{Otherwise, Out, Returned, Whole, convert, failure};
pub use crate::tool::{
    Approve, Effect, Origin, Prepared, Reject, Shim, Spec, ToolContext, ToolDef, ToolEntry,
    ToolError, ToolOutput,
};

/// Every linked tool. The number is new with each incompatible `ToolEntry`, so that two versions of claw in one program
/// do not read each other's entries.
#[linkme::distributed_slice]
pub static __CLAW_TOOLS_V1: [ToolEntry];

pub(crate) use __CLAW_TOOLS_V1 as LINKED;
