//! What `#[tool]` expands to names. Not for use by hand; changes without notice.

pub use linkme;
pub use serde;
pub use serde_json;

pub use crate::registry::link::Mark;
pub use crate::schema::Coerce;
pub use crate::schema::bounds::{Bounds, Constraint, Num, NumOf, Step, is_possible, items, takes};
pub use crate::schema::cursor::Cursor;
pub use crate::schema::flatten::{Flat, Flatten, distinct, rests};
pub use crate::schema::held::begin;
pub use crate::schema::input::{
    Probe, Shapes, State, ToolInput, Via, ViaSchemars, Way, content, field, owned, preset, shape,
    unknown_variant, unknown_word, variant, via,
};
pub use crate::schema::literal::{Literal, contexts, fits, may_lack};
pub use crate::schema::node::{Example, Kind, Named, Node, Preset, Property, Source, Words};
pub use crate::schema::pattern::{Compiled, Pattern};
pub use crate::schema::portable::nests_portably;
pub use crate::schema::slot::{Arg, Known, Owned, Slot, With, members};
pub use crate::tool::returns::{
    Otherwise, Out, Returned, Returns, Told, Whole, convert, failure, out, stream,
};
pub use crate::tool::{
    Approve, Effect, Method, Origin, Prepared, Reconciled, Reject, Shim, Spec, Tool, ToolContext,
    ToolDef, ToolEntry, ToolError, ToolOutput, Tools,
};

/// Every linked tool. The number is new with each incompatible `ToolEntry`, so that two versions of claw in one program
/// do not read each other's entries.
#[linkme::distributed_slice]
pub static __CLAW_TOOLS_V1: [ToolEntry];

/// What is known of crates with tools: that they are linked, and that they are expected.
#[linkme::distributed_slice]
pub static __CLAW_CRATES_V1: [Mark];

pub(crate) use __CLAW_CRATES_V1 as CRATES;
pub(crate) use __CLAW_TOOLS_V1 as LINKED;

/// Fails a generated test when a default or an example does not keep to its own schema.
///
/// # Panics
///
/// That is how it fails.
pub fn check(entries: &'static [ToolEntry]) {
    for entry in entries {
        if let Err(faults) = Tool::linked(entry).check() {
            panic!(
                "tool `{}` contradicts itself: {}",
                entry.spec.name,
                faults.join("; ")
            );
        }
    }
}
