//! A turn ends: models that never would, and the bounds of requests, calls and time that they meet.

use std::time::Duration;

use claw_runtime::budget::{Allowance, Budget};
use claw_runtime::event::{EndReason, Event, GuardVerdict, Status};
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message, StopReason, ToolCall, Usage};
use claw_runtime::policy::Policy;
use claw_runtime::provider::{FailureClass, Protocol, ProviderError, Reply, ToolChoice};
use claw_runtime::session::View;
use proptest::prelude::*;

use crate::constrain;
use crate::driver::{Act, Ran, Run, World, check, run};
use crate::reports::{calls, guards, limit, results, says, statuses};

/// A model that never ends a turn by itself.
#[derive(Clone, Debug)]
enum Model {
    Repeats,
    Cycles(usize),
    /// Other calls each time.
    Wanders,
    Polls,
    Cut,
    Silent,
    Batches(usize),
    MalformedText,
    MalformedNative,
    /// Begins the form and does not end it.
    CutForm,
    RefusesForms,
    Breaks,
    Busy,
    Pauses,
    Hangs,
}

impl Model {
    fn acts(&self) -> Vec<Act> {
        let look = |n: usize| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]);
        let fails = |class, shown| Act::Fail {
            error: ProviderError {
                partial: vec![ContentBlock::text("Well, ")],
                ..ProviderError::new(class, "no")
            },
            shown,
        };
        let reply = |content, cut_calls, stop| {
            Act::Reply(Reply {
                content,
                cut_calls,
                stop,
                usage: None,
            })
        };
        match self {
            Self::Repeats => vec![look(1)],
            Self::Cycles(period) => (0..*period).map(look).collect(),
            Self::Wanders => (0..400).map(look).collect(),
            Self::Polls => vec![calls(&[("wait", "{}")])],
            Self::Cut => {
                let call = ToolCall {
                    id: "c".to_owned(),
                    name: "put".to_owned(),
                    arguments: r#"{"n":1,"key":"xx"#.to_owned(),
                };
                vec![reply(Vec::new(), vec![call], StopReason::Length)]
            }
            Self::Silent => vec![reply(Vec::new(), Vec::new(), StopReason::Stop)],
            Self::Batches(size) => (0..10)
                .map(|round| {
                    let arguments: Vec<_> = (0..*size)
                        .map(|n| format!(r#"{{"n":{}}}"#, round * size + n))
                        .collect();
                    let batch: Vec<_> = arguments.iter().map(|text| ("look", &**text)).collect();
                    calls(&batch)
                })
                .collect(),
            Self::MalformedText => {
                vec![says(
                    "<tool_call>{\"name\": \"gone\", \"arguments\": {}}</tool_call>",
                )]
            }
            Self::MalformedNative => vec![fails(FailureClass::MalformedCall, false)],
            Self::CutForm => vec![reply(
                vec![ContentBlock::text("{\"answer\": \"And so")],
                Vec::new(),
                StopReason::Length,
            )],
            Self::RefusesForms => vec![Act::Fail {
                error: ProviderError::new(FailureClass::Overloaded, "failed to parse grammar"),
                shown: false,
            }],
            Self::Breaks => vec![fails(FailureClass::IncompleteStream, true)],
            Self::Busy => vec![fails(FailureClass::Overloaded, false)],
            Self::Pauses => vec![reply(
                vec![ContentBlock::text("Still at it.")],
                Vec::new(),
                StopReason::Pause,
            )],
            Self::Hangs => vec![Act::Hang],
        }
    }
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![
        Just(Model::Repeats),
        (2..=5_usize).prop_map(Model::Cycles),
        Just(Model::Wanders),
        Just(Model::Polls),
        Just(Model::Cut),
        Just(Model::Silent),
        (1..80_usize).prop_map(Model::Batches),
        Just(Model::MalformedText),
        Just(Model::MalformedNative),
        Just(Model::CutForm),
        Just(Model::RefusesForms),
        Just(Model::Breaks),
        Just(Model::Busy),
        Just(Model::Pauses),
        Just(Model::Hangs),
    ]
}

