//! What a model reads when its call was not run.
//!
//! Every problem at once, each at a JSON pointer with what was expected and what was found, then the parameters in one
//! line: enough to send the right call next. Values are clipped and escaped, and those of secret parameters left out,
//! when the problem is noted, so nothing later has to take care.

use super::Schema;
use super::json::{self, Json};

/// Problems after which no more are looked for: many more than are listed.
pub(super) const PROBLEMS: usize = 1_000;
/// Most problems listed; of more, only the number is told.
pub(crate) const LISTED: usize = 10;
/// Longest JSON pointer, in bytes.
const POINTER: usize = 1_000;
/// Longest value shown, in characters.
const SHOWN: usize = 80;

/// Everything that is wrong with a call's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// In document order, all of them up to 1,000; at an object, missing members come first.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer; empty for the arguments as a whole.
    pub pointer: String,
    /// What was expected and what was found.
    pub text: String,
}

impl Invalid {
    pub(super) fn one(text: String) -> Self {
        Self {
            problems: vec![Problem {
                pointer: String::new(),
                text,
            }],
        }
    }

    /// Writes the report a model reads: a headline, at most ten problems, the parameters, what to do next.
    pub fn report(&self, tool: &str, schema: &Schema) -> String {
        let count = self.problems.len();
        let mut out = String::with_capacity(256 + 64 * count.min(LISTED));
        out.push_str("Tool call to `");
        out.push_str(tool);
        out.push_str("` was not run: ");
        out.push_str(&counted(count, "problem"));
        out.push_str(".\n");
        for problem in self.problems.iter().take(LISTED) {
            out.push_str("- ");
            if problem.pointer.is_empty() {
                out.push_str("arguments");
            } else {
                clip(&problem.pointer, &mut out);
            }
            out.push_str(": ");
            out.push_str(&problem.text);
            out.push('\n');
        }
        if count > LISTED {
            out.push_str("- and ");
            out.push_str(&counted(count - LISTED, "more problem"));
            out.push('\n');
        }
        out.push_str("Parameters: ");
        out.push_str(match schema.line() {
            "" => "none",
            line => line,
        });
        out.push_str("\nSend the corrected call.");
        out
    }
}

/// Returns `1 problem`, `2 problems`.
pub(super) fn counted(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}

/// Where in the arguments a check stands; written out only when there is something to tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
    /// Whether values from here on are secret.
    pub(super) secret: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// Returns the path of the arguments as a whole.
    pub(super) fn root(secret: bool) -> Self {
        Self {
            parent: None,
            step: Step::Index(0),
            secret,
        }
    }

    pub(super) fn key(&'p self, key: &'p str, secret: bool) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
            secret: self.secret || secret,
        }
    }

    pub(super) fn index(&'p self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
            secret: self.secret,
        }
    }

    /// Returns the same path, secret from here on when `secret` says so.
    pub(super) fn hidden(&self, secret: bool) -> Self {
        Self {
            secret: self.secret || secret,
            ..*self
        }
    }

    /// Returns the JSON pointer, cut with an ellipsis when it is absurdly long: a thousand problems may share the key.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.write(&mut pointer);
        cut(pointer)
    }

    /// Returns the JSON pointer as a report shows it.
    pub(super) fn shown(&self) -> String {
        let mut out = String::new();
        clip(&self.pointer(), &mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let Some(parent) = self.parent else { return };
        parent.write(out);
        out.push('/');
        match self.step {
            Step::Index(index) => out.push_str(&index.to_string()),
            Step::Key(key) => write_key(key, out),
        }
    }
}

/// Returns the JSON pointer of these steps, cut as a [`Path`]'s is.
pub(super) fn pointer<'s>(steps: impl Iterator<Item = &'s str>) -> String {
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        write_key(step, &mut pointer);
    }
    cut(pointer)
}

fn write_key(key: &str, out: &mut String) {
    for letter in key.chars().take(POINTER) {
        match letter {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            _ => out.push(letter),
        }
    }
}

