//! What a model may repeat, and how much it may ask for.

use super::*;

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
