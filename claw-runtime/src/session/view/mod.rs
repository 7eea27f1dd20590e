//! The fold: from a journal's events to what the model sees.
//!
//! The view is a pure function of the events, so any host that folds a journal sends the same bytes. Its conversation
//! is valid after every event: a round whose calls are not all answered carries made-up answers until the real ones
//! come. So there is no repair pass that could be forgotten, and a session can always go on.
//!
//! Messages are only appended. The last one alone may still change: an open round fills in its answers, and what the
//! user adds before the next request joins what was said before.

mod round;

use std::borrow::Cow;
use std::collections::HashSet;

use round::Round;
pub use round::{OpenCall, Started};

use crate::budget::Ledger;
use crate::event::{Answer, EndReason, Event, Fact, ReAsk, TurnOutcome};
use crate::message::{ContentBlock, Message, Role, Usage};

/// What the model reads as the user's word where its own answer was cut off and goes on.
const GO_ON: &str =
    "[Your answer was cut off. Go on exactly where it stopped, without repeating it.]";
/// What stands for an answer that a cancelled turn never gave.
const CANCELLED: &str = "[The user cancelled this turn before it was answered.]";
/// What stands for a message without content.
const NOTHING_SAID: &str = "[empty message]";

/// A session as folded from its events; a pure function of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    messages: Vec<Message>,
    round: Option<Round>,
    in_flight: bool,
    re_ask: Option<ReAsk>,
    /// Said while a request or a round was under way; enters with the next request.
    deferred: Vec<Vec<ContentBlock>>,
    keys: HashSet<String>,
    call_ids: HashSet<String>,
    context: Option<(String, String)>,
    learnt: HashSet<(String, String, Fact)>,
    approved: HashSet<String>,
    always: HashSet<String>,
    unknown: HashSet<String>,
    usage: Usage,
    ledger: Ledger,
    /// The session and the call this one was started by.
    parent: Option<(String, String)>,
    rounds: u32,
    ended: bool,
}

impl View {
    /// Folds one more event in.
    pub fn apply(&mut self, event: &Event) {
        self.ledger.apply(event);
        match event {
            Event::UserInput { key, content } => self.user_input(key, content),
            Event::ContextChanged { system, toolset } => {
                self.context = Some((system.clone(), toolset.clone()));
            }
            Event::Learnt {
                provider,
                model,
                fact,
            } => {
                self.learnt.insert((provider.clone(), model.clone(), *fact));
            }
            Event::ModelRequest { round, re_ask, .. } => {
                self.close_round();
                self.flush();
                self.in_flight = true;
                self.ended = false;
                self.re_ask.clone_from(re_ask);
                self.rounds = *round;
            }
            Event::ModelFailed { .. } => self.in_flight = false,
            Event::Assistant { content, usage, .. } => {
                self.in_flight = false;
                if let Some(usage) = usage {
                    self.usage += *usage;
                }
                self.close_round();
                self.assistant(content);
            }
            Event::Approval {
                call,
                digest,
                answer,
            } => self.approval(call, digest, *answer),
            Event::Intent {
                call,
                effect,
                attempt,
                digest,
            } => {
                if let Some(round) = &mut self.round {
                    round.started(&mut self.messages, call, *effect, *attempt, digest);
                }
            }
            Event::Outcome {
                call,
                status,
                content,
                ..
            } => {
                let Some(round) = &mut self.round else { return };
                round.answer(&mut self.messages, call, *status, content);
                if round.is_answered() {
                    self.close_round();
                }
            }
            Event::TurnEnd { outcome, .. } => self.turn_end(outcome),
            Event::Spawned { parent, call, .. } => {
                self.parent = Some((parent.clone(), call.clone()));
            }
            Event::Faulty { .. }
            | Event::WrapUp { .. }
            | Event::Decision { .. }
            | Event::ApprovalAsked { .. }
            | Event::Guard { .. }
            | Event::Blocked { .. }
            | Event::Resumed { .. }
            | Event::CancelRequested => {}
        }
    }

    /// Returns the conversation as the model sees it: every call answered exactly once, roles in legal order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns how many messages, from the first, stay as they are whatever happens next.
    pub fn settled(&self) -> usize {
        self.messages.len().saturating_sub(1)
    }

