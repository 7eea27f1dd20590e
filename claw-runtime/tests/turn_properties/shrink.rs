//! Cases users report of conversations that grow too long, as small inputs with the right outcome.

use claw_runtime::event::{Cause, EndReason, Event, Fact, Purpose};
use claw_runtime::message::{ContentBlock, Message, Role, StopReason, text_of};
use claw_runtime::provider::{FailureClass, ProviderError};
use claw_runtime::session::View;
use claw_runtime::tokens;

use crate::driver::{Act, Ran, Run, World, check, run, said};
use crate::reports::{call, calls, reply, says, start};

/// A model that says a great deal and calls.
fn talks(nth: usize, lines: usize) -> Act {
    let text = "A line of thought about it.\n".repeat(lines);
    let arguments = format!("{{\"n\":{nth}}}");
    reply(
        vec![
            ContentBlock::text(format!("Thought {nth}. {text}")),
            ContentBlock::ToolCall(call("", "look", &arguments)),
        ],
        StopReason::ToolCalls,
    )
}

fn too_long(message: &str) -> Act {
    Act::Fail {
        error: ProviderError::new(FailureClass::ContextLength, message),
        shown: false,
    }
}

fn down() -> Act {
    Act::Fail {
        error: ProviderError::new(FailureClass::Overloaded, "busy"),
        shown: false,
    }
}

fn kinds(ran: &Ran) -> Vec<&'static str> {
    let of_interest = |event: &&Event| {
        matches!(
            event,
            Event::Compacted { .. }
                | Event::CompactionFailed { .. }
                | Event::ModelRequest { .. }
                | Event::ModelFailed { .. }
                | Event::TurnEnd { .. }
        )
    };
    ran.events
        .iter()
        .filter(of_interest)
        .map(|event| match event {
            Event::ModelRequest {
                purpose: Purpose::Summary,
                ..
            } => "summary",
            Event::ModelRequest { .. } => "request",
            event => event.kind(),
        })
        .collect()
}

fn compactions(ran: &Ran) -> Vec<&Event> {
    let shorter = |event: &&Event| matches!(event, Event::Compacted { .. });
    ran.events.iter().filter(shorter).collect()
}

fn whole(messages: &[Message]) -> String {
    messages
        .iter()
        .flat_map(|message| &message.content)
        .map(|block| match block {
            ContentBlock::ToolResult(result) => text_of(&result.content),
            ContentBlock::Text { text } => text.clone(),
            _ => String::new(),
        })
        .collect()
}

/// Four rounds of talk in a window that has room for three.
fn long_turn(summary: Act) -> World {
    let mut model: Vec<_> = (0..4).map(|nth| talks(nth, 120)).collect();
    model.extend([summary, says("Done.")]);
    let mut world = World::new(model);
    world.limits.window = Some(5_000);
    world.limits.attempts = 1;
    world
}

/// openclaw#4839, #5128, #7865, #9672, #13020, #93320, #93321, #3243, #4739.
#[test]
fn a_running_turn_is_cut_between_rounds_and_goes_on() {
    let ran = start(&long_turn(says("They look into it.")));
    let compacted = compactions(&ran);
    assert_eq!(compacted.len(), 1, "{:?}", kinds(&ran));
    let Event::Compacted {
        summary,
        cause,
        before,
        after,
        ..
    } = compacted[0]
    else {
        unreachable!()
    };
    assert_eq!(
        (summary.as_deref(), *cause),
        (Some("They look into it."), Cause::Window)
    );
    assert!(after < before && *before > 3_000, "{before} {after}");
    let (_, _, messages) = ran.requests.last().unwrap();
    check(messages);
    assert_eq!(messages[0].role, Role::User);
    let text = messages[0].text();
    assert!(
        text.contains("They look into it.") && text.ends_with(&said("one")),
        "{text}"
    );
    // What no model has read is there in full.
    assert!(whole(messages).contains("Thought 3.") && !whole(messages).contains("Thought 0."));
    assert_eq!(ran.outcome.reason, EndReason::Answered);
    assert_eq!(ran.outcome.text, "Done.");
}

