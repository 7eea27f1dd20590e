//! Cases users report of other agents, as small inputs with the right outcome.

use std::time::Duration;

use claw_runtime::event::{Answer, EndReason, Event, Fact, GuardVerdict, Status};
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, ToolCall};
use claw_runtime::policy::Policy;
use claw_runtime::provider::{FailureClass, Protocol, ProviderError, Reply, ToolChoice};
use claw_runtime::session::{Barrier, View};

use crate::driver::{Act, Ran, Run, World, check, run, said};

pub(crate) fn says(text: &str) -> Act {
    reply(vec![ContentBlock::text(text)], StopReason::Stop)
}

pub(crate) fn calls(calls: &[(&str, &str)]) -> Act {
    let content = calls
        .iter()
        .map(|(name, arguments)| ContentBlock::ToolCall(call("", name, arguments)));
    reply(content.collect(), StopReason::ToolCalls)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

pub(crate) fn reply(content: Vec<ContentBlock>, stop: StopReason) -> Act {
    Act::Reply(Reply {
        content,
        cut_calls: Vec::new(),
        stop,
        usage: None,
    })
}

fn fails(class: FailureClass) -> Act {
    Act::Fail {
        error: ProviderError::new(class, "no"),
        shown: false,
    }
}

fn breaks(text: &str) -> Act {
    Act::Fail {
        error: ProviderError {
            partial: vec![ContentBlock::text(text)],
            ..ProviderError::new(FailureClass::IncompleteStream, "broke")
        },
        shown: true,
    }
}

fn allow_all() -> Policy {
    Policy {
        allow: vec!["*".to_owned()],
        ..Policy::default()
    }
}

pub(crate) fn start(world: &World) -> Ran {
    let ran = run(world, View::default(), "one");
    check(ran.view.messages());
    ran
}

pub(crate) fn statuses(ran: &Ran) -> Vec<Status> {
    ran.events
        .iter()
        .filter_map(|event| match event {
            Event::Outcome { status, .. } => Some(*status),
            _ => None,
        })
        .collect()
}

pub(crate) fn results(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            ContentBlock::ToolResult(result) => {
                Some(claw_runtime::message::text_of(&result.content))
            }
            _ => None,
        })
        .collect()
}

pub(crate) fn guards(ran: &Ran) -> Vec<GuardVerdict> {
    ran.events
        .iter()
        .filter_map(|event| match event {
            Event::Guard { verdict, .. } => Some(*verdict),
            _ => None,
        })
        .collect()
}

pub(crate) fn limit(ran: &Ran) -> &str {
    match &ran.outcome.reason {
        EndReason::Limit { limit } => limit,
        other => panic!("{other:?}"),
    }
}

fn failure(ran: &Ran) -> FailureClass {
    match &ran.outcome.reason {
        EndReason::Failed { class, .. } => *class,
        other => panic!("{other:?}"),
    }
}

// Loops that do not end.

