//! Finds files: a walk that honours ignore files and never follows a link, and patterns over paths.
//!
//! The walk goes by descriptor, as everything else does, and reads ignore files itself: a walker that opens `.gitignore` by its
//! name would hang on one that is a pipe or a link to a device, and would honour those of every folder above the workspace.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use claw::tool::{ToolContext, ToolError};
use globset::{GlobBuilder, GlobMatcher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::beneath::Root;
use crate::cancelled;

/// Bytes of ignore files that hold at a time: a rule takes hundreds of times its length in memory, and a workspace may be
/// full of long ones.
const MAX_RULES: usize = 1 << 17;
/// Bytes a pattern may have; the matcher takes hundreds of times as many.
const MAX_PATTERN: usize = 4_096;

/// The files beneath a folder in order of their paths, each relative to the workspace.
pub(crate) struct Walk<'a> {
    ctx: &'a ToolContext,
    root: Root<'a>,
    hidden: bool,
    /// Rules of the folders from the workspace down to the current one.
    rules: Vec<Rules>,
    levels: Vec<Level>,
}

/// What the ignore files of one folder say.
struct Rules {
    matcher: Gitignore,
    /// Bytes they were read from.
    size: usize,
}

/// What is left to visit of one folder, in order.
struct Level {
    path: PathBuf,
    entries: std::vec::IntoIter<(OsString, FileType)>,
}

impl<'a> Walk<'a> {
    /// Starts at `base`, a folder or one file.
    ///
    /// What `.gitignore` and `.ignore` files of the workspace name is left out, `.git` always, other hidden files unless
    /// `hidden`; `base` itself is walked even if they name it.
    pub(crate) fn new(
        ctx: &'a ToolContext,
        root: Root<'a>,
        base: &str,
        hidden: bool,
    ) -> Result<Self, ToolError> {
        let relative = match root.relative(base)? {
            path if path == Path::new(".") => PathBuf::new(),
            path => path,
        };
        let mut walk = Self {
            ctx,
            root,
            hidden,
            rules: Vec::new(),
            levels: Vec::new(),
        };
        if root.is_folder(base)? {
            for above in relative
                .ancestors()
                .skip(1)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
            {
                walk.obey(above);
            }
            walk.enter(relative);
        } else {
            let name = relative.file_name().unwrap_or_default().to_owned();
            walk.levels.push(Level {
                path: relative.parent().unwrap_or(Path::new("")).to_path_buf(),
                entries: vec![(name, FileType::RegularFile)].into_iter(),
            });
            walk.hidden = true;
        }
        Ok(walk)
    }

    /// Goes on with a folder. One that cannot be read (permissions, gone meanwhile) is as good as empty.
    fn enter(&mut self, path: PathBuf) {
        let Some(folder) = self.root.found_folder(&path) else {
            return;
        };
        let Ok(entries) = Dir::read_from(&folder) else {
            return;
        };
        let mut entries: Vec<_> = entries
            .filter_map(Result::ok)
            .filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".." | b".git"))
            .filter(|entry| self.hidden || !entry.file_name().to_bytes().starts_with(b"."))
            .filter_map(|entry| {
                let kind = match entry.file_type() {
                    FileType::Unknown => {
                        let stat = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                        FileType::from_raw_mode(stat.ok()?.st_mode)
                    }
                    kind => kind,
                };
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                Some((name.to_owned(), kind))
            })
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        self.obey(&path);
        self.levels.push(Level {
            path,
            entries: entries.into_iter(),
        });
    }

    /// Adds the rules of a folder, as far as there is room for them.
    fn obey(&mut self, folder: &Path) {
        let taken: usize = self.rules.iter().map(|rules| rules.size).sum();
        let rules = rules(self.root, folder, MAX_RULES.saturating_sub(taken));
        self.rules.push(rules);
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        self.rules
            .iter()
            .rev()
            .map(|rules| rules.matcher.matched(path, is_folder))
            .find(|found| !found.is_none())
            .is_some_and(|found| matches!(found, Match::Ignore(_)))
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<PathBuf, ToolError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.ctx.cancellation().is_cancelled() {
                self.levels.clear();
                return Some(Err(cancelled()));
            }
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.entries.next() else {
                self.levels.pop();
                self.rules.pop();
                continue;
            };
            let path = level.path.join(name);
            if self.is_ignored(&path, kind == FileType::Directory) {
                continue;
            }
            match kind {
                FileType::Directory => self.enter(path),
                FileType::RegularFile | FileType::Symlink => return Some(Ok(path)),
                _ => {}
            }
        }
    }
}

