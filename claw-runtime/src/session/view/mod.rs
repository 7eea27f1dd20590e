//! The fold: from a journal's events to what the model sees.
//!
//! The view is a pure function of the events, so any host that folds a journal sends the same bytes. Its conversation
//! is valid after every event: a round whose calls are not all answered carries made-up answers until the real ones
//! come. So there is no repair pass that could be forgotten, and a session can always go on.
//!
//! Messages are only appended. The last one alone may still change: an open round fills in its answers, and what the
//! user adds before the next request joins what was said before. Only a compaction and a step back change more, and they
//! say so by events of their own.

mod conversation;
mod past;
mod round;
mod shorten;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

pub(crate) use conversation::Mark;
use conversation::{Compaction, Conversation, Pins};
use past::Kind;
use round::Round;
pub use round::{OpenCall, Started};
pub(crate) use shorten::SHOWN;

use crate::budget::Ledger;
use crate::dialect::Dialect;
use crate::event::{Answer, EndReason, Event, Fact, Purpose, ReAsk, TurnOutcome};
use crate::message::{ContentBlock, Message, Role, Usage, text_of};

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
    conversation: Conversation,
    /// Events folded in.
    seq: u64,
    /// The event that began the turn, while one is open.
    turn: Option<u64>,
    pinned: BTreeSet<u64>,
    round: Option<Round>,
    in_flight: bool,
    re_ask: Option<ReAsk>,
    /// Said while a request or a round was under way; enters with the next request.
    deferred: Vec<Vec<ContentBlock>>,
    keys: HashSet<String>,
    call_ids: HashSet<String>,
    context: Option<(String, String)>,
    learnt: HashSet<(String, String, Fact)>,
    /// By provider and model.
    windows: HashMap<(String, String), u64>,
    /// Digests of outputs that had to be cut, by call.
    blobs: HashMap<String, String>,
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
        self.seq += 1;
        self.take(event);
        self.conversation.mark(self.seq);
    }

    fn take(&mut self, event: &Event) {
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
                let model = (provider.clone(), model.clone());
                match fact {
                    Fact::Window { tokens } => {
                        self.windows.insert(model, *tokens);
                    }
                    fact => {
                        self.learnt.insert((model.0, model.1, fact.clone()));
                    }
                }
            }
            Event::ModelRequest {
                purpose: Purpose::Summary,
                ..
            } => {}
            Event::ModelRequest { round, re_ask, .. } => {
                self.close_round();
                self.flush();
                self.in_flight = true;
                self.ended = false;
                self.re_ask.clone_from(re_ask);
                self.rounds = *round;
            }
            Event::ModelFailed { usage, .. } => {
                self.in_flight = false;
                if let Some(usage) = usage {
                    self.usage += *usage;
                }
            }
            Event::Assistant { content, usage, .. } => {
                self.in_flight = false;
                self.spend(*usage);
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
                    round.started(
                        &mut self.conversation.messages,
                        call,
                        *effect,
                        *attempt,
                        digest,
                    );
                }
            }
            Event::Outcome {
                call,
                status,
                content,
                blob,
                ..
            } => {
                let Some(round) = &mut self.round else { return };
                if let Some(blob) = blob.as_ref().filter(|_| round.open_call(call).is_some()) {
                    self.blobs.insert(call.clone(), blob.clone());
                }
                round.answer(&mut self.conversation.messages, call, *status, content);
                if round.is_answered() {
                    self.close_round();
                }
            }
            Event::TurnEnd { outcome, .. } => self.turn_end(outcome),
            Event::Spawned { parent, call, .. } => {
                self.parent = Some((parent.clone(), call.clone()));
            }
            Event::Compacted {
                through,
                summary,
                elided,
                usage,
                ..
            } => {
                self.spend(*usage);
                let open = self.open_messages();
                let compaction = Compaction {
                    through: *through,
                    summary: summary.as_deref(),
                    elided,
                };
                let pins = Pins {
                    pinned: &self.pinned,
                    turn: self.turn,
                    now: self.seq,
                };
                self.conversation.compact(compaction, pins, open);
            }
            Event::CompactionFailed { usage, .. } => self.spend(*usage),
            Event::Undone { to } => self.undone(*to),
            Event::Pinned { seq } => {
                self.pinned.insert(*seq);
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
        &self.conversation.messages
    }

    /// Returns how many messages, from the first, stay as they are until a compaction or a step back.
    pub fn settled(&self) -> usize {
        self.messages().len().saturating_sub(1)
    }

    /// Returns what the request that is under way sends: the conversation and, where the model is asked again, why.
    ///
    /// The addition belongs to that one request; it never enters the conversation.
    pub fn request_messages(&self) -> Cow<'_, [Message]> {
        let last = self.messages().last().map(|message| message.role);
        let Some(ReAsk { said, fault }) = &self.re_ask else {
            if last != Some(Role::Assistant) {
                return Cow::Borrowed(self.messages());
            }
            let mut messages = self.messages().to_vec();
            messages.push(Message::user(GO_ON));
            return Cow::Owned(messages);
        };
        let mut messages = self.messages().to_vec();
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
    pub fn has_learnt(&self, provider: &str, model: &str, fact: &Fact) -> bool {
        self.learnt
            .iter()
            .any(|(p, m, f)| p == provider && m == model && f == fact)
    }

    /// Returns the tools whose arguments a form for this model leaves open.
    pub fn loose<'v>(&'v self, provider: &str, model: &str) -> BTreeSet<&'v str> {
        let of_model = |(p, m, fact): &'v (String, String, Fact)| match fact {
            Fact::FormRefused { tools } if p == provider && m == model => tools.as_slice(),
            _ => &[],
        };
        let tools = self.learnt.iter().flat_map(of_model);
        tools.map(String::as_str).collect()
    }

    /// Returns the dialect that a model's tools go in when `declared` is the one it is said to take: the first of it and
    /// its laxer ones that was not seen to be refused.
    pub fn dialect(
        &self,
        provider: &str,
        model: &str,
        declared: &'static Dialect,
    ) -> &'static Dialect {
        let mut dialect = declared;
        while let Some(laxer) = dialect.laxer() {
            let refused = Fact::SchemaRefused {
                dialect: dialect.name.to_owned(),
            };
            if !self.has_learnt(provider, model, &refused) {
                break;
            }
            dialect = laxer;
        }
        dialect
    }

    /// Returns how many tokens a model reads at most, when that was learnt.
    pub fn window(&self, provider: &str, model: &str) -> Option<u64> {
        if self.windows.is_empty() {
            return None;
        }
        let known = (provider.to_owned(), model.to_owned());
        self.windows.get(&known).copied()
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

    /// Returns the number of events folded in, which is the last one's seq.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the conversation's tokens, estimated.
    pub fn tokens(&self) -> u64 {
        self.conversation.tokens()
    }

    /// Returns the conversation's tokens, estimated, once `event` is folded in, which is a compaction.
    pub fn tokens_after(&self, event: &Event) -> u64 {
        let Event::Compacted {
            through,
            summary,
            elided,
            ..
        } = event
        else {
            return self.tokens();
        };
        let compaction = Compaction {
            through: *through,
            summary: summary.as_deref(),
            elided,
        };
        self.conversation
            .tokens_after(compaction, self.pins(), self.open_messages())
    }

    /// Returns where the messages come from, one for each.
    pub(crate) fn marks(&self) -> &[Mark] {
        self.conversation.marks()
    }

    /// Tells whether a turn has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns the digest of a call's whole output, where the conversation has it cut.
    pub fn whole(&self, call: &str) -> Option<&str> {
        self.blobs.get(call).map(String::as_str)
    }

    /// Returns the text of a call's result as it stands in the conversation.
    pub fn result_text(&self, call: &str) -> Option<String> {
        let messages = self.messages().iter().rev();
        let mut blocks = messages.flat_map(|message| &message.content);
        blocks.find_map(|block| match block {
            ContentBlock::ToolResult(result) if result.call_id == call => {
                Some(text_of(&result.content))
            }
            _ => None,
        })
    }

    /// Returns what [`Event::Undone`] must say to take back the last turn, or the last compaction after it; `None` when
    /// there is nothing to take back.
    pub fn back(&self) -> Option<u64> {
        self.conversation.back()
    }

    /// Returns what [`Event::Undone`] must say to take the last step back back; `None` when there was none, or something
    /// was said since.
    pub fn forth(&self) -> Option<u64> {
        self.conversation.forth()
    }

    fn spend(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.usage += usage;
        }
    }

    fn pins(&self) -> Pins<'_> {
        Pins {
            pinned: &self.pinned,
            turn: self.turn,
            now: self.seq,
        }
    }

    /// Returns how many messages, from the last, an open round still fills.
    fn open_messages(&self) -> usize {
        2 * usize::from(self.round.is_some())
    }

    fn undone(&mut self, to: u64) {
        self.close_round();
        self.in_flight = false;
        self.re_ask = None;
        self.deferred.clear();
        self.turn = None;
        self.ended = true;
        self.conversation.undo(to, self.seq);
    }

    fn user_input(&mut self, key: &str, content: &[ContentBlock]) {
        if !self.keys.insert(key.to_owned()) {
            return;
        }
        self.ended = false;
        if self.turn.is_none() {
            self.turn = Some(self.seq);
            self.conversation.begin(Kind::Whole, self.seq);
        }
        let content = said_by_user(content);
        if self.in_flight || self.round.is_some() || !self.deferred.is_empty() {
            self.deferred.push(content);
        } else {
            push_user(&mut self.conversation.messages, content);
        }
    }

    fn flush(&mut self) {
        for content in std::mem::take(&mut self.deferred) {
            push_user(&mut self.conversation.messages, content);
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
            self.round = Some(Round::open(&mut self.conversation.messages, calls));
        }
    }

    fn push_assistant(&mut self, content: Vec<ContentBlock>) {
        let messages = &mut self.conversation.messages;
        if !matches!(
            messages.last().map(|message| message.role),
            Some(Role::User | Role::Tool)
        ) {
            messages.push(Message::user(GO_ON));
        }
        messages.push(Message::assistant(content));
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
        if !text.is_empty() && self.messages().last().is_some_and(waits) {
            self.push_assistant(vec![ContentBlock::text(text)]);
        }
        self.flush();
        self.turn = None;
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

/// Tells whether the view itself made up what stands for the user's word.
fn is_made_up(content: &[ContentBlock]) -> bool {
    matches!(content, [ContentBlock::Text { text }] if text == GO_ON)
}

/// Keeps what a user can say; calls and results in their name are not.
fn said_by_user(content: &[ContentBlock]) -> Vec<ContentBlock> {
    let mut said = Vec::with_capacity(content.len());
    said.extend(
        content
            .iter()
            .filter(|block| match block {
                ContentBlock::Text { text } => !text.trim().is_empty(),
                block => matches!(
                    block,
                    ContentBlock::Image(_) | ContentBlock::Resource { .. }
                ),
            })
            .cloned(),
    );
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
