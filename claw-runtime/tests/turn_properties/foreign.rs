//! Journals that no turn of ours wrote: from a file somebody made up, with calls, places and numbers that cannot be.

use claw_runtime::budget::{Price, Reserved, Spent};
use claw_runtime::event::{
    Answer, Cause, Elided, EndReason, Event, GuardVerdict, Purpose, ReAsk, Status, TurnOutcome,
    Verdict,
};
use claw_runtime::message::{ContentBlock, StopReason, ToolCall, ToolResult, Usage};
use claw_runtime::provider::{FailureClass, Protocol, ProviderError, Reply, Target, ToolChoice};
use claw_runtime::session::{Stored, View, check as checks};
use claw_runtime::tool::Effect;
use claw_runtime::turn::{Command, Input, Timer, Turn};
use proptest::prelude::*;

use super::cases;
use super::driver::{World, setup};

/// Steps after which a turn that goes on must have come to its end.
const MOST: usize = 2_000;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..12_u64,
        Just(u64::from(u32::MAX)),
        Just(u64::MAX),
        Just(u64::MAX - 1)
    ]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![0..5_u32, Just(u32::MAX)]
}

fn id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", ""]).prop_map(str::to_owned)
}

fn usage() -> impl Strategy<Value = Option<Usage>> {
    prop::option::of(number().prop_map(|n| Usage {
        input_tokens: n,
        output_tokens: n,
        cached_tokens: n,
        reasoning_tokens: n,
    }))
}

