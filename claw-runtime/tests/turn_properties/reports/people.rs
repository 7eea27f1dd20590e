//! What people say meanwhile: answers, a cancel, more input; and the time and the disk they have.

use super::*;

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
    assert_eq!(
        roles(&next),
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
