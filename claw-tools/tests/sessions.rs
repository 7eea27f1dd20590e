//! Sub-agents through the tool and the runtime: whose budget they spend, how deep they go, what a cancel and a crash leave.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use claw_runtime::agent::{Agent, AgentBuilder, Approval, ApprovalRequest};
use claw_runtime::budget::{Budget, Price};
use claw_runtime::event::{Answer, EndReason, Event};
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, ToolCall, Usage, text_of};
use claw_runtime::provider::{
    Capabilities, Constrain, Reply, Request, Scripted, Structured, ToolChoice, scripted,
};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, Query, SessionStore, journal};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolContext, ToolOutput};
use claw_tools::sessions::session_spawn;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

fn says(text: &str) -> Reply {
    reply(vec![ContentBlock::text(text)])
}

fn calls(calls: impl IntoIterator<Item = (&'static str, Value)>) -> Reply {
    let calls = calls.into_iter().map(|(name, arguments)| {
        ContentBlock::ToolCall(ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        })
    });
    reply(calls.collect())
}

fn reply(content: Vec<ContentBlock>) -> Reply {
    Reply {
        stop: StopReason::Stop,
        content,
        cut_calls: Vec::new(),
        usage: None,
    }
}

/// What the user, or the caller, asked first.
fn task(request: &Request<'_>) -> String {
    request.messages[0].text()
}

fn is_first(request: &Request<'_>) -> bool {
    request.messages.len() == 1
}

/// The results of the last round.
fn results(messages: &[Message]) -> Vec<String> {
    let last = messages
        .iter()
        .rev()
        .find(|message| message.role == Role::Tool);
    let blocks = last.map(|message| &message.content[..]).unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| match block {
        ContentBlock::ToolResult(result) => Some(text_of(&result.content)),
        _ => None,
    });
    texts.collect()
}

fn tool<F>(name: &'static str, effect: Effect, run: F) -> Arc<Tool>
where
    F: for<'a> Fn(&'a ToolContext) -> BoxFuture<'a, ToolOutput> + Send + Sync + 'static,
{
    let mut spec = Spec::new(name.into(), "A tool of the test.".into());
    spec.effect = effect;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let handler: Handler = Arc::new(move |ctx, _| {
        let output = run(ctx);
        Box::pin(async { Ok(output.await) })
    });
    Arc::new(Tool::dynamic(spec, schema, handler))
}

fn look() -> Arc<Tool> {
    tool("look", Effect::Read, |_| {
        Box::pin(std::future::ready(ToolOutput::text("seen")))
    })
}

fn builder(model: &Arc<Scripted>, tools: impl IntoIterator<Item = Arc<Tool>>) -> AgentBuilder {
    let spawn = Toolset::of(claw_runtime::tools![session_spawn]).unwrap();
    Agent::builder()
        .model(model.clone(), "m")
        .tools(spawn.with(tools).unwrap())
}

fn model(answer: impl Fn(&Request<'_>) -> Reply + Send + Sync + 'static) -> Arc<Scripted> {
    Arc::new(Scripted::from_fn(answer))
}

fn spawn(task: &str) -> (&'static str, Value) {
    ("session_spawn", json!({"task": task}))
}

async fn sub_agents(store: &MemoryStore) -> Vec<String> {
    let all = store.sessions(&Query::default()).await.unwrap();
    let ids = all.into_iter().map(|info| info.id);
    ids.filter(|id| id.starts_with("sub-")).collect()
}

#[tokio::test]
async fn a_sub_agent_has_its_own_session_and_its_answer_is_the_outcome() {
    let model = model(|request| match (&*task(request), is_first(request)) {
        ("Do it.", true) => calls([spawn("Count.")]),
        ("Count.", true) => calls([("look", json!({}))]),
        ("Count.", false) => says("Three."),
        _ => says("It is three."),
    });
    let store = Arc::new(MemoryStore::new());
    let agent = builder(&model, [look()])
        .store(store.clone())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("Do it.").await.unwrap().text, "It is three.");
    assert_eq!(results(session.messages()), ["Three."]);
    let [child] = &sub_agents(&store).await[..] else {
        panic!("not one sub-agent");
    };
    let journal = journal::load(&*store, child).await.unwrap();
    let call = session.messages()[1].calls().next().unwrap();
    let begin = Event::Spawned {
        parent: "s".to_owned(),
        call: call.id.clone(),
        depth: 1,
    };
    assert_eq!(journal[0].event, begin);
    // It is given up, so that anybody may look at it.
    let all = store.sessions(&Query::default()).await.unwrap();
    assert!(
        all.iter()
            .any(|info| info.id == *child && info.owner.is_none())
    );
}

