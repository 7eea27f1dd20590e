//! Calls behind a marker: JSON values, or Python calls, up to an end marker.

use super::fault;
use super::marker::{self, Kind, Mark, mark};
use super::python;
use super::repair::{self, Json, Style, is_blank};
use super::resolve::Outcome;
use super::scan::Scan;

impl Scan<'_> {
    /// Handles `<tool_call>` and its relatives.
    pub(super) fn call_tag(&mut self, open: &Mark<'_>) -> bool {
        let start = self.position();
        let at = self.blanks(open.end);
        if at == self.text.len() && open.name.starts_with("tool_call") {
            let fault = fault::truncated(&self.text[start..], None);
            self.push(start, [Err(fault)]);
            self.done(at);
            return true;
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
        self.json(start, at, name, open.map(|open| open.name.as_str()));
        true
    }

    /// Reads JSON values: whole calls, or the arguments of `name`.
    pub(super) fn json(&mut self, start: usize, at: usize, name: Option<&str>, tag: Option<&str>) {
        let mut outcomes: Vec<Outcome> = Vec::new();
        let mut implied = false;
        let mut next = at;
        loop {
            match repair::read(self.text, next, Style::Loose) {
                Ok(read) => {
                    implied |= read.implied;
                    match name {
                        Some(name) => outcomes.push(self.tools.call(name, &read.json)),
                        None => outcomes.extend(self.tools.marked(&read.json)),
                    }
                    let end = read.end;
                    next = self.surplus(end);
                    let more = self.text[next..].starts_with(['{', '['])
                        && mark(self.text, next).is_none();
                    if more && name.is_none() {
                        continue;
                    }
                    if !more && self.ends(end, next, implied, tag) {
                        self.push(start, outcomes);
                        return self.done(next);
                    }
                    let why = "something else follows the JSON inside the call";
                    return self.broken(start, next, false, why, name, Some(&read.json));
                }
                Err(broken) => {
                    let partial = broken.partial.as_ref();
                    return self.broken(start, broken.at, broken.cut, broken.why, name, partial);
                }
            }
        }
    }

    /// Reports a broken call, and goes on where it surely ends.
    pub(super) fn broken(
        &mut self,
        start: usize,
        at: usize,
        cut: bool,
        why: &str,
        name: Option<&str>,
        partial: Option<&Json>,
    ) {
        let tool = match name {
            Some(name) => self.tools.resolve(name),
            None => self.tools.meant(partial),
        };
        let fault = if cut {
            fault::truncated(&self.text[start..], tool)
        } else {
            fault::invalid_json(self.text, at, why, tool)
        };
        self.push(start, [Err(fault)]);
        self.done(if cut {
            self.text.len()
        } else {
            self.end_of_broken(start, at)
        });
    }

    /// Returns the end marker of a broken call: the first behind the fault that stands in no string and before something
    /// that may follow a call. Nothing behind a call whose end is unclear is looked at.
    fn end_of_broken(&self, start: usize, fault: usize) -> usize {
        let mut in_string = false;
        let mut escaped = false;
        for (at, byte) in self.text.bytes().enumerate().skip(start) {
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
        if rest.is_empty() || marker.is_some() || marker::is_started(rest) {
            return true;
        }
        // Text, unless it stands before the end of this very tag, or might be the rest of a string that a stray
        // quotation mark ended.
        let line = rest.lines().next().unwrap_or_default();
        (self.text[end..next].contains('\n') || !line.contains(['"', '{', '}', '[', ']']))
            && !tag.is_some_and(|tag| {
                let tag = format!("{tag}>");
                rest.find(&tag).is_some_and(|at| rest[..at].ends_with("</"))
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
        self.text.len() - self.text[at..].trim_start_matches(is_blank).len()
    }

    /// Reads an object that was escaped once too often.
    fn escaped(&mut self, start: usize, at: usize) -> bool {
        let end = self.text[at..]
            .find('<')
            .map(|length| at + length)
            .filter(|end| mark(self.text, *end).is_some_and(|mark| mark.ends_call()));
        let Some(end) = end else {
            self.broken(
                start,
                at,
                false,
                "its quotation marks are escaped",
                None,
                None,
            );
            return true;
        };
        let slice = self.text[at..end].trim();
        let inner: Option<String> = serde_json::from_str(&format!("\"{slice}\"")).ok();
        let read = inner.as_deref().and_then(|inner| {
            let read = repair::read(inner, 0, Style::Loose).ok()?;
            (read.end == inner.len() && !read.implied).then_some(read.json)
        });
        match read {
            Some(json) => {
                let outcomes = self.tools.marked(&json);
                self.push(start, outcomes);
                self.done(end);
            }
            None => self.broken(
                start,
                at,
                false,
                "its quotation marks are escaped",
                None,
                None,
            ),
        }
        true
    }

    fn python(&mut self, start: usize, at: usize) -> bool {
        match python::read(self.text, at, self.tools) {
            Ok((outcomes, end)) => {
                let next = self.surplus(end);
                if self.ends(end, next, false, None) {
                    self.push(start, outcomes);
                    self.done(next);
                } else {
                    self.broken(
                        start,
                        next,
                        false,
                        "something else follows the call",
                        None,
                        None,
                    );
                }
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
