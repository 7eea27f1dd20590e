//! Models that are busy, refuse tools, or cannot call.

use super::*;

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