#[test]
fn one_call_for_ever_is_noted_refused_and_ended() {
    use GuardVerdict::{Note, Refuse, Stop};
    let ran = start(&World::new([calls(&[("look", r#"{"n":1}"#)])]));
    assert_eq!(guards(&ran), [Note, Note, Refuse, Refuse, Stop]);
    assert_eq!(ran.started.len(), 4);
    assert_eq!(limit(&ran), "the same calls again and again");
    assert_eq!(ran.requests.len(), 8);
    assert_eq!(ran.requests[7].1, ToolChoice::None);
    assert!(
        ran.outcome.text.contains("`look` × 4"),
        "{}",
        ran.outcome.text
    );
}

#[test]
fn another_spelling_of_the_arguments_is_the_same_call() {
    let model = [
        calls(&[("look", r#"{"n":1}"#)]),
        calls(&[("look", "{ \"n\" : 1 }")]),
    ];
    assert_eq!(start(&World::new(model)).started.len(), 4);
}

#[test]
fn ping_pong_between_two_calls_is_ended() {
    let model = [calls(&[("look", "{}")]), calls(&[("calc", "{}")])];
    let ran = start(&World::new(model));
    assert_eq!(limit(&ran), "the same calls again and again");
    assert!(ran.requests.len() < 16);
}

#[test]
fn ever_new_failing_calls_are_ended() {
    let model = (0..40).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let mut world = World::new(model);
    world.runs = vec![Run::Ends(Status::Error)];
    let ran = start(&world);
    assert_eq!(limit(&ran), "10 failing calls in a row");
    assert_eq!(ran.started.len(), 10);
}

#[test]
fn forty_distinct_reads_and_honest_polling_are_no_loop() {
    let reads = (0..40).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let ran = start(&World::new(reads.chain([says("Read.")])));
    assert_eq!(ran.outcome.reason, EndReason::Answered);
    let polls = std::iter::repeat_n(calls(&[("look", "{}")]), 20);
    let mut world = World::new(polls.chain([says("Done.")]));
    world.runs = vec![
        Run::Gives("10 %"),
        Run::Gives("20 %"),
        Run::Gives("30 %"),
        Run::Gives("40 %"),
        Run::Gives("50 %"),
    ];
    assert_eq!(start(&world).outcome.text, "Done.");
}

#[test]
fn the_last_round_wraps_up_with_the_models_words() {
    let rounds = (0..3).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let mut world = World::new(rounds.chain([says("Half of it.")]));
    world.limits.rounds = 3;
    let ran = start(&world);
    assert_eq!(limit(&ran), "3 rounds");
    assert_eq!(ran.outcome.text, "Half of it.");
    assert!(ran.outcome.truncated());
    let (_, choice, messages) = &ran.requests[3];
    assert_eq!(*choice, ToolChoice::None);
    assert!(
        messages
            .last()
            .unwrap()
            .text()
            .contains("limit reached (3 rounds)")
    );
}

#[test]
fn the_same_invalid_call_is_answered_twice_then_refused() {
    let ran = start(&World::new([calls(&[("look", r#"{"n":"#)])]));
    use Status::{Invalid, Refused};
    assert_eq!(statuses(&ran), [Invalid, Invalid, Refused, Refused]);
    assert!(results(ran.view.messages())[1].contains("same way before"));
    assert!(ran.started.is_empty());
}

#[test]
fn a_call_cut_by_the_output_limit_is_not_run_and_tried_twice_at_most() {
    let cut = Act::Reply(Reply {
        content: Vec::new(),
        cut_calls: vec![call("c", "put", r#"{"n":1,"key":"xx"#)],
        stop: StopReason::Length,
        usage: None,
    });
    let ran = start(&World::new([cut]));
    use Status::{Cut, Refused};
    assert_eq!(statuses(&ran), [Cut, Cut, Refused, Refused]);
    assert!(ran.started.is_empty());
    assert!(results(ran.view.messages())[0].contains("send less at once"));
}

#[test]
fn a_hundred_thousand_calls_in_one_reply_end() {
    let ran = start(&World::new([
        calls(&vec![("look", "{}"); 100_000]),
        says("Enough."),
    ]));
    assert_eq!(ran.started.len(), 32);
    assert_eq!(ran.outcome.text, "Enough.");
    assert_eq!(statuses(&ran).len(), 100_000);
}

#[test]
fn calls_over_the_turns_count_are_refused_and_end_it() {
    let rounds = (0..10).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let mut world = World::new(rounds);
    world.limits.calls_per_turn = 3;
    let ran = start(&world);
    assert_eq!((limit(&ran), ran.started.len()), ("3 calls", 3));
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
fn a_model_without_tools_is_asked_in_prose_and_that_is_kept() {
    let mut world = World::new([fails(FailureClass::ToolsUnsupported), says("Hello.")]);
    world.limits.attempts = 1;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Hello.");
    let protocols: Vec<_> = ran
        .requests
        .iter()
        .map(|(target, ..)| target.protocol)
        .collect();
    assert_eq!(protocols, [Protocol::Native, Protocol::Prompt]);
    assert!(
        ran.view
            .has_learnt("provider0", "model", &Fact::NoNativeTools)
    );
}

#[test]
fn a_refused_schema_goes_in_the_laxer_dialect_and_that_is_kept() {
    let dialects = |ran: &Ran| -> Vec<String> {
        let targets = ran.requests.iter().map(|(target, ..)| target);
        targets
            .map(|it| format!("{} {}", it.provider, it.dialect))
            .collect()
    };
    let refused = Fact::SchemaRefused {
        dialect: "openai-strict".to_owned(),
    };
    let mut world = World::new([fails(FailureClass::SchemaRefused), says("Hello.")]);
    world.limits.attempts = 1;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Hello.");
    assert_eq!(
        dialects(&ran),
        ["provider0 openai-strict", "provider0 openai"]
    );
    assert!(ran.view.has_learnt("provider0", "model", &refused));
    assert!(!ran.view.has_learnt("provider1", "model", &refused));

    // The next model has a dialect of its own.
    let mut world = World::new([
        fails(FailureClass::SchemaRefused),
        fails(FailureClass::SchemaRefused),
        says("Hello."),
    ]);
    world.targets = 2;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Hello.");
    assert_eq!(
        dialects(&ran),
        [
            "provider0 openai-strict",
            "provider0 openai",
            "provider1 openai-strict"
        ]
    );
    assert!(ran.waits.is_empty());

    let ran = start(&World::new([fails(FailureClass::SchemaRefused)]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::SchemaRefused, 2)
    );
}

#[test]
fn a_wrap_up_that_is_refused_for_its_form_is_asked_in_another() {
    for (class, protocol, dialect) in [
        (FailureClass::SchemaRefused, Protocol::Native, "openai"),
        (
            FailureClass::ToolsUnsupported,
            Protocol::Prompt,
            "openai-strict",
        ),
    ] {
        let mut world = World::new([calls(&[("look", "{}")]), fails(class), says("So far.")]);
        world.limits.rounds = 1;
        let ran = start(&world);
        assert_eq!(ran.outcome.text, "So far.");
        assert!(matches!(ran.outcome.reason, EndReason::Limit { .. }));
        let (last, ..) = ran.requests.last().unwrap();
        assert_eq!((last.protocol, &*last.dialect), (protocol, dialect));
    }
}

#[test]
fn a_model_that_spoke_is_not_asked_the_same_in_another_form() {
    for class in [FailureClass::ToolsUnsupported, FailureClass::SchemaRefused] {
        let broken = Act::Fail {
            error: ProviderError {
                partial: vec![ContentBlock::text("The answer ")],
                ..ProviderError::new(class, "no")
            },
            shown: true,
        };
        let ran = start(&World::new([broken, says("is 42.")]));
        assert_eq!((failure(&ran), ran.requests.len()), (class, 1));
    }
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

// Retry and the chain of models.

#[test]
fn a_busy_service_is_asked_four_times_after_1_2_4_seconds() {
    let ran = start(&World::new([fails(FailureClass::Overloaded)]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::Overloaded, 4)
    );
    let seconds: Vec<_> = ran
        .waits
        .iter()
        .map(|wait| wait.as_secs_f64().round() as u64)
        .collect();
    assert_eq!(seconds, [1, 2, 4]);
    assert!(ran.outcome.text.contains("service unavailable"));
}

#[test]
fn a_long_retry_after_goes_to_the_next_model_a_short_one_is_waited_for() {
    let limited = |wait| Act::Fail {
        error: ProviderError {
            retry_after: Some(Duration::from_secs(wait)),
            ..ProviderError::new(FailureClass::RateLimit, "slow down")
        },
        shown: false,
    };
    let mut world = World::new([limited(5), limited(3_600), says("Other model.")]);
    world.targets = 2;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Other model.");
    assert_eq!(ran.waits, [Duration::from_secs(5)]);
    assert_eq!(ran.requests[2].0.provider, "provider1");
}

#[test]
fn a_refused_request_fails_at_once_and_does_not_wander_through_the_chain() {
    for (class, requests) in [
        (FailureClass::BadRequest, 1),
        (FailureClass::ContextLength, 1),
        (FailureClass::Filtered, 1),
        (FailureClass::Auth, 2),
        (FailureClass::Quota, 2),
        (FailureClass::NotFound, 2),
    ] {
        let mut world = World::new([fails(class)]);
        world.targets = 2;
        let ran = start(&world);
        assert_eq!((failure(&ran), ran.requests.len()), (class, requests));
        assert!(ran.waits.is_empty());
    }
}

#[test]
fn what_was_shown_is_kept_and_goes_on_once() {
    let ran = start(&World::new([breaks("The answer "), says("is 42.")]));
    assert_eq!(ran.outcome.text, "The answer is 42.");
    assert_eq!(ran.waits, []);
    let roles: Vec<_> = ran
        .view
        .messages()
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::User, Role::Assistant]
    );
    // What was sent for the continuation is what stays in the conversation.
    assert_eq!(ran.requests[1].2, ran.view.messages()[..3]);

    let ran = start(&World::new([breaks("Again ")]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::IncompleteStream, 2)
    );
    assert!(ran.outcome.text.starts_with("Again Again \n\nI stopped"));
}

// Approvals.

#[test]
fn approvals_cover_one_call_these_arguments_or_the_tool() {
    let model = || {
        [
            calls(&[("send", r#"{"n":1}"#), ("send", r#"{"n":1}"#)]),
            calls(&[("send", r#"{"n":2}"#)]),
            calls(&[("put", r#"{"n":2}"#)]),
            says("Done."),
        ]
    };
    for (answer, asked) in [(Answer::Once, 4), (Answer::Session, 3), (Answer::Always, 2)] {
        let mut world = World::new(model());
        world.answers = vec![answer];
        let ran = start(&world);
        assert_eq!(
            (ran.asked.len(), ran.started.len()),
            (asked, 4),
            "{answer:?}"
        );
        // It holds for the next turn, as far as it goes.
        let next = run(&world, ran.view, "two");
        assert_eq!(
            next.asked.len(),
            if answer == Answer::Once { 4 } else { 0 },
            "{answer:?}"
        );
    }
}

#[test]
fn nobody_to_ask_denies_and_says_how_to_allow() {
    let mut world = World::new([
        calls(&[("send", r#"{"key":"s3cret"}"#)]),
        says("Could not."),
    ]);
    world.answers = vec![Answer::Unanswered];
    let ran = start(&world);
    assert_eq!(statuses(&ran), [Status::Denied]);
    let text = &results(ran.view.messages())[0];
    assert!(
        text.contains("effect `once` ask") && text.contains("`allow`"),
        "{text}"
    );
    assert!(!ran.asked[0].contains("s3cret"), "{}", ran.asked[0]);
}

#[test]
fn a_refused_call_sent_again_and_again_ends_the_turn() {
    let mut world = World::new([calls(&[("send", "{}")])]);
    world.answers = vec![Answer::Deny];
    let ran = start(&world);
    assert!(ran.started.is_empty());
    assert_eq!(limit(&ran), "the same calls again and again");
}

// Cancel, time, storage, steering.

#[test]
fn cancel_while_calls_run_answers_all_and_the_session_goes_on() {
    let mut world = World::new([calls(&[
        ("look", "{}"),
        ("look", r#"{"n":1}"#),
        ("send", "{}"),
    ])]);
    world.policy = allow_all();
    world.runs = vec![Run::Hangs];
    world.cancel = Some(2);
    let ran = start(&world);
    assert_eq!(ran.outcome.reason, EndReason::Cancelled);
    assert_eq!(
        statuses(&ran),
        [Status::Cancelled, Status::Cancelled, Status::NotStarted]
    );
    assert_eq!(ran.stopped.len(), 2);
    let next = run(&World::new([says("Back.")]), ran.view, "two");
    check(next.view.messages());
    assert_eq!(next.outcome.text, "Back.");
}

#[test]
fn cancel_while_a_person_is_asked_or_a_model_answers_leaves_nothing_open() {
    let mut world = World::new([calls(&[("send", "{}")])]);
    world.cancel = Some(2);
    let ran = start(&world);
    assert_eq!(
        (ran.asked.len(), statuses(&ran)),
        (1, vec![Status::NotStarted])
    );
    world.cancel = Some(1);
    let ran = start(&world);
    assert_eq!(ran.outcome.reason, EndReason::Cancelled);
    let next = run(&World::new([says("Back.")]), ran.view, "two");
    let roles: Vec<_> = next
        .view
        .messages()
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::User, Role::Assistant]
    );
}

#[test]
fn cancel_while_a_call_with_an_effect_runs_is_unknown() {
    let mut world = World::new([calls(&[("send", "{}")])]);
    world.policy = allow_all();
    world.runs = vec![Run::Hangs];
    world.cancel = Some(2);
    assert_eq!(statuses(&start(&world)), [Status::Unknown]);
}

#[test]
fn time_used_up_wraps_up_and_a_wrap_up_that_hangs_is_composed() {
    let mut world = World::new([calls(&[("look", "{}")]), says("As far as I got.")]);
    world.runs = vec![Run::Hangs];
    let ran = start(&world);
    assert_eq!(
        (limit(&ran), ran.outcome.text.as_str()),
        ("1800 s of active time", "As far as I got.")
    );
    assert_eq!(
        (ran.stopped.len(), statuses(&ran)),
        (1, vec![Status::Cancelled])
    );
    let ran = start(&World::new([Act::Hang]));
    assert_eq!(ran.requests.len(), 2);
    assert!(ran.outcome.text.contains("No tool was called"));
    let Some(Event::TurnEnd { active_ms, .. }) = ran.events.last() else {
        panic!("no end");
    };
    assert!((1_860_000..1_870_000).contains(active_ms), "{active_ms}");
}

#[test]
fn a_full_disk_stops_before_the_side_effect() {
    let mut world = World::new([calls(&[("send", "{}")])]);
    world.policy = allow_all();
    world.append_fails = Some(1);
    let ran = start(&world);
    assert!(ran.started.is_empty());
    assert!(
        matches!(&ran.outcome.reason, EndReason::StoreFailed { message } if message == "disk full")
    );
    assert!(ran.outcome.text.contains("disk full"));
}

#[test]
fn what_is_said_while_tools_run_comes_after_all_results() {
    let mut world = World::new([
        calls(&[("look", "{}"), ("look", r#"{"n":1}"#)]),
        says("Both heard."),
    ]);
    world.posts = vec![3];
    let ran = start(&world);
    let roles: Vec<_> = ran.requests[1]
        .2
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User]);
    assert_eq!(ran.requests[1].2[3].text(), said("one+3"));
}

#[test]
fn what_is_said_while_the_model_answers_gets_its_own_answer() {
    let mut world = World::new([says("First."), says("Second.")]);
    world.posts = vec![1];
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Second.");
    let texts: Vec<_> = ran.view.messages().iter().map(Message::text).collect();
    assert_eq!(
        texts,
        [
            said("one"),
            "First.".to_owned(),
            said("one+1"),
            "Second.".to_owned()
        ]
    );
}

#[test]
fn an_input_posted_twice_is_answered_once() {
    let ran = start(&World::new([says("Once.")]));
    let again = run(&World::new([says("Twice.")]), ran.view.clone(), "one");
    assert_eq!(
        (again.outcome.text.as_str(), again.events.len()),
        ("Once.", 0)
    );
    // Posted again after a crash it is answered, without being said twice.
    let crashed: View = ran.events[..1].iter().collect();
    let resumed = run(&World::new([says("Late.")]), crashed, "one");
    assert_eq!(resumed.outcome.text, "Late.");
    assert_eq!(resumed.view.messages().len(), 2);
}

// Order and barriers.

#[test]
fn harmless_calls_run_together_and_others_one_by_one_in_order() {
    let four = [
        ("look", r#"{"n":1}"#),
        ("calc", "{}"),
        ("send", "{}"),
        ("put", "{}"),
    ];
    let mut world = World::new([calls(&four), says("Done.")]);
    world.policy = allow_all();
    world.picks = vec![1];
    world.runs = vec![
        Run::Gives("look"),
        Run::Gives("calc"),
        Run::Gives("send"),
        Run::Gives("put"),
    ];
    let ran = start(&world);
    assert_eq!(ran.at_once, 2);
    assert_eq!(
        results(ran.view.messages()),
        ["look", "calc", "send", "put"]
    );
    let mut world = World::new([
        calls(&[("post", r#"{"n":1}"#), ("look", "{}"), ("post", "{}")]),
        says("Done."),
    ]);
    world.policy = allow_all();
    assert_eq!(start(&world).at_once, 3);
}

#[test]
fn a_round_of_reads_costs_one_durable_append() {
    use Barrier::{Buffered, Durable};
    let ran = start(&World::new([
        calls(&[("look", "{}"), ("calc", "{}")]),
        says("Done."),
    ]));
    // Input and request; reply and intents; one result; the other with the next request; answer and end.
    assert_eq!(ran.appends, [Durable, Buffered, Buffered, Durable, Durable]);
    let mut world = World::new([calls(&[("send", "{}"), ("look", "{}")]), says("Done.")]);
    world.policy = allow_all();
    let ran = start(&world);
    assert_eq!(ran.appends, [Durable, Durable, Durable, Durable, Durable]);
}
