//! A JSON reader for what models write: it forgives punctuation and never makes up or closes a value.
//!
//! On valid JSON it reads what any reader reads. Beyond that it takes: missing and trailing commas, other quotation
//! marks, bare keys, Python's words, comments, raw control characters in strings, unknown escapes, full-width marks, and
//! brackets that are missing right before an explicit end marker. What is cut off stays cut off.
//! One pass, no recursion.

mod json;
mod string;
#[cfg(test)]
mod tests;

pub(super) use json::{Json, quoted};

use self::string::is_quote;
use super::effort::looked;
use super::marker::{self, mark};

/// The deepest nesting that is read.
const DEPTH: usize = 128;
/// The longest comment, in bytes: what is looked through at each quotation mark has to be bounded.
const COMMENT: usize = 400;

/// A value that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) json: Json,
    /// Where the text goes on.
    pub(super) end: usize,
    /// Whether a bracket was missing: good only before an explicit end marker.
    pub(super) implied: bool,
}

/// Why there is no value.
#[derive(Debug)]
pub(super) struct Broken {
    /// Where reading stopped.
    pub(super) at: usize,
    /// Whether the text ended inside the value.
    pub(super) cut: bool,
    /// What was expected.
    pub(super) why: &'static str,
    /// What was read before, to tell what was meant; never to be run.
    pub(super) partial: Option<Json>,
}

/// How strings and the end of the text are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A quotation mark that no structural mark follows is content; the end of the text cuts.
    Loose,
    /// The same, and the end of the text is an explicit end marker, as that of a closed fence.
    Fenced,
    /// The first quotation mark ends a string, as in Python.
    Python,
}

/// Reads the value at `at`.
///
/// # Errors
///
/// Returns where and why reading stopped.
pub(super) fn read(text: &str, at: usize, style: Style) -> Result<Read, Broken> {
    Reader {
        text,
        at,
        style,
        stack: Vec::new(),
        implied: false,
    }
    .value()
}

struct Frame {
    object: bool,
    entries: Vec<(String, Json)>,
    /// The key whose value is being read.
    key: Option<String>,
}

impl Frame {
    fn add(&mut self, value: Json) {
        self.entries
            .push((self.key.take().unwrap_or_default(), value));
    }

    fn close(self) -> Json {
        if self.object {
            Json::Object(self.entries)
        } else {
            Json::Array(self.entries.into_iter().map(|(_, value)| value).collect())
        }
    }
}

enum Next {
    /// A value must come.
    Value,
    /// The container was just opened.
    First,
    /// After a comma.
    Member,
    /// After a member.
    After,
}

type Fault = (bool, &'static str);
const CUT: Fault = (true, "it ends before the value does");

struct Reader<'a> {
    text: &'a str,
    at: usize,
    style: Style,
    stack: Vec<Frame>,
    implied: bool,
}

