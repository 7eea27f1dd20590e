//! Reasoning in a reply: dropped before anything in it can be taken for a call.

use super::{Scan, Within};
use crate::fallback::repair::is_blank;
use crate::fallback::{FaultCode, fault};

impl Scan<'_> {
    /// Takes the reasoning from `from` to `pattern`.
    pub(super) fn reasoning_until(&mut self, from: usize, pattern: &str) -> bool {
        let end = self.find_ahead(from, pattern);
        self.reasoning_block(from, end.map(|end| (end, end + pattern.len())))
    }

    /// Takes the reasoning between `from` and `end`, the place and the end of its end marker.
    pub(in crate::fallback) fn reasoning_block(
        &mut self,
        from: usize,
        end: Option<(usize, usize)>,
    ) -> bool {
        if self.within != Within::Reply {
            return false;
        }
        match end {
            Some((end, next)) => {
                self.flush(self.at);
                self.think(&self.text[from..end]);
                self.done(next);
                true
            }
            // A tag in the middle of a sentence is a word about reasoning.
            None if !self.fresh => false,
            None => {
                self.flush(self.at);
                let rest = &self.text[from..];
                self.think(rest);
                let inner = Scan::new(rest, self.tools, Within::Reasoning).run();
                if !(inner.calls.is_empty() && inner.faults.is_empty()) {
                    self.faults.push(fault::fault(
                        FaultCode::CallInReasoning,
                        "The tool call was not run: it stands inside reasoning that never ended. End the reasoning, \
                         then call."
                            .to_owned(),
                        None,
                    ));
                }
                self.done(self.text.len());
                true
            }
        }
    }

    /// A lone end tag: all before it is reasoning that the prompt had opened.
    pub(super) fn reasoning_ends(&mut self, end: usize) -> bool {
        if self.within != Within::Reply {
            return false;
        }
        self.flush(self.at);
        self.demote(self.at);
        let before = std::mem::take(&mut self.shown);
        self.think(&before);
        self.calls.clear();
        self.faults.clear();
        self.unmarked = false;
        self.react = false;
        self.quiet = false;
        self.done(end);
        true
    }

    /// Adds to the reasoning.
    pub(super) fn think(&mut self, text: &str) {
        let text = text.trim_matches(is_blank);
        if text.is_empty() {
            return;
        }
        if !self.reasoning.is_empty() {
            self.reasoning.push('\n');
        }
        self.reasoning.push_str(text);
    }

    /// Moves the end of the last prose to the reasoning, from its last line that begins with `label`.
    pub(in crate::fallback) fn think_from(&mut self, label: &str) -> bool {
        let prose = self.shown.get(self.before..).unwrap_or_default();
        let at = match prose.rfind(&format!("\n{label}")) {
            Some(at) => at,
            None if prose.trim_start_matches(is_blank).starts_with(label) => 0,
            None => return false,
        };
        let thought = self.shown.split_off(self.before + at);
        let thought = thought.trim_matches(is_blank);
        self.think(thought.strip_prefix(label).unwrap_or(thought));
        true
    }
}