fn adversary() -> impl Strategy<Value = World> {
    let runs = vec![
        Run::Gives("the same"),
        Run::Gives("3 found in 12 ms"),
        Run::Gives("3 found in 15 ms"),
        Run::Ends(Status::Error),
        Run::Ends(Status::TimedOut),
        Run::Hangs,
    ];
    let limits = prop_oneof![
        Just(Limits::default()),
        (1..60_u32, 1..40_u32, 1..60_u32, 1..9_u32).prop_map(
            |(rounds, calls_per_round, calls_per_turn, calls_per_tool)| Limits {
                rounds,
                calls_per_round,
                calls_per_turn,
                calls_per_tool,
                ..Limits::default()
            }
        ),
    ];
    (
        prop::collection::vec(model(), 1..3),
        prop::collection::vec(prop::sample::select(runs), 1..3),
        limits,
        (
            prop::sample::select(vec![Protocol::Native, Protocol::Prompt]),
            constrain(),
        ),
        1..3_usize,
        prop::option::of(3_000..60_000_u64),
    )
        .prop_map(
            |(models, runs, limits, (protocol, constrain), targets, tokens)| World {
                limits,
                protocol,
                constrain,
                targets,
                runs,
                policy: Policy {
                    allow: vec!["*".to_owned()],
                    ..Policy::default()
                },
                allowance: Allowance {
                    turn: Budget { tokens, cost: None },
                    ..Allowance::default()
                },
                ..World::new(models.iter().flat_map(Model::acts))
            },
        )
}

fn cases() -> u32 {
    let set = std::env::var("CLAW_TEST_CASES").ok();
    set.and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_model_meets_the_bounds_and_something_is_said(world in adversary()) {
        let ran = run(&world, View::default(), "one");
        let limits = &world.limits;
        prop_assert!(ran.requests.len() as u64 <= limits.most_requests() * world.targets as u64);
        prop_assert!(ran.started.len() as u64 <= limits.most_calls());
        let Some(Event::TurnEnd { outcome, active_ms }) = ran.events.last() else {
            panic!("no end: {:?}", ran.events.last());
        };
        // The simulated world takes three milliseconds an input.
        let most = limits.most_active_time() + Duration::from_millis(3 * 20_000);
        prop_assert!(Duration::from_millis(*active_ms) <= most);
        prop_assert!(!outcome.text.trim().is_empty());
        check(ran.view.messages());
        // Nothing tells what it took, so all of it is estimated: never more than the budget.
        if let Some(tokens) = world.allowance.turn.tokens {
            let spent = ran.view.ledger().spent().tokens;
            let one = ran.events.iter().filter_map(|event| match event {
                Event::ModelRequest { reserved, .. } => reserved.map(|it| it.whole().tokens),
                _ => None,
            });
            prop_assert!(spent <= tokens + one.max().unwrap_or(0), "{spent} of {tokens}");
        }
    }
}

