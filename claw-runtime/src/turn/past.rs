//! The fold of an unfinished turn: from its events to where it stands.
//!
//! What was decided is read, not decided anew. The loop guard is told of each call as it was when the call was made.

use std::collections::HashSet;
use std::time::Duration;

use super::calls::journaled_signature;
use super::form::untold;
use super::gate::{CUT_AGAIN, FAULTY};
use super::recover::{Interrupted, Parked};
use super::request::{Asking, EMPTY};
use super::stable::Likeness;
use super::{Millis, Phase, Setup, Turn};
use crate::event::{
    Answer, Cause, EndReason, Event, GuardVerdict, Purpose, ReAsk, Status, Verdict,
};
use crate::message::{ContentBlock, StopReason, ToolCall, Usage, text_of};
use crate::provider::{FailureClass, Target, ToolChoice};
use crate::session::{Stored, View};
use crate::tool::Effect;

/// Where a turn was interrupted.
#[derive(Debug)]
pub(super) enum At {
    /// Something was said; no model was asked yet.
    Posted,
    /// A model is asked, or was to be after a pause.
    Asking {
        asking: Asking,
        retry: Option<Duration>,
        /// What the service said when it found the request too long, and nothing was done about it yet.
        overflow: Option<String>,
        /// Whether the answer broke off after something was shown, so that the next round goes on with it.
        broke: bool,
    },
    /// Calls of a reply are open, or were just answered.
    Calling {
        calls: Vec<Past>,
        notice: Option<String>,
        stop: StopReason,
    },
    /// The model answered.
    Said(StopReason),
}

/// What the journal says of a call.
#[derive(Debug)]
pub(super) struct Past {
    pub(super) call: ToolCall,
    pub(super) decided: bool,
    pub(super) denied: bool,
    pub(super) guarded: bool,
    /// How the refusal of a faulty call begins.
    pub(super) refused_as: Option<&'static str>,
    pub(super) answer: Option<(String, Answer)>,
    pub(super) start: Option<Start>,
    /// With the signature that the guard compares.
    pub(super) outcome: Option<(Status, Likeness)>,
    /// When it was decided on.
    pub(super) at: Millis,
}

/// How a call was started.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) effect: Effect,
    pub(super) digest: String,
    pub(super) attempts: u32,
}

impl Turn {
    /// Returns an unfinished turn as its `events` left it, over the session folded into `view`. It goes on with
    /// [`Input::Resume`](super::Input::Resume) or ends with [`Input::Settle`](super::Input::Settle).
    ///
    /// The turn's active time is told from when its events were written, without the time a person was waited for and
    /// the time between the end of one process and the next.
    pub fn resume(setup: Setup, view: View, events: &[Stored]) -> Self {
        let mut fold = Fold {
            turn: Self::new(setup, view),
            at: Stage::Posted,
            asking: Asking::default(),
            calls: Vec::new(),
            ids: HashSet::new(),
            notice: None,
            stop: StopReason::Stop,
            since: Since::Nothing,
            broke: false,
            takeovers: 0,
            cancelled: false,
            waits: false,
            summarising: false,
            time_ms: None,
        };
        for stored in events {
            fold.time(stored);
            fold.apply(&stored.event);
        }
        fold.finish()
    }
}

/// What came since the last request.
enum Since {
    Nothing,
    /// It failed and is to be made again after a pause.
    Retry(Duration),
    /// The service found it too long, and said this.
    TooLong(String),
    /// It failed otherwise.
    Failed(FailureClass),
    /// A reply came that was no answer.
    Said,
}

enum Stage {
    Posted,
    Asking,
    Calling,
    Said,
}

struct Fold {
    turn: Turn,
    at: Stage,
    asking: Asking,
    calls: Vec<Past>,
    /// Those of all calls of the turn.
    ids: HashSet<String>,
    notice: Option<String>,
    /// Why the last reply ended.
    stop: StopReason,
    since: Since,
    /// Whether a broken answer came since the last request.
    broke: bool,
    takeovers: u32,
    cancelled: bool,
    /// Whether a person is waited for.
    waits: bool,
    /// Whether a summary is asked for.
    summarising: bool,
    time_ms: Option<u64>,
}

