//! `read_file` and `read_many`.

use std::io::{BufReader, Read};

use claw::tool;
use claw::tool::{ToolContext, ToolError};

use super::MAX_FILE;
use super::page::{Page, Wanted, page};
use super::text::{Encoding, Text, binary, is_binary};
use crate::beneath::{Root, shown};
use crate::walk::{Pattern, Walk, is_pattern};
use crate::{PAGE, cancelled};

/// The most files of one `read_many`.
const MAX_FILES: usize = 50;
/// The fewest characters a file of `read_many` is shown with, however many files there are.
const LEAST: usize = 200;

/// Reads a text file, or some of its lines. The text is shown as it is, without line numbers; a long file comes in pages, and the
/// last line then says how to go on.
#[tool(effect = read, group = "fs", reads(path))]
pub fn read_file(
    ctx: &ToolContext,
    /// Path relative to the workspace.
    path: &str,
    /// The first line to read, from 1.
    #[arg(range = 1.., default = 1)]
    offset: u64,
    /// How many lines to read; without it, as many as fit.
    #[arg(range = 1..)]
    limit: Option<u64>,
) -> Result<String, ToolError> {
    let wanted = Wanted {
        offset: offset.max(1),
        limit: limit.unwrap_or(u64::MAX),
        chars: PAGE,
    };
    show(ctx, Root::of(ctx)?, path, wanted)
}

/// Reads several text files in one call, up to 50. Long ones are shown from the beginning; read their rest with `read_file`.
#[tool(effect = read, group = "fs", reads(paths), tags("large-models"))]
pub fn read_many(
    ctx: &ToolContext,
    /// Paths relative to the workspace, or patterns such as `src/**/*.rs`.
    #[arg(len = 1..=50)]
    paths: Vec<&str>,
) -> Result<String, ToolError> {
    let root = Root::of(ctx)?;
    let mut files: Vec<Result<String, (String, ToolError)>> = Vec::new();
    let mut add = |file: Result<String, (String, ToolError)>| {
        if !files.contains(&file) {
            files.push(file);
        }
    };
    for path in paths {
        if !is_pattern(path) || root.file(path).is_ok() {
            add(Ok(path.to_owned()));
            continue;
        }
        match expand(ctx, root, path) {
            Ok(found) => found.into_iter().map(Ok).for_each(&mut add),
            Err(err) => add(Err((path.to_owned(), err))),
        }
    }
    if files.is_empty() {
        return Err(ToolError::new("`paths` is empty; give at least one path"));
    }
    let is_cut = files.len() > MAX_FILES;
    files.truncate(MAX_FILES);
    let mut out = String::new();
    let (mut left, mut count) = (PAGE, files.len());
    for file in files {
        if ctx.cancellation().is_cancelled() {
            return Err(cancelled());
        }
        // What a short file leaves over goes to those after it.
        let wanted = Wanted {
            offset: 1,
            limit: u64::MAX,
            chars: (left / count).max(LEAST),
        };
        let (path, text) = match file {
            Ok(path) => {
                let text = show(ctx, root, &path, wanted);
                (path, text)
            }
            Err((path, err)) => (path, Err(err)),
        };
        // A name with a line end in it must not look like more than a name.
        let text = text.unwrap_or_else(|err| format!("[{}]", shown(err.to_string())));
        left = left.saturating_sub(text.chars().count());
        count -= 1;
        out.push_str(&format!("==> {} <==\n{text}", shown(path)));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    if is_cut {
        out.push_str(&format!(
            "[there are more files; ask for at most {MAX_FILES} at a time]\n"
        ));
    }
    Ok(out)
}

fn expand(ctx: &ToolContext, root: Root<'_>, pattern: &str) -> Result<Vec<String>, ToolError> {
    let matcher = Pattern::new(pattern)?;
    let mut found = Vec::new();
    for path in Walk::new(ctx, root, ".", false)? {
        let path = path?;
        // One more than is shown, so that it is told that there are more.
        if found.len() <= MAX_FILES && matcher.matches(&path) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    match found.is_empty() {
        true => Err(ToolError::new(format!("no file matches `{pattern}`"))),
        false => Ok(found),
    }
}

fn show(
    ctx: &ToolContext,
    root: Root<'_>,
    path: &str,
    wanted: Wanted,
) -> Result<String, ToolError> {
    let failed = |err: std::io::Error| ToolError::new(format!("`{path}` could not be read: {err}"));
    let stop = || ctx.cancellation().is_cancelled();
    let mut file = root.file(path)?;
    let mut mark = Vec::new();
    (&mut file).take(4).read_to_end(&mut mark).map_err(failed)?;
    let page = match Encoding::utf16(&mark) {
        None => page(BufReader::new(mark.chain(file)), wanted, stop),
        Some(_) => {
            let mut bytes = mark;
            file.take(MAX_FILE)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            if bytes.len() as u64 > MAX_FILE {
                return Err(ToolError::new(format!(
                    "`{path}` is UTF-16 and larger than {MAX_FILE} bytes; convert it with a program through `exec`"
                )));
            }
            let text = Text::decode(bytes).ok_or_else(|| binary(path))?;
            page(text.text.as_bytes(), wanted, stop)
        }
    };
    let page = page.map_err(failed)?.ok_or_else(cancelled)?;
    describe(path, page, wanted)
}

fn describe(path: &str, page: Page, wanted: Wanted) -> Result<String, ToolError> {
    let first = wanted.offset;
    if is_binary(&page.bytes) {
        return Err(binary(path));
    }
    if page.last == 0 {
        return match page.total {
            Some(0) => Ok("[the file is empty]".to_owned()),
            Some(total) if first > total => Err(ToolError::new(format!(
                "`{path}` has {total} lines; `offset` {first} is behind its end"
            ))),
            _ => Err(ToolError::new("`limit` is 0; ask for at least one line")),
        };
    }
    let mut notes = Vec::new();
    if first > 1 || page.is_cut || page.total != Some(page.last) {
        let of = match page.total {
            Some(total) => format!(" of {total}"),
            None => String::new(),
        };
        let mut note = format!("lines {first}-{}{of}", page.last);
        if page.is_cut {
            note.push_str(&format!(
                "; line {} is longer than this page, its end is missing",
                page.last
            ));
        }
        if page.total.is_none_or(|total| page.last < total) {
            note.push_str(&format!("; go on with offset {}", page.last + 1));
        }
        notes.push(note);
    }
    let mut text = match String::from_utf8(page.bytes) {
        Ok(text) => text,
        Err(err) => {
            notes.push(
                "not UTF-8: bytes that are not are shown as \u{fffd}; only edit the ASCII parts"
                    .to_owned(),
            );
            String::from_utf8_lossy(err.as_bytes()).into_owned()
        }
    };
    for note in notes {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]\n"));
    }
    Ok(text)
}