/// The first `room` bytes of the ignore rules that a folder holds; lines that are no rules are passed over.
fn rules(root: Root<'_>, folder: &Path, room: usize) -> Rules {
    let mut builder = GitignoreBuilder::new(folder);
    let mut size = 0;
    // The last rule that matches wins: `.ignore` is for tools like this one.
    for name in [".gitignore", ".ignore"] {
        let Some(file) = root.found(&folder.join(name)) else {
            continue;
        };
        let room = room - size;
        let mut bytes = Vec::new();
        if file.take(room as u64 + 1).read_to_end(&mut bytes).is_err() {
            continue;
        }
        if bytes.len() > room {
            // Half a rule would be another rule.
            let whole = bytes[..room].iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(whole.map_or(0, |end| end + 1));
        }
        size += bytes.len();
        for line in String::from_utf8_lossy(&bytes).lines() {
            let _ = builder.add_line(None, line);
        }
    }
    Rules {
        matcher: builder.build().unwrap_or_else(|_| Gitignore::empty()),
        size,
    }
}

/// A pattern over paths: `*` and `?` stay within a name, `**` crosses folders, `{a,b}` and `[a-z]` choose.
pub(crate) struct Pattern {
    matcher: GlobMatcher,
}

impl Pattern {
    /// Reads a pattern over whole paths.
    pub(crate) fn new(pattern: &str) -> Result<Self, ToolError> {
        if pattern.len() > MAX_PATTERN {
            return Err(ToolError::new(format!(
                "a pattern of {} bytes is too long; give one of at most {MAX_PATTERN}, for example `src/**/*.rs`",
                pattern.len()
            )));
        }
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(ToolError::new(format!(
                "the pattern `{pattern}` may not begin with `/` or hold `..`; write it relative to the folder, for example \
                 `src/**/*.rs`"
            )));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|err| {
                ToolError::new(format!(
                    "`{pattern}` is not a pattern: {}; a right one is `src/**/*.rs`",
                    err.kind()
                ))
            })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
        })
    }

    /// Reads a pattern that, without a `/`, is over file names in any folder.
    #[cfg(feature = "search")]
    pub(crate) fn of_names(pattern: &str) -> Result<Self, ToolError> {
        match pattern.contains('/') {
            true => Self::new(pattern),
            false => Self::new(&format!("**/{pattern}")),
        }
    }

    /// Tells whether a path matches.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }
}

/// Tells whether a text is meant as a pattern.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stays_within_a_name_and_two_cross_folders() {
        let matches = |pattern, path: &str| Pattern::new(pattern).unwrap().matches(Path::new(path));
        assert!(matches("*.rs", "a.rs") && !matches("*.rs", "a/b.rs"));
        assert!(matches("**/*.rs", "a.rs") && matches("**/*.rs", "a/b/c.rs"));
        assert!(matches("./a/*.{c,h}", "a/b.h") && !matches("a/*.{c,h}", "a/b.rs"));
    }

    proptest! {
        #[test]
        fn any_pattern_is_read_or_refused(pattern in "[a*?{}\\[\\],!\\\\/.-]{0,30}", path in "[a/.]{0,10}") {
            if let Ok(pattern) = Pattern::new(&pattern) {
                pattern.matches(Path::new(&path));
            }
        }
    }
}
