//! Whole turns: what is waited, which model is asked next, and that one model's trouble is its own.

use std::sync::Arc;
use std::time::Duration;

use claw_runtime::agent::{Agent, Observer};
use claw_runtime::event::{EndReason, Event, TurnOutcome};
use claw_runtime::limits::Limits;
use claw_runtime::message::Message;
use claw_runtime::provider::{Delta, FailureClass};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use serde_json::json;
use tokio::time::Instant;

use crate::fault::{FAULTS, Fault};
use crate::format::{FORMATS, Format};
use crate::support::{Act, Server, answer, stream};

#[derive(Default)]
struct Seen {
    failures: Vec<(FailureClass, Option<u64>)>,
    text: String,
    /// Waits for whole replies.
    waits: bool,
}

impl Observer for Seen {
    fn is_live(&self) -> bool {
        !self.waits
    }

    fn event(&mut self, event: &Event) {
        if let Event::ModelFailed {
            class, retry_ms, ..
        } = event
        {
            self.failures.push((*class, *retry_ms));
        }
    }

    fn delta(&mut self, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.text.push_str(text);
        }
    }
}

/// An agent that asks `first`, and `second` where that fails.
struct Chain {
    agent: Agent,
    first: Server,
    second: Server,
}

impl Chain {
    async fn new(
        format: &Format,
        first: impl IntoIterator<Item = Vec<Act>>,
        second: impl IntoIterator<Item = Vec<Act>>,
    ) -> Self {
        let (first, second) = (Server::start(first).await, Server::start(second).await);
        let agent = Agent::builder()
            .model(format.connect("first", &first), "m")
            .model(format.connect("second", &second), "m")
            .limits(Limits {
                active_time: Duration::from_secs(86_400),
                ..Limits::default()
            })
            .build()
            .unwrap();
        Self {
            agent,
            first,
            second,
        }
    }

    /// Runs one turn of a session; also returns how long it took.
    async fn run(&self, session: &str) -> (TurnOutcome, Seen, Duration) {
        self.watched(session, Seen::default()).await
    }

    async fn watched(&self, session: &str, mut seen: Seen) -> (TurnOutcome, Seen, Duration) {
        let mut session = self.agent.session(session).await.unwrap();
        let began = Instant::now();
        let outcome = session.run_observed(Message::user("Hi"), &mut seen).await;
        (outcome.unwrap(), seen, began.elapsed())
    }

    /// Returns how often each model was asked.
    fn asked(&self) -> [usize; 2] {
        [&self.first, &self.second].map(|server| server.received().len())
    }
}

