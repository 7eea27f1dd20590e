//! A synchronous driver: performs commands against a scripted model and scripted tools, and checks at every step what
//! the machine promises its driver.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use claw_runtime::budget::Allowance;
use claw_runtime::event::{Answer, Event, Status, TurnOutcome};
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message, Role};
use claw_runtime::policy::Policy;
use claw_runtime::provider::{Constrain, Protocol, ProviderError, Reply, Target, ToolChoice};
use claw_runtime::registry::Toolset;
use claw_runtime::schema::Coerce;
use claw_runtime::session::{Barrier, View};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolOutput};
use claw_runtime::turn::{Command, Input, Room, Setup, Timer, Turn};
use serde_json::{Value, json};

/// What the model does when asked.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Reply(Reply),
    Fail { error: ProviderError, shown: bool },
    Hang,
}

/// What a tool does when run.
#[derive(Clone, Debug)]
pub(crate) enum Run {
    Gives(&'static str),
    Ends(Status),
    Hangs,
}

/// One run of a turn: everything the world decides.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    pub(crate) targets: usize,
    pub(crate) protocol: Protocol,
    pub(crate) constrain: Constrain,
    /// Played in order and, when used up, from the start again.
    pub(crate) model: Vec<Act>,
    pub(crate) runs: Vec<Run>,
    pub(crate) answers: Vec<Answer>,
    /// Picks which of several things that may happen next does.
    pub(crate) picks: Vec<u8>,
    /// The append that fails.
    pub(crate) append_fails: Option<usize>,
    /// Before which input the user cancels.
    pub(crate) cancel: Option<usize>,
    /// Before which inputs the user says more.
    pub(crate) posts: Vec<usize>,
    /// What may be spent.
    pub(crate) allowance: Allowance,
    /// How much of the turn's time a call takes.
    pub(crate) takes: Duration,
}

impl World {
    pub(crate) fn new(model: impl IntoIterator<Item = Act>) -> Self {
        Self {
            limits: Limits::default(),
            policy: Policy::default(),
            targets: 1,
            protocol: Protocol::Native,
            constrain: Constrain::Never,
            model: model.into_iter().collect(),
            runs: vec![Run::Gives("fine")],
            answers: vec![Answer::Once],
            picks: vec![0],
            append_fails: None,
            cancel: None,
            posts: Vec::new(),
            allowance: Allowance::default(),
            takes: Duration::ZERO,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) outcome: TurnOutcome,
    pub(crate) events: Vec<Event>,
    pub(crate) appends: Vec<Barrier>,
    pub(crate) requests: Vec<(Target, ToolChoice, Vec<Message>)>,
    pub(crate) started: Vec<String>,
    pub(crate) asked: Vec<String>,
    pub(crate) waits: Vec<Duration>,
    pub(crate) view: View,
    pub(crate) stopped: Vec<String>,
    /// The most calls that ran at once.
    pub(crate) at_once: usize,
}

pub(crate) fn setup(world: &World) -> Setup {
    let tools = toolset();
    Setup {
        policy: Arc::new(world.policy.clone()),
        limits: world.limits.clone(),
        coerce: Coerce::Safe,
        targets: (0..world.targets)
            .map(|n| {
                Arc::new(Target {
                    provider: format!("provider{n}"),
                    model: "model".to_owned(),
                    protocol: world.protocol,
                    dialect: "openai-strict".to_owned(),
                    toolset: tools.digest().to_owned(),
                })
            })
            .collect(),
        otherwise: vec![Some(Protocol::Prompt); world.targets],
        allowance: world.allowance.clone(),
        room: vec![
            Room {
                window: None,
                prompt: 100
            };
            world.targets
        ],
        constrain: vec![world.constrain; world.targets],
        system: "0".repeat(64),
        seed: 7,
        tools,
    }
}

/// One tool of each effect, and one that runs beside others.
pub(crate) fn toolset() -> Toolset {
    let tool = |name: &'static str, effect, parallel, secret: &'static [&'static str]| {
        let mut spec = Spec::new(name.into(), "A tool.".into());
        spec.effect = effect;
        spec.parallel = parallel;
        spec.secret = secret;
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "key": {"type": "string"}}});
        // The machine never calls it.
        let handler: Handler = Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) }));
        Arc::new(Tool::dynamic(spec, schema, handler))
    };
    let wait = {
        let mut spec = Spec::new("wait".into(), "A tool.".into());
        (spec.effect, spec.poll) = (Effect::Read, true);
        let handler: Handler = Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) }));
        Arc::new(Tool::dynamic(spec, json!({"type": "object"}), handler))
    };
    Toolset::new([
        wait,
        tool("calc", Effect::Pure, false, &[]),
        tool("look", Effect::Read, false, &[]),
        tool("put", Effect::Idempotent, false, &[]),
        tool("send", Effect::Once, false, &["key"]),
        tool("post", Effect::Once, true, &[]),
    ])
    .unwrap()
}

