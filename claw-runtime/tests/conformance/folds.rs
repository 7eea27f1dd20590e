//! Whatever happened comes back, byte for byte, and folds to the same view.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use claw_runtime::budget::{Price, Reserved, Spent};
use claw_runtime::event::{
    Answer, Cause, Elided, EndReason, Event, Fact, GuardVerdict, Purpose, ReAsk, Status,
    TurnOutcome, Verdict,
};
use claw_runtime::message::{ContentBlock, StopReason, ToolCall, ToolResult, Usage};
use claw_runtime::provider::{FailureClass, Protocol, Target, ToolChoice};
use claw_runtime::session::record::{self, START};
use claw_runtime::session::{Append, Barrier, Record, View};
use claw_runtime::tool::Effect;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Handle;

use crate::medium::{Medium, read, two};

/// Appends, each with its events, firmly or not.
type Appends = Vec<(Vec<Event>, bool)>;

pub(crate) async fn any_events_come_back_and_fold_alike(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let nth = AtomicUsize::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    });
    let story = prop::collection::vec((prop::collection::vec(event(), 0..6), any::<bool>()), 0..8);
    let told = tokio::task::block_in_place(|| {
        runner.run(&story, |appends: Appends| {
            let session = format!("s{}", nth.fetch_add(1, Ordering::Relaxed));
            Handle::current().block_on(async {
                let lease = a.open(&session).await.unwrap();
                let mut all = Vec::new();
                for (events, durable) in &appends {
                    let barrier = if *durable {
                        Barrier::Durable
                    } else {
                        Barrier::Buffered
                    };
                    let append = Append {
                        after: all.len() as u64,
                        events: events.as_slice().into(),
                        barrier,
                        taken: &[],
                    };
                    a.append(&lease, append).await.unwrap();
                    all.extend_from_slice(events);
                }
                let records = a.records(&session, 0).await.unwrap();
                assert_eq!(read(&records), all);
                // The same times make the same bytes and hashes, whoever writes them.
                let mut before = START;
                for (record, event) in records.iter().zip(&all) {
                    let alike = Record::new(&before, record.seq, record.time_ms, event).unwrap();
                    assert_eq!(*record, alike);
                    before = record.hash;
                }
                let folded: View = read(&records).iter().collect();
                assert!(folded == all.iter().collect(), "the views differ");
                // Another host reads the same once what was buffered has ridden along.
                let firm = Append {
                    after: all.len() as u64,
                    events: [Event::CancelRequested].into(),
                    barrier: Barrier::Durable,
                    taken: &[],
                };
                a.append(&lease, firm).await.unwrap();
                let there = b.records(&session, 0).await.unwrap();
                assert_eq!(there[..records.len()], records);
                assert_eq!(record::verify(&there), Ok(()));
            });
            Ok(())
        })
    });
    told.unwrap();
}