/// A world in which these results come, one a call, and everything may run.
fn world(model: impl IntoIterator<Item = Act>, runs: &[&'static str]) -> World {
    World {
        runs: runs.iter().map(|text| Run::Gives(text)).collect(),
        policy: Policy {
            allow: vec!["*".to_owned()],
            ..Policy::default()
        },
        ..World::new(model)
    }
}

fn start(world: &World) -> Ran {
    let ran = run(world, View::default(), "one");
    check(ran.view.messages());
    ran
}

// What users report of loops that do not end, as small inputs with the right outcome.

#[test]
fn thirty_commands_again_and_again_end() {
    // 30 commands in turn are no short cycle: after the first time nothing new comes.
    let commands = (0..30).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let outcomes: Vec<&'static str> = (0..30)
        .map(|n| &*Box::leak(format!("file {n}").into_boxed_str()))
        .collect();
    let ran = start(&World {
        limits: Limits {
            rounds: 1_000,
            ..Limits::default()
        },
        ..world(commands, &outcomes)
    });
    assert_eq!(limit(&ran), "48 calls in a row that brought nothing new");
    assert_eq!(ran.started.len(), 78);
}

#[test]
fn a_block_counts_and_the_third_ends_the_run_with_an_answer() {
    let ran = start(&world([calls(&[("look", "{}")])], &["same"]));
    use GuardVerdict::{Note, Refuse, Stop};
    assert_eq!(guards(&ran), [Note, Note, Refuse, Refuse, Stop]);
    assert_eq!(ran.requests.last().unwrap().1, ToolChoice::None);
    assert!(!ran.outcome.text.is_empty());
}

#[test]
fn polling_that_declares_itself_has_ten_minutes_and_no_more() {
    let mut world = world([calls(&[("wait", "{}")])], &["not yet"]);
    world.limits.rounds = 10_000;
    world.limits.calls_per_turn = 10_000;
    world.limits.calls_per_tool = 10_000;
    // Each call takes half a minute of the turn.
    world.takes = Duration::from_secs(30);
    let ran = start(&world);
    assert_eq!(limit(&ran), "the same calls again and again");
    // Twenty, then one that is noted; two refused, the second of which ends it.
    assert_eq!(statuses(&ran)[..21], [Status::Ok; 21]);
    assert_eq!(
        guards(&ran),
        [GuardVerdict::Note, GuardVerdict::Refuse, GuardVerdict::Stop]
    );
}

#[test]
fn results_that_differ_in_times_pids_and_ids_only_are_the_same() {
    let ran = start(&world(
        [calls(&[("look", "{}")])],
        &[
            "no match, took 12 ms, pid 4711, message_id: a1",
            "no match, took 7 ms, pid 4712, message_id: b2",
            "no match, took 1.5 s, pid 99, message_id: c3",
        ],
    ));
    assert_eq!(limit(&ran), "the same calls again and again");
    assert_eq!(ran.started.len(), 4);
}

#[test]
fn one_content_written_to_two_paths_in_turn_is_a_loop() {
    let ran = start(&world(
        [
            calls(&[("put", r#"{"n":1,"key":"a"}"#)]),
            calls(&[("put", r#"{"n":1,"key":"b"}"#)]),
        ],
        &["written"],
    ));
    assert_eq!(limit(&ran), "the same calls again and again");
}

#[test]
fn a_number_spelt_otherwise_is_the_same_call() {
    let ran = start(&world(
        [
            calls(&[("look", r#"{"n":1}"#)]),
            calls(&[("look", r#"{"n":1.0}"#)]),
        ],
        &["same"],
    ));
    assert_eq!(ran.started.len(), 4);
}

#[test]
fn ever_new_words_to_search_for_are_capped_by_the_tool() {
    let searches = (0..300).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let outcomes: Vec<&'static str> = (0..300)
        .map(|n| &*Box::leak(format!("hit {n}").into_boxed_str()))
        .collect();
    let ran = start(&World {
        limits: Limits {
            rounds: 1_000,
            ..Limits::default()
        },
        ..world(searches, &outcomes)
    });
    assert_eq!(ran.started.len(), 100);
    assert_eq!(limit(&ran), "102 calls of `look`");
    assert!(
        results(ran.view.messages())
            .iter()
            .any(|text| text.starts_with("Refused: `look` was called 100 times"))
    );
}

#[test]
fn only_the_current_streak_counts() {
    let look = || calls(&[("look", "{}")]);
    let other = calls(&[("calc", "{}")]);
    let model = [
        look(),
        look(),
        look(),
        other,
        look(),
        look(),
        look(),
        says("Done."),
    ];
    let ran = start(&world(model, &["same"]));
    assert_eq!(ran.outcome.reason, EndReason::Answered);
    assert_eq!(ran.started.len(), 7);
}

#[test]
fn a_test_run_again_after_each_edit_goes_on() {
    let edits = (0..20).flat_map(|n| {
        [
            calls(&[("put", &format!(r#"{{"n":{n}}}"#))]),
            calls(&[("look", "{}")]),
        ]
    });
    let ran = start(&world(
        edits.chain([says("Green.")]),
        &["edited", "1 failed in 0.2s"],
    ));
    assert_eq!(ran.outcome.text, "Green.");
    assert_eq!(guards(&ran), []);
}

#[test]
fn a_failed_search_says_that_nothing_was_obtained_and_the_wrap_up_lists_it() {
    let searches = (0..20).map(|n| calls(&[("look", &format!(r#"{{"n":{n}}}"#))]));
    let mut world = World::new(searches);
    world.runs = vec![Run::Ends(Status::Error)];
    let ran = start(&world);
    assert_eq!(
        results(ran.view.messages())[0],
        "\nNote: no data was obtained."
    );
    let asked = ran
        .requests
        .last()
        .unwrap()
        .2
        .last()
        .map(Message::text)
        .unwrap();
    assert!(
        asked.contains("Calls that failed and gave nothing: `look` × 10."),
        "{asked}"
    );
    assert!(
        ran.outcome.text.contains("Failed or not run: `look` × 10."),
        "{}",
        ran.outcome.text
    );
}

#[test]
fn what_is_said_to_have_been_used_counts_against_the_budget() {
    let model = (0..100).map(|n| {
        let Act::Reply(mut reply) = calls(&[("look", &format!(r#"{{"n":{n}}}"#))]) else {
            unreachable!("calls reply");
        };
        reply.usage = Some(Usage {
            input_tokens: 900,
            output_tokens: 100,
            ..Usage::default()
        });
        Act::Reply(reply)
    });
    let mut world = world(model, &["found"]);
    world.allowance.turn.tokens = Some(10_000);
    let ran = start(&world);
    assert!(
        limit(&ran).starts_with("the turn's budget: "),
        "{}",
        limit(&ran)
    );
    assert_eq!(
        ran.view.ledger().spent().tokens,
        1_000 * ran.requests.len() as u64
    );
    assert!(
        (8..=10).contains(&ran.requests.len()),
        "{}",
        ran.requests.len()
    );
}
