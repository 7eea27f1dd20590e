//! The end of a turn: wrap-up, cancel, a store that fails. Always with a written answer, unless somebody cancelled.

use std::collections::BTreeMap;
use std::time::Duration;

use super::reply::read_text;
use super::{Asking, Command, Millis, Phase, Timer, Turn};
use crate::event::{EndReason, Event, Status, TurnOutcome};
use crate::message::{Role, text_of};
use crate::provider::Reply;

/// Tools named in a composed answer.
const LISTED: usize = 10;

/// What the calls of a turn came to, for the answer that is composed without a model.
#[derive(Debug, Default)]
pub(super) struct Tally {
    tools: BTreeMap<String, Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    done: u32,
    failed: u32,
    unknown: u32,
}

impl Tally {
    pub(super) fn count(&mut self, tool: &str, status: Status) {
        let counts = match self.tools.get_mut(tool) {
            Some(counts) => counts,
            None => self.tools.entry(super::reply::clip(tool, 64)).or_default(),
        };
        match status {
            Status::Ok => counts.done += 1,
            Status::Unknown => counts.unknown += 1,
            _ => counts.failed += 1,
        }
    }

    fn list(&self, title: &str, of: impl Fn(&Counts) -> u32) -> Option<String> {
        let counted = || self.tools.iter().filter(|(_, counts)| of(counts) > 0);
        let mut tools: Vec<_> = counted()
            .take(LISTED)
            .map(|(name, counts)| format!("`{name}` × {}", of(counts)))
            .collect();
        let more = counted().count().saturating_sub(LISTED);
        if more > 0 {
            tools.push(format!("{more} more"));
        }
        (!tools.is_empty()).then(|| format!("{title}: {}.", tools.join(", ")))
    }

    /// Says what was done, what was not, and why it stopped.
    fn compose(&self, reason: &EndReason) -> String {
        let mut lines = vec![format!(
            "I stopped before I had an answer: {}.",
            why(reason)
        )];
        lines.extend(self.list("Tool calls done", |counts| counts.done));
        lines.extend(self.list("Failed or not run", |counts| counts.failed));
        lines.extend(self.list("May or may not have taken effect", |counts| counts.unknown));
        if self.tools.is_empty() {
            lines.push("No tool was called.".to_owned());
        }
        lines.join("\n")
    }
}

fn why(reason: &EndReason) -> String {
    match reason {
        EndReason::Answered => "the model had nothing to add".to_owned(),
        EndReason::Limit { limit } => format!("limit reached ({limit})"),
        EndReason::Failed { class, message } if message.is_empty() => class.to_string(),
        EndReason::Failed { class, message } => {
            format!("{class}: {}", message.trim_end_matches('.'))
        }
        EndReason::Cancelled => "cancelled".to_owned(),
        EndReason::Interrupted { message } => message.clone(),
        EndReason::Parked { .. } => "a question is open".to_owned(),
        EndReason::StoreFailed { message } => {
            format!("the session could not be written ({message})")
        }
    }
}

impl Turn {
    /// Notes why the turn wraps up once the calls of this round are answered; the first reason stands.
    pub(super) fn stop(&mut self, reason: EndReason) {
        if self.stop.is_none() {
            self.out.event(Event::WrapUp {
                reason: reason.clone(),
            });
            self.stop = Some(reason);
        }
    }

    /// Asks for a last answer without calls. The tools stay in the request, so that a prompt cache stays valid.
    pub(super) fn wrap_up(&mut self, reason: EndReason) {
        self.stop(reason.clone());
        let reason = self.stop.take().unwrap_or(reason);
        let mut fault = format!(
            "The turn ends here: {}. Do not call tools any more. Answer now from what you have: say what was done, what \
             was not, and why you stopped.",
            why(&reason)
        );
        if let Some(failed) = self
            .tally
            .list("Calls that failed and gave nothing", |counts| counts.failed)
        {
            fault.push('\n');
            fault.push_str(&failed);
        }
        self.arm_active_time(self.setup.limits.wrap_up_time);
        self.phase = Phase::Asking(Asking::wrap_up(reason, fault));
        self.request();
    }

    /// Takes the reply to the wrap-up; calls in it are ignored.
    pub(super) fn wrapped_up(&mut self, reply: Reply, reason: EndReason) {
        let content = read_text(reply.content, self.protocol(), &self.setup.tools);
        let text = text_of(&content);
        self.said(content, Some(reply.stop), reply.usage);
        if text.trim().is_empty() {
            return self.finish_composed(reason);
        }
        self.begun.push_str(&text);
        self.finish(reason);
    }

