//! Tells the loop guard of a resumed turn what it was told before: the calls of the journal, in their order.

use std::sync::Arc;

use super::gate::{CUT_AGAIN, FAULTY};
use super::guard::{Mark, Proposal};
use super::past::Past;
use super::stable::Likeness;
use super::{Turn, canonical};
use crate::event::Status;
use crate::tool::{Effect, Tool, ValidArguments};

/// What a call was to the guard.
pub(super) enum Replayed {
    /// Refused for its place alone, which is no failure of the model.
    Excused,
    /// It never came to run.
    Silent,
    /// Its outcome counts; with what it takes to run it, where the tool still is what it was.
    Ran(Mark, Option<(Arc<Tool>, ValidArguments)>),
}

impl Turn {
    /// Tells the guard of a call that was decided on before.
    pub(super) fn replay(&mut self, past: &Past) -> Replayed {
        let Past { call, .. } = past;
        let status = past.outcome.as_ref().map(|(status, _)| *status);
        let went = past.decided || past.start.is_some();
        if status == Some(Status::Refused) && !past.guarded && !went {
            return Replayed::Excused;
        }
        if status == Some(Status::NotStarted) && !went {
            return Replayed::Silent;
        }
        self.calls += 1;
        let tool = self.setup.tools.get(&call.name).cloned();
        let valid = tool
            .as_ref()
            .and_then(|tool| tool.validate_as(&call.arguments, self.setup.coerce).ok());
        let fault = match status {
            _ if went => None,
            Some(Status::Cut) => Some(format!("cut {}", call.name)),
            Some(Status::Refused) if past.refused_as == Some(CUT_AGAIN) => {
                Some(format!("cut {}", call.name))
            }
            Some(Status::UnknownTool) => Some(format!("unknown {}", call.name)),
            Some(Status::Invalid) => Some(canonical::digest(&call.name, &call.arguments)),
            Some(Status::Refused) if past.refused_as == Some(FAULTY) => Some(match &tool {
                None => format!("unknown {}", call.name),
                Some(_) => canonical::digest(&call.name, &call.arguments),
            }),
            _ => None,
        };
        if let Some(key) = fault {
            self.guard.faulty(key, &self.setup.limits);
            return Replayed::Silent;
        }
        let signature = match (&tool, &valid) {
            (Some(tool), Some(valid)) => canonical::signature(tool, valid.text()),
            // The tool is not what it was: its call stands for itself.
            _ => Likeness::of(canonical::digest(&call.name, &call.arguments)),
        };
        let proposal = Proposal {
            tool: tool.as_ref().map_or(&*call.name, |tool| tool.name()),
            signature,
            polls: tool.as_ref().is_some_and(|tool| tool.spec().poll),
            now: past.at,
        };
        let mark = self.guard.propose(proposal, &self.setup.limits);
        if past.denied {
            self.guard.settle(mark, Likeness::of("denied"));
        }
        match (tool, valid) {
            _ if !went || past.denied => Replayed::Silent,
            (Some(tool), Some(valid)) => Replayed::Ran(mark, Some((tool, valid))),
            _ => Replayed::Ran(mark, None),
        }
    }

    /// All calls are answered: the guard is told as the turn told it.
    pub(super) fn replay_round(&mut self, calls: Vec<Past>) {
        if calls.is_empty() {
            return;
        }
        let mut ends = Vec::new();
        for past in calls {
            let (mark, harmless) = match self.replay(&past) {
                Replayed::Excused => continue,
                Replayed::Silent => (None, true),
                Replayed::Ran(mark, run) => {
                    let effect = run.map_or(Effect::Pure, |(tool, _)| tool.spec().effect);
                    (Some(mark), effect.is_harmless())
                }
            };
            if let Some((status, signature)) = past.outcome {
                ends.push((mark, harmless, status, signature));
            }
        }
        for (mark, _, status, signature) in &ends {
            if let Some(mark) = mark
                && *status != Status::NotStarted
            {
                self.guard.settle(*mark, *signature);
            }
        }
        for (mark, harmless, status, _) in ends {
            self.guard.ended(mark, status, harmless, &self.setup.limits);
        }
        self.guard.round_ended();
    }
}