/// Runs one turn over `view`, posting under `key`.
pub(crate) fn run(world: &World, view: View, key: &str) -> Ran {
    let mut sim = Sim {
        world,
        before: view.clone(),
        turn: Turn::new(setup(world), view),
        ran: Ran {
            outcome: TurnOutcome {
                text: String::new(),
                reason: claw_runtime::event::EndReason::Cancelled,
                rounds: 0,
                usage: claw_runtime::message::Usage::default(),
            },
            events: Vec::new(),
            appends: Vec::new(),
            requests: Vec::new(),
            started: Vec::new(),
            asked: Vec::new(),
            waits: Vec::new(),
            view: View::default(),
            stopped: Vec::new(),
            at_once: 0,
        },
        now: 0,
        timers: Vec::new(),
        inputs: VecDeque::new(),
        running: Vec::new(),
        request: None,
        asks: Vec::new(),
        count: 0,
        appended: 0,
        digests: HashMap::new(),
        finished: false,
    };
    sim.drive(key);
    sim.ran.view = sim.turn.view().clone();
    sim.ran
}

struct Sim<'w> {
    world: &'w World,
    /// The session as it was before the turn.
    before: View,
    turn: Turn,
    ran: Ran,
    now: u64,
    timers: Vec<(Timer, u64)>,
    inputs: VecDeque<Input>,
    running: Vec<(String, Run)>,
    request: Option<Act>,
    asks: Vec<(String, String)>,
    count: usize,
    appended: usize,
    digests: HashMap<String, (String, Value)>,
    finished: bool,
}

