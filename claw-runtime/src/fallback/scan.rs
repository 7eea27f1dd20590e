//! The scan of a reply: one pass from left to right that tells prose, reasoning, quotations and calls apart.
//!
//! Marked calls count where they stand. Unmarked JSON and fences wait in the tail: text behind them makes them text, the
//! end of the reply makes them calls.

use super::fault;
use super::marker::{self, Kind, Mark, mark};
use super::python;
use super::repair::{self, Style, is_all_blank, is_blank};
use super::resolve::{Outcome, Tools};
use super::{Fault, FaultCode, FoundCall};

/// What is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    Reply,
    /// The last fence; `closed` when its end was seen.
    Fence {
        closed: bool,
    },
    /// Reasoning that never ended: only whether there is a call matters.
    Reasoning,
}

/// Something that counts only when nothing follows.
enum Tail {
    Bare(Vec<Outcome>),
    Fence {
        language: String,
        inner: (usize, usize),
        closed: bool,
    },
}

pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) tools: &'a Tools<'a>,
    within: Within,
    /// Where the scan is.
    at: usize,
    /// Where the prose that was not said yet begins.
    from: usize,
    /// Whether only blanks stand between here and the start of the line, or the last marker.
    fresh: bool,
    /// Whether nothing was said since the last call: end tags left over from it are dropped.
    quiet: bool,
    shown: String,
    /// The length of `shown` before the last prose.
    before: usize,
    reasoning: String,
    calls: Vec<FoundCall>,
    faults: Vec<Fault>,
    tail: Vec<(usize, Tail)>,
    /// Whether a marked call was found.
    marked: bool,
    /// Whether a call as unmarked JSON stood before other text.
    unmarked: bool,
    /// Whether a tool's answer was invented.
    pub(super) invented: bool,
    /// Whether the calls are ReAct's: then lines of an invented observation may follow.
    pub(super) react: bool,
    /// Where the last paragraph begins.
    last_paragraph: usize,
    /// Whether the text ends with a closing bracket or fence.
    ends_closed: bool,
    /// Bytes that may still be read in attempts at unmarked JSON.
    budget: usize,
    /// End tags that do not occur in the rest.
    absent: Vec<String>,
}

