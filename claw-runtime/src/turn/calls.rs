//! The calls of a round: asked about, run in batches, answered in call order.

use std::sync::Arc;

use super::gate::{denied_text, masked};
use super::guard::{Mark, Rung};
use super::paths::Touched;
use super::reply::Reading;
use super::{Command, Phase, Turn};
use crate::event::{Answer, EndReason, Event, Status};
use crate::message::{ContentBlock, StopReason, Usage, text_of};
use crate::tool::{Approve, Effect, Tool, ValidArguments};

/// A call between its decision and its outcome.
#[derive(Debug)]
pub(super) struct Call {
    id: String,
    name: String,
    run: Option<Run>,
    state: State,
    /// Refused for its place alone, which is no failure of the model.
    excused: bool,
}

/// What it takes to run a call.
#[derive(Debug)]
struct Run {
    tool: Arc<Tool>,
    arguments: ValidArguments,
    digest: String,
    mark: Mark,
    touched: Touched,
}

#[derive(Debug)]
pub(super) enum State {
    /// Decided without running; the outcome is not yet an event.
    Answered { status: Status, text: String },
    /// A person must be asked.
    ToAsk { rule: String },
    /// A person is being asked.
    Asking { rule: String },
    /// It may run.
    Ready,
    /// It runs.
    Running,
    /// Its outcome is an event.
    Done(Status),
}

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct Round {
    calls: Vec<Call>,
    /// Faults beside good calls, told with the last result.
    notice: Option<String>,
}

impl Call {
    pub(super) fn new(
        id: String,
        tool: Arc<Tool>,
        arguments: ValidArguments,
        digest: String,
        mark: Mark,
        state: State,
    ) -> Self {
        let touched = Touched::by(&tool, &arguments);
        Self {
            id,
            name: tool.name().to_owned(),
            run: Some(Run {
                tool,
                arguments,
                digest,
                mark,
                touched,
            }),
            state,
            excused: false,
        }
    }

    pub(super) fn answered(id: String, name: String, status: Status, text: String) -> Self {
        Self {
            id,
            name,
            run: None,
            state: State::Answered { status, text },
            excused: false,
        }
    }

    pub(super) fn excused(mut self) -> Self {
        self.excused = true;
        self
    }

    fn effect(&self) -> Effect {
        self.run
            .as_ref()
            .map_or(Effect::Pure, |run| run.tool.spec().effect)
    }

    fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }
}

impl Run {
    /// Tells whether two calls may run side by side.
    fn beside(&self, other: &Self) -> bool {
        let free = |run: &Self| run.tool.spec().parallel;
        let harmless = |run: &Self| run.tool.spec().effect.is_harmless();
        let apart = || free(self) || free(other) || !self.touched.conflicts(&other.touched);
        (free(self) || harmless(self)) && (free(other) || harmless(other)) && apart()
    }
}

impl Round {
    fn position(&self, id: &str) -> Option<usize> {
        self.calls.iter().position(|call| call.id == id)
    }

    /// Returns the calls to start next: the first that is ready and those after it that may run beside it.
    fn batch(&self) -> Vec<usize> {
        let mut batch: Vec<usize> = Vec::new();
        let ready = |call: &&Call| matches!(call.state, State::Ready);
        for (at, call) in self.calls.iter().enumerate() {
            let Some(run) = Some(call).filter(ready).and_then(|call| call.run.as_ref()) else {
                continue;
            };
            let fits = batch
                .iter()
                .filter_map(|other| self.calls[*other].run.as_ref())
                .all(|other| run.beside(other));
            if !fits {
                break;
            }
            batch.push(at);
        }
        batch
    }

    pub(super) fn running(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|call| call.is_running())
            .map(|call| call.id.as_str())
    }
}

impl Turn {
    /// Takes a reply with calls: decides on each, answers those that do not run and goes on with the others.
    pub(super) fn begin_calls(&mut self, reading: Reading, usage: Option<Usage>) {
        self.out.event(Event::Assistant {
            content: reading.content,
            stop: reading.stop.unwrap_or(StopReason::ToolCalls),
            usage,
            incomplete: false,
        });
        let mut round = Round {
            calls: Vec::with_capacity(reading.calls.len()),
            notice: reading.fault,
        };
        for (nth, asked) in reading.calls.into_iter().enumerate() {
            round.calls.push(self.gate(nth, asked));
        }
        let count = round.calls.len();
        self.phase = Phase::Calling(round);
        for at in 0..count {
            self.answer_decided(at);
        }
        self.advance();
    }

