//! Processes that die: one turn over several lives, each a driver that is killed somewhere and picked up from the journal.
//!
//! An external ledger notes each start of a call at once, so that what the journal never heard of counts too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use claw_runtime::dialect::Dialect;
use claw_runtime::event::{Answer, EndReason, Event, Fact, Status, TurnOutcome};
use claw_runtime::message::{ContentBlock, Message, text_of};
use claw_runtime::provider::{Constrain, Protocol};
use claw_runtime::session::{Stored, View};
use claw_runtime::tool::Effect;
use claw_runtime::turn::{Command, Input, Timer, Turn};

use crate::driver::{Act, Run, World, check, ended, posted, setup, toolset};

/// Where a process dies, counted within its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    /// The nth append is lost, and what came before it was done.
    BeforeAppend(usize),
    /// The nth append is kept, and nothing of what it allows was done.
    AfterAppend(usize),
    /// The nth command was done, and the next was not.
    AfterCommand(usize),
}

/// What stays when a process dies.
#[derive(Debug, Default)]
pub(crate) struct Medium {
    pub(crate) events: Vec<Stored>,
    /// Each start of a call, as the world saw it.
    pub(crate) ledger: Vec<String>,
    /// Keys that were posted and not taken.
    pub(crate) inbox: VecDeque<String>,
    /// Every key that was ever taken.
    pub(crate) taken: Vec<String>,
    /// What the wall clock shows.
    pub(crate) wall_ms: u64,
    /// How often the turn was parked.
    pub(crate) parked: usize,
}

/// How the next process goes on with an unfinished turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Resume,
    Settle,
}

struct Life<'w> {
    world: &'w World,
    medium: &'w mut Medium,
    kill: Option<Kill>,
    turn: Turn,
    now: u64,
    inputs: VecDeque<(Input, Option<String>)>,
    timers: Vec<(Timer, u64)>,
    running: Vec<String>,
    request: Option<Act>,
    ask: Option<(String, String)>,
    appends: usize,
    commands: usize,
    count: usize,
    outcome: Option<TurnOutcome>,
}

/// The process was killed.
struct Killed;

/// Runs a turn over as many lives as there are kills, and one more. Returns how it ended.
pub(crate) fn lives(world: &World, kills: &[Kill], next: Next, medium: &mut Medium) -> TurnOutcome {
    medium.inbox.push_back("one".to_owned());
    let mut kills = kills.iter();
    for _ in 0..200 {
        if let Some(outcome) = life(world, kills.next().copied(), next, medium) {
            match &outcome.reason {
                EndReason::Parked { .. } => medium.parked += 1,
                _ => return outcome,
            }
        }
        // Died after all was done.
        if let Some(Event::TurnEnd { outcome, .. }) = medium.events.last().map(|end| &end.event) {
            return outcome.clone();
        }
        medium.wall_ms += 1_000;
    }
    panic!("the turn does not end");
}

/// Lives until the turn ends or is parked; `None` when the process was killed.
fn life(world: &World, kill: Option<Kill>, next: Next, medium: &mut Medium) -> Option<TurnOutcome> {
    let view: View = medium.events.iter().map(|stored| &stored.event).collect();
    let begun = !medium.events.is_empty();
    let mut setup = setup(world);
    for target in &mut setup.targets {
        let target = Arc::make_mut(target);
        let native = target.protocol == Protocol::Native;
        if native && view.has_learnt(&target.provider, &target.model, &Fact::NoNativeTools) {
            target.protocol = Protocol::Prompt;
        }
        let declared = Dialect::named(&target.dialect).unwrap();
        let dialect = view.dialect(&target.provider, &target.model, declared);
        target.dialect = dialect.name.to_owned();
    }
    for (target, constrain) in setup.targets.iter().zip(&mut setup.constrain) {
        if view.has_learnt(&target.provider, &target.model, &Fact::NoForms) {
            *constrain = Constrain::Never;
        }
    }
    let turn = match begun {
        true => Turn::resume(setup, view, &medium.events),
        false => Turn::new(setup, view),
    };
    let now = turn.active();
    let mut life = Life {
        world,
        kill,
        turn,
        now,
        inputs: VecDeque::new(),
        timers: Vec::new(),
        running: Vec::new(),
        request: None,
        ask: None,
        appends: 0,
        commands: 0,
        count: 0,
        outcome: None,
        medium,
    };
    life.begin(begun.then_some(next));
    match life.live() {
        Ok(()) => life.outcome,
        Err(Killed) => None,
    }
}

