//! Makes the conversation fit the model's window, between rounds, also within a running turn.
//!
//! Results that were read give way to references first, which costs nothing. When that is not enough, a model writes a
//! summary of what came before, while the newest messages stay as they are. When it cannot, nothing changes but a note in
//! the journal, unless the next request would not fit: then the oldest rounds are dropped. Nothing is hidden by an
//! estimate alone that leaves the conversation longer than it was.

mod plan;
mod summary;
mod window;

use plan::Reach;
use summary::Summary;

use super::reply::{clip, read_text};
use super::{Command, Phase, Turn};
use crate::event::{Cause, Elided, EndReason, Event, Purpose};
use crate::message::{Message, Usage, text_of};
use crate::provider::{FailureClass, ProviderError, Reply, ToolChoice};
use crate::tokens;

/// Characters of a failure's message that are kept.
const MESSAGE_CHARS: usize = 300;

/// The room a model has for a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// How many tokens it reads, prompt and answer together, as its provider declares.
    pub window: Option<u64>,
    /// Tokens of the system prompt and the tools, estimated.
    pub prompt: u64,
}

/// What a summary request sends.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRequest {
    /// Standing instructions.
    pub system: &'static str,
    /// The transcript to summarise.
    pub message: Message,
    /// Output limit in tokens.
    pub max_output_tokens: u64,
}

/// How far a round's compaction is.
#[derive(Debug, Default)]
pub(super) enum Stage {
    /// Not looked at.
    #[default]
    Open,
    /// Begins once the events at hand are kept, so that the view shows all of them.
    Due(Cause),
    /// A summary is being written.
    Summarising(Cause, Box<Summary>),
    /// Done, or not needed.
    Done,
}

/// How much fits.
#[derive(Clone, Copy, Debug)]
struct Fit {
    window: u64,
    /// Whether somebody told the window, so that more than it is refused.
    known: bool,
    prompt: u64,
    /// What the conversation may take.
    room: u64,
}

impl Fit {
    fn share(self, hundredths: u32) -> u64 {
        self.room.saturating_mul(u64::from(hundredths)) / 100
    }
}

impl Turn {
    fn fit(&self) -> Fit {
        let limits = &self.setup.limits;
        let Room { window, prompt } = self
            .setup
            .room
            .get(self.target)
            .copied()
            .unwrap_or_default();
        let learnt = self
            .setup
            .targets
            .get(self.target)
            .and_then(|target| self.view.window(&target.provider, &target.model));
        let told = limits.window.or(learnt).or(window);
        // What is only assumed must not be filled by the prompt alone.
        let window = told.unwrap_or_else(|| window::UNKNOWN.max(prompt.saturating_mul(2)));
        let answer = limits
            .max_output_tokens
            .unwrap_or(window / 8)
            .min(window / 2);
        Fit {
            window,
            known: told.is_some(),
            prompt,
            room: window.saturating_sub(prompt).saturating_sub(answer),
        }
    }

    /// Returns about how many tokens the next request sends, whose conversation is about so many.
    pub(super) fn prompt_tokens(&self, conversation: u64) -> u64 {
        self.fit().prompt + conversation
    }

    /// Returns the conversation's estimated tokens with what is about to be appended. Ask once a request: it reads the texts
    /// of the last round.
    pub(super) fn conversation_tokens(&self) -> u64 {
        let mut tokens = self.view.tokens();
        for event in self.out.events() {
            match event {
                Event::Outcome { content, .. }
                | Event::UserInput { content, .. }
                | Event::Assistant { content, .. } => tokens += tokens::of_content(content),
                Event::Compacted { after, .. } => tokens = *after,
                _ => {}
            }
        }
        if let Phase::Asking(asking) = &self.phase
            && let Some(again) = asking.re_ask()
        {
            tokens += tokens::estimate(&again.said) + tokens::estimate(&again.fault);
        }
        tokens
    }

    /// Returns how many messages the next request has.
    fn messages(&self) -> usize {
        let said = |event: &&Event| matches!(event, Event::UserInput { .. });
        self.view.messages().len() + usize::from(self.out.events().iter().any(|it| said(&it)))
    }