impl Fold {
    fn time(&mut self, stored: &Stored) {
        let before = self.time_ms.replace(stored.time_ms);
        let idle = self.waits || matches!(stored.event, Event::Resumed { .. });
        if let Some(before) = before.filter(|_| !idle) {
            let passed = stored.time_ms.saturating_sub(before);
            self.turn.now = self.turn.now.saturating_add(passed);
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::UserInput { .. } => self.turn.unread |= !matches!(self.at, Stage::Posted),
            Event::ModelRequest {
                round,
                attempt,
                target,
                tool_choice,
                re_ask,
                constrained,
                purpose: Purpose::Answer,
                ..
            } => {
                let re_ask = re_ask.clone().map(untold);
                self.request(
                    (*round, *attempt),
                    target,
                    *tool_choice,
                    re_ask,
                    *constrained,
                );
            }
            Event::ModelRequest { attempt, .. } => {
                self.asking.attempt = *attempt;
                self.summarising = true;
            }
            Event::ModelFailed {
                class,
                message,
                retry_ms,
                usage,
            } => {
                self.spend(*usage);
                if self.summarising {
                    return;
                }
                self.since = match retry_ms {
                    Some(ms) => Since::Retry(Duration::from_millis(*ms)),
                    None if *class == FailureClass::ContextLength => {
                        Since::TooLong(message.clone())
                    }
                    None => Since::Failed(*class),
                };
            }
            Event::Assistant {
                content,
                incomplete: true,
                ..
            } => {
                self.got_further();
                self.broke = true;
                self.turn.begun.push_str(&text_of(content));
            }
            Event::Assistant {
                content,
                stop,
                usage,
                ..
            } => {
                self.spend(*usage);
                self.assistant(content, stop);
            }
            Event::Faulty { fault } => self.notice = Some(fault.clone()),
            Event::WrapUp { reason } => {
                self.turn.stop.get_or_insert_with(|| reason.clone());
            }
            Event::Decision { call, verdict, .. } => {
                let now = self.turn.now;
                self.call(call, |past| {
                    past.decided = true;
                    past.denied = *verdict == Verdict::Deny;
                    past.at = now;
                });
            }
            Event::Guard { call, verdict } => {
                self.call(call, |past| past.guarded |= *verdict != GuardVerdict::Note);
            }
            Event::ApprovalAsked { .. } => self.waits = true,
            Event::Approval {
                call,
                digest,
                answer,
            } => {
                self.woke();
                self.got_further();
                self.call(call, |past| past.answer = Some((digest.clone(), *answer)));
            }
            Event::Intent {
                call,
                attempt,
                effect,
                digest,
            } => self.call(call, |past| {
                past.start = Some(Start {
                    effect: *effect,
                    digest: digest.clone(),
                    attempts: *attempt,
                });
            }),
            Event::Outcome {
                call,
                status,
                content,
                progress,
                ..
            } => self.outcome(call, *status, content, progress.as_deref()),
            Event::Blocked {
                call,
                digest,
                expires_ms,
            } => {
                self.waits = true;
                self.turn.asleep = true;
                self.turn.parked = Some(Parked {
                    call: call.clone(),
                    digest: digest.clone(),
                    expires_ms: *expires_ms,
                });
            }
            Event::Resumed { takeover } => {
                self.waits = false;
                self.turn.asleep = false;
                if *takeover > 0 {
                    self.takeovers = *takeover;
                }
            }
            Event::CancelRequested => self.cancelled = true,
            Event::Compacted { cause, usage, .. } => {
                self.asking.overflowed |= *cause == Cause::Overflow;
                self.summarised(*usage);
            }
            Event::CompactionFailed { usage, .. } => {
                self.turn.no_summary = true;
                self.summarised(*usage);
            }
            // They change the view, or end the turn.
            Event::ContextChanged { .. }
            | Event::Learnt { .. }
            | Event::Spawned { .. }
            | Event::Undone { .. }
            | Event::Pinned { .. }
            | Event::TurnEnd { .. } => {}
        }
    }

    fn call(&mut self, id: &str, change: impl FnOnce(&mut Past)) {
        if let Some(past) = self.calls.iter_mut().find(|past| past.call.id == id) {
            change(past);
        }
    }

    fn summarised(&mut self, usage: Option<Usage>) {
        self.summarising = false;
        self.spend(usage);
    }

