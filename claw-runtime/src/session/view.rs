//! The fold: from a journal's events to what the model sees.

use crate::event::Event;
use crate::message::Message;

/// A session as folded from its events; a pure function of them.
#[derive(Clone, Debug, Default)]
pub struct View {
    messages: Vec<Message>,
}

impl View {
    /// Folds one more event in.
    pub fn apply(&mut self, event: &Event) {
        let _ = event;
    }

    /// Returns the conversation as the model sees it: every call answered exactly once, roles in legal order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

impl<'a> FromIterator<&'a Event> for View {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Self {
        let mut view = Self::default();
        for event in events {
            view.apply(event);
        }
        view
    }
}