    /// Ends the turn with what the model said.
    pub(super) fn finish(&mut self, reason: EndReason) {
        let text = std::mem::take(&mut self.begun);
        let outcome = self.outcome_of(text, reason);
        // Between turns there is none to end.
        if !self.only_compacts {
            self.out.durable(Event::TurnEnd {
                outcome: outcome.clone(),
                active_ms: self.now,
            });
        }
        self.out.command(Command::Finish(outcome));
        self.phase = Phase::Finished;
    }

    /// Ends the turn with an answer composed without the model, after what it had begun to say.
    pub(super) fn finish_composed(&mut self, reason: EndReason) {
        self.compose(&reason);
        self.finish(reason);
    }

    fn compose(&mut self, reason: &EndReason) {
        if !self.begun.trim().is_empty() {
            self.begun.push_str("\n\n");
        }
        self.begun.push_str(&self.tally.compose(reason));
    }

    pub(super) fn outcome_of(&self, text: String, reason: EndReason) -> TurnOutcome {
        TurnOutcome {
            text,
            reason,
            rounds: self.round,
            usage: self.usage,
        }
    }

    /// Answers an input that a finished turn has answered already: nothing is done twice.
    pub(super) fn finish_again(&mut self) {
        let messages = self.view.messages();
        let answer = messages
            .iter()
            .rev()
            .find(|message| message.role == Role::Assistant);
        let mut text = answer.map(|message| message.text()).unwrap_or_default();
        if text.trim().is_empty() {
            text = self.tally.compose(&EndReason::Answered);
        }
        let outcome = self.outcome_of(text, EndReason::Answered);
        self.out.command(Command::Finish(outcome));
        self.phase = Phase::Finished;
    }

    pub(super) fn cancel(&mut self) {
        self.wake();
        self.out.event(Event::CancelRequested);
        self.abort_request();
        self.stop_calls("the user cancelled the turn");
        self.finish(EndReason::Cancelled);
    }

    fn abort_request(&mut self) {
        let under_way = matches!(&self.phase, Phase::Asking(asking) if !asking.is_paused());
        if under_way && !self.out.withdraw_request() {
            self.out.command(Command::AbortRequest);
        }
    }

    /// The journal cannot be written: nothing starts any more, and what runs is stopped.
    pub(super) fn store_failed(&mut self, message: String) {
        let unstarted = std::mem::take(&mut self.out.commands);
        let held = |id: &str| {
            unstarted
                .iter()
                .any(|command| matches!(command, Command::Run { call, .. } if call == id))
        };
        match &self.phase {
            Phase::Calling(round) => {
                for call in round.running().filter(|id| !held(id)) {
                    self.out.commands.push(Command::Stop {
                        call: call.to_owned(),
                    });
                }
            }
            Phase::Asking(_) => self.out.command(Command::AbortRequest),
            Phase::Idle | Phase::Interrupted(_) | Phase::Finished => {}
        }
        let mut answer = std::mem::take(&mut self.begun);
        for command in unstarted {
            match command {
                // What was to be stopped is stopped all the same, and what was to be said is said.
                Command::Stop { .. } | Command::AbortRequest => self.out.command(command),
                Command::Finish(outcome) => answer = outcome.text,
                _ => {}
            }
        }
        let reason = EndReason::StoreFailed { message };
        self.begun = answer;
        self.compose(&reason);
        let text = std::mem::take(&mut self.begun);
        let outcome = self.outcome_of(text, reason);
        self.out.command(Command::Finish(outcome));
        self.phase = Phase::Finished;
        self.inbox.clear();
    }

    pub(super) fn fired(&mut self, timer: Timer) {
        match timer {
            Timer::Retry { request } => {
                let due = matches!(&self.phase, Phase::Asking(asking) if asking.is_paused());
                if due && request == self.requests {
                    self.request();
                }
            }
            Timer::ActiveTime if self.now < self.deadline => {
                // Waiting for a person does not count, so the timer may come early.
                self.out.command(Command::Arm {
                    timer,
                    after: Duration::from_millis(self.deadline - self.now),
                });
            }
            Timer::ActiveTime => self.out_of_time(),
        }
    }

    fn out_of_time(&mut self) {
        if matches!(self.phase, Phase::Idle) {
            return;
        }
        self.abort_request();
        if let Phase::Asking(asking) = &self.phase
            && let Some(reason) = asking.wraps_up().cloned()
        {
            return self.finish_composed(reason);
        }
        self.stop_calls("the time of the turn is used up");
        let seconds = self.setup.limits.active_time.as_secs();
        let reason = EndReason::Limit {
            limit: format!("{seconds} s of active time"),
        };
        if self.only_compacts {
            return self.finish(reason);
        }
        self.wrap_up(reason);
    }

    pub(super) fn arm_active_time(&mut self, after: Duration) {
        let millis = Millis::try_from(after.as_millis()).unwrap_or(Millis::MAX);
        self.deadline = self.now.saturating_add(millis);
        self.out.command(Command::Arm {
            timer: Timer::ActiveTime,
            after,
        });
    }
}