    /// Begins a compaction when one is due before the next request, whose conversation is about `tokens`. Returns whether it
    /// did.
    pub(super) fn compacts(&mut self, tokens: u64) -> bool {
        let Phase::Asking(asking) = &self.phase else {
            return false;
        };
        if !matches!(asking.stage, Stage::Open) {
            return false;
        }
        let limits = &self.setup.limits;
        let fit = self.fit();
        let full = match self.no_summary {
            // It fits and could not be made shorter: so be it.
            true => tokens > fit.room,
            false => tokens > fit.share(limits.compact_at),
        };
        let many = limits
            .most_messages
            .is_some_and(|most| self.messages() > most);
        let cause = match (full, many && !self.no_summary) {
            // No conversation is short enough then, and the request is refused.
            _ if fit.known && fit.prompt >= fit.window => return false,
            (true, _) => Cause::Window,
            (false, true) => Cause::Messages,
            (false, false) => return false,
        };
        self.begin_compaction(cause);
        true
    }

    /// Begins a compaction once all that is said is in the view.
    pub(super) fn begin_compaction(&mut self, cause: Cause) {
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        asking.stage = Stage::Due(cause);
        asking.pause();
        if self.out.events().is_empty() {
            self.compact_due();
        }
    }

    /// Compacts when that waited for an append.
    pub(super) fn compact_due(&mut self) {
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        let Stage::Due(cause) = asking.stage else {
            return;
        };
        asking.stage = Stage::Done;
        let wraps_up = asking.wraps_up().is_some();
        let fit = self.fit();
        let goal = self.goal(cause, fit);
        let now = self.view.tokens();
        if cause != Cause::Messages && cause != Cause::Asked {
            let elided = plan::elisions(&self.view, 0, now, goal, Reach::Read);
            let event = self.compaction(0, None, elided, cause, None);
            if after(&event) <= goal {
                return match after(&event) < now {
                    true => self.compacted(event),
                    // What fills the window is the word to the model that only this request carries.
                    false => self.go_on(now, now),
                };
            }
        }
        let summary = match wraps_up || (self.no_summary && cause != Cause::Asked) {
            true => None,
            false => self.plan_summary(cause, fit, goal),
        };
        match summary {
            Some(summary) => {
                let Phase::Asking(asking) = &mut self.phase else {
                    return;
                };
                asking.stage = Stage::Summarising(cause, Box::new(summary));
                self.ask_summary();
            }
            None => self.without_summary(cause),
        }
    }

    /// Returns how long the conversation may be afterwards.
    fn goal(&self, cause: Cause, fit: Fit) -> u64 {
        let room = fit.share(60);
        match cause {
            // The estimate was too low, or the window is smaller than anybody said.
            Cause::Overflow => room.min(self.view.tokens() * 6 / 10),
            _ => room,
        }
    }

    fn plan_summary(&self, cause: Cause, fit: Fit, goal: u64) -> Option<Summary> {
        let limits = &self.setup.limits;
        let recent = fit.share(limits.keep_recent).min(goal / 2);
        let (keep, messages) = match cause {
            Cause::Messages => (u64::MAX, limits.keep_messages),
            Cause::Asked => (recent.min(self.view.tokens() / 4), usize::MAX),
            _ => (recent, usize::MAX),
        };
        let through = plan::border(&self.view, keep, messages)?;
        let hidden = self
            .view
            .marks()
            .partition_point(|mark| mark.seq <= through);
        Summary::of(
            &self.view.messages()[..hidden],
            through,
            fit.window / 2,
            limits.summary_requests as usize,
        )
    }

    fn ask_summary(&mut self) {
        let Some(target) = self.setup.targets.get(self.target).cloned() else {
            return self.summary_is_missing("the agent has no model".to_owned());
        };
        let Some(summary) = self.summary_request() else {
            return;
        };
        let prompt = tokens::estimate(summary.system) + tokens::of_message(&summary.message);
        let most = summary.max_output_tokens;
        let reserved = match self.reserve_for(prompt, most, most) {
            Ok(reserved) => reserved,
            Err(limit) => return self.summary_is_missing(limit),
        };
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        let attempt = asking.next_attempt();
        self.requests += 1;
        self.out.durable(Event::ModelRequest {
            round: self.round,
            attempt,
            target: target.clone(),
            tool_choice: ToolChoice::None,
            re_ask: None,
            constrained: false,
            purpose: Purpose::Summary,
            reserved,
        });
        self.out.command(Command::Request {
            target,
            tool_choice: ToolChoice::None,
            constrained: false,
            max_output_tokens: Some(most),
            reserved,
        });
    }

