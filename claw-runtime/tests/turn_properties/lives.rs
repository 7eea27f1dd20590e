//! A turn whose process is killed at every place: nothing lost, nothing repeated, and the same end for pure tools.

use claw_runtime::event::{Answer, EndReason, Event, Status};
use claw_runtime::policy::Policy;
use claw_runtime::session::View;
use claw_runtime::tool::Effect;
use proptest::prelude::*;

use crate::crash::{Kill, Medium, Next, check_medium, lives, statuses};
use crate::driver::{Act, Run, World};
use crate::world;

/// How many cases a property runs; more when the environment says so.
fn cases(few: u32) -> u32 {
    std::env::var("CLAW_TEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(few)
}

fn kill() -> impl Strategy<Value = Kill> {
    prop_oneof![
        (0..14_usize).prop_map(Kill::BeforeAppend),
        (0..14_usize).prop_map(Kill::AfterAppend),
        (0..20_usize).prop_map(Kill::AfterCommand),
    ]
}

/// Returns every place where a life can end, as the one of the first of several.
fn places() -> impl Iterator<Item = Kill> {
    (0..12_usize).flat_map(|at| {
        [
            Kill::BeforeAppend(at),
            Kill::AfterAppend(at),
            Kill::AfterCommand(at),
        ]
    })
}

fn pure(mut world: World) -> World {
    let calm = |act: &Act| !matches!(act, Act::Hang);
    world.model.retain(calm);
    if world.model.is_empty() {
        world.model.push(crate::reports::says("Done."));
    }
    for act in &mut world.model {
        if let Act::Reply(reply) = act {
            for block in &mut reply.content {
                if let claw_runtime::message::ContentBlock::ToolCall(call) = block
                    && ["put", "send", "post"].contains(&&*call.name)
                {
                    call.name = "calc".to_owned();
                }
            }
        }
    }
    world.runs.retain(|run| matches!(run, Run::Gives(_)));
    if world.runs.is_empty() {
        world.runs.push(Run::Gives("fine"));
    }
    world.posts.clear();
    // A summary that was being written is written anew, of what the view is then.
    world.limits.window = Some(10_000_000);
    world.limits.most_messages = None;
    world
}

fn view(medium: &Medium) -> View {
    medium.events.iter().map(|stored| &stored.event).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(500), ..ProptestConfig::default() })]

    /// Killed again and again, in a world that does what it likes. The simulator checks each start; here the end is.
    #[test]
    fn nothing_is_lost_or_repeated_over_any_number_of_crashes(
        world in world(),
        kills in prop::collection::vec(kill(), 0..6),
        settles in prop::bool::weighted(0.2),
    ) {
        let next = if settles { Next::Settle } else { Next::Resume };
        let mut medium = Medium::default();
        let outcome = lives(&world, &kills, next, &mut medium);
        check_medium(&medium);
        if outcome.reason != EndReason::Cancelled {
            prop_assert!(!outcome.text.trim().is_empty());
        }
        let ended = matches!(&medium.events.last().unwrap().event, Event::TurnEnd { outcome: told, .. } if *told == outcome);
        prop_assert!(ended);
    }

    /// For pure tools a crash leaves no trace in what the model sees or the user reads.
    #[test]
    fn a_resumed_turn_ends_as_the_uninterrupted_one(world in world(), kill in kill(), second in kill()) {
        let world = pure(world);
        let mut whole = Medium::default();
        let outcome = lives(&world, &[], Next::Resume, &mut whole);
        for kills in [vec![kill], vec![kill, second]] {
            let mut broken = Medium::default();
            let resumed = lives(&world, &kills, Next::Resume, &mut broken);
            check_medium(&broken);
            // What kills its process twice is not run a third time.
            if statuses(&broken).contains(&Status::Crashed) {
                continue;
            }
            prop_assert_eq!(&resumed, &outcome);
            let (broken, whole) = (view(&broken), view(&whole));
            prop_assert_eq!(broken.messages(), whole.messages());
            prop_assert_eq!(broken.usage(), whole.usage());
        }
    }
}