impl Sim<'_> {
    fn drive(&mut self, key: &str) {
        self.inputs.push_back(posted(key));
        while !self.finished {
            assert!(self.count < 20_000, "the turn does not end");
            let input = self.next(key);
            self.count += 1;
            self.now += 3;
            self.feed(input);
        }
        for input in [
            Input::Cancel,
            posted("late"),
            Input::Fired(Timer::ActiveTime),
        ] {
            let step = self.turn.step(self.now, input);
            assert!(step.append.is_empty() && step.commands.is_empty());
        }
    }

    fn feed(&mut self, input: Input) {
        let mut step = self.turn.step(self.now, input);
        while !step.append.is_empty() {
            assert!(step.commands.is_empty(), "commands before the append");
            if self.world.append_fails == Some(self.appended) {
                let message = "disk full".to_owned();
                step = self.turn.step(self.now, Input::AppendFailed { message });
                let harmless = |command: &Command| {
                    matches!(
                        command,
                        Command::Stop { .. } | Command::AbortRequest | Command::Finish(_)
                    )
                };
                assert!(step.append.is_empty());
                assert!(step.commands.iter().all(harmless), "{:?}", step.commands);
                assert!(matches!(step.commands.last(), Some(Command::Finish(_))));
                break;
            }
            self.appended += 1;
            self.ran.appends.push(step.barrier.unwrap());
            self.ran.events.extend_from_slice(&step.append);
            step = self.turn.step(self.now, Input::Appended);
        }
        for command in step.commands {
            assert!(!self.finished, "a command after the end");
            self.perform(command);
        }
    }

    fn perform(&mut self, command: Command) {
        match command {
            Command::Request {
                target,
                tool_choice,
                ..
            } => {
                assert!(self.request.is_none(), "two requests at once");
                let journaled = self.ran.events.iter().rev().find_map(|event| match event {
                    Event::ModelRequest { target, .. } => Some(target),
                    _ => None,
                });
                assert_eq!(journaled, Some(&target));
                let messages = match self.turn.summary_request() {
                    Some(summary) => vec![summary.message],
                    None => self.turn.request_messages().into_owned(),
                };
                self.request = Some(pick(&self.world.model, self.ran.requests.len()));
                self.ran
                    .requests
                    .push((Target::clone(&target), tool_choice, messages));
            }
            Command::AbortRequest => self.request = None,
            Command::Run {
                call,
                tool,
                arguments,
                timeout,
            } => {
                assert!(!timeout.is_zero());
                let value: Value = serde_json::from_str(arguments.text()).unwrap();
                self.may_run(&call, tool.name(), &value);
                assert!(!self.ran.started.contains(&call), "started twice");
                let run = pick(&self.world.runs, self.ran.started.len());
                self.ran.started.push(call.clone());
                self.running.push((call, run));
                self.ran.at_once = self.ran.at_once.max(self.running.len());
            }
            Command::Reconcile { call, .. } => unreachable!("no tool here can tell of `{call}`"),
            Command::Stop { call } => {
                self.running.retain(|(running, _)| *running != call);
                self.ran.stopped.push(call);
            }
            Command::Ask {
                call,
                arguments,
                digest,
                ..
            } => {
                let journaled = self.ran.events.iter().any(|event| {
                    matches!(event, Event::ApprovalAsked { call: c, digest: d } if *c == call && *d == digest)
                });
                assert!(journaled);
                self.ran.asked.push(arguments);
                self.asks.push((call, digest));
            }
            Command::Arm { timer, after } => {
                if matches!(timer, Timer::Retry { .. }) {
                    self.ran.waits.push(after);
                }
                self.timers.retain(|(armed, _)| *armed != timer);
                let millis = u64::try_from(after.as_millis()).unwrap();
                self.timers.push((timer, self.now + millis));
            }
            Command::Finish(outcome) => {
                self.finished = true;
                self.ran.outcome = outcome;
            }
        }
    }

    /// A call runs only after its intent, and one with effects only after a yes to these very arguments.
    fn may_run(&mut self, call: &str, tool: &str, arguments: &Value) {
        let intent = self.ran.events.iter().find_map(|event| match event {
            Event::Intent {
                call: c,
                digest,
                effect,
                ..
            } if c == call => Some((digest.clone(), *effect)),
            _ => None,
        });
        let (digest, effect) = intent.expect("an intent before the start");
        let named = (tool.to_owned(), arguments.clone());
        let known = self
            .digests
            .entry(digest.clone())
            .or_insert_with(|| named.clone());
        assert_eq!(*known, named, "one digest for two calls");
        if effect.is_harmless() || self.world.policy.allow.iter().any(|name| name == "*") {
            return;
        }
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for event in &self.ran.events {
            if let Event::Assistant { content, .. } = event {
                for block in content {
                    if let ContentBlock::ToolCall(call) = block {
                        names.insert(&call.id, &call.name);
                    }
                }
            }
        }
        let approved = self.ran.events.iter().any(|event| match event {
            Event::Approval {
                call: c,
                digest: d,
                answer,
            } => match answer {
                Answer::Once => c == call && *d == digest,
                Answer::Session => *d == digest,
                Answer::Always => names.get(c.as_str()) == Some(&tool),
                _ => false,
            },
            _ => false,
        });
        let approved = approved || self.before.is_approved(tool, &digest);
        assert!(approved, "`{tool}` ran without a yes");
    }

    fn next(&mut self, key: &str) -> Input {
        if self.count > 0 {
            if self.world.cancel == Some(self.count) {
                return Input::Cancel;
            }
            if self.world.posts.contains(&self.count) {
                return posted(&format!("{key}+{}", self.count));
            }
        }
        if let Some(input) = self.inputs.pop_front() {
            return input;
        }
        let pick_at = usize::from(pick(&self.world.picks, self.count));
        let ready: Vec<usize> = (0..self.running.len())
            .filter(|at| !matches!(self.running[*at].1, Run::Hangs))
            .collect();
        if !ready.is_empty() {
            let (call, run) = self.running.remove(ready[pick_at % ready.len()]);
            self.now += u64::try_from(self.world.takes.as_millis()).unwrap();
            return ended(call, run);
        }
        if !self.asks.is_empty() {
            let (call, digest) = self.asks.remove(pick_at % self.asks.len());
            let answer = pick(&self.world.answers, self.ran.asked.len() - 1);
            // An answer to other arguments does not count.
            let stale = Input::Approval {
                call: call.clone(),
                digest: "stale".to_owned(),
                answer: Answer::Always,
            };
            self.inputs.push_back(Input::Approval {
                call,
                digest,
                answer,
            });
            return stale;
        }
        match self.request.take() {
            Some(Act::Reply(reply)) => return Input::Reply(reply),
            Some(Act::Fail { error, shown }) => {
                if shown {
                    self.inputs.push_back(Input::Failed(error));
                    return Input::Shown;
                }
                return Input::Failed(error);
            }
            Some(Act::Hang) => self.request = Some(Act::Hang),
            None => {}
        }
        let at = (0..self.timers.len())
            .min_by_key(|at| self.timers[*at].1)
            .expect("something always comes");
        let (timer, due) = self.timers.swap_remove(at);
        self.now = self.now.max(due);
        Input::Fired(timer)
    }
}

