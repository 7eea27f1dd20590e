//! The loop guard: notices a turn that goes in circles.
//!
//! A call's signature is its tool, its canonical arguments and a digest of its outcome. The same signature in a row, or
//! a cycle of two or three, is first noted in the result, then refused, then ends the turn. A call whose outcome changes
//! starts anew: polling that gets somewhere and a test run again after each edit are no loops.

use std::collections::HashMap;

use super::Millis;
use crate::limits::Limits;

/// For how much active time of a turn the same call of a polling tool is no loop, in milliseconds.
const POLLING: Millis = 10 * 60 * 1_000;

/// The longest cycle that is looked for.
const LONGEST_CYCLE: usize = 3;

/// What becomes of a call that repeats an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rung {
    /// Nothing.
    Fresh,
    /// It runs and the model is told.
    Note,
    /// It does not run.
    Refuse,
    /// It does not run and the turn wraps up.
    Stop,
}

/// The calls of a turn in order, and how often the same faulty call came.
#[derive(Debug, Default)]
pub(super) struct Guard {
    calls: Vec<Signature>,
    faulty: HashMap<String, u32>,
    /// When each call of a polling tool was first made.
    polls: HashMap<String, Millis>,
    failures: u32,
}

#[derive(Debug, PartialEq)]
struct Signature {
    call: String,
    /// What it gave; until that is known, what it gave in the cycle before.
    outcome: Option<String>,
}

/// Where a proposed call stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    at: usize,
    rung: Rung,
}

impl Mark {
    pub(super) fn rung(self) -> Rung {
        self.rung
    }
}

impl Guard {
    /// Takes note of a call that is about to be decided on; `polls` is the time when it is one of a polling tool.
    pub(super) fn propose(&mut self, call: &str, polls: Option<Millis>, limits: &Limits) -> Mark {
        let (repeats, period) = (1..=LONGEST_CYCLE)
            .map(|period| (self.repeats(call, period), period))
            .max_by_key(|(repeats, _)| *repeats)
            .unwrap_or_default();
        let rung = match repeats {
            n if n >= limits.repeats_stopped => Rung::Stop,
            n if n >= limits.repeats_refused => Rung::Refuse,
            n if n >= limits.repeats_noted => Rung::Note,
            _ => Rung::Fresh,
        };
        let patient = polls.is_some_and(|now| {
            let first = *self.polls.entry(call.to_owned()).or_insert(now);
            now.saturating_sub(first) < POLLING
        });
        let rung = if patient { Rung::Fresh } else { rung };
        let expected = (repeats > 1)
            .then(|| self.calls[self.calls.len() - period].outcome.clone())
            .flatten();
        self.calls.push(Signature {
            call: call.to_owned(),
            outcome: expected,
        });
        Mark {
            at: self.calls.len() - 1,
            rung,
        }
    }

    /// Counts how often a cycle of `period` calls has come in a row if `call` goes on with it, this time included.
    fn repeats(&self, call: &str, period: usize) -> u32 {
        let calls = &self.calls;
        let Some(before) = calls.len().checked_sub(period) else {
            return 1;
        };
        if calls[before].call != call || calls[before].outcome.is_none() {
            return 1;
        }
        let same = (period..calls.len())
            .rev()
            .take_while(|at| calls[*at].outcome.is_some() && calls[*at] == calls[at - period])
            .count();
        u32::try_from(same / period + 2).unwrap_or(u32::MAX)
    }

    /// Takes note of what a call gave; tells whether that is the same again and to be noted.
    pub(super) fn settle(&mut self, mark: Mark, outcome: String) -> bool {
        let signature = &mut self.calls[mark.at];
        let same = signature.outcome.as_ref() == Some(&outcome);
        signature.outcome = Some(outcome);
        same && mark.rung == Rung::Note
    }