#[tokio::test]
async fn ten_side_by_side_spend_one_budget() {
    const DOLLAR: u64 = 1_000_000;
    // What a reply takes is what its request may take at most, so that the limit is really met.
    let model = model(|request| {
        let usage = Usage {
            input_tokens: 100,
            output_tokens: request.max_output_tokens.unwrap(),
            ..Usage::default()
        };
        let mut reply = match (&*task(request), is_first(request), request.tool_choice) {
            ("Do it.", true, _) => calls((0..10).map(|n| spawn(&format!("Part {n}.")))),
            (part, _, ToolChoice::Auto) if part.starts_with("Part") => {
                calls([("look", json!({"n": request.messages.len()}))])
            }
            _ => says("As far as I got."),
        };
        reply.usage = Some(usage);
        reply
    });
    let price = Price {
        input: 1.0,
        output: 20.0,
        cached: None,
    };
    let limits = claw_runtime::limits::Limits {
        max_output_tokens: Some(2_000),
        ..Default::default()
    };
    let store = Arc::new(MemoryStore::new());
    let agent = builder(&model, [look()])
        .store(store.clone())
        .limits(limits)
        .price("scripted", "m", price)
        .turn_budget(Budget {
            tokens: None,
            cost: Some(DOLLAR),
        })
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("Do it.").await.unwrap();
    assert!(!outcome.text.is_empty());
    assert_eq!(results(session.messages()).len(), 10);
    assert_eq!(sub_agents(&store).await.len(), 10);
    // 100 × 1 + 2,000 × 20 is one request; all of them are in the journals of eleven sessions.
    let one = 40_100;
    let requests = model.requests();
    let asked = requests
        .iter()
        .filter_map(|request| request.max_output_tokens);
    let paid: u64 = asked.map(|output| 100 + output * 20).sum();
    let spent = session.view().unwrap().ledger().spent();
    assert_eq!(spent.cost, paid);
    assert!(paid <= DOLLAR + one, "{paid}");
    assert!(paid > DOLLAR - 2 * one, "{paid}");
}

#[tokio::test]
async fn the_last_depth_has_no_spawn_and_a_deeper_call_is_refused() {
    let model = model(|request| {
        let depth: usize = task(request).trim_end_matches('.').parse().unwrap();
        match is_first(request) {
            true => calls([spawn(&format!("{}.", depth + 1))]),
            false => says(&format!("{depth}: {}", results(request.messages).join(" "))),
        }
    });
    let agent = builder(&model, []).build().unwrap();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("0.").await.unwrap();
    assert!(
        outcome
            .text
            .starts_with("0: 1: 2: There is no tool `session_spawn`"),
        "{}",
        outcome.text
    );
    let mut offered: Vec<_> = model
        .requests()
        .into_iter()
        .map(|request| request.tools)
        .collect();
    offered.dedup();
    let with = Some(vec!["session_spawn".to_owned()]);
    assert_eq!(offered, [with.clone(), None, with]);
}

#[tokio::test]
async fn a_sub_agent_is_held_to_calls_of_its_own_tools() {
    let spawn = r#"{"name": "session_spawn", "arguments": {"task": "Look.", "tools": ["look"]}}"#;
    let answer = r#"{"answer": "Seen."}"#;
    let weak = Capabilities {
        native_tools: false,
        structured: Structured::Schema,
        constrain: Constrain::Always,
        ..Capabilities::FULL
    };
    let script = [spawn, answer, answer].map(scripted::says);
    let model = Arc::new(Scripted::new(script).declare(weak));
    let agent = builder(&model, [look()]).build().unwrap();
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("Look.").await.unwrap().text, "Seen.");
    let held = model.requests().into_iter().map(|request| {
        let form: Value = serde_json::from_str(&request.form.unwrap()).unwrap();
        let branches = form["oneOf"].as_array().unwrap().clone();
        let name =
            |branch: &Value| Some(branch["properties"]["name"]["const"].as_str()?.to_owned());
        branches.iter().filter_map(name).collect::<Vec<_>>()
    });
    let both = vec!["look".to_owned(), "session_spawn".to_owned()];
    let held: Vec<_> = held.collect();
    assert_eq!(held, [both.clone(), vec!["look".to_owned()], both]);
}

