//! What the current step has to say: events first, commands once those are kept.

use std::sync::Arc;

use super::Command;
use crate::event::Event;
use crate::session::Barrier;

/// Events to append and commands held back until they are.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    events: Vec<Event>,
    durable: bool,
    pub(super) commands: Vec<Command>,
}

impl Outbox {
    /// Adds an event that may ride along with the next durable one.
    pub(super) fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Adds an event that must survive power loss before anything goes on.
    pub(super) fn durable(&mut self, event: Event) {
        self.events.push(event);
        self.durable = true;
    }

    /// Returns what is about to be appended.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(super) fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Drops the events of this step: what they say is journaled already.
    pub(super) fn forget(&mut self) {
        self.events.clear();
        self.durable = false;
    }

    /// Takes a call back that the driver was not yet told to run.
    pub(super) fn withdraw(&mut self, id: &str) -> bool {
        let before = self.commands.len();
        self.commands
            .retain(|command| !matches!(command, Command::Run { call, .. } if call == id));
        self.commands.len() < before
    }

    /// Takes a request back that the driver was not yet told to make.
    pub(super) fn withdraw_request(&mut self) -> bool {
        let before = self.commands.len();
        self.commands
            .retain(|command| !matches!(command, Command::Request { .. }));
        self.commands.len() < before
    }

    /// Returns the events to append, when there are some.
    pub(super) fn flush(&mut self) -> Option<(Arc<[Event]>, Barrier)> {
        if self.events.is_empty() {
            return None;
        }
        let barrier = if std::mem::take(&mut self.durable) {
            Barrier::Durable
        } else {
            Barrier::Buffered
        };
        Some((self.events.drain(..).collect(), barrier))
    }
}
