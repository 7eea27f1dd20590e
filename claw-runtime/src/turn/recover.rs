//! Picks up a turn whose process ended: each open call is decided by its effect, and what was under way is done again.
//!
//! No decision is made twice: [`past`](super::past) folds the turn's state from its events, so tools, policy and limits
//! may have changed meanwhile. Only a call that was never started goes through the gate again.

use std::sync::Arc;
use std::time::Duration;

use super::approval::denied_text;
use super::calls::{Kept, ended};
use super::canonical;
use super::guard::Mark;
use super::past::{At, Past, Start};
use super::replay::Replayed;
use super::reply::Asked;
use super::request::Asking;
use super::round::{Call, Round, State};
use super::secret::is_lost;
use super::{Command, Phase, Timer, Turn};
use crate::event::{Answer, EndReason, Event, Status};
use crate::message::{ContentBlock, StopReason};
use crate::provider::FailureClass;
use crate::tool::{Effect, Tool, ValidArguments};

/// How often a call is started in all, when each time its process ends before it does.
const STARTS: u32 = 2;

const NOT_STARTED: &str = "Not run: the turn was interrupted before this call started.";
const ENDED: &str = "The process ended while this call ran.";

/// Where an interrupted turn stands, beside what [`Turn`] itself holds.
#[derive(Debug)]
pub(super) struct Interrupted {
    pub(super) at: At,
    /// How often it was taken over since it last got further.
    pub(super) takeovers: u32,
    pub(super) cancelled: bool,
}

/// A question that left its process.
#[derive(Debug, Clone)]
pub(super) struct Parked {
    pub(super) call: String,
    pub(super) digest: String,
    /// Milliseconds since the Unix epoch.
    pub(super) expires_ms: u64,
}

impl Parked {
    pub(super) fn asks(&self, call: &str, digest: &str) -> bool {
        self.call == call && self.digest == digest
    }
}

/// What becomes of an open call.
enum Fate {
    /// It is answered like this.
    Answer(Status, Vec<ContentBlock>),
    /// It runs again.
    Again,
    /// The tool is asked what became of it.
    Reconcile,
    /// The gate has decided, as for a new call.
    Gate,
}

