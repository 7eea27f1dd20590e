//! A JSON reader for what models write: it forgives punctuation and never makes up or closes a value.
//!
//! On valid JSON it reads what any reader reads. Beyond that it takes: missing and trailing commas, other quotation
//! marks, bare keys, Python's words, comments, raw control characters in strings, unknown escapes, full-width marks, and
//! brackets that are missing right before an explicit end marker. What is cut off stays cut off.
//! One pass, no recursion.

use super::marker::{self, mark};

/// The deepest nesting that is read.
const DEPTH: usize = 128;
/// The longest comment, in bytes: what is looked through at each quotation mark has to be bounded.
const COMMENT: usize = 400;

/// A JSON value that keeps order, repeated keys and the digits of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Text(String),
    /// A number, `true`, `false` or `null`, as JSON text.
    Literal(String),
}

impl Json {
    /// Returns compact JSON text.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(key));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::Literal(text) => out.push_str(text),
        }
    }

    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Literal(_))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Literal(text) if text == "null")
    }
}

/// Returns `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

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
            let Some(c) = self.peek() else {
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
                self.at += 1;
                if let Some(json) = self.close(c == '}') {
                    return Ok(json);
                }
                next = Next::After;
                continue;
            }
            let in_object = self.stack.last().is_some_and(|frame| frame.object);
            match next {
                Next::After => match c {
                    ',' | '，' => {
                        self.at += c.len_utf8();
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
                    match self.peek() {
                        Some(c @ (':' | '：')) => self.at += c.len_utf8(),
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
                        self.at += 1;
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

    /// Reads a string; returns it with the number of unescaped quotation marks in it. A key ends at the first.
    fn string(&mut self, open: char, key: bool) -> Result<(String, usize), Fault> {
        self.at += open.len_utf8();
        let mut out = String::new();
        let mut inner = 0;
        loop {
            let run = self
                .rest()
                .find(|c: char| c == '\\' || closes(open, c))
                .unwrap_or(self.rest().len());
            out.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            let Some(c) = self.peek() else {
                return Err(CUT);
            };
            self.at += c.len_utf8();
            if c == '\\' {
                self.escape(open, &mut out)?;
            } else if self.style == Style::Python || self.ends_string() {
                return Ok((out, inner));
            } else {
                inner += 1;
                if key {
                    return Ok((out, inner));
                }
                out.push(c);
            }
        }
    }

    /// Tells whether what follows a quotation mark is structure, so that the mark ends its string.
    fn ends_string(&self) -> bool {
        let at = skip(self.text, self.at);
        match self.text[at..].chars().next() {
            None => true,
            Some(c) => {
                ",:}]，：".contains(c) || mark(self.text, at).is_some_and(|mark| mark.ends_call())
            }
        }
    }

    fn escape(&mut self, open: char, out: &mut String) -> Result<(), Fault> {
        let Some(c) = self.peek() else {
            return Err(CUT);
        };
        let plain = match c {
            '"' | '\\' | '/' => c,
            '\'' if open != '"' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => match self.unicode() {
                Some(Some(c)) => {
                    out.push(c);
                    return Ok(());
                }
                Some(None) => return Err((false, "half of a `\\u` surrogate pair is missing")),
                None => {
                    out.push('\\');
                    return Ok(());
                }
            },
            // An unknown escape is a backslash that should have been escaped itself.
            _ => {
                out.push('\\');
                return Ok(());
            }
        };
        out.push(plain);
        self.at += c.len_utf8();
        Ok(())
    }

    /// Reads `uXXXX`, and its second half where there is one. `None`: no escape at all; `Some(None)`: half a pair.
    fn unicode(&mut self) -> Option<Option<char>> {
        let hex = |at: usize| {
            let digits = self.text.get(at..at + 4)?;
            digits
                .bytes()
                .all(|b| b.is_ascii_hexdigit())
                .then(|| u32::from_str_radix(digits, 16).ok())?
        };
        let high = hex(self.at + 1)?;
        if !(0xd800..0xe000).contains(&high) {
            self.at += 5;
            return Some(char::from_u32(high));
        }
        let low = (self.text.get(self.at + 5..self.at + 7) == Some("\\u"))
            .then(|| hex(self.at + 7))
            .flatten()
            .filter(|low| high < 0xdc00 && (0xdc00..0xe000).contains(low));
        let Some(low) = low else {
            return Some(None);
        };
        self.at += 11;
        Some(char::from_u32(
            0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00),
        ))
    }
}

/// Returns where the text goes on behind blanks, comments, and escaped line ends.
pub(super) fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start_matches(is_blank).len();
        if blank > 0 {
            at += blank;
            continue;
        }
        let near = |rest: &str, pattern: &str| {
            let mut end = rest.len().min(COMMENT);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            rest[..end].find(pattern)
        };
        let comment = if rest.starts_with("/*") {
            near(&rest[2..], "*/").map(|length| length + 4)
        } else if rest.starts_with("//") || rest.starts_with('#') {
            near(rest, "\n")
        } else if rest.starts_with("\\n") || rest.starts_with("\\r") || rest.starts_with("\\t") {
            Some(2)
        } else {
            None
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
    text.chars().all(is_blank)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”' | '„' | '＂' | '‘' | '’')
}

fn closes(open: char, c: char) -> bool {
    match open {
        '"' | '\'' => c == open,
        '‘' | '’' => matches!(c, '‘' | '’'),
        _ => matches!(c, '“' | '”' | '＂' | '"'),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repaired(text: &str) -> Result<String, bool> {
        read(text, 0, Style::Loose)
            .map(|read| read.json.render())
            .map_err(|broken| broken.cut)
    }

    #[test]
    fn punctuation_is_forgiven() {
        for (text, expected) in [
            (r#"{"a": 1,}"#, r#"{"a":1}"#),
            (r#"{"a": 1 "b": [1, 2,],}"#, r#"{"a":1,"b":[1,2]}"#),
            (r"{'a': 'it\'s', b: None}", r#"{"a":"it's","b":null}"#),
            ("{“a”： “x”，“b”:True}", r#"{"a":"x","b":true}"#),
            ("{\"a\": \"1\n2\t\"}", r#"{"a":"1\n2\t"}"#),
            (r#"{"a": "\* \u12 \$"}"#, r#"{"a":"\\* \\u12 \\$"}"#),
            (
                r#"{"a": "say "hi" now", "b": 1}"#,
                r#"{"a":"say \"hi\" now","b":1}"#,
            ),
            (
                "{\"a\": \"x\" /* y */, // z\n # w\n \"b\": 2}",
                r#"{"a":"x","b":2}"#,
            ),
            (
                r#"{"a": 123456789012345678901234567890.0100e+5}"#,
                r#"{"a":123456789012345678901234567890.0100e+5}"#,
            ),
            (r#"{"a: 3, "b": "x"}"#, r#"{"a":3,"b":"x"}"#),
            (r#"{"a": "\ud83d\ude00"}"#, "{\"a\":\"😀\"}"),
        ] {
            assert_eq!(repaired(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_value_is_never_made_up() {
        for text in [
            r#"{"a": }"#,
            r#"{"a": "{"b":"c"}"}"#,
            r#"{"a" 1}"#,
            r#"{"a": b}"#,
            r#"{"a": 01}"#,
            r#"{"a": NaN}"#,
            r#"{"a": ["x "y", "z""]}"#,
            r#"{"a b: 3, "c": 1}"#,
            r#"{"a": "\ud83d"}"#,
            &"[".repeat(DEPTH + 1),
        ] {
            assert_eq!(repaired(text), Err(false), "{text}");
        }
    }

    #[test]
    fn what_is_cut_stays_cut() {
        let whole = r#"{"a": [1, "x\n", {"b": null}], "c": true}"#;
        for end in 0..whole.len() {
            assert_eq!(repaired(&whole[..end]), Err(true), "{}", &whole[..end]);
        }
        assert_eq!(repaired(r#"{"a": {"b": 1}</tool_"#), Err(true));
    }

    #[test]
    fn a_missing_bracket_needs_an_end_marker() {
        for text in [r#"{"a": [1, 2</tool_call>"#, r#"{"a": [1, 2}</tool_call>"#] {
            let read = read(text, 0, Style::Loose).unwrap();
            assert!(read.implied, "{text}");
            assert_eq!(read.json.render(), r#"{"a":[1,2]}"#);
        }
        assert_eq!(repaired(r#"{"a": </tool_call>"#), Err(false));
        assert_eq!(repaired(r#"{"a": 1, </tool_call>"#), Err(false));
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".*".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map(".*", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_is_read_as_it_is(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let read = read(&text, 0, Style::Loose).unwrap();
            prop_assert_eq!(read.end, text.len());
            prop_assert!(!read.implied);
            let again: serde_json::Value = serde_json::from_str(&read.json.render()).unwrap();
            prop_assert_eq!(again, serde_json::from_str::<serde_json::Value>(&text).unwrap());
        }

        #[test]
        fn any_text_is_read_without_panic(text in r#"([{}\[\],:"'\\/*#“”，：\n <>|a1tn-]|\PC){0,60}"#) {
            for style in [Style::Loose, Style::Fenced, Style::Python] {
                if let Ok(read) = read(&text, 0, style) {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(&read.json.render()).is_ok());
                }
            }
        }
    }
}
