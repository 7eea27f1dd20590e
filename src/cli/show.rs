//! A turn as a person sees it: the answer as it grows, a line for each call and its result.

use std::collections::{BTreeMap, HashMap};

use claw_runtime::agent::{Observer, Session};
use claw_runtime::event::{EndReason, Event, Fact, GuardVerdict, Purpose, Status, TurnOutcome};
use claw_runtime::message::{ContentBlock, text_of};
use claw_runtime::provider::Delta;
use claw_runtime::registry::Toolset;

use super::terminal::{ASK, BAD, DIM, GOOD, Screen, columns};
use super::text;

/// Columns of a failure's message that are shown; the whole one ends the turn when nothing helps.
const FAILURE: usize = 200;

/// Shows a turn on a [`Screen`].
pub(crate) struct Show<'a> {
    screen: &'a mut Screen,
    tools: &'a Toolset,
    calls: HashMap<String, Call>,
    /// What the reader has seen of the answer since the last call.
    said: String,
    /// Attempts a request may take.
    attempts: u32,
    /// Failed ones of the running request.
    failed: u32,
}

/// Says how many images a service was sent that values are hidden from.
pub(crate) fn unmasked(images: usize) -> String {
    match images {
        1 => "1 image was sent as it is".to_owned(),
        images => format!("{images} images were sent as they are"),
    }
}

struct Call {
    name: String,
    shown: String,
    started: bool,
}

impl<'a> Show<'a> {
    pub(crate) fn new(screen: &'a mut Screen, tools: &'a Toolset, attempts: u32) -> Self {
        Self {
            screen,
            tools,
            calls: HashMap::new(),
            said: String::new(),
            attempts,
            failed: 0,
        }
    }

    /// Prints what of the answer the reader has not seen yet, and why it may be short.
    pub(crate) fn answer(self, outcome: &TurnOutcome) -> std::io::Result<()> {
        // Text made by claw, a reply that did not stream, or no reader to stream to.
        if !self.said.trim_end().ends_with(outcome.text.trim_end()) || self.said.is_empty() {
            self.screen.end_answer();
            self.screen.answer(outcome.text.trim_end());
            self.screen.answer("\n");
        }
        if let EndReason::Limit { limit } = &outcome.reason {
            self.screen
                .note(ASK, &format!("! ended by a limit: {limit}"));
        }
        self.close()
    }

    /// Shows what the user said, where nobody has just typed it.
    pub(crate) fn said(&mut self, text: &str) {
        self.screen.end_answer();
        self.screen.note(DIM, &format!("› {}", text.trim()));
    }

    /// Tells how much the service was not told, and what it was sent as it is.
    pub(crate) fn hidden(&mut self, hidden: &BTreeMap<String, usize>, images: usize) {
        if !hidden.is_empty() {
            let counts = hidden.iter().map(|(name, count)| format!("{count} {name}"));
            let counts = counts.collect::<Vec<_>>().join(", ");
            self.screen.end_answer();
            self.screen
                .note(DIM, &format!("· masked in what was sent: {counts}"));
        }
        if images > 0 {
            self.screen.end_answer();
            self.screen.note(DIM, &format!("· {}", unmasked(images)));
        }
    }

    /// Ends the last line, whatever it holds.
    pub(crate) fn close(self) -> std::io::Result<()> {
        self.screen.end_answer();
        self.screen.finish()
    }

    /// Tells of the calls that an earlier process left open: the reader learns what becomes of them, too.
    pub(crate) fn left_open(&mut self, session: &Session) {
        for open in session.view().iter().flat_map(|view| view.open_calls()) {
            self.call(open.id, open.name, open.arguments);
        }
    }

    fn call(&mut self, id: &str, name: &str, arguments: &str) {
        let secret = self
            .tools
            .get(name)
            .map_or(&[][..], |tool| tool.spec().secret);
        let arguments = text::arguments(arguments, secret, columns());
        self.calls.insert(
            id.to_owned(),
            Call {
                name: name.to_owned(),
                shown: format!("{}({arguments})", text::line(name, 64)),
                started: false,
            },
        );
    }