/// Checks the pauses between attempts: as long as was asked for, else 1, 2, 4 s give or take a tenth.
fn check_pauses(about: &str, fault: &Fault, failures: &[(FailureClass, Option<u64>)]) {
    let pauses: Vec<_> = failures.iter().map(|(_, pause)| *pause).collect();
    let [pauses @ .., None] = &pauses[..] else {
        panic!("{about}: the last attempt is followed by no pause: {failures:?}");
    };
    for (pause, seconds) in pauses.iter().zip([1, 2, 4]) {
        let pause = pause.expect(about);
        let usual = seconds * 900..=seconds * 1_100;
        match fault.asks {
            Some(asks) => assert_eq!(pause, asks * 1_000, "{about}"),
            None => assert!(usual.contains(&pause), "{about}: {pause}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_four_times_and_then_the_next_model_is_asked() {
    let elsewhere = Server::start([]).await;
    for format in &FORMATS {
        for fault in FAULTS
            .iter()
            .filter(|it| it.class.is_retryable() && !it.said)
        {
            let about = format!("{}: {}", format.name, fault.name);
            let acts = (fault.acts)(format, &elsewhere.base);
            let chain = Chain::new(format, vec![acts; 9], vec![format.says("Hello"); 2]).await;
            let (outcome, seen, took) = chain.run("s").await;
            assert_eq!(outcome.reason, EndReason::Answered, "{about}");
            assert_eq!((&*outcome.text, &*seen.text), ("Hello", "Hello"), "{about}");
            assert_eq!(chain.asked(), [4, 1], "{about}");
            assert!(
                seen.failures.iter().all(|it| it.0 == fault.class),
                "{about}"
            );
            check_pauses(&about, fault, &seen.failures);
            let pauses = seen.failures.iter().filter_map(|it| it.1).sum::<u64>() / 1_000;
            let expected = 4 * (fault.takes)(format) + pauses;
            assert!(
                (expected..=expected + 1).contains(&took.as_secs()),
                "{about}: {took:?}"
            );
            // The next turn begins with the first model again: its trouble may have passed.
            assert_eq!(chain.run("s").await.0.text, "Hello", "{about}");
            assert_eq!(chain.asked(), [8, 2], "{about}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_tried_once() {
    let elsewhere = Server::start([]).await;
    for format in &FORMATS {
        for fault in FAULTS
            .iter()
            .filter(|it| !it.class.is_retryable() && !it.said)
        {
            let about = format!("{}: {}", format.name, fault.name);
            let acts = (fault.acts)(format, &elsewhere.base);
            let ends = fault.class == FailureClass::BadRequest;
            let chain = Chain::new(format, vec![acts; 9], vec![format.says("Hello"); 9]).await;
            for turn in 1..=2 {
                let (outcome, seen, took) = chain.run("s").await;
                assert_eq!(seen.failures, [(fault.class, None)], "{about}");
                assert_eq!(took.as_secs(), 0, "{about}: nothing is waited for");
                // A request that is refused for its form would be refused by the next model too. Neither kind changes
                // whom the next turn asks.
                assert_eq!(
                    chain.asked(),
                    [turn, if ends { 0 } else { turn }],
                    "{about}"
                );
                if ends {
                    let EndReason::Failed { class, message } = &outcome.reason else {
                        panic!("{about}: {outcome:?}");
                    };
                    assert_eq!(*class, fault.class, "{about}");
                    assert!(
                        outcome.text.contains(message.as_str()),
                        "{about}: {}",
                        outcome.text
                    );
                } else {
                    assert_eq!(outcome.text, "Hello", "{about}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_more_than_a_minute_goes_to_the_next_model_at_once() {
    for format in &FORMATS {
        let date =
            "date: Mon, 30 Nov 2026 12:00:00 GMT\r\nretry-after: Mon, 30 Nov 2026 13:00:00 GMT\r\n";
        for header in ["retry-after: 61\r\n", date] {
            let limited = answer(429, header, "");
            let chain = Chain::new(format, [limited], [format.says("Hello")]).await;
            let (outcome, seen, took) = chain.run("s").await;
            assert_eq!(
                (&*outcome.text, chain.asked()),
                ("Hello", [1, 1]),
                "{}",
                format.name
            );
            assert_eq!(seen.failures, [(FailureClass::RateLimit, None)]);
            assert_eq!(took.as_secs(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_recovers_is_not_left() {
    for format in &FORMATS {
        let busy = || answer(529, "", "");
        let good = || format.says("Hello");
        let chain = Chain::new(format, [busy(), vec![Act::Close], good(), good()], []).await;
        for expected in [[3, 0], [4, 0]] {
            assert_eq!(chain.run("s").await.0.text, "Hello", "{}", format.name);
            assert_eq!(chain.asked(), expected, "{}", format.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_is_gone_on_with_and_never_asked_for_again() {
    for format in &FORMATS {
        for fault in FAULTS.iter().filter(|it| it.said) {
            let about = format!("{}: {}", format.name, fault.name);
            let broken = (fault.acts)(format, "");
            let chain = Chain::new(format, [broken.clone(), format.says(" world")], []).await;
            let (outcome, seen, _) = chain.run("s").await;
            assert_eq!(
                (&*outcome.text, &*seen.text),
                ("Hello world", "Hello world"),
                "{about}"
            );
            assert_eq!(seen.failures, [(fault.class, None)], "{about}");
            assert_eq!(chain.asked(), [2, 0], "{about}");
            let sent = chain.first.received();
            assert!(!sent[0].body.contains("Hello"), "{about}");
            assert!(
                sent[1].body.contains("Hello"),
                "{about}: the model goes on from there"
            );

            // A continuation that breaks too ends the turn, with all that was said.
            let chain = Chain::new(format, vec![broken; 3], []).await;
            let (outcome, seen, _) = chain.run("s").await;
            assert!(
                outcome.text.starts_with("HelloHello\n"),
                "{about}: {}",
                outcome.text
            );
            assert_eq!((seen.failures.len(), chain.asked()), (2, [2, 0]), "{about}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_followed_is_asked_for_from_its_beginning() {
    let waits = || Seen {
        waits: true,
        ..Seen::default()
    };
    for format in &FORMATS {
        for fault in FAULTS.iter().filter(|it| it.said) {
            let about = format!("{}: {}", format.name, fault.name);
            let broken = (fault.acts)(format, "");
            let chain = Chain::new(format, [broken.clone(), format.says("Hello world")], []).await;
            let (outcome, seen, _) = chain.watched("s", waits()).await;
            assert_eq!(
                (&*outcome.text, &*seen.text),
                ("Hello world", "Hello world"),
                "{about}"
            );
            let sent = chain.first.received();
            assert_eq!(sent.len(), 2, "{about}");
            assert_eq!(sent[0].body, sent[1].body, "{about}");
            check_pauses(
                &about,
                fault,
                &[&seen.failures[..], &[(fault.class, None)]].concat(),
            );

            // A model that never gets to the end is left for the next one, as any that fails.
            let chain = Chain::new(format, vec![broken; 4], [format.says("Hello")]).await;
            let (outcome, seen, _) = chain.watched("s", waits()).await;
            assert_eq!((&*outcome.text, &*seen.text), ("Hello", "Hello"), "{about}");
            assert_eq!(chain.asked(), [4, 1], "{about}");
        }
    }
}

/// Says "12 °C".
fn weather() -> Toolset {
    let handler: claw_runtime::tool::Handler =
        Arc::new(|_, _| Box::pin(async { Ok::<_, _>(ToolOutput::text("12 °C")) }));
    let mut spec = Spec::new("weather".into(), "Weather.".into());
    spec.effect = Effect::Pure;
    let schema = json!({"type": "object", "properties": {}});
    Toolset::new([Arc::new(Tool::dynamic(spec, schema, handler))]).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_turn_stays_with_the_model_it_went_to() {
    let format = &FORMATS[0];
    let call = json!({"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": "{}"}},
    ]}, "finish_reason": "tool_calls"}]});
    let calls = stream(&[&format!("data: {call}\n\n"), "data: [DONE]\n\n"]);
    let refused = answer(401, "", "");
    let chain = Chain::new(format, vec![refused; 9], [calls, format.says("12 °C.")]).await;
    let agent = Agent::builder()
        .model(format.connect("first", &chain.first), "m")
        .model(format.connect("second", &chain.second), "m")
        .tools(weather())
        .build()
        .unwrap();
    let outcome = agent.session("t").await.unwrap().run("Hi").await.unwrap();
    assert_eq!(outcome.text, "12 °C.");
    assert_eq!(chain.asked(), [1, 2]);
}
