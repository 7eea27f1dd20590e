//! Asking a person: one question at a time, each about exact arguments.

use super::calls::Kept;
use super::round::State;
use super::secret::masked;
use super::{Command, Phase, Turn};
use crate::event::{Answer, EndReason, Event, Status};
use crate::message::ContentBlock;

impl Turn {
    /// Asks about the next call that needs it; tells whether there was one.
    pub(super) fn ask_next(&mut self) -> bool {
        let Phase::Calling(round) = &mut self.phase else {
            return false;
        };
        for call in &mut round.calls {
            let (State::ToAsk { rule, .. }, Some(run)) = (&call.state, &call.run) else {
                continue;
            };
            let rule = rule.clone();
            self.out.durable(Event::ApprovalAsked {
                call: call.id.clone(),
                digest: run.digest.clone(),
            });
            call.state = State::Asking { rule };
            let id = call.id.clone();
            self.ask_about(&id);
            return true;
        }
        false
    }

    /// Puts the question about a call to whoever is here.
    pub(super) fn ask_about(&mut self, id: &str) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        let asked = round.calls.iter().find(|call| call.id == id);
        if let Some((State::Asking { rule }, Some(run))) =
            asked.map(|call| (&call.state, &call.run))
        {
            self.out.command(Command::Ask {
                call: id.to_owned(),
                tool: run.tool.name().to_owned(),
                arguments: masked(&run.tool, run.arguments.text().to_owned()),
                digest: run.digest.clone(),
                rule: rule.clone(),
            });
        }
    }

    /// Takes a person's answer; it counts only for the very arguments that were shown.
    pub(super) fn approval(&mut self, id: &str, digest: String, answer: Answer) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let Some(at) = round.position(id) else { return };
        let call = &round.calls[at];
        let (State::Asking { rule }, Some(run)) = (&call.state, &call.run) else {
            return;
        };
        if run.digest != digest {
            return;
        }
        let denial = denied_text(&call.name, rule, answer);
        self.wake();
        self.out.durable(Event::Approval {
            call: id.to_owned(),
            digest,
            answer,
        });
        match answer {
            Answer::Once => self.ready(at),
            Answer::Session | Answer::Always => {
                self.ready(at);
                self.cover(at, answer);
            }
            Answer::Deny | Answer::Unanswered => {
                self.answer(
                    at,
                    Status::Denied,
                    vec![ContentBlock::text(denial)],
                    Kept::default(),
                );
            }
        }
        self.advance();
    }

    fn ready(&mut self, at: usize) {
        if let Phase::Calling(round) = &mut self.phase {
            round.calls[at].state = State::Ready;
        }
    }

    /// Nobody is here to answer, but somebody may answer later: the turn leaves its process, and goes on from its journal.
    pub(super) fn park(&mut self, id: &str, digest: &str, expires_ms: u64) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        let asked = round.calls.iter().find(|call| call.id == id);
        let tool = match asked.map(|call| (&call.state, &call.run)) {
            Some((State::Asking { .. }, Some(run))) if run.digest == digest => run.tool.name(),
            _ => return,
        };
        // A question that was parked before expires when it was said to.
        let before = self
            .parked
            .as_ref()
            .filter(|parked| parked.asks(id, digest));
        let expires_ms = before.map_or(expires_ms, |parked| parked.expires_ms);
        let mut outcome = self.outcome_of(
            format!("Waiting for somebody to let `{tool}` run or not."),
            EndReason::Parked {
                call: id.to_owned(),
                digest: digest.to_owned(),
                expires_ms,
            },
        );
        outcome.text.insert_str(0, &std::mem::take(&mut self.begun));
        if !self.asleep {
            self.out.durable(Event::Blocked {
                call: id.to_owned(),
                digest: digest.to_owned(),
                expires_ms,
            });
        }
        self.out.command(Command::Finish(outcome));
        self.phase = Phase::Finished;
    }

    /// A parked turn goes on, so that what follows is its own doing again.
    pub(super) fn wake(&mut self) {
        if std::mem::take(&mut self.asleep) {
            self.out.event(Event::Resumed { takeover: 0 });
        }
    }

    /// Lets the later calls of the round run that an answer for the session covers too.
    fn cover(&mut self, by: usize, answer: Answer) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let (before, after) = round.calls.split_at_mut(by + 1);
        let approved = &before[by];
        for call in after {
            let (State::ToAsk { always, .. }, Some(run), Some(given)) =
                (&call.state, &call.run, &approved.run)
            else {
                continue;
            };
            let insists = *always || self.view.is_unknown(&run.digest);
            let covered = match answer {
                Answer::Always => call.name == approved.name,
                _ => run.digest == given.digest,
            };
            if covered && !insists {
                call.state = State::Ready;
            }
        }
    }
}

/// What the model reads of a call that a person refused, or that nobody could be asked about.
pub(super) fn denied_text(tool: &str, rule: &str, answer: Answer) -> String {
    if answer == Answer::Deny {
        return "Denied, not run: the user refused this call. Do not send it again unless they ask for it."
            .to_owned();
    }
    format!(
        "Denied, not run: {rule}, and nobody could be asked. The user can let it run by adding `{tool}` to the policy's \
         `allow` list, or by being there to answer. Go on without it, or tell them."
    )
}
