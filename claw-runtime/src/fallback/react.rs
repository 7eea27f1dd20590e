//! Calls in ReAct lines: `Action:` and `Action Input:`.

use super::effort::looked;
use super::marker;
use super::repair::{self, Json, Style};
use super::scan::Scan;

const THOUGHT: &str = "Thought:";
const OBSERVATION: &str = "Observation:";

impl Scan<'_> {
    /// Handles a line that begins with one of ReAct's labels.
    pub(super) fn react_line(&mut self) -> bool {
        let rest = &self.text[self.position()..];
        if let Some(action) = rest.strip_prefix("Action:") {
            return self.action(self.text.len() - action.len());
        }
        let invented = [OBSERVATION, "Final Answer:", THOUGHT]
            .iter()
            .any(|label| rest.starts_with(label));
        if self.react && invented {
            // The model went on without the tool's answer.
            self.flush(self.position());
            self.invented = true;
            self.done(self.text.len());
            return true;
        }
        if let Some(answer) = rest.strip_prefix("Final Answer:") {
            let start = self.position();
            self.flush(start);
            let said = self.thought() || self.thoughtful;
            if said {
                self.done(self.text.len() - answer.len());
            }
            return said;
        }
        false
    }

    fn action(&mut self, at: usize) -> bool {
        let start = self.position();
        let line_end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |length| at + length);
        looked(line_end - at);
        let line = self.text[at..line_end].trim();
        if matches!(line, "None" | "none" | "N/A") {
            self.flush(start);
            self.thought();
            let next = self.blanks(line_end);
            let label = "Action Input:";
            let end = match self.text[next..].strip_prefix(label) {
                Some(input) => {
                    let line = input.find('\n').unwrap_or(input.len());
                    next + label.len() + line
                }
                None => line_end,
            };
            self.done(end);
            return true;
        }
        let name_length = line
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_-.:`*".contains(c)))
            .unwrap_or(line.len());
        let name = line[..name_length].trim_matches(['`', '*', ':']).to_owned();
        let name_end = line_end - self.text[at..line_end].trim_start().len() + name_length;
        let after = self.blanks(name_end);
        let rest = &self.text[after..];
        if name.is_empty() {
            // A whole call as JSON, often in a fence.
            return self.react_json(start, after, None);
        }
        let paren = rest.strip_prefix('(').map(str::trim_start);
        if let Some(inner) = paren.filter(|inner| inner.starts_with('{')) {
            return self.react_json(start, self.text.len() - inner.len(), Some(&name));
        }
        if paren.is_some() && self.tools.resolve(&name).is_some() {
            let name_start = name_end - name_length;
            return self.payload(start, name_start, None) && self.acted();
        }
        let input = ["Action Input:", "Action input:", "Input:"]
            .iter()
            .find_map(|label| rest.strip_prefix(label));
        match input {
            Some(input) => self.react_json(start, self.text.len() - input.len(), Some(&name)),
            None if rest.starts_with('{') && self.tools.resolve(&name).is_some() => {
                self.react_json(start, after, Some(&name))
            }
            None => false,
        }
    }

    /// Reads a call, or the arguments of `name`, at `at`.
    fn react_json(&mut self, start: usize, at: usize, name: Option<&str>) -> bool {
        let input = &self.text[at..];
        let at = self.inside_fence(self.blanks(at));
        let rest = &self.text[at..];
        let Some(name) = name else {
            return rest.starts_with('{') && self.payload(start, at, None) && self.acted();
        };
        let line = rest.lines().next().unwrap_or_default().trim();
        looked(line.len());
        let tool = self.tools.resolve(name);
        let read = if rest.starts_with(['{', '[', '"']) {
            match repair::read(self.text, at, Style::Loose) {
                Ok(read) => Ok(read),
                Err(broken) => return self.failed(start, &broken, tool) && self.acted(),
            }
        } else if rest.is_empty() && !input.contains('\n') {
            return self.cut(start, tool) && self.acted();
        } else {
            let none = line == "N/A" || line.starts_with(OBSERVATION);
            let text = if none { "" } else { line };
            Err((Json::Text(text.to_owned()), at + text.len()))
        };
        let (arguments, end) = match read {
            Err(text) => text,
            Ok(read) => {
                let behind = self.text[read.end..].trim_start_matches(['}', ' ', '`', ')']);
                let ends = behind.is_empty()
                    || behind.starts_with(['\n', '\r'])
                    || marker::mark(behind, 0)
                        .is_some_and(|mark| mark.begins() || mark.ends_call());
                if read.implied || !ends {
                    let why = "something else follows the JSON, or a bracket is missing";
                    return self.broken(start, read.end, why, tool) && self.acted();
                }
                (read.json, self.text.len() - behind.len())
            }
        };
        let outcome = self.tools.call(name, &arguments);
        self.push(start, [outcome]);
        self.done(end);
        self.acted()
    }

    fn acted(&mut self) -> bool {
        self.react = true;
        self.thought();
        true
    }

    /// Moves the thought before an action to the reasoning.
    fn thought(&mut self) -> bool {
        let found = self.think_from(THOUGHT);
        self.thoughtful |= found;
        found
    }
}
