//! The loop guard: notices a turn that goes in circles.
//!
//! A call's signature is its tool, its canonical arguments and what of its outcome lasts. The same signature in a row, or a
//! cycle of two to five, is first noted in the result, then refused, then ends the turn. A call whose outcome changes starts
//! anew: polling that gets somewhere and a test run again after each edit are no loops. Polling tools are given time first.
//! Beside that stand plain bounds: failing calls in a row, calls in a row that bring nothing new, calls of one tool, and
//! refusals that the model does not heed.
//!
//! Everything in here follows from the calls and outcomes of the turn in call order, so a resumed turn builds it anew from
//! its journal.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Millis;
use super::stable::Likeness;
use crate::event::Status;
use crate::limits::Limits;

/// The longest cycle that is looked for.
const LONGEST_CYCLE: usize = 5;

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

/// The calls of a turn in order, and what they came to.
#[derive(Debug, Default)]
pub(super) struct Guard {
    calls: Vec<Signature>,
    /// How often each tool was called.
    tools: BTreeMap<Likeness, u32>,
    faulty: HashMap<String, u32>,
    polls: BTreeMap<Likeness, Patience>,
    /// Every outcome so far.
    seen: BTreeSet<Likeness>,
    failures: u32,
    /// Calls in a row that brought nothing new.
    idle: u32,
    /// Rounds in a row in which a call was refused and nothing new came.
    refused_rounds: u32,
    round: Round,
}

/// What the running round has come to so far.
#[derive(Debug, Default)]
struct Round {
    refused: bool,
    progressed: bool,
}

#[derive(Debug)]
struct Signature {
    call: Likeness,
    /// What it gave; until that is known, what it gave in the cycle before.
    outcome: Option<Likeness>,
    polls: bool,
}

impl Signature {
    fn repeats(&self, before: &Self) -> bool {
        self.outcome.is_some() && self.outcome == before.outcome && self.call == before.call
    }
}

/// Since when a call of a polling tool gives the same, and how often it came after its time.
#[derive(Debug)]
struct Patience {
    since: Millis,
    over: u32,
}

/// A call that is about to be decided on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal<'a> {
    pub(super) tool: &'a str,
    /// Equal for calls of the same tool with arguments that mean the same.
    pub(super) signature: Likeness,
    pub(super) polls: bool,
    pub(super) now: Millis,
}

/// Where a proposed call stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    at: usize,
    rung: Rung,
    cause: Cause,
    patient: bool,
    now: Millis,
}

#[derive(Clone, Copy, Debug)]
enum Cause {
    /// It came before and gave the same.
    Repeats,
    /// So many calls of its tool.
    Tool(u32),
    /// So many calls without anything new.
    Idle(u32),
}

impl Mark {
    pub(super) fn rung(self) -> Rung {
        self.rung
    }

    /// Says why the call is refused.
    pub(super) fn refusal(self, tool: &str) -> String {
        match self.cause {
            Cause::Tool(count) => format!(
                "Refused: `{tool}` was called {} times in this turn, and a turn allows no more. Go on without it.",
                count - 1
            ),
            Cause::Repeats | Cause::Idle(_) => {
                "Refused: this call was made several times with the same result. Use what it gave, or do something else."
                    .to_owned()
            }
        }
    }

    /// Says why the turn ends.
    pub(super) fn limit(self, tool: &str) -> String {
        match self.cause {
            Cause::Tool(count) => format!("{} calls of `{tool}`", count - 1),
            Cause::Repeats | Cause::Idle(_) => "the same calls again and again".to_owned(),
        }
    }
}

impl Guard {
    /// Takes note of a call that is about to be decided on.
    pub(super) fn propose(&mut self, call: Proposal<'_>, limits: &Limits) -> Mark {
        let (repeats, period) = (1..=LONGEST_CYCLE)
            .map(|period| (self.repeats(call.signature, period, limits), period))
            .max_by_key(|(repeats, period)| (*repeats, LONGEST_CYCLE - period))
            .unwrap_or((1, 1));
        let cycle = &self.calls[self.calls.len() - if repeats > 1 { period } else { 0 }..];
        let polls = call.polls || cycle.iter().any(|call| call.polls);
        let outcome = cycle.first().and_then(|call| call.outcome);
        let by_repeats = rung(repeats, limits);
        let (rung, patient) = match polls {
            true => self.patience(call, repeats, limits),
            false => (by_repeats, false),
        };
        self.calls.push(Signature {
            call: call.signature,
            outcome,
            polls: call.polls,
        });
        let count = self.tools.entry(Likeness::of(call.tool)).or_default();
        *count = count.saturating_add(1);
        let (rung, cause) = match rung {
            _ if *count > limits.calls_per_tool => (rung.max(Rung::Refuse), Cause::Tool(*count)),
            Rung::Fresh if *count > nearly(limits.calls_per_tool) => {
                (Rung::Note, Cause::Tool(*count))
            }
            Rung::Fresh if self.idle >= nearly(limits.idle_calls) && !patient => {
                (Rung::Note, Cause::Idle(self.idle))
            }
            rung => (rung, Cause::Repeats),
        };
        Mark {
            at: self.calls.len() - 1,
            rung: self.refused(rung, limits),
            cause,
            patient,
            now: call.now,
        }
    }

