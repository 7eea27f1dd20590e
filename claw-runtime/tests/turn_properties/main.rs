//! The turn machine under adversarial models, tools, stores and users: properties, and the cases people report.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bounds;
mod crash;
mod driver;
mod foreign;
mod history;
mod lives;
mod reports;
mod shrink;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;
#[cfg(feature = "http")]
mod wire;

use std::sync::LazyLock;
use std::time::Duration;

use claw_runtime::budget::Allowance;
use claw_runtime::event::{Answer, EndReason, Event, Status};
use claw_runtime::limits::Limits;
use claw_runtime::message::{ContentBlock, Message, StopReason, ToolCall, Usage};
use claw_runtime::policy::Policy;
use claw_runtime::provider::{Constrain, FailureClass, Protocol, ProviderError, Reply};
use claw_runtime::session::View;
use proptest::prelude::*;

use driver::{Act, Run, World, check, run, said};

const CLASSES: &[FailureClass] = &[
    FailureClass::RateLimit,
    FailureClass::Quota,
    FailureClass::Overloaded,
    FailureClass::Auth,
    FailureClass::BadRequest,
    FailureClass::NotFound,
    FailureClass::ToolsUnsupported,
    FailureClass::SchemaRefused,
    FailureClass::ContextLength,
    FailureClass::Network,
    FailureClass::Stalled,
    FailureClass::IncompleteStream,
    FailureClass::BadResponse,
    FailureClass::MalformedCall,
    FailureClass::Filtered,
];

/// Text, and what models without native calls write in it.
const TEXTS: &[&str] = &[
    "Some text.",
    " ",
    "",
    "<tool_call>{\"name\": \"calc\", \"arguments\": {}}</tool_call>",
    "Look: <tool_call>{\"name\": \"look\", \"arguments\": {\"n\": 1}}</tool_call>",
    "<tool_call>{\"name\": \"send\", \"arguments\": {\"n\": </tool_call>",
    "<tool_call>{\"name\": \"gone\", \"arguments\": {}}</tool_call>",
    "<think>I could <tool_call>",
    "{\"name\": \"look\", \"arguments\": {\"n\": 1}}",
    "{\"answer\": \"Done.\"}",
    "{\"answer\": \"Do",
];