impl Reader<'_> {
    fn value(mut self) -> Result<Read, Broken> {
        match self.run() {
            Ok(json) => Ok(Read {
                json,
                end: self.at,
                implied: self.implied,
            }),
            Err((cut, why)) => {
                let mut partial = None;
                while let Some(mut frame) = self.stack.pop() {
                    if let Some(value) = partial.take() {
                        frame.add(value);
                    } else if let Some(key) = frame.key.take() {
                        // The key alone still tells that an argument was meant.
                        frame.entries.push((key, Json::Literal("null".to_owned())));
                    }
                    partial = Some(frame.close());
                }
                Err(Broken {
                    at: self.at,
                    cut,
                    why,
                    partial,
                })
            }
        }
    }

    fn run(&mut self) -> Result<Json, Fault> {
        let mut next = Next::Value;
        loop {
            let spaced = self.space();
            let Some(c) = self.peek().map(narrow) else {
                if self.style == Style::Fenced && matches!(next, Next::After) {
                    return Ok(self.close_all());
                }
                return Err(CUT);
            };
            if let (Next::First | Next::Member | Next::After, '}' | ']') = (&next, c) {
                let fits = self
                    .stack
                    .last()
                    .is_some_and(|frame| frame.object == (c == '}'));
                if !fits && !matches!(next, Next::After) {
                    return Err(self.bad("expected another value before the closing bracket"));
                }
                self.step();
                if let Some(json) = self.close(c == '}') {
                    return Ok(json);
                }
                next = Next::After;
                continue;
            }
            let in_object = self.stack.last().is_some_and(|frame| frame.object);
            match next {
                Next::After => match c {
                    ',' => {
                        self.step();
                        next = Next::Member;
                    }
                    _ if self.at_end_mark() => return Ok(self.close_all()),
                    _ if spaced && in_object && is_quote(c) => next = Next::Member,
                    '{' if !in_object => next = Next::Member,
                    _ => return Err(self.bad("expected `,` or a closing bracket")),
                },
                Next::First | Next::Member if in_object => {
                    let key = self.key(c)?;
                    self.space();
                    match self.peek().map(narrow) {
                        Some(':') => self.step(),
                        Some(_) => return Err(self.bad("expected `:` after a key")),
                        None => return Err(CUT),
                    }
                    if let Some(frame) = self.stack.last_mut() {
                        frame.key = Some(key);
                    }
                    next = Next::Value;
                }
                Next::Value | Next::First | Next::Member => {
                    if c == '{' || c == '[' {
                        if self.stack.len() == DEPTH {
                            return Err((false, "it is nested too deeply"));
                        }
                        self.step();
                        self.stack.push(Frame {
                            object: c == '{',
                            entries: Vec::new(),
                            key: None,
                        });
                        next = Next::First;
                        continue;
                    }
                    let value = if is_quote(c) {
                        let (text, inner) = self.string(c, false)?;
                        if inner % 2 == 1 && !in_object {
                            return Err((
                                false,
                                "quotation marks inside a string must be escaped as `\\\"`",
                            ));
                        }
                        Json::Text(text)
                    } else {
                        self.literal()?
                    };
                    match self.stack.last_mut() {
                        Some(frame) => frame.add(value),
                        None => return Ok(value),
                    }
                    next = Next::After;
                }
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn step(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// A fault here, or a cut when nothing but the start of an end marker is left.
    fn bad(&self, why: &'static str) -> Fault {
        let rest = self.rest();
        let started = marker::is_started(rest) || rest == "\\";
        (started, if started { CUT.1 } else { why })
    }

    /// Closes the innermost container that `}` or `]` fits; returns the value when it was the outermost.
    fn close(&mut self, object: bool) -> Option<Json> {
        if !self.stack.iter().any(|frame| frame.object == object) {
            // A surplus bracket.
            return None;
        }
        loop {
            let frame = self.stack.pop()?;
            let fits = frame.object == object;
            self.implied |= !fits;
            let value = frame.close();
            match self.stack.last_mut() {
                Some(parent) => parent.add(value),
                None => return Some(value),
            }
            if fits {
                return None;
            }
        }
    }

    fn close_all(&mut self) -> Json {
        self.implied = true;
        let mut json = Json::Object(Vec::new());
        while let Some(frame) = self.stack.pop() {
            json = frame.close();
            if let Some(parent) = self.stack.last_mut() {
                parent.add(json);
                json = Json::Object(Vec::new());
            } else {
                break;
            }
        }
        json
    }

    fn at_end_mark(&self) -> bool {
        self.rest().starts_with("```")
            || mark(self.text, self.at).is_some_and(|mark| mark.ends_call())
    }

    /// Skips blanks, comments and line ends that were escaped by mistake; tells whether there were any.
    fn space(&mut self) -> bool {
        let from = self.at;
        self.at = skip(self.text, self.at);
        self.at > from
    }

    fn key(&mut self, c: char) -> Result<String, Fault> {
        if is_quote(c) {
            let start = self.at + c.len_utf8();
            let (key, inner) = self.string(c, true)?;
            if inner == 0 {
                return Ok(key);
            }
            // `"id: 3, "tags": …`: the mark behind the key is missing.
            let length = word(&self.text[start..]);
            if length == 0 || !self.text[start + length..].starts_with(':') {
                return Err((false, "a quotation mark is missing around a key"));
            }
            self.at = start;
        }
        let length = word(self.rest());
        if length == 0 {
            return Err(self.bad("expected a key in quotation marks"));
        }
        let key = self.rest()[..length].to_owned();
        self.at += length;
        Ok(key)
    }

    fn literal(&mut self) -> Result<Json, Fault> {
        let length = self
            .rest()
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_+-.".contains(c)))
            .unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        let text = match word {
            "true" | "True" => "true",
            "false" | "False" => "false",
            "null" | "None" => "null",
            number if is_number(number) => number,
            _ if length > 0 && length == self.rest().len() => return Err(CUT),
            _ => return Err(self.bad("expected a JSON value")),
        }
        .to_owned();
        self.at += length;
        Ok(Json::Literal(text))
    }
}

/// Returns where the text goes on behind blanks, comments, and escaped line ends.
pub(super) fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start_matches(is_blank).len();
        looked(blank + 1);
        if blank > 0 {
            at += blank;
            continue;
        }
        let near = |rest: &str, pattern: &str| {
            let mut end = rest.len().min(COMMENT);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            looked(end);
            rest[..end].find(pattern)
        };
        let comment = if let Some(inner) = rest.strip_prefix("/*") {
            near(inner, "*/").map(|length| length + 4)
        } else if rest.starts_with("//") || rest.starts_with('#') {
            near(rest, "\n")
        } else {
            ["\\n", "\\r", "\\t"]
                .iter()
                .any(|end| rest.starts_with(end))
                .then_some(2)
        };
        match comment {
            Some(length) => at += length,
            None => return at,
        }
    }
}

/// Tells whether a character is a blank between JSON tokens, as models write them.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{feff}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}'
        )
}

/// Tells whether there is nothing but blanks.
pub(super) fn is_all_blank(text: &str) -> bool {
    let end = text.find(|c| !is_blank(c));
    looked(end.unwrap_or(text.len()));
    end.is_none()
}

/// Returns the ASCII form of a full-width structural mark.
fn narrow(c: char) -> char {
    match c {
        '｛' => '{',
        '｝' => '}',
        '［' => '[',
        '］' => ']',
        '，' => ',',
        '：' => ':',
        c => c,
    }
}

/// The length of the bare word at the start of `text`.
fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || "_-$.".contains(c)))
        .unwrap_or(text.len())
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && serde_json::from_str::<&serde_json::value::RawValue>(word).is_ok()
}
