//! The gate: decides of each call whether it runs, asks or is answered without running.

use std::sync::Arc;

use super::Turn;
use super::canonical;
use super::guard::{Mark, Proposal, Rung};
use super::reply::{Asked, clip};
use super::round::{Call, State};
use super::stable::Likeness;
use crate::event::{EndReason, Event, GuardVerdict, Status, Verdict};
use crate::message::ToolCall;
use crate::nearest::nearest;
use crate::registry::Toolset;
use crate::tool::{Approve, Tool, ValidArguments};

/// Characters of a made-up tool name that the model is shown again.
const NAME_CHARS: usize = 64;
/// How the refusal of a faulty call begins: by this a fold of the journal tells it from that of a call that could run.
pub(super) const FAULTY: &str = "Refused: this call failed the same way each time it was sent.";
pub(super) const CUT_AGAIN: &str = "Refused: this call broke off each time it was sent.";
/// Tools named where none is near.
const LISTED: usize = 20;

impl Turn {
    /// Decides on the `nth` call of a round. Policy's and guard's word are events; the rest shows in the outcome.
    pub(super) fn gate(&mut self, nth: usize, asked: Asked) -> Call {
        let Asked { call, cut } = asked;
        if let Some(text) = self.over_count(nth) {
            return Call::answered(call.id, call.name, Status::Refused, text).excused();
        }
        if cut {
            let key = format!("cut {}", call.name);
            return self.faulty(call, key, Status::Cut, cut_text);
        }
        let Some(tool) = self.setup.tools.get(&call.name).cloned() else {
            let key = format!("unknown {}", call.name);
            let text = unknown_text(&call.name, &self.setup.tools);
            return self.faulty(call, key, Status::UnknownTool, |_| text);
        };
        match tool.validate_as(&call.arguments, self.setup.coerce) {
            Err(report) => {
                let key = canonical::digest(&call.name, &call.arguments);
                self.faulty(call, key, Status::Invalid, |_| report)
            }
            Ok(arguments) => self.rule(call, tool, arguments),
        }
    }

    fn over_count(&mut self, nth: usize) -> Option<String> {
        let limits = &self.setup.limits;
        if nth >= limits.calls_per_round as usize {
            return Some(format!(
                "Not run: a round has at most {} calls. Send the rest in the next round.",
                limits.calls_per_round
            ));
        }
        if self.calls >= limits.calls_per_turn {
            let limit = format!("{} calls", limits.calls_per_turn);
            let text = format!("Not run: a turn has at most {limit}, and they are used up.");
            self.stop(EndReason::Limit { limit });
            return Some(text);
        }
        self.calls += 1;
        None
    }

    /// Answers a call that cannot run as it was sent; the same one again is told so, then refused, then ends the turn.
    fn faulty(
        &mut self,
        call: ToolCall,
        key: String,
        status: Status,
        text: impl FnOnce(&ToolCall) -> String,
    ) -> Call {
        let rung = self.guard.faulty(key, &self.setup.limits);
        self.guard_spoke(&call.id, rung);
        let (status, text) = match rung {
            Rung::Fresh => (status, text(&call)),
            Rung::Note => (
                status,
                format!(
                    "{}\nThis call failed the same way before; sending it again will not help.",
                    text(&call)
                ),
            ),
            Rung::Refuse | Rung::Stop => (
                Status::Refused,
                match status {
                    Status::Cut => {
                        format!("{CUT_AGAIN} Send less at once, or say what is missing.")
                    }
                    _ => format!("{FAULTY} Do something else, or say what is missing."),
                },
            ),
        };
        if rung == Rung::Stop {
            self.stop(EndReason::Limit {
                limit: "the same faulty call again and again".to_owned(),
            });
        }
        Call::answered(call.id, call.name, status, text)
    }

    fn rule(&mut self, call: ToolCall, tool: Arc<Tool>, arguments: ValidArguments) -> Call {
        let (digest, signature) = canonical::names(&tool, arguments.text());
        let mark = self.propose(&tool, signature);
        if mark.rung() >= Rung::Refuse {
            self.guard_spoke(&call.id, mark.rung());
            if mark.rung() == Rung::Stop {
                self.stop(EndReason::Limit {
                    limit: mark.limit(tool.name()),
                });
            }
            let text = mark.refusal(tool.name());
            return Call::answered(call.id, call.name, Status::Refused, text);
        }
        let approve = tool.spec().approve.of(&call, arguments.text());
        let ruling = self.setup.policy.rule_as(&tool, approve);
        let always_asks = matches!(approve, Approve::Always);
        let (verdict, rule) = if ruling.verdict == Verdict::Deny {
            (Verdict::Deny, ruling.rule)
        } else if self.view.is_unknown(&digest) {
            let rule = "the same call was started before and may have had its effect";
            (Verdict::Ask, rule.to_owned())
        } else if ruling.verdict == Verdict::Ask
            && !always_asks
            && self.view.is_approved(tool.name(), &digest)
        {
            (Verdict::Allow, "approved for this session".to_owned())
        } else {
            (ruling.verdict, ruling.rule)
        };
        self.out.event(Event::Decision {
            call: call.id.clone(),
            verdict,
            rule: rule.clone(),
        });
        let state = match verdict {
            Verdict::Allow => State::Ready,
            Verdict::Ask => State::ToAsk {
                rule,
                always: always_asks,
            },
            Verdict::Deny => {
                self.guard.settle(mark, Likeness::of("denied"));
                let text = format!(
                    "Denied, not run: {rule}. Only the user can change that, by taking the tool off the policy's \
                     `deny` list. Go on without it, or tell them."
                );
                return Call::answered(call.id, call.name, Status::Denied, text);
            }
        };
        Call::new(call.id, call.name, tool, arguments, digest, mark, state)
    }

    /// Tells the guard of a call that is about to be decided on.
    fn propose(&mut self, tool: &Tool, signature: Likeness) -> Mark {
        let proposal = Proposal {
            tool: tool.name(),
            signature,
            polls: tool.spec().poll,
            now: self.now,
        };
        self.guard.propose(proposal, &self.setup.limits)
    }

    pub(super) fn guard_spoke(&mut self, call: &str, rung: Rung) {
        let verdict = match rung {
            Rung::Fresh => return,
            Rung::Note => GuardVerdict::Note,
            Rung::Refuse => GuardVerdict::Refuse,
            Rung::Stop => GuardVerdict::Stop,
        };
        self.out.event(Event::Guard {
            call: call.to_owned(),
            verdict,
        });
    }
}

fn cut_text(call: &ToolCall) -> String {
    format!(
        "Tool call to `{}` was not run: its arguments break off after {} characters, as at an output limit. Send the whole \
         call again; where it is long, send less at once, for example in several calls.",
        clip(&call.name, NAME_CHARS),
        call.arguments.chars().count()
    )
}

fn unknown_text(name: &str, tools: &Toolset) -> String {
    let shown = clip(name, NAME_CHARS);
    if tools.is_empty() {
        return format!("There is no tool `{shown}`; there are no tools at all. Answer without.");
    }
    let names = || tools.iter().map(|tool| tool.name());
    if let Some(near) = nearest(name, names()) {
        return format!("There is no tool `{shown}`; did you mean `{near}`?");
    }
    let listed: Vec<_> = names()
        .take(LISTED)
        .map(|name| format!("`{name}`"))
        .collect();
    format!("There is no tool `{shown}`. Tools: {}.", listed.join(", "))
}
