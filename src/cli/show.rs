//! A turn as a person sees it: the answer as it grows, a line for each call and its result.

use std::collections::HashMap;

use claw_runtime::agent::Observer;
use claw_runtime::event::{EndReason, Event, GuardVerdict, Status, TurnOutcome};
use claw_runtime::message::{ContentBlock, text_of};
use claw_runtime::provider::Delta;
use claw_runtime::registry::Toolset;

use super::terminal::{ASK, BAD, DIM, GOOD, Screen};
use super::text;

/// Characters of a call or result that one line shows.
const LINE: usize = 100;

/// Shows a turn on a [`Screen`].
pub(crate) struct Show<'a> {
    screen: &'a mut Screen,
    tools: &'a Toolset,
    calls: HashMap<String, Call>,
    /// What the reader has seen of the answer since the last call.
    said: String,
}

struct Call {
    name: String,
    shown: String,
    started: bool,
}

impl<'a> Show<'a> {
    pub(crate) fn new(screen: &'a mut Screen, tools: &'a Toolset) -> Self {
        Self {
            screen,
            tools,
            calls: HashMap::new(),
            said: String::new(),
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

    /// Ends the last line, whatever it holds.
    pub(crate) fn close(self) -> std::io::Result<()> {
        self.screen.end_answer();
        self.screen.finish()
    }

    fn assistant(&mut self, content: &[ContentBlock]) {
        for block in content {
            if let ContentBlock::ToolCall(call) = block {
                let secret = self
                    .tools
                    .get(&call.name)
                    .map_or(&[][..], |tool| tool.spec().secret);
                let arguments = text::arguments(&call.arguments, secret, LINE);
                self.calls.insert(
                    call.id.clone(),
                    Call {
                        name: call.name.clone(),
                        shown: format!("{}({arguments})", text::line(&call.name, 64)),
                        started: false,
                    },
                );
            }
        }
    }

    fn outcome(&mut self, id: &str, status: Status, content: &[ContentBlock]) {
        self.said.clear();
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        let result = text::line(&text_of(content), LINE);
        // A call that never started has no line of its own yet.
        let what = if call.started {
            text::line(&call.name, 64)
        } else {
            call.shown
        };
        if status.is_error() {
            self.screen.note(BAD, &format!("✗ {what}: {result}"));
        } else {
            self.screen.note(GOOD, &format!("✓ {what}: {result}"));
        }
    }
}

impl Observer for Show<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::ModelRequest { .. } => self.screen.status("thinking…"),
            Event::ModelFailed { class, message } => {
                self.screen
                    .note(ASK, &format!("! {class}: {}", text::line(message, LINE)));
            }
            Event::Assistant { content, .. } => self.assistant(content),
            Event::Intent { call, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.started = true;
                    self.screen.note(DIM, &format!("▸ {}", call.shown));
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
            Event::CancelRequested => self.screen.note(ASK, "! cancelled"),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { text } if self.screen.live => {
                self.screen.answer(text);
                self.said.push_str(text);
            }
            Delta::CallStarted { name, .. } => {
                self.screen.status(&format!("▸ {}…", text::line(name, 64)));
            }
            _ => {}
        }
    }

    fn progress(&mut self, call: &str, line: &str) {
        if let Some(call) = self.calls.get(call) {
            self.screen
                .status(&format!("  {}: {}", call.name, text::line(line, LINE)));
        }
    }
}