/// A summary request is plain text: no calls, no tools, so no history that a service could refuse.
#[test]
fn a_summary_is_asked_for_in_plain_text() {
    let ran = start(&long_turn(says("They look into it.")));
    let asked = ran.requests.iter().find(|(_, _, messages)| {
        messages.len() == 1 && messages[0].text().contains("Write the notes.")
    });
    let (_, _, messages) = asked.expect("a summary was asked for");
    let text = messages[0].text();
    for part in [
        &said("one"),
        "Thought 0.",
        "Assistant calls: look {\"n\":0}",
        "Result of look: fine",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// nanobot#5377: the cursor moves with a summary only.
#[test]
fn a_failed_summary_changes_nothing_while_the_next_request_fits() {
    let mut world = long_turn(down());
    // Due, and yet it fits.
    world.limits.window = Some(5_000);
    let ran = start(&world);
    assert_eq!(
        kinds(&ran)[4..],
        [
            "summary",
            "model_failed",
            "compaction_failed",
            "request",
            "turn_end"
        ]
    );
    assert!(whole(&ran.requests.last().unwrap().2).contains("Thought 0."));
    assert_eq!(ran.outcome.text, "Done.");
}

/// nanobot#3131: without a summary the oldest rounds go, with a note, when there is no other way.
#[test]
fn a_failed_summary_drops_the_oldest_rounds_when_the_next_request_would_not_fit() {
    for summary in [
        down(),
        reply(Vec::new(), StopReason::Stop),
        calls(&[("look", "{}")]),
    ] {
        let mut world = long_turn(summary);
        world.limits.window = Some(4_600);
        let ran = start(&world);
        let compacted = compactions(&ran);
        let Event::Compacted { summary, .. } = compacted[0] else {
            unreachable!()
        };
        assert_eq!(*summary, None);
        let (_, _, messages) = ran.requests.last().unwrap();
        let text = messages[0].text();
        assert!(text.contains("was left out to make room") && text.ends_with(&said("one")));
        assert!(!whole(messages).contains("Thought 0.") && whole(messages).contains("Thought 3."));
        assert_eq!(ran.outcome.text, "Done.");
    }
}

/// nanobot#3131: a summary that would itself overflow is made in parts, each with the notes so far.
#[test]
fn a_summary_that_would_overflow_is_made_in_parts() {
    let mut events = Vec::new();
    let mut view = View::default();
    for nth in 0..6 {
        let ran = run(
            &World::new([says(&"A long answer. ".repeat(300))]),
            view,
            &format!("turn {nth}"),
        );
        events.extend(ran.events);
        view = ran.view;
    }
    let mut world = World::new([
        says("Notes 1."),
        says("Notes 2."),
        says("Notes 3."),
        says("Notes 4."),
        says("Fine."),
    ]);
    world.limits.window = Some(4_500);
    let ran = run(&world, view, "last");
    let summaries: Vec<_> = ran
        .requests
        .iter()
        .filter(|(_, _, messages)| messages[0].text().contains("the notes"))
        .collect();
    assert!(summaries.len() > 1, "{:?}", kinds(&ran));
    for (nth, (_, _, messages)) in summaries.iter().enumerate() {
        assert!(tokens::of_messages(messages) < 4_500);
        assert_eq!(
            messages[0].text().contains(&format!("Notes {nth}.")),
            nth > 0
        );
    }
    assert_eq!(compactions(&ran).len(), 1);
    assert!(ran.outcome.reason == EndReason::Answered);
}

/// openclaw PR#82513, PR#82520; codex#19910; hermes#84718; opencode#41358.
#[test]
fn what_is_pinned_survives_every_compaction() {
    let mut view = run(&World::new([says("Yes.")]), View::default(), "goal").view;
    view.apply(&Event::Pinned { seq: 1 });
    for nth in 0..4 {
        let mut world = long_turn(says("They went on."));
        world.picks = vec![nth];
        let ran = run(&world, view, &format!("turn {nth}"));
        assert!(!compactions(&ran).is_empty());
        view = ran.view;
        let text = whole(view.messages());
        assert_eq!(text.matches(&said("goal")).count(), 1, "{text}");
    }
    // What was not pinned is in the summaries only.
    assert!(!whole(view.messages()).contains(&said("turn 0")));
}

/// openclaw#113701, #126804, #146724.
#[test]
fn a_result_larger_than_the_window_is_put_aside_and_can_be_read() {
    static HUGE: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| "一行输出\n".repeat(4_000));
    let mut world = World::new([calls(&[("look", "{}"), ("calc", "{}")]), says("Done.")]);
    world.runs = vec![Run::Gives(&HUGE), Run::Gives("fine")];
    world.limits.window = Some(4_000);
    let ran = start(&world);
    let Event::Compacted {
        elided, through, ..
    } = compactions(&ran)[0]
    else {
        unreachable!()
    };
    assert_eq!((elided.len(), *through), (1, 0));
    assert_eq!(elided[0].digest, claw_runtime::digest::of(HUGE.as_bytes()));
    let text = whole(&ran.requests.last().unwrap().2);
    assert!(
        text.contains(&elided[0].digest) && text.contains("19800 more characters"),
        "{text}"
    );
    assert_eq!(ran.outcome.text, "Done.");
}

/// Results that were read give way first, and no model is asked for that.
#[test]
fn results_that_were_read_give_way_before_anything_is_summarised() {
    static LONG: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| "A line of output.\n".repeat(200));
    let mut model: Vec<_> = (0..5)
        .map(|nth| calls(&[("look", &format!("{{\"n\":{nth}}}"))]))
        .collect();
    model.push(says("Done."));
    let mut world = World::new(model);
    world.runs = vec![Run::Gives(&LONG)];
    world.limits.window = Some(5_000);
    let ran = start(&world);
    assert!(!kinds(&ran).contains(&"summary"));
    assert!(!compactions(&ran).is_empty());
    assert!(whole(&ran.requests.last().unwrap().2).ends_with(LONG.as_str()));
}

