//! `edit_file`.

use std::collections::HashSet;
use std::io::Read;

use claw::tool;
use claw::tool::{ToolContext, ToolError};

use super::MAX_FILE;
use super::store::replace;
use super::text::{Encoding, Text, binary};
use crate::beneath::Root;

/// Lines that are compared to find the nearest one.
const MAX_COMPARED: usize = 20_000;
/// Characters of a line that are compared and shown.
const MAX_LINE: usize = 200;

/// Replaces text in a file. `old` must be exactly what the file holds, indentation included, and occur once: add neighbouring
/// lines until it does, or set `replace_all`.
#[tool(effect = once, group = "fs", writes(path))]
pub fn edit_file(
    ctx: &ToolContext,
    /// Path relative to the workspace.
    path: &str,
    /// The text to replace, exactly as `read_file` shows it.
    old: &str,
    /// The text to put in its place; empty to delete.
    new: &str,
    /// Replace every occurrence.
    #[arg(default = false)]
    replace_all: bool,
) -> Result<String, ToolError> {
    let place = Root::of(ctx)?.place(path, false)?;
    let file = place.open()?;
    let existing = place.existing()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|err| ToolError::new(format!("`{path}` could not be read: {err}")))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ToolError::new(format!(
            "`{path}` is larger than {MAX_FILE} bytes; edit it with a program through `exec`"
        )));
    }
    let Text { text, encoding } = Text::decode(bytes).ok_or_else(|| binary(path))?;
    if encoding == Encoding::Other && !(old.is_ascii() && new.is_ascii()) {
        return Err(ToolError::new(format!(
            "`{path}` is not UTF-8; there `old` and `new` may only hold ASCII"
        )));
    }
    let edited =
        edit(&text, old, new, replace_all).map_err(|fault| fault.describe(path, &text, old))?;
    replace(
        &place,
        existing.as_ref(),
        &Text::encode(&edited.text, encoding),
    )?;
    let places = match edited.count {
        1 => String::new(),
        count => format!(" in {count} places"),
    };
    Ok(format!("edited `{path}`{places}, line {}", edited.line))
}

#[derive(Debug, PartialEq, Eq)]
struct Edited {
    text: String,
    count: usize,
    /// The line of the first change.
    line: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    NothingToFind,
    NothingToChange,
    NotFound,
    Many(usize),
    TooLarge(usize),
}

/// Replaces `old` by `new`; line endings in them follow those of the text.
fn edit(text: &str, old: &str, new: &str, replace_all: bool) -> Result<Edited, Fault> {
    if old.is_empty() {
        return Err(Fault::NothingToFind);
    }
    if old == new {
        return Err(Fault::NothingToChange);
    }
    let forms = [old.to_owned(), with_crlf(old), with_lf(old)];
    let form = forms
        .iter()
        .position(|form| text.contains(form.as_str()))
        .ok_or(Fault::NotFound)?;
    let old = forms[form].as_str();
    let new = match form {
        // What the model wrote is found as it is. It reads `\r\n` as a line end and writes `\n`.
        0 if !new.contains('\r') && !old.contains('\n') && uses_crlf(text) => with_crlf(new),
        0 => new.to_owned(),
        1 => with_crlf(new),
        _ => with_lf(new),
    };
    let first = text.find(old).ok_or(Fault::NotFound)?;
    let count = match replace_all {
        true => text.matches(old).count(),
        false => 1 + others(text, old, first),
    };
    if count > 1 && !replace_all {
        return Err(Fault::Many(count));
    }
    let whole_end = with_crlf(&new);
    let size = (text.len() - count * old.len())
        .saturating_add(count.saturating_mul(new.len().max(whole_end.len())));
    if size > text.len() && size as u64 > MAX_FILE {
        return Err(Fault::TooLarge(size));
    }
    let mut edited = String::with_capacity(size);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(old) {
        match before.strip_suffix('\r') {
            // The `\n` that `old` begins with is half of a line end; the other half goes with it.
            Some(before) if old.starts_with('\n') => {
                edited.push_str(before);
                edited.push_str(&whole_end);
            }
            _ => {
                edited.push_str(before);
                edited.push_str(&new);
            }
        }
        rest = after;
    }
    edited.push_str(rest);
    Ok(Edited {
        text: edited,
        count,
        line: 1 + text[..first].matches('\n').count(),
    })
}

/// Counts further occurrences; one that overlaps the first makes it just as ambiguous.
fn others(text: &str, old: &str, first: usize) -> usize {
    let step = text[first..].chars().next().map_or(1, char::len_utf8);
    text[first + step..].matches(old).count()
}

fn uses_crlf(text: &str) -> bool {
    2 * text.matches("\r\n").count() > text.matches('\n').count()
}

fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn with_crlf(text: &str) -> String {
    with_lf(text).replace('\n', "\r\n")
}

impl Fault {
    fn describe(self, path: &str, text: &str, old: &str) -> ToolError {
        ToolError::new(match self {
            Self::NothingToFind => {
                "`old` is empty; give the text to replace, or use `write_file` for a whole file"
                    .to_owned()
            }
            Self::NothingToChange => "`old` and `new` are the same; nothing was changed".to_owned(),
            Self::NotFound => format!("`old` does not occur in `{path}`; {}", hint(text, old)),
            Self::TooLarge(size) => format!(
                "`{path}` would grow to {size} bytes; nothing was changed, as files of more than {MAX_FILE} are not edited"
            ),
            Self::Many(count) => format!(
                "`old` occurs {count} times in `{path}`; add neighbouring lines until it is unique, or set `replace_all`"
            ),
        })
    }
}

