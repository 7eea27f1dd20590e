//! Calls behind a marker: JSON values, or Python calls, up to an end marker.

use super::effort::looked;
use super::fault;
use super::marker::{self, Kind, Mark, mark};
use super::python;
use super::repair::{self, Broken, Style, is_blank};
use super::resolve::Outcome;
use super::scan::Scan;
use crate::tool::Tool;

impl Scan<'_> {
    /// Handles `<tool_call>` and its relatives.
    pub(super) fn call_tag(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        let at = self.blanks(open.end);
        if at == self.text.len() && open.name.starts_with("tool_call") {
            return self.cut(start, None);
        }
        // A wrapper around further markers is nothing by itself.
        if mark(self.text, at).is_some_and(|mark| {
            mark.kind == Kind::Open && matches!(mark.name.as_str(), "function" | "invoke")
        }) {
            self.flush(start);
            self.done(at);
            return true;
        }
        self.payload(start, at, Some(open)) || self.named_tags(start, at) || self.pairs(start, at)
    }

    /// Handles `<tool_code>`: calls as Python. Other code is not run.
    pub(super) fn code(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        if self.payload(start, open.end, None) {
            return true;
        }
        let Some(end) = self.find_ahead(open.end, "</tool_code>") else {
            return false;
        };
        let code = self.text[open.end..end].trim_start();
        let fault = self.tools.unknown(code.lines().next().unwrap_or_default());
        self.push(start, [Err(fault)]);
        self.done(end);
        true
    }

    /// Reads the calls at `at`, behind a marker at `start`; `false` when there are none and the marker is only a word.
    pub(super) fn payload(&mut self, start: usize, at: usize, open: Option<&Mark<'_>>) -> bool {
        let at = self.inside_fence(self.blanks(at));
        let rest = &self.text[at..];
        if python::begins(rest) {
            return self.python(start, at);
        }
        if rest.starts_with("{\\\"") {
            return self.escaped(start, at);
        }
        if !rest.starts_with(['{', '[']) || mark(self.text, at).is_some() {
            return false;
        }
        let name = open.and_then(|open| open.names());
        self.json(start, at, name, open.map(|open| open.name.as_str()))
    }

    /// Reads JSON values: whole calls, or the arguments of `name`; always `true`.
    pub(super) fn json(
        &mut self,
        start: usize,
        at: usize,
        name: Option<&str>,
        tag: Option<&str>,
    ) -> bool {
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut implied = false;
        let mut next = at;
        loop {
            let named = name.and_then(|name| self.tools.resolve(name));
            let read = match repair::read(self.text, next, Style::Loose) {
                Ok(read) => read,
                Err(broken) => {
                    let meant = named.or_else(|| self.tools.meant(broken.partial.as_ref()));
                    return self.failed(start, &broken, meant);
                }
            };
            implied |= read.implied;
            match name {
                Some(name) => outcomes.push(self.tools.call(name, &read.json)),
                None => outcomes.extend(self.tools.marked(&read.json)),
            }
            next = self.surplus(read.end);
            let more = self.text[next..].starts_with(['{', '[']) && mark(self.text, next).is_none();
            if more && name.is_none() {
                continue;
            }
            if more || !self.ends(read.end, next, implied, tag) {
                let meant = named.or_else(|| self.tools.meant(Some(&read.json)));
                let why = "something else follows the JSON inside the call";
                return self.broken(start, next, why, meant);
            }
            self.push(start, outcomes);
            self.done(next);
            return true;
        }
    }

    /// Reports a call that is cut off; always `true`.
    pub(super) fn cut(&mut self, start: usize, tool: Option<&Tool>) -> bool {
        let fault = fault::truncated(&self.text[start..], tool);
        self.push(start, [Err(fault)]);
        self.done(self.text.len());
        true
    }

    /// Reports a call that is broken at `at`, and goes on where it surely ends; always `true`.
    pub(super) fn broken(
        &mut self,
        start: usize,
        at: usize,
        why: &str,
        tool: Option<&Tool>,
    ) -> bool {
        let fault = fault::invalid_json(self.text, at, why, tool);
        self.push(start, [Err(fault)]);
        self.done(self.end_of_broken(start, at));
        true
    }

    /// Reports a call whose JSON cannot be read; always `true`.
    pub(super) fn failed(&mut self, start: usize, broken: &Broken, tool: Option<&Tool>) -> bool {
        if broken.cut {
            self.cut(start, tool)
        } else {
            self.broken(start, broken.at, broken.why, tool)
        }
    }

    /// Returns the end marker of a broken call: the first behind the fault that stands in no string and before something
    /// that may follow a call. Nothing behind a call whose end is unclear is looked at.
    fn end_of_broken(&self, start: usize, fault: usize) -> usize {
        let mut in_string = false;
        let mut escaped = false;
        for (at, byte) in self.text.bytes().enumerate().skip(start) {
            looked(1);
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = !in_string,
                b'<' | b'[' if at >= fault && !in_string => {
                    if let Some(end) = mark(self.text, at).filter(|mark| mark.ends_call()) {
                        let next = self.blanks(end.end);
                        if next == self.text.len() || mark(self.text, next).is_some() {
                            return at;
                        }
                    }
                }
                _ => {}
            }
        }
        self.text.len()
    }

    /// Tells whether a call may end at `next`, whose last value ended at `end`.
    fn ends(&self, end: usize, next: usize, implied: bool, tag: Option<&str>) -> bool {
        let rest = &self.text[next..];
        let marker = mark(self.text, next);
        if marker.as_ref().is_some_and(Mark::ends_call) {
            return true;
        }
        if implied {
            return false;
        }
        if rest.is_empty() || marker.is_some_and(|mark| mark.begins()) || marker::is_started(rest) {
            return true;
        }
        // Text, unless it stands before the end of this very tag, or might be the rest of a string that a stray
        // quotation mark ended.
        let line = rest.lines().next().unwrap_or_default();
        looked(line.len());
        (self.text[end..next].contains('\n') || !line.contains(['"', '{', '}', '[', ']']))
            && !tag.is_some_and(|tag| {
                let tag = format!("{tag}>");
                let at = rest.find(&tag);
                looked(at.unwrap_or(rest.len()));
                at.is_some_and(|at| rest[..at].ends_with("</"))
            })
    }

    /// Skips what may stand behind a value without meaning: surplus brackets, separators, the end of a fence.
    fn surplus(&self, mut at: usize) -> usize {
        loop {
            at = self.blanks(at);
            let rest = &self.text[at..];
            at += match rest.as_bytes().first() {
                Some(b'}' | b']' | b',' | b';') => 1,
                Some(b'`') if rest.starts_with("```") => 3,
                _ => return at,
            };
        }
    }

    /// Skips the opening of a fence.
    pub(super) fn inside_fence(&self, at: usize) -> usize {
        let Some(rest) = self.text[at..].strip_prefix("```") else {
            return at;
        };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        self.blanks(self.text.len() - rest.len())
    }

    /// Returns where the text goes on behind blanks.
    pub(super) fn blanks(&self, at: usize) -> usize {
        let end = self.text.len() - self.text[at..].trim_start_matches(is_blank).len();
        looked(end - at);
        end
    }

    /// Reads an object that was escaped once too often; always `true`.
    fn escaped(&mut self, start: usize, at: usize) -> bool {
        let why = "its quotation marks are escaped";
        let end = self.text[at..]
            .find('<')
            .map(|length| at + length)
            .filter(|end| mark(self.text, *end).is_some_and(|mark| mark.ends_call()));
        let Some(end) = end else {
            return self.broken(start, at, why, None);
        };
        looked(end - at);
        let slice = self.text[at..end].trim();
        let inner: Option<String> = serde_json::from_str(&format!("\"{slice}\"")).ok();
        let json = inner.as_deref().and_then(|inner| {
            let read = repair::read(inner, 0, Style::Loose).ok()?;
            (read.end == inner.len() && !read.implied).then_some(read.json)
        });
        let Some(json) = json else {
            return self.broken(start, at, why, None);
        };
        let outcomes = self.tools.marked(&json);
        self.push(start, outcomes);
        self.done(end);
        true
    }

    /// Reads Python calls; always `true`.
    fn python(&mut self, start: usize, at: usize) -> bool {
        match python::read(self.text, at, self.tools) {
            Ok((outcomes, end)) => {
                let next = self.surplus(end);
                if !self.ends(end, next, false, None) {
                    return self.broken(start, next, "something else follows the call", None);
                }
                self.push(start, outcomes);
                self.done(next);
            }
            Err(fault) => {
                self.push(start, [Err(fault)]);
                let end = self.end_of_broken(start, at);
                self.done(end);
            }
        }
        true
    }
}
