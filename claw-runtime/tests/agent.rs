//! A whole turn: agent, driver, dispatch, store, with a scripted model in and the transcript out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use claw_runtime::agent::{Agent, Approval, ApprovalRequest, Observer};
use claw_runtime::event::{Answer, EndReason, Event, Status};
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, Usage, text_of};
use claw_runtime::provider::scripted::{Scripted, calls, fails, says};
use claw_runtime::provider::{Capabilities, Delta, FailureClass, Protocol, Reply};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, SessionStore};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolContext, ToolError, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

fn tool<F>(name: &'static str, effect: Effect, run: F) -> Arc<Tool>
where
    F: for<'a> Fn(&'a ToolContext, Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
{
    let mut spec = Spec::new(name.into(), "A tool of the test.".into());
    spec.effect = effect;
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    let handler: Handler = Arc::new(run);
    Arc::new(Tool::dynamic(spec, schema, handler))
}

fn weather() -> Arc<Tool> {
    tool("weather", Effect::Read, |_, arguments| {
        Box::pin(async move {
            Ok(ToolOutput::text(format!(
                "12 °C in {}",
                arguments["city"].as_str().unwrap()
            )))
        })
    })
}

fn agent(model: Scripted, tools: impl IntoIterator<Item = Arc<Tool>>) -> (Agent, Arc<Scripted>) {
    let model = Arc::new(model);
    let tools = Toolset::new(tools).unwrap();
    (
        Agent::builder()
            .model(model.clone(), "m")
            .tools(tools)
            .system("Be brief.")
            .build()
            .unwrap(),
        model,
    )
}

/// One line a message, for comparing whole conversations.
fn transcript(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| {
            let blocks = message.content.iter().map(|block| match block {
                ContentBlock::Text { text } => text.clone(),
                ContentBlock::ToolCall(call) => format!("{}({})", call.name, call.arguments),
                ContentBlock::ToolResult(result) => {
                    let mark = if result.is_error { "✗" } else { "✓" };
                    format!("{mark} {}", text_of(&result.content))
                }
                other => format!("{other:?}"),
            });
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            format!("{role}: {}", blocks.collect::<Vec<_>>().join(" | "))
        })
        .collect()
}

#[derive(Default)]
struct Seen {
    events: Vec<Event>,
    text: String,
    progress: Vec<String>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
    fn delta(&mut self, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.text.push_str(text);
        }
    }
    fn progress(&mut self, _: &str, line: &str) {
        self.progress.push(line.to_owned());
    }
}

#[tokio::test]
async fn a_call_is_run_and_its_result_is_answered() {
    let (agent, model) = agent(
        Scripted::new([
            calls("weather", json!({"city": "Oslo"})),
            says("It is 12 °C."),
        ]),
        [weather()],
    );
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    let outcome = session
        .run_observed(Message::user("How is Oslo?"), &mut seen)
        .await
        .unwrap();
    assert_eq!((outcome.text.as_str(), outcome.rounds), ("It is 12 °C.", 2));
    assert_eq!(outcome.reason, EndReason::Answered);
    assert_eq!(
        transcript(session.messages()),
        [
            "user: How is Oslo?",
            "assistant: weather({\"city\":\"Oslo\"})",
            "tool: ✓ 12 °C in Oslo",
            "assistant: It is 12 °C.",
        ]
    );
    assert_eq!(seen.text, "It is 12 °C.");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        (
            requests[0].system.as_str(),
            requests[0].tools.clone().unwrap()
        ),
        ("Be brief.", vec!["weather".to_owned()])
    );
}

#[tokio::test]
async fn a_change_of_the_arguments_is_told_once() {
    let (agent, model) = agent(
        Scripted::new([
            calls("weather", json!({"city": "Oslo", "days": "2"})),
            says("Cold."),
        ]),
        [weather()],
    );
    let mut session = agent.session("s").await.unwrap();
    session.run("Weather?").await.unwrap();
    let requests = model.requests();
    let told = transcript(&requests[1].messages).pop().unwrap();
    assert_eq!(told, "tool: ✓ 12 °C in Oslo\nNote: /days: \"2\" became 2");
}