/// Says where in the text the model may have meant.
fn hint(text: &str, old: &str) -> String {
    let wanted = old.lines().find(|line| !line.trim().is_empty());
    let wanted = wanted.unwrap_or_default().trim();
    let grams = bigrams(wanted);
    let nearest = text
        .lines()
        .take(MAX_COMPARED)
        .enumerate()
        .map(|(at, line)| (likeness(&grams, wanted, line), at + 1, line))
        // The first of equals.
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match nearest {
        Some((likeness, at, line)) if likeness > 0.4 => {
            let line: String = line.chars().take(MAX_LINE).collect();
            format!(
                "the nearest to its first line is line {at}: `{line}`; read the file there and copy it exactly"
            )
        }
        _ => "no line is like its first one; read the file again".to_owned(),
    }
}

/// Returns how alike two lines are, from 0 to 1: shared pairs of characters over all.
fn likeness(grams: &HashSet<(char, char)>, wanted: &str, line: &str) -> f64 {
    if wanted == line.trim() {
        return 1.0;
    }
    let other = bigrams(line);
    let shared = grams.intersection(&other).count();
    2.0 * shared as f64 / (grams.len() + other.len()).max(1) as f64 * 0.99
}

fn bigrams(line: &str) -> HashSet<(char, char)> {
    let line = line.trim();
    let chars = line.chars().take(MAX_LINE);
    chars.clone().zip(chars.skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edited(text: &str, old: &str, new: &str) -> String {
        edit(text, old, new, false).unwrap().text
    }

    #[test]
    fn line_endings_follow_the_file() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", "a\nb", "x\ny"), "x\r\ny\r\nc\r\n");
        assert_eq!(edited("a\r\nb\r\n", "b", "x\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(edited("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n");
        assert_eq!(edited("a\nb\r\nc\n", "b\r\nc", "x\r\ny"), "a\nx\r\ny\n");
    }

    #[test]
    fn a_line_end_is_never_cut_in_two() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", "\nb", ""), "a\r\nc\r\n");
        assert_eq!(edited("a\r\nb\r\n", "\nb", "\nx\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(edited("a\nb\r\n", "\nb", "\nx"), "a\nx\r\n");
        let all = |text, old, new| edit(text, old, new, true).unwrap().text;
        assert_eq!(all("a\r\nb\n", "\n", "\n\n"), "a\r\n\r\nb\n\n");
        assert_eq!(all("\n\r\n\r", "\n\r", ""), "");
    }

    #[test]
    fn an_edit_that_grows_without_bound_is_refused() {
        let text = "ab".repeat(1 << 20);
        let new = "b".repeat(1_000);
        assert_eq!(
            edit(&text, "a", &new, true),
            Err(Fault::TooLarge((1 << 20) * 1_001))
        );
        let large = "é".repeat(9 << 20);
        assert_eq!(edit(&large, "éé", "é", true).unwrap().count, 9 << 19);
    }

    #[test]
    fn a_missing_last_newline_stays_missing() {
        assert_eq!(edited("a\nb", "b", "c"), "a\nc");
    }

    #[test]
    fn overlapping_occurrences_are_ambiguous() {
        assert_eq!(edit("aaa", "aa", "b", false), Err(Fault::Many(2)));
        assert_eq!(edit("é é", "é", "b", false), Err(Fault::Many(2)));
    }

    #[test]
    fn the_hint_names_a_line_that_differs_in_indentation() {
        let hint = hint("fn a() {}\n    let x = 1;\n", "  let x = 1;\n  x");
        assert!(hint.contains("line 2: `    let x = 1;`"), "{hint}");
        assert_eq!(
            super::hint("abc\n", "zzzz"),
            "no line is like its first one; read the file again"
        );
    }

    proptest! {
        #[test]
        fn bytes_outside_the_span_are_unchanged(
            before in "[a-zé\r\n]{0,30}", old in "[A-Z]{1,5}(\n[A-Z]{1,5})?", after in "[a-zé\r\n]{0,30}",
            new in "[a-z\n]{0,10}", crlf: bool,
        ) {
            let held = if crlf { with_crlf(&old) } else { old.clone() };
            let text = format!("{before}{held}{after}");
            let got = edit(&text, &old, &new, false).unwrap();
            prop_assert!(got.text.starts_with(&before));
            prop_assert!(got.text.ends_with(&after));
            let middle = &got.text[before.len()..got.text.len() - after.len()];
            prop_assert_eq!(with_lf(middle), new);
        }

        #[test]
        fn any_edit_is_an_edit_or_a_fault(text in "[ab\r\n]{0,20}", old in "[ab\r\n]{0,4}", new in "[ab\r\n]{0,4}", all: bool) {
            if let Ok(got) = edit(&text, &old, &new, all) {
                prop_assert!(got.count >= 1 && (all || got.count == 1));
            }
        }
    }
}
