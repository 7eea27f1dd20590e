//! Calls that panic, hang, change something or say too much; cancelled ones, and those that ask.

use super::*;

fn hang() -> Arc<Tool> {
    tool(
        "hang",
        Effect::Read,
        |_, _| Box::pin(std::future::pending()),
    )
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
    let (agent, _) = agent(
        Scripted::new([calls("hang", json!({"city": "x"})), says("No luck.")]),
        [hang()],
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
    let (agent, _) = agent(
        Scripted::new([calls("hang", json!({"city": "x"})), says("Back.")]),
        [hang()],
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