#[tokio::test]
async fn a_session_goes_on_in_another_process_from_its_journal() {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let build = |model: Scripted| {
        Agent::builder()
            .model(Arc::new(model), "m")
            .store(store.clone())
            .build()
            .unwrap()
    };
    build(Scripted::new([says("Noted.")]))
        .session("s")
        .await
        .unwrap()
        .run("I am Ada.")
        .await
        .unwrap();
    let model = Scripted::from_fn(|request| says(format!("{} messages", request.messages.len())));
    let outcome = build(model)
        .session("s")
        .await
        .unwrap()
        .run("Who am I?")
        .await
        .unwrap();
    assert_eq!(outcome.text, "3 messages");
}

#[tokio::test]
async fn a_tool_that_panics_does_not_end_the_turn() {
    let bomb = tool("bomb", Effect::Read, |_, _| {
        Box::pin(async { panic!("boom") })
    });
    let (agent, _) = agent(
        Scripted::new([calls("bomb", json!({"city": "x"})), says("It broke.")]),
        [bomb],
    );
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("go").await.unwrap();
    assert_eq!(outcome.text, "It broke.");
    let lines = transcript(session.messages());
    assert!(
        lines[2].starts_with("tool: ✗ ") && lines[2].contains("panicked"),
        "{}",
        lines[2]
    );
    assert!(
        !lines[2].contains("boom"),
        "the panic's text is not for the model: {}",
        lines[2]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_given_up() {
    let hang = tool(
        "hang",
        Effect::Read,
        |_, _| Box::pin(std::future::pending()),
    );
    let (agent, _) = agent(
        Scripted::new([calls("hang", json!({"city": "x"})), says("No luck.")]),
        [hang],
    );
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("go").await.unwrap().text, "No luck.");
    let lines = transcript(session.messages());
    assert!(
        lines[2].contains("did not finish within 120s"),
        "{}",
        lines[2]
    );
}

#[tokio::test(start_paused = true)]
async fn a_once_tool_that_hangs_is_unknown_and_not_repeated() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let mail = tool("mail", Effect::Once, move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    });
    let same = json!({"city": "x"});
    let model = Scripted::new([
        calls("mail", same.clone()),
        calls("mail", same),
        says("Asked."),
    ]);
    let allowed = claw_runtime::policy::Policy {
        allow: vec!["mail".into()],
        ..Default::default()
    };
    let agent = Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new([mail]).unwrap())
        .policy(allowed)
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    session
        .run_observed(Message::user("go"), &mut seen)
        .await
        .unwrap();
    let ends: Vec<Status> = seen
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Outcome { status, .. } => Some(*status),
            _ => None,
        })
        .collect();
    // The second, equal call asks although the policy allows it; nobody is there to say yes.
    assert_eq!(ends, [Status::Unknown, Status::Denied]);
    assert_eq!(sent.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn results_keep_the_order_of_the_calls() {
    let slow = tool("slow", Effect::Read, |_, arguments| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(arguments["days"].as_u64().unwrap())).await;
            Ok(ToolOutput::text(arguments["city"].as_str().unwrap()))
        })
    });
    let model = Scripted::new([
        calls("slow", json!({"city": "a", "days": 3}))
            .and_calls("slow", json!({"city": "b", "days": 1}))
            .and_calls("slow", json!({"city": "c", "days": 2})),
        says("done"),
    ]);
    let (agent, _) = agent(model, [slow]);
    let mut session = agent.session("s").await.unwrap();
    let before = tokio::time::Instant::now();
    session.run("go").await.unwrap();
    assert_eq!(before.elapsed().as_secs(), 3, "reads run together");
    assert_eq!(transcript(session.messages())[2], "tool: ✓ a | ✓ b | ✓ c");
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_the_running_call_and_the_session_goes_on() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let count = stopped.clone();
    let wait = tool("wait", Effect::Read, move |ctx, _| {
        let count = count.clone();
        Box::pin(async move {
            ctx.progress("waiting");
            ctx.cancellation().cancelled().await;
            count.fetch_add(1, Ordering::SeqCst);
            Err(ToolError::new("cleaned up"))
        })
    });
    let (agent, _) = agent(
        Scripted::new([calls("wait", json!({"city": "x"})), says("Here again.")]),
        [wait],
    );
    let mut session = agent.session("s").await.unwrap();
    let canceller = session.canceller();
    assert!(!canceller.cancel(), "nothing runs yet");
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(canceller.cancel());
    });
    let mut seen = Seen::default();
    let outcome = session
        .run_observed(Message::user("go"), &mut seen)
        .await
        .unwrap();
    assert_eq!(outcome.reason, EndReason::Cancelled);
    assert_eq!(stopped.load(Ordering::SeqCst), 1, "the tool saw its token");
    assert_eq!(seen.progress, ["waiting"]);
    assert_eq!(
        session.run("still there?").await.unwrap().text,
        "Here again."
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_turn_leaves_a_usable_session() {
    let hang = tool(
        "hang",
        Effect::Read,
        |_, _| Box::pin(std::future::pending()),
    );
    let (agent, _) = agent(
        Scripted::new([calls("hang", json!({"city": "x"})), says("Back.")]),
        [hang],
    );
    let mut session = agent.session("s").await.unwrap();
    tokio::time::timeout(Duration::from_secs(1), session.run("go"))
        .await
        .unwrap_err();
    assert!(session.view().is_none());
    assert_eq!(session.run("and now?").await.unwrap().text, "Back.");
    let lines = transcript(session.messages());
    assert_eq!(lines.first().unwrap(), "user: go");
    assert!(
        lines.iter().any(|line| line.starts_with("tool: ✗")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_out_and_a_wrong_key_is_not() {
    let (patient, model) = agent(
        Scripted::new([
            fails(FailureClass::RateLimit),
            fails(FailureClass::Overloaded),
            says("ok"),
        ]),
        [],
    );
    assert_eq!(
        patient
            .session("s")
            .await
            .unwrap()
            .run("hi")
            .await
            .unwrap()
            .text,
        "ok"
    );
    assert_eq!(model.requests().len(), 3);

    let (locked_out, model) = agent(Scripted::new([fails(FailureClass::Auth)]).repeating(), []);
    let outcome = locked_out
        .session("s")
        .await
        .unwrap()
        .run("hi")
        .await
        .unwrap();
    assert!(
        matches!(
            outcome.reason,
            EndReason::Failed {
                class: FailureClass::Auth,
                ..
            }
        ),
        "{outcome:?}"
    );
    assert!(!outcome.text.is_empty());
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_model_that_refuses_tools_is_asked_in_prose_from_then_on() {
    let model = Scripted::from_fn(|request| match request.tools {
        Some(_) => fails(FailureClass::ToolsUnsupported),
        None => says(format!("prose: {}", request.system.contains("weather"))),
    });
    let (agent, model) = agent(model, [weather()]);
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("hi").await.unwrap().text, "prose: true");
    assert_eq!(session.run("again").await.unwrap().text, "prose: true");
    let offered: Vec<bool> = model
        .requests()
        .iter()
        .map(|request| request.tools.is_some())
        .collect();
    assert_eq!(offered, [true, false, false], "learnt once");
    assert_eq!(
        agent.targets(session.view().unwrap())[0].protocol,
        Protocol::Prompt
    );
}

#[tokio::test]
async fn a_model_that_cannot_call_chats_or_is_refused() {
    let cannot = || {
        Scripted::new([says("Hi.")]).declare(Capabilities {
            native_tools: false,
            prompt_tools: false,
            ..Capabilities::FULL
        })
    };
    let (agent, model) = agent(cannot(), [weather()]);
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("hi").await.unwrap().text, "Hi.");
    let request = &model.requests()[0];
    assert!(request.tools.is_none() && !request.system.contains("weather"));

    let strict = || Agent::builder().must_call();
    let refused = strict().model(Arc::new(cannot()), "small").build();
    assert_eq!(
        refused.unwrap_err().to_string(),
        "model `scripted:small` can call no tools, and this agent takes no such model: choose another one, or say \
         otherwise in its capabilities"
    );
    let able = strict()
        .model(Arc::new(Scripted::new([says("Hi.")])), "m")
        .build()
        .unwrap();
    let other = able.with_model(Arc::new(cannot()), "small");
    assert!(other.session("s").await.is_err());
}

#[tokio::test]
async fn a_model_that_refuses_tools_and_knows_no_prose_chats_or_is_passed_over() {
    let refuses = |then: &str| {
        Arc::new(
            Scripted::new([
                fails(FailureClass::ToolsUnsupported),
                says(then),
                says(then),
            ])
            .declare(Capabilities {
                prompt_tools: false,
                ..Capabilities::FULL
            }),
        )
    };
    let tools = || Toolset::new([weather()]).unwrap();
    let model = refuses("Hi.");
    let agent = Agent::builder().model(model.clone(), "m").tools(tools());
    let agent = agent.build().unwrap();
    let mut session = agent.session("s").await.unwrap();
    for _ in 0..2 {
        assert_eq!(session.run("hi").await.unwrap().text, "Hi.");
    }
    let sent = model.requests();
    let offered: Vec<bool> = sent.iter().map(|it| it.tools.is_some()).collect();
    assert_eq!(offered, [true, false, false], "learnt once");
    assert!(!sent[1].system.contains("weather"));

    let model = refuses("never said");
    let able = Scripted::new([says("Hi from the next.")]).declare(Capabilities::FULL);
    let agent = Agent::builder()
        .model(model.clone(), "small")
        .model(Arc::new(able), "large")
        .tools(tools())
        .must_call();
    let agent = agent.build().unwrap();
    let outcome = agent.session("s").await.unwrap().run("hi").await.unwrap();
    assert_eq!(outcome.text, "Hi from the next.");
    assert_eq!(model.requests().len(), 1);
    let chat = agent.with_protocol(Some(Protocol::Chat));
    assert!(chat.session("t").await.is_err());
}

#[tokio::test]
async fn a_model_without_native_tools_calls_in_prose() {
    let call =
        "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";
    let model = Scripted::new([says(call), says("It is 12 °C.")]).declare(Capabilities {
        native_tools: false,
        ..Capabilities::FULL
    });
    let (agent, model) = agent(model, [weather()]);
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    session
        .run_observed(Message::user("How is Oslo?"), &mut seen)
        .await
        .unwrap();
    assert_eq!(
        transcript(session.messages())[1..3],
        [
            "assistant: weather({\"city\":\"Oslo\"})",
            "tool: ✓ 12 °C in Oslo"
        ]
    );
    assert_eq!(seen.text, "It is 12 °C.", "the call's markup is not shown");
    assert!(
        text_of(&model.requests()[1].messages.last().unwrap().content).contains("12 °C in Oslo")
    );
}

struct Asked(Mutex<Vec<String>>, Answer);

impl Approval for Asked {
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push(request.arguments.to_owned());
        Box::pin(std::future::ready(self.1))
    }
}

#[tokio::test]
async fn a_tool_with_an_effect_asks_and_session_covers_the_same_arguments_only() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let send = tool("send", Effect::Once, move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(ToolOutput::text("sent"))))
    });
    let model = Scripted::new([
        calls("send", json!({"city": "a"})),
        calls("send", json!({"city": "a"})),
        calls("send", json!({"city": "b"})),
        says("done"),
    ]);
    let asked = Arc::new(Asked(Mutex::default(), Answer::Session));
    let agent = Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new([send]).unwrap())
        .approval(asked.clone())
        .build()
        .unwrap();
    agent.session("s").await.unwrap().run("go").await.unwrap();
    let questions = asked.0.lock().unwrap().clone();
    assert_eq!(questions, ["{\"city\":\"a\"}", "{\"city\":\"b\"}"]);
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn without_a_person_what_would_ask_is_denied_and_the_rule_is_named() {
    let send = tool("send", Effect::Once, |_, _| unreachable!("it was denied"));
    let (agent, _) = agent(
        Scripted::new([calls("send", json!({"city": "a"})), says("I may not.")]),
        [send],
    );
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    let lines = transcript(session.messages());
    assert!(lines[2].starts_with("tool: ✗ "), "{}", lines[2]);
    assert!(
        lines[2].contains("tools with effect `once` ask"),
        "{}",
        lines[2]
    );
}

