//! `write_file`.

use claw::tool;
use claw::tool::{ToolContext, ToolError};

use super::store::replace;
use crate::beneath::Root;

/// Writes a whole text file, replacing what it held; missing parent folders are made. To change part of a file use `edit_file`.
#[tool(effect = idempotent, destructive, group = "fs", writes(path))]
pub fn write_file(
    ctx: &ToolContext,
    /// Path relative to the workspace.
    path: &str,
    /// The whole content, as UTF-8.
    content: &str,
) -> Result<String, ToolError> {
    let place = Root::of(ctx)?.place(path, true)?;
    let existing = place.existing()?;
    replace(&place, existing.as_ref(), content.as_bytes())?;
    let done = match existing {
        Some(_) => "replaced",
        None => "created",
    };
    Ok(format!("{done} `{path}`, {} bytes", content.len()))
}