    /// Counts how often a cycle of `period` calls has come in a row if `call` goes on with it, this time included.
    fn repeats(&self, call: Likeness, period: usize, limits: &Limits) -> u32 {
        let calls = &self.calls;
        let Some(before) = calls.len().checked_sub(period) else {
            return 1;
        };
        if calls[before].call != call || calls[before].outcome.is_none() {
            return 1;
        }
        // Further back changes nothing any more.
        let most = period.saturating_mul(limits.repeats_stopped as usize);
        let same = (period..calls.len())
            .rev()
            .take(most)
            .take_while(|at| calls[*at].repeats(&calls[at - period]))
            .count();
        u32::try_from(same / period + 2).unwrap_or(u32::MAX)
    }

    /// Gives a polling call time before its repeats count.
    fn patience(&mut self, call: Proposal<'_>, repeats: u32, limits: &Limits) -> (Rung, bool) {
        let now = call.now;
        let patience = self.polls.entry(call.signature).or_insert(Patience {
            since: now,
            over: 0,
        });
        if repeats <= 1 {
            *patience = Patience {
                since: now,
                over: 0,
            };
        }
        let most = Millis::try_from(limits.poll_time.as_millis()).unwrap_or(Millis::MAX);
        if now.saturating_sub(patience.since) < most {
            return (Rung::Fresh, true);
        }
        patience.over += 1;
        match patience.over {
            1 => (Rung::Note, false),
            2 => (Rung::Refuse, false),
            _ => (Rung::Stop, false),
        }
    }

    /// A refusal that is not heeded several rounds in a row ends the turn, whichever calls they are.
    fn refused(&mut self, rung: Rung, limits: &Limits) -> Rung {
        if rung < Rung::Refuse {
            return rung;
        }
        self.round.refused = true;
        let most = limits
            .repeats_stopped
            .saturating_sub(limits.repeats_refused)
            + 1;
        match self.refused_rounds + 1 >= most.max(1) {
            true => Rung::Stop,
            false => rung,
        }
    }

    /// Takes note of what a call gave; returns what the model is told about it.
    pub(super) fn settle(&mut self, mark: Mark, outcome: Likeness) -> Option<String> {
        let signature = &mut self.calls[mark.at];
        let same = signature.outcome == Some(outcome);
        let seen = self.seen.contains(&outcome);
        if !same && let Some(patience) = self.polls.get_mut(&signature.call) {
            *patience = Patience {
                since: mark.now,
                over: 0,
            };
        }
        signature.outcome = Some(outcome);
        if mark.rung != Rung::Note {
            return None;
        }
        match mark.cause {
            Cause::Repeats => same.then(|| {
                "this call gave the same result before. Do something else, or answer with what you have.".to_owned()
            }),
            Cause::Idle(calls) => seen.then(|| {
                format!("the last {calls} calls brought nothing new. Do something else, or answer with what you have.")
            }),
            Cause::Tool(count) => Some(format!(
                "that was call {count} of this tool; a turn does not allow many more. Come to an answer."
            )),
        }
    }

    /// Takes note of a call that cannot be run as it was sent; `key` names the fault.
    pub(super) fn faulty(&mut self, key: String, limits: &Limits) -> Rung {
        let count = self.faulty.entry(key).or_default();
        *count += 1;
        let rung = match count.saturating_sub(limits.same_invalid_call) {
            0 if *count == 1 => Rung::Fresh,
            0 => Rung::Note,
            1 => Rung::Refuse,
            _ => Rung::Stop,
        };
        self.refused(rung, limits)
    }

