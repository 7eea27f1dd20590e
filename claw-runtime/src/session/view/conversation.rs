//! The messages of a view, where each comes from, and how they get shorter and long again.

use std::collections::{BTreeSet, HashMap};

use super::past::{Kind, Other, Past};
use super::shorten;
use crate::event::Elided;
use crate::message::{ContentBlock, Message, Role};
use crate::tokens;

/// Where a message comes from and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The event it began with. A call and its result share one, so no border falls between them.
    pub(crate) seq: u64,
    /// Its estimated tokens, once nothing is added to it any more.
    pub(crate) tokens: u64,
}

/// What compaction put at the beginning of the first message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Head {
    /// How many blocks.
    pub(super) blocks: usize,
    /// What of it the user said.
    pub(super) held: Vec<Held>,
}

/// What the user said, held in view word for word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    /// The first event it may come from.
    pub(super) seq: u64,
    /// The first event after it.
    pub(super) until: u64,
    pub(super) content: Vec<ContentBlock>,
}

/// What must stay in view word for word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pins<'v> {
    /// Events somebody pinned.
    pub(super) pinned: &'v BTreeSet<u64>,
    /// The first event of the running turn.
    pub(super) turn: Option<u64>,
    /// The last event.
    pub(super) now: u64,
}

impl Pins<'_> {
    /// Tells whether something belongs to the running turn.
    pub(super) fn of_turn(&self, held: &Held) -> bool {
        self.turn.is_some_and(|turn| held.until > turn)
    }

    fn hold(&self, held: &Held) -> bool {
        self.of_turn(held) || self.pinned.range(held.seq..held.until).next().is_some()
    }
}

/// What a compaction does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compaction<'e> {
    pub(super) through: u64,
    pub(super) summary: Option<&'e str>,
    pub(super) elided: &'e [Elided],
}

/// The messages, of which only the last may still change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Message>,
    marks: Vec<Mark>,
    head: Head,
    /// Estimated tokens of all messages but the last.
    settled: u64,
    past: Past,
}

impl Conversation {
    pub(super) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns the estimated tokens of all messages.
    pub(super) fn tokens(&self) -> u64 {
        self.settled + self.messages.last().map_or(0, tokens::of_message)
    }

    /// Notes that the messages without a mark came with event `seq`.
    pub(super) fn mark(&mut self, seq: u64) {
        while self.marks.len() < self.messages.len() {
            if let Some(before) = self.marks.len().checked_sub(1) {
                let tokens = tokens::of_message(&self.messages[before]);
                self.marks[before].tokens = tokens;
                self.settled += tokens;
            }
            self.marks.push(Mark { seq, tokens: 0 });
        }
    }

    /// Begins a step that can be undone.
    pub(super) fn begin(&mut self, kind: Kind, seq: u64) {
        // What an assistant said is whole; every other last message may grow.
        let whole = |last: &Message| last.role == Role::Assistant;
        let at = self.messages.len() - usize::from(!self.messages.last().is_none_or(whole));
        let other = Other {
            messages: self.messages[at..].to_vec(),
            marks: self.marks[at..].to_vec(),
            head: None,
        };
        self.past.begin(kind, seq, at, other);
    }

    /// Makes the conversation again what it was after event `to`; `seq` is the event that says so.
    pub(super) fn undo(&mut self, to: u64, seq: u64) {
        let (path, forth) = self.past.path(to, seq);
        if path.is_empty() {
            return;
        }
        for step in path {
            let (at, other) = self.past.exchange(step);
            let messages = self.messages.split_off(at);
            let marks = self.marks.split_off(at);
            self.messages.append(&mut other.messages);
            self.marks.append(&mut other.marks);
            (other.messages, other.marks) = (messages, marks);
            if let Some(head) = &mut other.head {
                std::mem::swap(head, &mut self.head);
            }
        }
        self.settle();
        self.begin(Kind::Back { forth }, seq);
    }