    fn spend(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.turn.usage += usage;
        }
    }

    fn got_further(&mut self) {
        self.takeovers = 0;
    }

    fn woke(&mut self) {
        self.waits = false;
        self.turn.asleep = false;
        self.turn.parked = None;
    }

    fn request(
        &mut self,
        (round, attempt): (u32, u32),
        target: &Target,
        choice: ToolChoice,
        re_ask: Option<ReAsk>,
        constrained: bool,
    ) {
        self.turn.replay_round(std::mem::take(&mut self.calls));
        self.summarising = false;
        let turn = &mut self.turn;
        let wraps_up = choice == ToolChoice::None;
        let again = matches!(self.at, Stage::Asking | Stage::Said)
            && self.asking.wrap_up.is_some() == wraps_up
            && (wraps_up || round == turn.round);
        if turn.unread && matches!(self.at, Stage::Said) {
            turn.begun.clear();
        }
        if !again {
            // A new round after a failure goes on with what was shown of the broken answer.
            turn.continued |= matches!(&self.since, Since::Failed(class) if class.is_retryable());
            let reason = wraps_up.then(|| turn.stop.take().unwrap_or_else(unsaid));
            self.asking = Asking {
                wrap_up: reason,
                ..Asking::default()
            };
        }
        let asking = &mut self.asking;
        let aim = turn
            .setup
            .targets
            .iter()
            .position(|known| known.provider == target.provider && known.model == target.model);
        let elsewhere = aim.is_some_and(|aim| aim != turn.target);
        // A form that was refused or not heeded: the same request, made again without.
        let without_form = again && !elsewhere && asking.constrained && !constrained;
        let is_held = again && !elsewhere && asking.constrained && constrained;
        let in_another_form = |class: FailureClass| is_held && class != FailureClass::MalformedCall;
        match &self.since {
            Since::Said | Since::Failed(_) if without_form => {}
            // One that could not be followed in part: made again with the rest.
            Since::Failed(class) if in_another_form(*class) => {}
            // The process ended meanwhile: the same attempt, made again.
            Since::Nothing if again => {}
            Since::Retry(_) => asking.tries += 1,
            Since::TooLong(_) if again && !elsewhere => asking.tries += 1,
            Since::Said if re_ask.as_ref().is_some_and(|re_ask| re_ask.fault == EMPTY) => {
                asking.empty_replies += 1;
                asking.tries = 1;
            }
            Since::Said | Since::Failed(FailureClass::MalformedCall) if again => {
                asking.re_asks += 1;
                asking.tries = 1;
            }
            Since::Failed(FailureClass::ToolsUnsupported | FailureClass::SchemaRefused)
                if again && !elsewhere => {}
            _ => asking.tries = 1,
        }
        asking.attempt = attempt;
        asking.re_ask = re_ask;
        asking.constrained = constrained;
        turn.target = aim.unwrap_or(0);
        turn.requests += 1;
        turn.unread = false;
        if !wraps_up {
            turn.round = round;
        }
        self.at = Stage::Asking;
        self.since = Since::Nothing;
        self.broke = false;
    }

    fn assistant(&mut self, content: &[ContentBlock], stop: &StopReason) {
        self.turn.replay_round(std::mem::take(&mut self.calls));
        self.got_further();
        let calls = content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        });
        // As in the view, the first call of an id is the call: no other outcome could be told from its own.
        for call in calls {
            if self.ids.insert(call.id.clone()) {
                self.calls.push(past(call));
            }
        }
        self.notice = None;
        self.stop = stop.clone();
        self.since = Since::Said;
        let text = text_of(content);
        if let Some(reason) = &self.asking.wrap_up {
            self.calls.clear();
            self.turn.stop = Some(reason.clone());
            self.at = Stage::Said;
            self.turn.begun.push_str(&text);
            return;
        }
        self.turn.continued = false;
        if !self.calls.is_empty() {
            self.turn.begun.clear();
            self.at = Stage::Calling;
        } else if !text.trim().is_empty() {
            self.turn.begun.push_str(&text);
            self.at = Stage::Said;
        }
    }

    fn outcome(
        &mut self,
        id: &str,
        status: Status,
        content: &[ContentBlock],
        progress: Option<&str>,
    ) {
        self.got_further();
        let Some(past) = self.calls.iter_mut().find(|past| past.call.id == id) else {
            return;
        };
        // The first answer is the one that counts.
        if past.outcome.is_none() {
            let said = text_of(content);
            past.refused_as = [FAULTY, CUT_AGAIN]
                .into_iter()
                .find(|begin| said.starts_with(begin));
            past.outcome = Some((status, journaled_signature(status, content, progress)));
            self.turn.tally.count(&past.call.name, status);
        }
    }

    fn finish(self) -> Turn {
        let Self {
            mut turn,
            at,
            asking,
            calls,
            notice,
            stop,
            since,
            broke,
            takeovers,
            cancelled,
            ..
        } = self;
        let broke = broke && matches!(&since, Since::Failed(class) if class.is_retryable());
        let (retry, overflow) = match since {
            Since::Retry(after) => (Some(after), None),
            Since::TooLong(message) => (None, Some(message)),
            _ => (None, None),
        };
        let at = match at {
            Stage::Posted => At::Posted,
            Stage::Asking => At::Asking {
                asking,
                retry,
                overflow,
                broke,
            },
            Stage::Calling => At::Calling {
                calls,
                notice,
                stop,
            },
            Stage::Said => At::Said(stop),
        };
        turn.phase = Phase::Interrupted(Box::new(Interrupted {
            at,
            takeovers,
            cancelled,
        }));
        turn
    }
}

fn past(call: &ToolCall) -> Past {
    Past {
        call: call.clone(),
        decided: false,
        denied: false,
        guarded: false,
        refused_as: None,
        answer: None,
        start: None,
        outcome: None,
        at: 0,
    }
}

/// Why a turn wraps up whose journal does not say.
fn unsaid() -> EndReason {
    EndReason::Limit {
        limit: "a limit of the turn".to_owned(),
    }
}