impl Turn {
    /// Goes on with an interrupted turn, or, without the time, brings it to an end.
    pub(super) fn pick_up(&mut self, now_ms: Option<u64>) {
        let interrupted = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Interrupted(interrupted) => *interrupted,
            phase => {
                self.phase = phase;
                return;
            }
        };
        let Interrupted {
            at,
            takeovers,
            cancelled,
        } = interrupted;
        let takeover = if self.asleep {
            0
        } else {
            takeovers.saturating_add(1)
        };
        let most = self.setup.limits.takeovers;
        self.out.durable(Event::Resumed { takeover });
        if cancelled {
            return self.finish(EndReason::Cancelled);
        }
        if takeover > most {
            let message = format!("its process ended {takeover} times at the same place");
            self.ending = Some(EndReason::Interrupted { message });
        } else if now_ms.is_none() {
            let message = "its process ended before it did".to_owned();
            self.ending = Some(EndReason::Interrupted { message });
        }
        match at {
            At::Calling {
                calls,
                notice,
                stop,
            } => {
                self.arm_rest();
                self.pick_up_calls(calls, notice, &stop, now_ms, takeover <= most);
            }
            At::Said(stop) => self.was_said(stop),
            At::Posted | At::Asking { .. } if self.ending.is_some() => self.next_round(),
            At::Posted => self.begin(),
            At::Asking {
                asking,
                retry,
                overflow,
                broke,
            } => {
                if broke && !self.continued {
                    self.continued = true;
                    return self.ask_next_round();
                }
                self.ask_on(asking, retry, overflow);
            }
        }
    }

    /// Arms what is left of the active time.
    fn arm_rest(&mut self) {
        let rest = self
            .setup
            .limits
            .active_time
            .saturating_sub(Duration::from_millis(self.now));
        self.arm_active_time(rest);
    }

    /// Asks the model to go on with an answer that broke off.
    fn ask_next_round(&mut self) {
        self.arm_rest();
        self.tell_context();
        self.next_round();
    }

    /// Sends the request again that was under way, or waits for the next attempt as it was to.
    fn ask_on(&mut self, mut asking: Asking, retry: Option<Duration>, overflow: Option<String>) {
        match asking.wrap_up {
            Some(_) => self.arm_active_time(self.setup.limits.wrap_up_time),
            None => self.arm_rest(),
        }
        self.tell_context();
        if self.stop.is_some() {
            return self.next_round();
        }
        if let Some(message) = overflow {
            self.phase = Phase::Asking(asking);
            if !self.overflowed(&message) {
                self.fail(FailureClass::ContextLength, message);
            }
            return;
        }
        let Some(after) = retry else {
            // It was not answered, so it does not count.
            asking.tries = asking.tries.saturating_sub(1);
            self.phase = Phase::Asking(asking);
            return self.request();
        };
        asking.paused = true;
        self.phase = Phase::Asking(asking);
        let request = self.requests;
        self.out.command(Command::Arm {
            timer: Timer::Retry { request },
            after,
        });
    }

    /// The answer is there and only the end of the turn is missing.
    fn was_said(&mut self, stop: StopReason) {
        match self.stop.take() {
            Some(reason) if self.begun.trim().is_empty() => self.finish_composed(reason),
            Some(reason) => self.finish(reason),
            None => self.close(Some(stop)),
        }
    }

    fn pick_up_calls(
        &mut self,
        past: Vec<Past>,
        notice: Option<String>,
        stop: &StopReason,
        now_ms: Option<u64>,
        may_try: bool,
    ) {
        let mut calls = Vec::with_capacity(past.len());
        let (mut fates, mut settled) = (Vec::new(), Vec::new());
        for (nth, past) in past.into_iter().enumerate() {
            if let Some((status, signature)) = &past.outcome {
                let mut done = match self.replay(&past) {
                    Replayed::Ran(mark, run) => {
                        if *status != Status::NotStarted {
                            settled.push((mark, *signature));
                        }
                        again(&past, mark, run)
                    }
                    Replayed::Silent => silent(&past),
                    Replayed::Excused => silent(&past).excused(),
                };
                done.state = State::Done(*status);
                calls.push(done);
                continue;
            }
            let (call, fate) = match &past.start {
                Some(start) => self.started_before(&past, start, may_try),
                None if self.ending.is_some() => (
                    silent(&past),
                    Fate::Answer(Status::NotStarted, text(NOT_STARTED)),
                ),
                None => (self.gate_again(nth, &past, stop), Fate::Gate),
            };
            fates.push((calls.len(), fate));
            calls.push(call);
        }
        self.phase = Phase::Calling(Round { calls, notice });
        for (mark, signature) in settled {
            self.guard.settle(mark, signature);
        }
        if self.asleep && self.ending.is_none() && self.rests(now_ms) {
            return;
        }
        self.asleep = false;
        for (at, fate) in fates {
            self.meet(at, fate);
        }
        self.advance();
    }

    /// Decides on a call that was started and has no outcome.
    fn started_before(&mut self, past: &Past, start: &Start, may_try: bool) -> (Call, Fate) {
        let (mark, run) = match self.replay(past) {
            Replayed::Ran(mark, run) => (Some(mark), run),
            _ => (None, None),
        };
        let tool = self.setup.tools.get(&past.call.name).cloned();
        // A secret among the arguments is not kept, and a schema may have changed: then they are other arguments.
        let run = run.filter(|(tool, arguments)| {
            canonical::digest(tool.name(), arguments.text()) == start.digest
        });
        let declared = tool.as_ref().map(|tool| tool.spec().effect);
        let once = start.effect == Effect::Once || declared == Some(Effect::Once);
        let reconciles = tool.as_ref().is_some_and(|tool| tool.reconcile().is_some());
        let fate = if once && reconciles && run.is_some() && may_try {
            Fate::Reconcile
        } else if once {
            let (status, content) = ended(Effect::Once, Status::Cancelled, text(ENDED));
            Fate::Answer(status, content)
        } else if start.attempts >= STARTS {
            Fate::Answer(Status::Crashed, text(crashed(start.attempts)))
        } else if self.ending.is_some() {
            let content = format!("{ENDED} No result was obtained; it may be sent again.");
            Fate::Answer(Status::Cancelled, text(content))
        } else if run.is_some() {
            Fate::Again
        } else {
            let content = format!(
                "{ENDED} It cannot be run again: the tool, its arguments or a secret among them are not what they were. \
                 Send it again if it is still needed."
            );
            Fate::Answer(Status::Crashed, text(content))
        };
        let mut call = match mark {
            Some(mark) => again(past, mark, run),
            None => silent(past),
        };
        call.attempts = start.attempts;
        (call, fate)
    }

    /// Decides anew on a call that was never started; a person's answer to this very call counts.
    fn gate_again(&mut self, nth: usize, past: &Past, stop: &StopReason) -> Call {
        let id = past.call.id.clone();
        let tool = self.setup.tools.get(&past.call.name);
        if tool.is_some_and(|tool| is_lost(tool, &past.call.arguments)) {
            let text = "Not run: the turn was interrupted, and secret arguments are not kept. Send the call again.";
            return Call::answered(
                id,
                past.call.name.clone(),
                Status::NotStarted,
                text.to_owned(),
            );
        }
        // Whether the output limit cut it is told by the decision that is missing.
        let cut = !past.decided && *stop == StopReason::Length;
        let asked = Asked {
            call: past.call.clone(),
            cut,
        };
        let mut call = self.gate(nth, asked);
        let (State::ToAsk { rule, .. }, Some(run), Some((digest, answer))) =
            (&call.state, &call.run, &past.answer)
        else {
            return call;
        };
        if run.digest != *digest {
            return call;
        }
        match answer {
            Answer::Once | Answer::Session | Answer::Always => call.state = State::Ready,
            Answer::Deny | Answer::Unanswered => {
                let text = denied_text(&call.name, rule, *answer);
                call.state = State::Answered {
                    status: Status::Denied,
                    text,
                };
            }
        }
        call
    }

    fn meet(&mut self, at: usize, fate: Fate) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        match fate {
            Fate::Gate => self.answer_decided(at),
            Fate::Answer(status, content) => self.answer(at, status, content, Kept::default()),
            Fate::Again => self.start(at),
            Fate::Reconcile => {
                let call = &round.calls[at];
                let Some(run) = &call.run else { return };
                let limit = self.setup.limits.call_timeout;
                self.out.command(Command::Reconcile {
                    call: call.id.clone(),
                    tool: run.tool.clone(),
                    arguments: run.arguments.clone(),
                    timeout: run.tool.spec().timeout.unwrap_or(limit),
                });
            }
        }
    }

    /// Takes the tool's word that a call did not take effect: it is made again, unless that was tried already.
    pub(super) fn not_done(&mut self, id: &str) {
        let Phase::Calling(round) = &mut self.phase else {
            return;
        };
        let Some(at) = round
            .position(id)
            .filter(|at| round.calls[*at].is_running())
        else {
            return;
        };
        let attempts = round.calls[at].attempts;
        if attempts < STARTS && self.ending.is_none() {
            return self.start(at);
        }
        let content = format!("{} It did not take effect.", crashed(attempts));
        self.answer(at, Status::Crashed, text(content), Kept::default());
        self.advance();
    }

    /// Goes on waiting for the answer to a parked question, where that is all there is to do. Tells whether it does.
    fn rests(&mut self, now_ms: Option<u64>) -> bool {
        let (Phase::Calling(round), Some(parked)) = (&mut self.phase, self.parked.clone()) else {
            return false;
        };
        let to_answer = |call: &Call| matches!(call.state, State::Answered { .. });
        let first = round
            .calls
            .iter_mut()
            .find(|call| matches!(call.state, State::ToAsk { .. }) || to_answer(call));
        let Some(call) = first else { return false };
        let (State::ToAsk { rule, .. }, Some(run)) = (&call.state, &call.run) else {
            return false;
        };
        if !parked.asks(&call.id, &run.digest) {
            return false;
        }
        let rule = rule.clone();
        call.state = State::Asking { rule };
        // What was decided stands in the journal.
        self.out.forget();
        if now_ms.is_some_and(|now| now >= parked.expires_ms) {
            self.approval(&parked.call, parked.digest, Answer::Unanswered);
        } else {
            self.ask_about(&parked.call);
        }
        true
    }
}

/// Returns a call that ran, to be run again or not.
fn again(past: &Past, mark: Mark, run: Option<(Arc<Tool>, ValidArguments)>) -> Call {
    let Some((tool, arguments)) = run else {
        return silent(past);
    };
    let digest = canonical::digest(tool.name(), arguments.text());
    let (id, name) = (past.call.id.clone(), past.call.name.clone());
    Call::new(id, name, tool, arguments, digest, mark, State::Running)
}

/// Returns a call that is not run any more, however it ends.
fn silent(past: &Past) -> Call {
    let Past { call, .. } = past;
    let mut silent = Call::answered(
        call.id.clone(),
        call.name.clone(),
        Status::NotStarted,
        String::new(),
    );
    if past.start.is_some() {
        silent.state = State::Running;
    }
    silent
}

fn crashed(attempts: u32) -> String {
    format!(
        "{ENDED} That happened {attempts} times, so it is not run again. Do something else, or tell the user."
    )
}

fn text(text: impl Into<String>) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}
