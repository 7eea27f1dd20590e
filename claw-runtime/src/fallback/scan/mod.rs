//! The scan of a reply: one pass from left to right that tells prose, reasoning, quotations and calls apart.
//!
//! Marked calls count where they stand. Unmarked JSON and fences wait in the tail: text behind them makes them text, the
//! end of the reply makes them calls.

mod bare;
mod quoted;
mod reasoning;

use super::effort::looked;
use super::fault;
use super::marker::{self, Kind, Mark, mark};
use super::repair::{is_all_blank, is_blank};
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
    /// Whether a ReAct thought was found: then a final answer has its label too.
    pub(super) thoughtful: bool,
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
            thoughtful: false,
            last_paragraph: text.trim_end().rfind("\n\n").unwrap_or(0),
            ends_closed: text.trim_end().ends_with(['}', ']', '`']),
            budget: 4 * text.len() + 1024,
            absent: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Scanned {
        while let Some(c) = self.text[self.at..].chars().next() {
            looked(1);
            if self.element(c) {
                continue;
            }
            let end = self.at + c.len_utf8();
            if is_blank(c) {
                self.fresh |= c == '\n';
                self.at = end;
            } else {
                self.prose(end);
            }
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
            Kind::Open | Kind::Bracket if marker::is_reasoning(name) => {
                let pattern = match mark.kind {
                    Kind::Open => format!(
                        "</{}>",
                        &self.text[start + 1..mark.end - 1 - mark.rest.len()]
                    ),
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
            Kind::Open if name == "tool_code" => self.code(mark),
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

    /// Steps over prose.
    fn prose(&mut self, end: usize) {
        self.at = end;
        self.fresh = false;
        self.quiet = false;
    }

    /// Takes bytes from what may be read in attempts; `false` when nothing is left.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        self.budget = self.budget.saturating_sub(bytes);
        self.budget > 0
    }

    /// Tells whether only blanks stand before this on its line.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
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

    /// Tells whether a tool's answer begins here, rather than a word about one.
    fn is_invented(&self, mark: &Mark<'_>) -> bool {
        match mark.kind {
            Kind::Close => false,
            Kind::Token => true,
            _ => self.fresh || !self.calls.is_empty(),
        }
    }

    /// Drops an end tag that belongs to the call before; behind other JSON it tells that a call was meant.
    fn stray(&mut self, mark: &Mark<'_>) -> bool {
        let known = marker::is_end(&mark.name) || marker::is_parameter(&mark.name);
        if !(known && self.quiet) {
            if marker::is_call(&mark.name) && self.text[..self.at].ends_with('}') {
                self.unmarked = true;
                self.doubt();
            }
            return false;
        }
        self.flush(self.at);
        self.done(mark.end);
        true
    }

    /// A call ends here that began nowhere: the one before may have ended too early, at a mark inside its string.
    fn doubt(&mut self) {
        if self.calls.pop().is_some() {
            self.add([Err(fault::fault(
                FaultCode::InvalidJson,
                "The last tool call was not run: it has two ends. Quotation marks inside a string must be escaped."
                    .to_owned(),
                None,
            ))]);
        }
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

    /// Finds `pattern` ahead; a pattern that is absent is looked for once only.
    pub(super) fn find_ahead(&mut self, from: usize, pattern: &str) -> Option<usize> {
        if self.absent.iter().any(|absent| absent == pattern) {
            return None;
        }
        let found = self.text[from..].find(pattern).map(|at| from + at);
        looked(found.unwrap_or(self.text.len()) - from);
        if found.is_none() {
            self.absent.push(pattern.to_owned());
        }
        found
    }
}