#[test]
fn an_events_kind_is_the_tag_it_is_written_with() {
    let kinds: BTreeSet<_> = samples().iter().map(Event::kind).collect();
    for event in samples() {
        let written = serde_json::to_value(&event).unwrap();
        assert_eq!(written["event"], event.kind());
    }
    // What serde knows, it tells who asks for something else: no event lacks a sample here.
    let asked = serde_json::from_str::<Event>(r#"{"event":"?"}"#);
    let known = asked.unwrap_err().to_string();
    let known: BTreeSet<_> = known.split('`').skip(3).step_by(2).collect();
    assert_eq!(known, kinds);
}

/// One of each event.
fn samples() -> Vec<Event> {
    let text = || "text".to_owned();
    let call = || "call".to_owned();
    let digest = || "d".repeat(64);
    vec![
        crate::medium::said("hello"),
        Event::ContextChanged {
            system: digest(),
            toolset: digest(),
        },
        Event::Learnt {
            provider: text(),
            model: text(),
            fact: Fact::NoNativeTools,
        },
        Event::ModelRequest {
            round: 1,
            attempt: 2,
            target: Target {
                provider: text(),
                model: text(),
                protocol: Protocol::Native,
                dialect: text(),
                toolset: digest(),
            }
            .into(),
            tool_choice: ToolChoice::Auto,
            constrained: false,
            re_ask: Some(ReAsk {
                said: text(),
                fault: text(),
            }),
            reserved: Some(Reserved {
                prompt: 12,
                output: 4_096,
                price: Some(Price {
                    input: 0.1,
                    output: 2.5,
                    cached: None,
                }),
            }),
            purpose: Purpose::Summary,
        },
        Event::Compacted {
            through: 3,
            summary: Some(text()),
            elided: vec![Elided {
                call: call(),
                digest: digest(),
            }],
            cause: Cause::Window,
            before: 9_000,
            after: 2_000,
            usage: None,
        },
        Event::CompactionFailed {
            message: text(),
            usage: None,
        },
        Event::Undone { to: 3 },
        Event::Faulty { fault: text() },
        Event::WrapUp {
            reason: EndReason::Answered,
        },
        Event::Spawned {
            parent: text(),
            call: call(),
            depth: 1,
        },
        Event::Pinned { seq: 1 },
        Event::ModelFailed {
            class: FailureClass::Overloaded,
            message: text(),
            retry_ms: Some(1000),
            usage: Some(Usage::default()),
        },
        Event::Assistant {
            content: vec![
                ContentBlock::text("I look."),
                ContentBlock::ToolCall(ToolCall {
                    id: call(),
                    name: text(),
                    arguments: r#"{"a": 1.0}"#.to_owned(),
                }),
            ],
            stop: StopReason::Pause,
            usage: Some(Usage::default()),
            incomplete: false,
        },
        Event::Decision {
            call: call(),
            verdict: Verdict::Ask,
            rule: text(),
        },
        Event::ApprovalAsked {
            call: call(),
            digest: digest(),
        },
        Event::Approval {
            call: call(),
            digest: digest(),
            answer: Answer::Session,
        },
        Event::Intent {
            call: call(),
            attempt: 1,
            effect: Effect::Once,
            digest: digest(),
        },
        Event::Outcome {
            call: call(),
            status: Status::Ok,
            content: vec![ContentBlock::ToolResult(ToolResult {
                call_id: call(),
                name: text(),
                content: vec![ContentBlock::text("12 °C")],
                is_error: false,
            })],
            blob: Some(digest()),
            progress: Some(digest()),
            spent: Some(Spent { tokens: 3, cost: 4 }),
        },
        Event::Guard {
            call: call(),
            verdict: GuardVerdict::Note,
        },
        Event::Blocked {
            call: call(),
            digest: digest(),
            expires_ms: 9,
        },
        Event::Resumed { takeover: 1 },
        Event::Faulty { fault: text() },
        Event::WrapUp {
            reason: EndReason::Answered,
        },
        Event::CancelRequested,
        Event::TurnEnd {
            outcome: TurnOutcome {
                text: text(),
                reason: EndReason::Answered,
                rounds: 3,
                usage: Usage::default(),
            },
            active_ms: 1234,
        },
    ]
}

/// Any of them, with whatever people, models and tools may say.
fn event() -> impl Strategy<Value = Event> {
    let text = prop_oneof![any::<String>(), "[a-z ]{0,3000}"];
    (prop::sample::select(samples()), text).prop_map(|(event, text)| match event {
        Event::UserInput { .. } => crate::medium::said(&text),
        Event::ModelFailed {
            class,
            retry_ms,
            usage,
            ..
        } => Event::ModelFailed {
            class,
            message: text,
            retry_ms,
            usage,
        },
        Event::Assistant { usage, .. } => Event::Assistant {
            content: vec![ContentBlock::text(text.as_str())],
            stop: StopReason::Other(text),
            usage,
            incomplete: true,
        },
        Event::Outcome { call, status, .. } => Event::Outcome {
            call,
            status,
            content: vec![ContentBlock::text(text)],
            blob: None,
            progress: None,
            spent: None,
        },
        other => other,
    })
}