    /// Returns what the request that is under way sends: the conversation and, where the model is asked again, why.
    ///
    /// The addition belongs to that one request; it never enters the conversation.
    pub fn request_messages(&self) -> Cow<'_, [Message]> {
        let last = self.messages.last().map(|message| message.role);
        let Some(ReAsk { said, fault }) = &self.re_ask else {
            if last != Some(Role::Assistant) {
                return Cow::Borrowed(&self.messages);
            }
            let mut messages = self.messages.clone();
            messages.push(Message::user(GO_ON));
            return Cow::Owned(messages);
        };
        let mut messages = self.messages.clone();
        if !said.trim().is_empty() && matches!(last, Some(Role::User | Role::Tool)) {
            messages.push(Message::assistant(vec![ContentBlock::text(said)]));
        }
        push_user(&mut messages, vec![ContentBlock::text(fault)]);
        Cow::Owned(messages)
    }

    /// Returns the digests of system prompt and toolset, once they are known.
    pub fn context(&self) -> Option<(&str, &str)> {
        self.context
            .as_ref()
            .map(|(system, toolset)| (&**system, &**toolset))
    }

    /// Tells whether `fact` was learnt about a model.
    pub fn has_learnt(&self, provider: &str, model: &str, fact: Fact) -> bool {
        self.learnt
            .iter()
            .any(|(p, m, f)| p == provider && m == model && *f == fact)
    }

    /// Tells whether a person let `tool` run for the rest of the session, with these arguments or with any.
    pub fn is_approved(&self, tool: &str, digest: &str) -> bool {
        self.approved.contains(digest) || self.always.contains(tool)
    }

    /// Tells whether a call of this digest was started and nobody knows whether it had its effect.
    pub fn is_unknown(&self, digest: &str) -> bool {
        self.unknown.contains(digest)
    }

    /// Tells whether an input of this key was taken.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Tells whether a call of the session has this id.
    pub fn has_call(&self, id: &str) -> bool {
        self.call_ids.contains(id)
    }

    /// Returns how many calls the session has seen.
    pub fn calls(&self) -> usize {
        self.call_ids.len()
    }

    /// Iterates over the calls of the last round that have no answer yet, in call order.
    pub fn open_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.round.iter().flat_map(Round::open_calls)
    }

    /// Returns the tokens the session has used.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns what the session has spent.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the session and the call that this one works for, when it is a sub-agent's: that call picks it up again.
    pub fn parent(&self) -> Option<(&str, &str)> {
        self.parent
            .as_ref()
            .map(|(session, call)| (&**session, &**call))
    }

    /// Returns the rounds of the last turn.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Tells whether the last turn has come to an end, so that nothing waits for an answer.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn user_input(&mut self, key: &str, content: &[ContentBlock]) {
        if !self.keys.insert(key.to_owned()) {
            return;
        }
        self.ended = false;
        let content = said_by_user(content);
        if self.in_flight || self.round.is_some() || !self.deferred.is_empty() {
            self.deferred.push(content);
        } else {
            push_user(&mut self.messages, content);
        }
    }

    fn flush(&mut self) {
        for content in std::mem::take(&mut self.deferred) {
            push_user(&mut self.messages, content);
        }
    }

    fn assistant(&mut self, content: &[ContentBlock]) {
        let mut calls = Vec::new();
        let content: Vec<_> = content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolResult(_) => None,
                ContentBlock::Text { text } if text.trim().is_empty() => None,
                ContentBlock::ToolCall(call) => self.call_ids.insert(call.id.clone()).then(|| {
                    calls.push(OpenCall::new(call));
                    ContentBlock::ToolCall(round::sendable(call))
                }),
                other => Some(other.clone()),
            })
            .collect();
        if content.iter().all(is_silent) {
            return;
        }
        self.push_assistant(content);
        if !calls.is_empty() {
            self.round = Some(Round::open(&mut self.messages, calls));
        }
    }

    fn push_assistant(&mut self, content: Vec<ContentBlock>) {
        if !matches!(
            self.messages.last().map(|message| message.role),
            Some(Role::User | Role::Tool)
        ) {
            self.messages.push(Message::user(GO_ON));
        }
        self.messages.push(Message::assistant(content));
    }

    fn approval(&mut self, call: &str, digest: &str, answer: Answer) {
        match answer {
            Answer::Session => {
                self.approved.insert(digest.to_owned());
            }
            Answer::Always => {
                let named = self.round.as_ref().and_then(|round| round.open_call(call));
                if let Some(call) = named {
                    self.always.insert(call.name.clone());
                }
            }
            Answer::Once | Answer::Deny | Answer::Unanswered => {}
        }
    }

    fn close_round(&mut self) {
        if let Some(round) = self.round.take() {
            round.settle(&mut self.unknown);
        }
    }

    fn turn_end(&mut self, outcome: &TurnOutcome) {
        self.close_round();
        self.in_flight = false;
        self.re_ask = None;
        self.ended = true;
        // What the turn told the user in place of an answer is part of the conversation.
        let text = match outcome.reason {
            EndReason::Cancelled if outcome.text.trim().is_empty() => CANCELLED,
            _ => outcome.text.trim(),
        };
        let waits = |message: &Message| message.role != Role::Assistant;
        if !text.is_empty() && self.messages.last().is_some_and(waits) {
            self.push_assistant(vec![ContentBlock::text(text)]);
        }
        self.flush();
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

/// Adds to what the user said last, or begins a new message after somebody else's.
fn push_user(messages: &mut Vec<Message>, content: Vec<ContentBlock>) {
    match messages.last_mut() {
        Some(last) if last.role == Role::User => last.content.extend(content),
        _ => messages.push(Message {
            role: Role::User,
            content,
        }),
    }
}

/// Keeps what a user can say; calls and results in their name are not.
fn said_by_user(content: &[ContentBlock]) -> Vec<ContentBlock> {
    let said: Vec<_> = content
        .iter()
        .filter(|block| match block {
            ContentBlock::Text { text } => !text.trim().is_empty(),
            block => matches!(
                block,
                ContentBlock::Image(_) | ContentBlock::Resource { .. }
            ),
        })
        .cloned()
        .collect();
    if said.is_empty() {
        return vec![ContentBlock::text(NOTHING_SAID)];
    }
    said
}

/// Tells whether a block alone makes no message: services refuse an assistant message without text or calls.
fn is_silent(block: &ContentBlock) -> bool {
    matches!(
        block,
        ContentBlock::Reasoning { .. } | ContentBlock::Opaque { .. }
    )
}
