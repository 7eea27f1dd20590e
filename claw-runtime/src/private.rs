//! What `#[tool]` expands to names. Not for use by hand; changes without notice.

pub use linkme;
pub use serde;
pub use serde_json;

use crate::tool::ToolEntry;

/// Every linked tool. The number is new with each incompatible `ToolEntry`, so that two versions of claw in one program
/// do not read each other's entries.
#[linkme::distributed_slice]
pub static __CLAW_TOOLS_V1: [ToolEntry];

pub(crate) use __CLAW_TOOLS_V1 as LINKED;