fn call() -> impl Strategy<Value = ToolCall> {
    let id = prop::sample::select(vec!["", "call_0", "call_1", "a b", "functions.x:0"]);
    let name = prop::sample::select(vec![
        "calc", "look", "put", "send", "post", "post", "looks", "", "rm -rf",
    ]);
    let arguments = prop::sample::select(vec![
        "{}",
        "",
        r#"{"n":1}"#,
        r#"{"n": 2}"#,
        r#"{"n":"#,
        "null",
        "no",
    ]);
    (id, name, arguments).prop_map(|(id, name, arguments)| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

fn block() -> impl Strategy<Value = ContentBlock> {
    prop_oneof![
        4 => call().prop_map(ContentBlock::ToolCall),
        2 => prop::sample::select(TEXTS).prop_map(ContentBlock::text),
        1 => Just(ContentBlock::Reasoning { text: "hm".to_owned() }),
        1 => Just(ContentBlock::Opaque {
            provider: "provider0".to_owned(),
            model: "model".to_owned(),
            value: serde_json::json!({"signature": "x"}),
        }),
    ]
}

fn stop() -> impl Strategy<Value = StopReason> {
    prop::sample::select(vec![
        StopReason::Stop,
        StopReason::ToolCalls,
        StopReason::Length,
        StopReason::ContentFilter,
        StopReason::Pause,
        StopReason::Other("new".to_owned()),
    ])
}

fn act() -> impl Strategy<Value = Act> {
    let reply = (
        prop::collection::vec(block(), 0..6),
        prop::collection::vec(call(), 0..2),
        stop(),
        any::<bool>(),
    )
        .prop_map(|(content, cut_calls, stop, told)| {
            Act::Reply(Reply {
                content,
                cut_calls,
                stop,
                usage: told.then_some(Usage {
                    input_tokens: 3,
                    output_tokens: 1,
                    ..Usage::default()
                }),
            })
        });
    let failure = (
        prop::sample::select(CLASSES),
        any::<bool>(),
        prop::collection::vec(block(), 0..3),
        prop::option::of(prop::sample::select(vec![0_u64, 5, 3_600])),
        prop::sample::select(vec!["it failed", "unknown field `response_format`"]),
    )
        .prop_map(|(class, shown, partial, wait, message)| Act::Fail {
            error: ProviderError {
                partial,
                retry_after: wait.map(Duration::from_secs),
                ..ProviderError::new(class, message)
            },
            shown,
        });
    prop_oneof![8 => reply, 4 => failure, 1 => Just(Act::Hang)]
}

fn limits() -> impl Strategy<Value = Limits> {
    let counts = (0..8_u32, 0..5_u32, 0..12_u32, 0..3_u32, 0..2_u32, 0..4_u32);
    let counts = counts.prop_map(
        |(rounds, calls_per_round, calls_per_turn, re_asks, empty_replies, attempts)| Limits {
            rounds,
            calls_per_round,
            calls_per_turn,
            re_asks,
            empty_replies,
            attempts,
            ..Limits::default()
        },
    );
    (prop_oneof![counts, Just(Limits::default())], space()).prop_map(|(limits, space)| Limits {
        window: space.window,
        most_messages: space.most_messages,
        keep_messages: space.keep_messages,
        summary_requests: space.summary_requests,
        ..limits
    })
}

/// How much room a conversation has: mostly little, so that it is compacted.
fn space() -> impl Strategy<Value = Limits> {
    let window = prop_oneof![
        2 => Just(None),
        3 => (150..4_000_u64).prop_map(Some),
    ];
    let most = prop_oneof![3 => Just(None), 1 => (0..8_usize).prop_map(Some)];
    (window, most, 0..6_usize, 0..4_u32).prop_map(
        |(window, most_messages, keep_messages, summary_requests)| Limits {
            window,
            most_messages,
            keep_messages,
            summary_requests,
            ..Limits::default()
        },
    )
}

/// A result of many lines.
fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| "A line of output, 一行输出.\n".repeat(120));
    &LONG
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    let answers = vec![
        Answer::Once,
        Answer::Session,
        Answer::Always,
        Answer::Deny,
        Answer::Unanswered,
    ];
    let runs = vec![
        Run::Gives("fine"),
        Run::Gives("other"),
        Run::Gives(""),
        Run::Gives(long()),
        Run::Gives(long()),
        Run::Ends(Status::Error),
        Run::Ends(Status::TimedOut),
        Run::Ends(Status::Panicked),
        Run::Ends(Status::Cancelled),
        Run::Hangs,
    ];
    let policy = prop::sample::select(vec![
        Policy::default(),
        Policy {
            allow: vec!["*".to_owned()],
            ..Policy::default()
        },
        Policy {
            deny: vec!["put".to_owned()],
            ..Policy::default()
        },
    ]);
    let script = (
        prop::collection::vec(act(), 1..7),
        prop::collection::vec(prop::sample::select(runs), 1..5),
        prop::collection::vec(prop::sample::select(answers), 1..4),
        prop::collection::vec(any::<u8>(), 1..5),
    );
    let trouble = (
        prop::option::weighted(0.2, 0..20_usize),
        prop::option::weighted(0.2, 1..20_usize),
        prop::collection::vec(1..20_usize, 0..3),
    );
    let protocol = prop::sample::select(vec![
        Protocol::Native,
        Protocol::Native,
        Protocol::Prompt,
        Protocol::Chat,
    ]);
    let protocol = (protocol, constrain());
    (script, trouble, policy, protocol, limits(), 0..3_usize).prop_map(
        |(
            (model, runs, answers, picks),
            (append_fails, cancel, posts),
            policy,
            (protocol, constrain),
            limits,
            targets,
        )| World {
            limits,
            policy,
            targets,
            protocol,
            constrain,
            model,
            runs,
            answers,
            picks,
            append_fails,
            cancel,
            posts,
            allowance: Allowance::default(),
            takes: Duration::ZERO,
        },
    )
}

/// A world in which everything works, over the same tools.
fn calm(text: &str) -> World {
    World::new([reports::says(text)])
}

fn user_texts(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::UserInput { key, .. } => Some(said(key)),
            _ => None,
        })
        .collect()
}