    /// Takes note of a call that cannot be run as it was sent; `key` names the fault.
    pub(super) fn faulty(&mut self, key: String, limits: &Limits) -> Rung {
        let count = self.faulty.entry(key).or_default();
        *count += 1;
        match count.saturating_sub(limits.same_invalid_call) {
            0 if *count == 1 => Rung::Fresh,
            0 => Rung::Note,
            1 => Rung::Refuse,
            _ => Rung::Stop,
        }
    }

    /// Takes note of a call's end, in call order; tells whether too many failed in a row.
    pub(super) fn ended(&mut self, failed: bool, limits: &Limits) -> bool {
        self.failures = if failed { self.failures + 1 } else { 0 };
        self.failures >= limits.failures_in_row
    }
}

#[cfg(test)]
mod tests {
    use super::{Guard, Rung};
    use crate::limits::Limits;

    /// Runs calls with their outcomes; returns the rung of each, a note only where it was given.
    fn rungs<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Rung> {
        let mut guard = Guard::default();
        let limits = Limits::default();
        calls
            .into_iter()
            .map(|(call, outcome)| {
                let mark = guard.propose(call, None, &limits);
                if mark.rung() >= Rung::Refuse {
                    return mark.rung();
                }
                if guard.settle(mark, outcome.to_owned()) {
                    Rung::Note
                } else {
                    Rung::Fresh
                }
            })
            .collect()
    }

    #[test]
    fn the_same_call_is_noted_then_refused_then_ends() {
        use Rung::{Fresh, Note, Refuse, Stop};
        assert_eq!(
            rungs([("a", "x"); 8]),
            [Fresh, Fresh, Note, Note, Refuse, Refuse, Stop, Stop]
        );
    }

    #[test]
    fn a_polling_tool_may_repeat_itself_for_a_while() {
        let mut guard = Guard::default();
        let limits = Limits::default();
        let mut rung = |now| {
            let mark = guard.propose("a", Some(now), &limits);
            guard.settle(mark, "waiting".to_owned());
            mark.rung()
        };
        assert!((0..40).all(|n| rung(n * 1_000) == Rung::Fresh));
        assert_eq!(rung(super::POLLING - 1), Rung::Fresh);
        assert_eq!(rung(super::POLLING), Rung::Stop);
    }

    #[test]
    fn ping_pong_is_a_loop() {
        let calls = [("a", "x"), ("b", "y")];
        let rungs = rungs(calls.into_iter().cycle().take(14));
        assert_eq!(rungs[3], Rung::Fresh);
        assert_eq!(rungs[4], Rung::Note);
        assert_eq!(rungs[13], Rung::Stop);
        let three = [("a", "x"), ("b", "y"), ("c", "z")];
        assert!(super::tests::rungs(three.into_iter().cycle().take(30)).contains(&Rung::Stop));
    }

    #[test]
    fn distinct_reads_and_a_changing_outcome_are_none() {
        let names: Vec<_> = (0..40).map(|n| n.to_string()).collect();
        let reads = rungs(names.iter().map(|name| (name.as_str(), "same")));
        assert!(reads.iter().all(|rung| *rung == Rung::Fresh));
        let polls = rungs(names.iter().map(|outcome| ("poll", outcome.as_str())));
        assert!(polls.iter().all(|rung| *rung == Rung::Fresh));
        // A test that fails the same way after each of several edits.
        let edits = names
            .iter()
            .flat_map(|edit| [(edit.as_str(), "done"), ("test", "failed")]);
        assert!(rungs(edits).iter().all(|rung| *rung == Rung::Fresh));
    }

    #[test]
    fn a_faulty_call_is_answered_noted_refused_and_ends() {
        let mut guard = Guard::default();
        let limits = Limits::default();
        let rungs: Vec<_> = (0..4)
            .map(|_| guard.faulty("k".to_owned(), &limits))
            .collect();
        assert_eq!(rungs, [Rung::Fresh, Rung::Note, Rung::Refuse, Rung::Stop]);
    }
}