    /// Takes note of a call's end, in call order; returns the limit that is reached by it, in words.
    pub(super) fn ended(
        &mut self,
        mark: Option<Mark>,
        status: Status,
        harmless: bool,
        limits: &Limits,
    ) -> Option<String> {
        let ok = status == Status::Ok;
        self.failures = if ok { 0 } else { self.failures + 1 };
        let outcome = mark.and_then(|mark| self.calls[mark.at].outcome);
        let new = outcome.is_some_and(|outcome| did_run(status) && self.seen.insert(outcome));
        if new || (ok && !harmless) {
            self.idle = 0;
            self.round.progressed = true;
        } else if !mark.is_some_and(|mark| mark.patient) {
            self.idle += 1;
        }
        if self.failures >= limits.failures_in_row {
            return Some(format!("{} failing calls in a row", limits.failures_in_row));
        }
        (self.idle >= limits.idle_calls).then(|| {
            format!(
                "{} calls in a row that brought nothing new",
                limits.idle_calls
            )
        })
    }

    /// Takes note that all calls of a round have ended.
    pub(super) fn round_ended(&mut self) {
        let Round {
            refused,
            progressed,
        } = std::mem::take(&mut self.round);
        if progressed {
            self.refused_rounds = 0;
        } else if refused {
            self.refused_rounds += 1;
        }
    }
}

fn rung(repeats: u32, limits: &Limits) -> Rung {
    match repeats {
        n if n >= limits.repeats_stopped => Rung::Stop,
        n if n >= limits.repeats_refused => Rung::Refuse,
        n if n >= limits.repeats_noted => Rung::Note,
        _ => Rung::Fresh,
    }
}

/// Returns from when on the model is told that a limit is near: at five sixths of it.
fn nearly(limit: u32) -> u32 {
    limit - limit / 6
}

fn did_run(status: Status) -> bool {
    !matches!(
        status,
        Status::UnknownTool
            | Status::Invalid
            | Status::Cut
            | Status::Denied
            | Status::Refused
            | Status::NotStarted
    )
}

#[cfg(test)]
mod tests {
    use super::{Guard, Likeness, Proposal, Rung};
    use crate::event::Status;
    use crate::limits::Limits;

    /// A guard that is told of calls one a round.
    #[derive(Default)]
    struct Told {
        guard: Guard,
        limits: Limits,
        now: u64,
        polls: bool,
        harmful: bool,
        limit: Option<String>,
    }

    impl Told {
        /// Makes a call; returns its rung, a note only where it was given.
        fn call(&mut self, call: &str, outcome: &str) -> Rung {
            let tool = call.split(' ').next().unwrap();
            let proposal = Proposal {
                tool,
                signature: Likeness::of(call),
                polls: self.polls,
                now: self.now,
            };
            let mark = self.guard.propose(proposal, &self.limits);
            let harmless = !self.harmful;
            let (rung, status) = if mark.rung() >= Rung::Refuse {
                (mark.rung(), Status::Refused)
            } else {
                let note = self.guard.settle(mark, Likeness::of(outcome));
                let rung = note.map_or(Rung::Fresh, |_| Rung::Note);
                (
                    rung,
                    if outcome == "failed" {
                        Status::Error
                    } else {
                        Status::Ok
                    },
                )
            };
            let limit = self.guard.ended(Some(mark), status, harmless, &self.limits);
            self.guard.round_ended();
            self.limit = self.limit.take().or(limit);
            rung
        }
    }