impl Life<'_> {
    fn begin(&mut self, next: Option<Next>) {
        // A question that was parked is answered through the inbox, or expires.
        let blocked = self
            .medium
            .events
            .iter()
            .rev()
            .find_map(|stored| match &stored.event {
                Event::Blocked {
                    call,
                    digest,
                    expires_ms,
                } => Some((call.clone(), digest.clone(), *expires_ms)),
                _ => None,
            });
        match next {
            None => {}
            Some(Next::Settle) => self.inputs.push_back((Input::Settle, None)),
            Some(Next::Resume) => {
                let given = |answer: &&Answer| **answer != Answer::Unanswered;
                let answer = self.world.answers.iter().find(given).copied();
                if let (Some((_, _, expires_ms)), None) = (&blocked, answer) {
                    self.medium.wall_ms = self.medium.wall_ms.max(*expires_ms);
                }
                let now_ms = self.medium.wall_ms;
                self.inputs.push_back((Input::Resume { now_ms }, None));
                if let (Some((call, digest, _)), Some(answer)) = (blocked, answer) {
                    let answers = |digest: &str, answer| Input::Approval {
                        call: call.clone(),
                        digest: digest.to_owned(),
                        answer,
                    };
                    self.inputs
                        .push_back((answers("stale", Answer::Always), None));
                    // Every second time the next process finds no answer yet.
                    if self.medium.parked.is_multiple_of(2) {
                        self.inputs.push_back((answers(&digest, answer), None));
                    }
                }
            }
        }
        for key in &self.medium.inbox {
            self.inputs.push_back((posted(key), Some(key.clone())));
        }
    }

    fn live(&mut self) -> Result<(), Killed> {
        while self.outcome.is_none() {
            assert!(self.count < 20_000, "the turn does not end");
            self.count += 1;
            self.now += 3;
            self.medium.wall_ms += 3;
            let (input, key) = self.next();
            self.feed(input, key)?;
        }
        Ok(())
    }

    fn feed(&mut self, input: Input, key: Option<String>) -> Result<(), Killed> {
        let mut step = self.turn.step(self.now, input);
        while !step.append.is_empty() {
            assert!(step.commands.is_empty(), "commands before the append");
            if self.kill == Some(Kill::BeforeAppend(self.appends)) {
                return Err(Killed);
            }
            for event in step.append.iter() {
                let seq = self.medium.events.len() as u64 + 1;
                self.medium.events.push(Stored {
                    seq,
                    time_ms: self.medium.wall_ms,
                    event: event.clone(),
                });
            }
            if let Some(key) = &key {
                self.medium.inbox.retain(|waiting| waiting != key);
                self.medium.taken.push(key.clone());
            }
            if self.kill == Some(Kill::AfterAppend(self.appends)) {
                return Err(Killed);
            }
            self.appends += 1;
            step = self.turn.step(self.now, Input::Appended);
        }
        for command in step.commands {
            self.perform(command);
            if self.kill == Some(Kill::AfterCommand(self.commands)) {
                return Err(Killed);
            }
            self.commands += 1;
        }
        Ok(())
    }

    fn perform(&mut self, command: Command) {
        match command {
            Command::Request { .. } => {
                // The model answers the same conversation in the same way, whoever asks.
                let heard = self.medium.events.iter().filter(|stored| {
                    matches!(
                        stored.event,
                        Event::Assistant {
                            incomplete: false,
                            ..
                        } | Event::ModelFailed { .. }
                    )
                });
                let act = heard.count() % self.world.model.len();
                self.request = Some(self.world.model[act].clone());
                check(&self.turn.request_messages());
            }
            Command::AbortRequest => self.request = None,
            Command::Run { call, tool, .. } => {
                self.may_run(&call, tool.name());
                self.medium.ledger.push(call.clone());
                self.running.push(call);
            }
            Command::Reconcile { call, .. } => unreachable!("no tool here can tell of `{call}`"),
            Command::Stop { call } => self.running.retain(|running| *running != call),
            Command::Ask { call, digest, .. } => self.ask = Some((call, digest)),
            Command::Arm { timer, after } => {
                self.timers.retain(|(armed, _)| *armed != timer);
                let millis = u64::try_from(after.as_millis()).unwrap();
                self.timers.push((timer, self.now + millis));
            }
            Command::Finish(outcome) => self.outcome = Some(outcome),
        }
    }

    /// No call runs that has an outcome, that was not let run, or whose effect may have happened.
    fn may_run(&self, id: &str, tool: &str) {
        let effect = toolset().get(tool).unwrap().spec().effect;
        let starts = self.medium.ledger.iter().filter(|call| *call == id).count();
        let most = if effect == Effect::Once { 0 } else { 1 };
        assert!(starts <= most, "`{tool}` was started {starts} times before");
        let mut intent = None;
        for Stored { event, .. } in &self.medium.events {
            match event {
                Event::Outcome { call, .. } => assert_ne!(call, id, "it has an outcome"),
                Event::Intent { call, digest, .. } if call == id => intent = Some(digest),
                _ => {}
            }
        }
        let digest = intent.expect("an intent before the start");
        if effect.is_harmless() || self.world.policy.allow.iter().any(|name| name == "*") {
            return;
        }
        let approved = self.medium.events.iter().any(|stored| match &stored.event {
            Event::Approval {
                call,
                digest: d,
                answer,
            } => match answer {
                Answer::Once => call == id && d == digest,
                Answer::Session => d == digest,
                Answer::Always => true,
                _ => false,
            },
            _ => false,
        });
        assert!(approved, "`{tool}` ran without a yes");
    }

    fn answer(&self, call: &str) -> Answer {
        self.world.answers[place(call) % self.world.answers.len()]
    }

    fn next(&mut self) -> (Input, Option<String>) {
        if let Some(input) = self.inputs.pop_front() {
            return input;
        }
        if self.world.posts.contains(&self.count) {
            let key = format!("more-{}", self.medium.events.len());
            if !self.medium.taken.contains(&key) {
                self.medium.inbox.push_back(key.clone());
                return (posted(&key), Some(key));
            }
        }
        let run = |call: &str| self.world.runs[place(call) % self.world.runs.len()].clone();
        let ready = self
            .running
            .iter()
            .position(|call| !matches!(run(call), Run::Hangs));
        if let Some(at) = ready {
            let run = run(&self.running[at]);
            return (ended(self.running.remove(at), run), None);
        }
        if let Some((call, digest)) = self.ask.take() {
            let answer = self.answer(&call);
            let input = match answer {
                Answer::Unanswered => Input::Parked {
                    call,
                    digest,
                    expires_ms: self.medium.wall_ms + 60_000,
                },
                answer => Input::Approval {
                    call,
                    digest,
                    answer,
                },
            };
            return (input, None);
        }
        match self.request.take() {
            Some(Act::Reply(reply)) => return (Input::Reply(reply), None),
            Some(Act::Fail { error, shown }) => {
                if shown {
                    self.inputs.push_back((Input::Failed(error), None));
                    return (Input::Shown, None);
                }
                return (Input::Failed(error), None);
            }
            Some(Act::Hang) => self.request = Some(Act::Hang),
            None => {}
        }
        let at = (0..self.timers.len())
            .min_by_key(|at| self.timers[*at].1)
            .expect("something always comes");
        let (timer, due) = self.timers.swap_remove(at);
        self.medium.wall_ms += due.saturating_sub(self.now);
        self.now = self.now.max(due);
        (Input::Fired(timer), None)
    }
}

