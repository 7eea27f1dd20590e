//! Calls with one tag an argument: `<function=…>`, `<invoke name="…">`, `<arg_key>` pairs, and a tag named like a tool.
//!
//! None of it is XML: what stands between the tags is literal.

use super::effort::looked;
use super::marker::{self, Kind, Mark, mark};
use super::repair::{self, Json, Style, is_blank};
use super::resolve::{Written, schema_of};
use super::scan::Scan;

/// Where an argument's text ends.
enum End {
    /// Here; the text goes on there.
    At(usize, usize),
    /// Nowhere.
    Cut,
    /// Here or further on.
    Unclear(usize),
}

impl Scan<'_> {
    /// Handles `<function=name>` and `<invoke name="name">`.
    pub(super) fn function(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        let Some(name) = open.names() else {
            return false;
        };
        let mut at = self.blanks(open.end);
        if self.text[at..].starts_with('{') {
            return self.function_of_json(start, at, name);
        }
        let tool = self.tools.resolve(name);
        let mut arguments = Vec::new();
        loop {
            at = self.blanks(at);
            let rest = &self.text[at..];
            let tag = match mark(self.text, at) {
                Some(tag) if tag.kind == Kind::Open && marker::is_parameter(&tag.name) => tag,
                Some(tag) if ends_function(&tag) => {
                    let outcome = self.tools.call_of_texts(name, arguments);
                    self.push(start, [outcome]);
                    // The end of a wrapper is a stray end tag.
                    self.done(at);
                    return true;
                }
                _ if rest.is_empty() || marker::is_started(rest) => return self.cut(start, tool),
                // A word about the form.
                _ if arguments.is_empty() => return false,
                _ => {
                    let why = "expected the next parameter or the end of the call";
                    return self.broken(start, at, why, tool);
                }
            };
            let Some(key) = tag.names() else {
                return self.broken(start, at, "a parameter has no name", tool);
            };
            let (end, next) = match self.parameter(tag.end, open.name.as_str()) {
                End::At(end, next) => (end, next),
                End::Cut => return self.cut(start, tool),
                End::Unclear(end) => {
                    let why = "it is unclear where the parameter ends";
                    return self.broken(start, end, why, tool);
                }
            };
            let Some(value) = written(&tag, &self.text[tag.end..end]) else {
                return self.broken(start, tag.end, "a parameter said to be JSON is not", tool);
            };
            arguments.push((key.to_owned(), value));
            at = next;
        }
    }

    /// Handles `<function=name>{…}</function>`; always `true`.
    fn function_of_json(&mut self, start: usize, at: usize, name: &str) -> bool {
        let tool = self.tools.resolve(name);
        let read = match repair::read(self.text, at, Style::Loose) {
            Ok(read) => read,
            Err(broken) => return self.failed(start, &broken, tool),
        };
        let next = self.blanks(read.end);
        if next == self.text.len() {
            return self.cut(start, tool);
        }
        if !mark(self.text, next).is_some_and(|tag| ends_function(&tag)) {
            let why = "expected the end of the call after its arguments";
            return self.broken(start, next, why, tool);
        }
        let outcome = self.tools.call(name, &read.json);
        self.push(start, [outcome]);
        self.done(next);
        true
    }

    /// Finds the end of an argument that begins at `from`.
    fn parameter(&self, from: usize, function: &str) -> End {
        let mut at = from;
        while let Some(next) = self.text[at..].find('<') {
            at += next;
            looked(next + 1);
            let Some(tag) = mark(self.text, at) else {
                at += 1;
                continue;
            };
            let after = self.blanks(tag.end);
            let following = mark(self.text, after);
            match tag.kind {
                Kind::Close if marker::is_parameter(&tag.name) => {
                    let fits = after == self.text.len()
                        || marker::is_started(&self.text[after..])
                        || following.is_some_and(|tag| {
                            ends_function(&tag)
                                || tag.kind == Kind::Open && marker::is_parameter(&tag.name)
                        });
                    return if fits {
                        End::At(at, tag.end)
                    } else {
                        End::Unclear(at)
                    };
                }
                // The argument's own end tag is missing.
                Kind::Close if tag.name == function || marker::is_call(&tag.name) => {
                    return if after == self.text.len() || following.is_some() {
                        End::At(at, at)
                    } else {
                        End::Unclear(at)
                    };
                }
                Kind::Open
                    if marker::is_parameter(&tag.name)
                        && tag.names().is_some()
                        && self.text[..at].ends_with('\n') =>
                {
                    return End::At(at, at);
                }
                _ => at = tag.end,
            }
        }
        End::Cut
    }

    /// Handles `<tool_call>name <arg_key>…</arg_key> <arg_value>…</arg_value> </tool_call>`.
    pub(super) fn pairs(&mut self, start: usize, at: usize) -> bool {
        let length = self.text[at..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_-.:".contains(c)))
            .unwrap_or(0);
        let name = &self.text[at..at + length];
        let mut at = self.blanks(at + length);
        let text = self.text;
        let paired = tag_at(text, at, Kind::Open, "arg_key").is_some();
        let ended = |at: usize| {
            mark(text, at).is_some_and(|tag| tag.kind == Kind::Close && marker::is_call(&tag.name))
        };
        let known = self.is_fresh() || self.tools.resolve(name).is_some();
        if name.is_empty() || !(paired || ended(at) && known) {
            return false;
        }
        let mut arguments = Vec::new();
        while !ended(at) {
            let pair = tag_at(text, at, Kind::Open, "arg_key").and_then(|key_from| {
                let key = self.text[key_from..].split('<').next()?;
                let value =
                    self.blanks(tag_at(text, key_from + key.len(), Kind::Close, "arg_key")?);
                let value_from = tag_at(text, value, Kind::Open, "arg_value")?;
                let value_to = self.find_ahead(value_from, "</arg_value>")?;
                let next = self.blanks(value_to + "</arg_value>".len());
                let text = unwrapped(&self.text[value_from..value_to]).to_owned();
                Some(((key.trim().to_owned(), Written::Text(text)), next))
            });
            let Some((pair, next)) = pair else {
                let tool = self.tools.resolve(name);
                if self.find_ahead(at, "</tool_call>").is_none() {
                    return self.cut(start, tool);
                }
                let why = "expected `<arg_key>` and `<arg_value>` pairs";
                return self.broken(start, at, why, tool);
            };
            arguments.push(pair);
            at = next;
        }
        let outcome = self.tools.call_of_texts(name, arguments);
        self.push(start, [outcome]);
        self.done(at);
        true
    }

    /// Handles `<tool_use> <name>…</name> <arguments>{…}</arguments> </tool_use>`.
    pub(super) fn named_tags(&mut self, start: usize, at: usize) -> bool {
        let Some(from) = tag_at(self.text, at, Kind::Open, "name") else {
            return false;
        };
        let name = self.text[from..].split('<').next().unwrap_or_default();
        let Some(end) = tag_at(self.text, from + name.len(), Kind::Close, "name") else {
            return false;
        };
        let at = self.blanks(end);
        match mark(self.text, at) {
            Some(tag)
                if tag.kind == Kind::Open
                    && matches!(tag.name.as_str(), "arguments" | "parameters" | "input") =>
            {
                let at = self.blanks(tag.end);
                self.json(start, at, Some(name), None)
            }
            _ => false,
        }
    }

    /// Handles a tag named like a tool, whose inner tags are named like its parameters; counts only as the last thing.
    pub(super) fn tool_tag(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        let Some(tool) = self.tools.exact(&open.name) else {
            return false;
        };
        let schema = schema_of(tool);
        let mut arguments = Vec::new();
        let mut at = open.end;
        let end = loop {
            at = self.blanks(at);
            let Some(tag) = mark(self.text, at) else {
                return false;
            };
            if tag.kind == Kind::Close && tag.name == open.name {
                break tag.end;
            }
            if tag.kind != Kind::Open || schema["properties"].get(&tag.name).is_none() {
                return false;
            }
            let close = format!("</{}>", tag.name);
            let Some(value_end) = self.find_ahead(tag.end, &close) else {
                return false;
            };
            at = value_end + close.len();
            if !self.spend(at - start) {
                return false;
            }
            let text = unwrapped(&self.text[tag.end..value_end]).to_owned();
            arguments.push((tag.name.clone(), Written::Text(text)));
        };
        let outcome = self.tools.call_of_texts(tool.name(), arguments);
        self.wait_calls(start, vec![outcome]);
        self.done(end);
        true
    }
}

