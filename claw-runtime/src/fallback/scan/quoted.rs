//! What is quoted: fences, inline code and quoted lines. Only the last fence can hold calls.

use super::{Scan, Tail, Within};
use crate::fallback::effort::looked;
use crate::fallback::python;
use crate::fallback::repair::is_all_blank;
use crate::fallback::resolve::Outcome;

/// The longest run of ticks that quotes code in a line: each length may be looked for through the whole line.
const LONGEST_RUN: usize = 4;

impl Scan<'_> {
    /// Takes a fenced block.
    pub(super) fn fence(&mut self, c: char) -> bool {
        let rest = &self.text[self.at..];
        let ticks = rest.len() - rest.trim_start_matches(c).len();
        if !self.fresh || ticks < 3 {
            return false;
        }
        let line = rest.find('\n').unwrap_or(rest.len());
        looked(line);
        let language = rest[ticks..line].trim();
        if language.contains(c) {
            return false;
        }
        let start = self.at + (line + 1).min(rest.len());
        let mut at = start;
        let mut found = None;
        for line in self.text[start..].split_inclusive('\n') {
            let ending = line.trim();
            if ending.len() >= ticks && ending.chars().all(|end| end == c) {
                found = Some((at, at + line.trim_end_matches(['\n', '\r']).len()));
                break;
            }
            at += line.len();
            looked(line.len());
        }
        let (inner_end, end) = found.unwrap_or((self.text.len(), self.text.len()));
        self.wait(
            self.at,
            Tail::Fence {
                language: language.to_ascii_lowercase(),
                inner: (start, inner_end),
                closed: found.is_some(),
            },
        );
        self.done(end);
        true
    }

    /// Steps over inline code, which is prose.
    pub(super) fn inline_code(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let inner = &rest[ticks..];
        // Code runs on over line ends only where it quotes a marker: a lone tick must not hide a call.
        let stop = if inner.starts_with(['<', '[', '{']) {
            "\n\n"
        } else {
            "\n"
        };
        let mut length = ticks;
        let mut at = 0;
        let searched = if ticks <= LONGEST_RUN { inner } else { "" };
        while let Some(next) = searched[at..].find(['`', '\n']) {
            at += next;
            looked(next + 1);
            if inner[at..].starts_with(stop) {
                break;
            }
            let run = inner.len() - at - inner[at..].trim_start_matches('`').len();
            at += run.max(1);
            if run == ticks {
                length = ticks + at;
                break;
            }
        }
        self.prose(self.at + length);
        true
    }

    /// Steps over a quoted line, which is prose.
    pub(super) fn quotation(&mut self) -> bool {
        let line = self.text[self.at..].find('\n');
        self.prose(line.map_or(self.text.len(), |line| self.at + line));
        true
    }

    /// Returns outcomes, text and reasoning of a fence that ends the reply, or `None` when it holds no call.
    pub(super) fn last_fence(
        &self,
        language: &str,
        inner: &str,
        closed: bool,
    ) -> Option<(Vec<Outcome>, String, String)> {
        if language == "tool_code" {
            let outcomes = match python::read(inner, 0, self.tools) {
                Ok((outcomes, end)) if is_all_blank(&inner[end..]) => outcomes,
                Ok(_) => vec![Err(self.tools.unknown(inner))],
                Err(fault) => vec![Err(fault)],
            };
            return Some((outcomes, String::new(), String::new()));
        }
        let scanned = Scan::new(inner, self.tools, Within::Fence { closed }).run();
        let only = is_all_blank(&scanned.text);
        let found = !scanned.calls.is_empty() || !scanned.faults.is_empty();
        (found && (scanned.marked || only)).then(|| {
            let outcomes = scanned
                .calls
                .into_iter()
                .map(Ok)
                .chain(scanned.faults.into_iter().map(Err))
                .collect();
            (outcomes, scanned.text, scanned.reasoning)
        })
    }
}