    /// Hides and shortens. The last `open` messages stay as they are: somebody still fills them.
    pub(super) fn compact(&mut self, compaction: Compaction<'_>, pins: Pins<'_>, open: usize) {
        let Some((at, new)) = self.compacted(compaction, pins, open) else {
            return;
        };
        let kind = match pins.turn {
            Some(_) => Kind::Within,
            None => Kind::Whole,
        };
        let other = Other {
            messages: self.messages.split_off(at),
            marks: self.marks.split_off(at),
            head: new.head.as_ref().map(|_| self.head.clone()),
        };
        self.messages.extend(new.messages);
        self.marks.extend(new.marks);
        if let Some(head) = new.head {
            self.head = head;
        }
        self.past.begin(kind, pins.now, at, other);
        self.settle();
    }

    /// Returns the estimated tokens after a compaction that is not made yet.
    pub(super) fn tokens_after(
        &self,
        compaction: Compaction<'_>,
        pins: Pins<'_>,
        open: usize,
    ) -> u64 {
        match self.compacted(compaction, pins, open) {
            None => self.tokens(),
            Some((at, new)) => {
                let before: u64 = self.marks[..at].iter().map(|mark| mark.tokens).sum();
                before + tokens::of_messages(&new.messages)
            }
        }
    }

    /// Returns the message from which on a compaction changes something, and what stands there then.
    fn compacted(
        &self,
        compaction: Compaction<'_>,
        pins: Pins<'_>,
        open: usize,
    ) -> Option<(usize, Other)> {
        let closed = self.messages.len().saturating_sub(open);
        let border = self.marks[..closed].partition_point(|mark| mark.seq <= compaction.through);
        let elided: HashMap<&str, &str> = compaction
            .elided
            .iter()
            .map(|elided| (&*elided.call, &*elided.digest))
            .collect();
        let shortened = |at: &usize| shorten::names(&self.messages[*at], &elided);
        let first = match border {
            0 => (0..closed).find(shortened)?,
            _ => 0,
        };
        let from = border.max(first);
        let mut messages = self.messages[from..].to_vec();
        let mut marks = self.marks[from..].to_vec();
        for message in &mut messages[..closed - from] {
            shorten::elide(message, &elided);
        }
        if border == 0 {
            measure(&messages, &mut marks);
            let head = None;
            return Some((
                first,
                Other {
                    messages,
                    marks,
                    head,
                },
            ));
        }
        let held = self.held(border, pins);
        let content = shorten::head(&held, pins, compaction.summary);
        let head = Some(Head {
            blocks: content.len(),
            held,
        });
        match messages
            .first_mut()
            .filter(|first| first.role == Role::User)
        {
            Some(first) => {
                first.content.splice(..0, content);
            }
            None => {
                let role = Role::User;
                messages.insert(0, Message { role, content });
                let seq = self.marks[border - 1].seq;
                marks.insert(0, Mark { seq, tokens: 0 });
            }
        }
        measure(&messages, &mut marks);
        Some((
            0,
            Other {
                messages,
                marks,
                head,
            },
        ))
    }

    /// Returns what of the first `border` messages must stay word for word.
    fn held(&self, border: usize, pins: Pins<'_>) -> Vec<Held> {
        let mut held = self.head.held.clone();
        for (at, message) in self.messages[..border].iter().enumerate() {
            let own = if at == 0 { self.head.blocks } else { 0 };
            let content = message.content.get(own..).unwrap_or_default();
            if message.role == Role::User && !content.is_empty() && !super::is_made_up(content) {
                let next = self.marks.get(at + 1);
                held.push(Held {
                    seq: self.marks[at].seq,
                    until: next.map_or(pins.now + 1, |mark| mark.seq),
                    content: content.to_vec(),
                });
            }
        }
        held.retain(|held| pins.hold(held));
        held
    }

    /// Returns the last event of the state one step back.
    pub(super) fn back(&self) -> Option<u64> {
        self.past.back()
    }

    /// Returns the last event of the state one step forth.
    pub(super) fn forth(&self) -> Option<u64> {
        self.past.forth()
    }

    fn settle(&mut self) {
        let settled = self.marks.len().saturating_sub(1);
        self.settled = self.marks[..settled].iter().map(|mark| mark.tokens).sum();
    }
}

fn measure(messages: &[Message], marks: &mut [Mark]) {
    for (mark, message) in marks.iter_mut().zip(messages) {
        mark.tokens = tokens::of_message(message);
    }
}