fn block() -> impl Strategy<Value = ContentBlock> {
    let text = prop::sample::select(vec!["", " ", "said"]);
    let name = prop::sample::select(vec!["calc", "look", "put", "send", "post", "none", ""]);
    let arguments = prop::sample::select(vec!["{}", r#"{"n":1}"#, r#"{"n":"#, "", "[]"]);
    prop_oneof![
        1 => text.clone().prop_map(ContentBlock::text),
        1 => text.prop_map(|text| ContentBlock::Reasoning { text: text.into() }),
        3 => (id(), name, arguments).prop_map(|(id, name, arguments)| {
            ContentBlock::ToolCall(ToolCall { id, name: name.into(), arguments: arguments.into() })
        }),
        1 => id().prop_map(|call_id| ContentBlock::ToolResult(ToolResult {
            call_id,
            name: "look".into(),
            content: Vec::new(),
            is_error: false,
        })),
    ]
}

fn blocks() -> impl Strategy<Value = Vec<ContentBlock>> {
    prop::collection::vec(block(), 0..4)
}

fn digest(call: &str) -> String {
    call.repeat(64)
}

fn reason() -> impl Strategy<Value = EndReason> {
    prop_oneof![
        Just(EndReason::Answered),
        Just(EndReason::Cancelled),
        Just(EndReason::Limit {
            limit: String::new()
        }),
        (id(), number()).prop_map(|(call, expires_ms)| EndReason::Parked {
            digest: digest(&call),
            call,
            expires_ms,
        }),
    ]
}

fn reserved() -> impl Strategy<Value = Option<Reserved>> {
    let price = prop::sample::select(vec![0.0, -1.0, 1e300]).prop_map(|one| Price {
        input: one,
        output: one,
        cached: None,
    });
    let some = (number(), number(), prop::option::of(price));
    prop::option::of(some.prop_map(|(prompt, output, price)| Reserved {
        prompt,
        output,
        price,
    }))
}

fn request() -> impl Strategy<Value = Event> {
    let choice = prop::sample::select(vec![ToolChoice::Auto, ToolChoice::None]);
    let purpose = prop::sample::select(vec![Purpose::Answer, Purpose::Answer, Purpose::Summary]);
    (
        small(),
        small(),
        choice,
        purpose,
        any::<bool>(),
        0..3_u8,
        reserved(),
    )
        .prop_map(
            |(round, attempt, tool_choice, purpose, asks, whom, reserved)| Event::ModelRequest {
                round,
                attempt,
                target: Target {
                    provider: format!("provider{whom}"),
                    model: "model".to_owned(),
                    protocol: Protocol::Native,
                    dialect: "none".to_owned(),
                    toolset: String::new(),
                }
                .into(),
                tool_choice,
                re_ask: asks.then(|| ReAsk {
                    said: String::new(),
                    fault: "no".to_owned(),
                }),
                reserved,
                constrained: asks,
                purpose,
            },
        )
}

fn of_model() -> impl Strategy<Value = Event> {
    use FailureClass::{ContextLength, MalformedCall, Network, ToolsUnsupported};
    let class = prop::sample::select(vec![
        ContextLength,
        MalformedCall,
        Network,
        ToolsUnsupported,
    ]);
    let stop = prop::sample::select(vec![
        StopReason::Stop,
        StopReason::Length,
        StopReason::Pause,
    ]);
    prop_oneof![
        1 => request(),
        1 => (class, prop::option::of(number()), usage()).prop_map(|(class, retry_ms, usage)| {
            Event::ModelFailed { class, message: String::new(), retry_ms, usage }
        }),
        2 => (blocks(), stop, usage(), any::<bool>()).prop_map(|(content, stop, usage, incomplete)| {
            Event::Assistant { content, stop, usage, incomplete }
        }),
        1 => Just(Event::Faulty { fault: String::new() }),
    ]
}

fn of_call() -> impl Strategy<Value = Event> {
    let answer = prop::sample::select(vec![Answer::Once, Answer::Always, Answer::Unanswered]);
    let effect = prop::sample::select(vec![Effect::Pure, Effect::Idempotent, Effect::Once]);
    let status = prop::sample::select(vec![
        Status::Ok,
        Status::Unknown,
        Status::NotStarted,
        Status::Refused,
    ]);
    let verdict = prop::sample::select(vec![Verdict::Allow, Verdict::Deny, Verdict::Ask]);
    let guard = prop::sample::select(vec![GuardVerdict::Note, GuardVerdict::Stop]);
    prop_oneof![
        1 => (id(), verdict)
            .prop_map(|(call, verdict)| Event::Decision { call, verdict, rule: String::new() }),
        1 => id().prop_map(|call| Event::ApprovalAsked { digest: digest(&call), call }),
        1 => (id(), answer)
            .prop_map(|(call, answer)| Event::Approval { digest: digest(&call), call, answer }),
        1 => (id(), small(), effect).prop_map(|(call, attempt, effect)| Event::Intent {
            digest: digest(&call),
            call,
            attempt,
            effect,
        }),
        2 => (id(), status, blocks(), number()).prop_map(|(call, status, content, n)| Event::Outcome {
            call,
            status,
            content,
            blob: None,
            progress: None,
            spent: Some(Spent { tokens: n, cost: n }),
        }),
        1 => (id(), guard).prop_map(|(call, verdict)| Event::Guard { call, verdict }),
        1 => (id(), number()).prop_map(|(call, expires_ms)| Event::Blocked {
            digest: digest(&call),
            call,
            expires_ms,
        }),
    ]
}

fn of_turn() -> impl Strategy<Value = Event> {
    let cause = prop::sample::select(vec![Cause::Window, Cause::Overflow]);
    prop_oneof![
        3 => (id(), blocks()).prop_map(|(key, content)| Event::UserInput { key, content }),
        1 => reason().prop_map(|reason| Event::WrapUp { reason }),
        1 => small().prop_map(|takeover| Event::Resumed { takeover }),
        1 => (number(), any::<bool>(), id(), cause, number()).prop_map(|(through, told, call, cause, n)| {
            Event::Compacted {
                through,
                summary: told.then(|| "short".to_owned()),
                elided: vec![Elided { digest: digest(&call), call }],
                cause,
                before: n,
                after: n,
                usage: None,
            }
        }),
        1 => usage().prop_map(|usage| Event::CompactionFailed { message: String::new(), usage }),
        1 => number().prop_map(|to| Event::Undone { to }),
        1 => number().prop_map(|seq| Event::Pinned { seq }),
        1 => Just(Event::CancelRequested),
        1 => (reason(), small(), number()).prop_map(|(reason, rounds, active_ms)| Event::TurnEnd {
            outcome: TurnOutcome { text: String::new(), reason, rounds, usage: Usage::default() },
            active_ms,
        }),
    ]
}

/// Goes on with a turn until it ends; the model fails until it is to wrap up, calls give nothing, and nobody allows any.
fn to_its_end(mut turn: Turn, first: Input) {
    let (mut given, mut timers) = (vec![first], Vec::new());
    for _ in 0..MOST {
        let fired = |timers: &mut Vec<Timer>| timers.pop().map(Input::Fired);
        let input = given
            .pop()
            .or_else(|| fired(&mut timers))
            .expect("something is under way");
        let mut step = turn.step(turn.active(), input);
        while !step.append.is_empty() {
            step = turn.step(turn.active(), Input::Appended);
        }
        for command in step.commands {
            match command {
                Command::Request { tool_choice, .. } => given.push(match tool_choice {
                    ToolChoice::None => Input::Reply(Reply {
                        content: vec![ContentBlock::text("done")],
                        cut_calls: Vec::new(),
                        stop: StopReason::Stop,
                        usage: None,
                    }),
                    _ => Input::Failed(ProviderError::new(FailureClass::BadRequest, "no")),
                }),
                Command::Run { call, .. } | Command::Reconcile { call, .. } => {
                    given.push(Input::Outcome {
                        call,
                        status: Status::Ok,
                        content: Vec::new(),
                        blob: None,
                        progress: None,
                        spent: None,
                    });
                }
                Command::Ask { call, digest, .. } => {
                    given.push(Input::Approval {
                        call,
                        digest,
                        answer: Answer::Deny,
                    });
                }
                // Its time would end any turn; that is not what is asked here.
                Command::Arm {
                    timer: timer @ Timer::Retry { .. },
                    ..
                } => timers.push(timer),
                Command::Finish(_) => {
                    let view = turn.into_view();
                    assert_eq!(checks::conversation(view.messages()), Ok(()));
                    return;
                }
                _ => {}
            }
        }
    }
    panic!("the turn does not end");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_journal_folds_and_its_turn_comes_to_an_end(
        told in prop::collection::vec((prop_oneof![of_model(), of_call(), of_turn()], number()), 0..24),
        settles in any::<bool>(),
        now_ms in number(),
    ) {
        let mut view = View::default();
        let mut events = Vec::new();
        for (seq, (event, time_ms)) in (1..).zip(told) {
            view.apply(&event);
            prop_assert_eq!(checks::conversation(view.messages()), Ok(()), "after event {}", seq);
            view.request_messages();
            events.push(Stored { seq, time_ms, event });
        }
        let over = |stored: &Stored| matches!(stored.event, Event::TurnEnd { .. } | Event::Undone { .. });
        events.drain(..events.iter().rposition(over).map_or(0, |at| at + 1));
        if events.is_empty() {
            return Ok(());
        }
        let turn = Turn::resume(setup(&World::new([])), view, &events);
        let first = if settles { Input::Settle } else { Input::Resume { now_ms } };
        to_its_end(turn, first);
    }
}