#[tokio::test]
async fn a_cancel_passes_down_and_both_journals_are_whole() {
    let (started, cancelled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let hang = {
        let (started, cancelled) = (started.clone(), cancelled.clone());
        tool("hang", Effect::Read, move |ctx| {
            started.fetch_add(1, Ordering::SeqCst);
            let (token, cancelled) = (ctx.cancellation().clone(), cancelled.clone());
            Box::pin(async move {
                token.cancelled().await;
                cancelled.fetch_add(1, Ordering::SeqCst);
                ToolOutput::default()
            })
        })
    };
    let model = model(|request| match &*task(request) {
        "Do it." => calls([spawn("Hang.")]),
        _ => calls([("hang", json!({}))]),
    });
    let store = Arc::new(MemoryStore::new());
    let agent = builder(&model, [hang])
        .store(store.clone())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let canceller = session.canceller();
    let (outcome, ()) = tokio::join!(session.run("Do it."), async {
        while started.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        canceller.cancel();
    });
    assert_eq!(outcome.unwrap().reason, EndReason::Cancelled);
    assert_eq!(cancelled.load(Ordering::SeqCst), 1);
    let [child] = &sub_agents(&store).await[..] else {
        panic!("not one sub-agent");
    };
    let journal = journal::load(&*store, child).await.unwrap();
    let Event::TurnEnd { outcome, .. } = &journal.last().unwrap().event else {
        panic!("{:?}", journal.last());
    };
    assert_eq!(outcome.reason, EndReason::Cancelled);
}

/// A store that holds these sessions up to these events.
async fn after_crash(store: &MemoryStore, sessions: &[(&str, usize)]) -> Arc<MemoryStore> {
    let left = MemoryStore::new();
    for (id, events) in sessions {
        let records = store.records(id, 0).await.unwrap();
        left.restore(id, None, &records[..*events]).await.unwrap();
    }
    Arc::new(left)
}

#[tokio::test]
async fn after_a_crash_the_call_finds_the_sub_agent_it_began() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let model = model(move |request| {
        log.lock()
            .unwrap()
            .push(format!("{} {}", task(request), request.messages.len()));
        match (&*task(request), is_first(request)) {
            ("Do it.", true) => calls([spawn("Count.")]),
            ("Count.", true) => calls([("look", json!({}))]),
            ("Count.", false) => says("Three."),
            _ => says("It is three."),
        }
    });
    let store = Arc::new(MemoryStore::new());
    let agent = |store: &Arc<MemoryStore>| {
        builder(&model, [look()])
            .store(store.clone())
            .build()
            .unwrap()
    };
    agent(&store)
        .session("s")
        .await
        .unwrap()
        .run("Do it.")
        .await
        .unwrap();
    let child = sub_agents(&store).await.remove(0);
    let parent = journal::load(&*store, "s").await.unwrap();
    let is_intent = |event: &Event| matches!(event, Event::Intent { .. });
    let intent = parent
        .iter()
        .position(|stored| is_intent(&stored.event))
        .unwrap();
    let whole = journal::load(&*store, &child).await.unwrap().len();
    // Cut after every event of the sub-agent, and before the first one.
    for cut in 0..=whole {
        asked.lock().unwrap().clear();
        let mut sessions = vec![("s", intent + 1), (child.as_str(), cut)];
        sessions.truncate(if cut == 0 { 1 } else { 2 });
        let left = after_crash(&store, &sessions).await;
        let mut session = agent(&left).session("s").await.unwrap();
        let outcome = session.resume(&mut ()).await.unwrap().unwrap();
        assert_eq!(outcome.text, "It is three.", "{cut}");
        assert_eq!(results(session.messages()), ["Three."], "{cut}");
        assert_eq!(
            sub_agents(&left).await,
            std::slice::from_ref(&child),
            "{cut}"
        );
        let asked = asked.lock().unwrap().clone();
        let told: Vec<_> = journal::load(&*left, &child).await.unwrap();
        let told = told
            .iter()
            .filter(|stored| matches!(stored.event, Event::UserInput { .. }));
        assert_eq!(told.count(), 1, "{cut}");
        if cut == whole {
            assert_eq!(asked, ["Do it. 3"], "the sub-agent was done");
        }
    }
}