    fn outcome(&mut self, id: &str, status: Status, content: &[ContentBlock]) {
        self.said.clear();
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        let result = text_of(content);
        // A call that never started has no line of its own yet.
        let what = if call.started {
            text::line(&call.name, 64)
        } else {
            call.shown
        };
        let (style, mark) = if status.is_error() {
            (BAD, '✗')
        } else {
            (GOOD, '✓')
        };
        self.screen
            .note(style, &row(&format!("{mark} {what}: {}", result.trim())));
    }

    fn failed(&mut self, what: &str, retry_ms: Option<u64>) {
        let mut line = format!("! {}", text::line(what, FAILURE));
        self.failed = retry_ms.map_or(0, |_| self.failed + 1);
        if let Some(wait) = retry_ms {
            let seconds = ((wait + 500) / 1_000).max(1);
            let next = self.failed + 1;
            line.push_str(&format!(
                "; trying again in {seconds} s ({next} of {})",
                self.attempts
            ));
        }
        self.screen.note(ASK, &line);
    }
}

impl Observer for Show<'_> {
    fn is_live(&self) -> bool {
        self.screen.live
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::ModelRequest {
                purpose: Purpose::Summary,
                ..
            } => self.screen.status("summarising…"),
            Event::ModelRequest { .. } => self.screen.status("thinking…"),
            Event::Compacted { before, after, .. } => self.screen.note(
                ASK,
                &format!("! the conversation was shortened, from about {before} tokens to {after}; nothing is lost"),
            ),
            Event::CompactionFailed { message, .. } => {
                let message = text::line(message, FAILURE);
                self.screen.note(
                    ASK,
                    &format!("! the conversation could not be summarised: {message}"),
                );
            }
            Event::ModelFailed {
                class,
                message,
                retry_ms,
                ..
            } => self.failed(&format!("{class}: {message}"), *retry_ms),
            Event::Assistant { content, .. } => {
                self.failed = 0;
                for block in content {
                    if let ContentBlock::ToolCall(call) = block {
                        self.call(&call.id, &call.name, &call.arguments);
                    }
                }
            }
            Event::Intent { call, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.started = true;
                    self.screen.note(DIM, &row(&format!("▸ {}", call.shown)));
                }
            }
            Event::Outcome {
                call,
                status,
                content,
                ..
            } => self.outcome(call, *status, content),
            Event::Guard {
                verdict: GuardVerdict::Stop,
                ..
            } => self
                .screen
                .note(ASK, "! the model repeats itself; the turn is wrapped up"),
            Event::Blocked { .. } => self.screen.note(ASK, "? a question is open"),
            Event::Resumed { takeover: 0 } => {}
            Event::Resumed { .. } => self.screen.note(ASK, "! an interrupted turn goes on"),
            Event::Learnt {
                provider,
                model,
                fact: Fact::NoNativeTools,
            } => self.screen.note(
                ASK,
                &text::line(
                    &format!("! `{provider}:{model}` takes no tool definitions; it is asked without them from now on"),
                    FAILURE,
                ),
            ),
            Event::Learnt {
                provider,
                model,
                fact: Fact::FormRefused { tools },
            } => self.screen.note(
                ASK,
                &text::line(
                    &format!(
                        "! `{provider}:{model}` cannot be held to the arguments of `{}`; what it writes there is checked as ever",
                        tools.join("`, `")
                    ),
                    FAILURE,
                ),
            ),
            Event::CancelRequested => self.screen.note(ASK, "! cancelled"),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { text } if self.is_live() => {
                self.screen.answer(text);
                self.said.push_str(text);
            }
            Delta::CallStarted { name, .. } => {
                self.screen
                    .status(&row(&format!("▸ {}…", text::line(name, 64))));
            }
            _ => {}
        }
    }

    fn progress(&mut self, call: &str, line: &str) {
        if let Some(call) = self.calls.get(call) {
            self.screen
                .status(&row(&format!("… {}: {line}", call.name)));
        }
    }
}

/// Returns `text` as one row of the terminal.
fn row(text: &str) -> String {
    text::line(text, columns() - 1)
}