    fn answer_decided(&mut self, at: usize) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        if let State::Answered { status, text } = &round.calls[at].state {
            let (status, text) = (*status, text.clone());
            self.answer(at, status, vec![ContentBlock::text(text)], None);
        }
    }

    /// Asks the next question; when all are answered starts the next batch; when all ran goes to the next round.
    fn advance(&mut self) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let asks = |call: &Call| matches!(call.state, State::Asking { .. });
        if round.calls.iter().any(asks) || round.calls.iter().any(Call::is_running) {
            return;
        }
        for call in &mut round.calls {
            let State::ToAsk { rule } = &call.state else {
                continue;
            };
            let rule = rule.clone();
            let Some(run) = &call.run else { continue };
            self.out.durable(Event::ApprovalAsked {
                call: call.id.clone(),
                digest: run.digest.clone(),
            });
            self.out.command(Command::Ask {
                call: call.id.clone(),
                tool: call.name.clone(),
                arguments: masked(&run.tool, &run.arguments),
                digest: run.digest.clone(),
                rule: rule.clone(),
            });
            call.state = State::Asking { rule };
            return;
        }
        for at in round.batch() {
            let call = &mut round.calls[at];
            let Some(run) = &call.run else { continue };
            let spec = run.tool.spec();
            let intent = Event::Intent {
                call: call.id.clone(),
                attempt: 1,
                effect: spec.effect,
                digest: run.digest.clone(),
            };
            if spec.effect.is_harmless() {
                self.out.event(intent);
            } else {
                self.out.durable(intent);
            }
            self.out.command(Command::Run {
                call: call.id.clone(),
                tool: call.name.clone(),
                arguments: run.arguments.clone(),
                timeout: spec.timeout.unwrap_or(self.setup.limits.call_timeout),
            });
            call.state = State::Running;
        }
        if !round.calls.iter().any(Call::is_running) {
            self.settle();
        }
    }

    /// Every call is answered: counts failures and asks the model again, or wraps up.
    fn settle(&mut self) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        let mut too_many = false;
        for call in round.calls.iter().filter(|call| !call.excused) {
            let failed = !matches!(call.state, State::Done(Status::Ok));
            too_many |= self.guard.ended(failed, &self.setup.limits);
        }
        if too_many {
            let limit = format!(
                "{} failing calls in a row",
                self.setup.limits.failures_in_row
            );
            self.stop(EndReason::Limit { limit });
        }
        self.next_round();
    }

    /// Takes a call's end from the driver.
    pub(super) fn outcome(
        &mut self,
        id: &str,
        status: Status,
        content: Vec<ContentBlock>,
        blob: Option<String>,
    ) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        let Some(at) = round
            .position(id)
            .filter(|at| round.calls[*at].is_running())
        else {
            return;
        };
        let (status, content) = ended(round.calls[at].effect(), status, content);
        self.answer(at, status, content, blob);
        self.advance();
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
                self.answer(at, Status::Denied, vec![ContentBlock::text(denial)], None);
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
            let (State::ToAsk { .. }, Some(run), Some(given)) =
                (&call.state, &call.run, &approved.run)
            else {
                continue;
            };
            let insists = matches!(run.tool.spec().approve, Approve::Always)
                || self.view.is_unknown(&run.digest);
            let covered = match answer {
                Answer::Always => call.name == approved.name,
                _ => run.digest == given.digest,
            };
            if covered && !insists {
                call.state = State::Ready;
            }
        }
    }

    /// Stops what runs and answers what is open, so that the conversation can go on without the results.
    pub(super) fn stop_calls(&mut self, why: &str) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        for at in 0..round.calls.len() {
            let Phase::Calling(round) = &self.phase else {
                return;
            };
            let call = &round.calls[at];
            let runs = match &call.state {
                State::Done(_) => continue,
                State::Running => !self.out.withdraw(&call.id),
                _ => false,
            };
            let text = |text: String| vec![ContentBlock::text(text)];
            let (status, content) = if runs {
                self.out.command(Command::Stop {
                    call: call.id.clone(),
                });
                let content = text(format!("Stopped while it ran: {why}."));
                ended(call.effect(), Status::Cancelled, content)
            } else {
                (Status::NotStarted, text(format!("Not run: {why}.")))
            };
            self.answer(at, status, content, None);
        }
    }

    /// Writes a call's outcome, with everything else the model must know of it.
    fn answer(
        &mut self,
        at: usize,
        status: Status,
        mut content: Vec<ContentBlock>,
        blob: Option<String>,
    ) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let last = at + 1 == round.calls.len();
        let call = &mut round.calls[at];
        let ran = call.is_running();
        let mut notes = Vec::new();
        let mut noted = false;
        if let Some(run) = &call.run
            && status != Status::NotStarted
        {
            let mut outcome = format!("{status:?} {}", text_of(&content));
            if let Some(blob) = &blob {
                outcome.push_str(blob);
            }
            noted = self
                .guard
                .settle(run.mark, crate::digest::of(outcome.as_bytes()));
            if ran {
                notes.extend(
                    run.arguments
                        .notes()
                        .iter()
                        .map(|note| format!("Note: {note}")),
                );
            }
        }
        if noted {
            notes.push(
                "Note: this call gave the same result before. Do something else, or answer with what you have."
                    .to_owned(),
            );
        }
        if last && let Some(notice) = round.notice.take() {
            notes.push(format!(
                "Another call of the same reply was not run: {notice}"
            ));
        }
        if !notes.is_empty() {
            content.push(ContentBlock::text(format!("\n{}", notes.join("\n"))));
        }
        let firm = ran && !call.effect().is_harmless();
        call.state = State::Done(status);
        self.tally.count(&call.name, status);
        let id = call.id.clone();
        if noted {
            self.guard_spoke(&id, Rung::Note);
        }
        let event = Event::Outcome {
            call: id,
            status,
            content,
            blob,
        };
        if firm {
            self.out.durable(event);
        } else {
            self.out.event(event);
        }
    }
}

/// Says of a call that did not come to its own end what that means: what has its effect each time may have had it.
fn ended(
    effect: Effect,
    status: Status,
    mut content: Vec<ContentBlock>,
) -> (Status, Vec<ContentBlock>) {
    let cut_short = matches!(
        status,
        Status::TimedOut | Status::Cancelled | Status::Panicked | Status::Unknown
    );
    if !cut_short {
        return (status, content);
    }
    if effect == Effect::Once {
        content.push(ContentBlock::text(
            "\nWhether it took effect is unknown. Find out before you send it again.",
        ));
        return (Status::Unknown, content);
    }
    if content.is_empty() {
        content.push(ContentBlock::text(
            "It did not come to an end; no result was obtained.",
        ));
    }
    (status, content)
}