/// Returns where the text goes on behind this very tag.
fn tag_at(text: &str, at: usize, kind: Kind, name: &str) -> Option<usize> {
    mark(text, at)
        .filter(|tag| tag.kind == kind && tag.name == name)
        .map(|tag| tag.end)
}

fn ends_function(tag: &Mark<'_>) -> bool {
    tag.kind == Kind::Close
        && (marker::is_call(&tag.name) || matches!(tag.name.as_str(), "function" | "invoke"))
}

/// Returns an argument's text without the line ends next to its tags.
fn unwrapped(text: &str) -> &str {
    let text = text
        .strip_prefix("\r\n")
        .or_else(|| text.strip_prefix('\n'))
        .unwrap_or(text);
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(text)
}

/// Returns the value of a parameter, whose tag may say whether it is text; `None` when it says JSON and is not.
fn written(tag: &Mark<'_>, text: &str) -> Option<Written> {
    let text = unwrapped(text);
    Some(match tag.attribute("string") {
        Some("true") => Written::Json(Json::Text(text.to_owned())),
        Some("false") => {
            let text = text.trim_matches(is_blank);
            let read = repair::read(text, 0, Style::Loose).ok()?;
            if read.end != text.len() || read.implied {
                return None;
            }
            Written::Json(read.json)
        }
        _ => Written::Text(text.to_owned()),
    })
}
