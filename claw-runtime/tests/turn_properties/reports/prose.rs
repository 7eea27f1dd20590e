//! Calls in prose.

use super::*;

// Calls in prose.

fn prompted(model: impl IntoIterator<Item = Act>) -> World {
    World {
        protocol: Protocol::Prompt,
        ..World::new(model)
    }
}

const LOOK: &str =
    "Let me look.\n<tool_call>{\"name\": \"look\", \"arguments\": {\"n\": 1}}</tool_call>";
const BROKEN: &str = "<tool_call>{\"name\": \"gone\", \"arguments\": {}}</tool_call>";

#[test]
fn a_secret_in_a_call_that_cannot_be_read_is_not_kept() {
    for broken in [
        "<tool_call>{\"name\": \"send\", \"arguments\": {\"key\": \"hunter2\", </tool_call>",
        "<tool_call>{\"name\": \"Send\", \"arguments\": [\"hunter2\"]}</tool_call>",
        "<tool_call>{\"name\": \"sned_it\", \"arguments\": {\"KEY\": \"hunter2\"}}</tool_call>",
        "<tool_call>{\"name\": \"send\", \"arguments\": {\"key\": \"hunter2",
    ] {
        let ran = start(&prompted([says(broken), says("Never mind.")]));
        assert_eq!(ran.outcome.text, "Never mind.", "{broken}");
        assert_eq!(ran.started, Vec::<String>::new());
        let kept = serde_json::to_string(&ran.events).unwrap();
        assert!(!kept.contains("hunter2"), "{broken}: {kept}");
    }
}

#[test]
fn a_call_in_prose_becomes_the_same_message_as_a_native_one() {
    let prose = start(&prompted([says(LOOK), says("Seen.")]));
    let native = start(&World::new([
        reply(
            vec![
                ContentBlock::text("Let me look."),
                ContentBlock::ToolCall(call("", "look", r#"{"n":1}"#)),
            ],
            StopReason::ToolCalls,
        ),
        says("Seen."),
    ]));
    assert_eq!(prose.outcome.text, "Seen.");
    let told = |ran: &Ran| {
        let message = &ran.view.messages()[1];
        let calls: Vec<_> = message
            .calls()
            .map(|call| (call.id.clone(), call.name.clone()))
            .collect();
        (
            message.text().trim().to_owned(),
            calls,
            results(ran.view.messages()),
        )
    };
    assert_eq!(told(&prose), told(&native));
}

#[test]
fn a_broken_call_in_prose_is_asked_again_and_leaves_no_trace_in_the_conversation() {
    let ran = start(&prompted([says(BROKEN), says("Fine without.")]));
    assert_eq!(ran.outcome.text, "Fine without.");
    let sent = &ran.requests[1].2;
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[1].text(), BROKEN);
    assert!(sent[2].text().contains("gone"), "{}", sent[2].text());
    assert_eq!(ran.view.messages().len(), 2);
}

#[test]
fn broken_calls_in_prose_end_with_the_typed_reason() {
    let ran = start(&prompted([says(BROKEN)]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::MalformedCall, 4)
    );
    assert!(!ran.outcome.text.contains(BROKEN), "{}", ran.outcome.text);
}

#[test]
fn a_broken_call_beside_a_good_one_is_told_with_its_result() {
    let ran = start(&prompted([
        says(&format!("{LOOK}\n{BROKEN}")),
        says("Seen."),
    ]));
    assert_eq!((ran.started.len(), ran.requests.len()), (1, 2));
    let answers = results(ran.view.messages());
    assert!(
        answers[0].starts_with("fine") && answers[0].contains("gone"),
        "{answers:?}"
    );
}