fn cut(mut pointer: String) -> String {
    if pointer.len() > POINTER {
        let end = (0..=POINTER).rev().find(|at| pointer.is_char_boundary(*at));
        pointer.truncate(end.unwrap_or(0));
        pointer.push('…');
    }
    pointer
}

/// Returns a value with its kind, as a report shows it: `string "maybe"`, `4.5`, `null`.
pub(super) fn shown(value: &Json<'_>, secret: bool) -> String {
    let kind = kind(value);
    if secret {
        return format!("{kind} (secret)");
    }
    let mut out = String::new();
    match value {
        Json::Null => {}
        Json::Bool(_) | Json::Number(_) => return brief(value),
        _ => {
            out.push_str(kind);
            out.push(' ');
        }
    }
    out.push_str(&brief(value));
    out
}

/// Returns the clipped JSON text of a value.
pub(super) fn brief(value: &Json<'_>) -> String {
    let mut text = String::new();
    start(value, &mut text);
    let mut out = String::with_capacity(text.len());
    clip(&text, &mut out);
    out
}

/// Writes at least as much of the JSON text as is shown, so that a long value costs no more than a short one.
fn start(value: &Json<'_>, out: &mut String) {
    const ENOUGH: usize = SHOWN * 4;
    match value {
        Json::String(text) => {
            let end = text.char_indices().nth(SHOWN + 1).map(|(at, _)| at);
            json::write_string(&text[..end.unwrap_or(text.len())], out);
        }
        Json::Number(text) => out.push_str(text.get(..ENOUGH).unwrap_or(text)),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if out.len() > ENOUGH {
                    return;
                }
                if at > 0 {
                    out.push(',');
                }
                start(item, out);
            }
            out.push(']');
        }
        Json::Object(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                if out.len() > ENOUGH {
                    return;
                }
                if at > 0 {
                    out.push(',');
                }
                let end = key.char_indices().nth(SHOWN + 1).map(|(at, _)| at);
                json::write_string(&key[..end.unwrap_or(key.len())], out);
                out.push(':');
                start(value, out);
            }
            out.push('}');
        }
        Json::Null | Json::Bool(_) => value.write(out),
    }
}

pub(super) fn kind(value: &Json<'_>) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// Appends at most [`SHOWN`] characters of `text`, as [`clip_to`] does.
pub(super) fn clip(text: &str, out: &mut String) {
    clip_to(text, SHOWN, out);
}

/// Appends at most `most` characters of `text`; those that would not show or would turn a line around are escaped.
pub(crate) fn clip_to(text: &str, most: usize, out: &mut String) {
    let plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if text.len() <= most && text.bytes().all(plain) {
        out.push_str(text);
        return;
    }
    let mut letters = text.chars();
    for letter in letters.by_ref().take(most) {
        let unseen = matches!(
            letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        );
        if letter.is_control() || unseen {
            out.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            out.push(letter);
        }
    }
    if letters.next().is_some() {
        out.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_tilde_and_slash() {
        let root = Path::root(false);
        let key = root.key("a/b~c", false);
        assert_eq!(key.index(3).pointer(), "/a~1b~0c/3");
        assert_eq!(root.pointer(), "");
    }

    #[test]
    fn long_values_are_clipped_between_characters() {
        let long = Json::String("ä".repeat(10_000).into());
        let text = brief(&long);
        assert_eq!(text.chars().count(), SHOWN + 1);
        assert!(text.starts_with("\"ää") && text.ends_with("ä…"));
        let list = Json::Array(vec![Json::Number("1".into()); 100_000]);
        assert!(brief(&list).len() < 200);
    }

    #[test]
    fn control_and_direction_characters_are_escaped() {
        let value = Json::String("a\u{1b}[31m\u{202e}\u{85}\n".into());
        assert_eq!(
            shown(&value, false),
            r#"string "a\u001b[31m\u202e\u0085\n""#
        );
    }

    #[test]
    fn secret_values_show_their_kind_alone() {
        assert_eq!(
            shown(&Json::String("hunter2".into()), true),
            "string (secret)"
        );
    }
}