/// A number that belongs to a call, whoever runs it.
fn place(call: &str) -> usize {
    call.bytes().map(usize::from).sum()
}

/// Checks what holds whatever happened: a valid conversation, nothing lost, nothing answered twice.
pub(crate) fn check_medium(medium: &Medium) {
    let mut view = View::default();
    let mut answers: BTreeMap<&str, &Vec<ContentBlock>> = BTreeMap::new();
    let mut ends = 0;
    for Stored { event, .. } in &medium.events {
        view.apply(event);
        check(view.messages());
        match event {
            Event::Outcome { call, content, .. } => {
                assert!(
                    answers.insert(call, content).is_none(),
                    "`{call}` is answered twice"
                );
            }
            Event::TurnEnd { .. } => ends += 1,
            _ => {}
        }
    }
    assert_eq!(ends, 1, "the turn ends once");
    let shorter = |stored: &Stored| matches!(stored.event, Event::Compacted { .. });
    if medium.events.iter().any(shorter) {
        // What is hidden stays in the journal, which only grows.
        return;
    }
    let results = view.messages().iter().flat_map(|message| &message.content);
    for block in results {
        if let ContentBlock::ToolResult(result) = block
            && let Some(content) = answers.remove(&*result.call_id)
            && !text_of(content).is_empty()
        {
            let kept = text_of(&result.content);
            assert_eq!(kept, text_of(content), "an acknowledged outcome is kept");
        }
    }
    assert!(answers.is_empty(), "outcomes without a call: {answers:?}");
    let conversation: String = view.messages().iter().map(Message::text).collect();
    for key in &medium.taken {
        let said = crate::driver::said(key);
        assert_eq!(conversation.matches(&said).count(), 1, "{said}");
    }
}

/// Returns how the calls of a turn ended, in the order they did.
pub(crate) fn statuses(medium: &Medium) -> Vec<Status> {
    medium
        .events
        .iter()
        .filter_map(|stored| match stored.event {
            Event::Outcome { status, .. } => Some(status),
            _ => None,
        })
        .collect()
}