/// What a scan found.
pub(super) struct Scanned {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<FoundCall>,
    pub(super) faults: Vec<Fault>,
    pub(super) invented: bool,
    pub(super) unmarked: bool,
    marked: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, tools: &'a Tools<'a>, within: Within) -> Self {
        Self {
            text,
            tools,
            within,
            at: 0,
            from: 0,
            fresh: true,
            quiet: false,
            shown: String::new(),
            before: 0,
            reasoning: String::new(),
            calls: Vec::new(),
            faults: Vec::new(),
            tail: Vec::new(),
            marked: false,
            unmarked: false,
            invented: false,
            react: false,
            last_paragraph: text.trim_end().rfind("\n\n").unwrap_or(0),
            ends_closed: text.trim_end().ends_with(['}', ']', '`']),
            budget: 4 * text.len() + 1024,
            absent: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Scanned {
        while let Some(c) = self.text[self.at..].chars().next() {
            if self.element(c) {
                continue;
            }
            if c == '\n' {
                self.fresh = true;
            } else if !is_blank(c) {
                self.fresh = false;
            }
            self.at += c.len_utf8();
        }
        self.flush(self.text.len());
        self.settle();
        Scanned {
            text: self.shown,
            reasoning: self.reasoning,
            calls: self.calls,
            faults: self.faults,
            invented: self.invented,
            unmarked: self.unmarked,
            marked: self.marked,
        }
    }

    /// Handles what begins here, if anything other than prose does.
    fn element(&mut self, c: char) -> bool {
        match c {
            '<' | '[' => match mark(self.text, self.at) {
                Some(mark) => self.marker(&mark),
                None => c == '[' && self.fresh && self.bare(),
            },
            '{' if self.fresh => self.bare(),
            _ if self.within != Within::Reply => false,
            '`' | '~' => self.fence(c) || c == '`' && self.inline_code(),
            '>' if self.fresh => self.quotation(),
            'A' | 'F' | 'O' | 'T' if self.fresh => self.react_line(),
            _ => false,
        }
    }

    fn marker(&mut self, mark: &Mark<'_>) -> bool {
        let start = self.at;
        let name = mark.name.as_str();
        match mark.kind {
            _ if marker::is_response(name) && self.is_invented(mark) => {
                self.flush(start);
                self.invented = true;
                self.done(self.text.len());
                true
            }
            Kind::Open | Kind::Bracket if marker::is_reasoning(name) || name == "think" => {
                let pattern = match mark.kind {
                    Kind::Open => format!("</{name}>"),
                    _ => "[/THINK]".to_owned(),
                };
                self.reasoning_until(mark.end, &pattern)
            }
            Kind::Token if name == "start_thinking" => {
                self.reasoning_until(mark.end, "<|END_THINKING|>")
            }
            Kind::Close if marker::is_reasoning(name) => self.reasoning_ends(mark.end),
            Kind::Bracket if name == "/think" => self.reasoning_ends(mark.end),
            Kind::Token if name == "end_thinking" => self.reasoning_ends(mark.end),
            Kind::Open if marker::is_call(name) => self.call_tag(mark),
            Kind::Open if name == "tool_code" => self.payload(start, mark.end, None),
            Kind::Open if name == "function" || name == "invoke" => self.function(mark),
            Kind::Open if self.fresh && mark.rest.is_empty() => self.tool_tag(mark),
            Kind::Open if matches!(name, "eos" | "end_of_turn") => self.stop_token(mark),
            Kind::Open => false,
            Kind::Close if name == "s" => self.stop_token(mark),
            Kind::Close => self.stray(mark),
            Kind::Bracket => self.bracket_marker(mark),
            Kind::Token if marker::is_stop(name) => self.stop_token(mark),
            Kind::Token => self.token(mark),
        }
    }

    /// Returns where the scan is.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Takes bytes from what may be read in attempts; `false` when nothing is left.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        self.budget = self.budget.saturating_sub(bytes);
        self.budget > 0
    }

    /// Sets the position behind something that is not prose.
    pub(super) fn done(&mut self, end: usize) {
        self.at = end;
        self.from = end;
        self.fresh = true;
    }

    /// Says the prose before `to`.
    pub(super) fn flush(&mut self, to: usize) {
        let prose = &self.text[self.from..to];
        self.before = self.shown.len();
        if !is_all_blank(prose) {
            self.demote(self.from);
            self.shown.push_str(prose);
            self.quiet = false;
        } else if self.tail.is_empty() {
            self.shown.push_str(prose);
        }
        self.from = to;
    }

    /// Makes text of what waited for the end of the reply.
    fn demote(&mut self, to: usize) {
        if let Some((from, _)) = self.tail.first() {
            // Behind a colon it is an example.
            self.unmarked |= !self.shown.trim_end().ends_with(':')
                && self
                    .tail
                    .iter()
                    .any(|(_, tail)| matches!(tail, Tail::Bare(_)));
            self.shown.push_str(&self.text[*from..to]);
            self.tail.clear();
        }
    }

    /// Adds what a marker at `start` brought.
    pub(super) fn push(&mut self, start: usize, outcomes: impl IntoIterator<Item = Outcome>) {
        self.flush(start);
        self.demote(start);
        self.marked = true;
        self.add(outcomes);
    }

    fn add(&mut self, outcomes: impl IntoIterator<Item = Outcome>) {
        for outcome in outcomes {
            match outcome {
                Ok(call) => self.calls.push(call),
                // The model learns nothing from the eleventh.
                Err(fault) if self.faults.len() < 10 => self.faults.push(fault),
                Err(_) => {}
            }
        }
        self.quiet = true;
    }

    fn wait(&mut self, start: usize, tail: Tail) {
        self.flush(start);
        self.tail.push((start, tail));
        self.quiet = true;
    }

    /// Adds what counts only at the end of the reply.
    pub(super) fn wait_calls(&mut self, start: usize, outcomes: Vec<Outcome>) {
        self.wait(start, Tail::Bare(outcomes));
    }

    /// The reply has ended: what still waits was the last thing said.
    fn settle(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        let mut kept = Vec::new();
        let mut end = self.text.len();
        for (from, item) in tail.iter().rev() {
            let scanned = match item {
                Tail::Bare(outcomes) => Some((outcomes.clone(), String::new(), String::new())),
                Tail::Fence {
                    language,
                    inner: (start, end),
                    closed,
                } => self.last_fence(language, &self.text[*start..*end], *closed),
            };
            let Some(scanned) = scanned else { break };
            kept.push(scanned);
            end = *from;
        }
        if let Some((from, _)) = tail.first() {
            self.shown.push_str(&self.text[*from..end.max(*from)]);
        }
        for (outcomes, text, reasoning) in kept.into_iter().rev() {
            self.shown.push_str(&text);
            self.reasoning.push_str(&reasoning);
            self.add(outcomes);
        }
    }

    /// Returns outcomes, text and reasoning of a fence that ends the reply, or `None` when it holds no call.
    fn last_fence(
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

    /// Tells whether a tool's answer begins here, rather than a word about one.
    fn is_invented(&self, mark: &Mark<'_>) -> bool {
        match mark.kind {
            Kind::Close => false,
            Kind::Token => true,
            _ => self.fresh || !self.calls.is_empty(),
        }
    }

    /// Drops an end tag that belongs to the call before.
    fn stray(&mut self, mark: &Mark<'_>) -> bool {
        let known = marker::is_call(&mark.name)
            || marker::is_parameter(&mark.name)
            || matches!(mark.name.as_str(), "function" | "invoke" | "tool_code");
        let blank = is_all_blank(&self.text[self.from..self.at]);
        if !(known && self.quiet && blank) {
            return false;
        }
        self.flush(self.at);
        self.done(mark.end);
        true
    }

    /// Ends the reply at a token that ends what a model says.
    fn stop_token(&mut self, mark: &Mark<'_>) -> bool {
        let rest = &self.text[mark.end..];
        let last = is_all_blank(rest);
        let ends = match mark.kind {
            Kind::Token => last || rest.starts_with(['\n', '\r', '<']),
            _ => last,
        };
        if ends {
            self.flush(self.at);
            self.done(self.text.len());
        }
        ends
    }

    fn reasoning_until(&mut self, from: usize, pattern: &str) -> bool {
        let end = self.find_ahead(from, pattern);
        self.reasoning_block(from, end.map(|end| (end, end + pattern.len())))
    }

    /// Takes the reasoning between `from` and `end`, the place and the end of its end marker.
    pub(super) fn reasoning_block(&mut self, from: usize, end: Option<(usize, usize)>) -> bool {
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
    fn reasoning_ends(&mut self, end: usize) -> bool {
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
    pub(super) fn think_from(&mut self, label: &str) -> bool {
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

    /// Finds `pattern` ahead; a pattern that is absent is looked for once only.
    pub(super) fn find_ahead(&mut self, from: usize, pattern: &str) -> Option<usize> {
        if self.absent.iter().any(|absent| absent == pattern) {
            return None;
        }
        let found = self.text[from..].find(pattern).map(|at| from + at);
        if found.is_none() {
            self.absent.push(pattern.to_owned());
        }
        found
    }

    /// Takes a fenced block.
    fn fence(&mut self, c: char) -> bool {
        let rest = &self.text[self.at..];
        let ticks = rest.len() - rest.trim_start_matches(c).len();
        if !self.fresh || ticks < 3 {
            return false;
        }
        let line = rest.find('\n').unwrap_or(rest.len());
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
    fn inline_code(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let inner = &rest[ticks..];
        // Code runs on over line ends only where it quotes a marker: a lone tick must not hide a call.
        let limit = if inner.starts_with(['<', '[', '{']) {
            inner.find("\n\n")
        } else {
            inner.find('\n')
        };
        let inner = &inner[..limit.unwrap_or(inner.len())];
        let mut at = 0;
        let mut length = ticks;
        while ticks <= 4 {
            let Some(next) = inner[at..].find('`') else {
                break;
            };
            at += next;
            let run = inner.len() - at - inner[at..].trim_start_matches('`').len();
            at += run;
            if run == ticks {
                length = ticks + at;
                break;
            }
        }
        self.at += length;
        self.fresh = false;
        true
    }

    /// Steps over a quoted line, which is prose.
    fn quotation(&mut self) -> bool {
        let line = self.text[self.at..].find('\n');
        self.at = line.map_or(self.text.len(), |line| self.at + line);
        self.fresh = false;
        true
    }

    /// Takes JSON without a marker at the start of a line.
    fn bare(&mut self) -> bool {
        let start = self.at;
        if self.budget == 0 {
            return false;
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
                    _ => {
                        self.at = read.end;
                        self.fresh = false;
                    }
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
