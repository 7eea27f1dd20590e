//! JSON without a marker: a call only as the last thing said, on lines of its own, of a registered tool.

use super::{Scan, Tail, Within};
use crate::fallback::fault;
use crate::fallback::marker::mark;
use crate::fallback::python;
use crate::fallback::repair::{self, Style, is_blank};

impl Scan<'_> {
    /// Takes JSON without a marker at the start of a line.
    pub(super) fn bare(&mut self) -> bool {
        let start = self.at;
        if self.budget == 0 {
            return false;
        }
        if python::begins(&self.text[start..]) {
            return self.bare_python();
        }
        let style = match self.within {
            Within::Fence { closed: true } => Style::Fenced,
            _ => Style::Loose,
        };
        let read = repair::read(self.text, start, style);
        let reached = match &read {
            Ok(read) => read.end,
            Err(broken) => broken.at,
        };
        self.spend(reached - start);
        match read {
            Ok(read) => {
                let fits = !read.implied || style == Style::Fenced;
                let (end, apart) = self.behind(read.end);
                match self.tools.unmarked(&read.json) {
                    Some(outcomes) if fits && apart => {
                        self.wait(start, Tail::Bare(outcomes));
                        self.done(end);
                    }
                    _ => self.prose(read.end),
                }
                true
            }
            Err(broken) => {
                let meant = self.tools.meant_as_call(broken.partial.as_ref());
                let tool = self.tools.meant(broken.partial.as_ref());
                if broken.cut {
                    // Whatever else follows stands inside this value.
                    self.budget = 0;
                }
                let last = broken.at >= self.last_paragraph && self.ends_closed;
                if !meant || !(broken.cut || last) {
                    return false;
                }
                let fault = if broken.cut {
                    fault::truncated(&self.text[start..], tool)
                } else {
                    fault::invalid_json(self.text, broken.at, broken.why, tool)
                };
                self.wait(start, Tail::Bare(vec![Err(fault)]));
                self.done(self.text.len());
                true
            }
        }
    }

    /// Takes a list of Python calls, the native form of some Llama models, under the rules of JSON.
    fn bare_python(&mut self) -> bool {
        let start = self.at;
        let Ok((outcomes, end)) = python::read(self.text, start, self.tools) else {
            return false;
        };
        let apart = self.spend(end - start) && self.behind(end).1;
        let calls = apart && outcomes.iter().all(Result::is_ok);
        if calls {
            self.wait(start, Tail::Bare(outcomes));
            self.done(end);
        }
        calls
    }

    /// Returns where the text goes on behind an unmarked value, and whether the value stands apart from it.
    fn behind(&self, end: usize) -> (usize, bool) {
        let rest = &self.text[end..];
        let rest = rest.trim_start_matches(|c| c == '}' || c == ']' || is_blank(c));
        let rest = rest.strip_prefix([',', ';']).unwrap_or(rest);
        let at = self.text.len() - rest.len();
        let apart = rest.trim_start_matches(is_blank).is_empty()
            || rest.starts_with(['{', '['])
            || rest.starts_with("```")
            || mark(self.text, at).is_some()
            || self.text[end..at].contains('\n')
            || rest.starts_with(is_blank) && rest.trim_start_matches(is_blank).starts_with('{');
        let fence = rest.strip_prefix("```");
        match (self.within, fence) {
            // The end of a fence on the line of the value.
            (Within::Fence { .. }, Some(rest)) => (self.text.len() - rest.len(), apart),
            _ => (at, apart),
        }
    }
}
