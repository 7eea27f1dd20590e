//! `list_dir`.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use claw::tool;
use claw::tool::{ToolContext, ToolError};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};

use crate::beneath::{Root, shown};
use crate::{PAGE, cancelled};

/// The most entries that are shown.
const MAX_ENTRIES: usize = 400;

/// Lists a folder: folders end with `/`, files have their size in bytes, links their target. Hidden entries are shown, hidden
/// folders are not entered.
#[tool(effect = read, group = "fs", reads(path))]
pub fn list_dir(
    ctx: &ToolContext,
    /// Path relative to the workspace.
    #[arg(default = ".")]
    path: &str,
    /// How many levels to show.
    #[arg(range = 1..=10, default = 1)]
    depth: u32,
) -> Result<String, ToolError> {
    let folder = Root::of(ctx)?.folder(path)?;
    let mut listing = Listing {
        ctx,
        out: String::new(),
        shown: 0,
        more: 0,
    };
    listing.add(folder, "", depth.clamp(1, 10))?;
    if listing.more > 0 {
        listing.out.push_str(&format!(
            "[{} more entries; list a folder inside]\n",
            listing.more
        ));
    }
    if listing.out.is_empty() {
        listing.out.push_str("[the folder is empty]");
    }
    Ok(listing.out)
}

struct Listing<'a> {
    ctx: &'a ToolContext,
    out: String,
    shown: usize,
    more: usize,
}

impl Listing<'_> {
    fn add(&mut self, folder: OwnedFd, indent: &str, depth: u32) -> Result<(), ToolError> {
        let failed =
            |err: rustix::io::Errno| ToolError::new(format!("the folder could not be read: {err}"));
        let mut names: Vec<_> = Dir::read_from(&folder)
            .map_err(failed)?
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_owned())
            .filter(|name| !matches!(name.to_bytes(), b"." | b".."))
            .collect();
        names.sort();
        for name in names {
            if self.ctx.cancellation().is_cancelled() {
                return Err(cancelled());
            }
            if self.shown == MAX_ENTRIES || self.out.len() > PAGE {
                self.more += 1;
                continue;
            }
            self.shown += 1;
            let Some((line, is_folder)) = entry(&folder, &name) else {
                continue;
            };
            self.out.push_str(indent);
            self.out.push_str(&line);
            self.out.push('\n');
            if is_folder && depth > 1 && !name.to_bytes().starts_with(b".") {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                // A folder that may not be entered is shown and left closed.
                if let Ok(inner) = openat(&folder, &name, flags, Mode::empty()) {
                    self.add(inner, &format!("{indent}  "), depth - 1)?;
                }
            }
        }
        Ok(())
    }
}

/// One line, or `None` when the entry is gone meanwhile.
fn entry(folder: impl AsFd, name: &CStr) -> Option<(String, bool)> {
    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let label = shown(OsStr::from_bytes(name.to_bytes()));
    let line = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => return Some((format!("{label}/"), true)),
        FileType::RegularFile => format!("{label} ({})", stat.st_size),
        FileType::Symlink => {
            let target = readlinkat(folder, name, Vec::new()).ok()?;
            // Where a link out of the workspace points is nobody's business.
            match target.to_bytes().starts_with(b"/") {
                true => format!("{label} -> (an absolute path)"),
                false => format!("{label} -> {}", shown(OsStr::from_bytes(target.to_bytes()))),
            }
        }
        _ => format!("{label} (not a file)"),
    };
    Some((line, false))
}