    fn rungs<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Rung> {
        let mut told = Told::default();
        calls
            .into_iter()
            .map(|(call, outcome)| told.call(call, outcome))
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
    fn a_polling_tool_has_time_and_then_the_same_ladder() {
        let mut told = Told {
            polls: true,
            ..Told::default()
        };
        for _ in 0..40 {
            assert_eq!(told.call("job 1", "waiting"), Rung::Fresh);
            told.now += 15_000;
        }
        assert_eq!(told.now, 600_000);
        assert_eq!(told.limit, None);
        let rungs = [0; 3].map(|_| told.call("job 1", "waiting"));
        assert_eq!(rungs, [Rung::Note, Rung::Refuse, Rung::Stop]);
    }

    #[test]
    fn a_poll_that_gets_somewhere_begins_its_time_anew() {
        let mut told = Told {
            polls: true,
            ..Told::default()
        };
        for percent in 0..20 {
            let outcome = percent.to_string();
            for _ in 0..3 {
                assert_eq!(told.call("job 1", &outcome), Rung::Fresh);
                told.now += 290_000;
            }
        }
    }

    #[test]
    fn a_wait_between_polls_is_as_patient_as_the_poll() {
        let mut told = Told::default();
        for _ in 0..20 {
            told.polls = true;
            assert_eq!(told.call("job 1", "waiting"), Rung::Fresh);
            told.polls = false;
            told.now += 29_000;
            assert_eq!(told.call("sleep 1", "slept"), Rung::Fresh);
        }
        told.now += 600_000;
        told.polls = true;
        let last: Vec<_> = (0..3).map(|_| told.call("job 1", "waiting")).collect();
        assert!(
            last.contains(&Rung::Note) || last.contains(&Rung::Stop),
            "{last:?}"
        );
    }

    #[test]
    fn cycles_of_two_to_five_are_loops() {
        for period in 2..=5_usize {
            let names: Vec<_> = (0..period).map(|n| n.to_string()).collect();
            let calls = names.iter().map(|name| (name.as_str(), name.as_str()));
            let rungs = rungs(calls.cycle().take(8 * period));
            let at = |rung| rungs.iter().position(|r| *r == rung).unwrap();
            assert_eq!(at(Rung::Note), 2 * period, "{period}");
            assert_eq!(at(Rung::Refuse), 4 * period, "{period}");
            // A refusal that is not heeded in three rounds ends it.
            assert_eq!(at(Rung::Stop), 4 * period + 2, "{period}");
        }
    }

    #[test]
    fn distinct_reads_and_a_changing_outcome_are_none() {
        let names: Vec<_> = (0..40).map(|n| n.to_string()).collect();
        let reads = rungs(names.iter().map(|name| (name.as_str(), "same")));
        assert!(reads.iter().all(|rung| *rung == Rung::Fresh));
        let polls = rungs(names.iter().map(|outcome| ("poll", outcome.as_str())));
        assert!(polls.iter().all(|rung| *rung == Rung::Fresh));
    }

    #[test]
    fn a_test_run_again_after_each_edit_is_none() {
        let mut told = Told::default();
        for edit in 0..40 {
            told.harmful = true;
            assert_eq!(told.call(&format!("edit {edit}"), "done"), Rung::Fresh);
            told.harmful = false;
            assert_eq!(told.call("test", "failed"), Rung::Fresh);
        }
        assert_eq!(told.limit, None);
    }

    #[test]
    fn only_the_current_streak_counts() {
        // Four times, something else, four times: no call is refused.
        let four = [("a", "x"); 4];
        let calls = four.into_iter().chain([("b", "y")]).chain(four);
        assert!(rungs(calls).iter().all(|rung| *rung < Rung::Refuse));
    }

    #[test]
    fn calls_that_bring_nothing_new_are_noted_and_end() {
        let mut told = Told::default();
        let rungs: Vec<_> = (0..49)
            .map(|n| told.call(&format!("look {n}"), "nothing"))
            .collect();
        assert!(rungs[..41].iter().all(|rung| *rung == Rung::Fresh));
        assert!(rungs[41..].iter().all(|rung| *rung == Rung::Note));
        assert_eq!(
            told.limit.as_deref(),
            Some("48 calls in a row that brought nothing new")
        );

        let mut told = Told {
            harmful: true,
            ..Told::default()
        };
        assert!((0..80).all(|n| told.call(&format!("put {n}"), "done") == Rung::Fresh));
        assert_eq!(told.limit, None);
    }

    #[test]
    fn one_tool_has_its_share_of_the_calls() {
        let mut told = Told::default();
        let rungs: Vec<_> = (0..103)
            .map(|n| told.call(&format!("search {n}"), &n.to_string()))
            .collect();
        assert!(rungs[..84].iter().all(|rung| *rung == Rung::Fresh));
        assert!(rungs[84..100].iter().all(|rung| *rung == Rung::Note));
        assert_eq!(rungs[100..], [Rung::Refuse, Rung::Refuse, Rung::Stop]);
        assert_eq!(told.call("other", "new"), Rung::Fresh);
    }

    #[test]
    fn refusals_that_are_not_heeded_end_whichever_calls_they_are() {
        let stops = |news: bool| {
            let mut told = Told::default();
            let calls = ["a", "b", "c"].into_iter().flat_map(|call| [call; 5]);
            let rungs = calls.map(|call| told.call(call, if news { call } else { "same" }));
            rungs.filter(|rung| *rung == Rung::Stop).count()
        };
        // Where each call brought something new at first, each refusal was heeded.
        assert_eq!((stops(true), stops(false)), (0, 1));
    }

    #[test]
    fn failures_in_a_row_end_whatever_they_are() {
        let mut told = Told::default();
        for n in 0..9 {
            told.call(&format!("look {n}"), "failed");
        }
        assert_eq!(told.limit, None);
        told.call("look 9", "failed");
        assert_eq!(told.limit.as_deref(), Some("10 failing calls in a row"));
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
