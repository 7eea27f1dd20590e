//! `glob`.

use claw::tool;
use claw::tool::{ToolContext, ToolError};

use crate::PAGE;
use crate::beneath::{Root, shown};
use crate::walk::{Pattern, Walk};

/// Finds files by the pattern of their path. Files named in `.gitignore` are left out.
#[tool(effect = read, group = "search", reads(path))]
pub fn glob(
    ctx: &ToolContext,
    /// For example `src/**/*.rs`: `*` stays within a name, `**` crosses folders, `{a,b}` chooses.
    #[arg(len = 1..=1000)]
    pattern: &str,
    /// The folder to search; the pattern begins there.
    #[arg(default = ".")]
    path: &str,
    /// Find hidden files too.
    #[arg(default = false)]
    hidden: bool,
) -> Result<String, ToolError> {
    let root = Root::of(ctx)?;
    let from = root.relative(path)?;
    let matcher = Pattern::new(pattern)?;
    if !root.is_folder(path)? {
        return Err(ToolError::new(format!(
            "`{path}` is a file; `path` is the folder to search"
        )));
    }
    let walk = Walk::new(ctx, root, path, hidden)?;
    let (mut out, mut more) = (String::new(), 0_usize);
    for file in walk {
        let file = file?;
        if !matcher.matches(file.strip_prefix(&from).unwrap_or(&file)) {
            continue;
        }
        if out.len() < PAGE - 500 {
            out.push_str(&shown(&file));
            out.push('\n');
        } else {
            more += 1;
        }
    }
    if more > 0 {
        out.push_str(&format!("[{more} more; narrow the pattern or the path]\n"));
    }
    if out.is_empty() {
        out = format!("[no file matches `{pattern}`]");
    }
    Ok(out)
}