/// pi#128; opencode#10634, #17340; maki#301: a service's own words for it. Once shorter, once again, then its error.
#[test]
fn an_overflow_is_compacted_once_and_then_told() {
    let words = "This model's maximum context length is 4600 tokens";
    let mut model: Vec<_> = (0..4).map(|nth| talks(nth, 120)).collect();
    model.extend([too_long(words), says("Notes."), says("Done.")]);
    let ran = start(&World::new(model.clone()));
    assert_eq!(
        kinds(&ran)[4..],
        [
            "request",
            "model_failed",
            "summary",
            "compacted",
            "request",
            "turn_end"
        ]
    );
    assert_eq!(ran.view.window("provider0", "model"), Some(4_600));
    assert!(ran.events.iter().any(|event| matches!(
        event,
        Event::Learnt {
            fact: Fact::Window { tokens: 4_600 },
            ..
        }
    )));
    assert_eq!(ran.outcome.text, "Done.");

    model.truncate(6);
    model.push(too_long(words));
    let ran = start(&World::new(model));
    assert_eq!(
        kinds(&ran)
            .iter()
            .filter(|kind| **kind == "compacted")
            .count(),
        1
    );
    let told = matches!(&ran.outcome.reason, EndReason::Failed { class: FailureClass::ContextLength, message } if message.contains(words));
    assert!(told, "{:?}", ran.outcome.reason);
    assert!(!ran.outcome.text.is_empty());
}

/// cloudflare/agents#2064.
#[test]
fn instructions_and_tools_that_alone_exceed_the_window_are_refused_unsent() {
    let mut world = World::new([says("never")]);
    // The instructions and tools of these tests are said to take 100.
    world.limits.window = Some(90);
    let ran = start(&world);
    assert!(ran.requests.is_empty());
    let EndReason::Failed { class, message } = &ran.outcome.reason else {
        panic!("{:?}", ran.outcome.reason)
    };
    assert_eq!(*class, FailureClass::ContextLength);
    assert!(
        message.contains("about 100 tokens") && message.contains("reads 90"),
        "{message}"
    );
}

/// What the user says may itself be too long; that is told with the sizes, and the next turn works.
#[test]
fn a_message_that_cannot_fit_is_told_and_the_session_goes_on() {
    let mut world = World::new([says("Fine.")]);
    world.limits.window = Some(105);
    let ran = start(&world);
    assert!(ran.requests.is_empty());
    assert!(
        ran.outcome.text.contains("send less at once"),
        "{}",
        ran.outcome.text
    );
    let next = run(&World::new([says("Fine.")]), ran.view, "two");
    assert_eq!(next.outcome.text, "Fine.");
}

/// As people set it up who count messages: past 30 a summary, and the last 10 as they are.
#[test]
fn messages_are_counted_when_so_configured() {
    let mut view = View::default();
    for nth in 0..15 {
        view = run(&World::new([says("Yes.")]), view, &format!("turn {nth}")).view;
    }
    assert_eq!(view.messages().len(), 30);
    let mut world = World::new([says("They agreed on all of it."), says("Fine.")]);
    world.limits.most_messages = Some(30);
    let ran = run(&world, view, "last");
    let Event::Compacted { cause, .. } = compactions(&ran)[0] else {
        unreachable!()
    };
    assert_eq!(*cause, Cause::Messages);
    // The last ten, of which the first also carries the summary, and the answer.
    assert!(
        (10..=12).contains(&ran.view.messages().len()),
        "{}",
        ran.view.messages().len()
    );
    assert!(
        ran.view.messages()[0]
            .text()
            .contains("They agreed on all of it.")
    );
}

/// What fills the window is what only the next request carries: there is nothing to shorten, and no event says so.
#[test]
fn a_compaction_that_shortens_nothing_is_none() {
    let mut world = World::new([Act::Hang]);
    world.limits.window = Some(150);
    world.limits.rounds = 1;
    let ran = start(&world);
    assert!(compactions(&ran).is_empty(), "{:?}", kinds(&ran));
    assert!(!ran.outcome.text.is_empty());
}

/// A small unknown window is an assumption: nothing is refused for it, and what no model has read is not put aside.
#[test]
fn an_assumed_window_refuses_nothing() {
    static HUGE: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| "一行输出\n".repeat(4_000));
    let mut world = World::new([calls(&[("look", "{}")]), says("Done.")]);
    world.runs = vec![Run::Gives(&HUGE)];
    let ran = start(&world);
    assert!(compactions(&ran).is_empty());
    assert_eq!(ran.outcome.text, "Done.");
}
