//! Odd replies: what is a call, what is said, what is asked again.

use super::*;

#[test]
fn a_reused_or_missing_id_becomes_a_new_one() {
    let again = |id: &str| {
        let content = vec![
            ContentBlock::ToolCall(call(id, "look", r#"{"n":1}"#)),
            ContentBlock::ToolCall(call(id, "look", r#"{"n":2}"#)),
        ];
        reply(content, StopReason::Stop)
    };
    let ran = start(&World::new([
        again("call_0"),
        again("call_0"),
        again(""),
        says("Ok."),
    ]));
    assert_eq!(ran.started.len(), 6);
    assert_eq!(ran.started[0], "call_0");
    assert_eq!(ran.outcome.text, "Ok.");
}

// Providers' quirks.

#[test]
fn the_content_decides_about_the_stop_reason() {
    let ran = start(&World::new([
        reply(
            vec![ContentBlock::ToolCall(call("a", "look", ""))],
            StopReason::Stop,
        ),
        reply(vec![ContentBlock::text("Answer.")], StopReason::ToolCalls),
    ]));
    assert_eq!(
        (ran.started.len(), ran.outcome.text.as_str()),
        (1, "Answer.")
    );
    assert_eq!(ran.outcome.reason, EndReason::Answered);
    // What the model wrote as arguments is sent again as an object.
    let sent = ran.view.messages()[1].calls().next().unwrap();
    assert_eq!(sent.arguments, "{}");
}

#[test]
fn a_native_call_keeps_its_place_among_signed_parts() {
    let signed = |signature: &str| ContentBlock::Opaque {
        provider: "p".into(),
        model: "m".into(),
        value: serde_json::json!({ "signature": signature }),
    };
    let said = vec![
        signed("1"),
        ContentBlock::ToolCall(call("a", "look", "{}")),
        signed("2"),
        ContentBlock::ToolCall(call("b", "look", "{}")),
    ];
    let ran = start(&World::new([
        reply(said.clone(), StopReason::ToolCalls),
        says("Done."),
    ]));
    assert_eq!(ran.view.messages()[1].content, said);
}

#[test]
fn an_empty_reply_is_asked_again_once_then_told_honestly() {
    let silence = || {
        reply(
            vec![ContentBlock::Reasoning { text: "hm".into() }],
            StopReason::Stop,
        )
    };
    assert_eq!(
        start(&World::new([silence(), says("Here.")])).outcome.text,
        "Here."
    );
    let ran = start(&World::new([silence()]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::BadResponse, 2)
    );
    assert!(ran.outcome.text.contains("empty reply"));
}

#[test]
fn a_malformed_call_is_asked_again_with_the_fault_then_wraps_up() {
    let ran = start(&World::new([
        fails(FailureClass::MalformedCall),
        says("Now."),
    ]));
    assert_eq!(ran.outcome.text, "Now.");
    assert!(
        ran.requests[1]
            .2
            .last()
            .unwrap()
            .text()
            .contains("could not be read")
    );
    assert_eq!(ran.view.messages().len(), 2);
    let ran = start(&World::new([fails(FailureClass::MalformedCall)]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::MalformedCall, 4)
    );
}

#[test]
fn an_unknown_tool_names_the_nearest() {
    let ran = start(&World::new([
        calls(&[("Look", "{}"), ("delete_everything", "{}")]),
        says("Ok."),
    ]));
    assert_eq!(statuses(&ran), [Status::UnknownTool; 2]);
    let answers = results(ran.view.messages());
    assert!(answers[0].contains("did you mean `look`"), "{answers:?}");
    assert!(answers[1].contains("Tools: `calc`, `look`"), "{answers:?}");
}

// Unanswered and orphan calls.

#[test]
fn a_crash_between_two_calls_leaves_both_answered() {
    let mut world = World::new([calls(&[("look", "{}"), ("send", "{}")]), says("Both.")]);
    world.policy = allow_all();
    let ran = start(&world);
    let first = ran
        .events
        .iter()
        .position(|event| matches!(event, Event::Outcome { .. }));
    let crashed: View = ran.events[..=first.unwrap()].iter().collect();
    assert_eq!(crashed.open_calls().count(), 1);
    let next = run(&World::new([says("Go on.")]), crashed, "two");
    let answers = results(next.view.messages());
    assert_eq!(answers[0], "fine");
    assert!(answers[1].starts_with("Not run"), "{answers:?}");

    let started = ran
        .events
        .iter()
        .rposition(|event| matches!(event, Event::Intent { .. }));
    let crashed: View = ran.events[..=started.unwrap()].iter().collect();
    let next = run(&World::new([says("Go on.")]), crashed, "two");
    assert!(results(next.view.messages())[1].contains("unknown"));
}

#[test]
fn a_call_whose_effect_is_unknown_asks_before_it_runs_again() {
    let sends = [
        calls(&[("send", r#"{"n":1}"#)]),
        calls(&[("send", r#"{"n": 1}"#)]),
        calls(&[("send", r#"{"n":2}"#)]),
        says("Sent."),
    ];
    let mut world = World::new(sends);
    world.policy = allow_all();
    world.runs = vec![Run::Ends(Status::TimedOut), Run::Gives("sent")];
    world.answers = vec![Answer::Once];
    let ran = start(&world);
    assert_eq!(
        statuses(&ran),
        [Status::Unknown, Status::Ok, Status::Unknown]
    );
    assert_eq!(ran.asked.len(), 1);
    assert!(results(ran.view.messages())[0].contains("unknown"));
}

#[test]
fn a_call_that_a_crash_left_unknown_asks_in_the_next_turn() {
    let mut world = World::new([calls(&[("send", "{}")]), says("Sent.")]);
    world.policy = allow_all();
    let ran = start(&world);
    let started = ran
        .events
        .iter()
        .rposition(|event| matches!(event, Event::Intent { .. }));
    let crashed: View = ran.events[..=started.unwrap()].iter().collect();
    world.answers = vec![Answer::Deny];
    let next = run(&world, crashed, "two");
    assert_eq!((next.asked.len(), next.started.len()), (1, 0));
}