    /// Returns what the request that was just commanded sends, when it asks for a summary.
    pub fn summary_request(&self) -> Option<SummaryRequest> {
        let Phase::Asking(asking) = &self.phase else {
            return None;
        };
        let Stage::Summarising(_, summary) = &asking.stage else {
            return None;
        };
        let most = self.fit().window / 4;
        Some(SummaryRequest {
            system: summary::SYSTEM,
            message: summary.message(),
            max_output_tokens: self
                .setup
                .limits
                .max_output_tokens
                .unwrap_or(most)
                .min(most),
        })
    }

    /// Tells whether the request under way asks for a summary.
    pub(super) fn is_summarising(&self) -> bool {
        matches!(&self.phase, Phase::Asking(asking) if matches!(asking.stage, Stage::Summarising(..)))
    }

    /// Takes the model's notes on a part.
    pub(super) fn summarised(&mut self, reply: Reply) {
        let usage = reply.usage;
        let content = read_text(reply.content, self.protocol(), &self.setup.tools);
        let text = text_of(&content).trim().to_owned();
        let longest = self.fit().share(20).max(100);
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        let Stage::Summarising(_, summary) = &mut asking.stage else {
            return;
        };
        summary.spend(usage);
        if text.is_empty() {
            return self.summary_is_missing("the model wrote no summary".to_owned());
        }
        match summary.take(bounded(text, longest)) {
            None => self.ask_summary(),
            Some(text) => self.keep_summary(text),
        }
    }

    /// Takes a failed attempt to have a summary written. It is not repeated: the conversation is whole without it.
    pub(super) fn summary_failed(&mut self, error: &ProviderError) {
        let message = clip(&error.to_string(), MESSAGE_CHARS);
        self.out.event(Event::ModelFailed {
            class: error.class,
            message: message.clone(),
            retry_ms: None,
            usage: error.usage,
        });
        if let Some(usage) = error.usage {
            self.usage += usage;
        }
        self.summary_is_missing(message);
    }

    fn keep_summary(&mut self, text: String) {
        let Some((cause, through, usage)) = self.end_summary() else {
            return;
        };
        let fit = self.fit();
        let (before, goal) = (self.view.tokens(), self.goal(cause, fit));
        let mut event = self.compaction(through, Some(text.clone()), Vec::new(), cause, usage);
        if after(&event) > goal {
            let elided = plan::elisions(&self.view, through, after(&event), goal, Reach::Read);
            event = self.compaction(through, Some(text.clone()), elided, cause, usage);
        }
        if after(&event) > fit.room && (fit.known || cause == Cause::Overflow) {
            let mut elided = elided_by(&event);
            elided.extend(plan::elisions(
                &self.view,
                through,
                after(&event),
                fit.room,
                Reach::Unread,
            ));
            event = self.compaction(through, Some(text), elided, cause, usage);
        }
        if after(&event) >= before {
            return self.give_up_summary(cause, "the summary was no shorter".to_owned(), usage);
        }
        self.compacted(event);
    }

    pub(super) fn summary_is_missing(&mut self, message: String) {
        if let Some((cause, _, usage)) = self.end_summary() {
            self.give_up_summary(cause, message, usage);
        }
    }

    fn end_summary(&mut self) -> Option<(Cause, u64, Option<Usage>)> {
        let Phase::Asking(asking) = &mut self.phase else {
            return None;
        };
        match std::mem::replace(&mut asking.stage, Stage::Done) {
            Stage::Summarising(cause, summary) => Some((cause, summary.through, summary.usage)),
            stage => {
                asking.stage = stage;
                None
            }
        }
    }

    fn give_up_summary(&mut self, cause: Cause, message: String, usage: Option<Usage>) {
        self.no_summary = true;
        self.out.event(Event::CompactionFailed { message, usage });
        self.without_summary(cause);
    }