fn scripted(model: &[Act]) -> World {
    World::new(model.iter().cloned())
}

fn allow_all() -> Policy {
    Policy {
        allow: vec!["*".to_owned()],
        ..Policy::default()
    }
}

#[test]
fn a_call_with_an_effect_starts_once_wherever_the_process_dies() {
    let call = |name: &str| crate::reports::calls(&[(name, r#"{"n":1}"#)]);
    let world = World {
        policy: allow_all(),
        ..scripted(&[call("send"), call("look"), crate::reports::says("Sent.")])
    };
    let mut unknown = 0;
    for kill in places() {
        let mut medium = Medium::default();
        let outcome = lives(&world, &[kill], Next::Resume, &mut medium);
        check_medium(&medium);
        assert_eq!(outcome.text, "Sent.", "{kill:?}");
        let sent = medium.events.iter().find_map(|stored| match &stored.event {
            Event::Intent {
                call,
                effect: Effect::Once,
                ..
            } => Some(call.clone()),
            _ => None,
        });
        let starts = medium
            .ledger
            .iter()
            .filter(|call| Some(*call) == sent.as_ref());
        assert!(starts.count() <= 1, "{kill:?}");
        unknown += usize::from(statuses(&medium).contains(&Status::Unknown));
    }
    assert_eq!(unknown, 3, "before, at and after its start");
}

#[test]
fn what_kills_its_process_twice_is_not_run_a_third_time() {
    let world = World {
        policy: allow_all(),
        ..scripted(&[
            crate::reports::calls(&[("put", "{}")]),
            crate::reports::says("It kills me."),
        ])
    };
    let mut medium = Medium::default();
    // Intent kept, call started, dead; and once more.
    let kills = [Kill::AfterCommand(2), Kill::AfterCommand(1)];
    let outcome = lives(&world, &kills, Next::Resume, &mut medium);
    assert_eq!(outcome.text, "It kills me.");
    assert_eq!(statuses(&medium), [Status::Crashed]);
    assert_eq!(medium.ledger.len(), 2);
}

#[test]
fn three_takeovers_that_get_nowhere_end_the_turn() {
    let world = scripted(&[crate::reports::says("Never heard.")]);
    // Each process dies with the request under way.
    let kills = [Kill::AfterAppend(0); 4];
    let mut medium = Medium::default();
    let outcome = lives(&world, &kills, Next::Resume, &mut medium);
    check_medium(&medium);
    let message = "its process ended 4 times at the same place".to_owned();
    assert_eq!(outcome.reason, EndReason::Interrupted { message });
    let takeovers: Vec<_> = medium
        .events
        .iter()
        .filter_map(|stored| match stored.event {
            Event::Resumed { takeover } => Some(takeover),
            _ => None,
        })
        .collect();
    assert_eq!(takeovers, [1, 2, 3, 4]);
}

#[test]
fn a_parked_question_keeps_its_call_and_digest_and_expires_to_no() {
    let call = crate::reports::calls(&[("send", r#"{"n":1}"#), ("post", r#"{"n":2}"#)]);
    // Nobody is there to ask; the answer comes through the inbox, or does not.
    for (answers, status) in [
        (vec![Answer::Unanswered], Status::Denied),
        (vec![Answer::Unanswered, Answer::Once], Status::Ok),
        (vec![Answer::Unanswered, Answer::Deny], Status::Denied),
    ] {
        let world = World {
            answers,
            ..scripted(&[call.clone(), crate::reports::says("So be it.")])
        };
        let mut medium = Medium::default();
        let outcome = lives(&world, &[], Next::Resume, &mut medium);
        check_medium(&medium);
        assert_eq!(outcome.text, "So be it.");
        assert_eq!(statuses(&medium), [status, status]);
        let asked = |stored: &&claw_runtime::session::Stored| {
            matches!(stored.event, Event::ApprovalAsked { .. })
        };
        assert_eq!(medium.events.iter().filter(asked).count(), 2, "once a call");
    }
}