#[tokio::test]
async fn a_program_that_starts_leaves_sub_agents_to_the_calls_that_began_them() {
    let model = model(|request| match (&*task(request), is_first(request)) {
        ("Do it.", true) => calls([spawn("Count.")]),
        ("Count.", _) => says("Three."),
        _ => says("It is three."),
    });
    let store = Arc::new(MemoryStore::new());
    let agent =
        |store: &Arc<MemoryStore>| builder(&model, []).store(store.clone()).build().unwrap();
    agent(&store)
        .session("s")
        .await
        .unwrap()
        .run("Do it.")
        .await
        .unwrap();
    let child = sub_agents(&store).await.remove(0);
    // The sub-agent was told its task, and then everything ended.
    let parent = journal::load(&*store, "s").await.unwrap();
    let intent = parent
        .iter()
        .position(|stored| matches!(stored.event, Event::Intent { .. }));
    let left = after_crash(&store, &[("s", intent.unwrap() + 1), (&child, 3)]).await;
    let recovered = agent(&left)
        .resume_all(4, |_| Some(Box::new(())))
        .await
        .unwrap();
    let recovered: Vec<_> = recovered
        .into_iter()
        .map(|it| (it.session, it.outcome.unwrap().text))
        .collect();
    assert_eq!(recovered, [("s".to_owned(), "It is three.".to_owned())]);
}

/// Says yes, and writes down who was asked what.
#[derive(Default)]
struct Asked(Mutex<Vec<(String, String)>>);

impl Approval for Asked {
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Answer> {
        let asked = (request.session.to_owned(), request.tool.to_owned());
        self.0.lock().unwrap().push(asked);
        Box::pin(std::future::ready(Answer::Once))
    }
}

#[tokio::test]
async fn a_sub_agents_questions_are_shown_at_the_root() {
    let send = tool("send", Effect::Once, |_| {
        Box::pin(std::future::ready(ToolOutput::text("sent")))
    });
    let model = model(|request| match (&*task(request), is_first(request)) {
        ("Do it.", true) => calls([spawn("Pass on.")]),
        ("Pass on.", true) => calls([spawn("Send.")]),
        ("Send.", true) => calls([("send", json!({}))]),
        _ => says("Done."),
    });
    let asked = Arc::new(Asked::default());
    let agent = builder(&model, [send])
        .approval(asked.clone())
        .build()
        .unwrap();
    let mut session = agent.session("root").await.unwrap();
    assert_eq!(session.run("Do it.").await.unwrap().text, "Done.");
    let asked = asked.0.lock().unwrap().clone();
    assert_eq!(asked, [("root".to_owned(), "send".to_owned())]);
}

#[tokio::test]
async fn tools_and_agents_are_named_and_wrong_names_are_answered() {
    let special = model(|_| says("Special."));
    let special = Agent::builder().model(special, "m").build().unwrap();
    let model = model(|request| match (&*task(request), is_first(request)) {
        ("Do it.", true) => calls([
            ("session_spawn", json!({"task": "One.", "tools": ["look"]})),
            ("session_spawn", json!({"task": "Two.", "tools": ["lok"]})),
            (
                "session_spawn",
                json!({"task": "Three.", "agent": "special"}),
            ),
            ("session_spawn", json!({"task": "Four.", "agent": "specal"})),
            ("session_spawn", json!({"task": "Five.", "max_rounds": 1})),
        ]),
        ("Five.", _) if request.tool_choice == ToolChoice::Auto => calls([("look", json!({}))]),
        ("One.", _) => says("Plain."),
        _ => says("Stopped."),
    });
    let agent = builder(&model, [look()])
        .agent("special", special)
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("Do it.").await.unwrap();
    assert_eq!(
        results(session.messages()),
        [
            "Plain.",
            "the sub-agent has no tool `lok`; tools: `look`, `session_spawn`",
            "Special.",
            "there is no agent `specal`; agents: `special`",
            "Stopped.\n[The sub-agent stopped before it was done: 1 rounds.]",
        ]
    );
    let requests = model.requests();
    let one = requests
        .iter()
        .find(|request| request.messages[0].text() == "One.")
        .unwrap();
    assert_eq!(one.tools, Some(vec!["look".to_owned()]));
}

#[tokio::test]
async fn without_an_agent_there_is_none_to_start() {
    let tools = Toolset::of(claw_runtime::tools![session_spawn]).unwrap();
    let tool = tools.get("session_spawn").unwrap();
    let arguments = tool.validate(r#"{"task": "Go."}"#).unwrap();
    let ctx = ToolContext::detached();
    let claw_runtime::tool::Prepared::Future(call) = tool.call(&ctx, &arguments) else {
        panic!("not async");
    };
    let error = call.await.unwrap_err().to_string();
    assert_eq!(error, "there is no agent here that could start another");
}