    /// Makes room without a model when there must be room: by references alone, else by dropping the oldest rounds.
    fn without_summary(&mut self, cause: Cause) {
        let fit = self.fit();
        let now = self.view.tokens();
        let must = match cause {
            Cause::Overflow => self.goal(cause, fit),
            Cause::Window => fit.room,
            Cause::Messages | Cause::Asked => return self.go_on(now, now),
        };
        if now <= must {
            return self.go_on(now, now);
        }
        let drops = |through: u64, reach: &[Reach]| {
            let mut event = self.compaction(through, None, Vec::new(), cause, None);
            for reach in reach {
                let mut elided = elided_by(&event);
                elided.extend(plan::elisions(
                    &self.view,
                    through,
                    after(&event),
                    must,
                    *reach,
                ));
                event = self.compaction(through, None, elided, cause, None);
            }
            event
        };
        // On an assumed window alone nothing is put aside that no model has read.
        let all: &[Reach] = match fit.known || cause == Cause::Overflow {
            true => &[Reach::Read, Reach::Unread],
            false => &[Reach::Read],
        };
        let fits = |event: &Event| after(event) <= must;
        let mut best = drops(0, &[Reach::Read]);
        if !fits(&best) {
            let borders: Vec<_> = plan::borders(&self.view).collect();
            let short = |through: &u64| !fits(&drops(*through, &[Reach::Read]));
            best = match borders.get(borders.partition_point(short)) {
                Some(through) => drops(*through, &[Reach::Read]),
                None => drops(0, all),
            };
            if let Some(last) = borders.last().filter(|_| !fits(&best)) {
                best = drops(*last, all);
            }
        }
        if after(&best) >= now {
            return self.go_on(now, now);
        }
        self.compacted(best);
    }

    /// Returns the event of a compaction, with what it comes to.
    fn compaction(
        &self,
        through: u64,
        summary: Option<String>,
        elided: Vec<Elided>,
        cause: Cause,
        usage: Option<Usage>,
    ) -> Event {
        let before = self.view.tokens();
        let mut event = Event::Compacted {
            through,
            summary,
            elided,
            cause,
            before,
            after: before,
            usage,
        };
        let tokens = self.view.tokens_after(&event);
        if let Event::Compacted { after, .. } = &mut event {
            *after = tokens;
        }
        event
    }

    fn compacted(&mut self, event: Event) {
        let (before, after) = (self.view.tokens(), after(&event));
        if self.only_compacts {
            self.out.durable(event);
        } else {
            self.out.event(event);
        }
        self.go_on(before, after);
    }

    /// Goes on with the request that the compaction was for.
    fn go_on(&mut self, before: u64, after: u64) {
        if self.only_compacts {
            return self.finish(match self.no_summary {
                true => EndReason::Failed {
                    class: FailureClass::BadResponse,
                    message: "no summary could be made; the conversation is as it was".to_owned(),
                },
                false => EndReason::Answered,
            });
        }
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        asking.stage = Stage::Done;
        match asking.take_overflow() {
            Some(message) if after >= before => {
                self.fail(FailureClass::ContextLength, message);
            }
            _ => self.request(),
        }
    }

    /// Takes a service's word that the request was too long: compacts once a round. Returns whether it does.
    pub(super) fn overflowed(&mut self, message: &str) -> bool {
        let learnt = self.learn_window(message);
        let Phase::Asking(asking) = &mut self.phase else {
            return false;
        };
        if asking.wraps_up().is_some() || !asking.overflow(message) {
            return false;
        }
        if let Some(learnt) = learnt {
            self.out.event(learnt);
        }
        self.begin_compaction(Cause::Overflow);
        true
    }

    /// Begins a compaction that somebody asked for, between turns.
    pub(super) fn compact(&mut self) {
        if !matches!(self.phase, Phase::Idle) {
            return;
        }
        self.only_compacts = true;
        self.arm_active_time(self.setup.limits.active_time);
        self.phase = Phase::Asking(super::Asking::default());
        self.begin_compaction(Cause::Asked);
    }
}

fn after(event: &Event) -> u64 {
    match event {
        Event::Compacted { after, .. } => *after,
        _ => u64::MAX,
    }
}

fn elided_by(event: &Event) -> Vec<Elided> {
    match event {
        Event::Compacted { elided, .. } => elided.clone(),
        _ => Vec::new(),
    }
}

/// Returns the beginning of a text that is estimated at more than `most` tokens.
fn bounded(text: String, most: u64) -> String {
    if tokens::estimate(&text) <= most {
        return text;
    }
    clip(&text, usize::try_from(most / 2).unwrap_or(usize::MAX))
}
