//! Asking a person: one question at a time, each about exact arguments.

use super::calls::Kept;
use super::round::State;
use super::secret::masked;
use super::{Command, Phase, Turn};
use crate::event::{Answer, Event, Status};
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
            self.out.command(Command::Ask {
                call: call.id.clone(),
                tool: call.name.clone(),
                arguments: masked(&run.tool, run.arguments.text().to_owned()),
                digest: run.digest.clone(),
                rule: rule.clone(),
            });
            call.state = State::Asking { rule };
            return true;
        }
        false
    }

    /// Takes a person's answer; it counts only for the very arguments that were shown.
    pub(super) fn approval(&mut self, id: &str, digest: String, answer: Answer) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let Some(at) = round.position(id) else { return };
        let call = &mut round.calls[at];
        let (State::Asking { rule }, Some(run)) = (&call.state, &call.run) else {
            return;
        };
        if run.digest != digest {
            return;
        }
        let asked = answer == Answer::Deny;
        let denial = denied_text(&call.name, rule, asked);
        self.out.durable(Event::Approval {
            call: id.to_owned(),
            digest,
            answer,
        });
        match answer {
            Answer::Once => call.state = State::Ready,
            Answer::Session | Answer::Always => {
                call.state = State::Ready;
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
fn denied_text(tool: &str, rule: &str, asked: bool) -> String {
    if asked {
        return "Denied, not run: the user refused this call. Do not send it again unless they ask for it."
            .to_owned();
    }
    format!(
        "Denied, not run: {rule}, and nobody could be asked. The user can let it run by adding `{tool}` to the policy's \
         `allow` list, or by being there to answer. Go on without it, or tell them."
    )
}