pub(crate) fn ended(call: String, run: Run) -> Input {
    let (status, content) = match run {
        Run::Gives(text) => (Status::Ok, vec![ContentBlock::text(text)]),
        Run::Ends(status) => (status, Vec::new()),
        Run::Hangs => unreachable!("a call that hangs does not end"),
    };
    Input::Outcome {
        call,
        status,
        content,
        blob: None,
        progress: None,
        spent: None,
    }
}

pub(crate) fn posted(key: &str) -> Input {
    Input::Posted {
        key: key.to_owned(),
        content: vec![ContentBlock::text(said(key))],
    }
}

/// What the user says under a key.
pub(crate) fn said(key: &str) -> String {
    format!("[said under {key}]")
}

fn pick<T: Clone>(from: &[T], at: usize) -> T {
    from[at % from.len()].clone()
}

/// Checks that every service takes these messages.
pub(crate) fn check(messages: &[Message]) {
    let mut ids = std::collections::HashSet::new();
    let mut owed: Option<Vec<String>> = None;
    let mut before = None;
    for message in messages {
        assert!(!message.content.is_empty(), "an empty message");
        let legal = match message.role {
            Role::User => matches!(before, None | Some(Role::Assistant | Role::Tool)),
            Role::Assistant => matches!(before, Some(Role::User | Role::Tool)),
            Role::Tool => before == Some(Role::Assistant),
            Role::System => false,
        };
        assert!(legal, "{:?} after {before:?}", message.role);
        if message.role == Role::Tool {
            let answered: Vec<_> = message
                .content
                .iter()
                .map(|block| match block {
                    ContentBlock::ToolResult(result) => {
                        assert!(!result.content.is_empty(), "an empty result");
                        result.call_id.clone()
                    }
                    other => panic!("{other:?} among results"),
                })
                .collect();
            assert_eq!(owed.take(), Some(answered), "calls and results");
        }
        assert_eq!(owed, None, "unanswered calls");
        if message.role == Role::Assistant {
            let calls: Vec<_> = message.calls().map(|call| call.id.clone()).collect();
            assert!(
                !calls.is_empty() || !message.text().trim().is_empty(),
                "a silent assistant message"
            );
            for call in message.calls() {
                assert!(ids.insert(call.id.clone()), "id `{}` twice", call.id);
                let arguments: Result<Value, _> = serde_json::from_str(&call.arguments);
                assert!(arguments.is_ok_and(|value| value.is_object()));
            }
            owed = (!calls.is_empty()).then_some(calls);
        }
        before = Some(message.role);
    }
    assert_eq!(owed, None, "unanswered calls at the end");
}
