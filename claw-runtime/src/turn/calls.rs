//! The calls of a round: started in batches, answered one by one, settled when all have an answer.

use super::guard::Rung;
use super::reply::{Reading, clip};
use super::round::{Call, Round, State};
use super::stable::{self, Likeness};
use super::{Command, Phase, Turn};
use crate::budget::Spent;
use crate::event::{EndReason, Event, Status};
use crate::message::{ContentBlock, StopReason, Usage, joined};
use crate::tool::Effect;

/// Characters of a note on the arguments: it names the parameter, and a model may name one as it likes.
const NOTE_CHARS: usize = 200;

/// How the notes begin that an outcome carries besides the tool's own words.
const NOTE: &str = "Note: ";
const ANOTHER: &str = "Another call of the same reply was not run: ";

impl Turn {
    /// Takes a reply with calls: decides on each, answers those that do not run and goes on with the others.
    pub(super) fn begin_calls(&mut self, reading: Reading, usage: Option<Usage>) {
        self.out.event(Event::Assistant {
            content: reading.content,
            stop: reading.stop.unwrap_or(StopReason::ToolCalls),
            usage,
            incomplete: false,
        });
        if let Some(fault) = &reading.fault {
            self.out.event(Event::Faulty {
                fault: fault.clone(),
            });
        }
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

    pub(super) fn answer_decided(&mut self, at: usize) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        if let State::Answered { status, text } = &round.calls[at].state {
            let (status, text) = (*status, text.clone());
            self.answer(at, status, vec![ContentBlock::text(text)], Kept::default());
        }
    }

    /// Asks the next question; when all are answered starts the next batch; when all ran goes to the next round.
    pub(super) fn advance(&mut self) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        let waits = |call: &Call| matches!(call.state, State::Asking { .. } | State::Running);
        if round.calls.iter().any(waits) {
            return;
        }
        if self.ask_next() {
            return;
        }
        self.start_batch();
        if matches!(&self.phase, Phase::Calling(round) if round.running().next().is_none()) {
            self.settle();
        }
    }

    fn start_batch(&mut self) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        for at in round.batch() {
            self.start(at);
        }
    }

    /// Starts a call, for the first time or again.
    pub(super) fn start(&mut self, at: usize) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let call = &mut round.calls[at];
        let Some(run) = &call.run else { return };
        let spec = run.tool.spec();
        call.attempts += 1;
        let intent = Event::Intent {
            call: call.id.clone(),
            attempt: call.attempts,
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
            tool: run.tool.clone(),
            arguments: run.arguments.clone(),
            timeout: spec.timeout.unwrap_or(self.setup.limits.call_timeout),
        });
        call.state = State::Running;
    }

    /// Every call is answered: counts failures and asks the model again, or wraps up.
    fn settle(&mut self) {
        let Phase::Calling(round) = &self.phase else {
            return;
        };
        let mut reached = None;
        for call in round.calls.iter().filter(|call| !call.excused) {
            let State::Done(status) = call.state else {
                continue;
            };
            let mark = call.run.as_ref().map(|run| run.mark);
            let harmless = call.effect().is_harmless();
            let limit = self.guard.ended(mark, status, harmless, &self.setup.limits);
            reached = reached.or(limit);
        }
        self.guard.round_ended();
        if let Some(limit) = reached {
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
        kept: Kept,
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
        self.answer(at, status, content, kept);
        self.advance();
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
                // One that ran before may have had its effect then.
                State::Running => !self.out.withdraw(&call.id) || call.attempts > 1,
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
            self.answer(at, status, content, Kept::default());
        }
    }

    /// Writes a call's outcome, with everything else the model must know of it.
    pub(super) fn answer(
        &mut self,
        at: usize,
        status: Status,
        mut content: Vec<ContentBlock>,
        kept: Kept,
    ) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let Kept {
            blob,
            progress,
            spent,
        } = kept;
        let last = at + 1 == round.calls.len();
        let call = &mut round.calls[at];
        let ran = call.is_running();
        let mut notes = Vec::new();
        let mut noted = None;
        if let Some(run) = &call.run
            && status != Status::NotStarted
        {
            noted = self
                .guard
                .settle(run.mark, signature(status, &content, progress.as_deref()));
            if ran {
                let told = run.arguments.notes().iter();
                notes.extend(told.map(|note| format!("{NOTE}{}", clip(note, NOTE_CHARS))));
                // A model that is only told of a fault may make the result up.
                if status.is_error()
                    && status != Status::Refused
                    && run.tool.spec().effect.is_harmless()
                {
                    notes.push(format!("{NOTE}no data was obtained."));
                }
            }
        }
        let spoke = noted.is_some();
        notes.extend(noted.map(|note| format!("{NOTE}{note}")));
        if last && let Some(notice) = round.notice.take() {
            notes.push(format!("{ANOTHER}{notice}"));
        }
        if !notes.is_empty() {
            content.push(ContentBlock::text(format!("\n{}", notes.join("\n"))));
        }
        let firm = ran && !call.effect().is_harmless();
        call.state = State::Done(status);
        self.tally.count(&call.name, status);
        let id = call.id.clone();
        if spoke {
            self.guard_spoke(&id, Rung::Note);
        }
        let event = Event::Outcome {
            call: id,
            status,
            content,
            blob,
            progress,
            spent,
        };
        if firm {
            self.out.durable(event);
        } else {
            self.out.event(event);
        }
    }
}

/// What is kept of an outcome beside what the model reads.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Digest of the whole output, where it had to be cut.
    pub(super) blob: Option<String>,
    /// What the loop guard compares in place of the text.
    pub(super) progress: Option<String>,
    /// What it spent of the budget.
    pub(super) spent: Option<Spent>,
}

/// Returns what the loop guard compares of an outcome.
fn signature(status: Status, content: &[ContentBlock], progress: Option<&str>) -> Likeness {
    match progress {
        Some(key) => Likeness::of((status, "key", key)),
        None => Likeness::of((status, "text", stable::stable(&joined(content)))),
    }
}

/// Returns the same of an outcome as journaled, where what the model must know besides stands in a block of its own.
pub(super) fn journaled_signature(
    status: Status,
    content: &[ContentBlock],
    progress: Option<&str>,
) -> Likeness {
    let content = match content.split_last() {
        Some((ContentBlock::Text { text }, before)) if is_notes(text) => before,
        _ => content,
    };
    signature(status, content, progress)
}

fn is_notes(text: &str) -> bool {
    [NOTE, ANOTHER].iter().any(|begin| {
        text.strip_prefix('\n')
            .is_some_and(|notes| notes.starts_with(begin))
    })
}

/// Says of a call that did not come to its own end what that means: what has its effect each time may have had it.
pub(super) fn ended(
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