fn texts(messages: &[Message]) -> String {
    messages
        .iter()
        .map(Message::text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// How many worlds a property is tried in; more when asked for.
fn cases() -> u32 {
    let asked = std::env::var("CLAW_TEST_CASES");
    asked
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(600)
}

pub(crate) fn constrain() -> impl Strategy<Value = Constrain> {
    prop::sample::select(vec![
        Constrain::OnFailure,
        Constrain::Always,
        Constrain::Never,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// For every prefix the conversation is valid, and only its last message may still change.
    #[test]
    fn every_prefix_is_a_valid_conversation(world in world()) {
        let ran = run(&world, View::default(), "one");
        let mut view = View::default();
        for event in &ran.events {
            let before = view.messages().to_vec();
            view.apply(event);
            check(view.messages());
            check(&view.request_messages());
            if let Event::Compacted { before, after, .. } = event {
                prop_assert!(after < before, "{after} tokens after {before}");
                prop_assert_eq!(view.tokens(), *after);
                continue;
            }
            let kept = before.len().saturating_sub(1);
            prop_assert_eq!(&before[..kept], &view.messages()[..kept]);
            prop_assert!(view.messages().len() >= before.len());
        }
    }

    #[test]
    fn every_turn_ends_within_the_bound_and_with_an_answer(world in world()) {
        let ran = run(&world, View::default(), "one");
        let bound = world.limits.most_requests() * world.targets as u64;
        prop_assert!(ran.requests.len() as u64 <= bound, "{} > {bound}", ran.requests.len());
        if ran.outcome.reason != EndReason::Cancelled {
            prop_assert!(!ran.outcome.text.trim().is_empty());
        }
        prop_assert!(ran.started.len() <= world.limits.calls_per_turn as usize);
        for (_, _, messages) in &ran.requests {
            check(messages);
            prop_assert_ne!(messages.last().unwrap().role, claw_runtime::message::Role::Assistant);
        }
    }

    /// What is asked fits the window, where it is known; what does not is not asked.
    #[test]
    fn no_request_is_longer_than_the_window(world in world()) {
        let ran = run(&world, View::default(), "one");
        let Some(window) = world.limits.window else { return Ok(()) };
        for (_, _, messages) in &ran.requests {
            // A summary request holds a transcript that is cut to half the window, and the notes so far.
            let tokens = claw_runtime::tokens::of_messages(messages);
            prop_assert!(tokens <= window.max(400), "{tokens} of {window}");
        }
    }

    /// The journal is the whole truth: its fold is the turn's view, and it survives being written and read.
    #[test]
    fn the_fold_of_the_journal_is_the_view(world in world()) {
        let ran = run(&world, View::default(), "one");
        let stored: Vec<Event> = ran
            .events
            .iter()
            .map(|event| serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap())
            .collect();
        prop_assert_eq!(&stored, &ran.events);
        prop_assert_eq!(stored.iter().collect::<View>(), ran.view);
    }

    #[test]
    fn a_failed_append_ends_the_turn_and_starts_nothing(mut world in world(), at in 0..12_usize) {
        // The driver itself checks that no command but stops comes with the failure.
        world.append_fails = Some(at);
        let ran = run(&world, View::default(), "one");
        if ran.appends.len() == at {
            let failed = matches!(ran.outcome.reason, EndReason::StoreFailed { .. });
            let ended = matches!(ran.events.last(), Some(Event::TurnEnd { .. }));
            prop_assert!(failed || ended);
        }
        prop_assert_eq!(ran.events.iter().collect::<View>(), ran.view);
    }

    /// After a crash anywhere the next message simply goes on, and nothing that was said is lost or doubled.
    #[test]
    fn a_session_goes_on_from_every_prefix(world in world(), cut in any::<prop::sample::Index>()) {
        let ran = run(&world, View::default(), "one");
        let prefix = &ran.events[..cut.index(ran.events.len() + 1)];
        let next = run(&calm("Here again."), prefix.iter().collect(), "two");
        prop_assert_eq!(&next.outcome.reason, &EndReason::Answered);
        prop_assert_eq!(&next.outcome.text, "Here again.");
        check(next.view.messages());
        let all: Vec<Event> = prefix.iter().chain(&next.events).cloned().collect();
        prop_assert_eq!(all.iter().collect::<View>(), next.view.clone());
        let conversation = texts(next.view.messages());
        for text in user_texts(&all) {
            prop_assert_eq!(conversation.matches(&text).count(), 1, "{} in {}", text, conversation);
        }
    }

    /// Any journal at all, as a damaged or foreign store may give it, folds to a valid conversation.
    #[test]
    fn any_order_of_events_folds_to_a_valid_conversation(world in world(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..60)) {
        let ran = run(&world, View::default(), "one");
        if ran.events.is_empty() {
            return Ok(());
        }
        let mut view = View::default();
        for pick in picks {
            view.apply(pick.get(&ran.events));
            check(view.messages());
            check(&view.request_messages());
        }
    }

    /// The same world gives the same journal: no clock, chance or map order in the machine.
    #[test]
    fn the_machine_is_deterministic(world in world()) {
        let one = run(&world, View::default(), "one");
        let two = run(&world, View::default(), "one");
        prop_assert_eq!(one.events, two.events);
    }
}