#[tokio::test]
async fn a_long_output_is_cut_for_the_model_and_kept_whole() {
    let long = tool("long", Effect::Read, |_, _| {
        Box::pin(std::future::ready(Ok(ToolOutput::text(
            "ä".repeat(5_000) + &"ö".repeat(5_000),
        ))))
    });
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::builder()
        .model(
            Arc::new(Scripted::new([
                calls("long", json!({"city": "x"})),
                says("long"),
            ])),
            "m",
        )
        .tools(Toolset::new([long]).unwrap())
        .limits(Limits {
            output_chars: 300,
            ..Limits::default()
        })
        .store(store.clone())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    session
        .run_observed(Message::user("go"), &mut seen)
        .await
        .unwrap();
    let Some((content, Some(blob))) = seen.events.iter().find_map(|event| match event {
        Event::Outcome { content, blob, .. } => Some((content, blob)),
        _ => None,
    }) else {
        panic!("no outcome with a blob: {:?}", seen.events)
    };
    let text = text_of(content);
    assert_eq!(text.matches('ä').count() + text.matches('ö').count(), 300);
    assert!(text.contains("9700 of 10000 characters left out"), "{text}");
    assert_eq!(store.blob("s", blob).await.unwrap().unwrap().len(), 20_000);
}

#[tokio::test]
async fn the_round_limit_ends_in_a_written_answer() {
    let model = Scripted::from_fn(|request| match request.tool_choice {
        claw_runtime::provider::ToolChoice::None => says("This is as far as I got."),
        _ => calls(
            "weather",
            json!({"city": format!("{}", request.messages.len())}),
        ),
    });
    let model = Arc::new(model);
    let agent = Agent::builder()
        .model(model.clone(), "m")
        .tools(Toolset::new([weather()]).unwrap())
        .limits(Limits {
            rounds: 3,
            ..Limits::default()
        })
        .build()
        .unwrap();
    let outcome = agent.session("s").await.unwrap().run("go").await.unwrap();
    assert_eq!(outcome.text, "This is as far as I got.");
    assert!(outcome.truncated());
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_turn_can_be_spawned() {
    let (agent, _) = agent(Scripted::new([says("Hello.")]), []);
    let turn = tokio::spawn(async move { agent.session("s").await?.run("Hi!").await });
    assert_eq!(turn.await.unwrap().unwrap().text, "Hello.");
}

#[tokio::test]
async fn an_agent_needs_a_model() {
    let error = Agent::builder().build().unwrap_err().to_string();
    assert_eq!(
        error,
        "the agent has no model: add `.model(provider, name)`"
    );
}

#[tokio::test]
async fn two_models_of_one_name_are_refused() {
    let model = || Arc::new(Scripted::new([says("Hello.")]));
    let two = Agent::builder().model(model(), "a").model(model(), "b");
    let error = two.model(model(), "a").build().unwrap_err().to_string();
    assert_eq!(
        error,
        "two models are named `scripted:a`: give one of the providers another name"
    );
}

#[tokio::test]
async fn what_was_coerced_is_told_once() {
    let (agent, _) = agent(
        Scripted::new([
            calls("weather", json!({"city": "Oslo", "days": "2"})),
            says("Fine."),
        ]),
        [weather()],
    );
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    assert_eq!(
        transcript(session.messages())[2],
        "tool: ✓ 12 °C in Oslo\nNote: /days: \"2\" became 2"
    );
}

#[tokio::test]
async fn notes_on_the_arguments_are_bounded() {
    let mut arguments = json!({"city": "Oslo"});
    for nth in 0..1_000 {
        arguments[format!("unheard-of parameter {nth:04}{}", "x".repeat(1_000))] = json!(1);
    }
    let (agent, _) = agent(
        Scripted::new([calls("weather", arguments), says("Fine.")]),
        [weather()],
    );
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    let told = &transcript(session.messages())[2];
    assert_eq!(told.matches("unheard-of").count(), 10, "{told}");
    assert!(told.len() < 3_000, "{told}");
    assert!(told.ends_with("Note: and 990 more changes"), "{told}");
}

#[tokio::test]
async fn tokens_beyond_counting_are_no_overflow() {
    let usage = Usage {
        input_tokens: u64::MAX,
        output_tokens: 1,
        ..Usage::default()
    };
    let model = Scripted::from_fn(move |_| Reply {
        content: vec![ContentBlock::text("Fine.")],
        cut_calls: Vec::new(),
        stop: StopReason::Stop,
        usage: Some(usage),
    });
    let (agent, _) = agent(model, []);
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    session.run("go on").await.unwrap();
    let spent = session.view().unwrap().usage();
    assert_eq!((spent.input_tokens, spent.output_tokens), (u64::MAX, 2));
}
