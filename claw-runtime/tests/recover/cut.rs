//! A turn cut off at each of its appends, by the real driver, and gone on with.

use std::sync::Arc;

use claw_runtime::agent::{AgentError, Recover};
use claw_runtime::event::{EndReason, Event, Status};
use claw_runtime::message::{ContentBlock, Message, StopReason, ToolCall};
use claw_runtime::provider::Reply;
use claw_runtime::provider::scripted::{Answer, calls, says};
use claw_runtime::session::{Append, Barrier, MemoryStore, SessionStore};
use claw_runtime::tool::{Effect, Tool};
use serde_json::json;

use crate::tapped::{Stop, Tapped};
use crate::{Ledger, Seen, allow_all, builder, events, kinds, model, noted, statuses, transcript};

fn tools(ledger: &Ledger) -> [Arc<Tool>; 3] {
    [
        noted("calc", Effect::Pure, ledger),
        noted("put", Effect::Idempotent, ledger),
        noted("send", Effect::Once, ledger),
    ]
}

/// Runs a turn that is cut off at `stop`. Returns whether it came to that.
async fn cut_off(
    store: &Arc<MemoryStore>,
    stop: Stop,
    tools: impl IntoIterator<Item = Arc<Tool>>,
    answers: Vec<Answer>,
) -> bool {
    let tapped = Arc::new(Tapped::new(store.clone(), Some(stop)));
    let agent = builder(tapped.clone(), tools, model(answers))
        .policy(allow_all())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    tokio::select! {
        biased;
        () = tapped.stopped.notified() => true,
        outcome = session.run("go") => {
            outcome.unwrap();
            false
        }
    }
}

#[tokio::test]
async fn cut_off_anywhere_it_goes_on_and_repeats_no_effect() {
    let script = || {
        vec![
            calls("send", json!({"n": 1})).and_calls("calc", json!({"n": 2})),
            calls("put", json!({"n": 3})),
            says("Done."),
        ]
    };
    let mut boundaries = 0;
    for nth in 0.. {
        let mut reached = false;
        for stop in [Stop::Before(nth), Stop::After(nth)] {
            let store = Arc::new(MemoryStore::new());
            let ledger = Ledger::default();
            if !cut_off(&store, stop, tools(&ledger), script()).await {
                continue;
            }
            reached = true;
            boundaries += 1;
            let agent = builder(store.clone(), tools(&ledger), model(script()))
                .policy(allow_all())
                .build()
                .unwrap();
            let mut session = agent.session("s").await.unwrap();
            let begun = session.unfinished().await.unwrap();
            match session.resume(&mut ()).await.unwrap() {
                Some(outcome) => assert_eq!(outcome.text, "Done.", "{stop:?}"),
                None => {
                    // Nothing was acknowledged yet, or all was done.
                    assert!(!begun);
                    if session.messages().is_empty() {
                        session.run("go").await.unwrap();
                    }
                }
            }
            let last = session.messages().last().unwrap();
            assert_eq!(last.text(), "Done.", "{stop:?}");
            let count = |line: &str| {
                let ledger = ledger.lock().unwrap();
                ledger.iter().filter(|entry| *entry == line).count()
            };
            assert!(count("send 1") <= 1, "{stop:?}");
            assert!((1..=2).contains(&count("put 3")), "{stop:?}");
            let ended = |event: &&Event| matches!(event, Event::TurnEnd { .. });
            let events = events(&*store, "s").await;
            assert_eq!(events.iter().filter(ended).count(), 1);
            assert!(!session.unfinished().await.unwrap());
        }
        if !reached {
            break;
        }
    }
    assert_eq!(boundaries, 14, "seven appends, before and after each");
}

#[tokio::test]
async fn for_pure_tools_the_conversation_is_the_uninterrupted_one_byte_for_byte() {
    let script = || {
        vec![
            asks(&[("a", 1), ("b", 2)]),
            // The provider names a call as it did before.
            asks(&[("a", 1)]),
            says("Done."),
        ]
    };
    let calc = |ledger: &Ledger| [noted("calc", Effect::Pure, ledger)];
    let whole = Arc::new(MemoryStore::new());
    let agent = builder(whole, calc(&Ledger::default()), model(script()))
        .build()
        .unwrap();
    let mut uninterrupted = agent.session("s").await.unwrap();
    uninterrupted.run("go").await.unwrap();
    for nth in 1..5 {
        for stop in [Stop::Before(nth), Stop::After(nth)] {
            let store = Arc::new(MemoryStore::new());
            let ledger = Ledger::default();
            if !cut_off(&store, stop, calc(&ledger), script()).await {
                continue;
            }
            let agent = builder(store, calc(&ledger), model(script()))
                .build()
                .unwrap();
            let mut session = agent.session("s").await.unwrap();
            session.resume(&mut ()).await.unwrap();
            assert_eq!(session.messages(), uninterrupted.messages(), "{stop:?}");
        }
    }
}

/// Answers with calls of `calc`, with ids that do not depend on which process asks.
fn asks(calls: &[(&str, u32)]) -> Answer {
    let call = |(id, n): &(&str, u32)| {
        ContentBlock::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "calc".to_owned(),
            arguments: format!("{{\"n\":{n}}}"),
        })
    };
    Reply {
        content: calls.iter().map(call).collect(),
        cut_calls: Vec::new(),
        stop: StopReason::ToolCalls,
        usage: None,
    }
    .into()
}

#[tokio::test]
async fn observers_hear_that_a_round_is_asked_again() {
    let store = Arc::new(MemoryStore::new());
    // The second append is the reply to the first request: it is lost.
    assert!(cut_off(&store, Stop::Before(1), [], vec![says("Never kept.")]).await);
    let agent = builder(store.clone(), [], model([says("Hello.")]))
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    let outcome = session.resume(&mut seen).await.unwrap().unwrap();
    assert_eq!(outcome.text, "Hello.");
    assert_eq!(seen.restarted, [1]);
    assert_eq!(
        kinds(&seen.events),
        ["resumed", "model_request", "assistant", "turn_end"]
    );
}

#[tokio::test]
async fn a_new_message_settles_the_interrupted_turn_first() {
    let store = Arc::new(MemoryStore::new());
    let ledger = Ledger::default();
    let script = || vec![calls("send", json!({"n": 1})), says("Never said.")];
    // Intent kept, call done, outcome lost.
    assert!(cut_off(&store, Stop::Before(2), tools(&ledger), script()).await);
    assert_eq!(*ledger.lock().unwrap(), ["send 1"]);

    let refusing = builder(store.clone(), tools(&ledger), model(script()))
        .recover(Recover::Refuse)
        .build()
        .unwrap();
    let error = refusing
        .session("s")
        .await
        .unwrap()
        .run("hi")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, AgentError::Unfinished { session } if session == "s"),
        "{error}"
    );

    let agent = builder(
        store.clone(),
        tools(&ledger),
        model([says("Unheard."), says("Unheard."), says("I am back.")]),
    )
    .policy(allow_all())
    .build()
    .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("hi").await.unwrap();
    assert_eq!(outcome.text, "I am back.");
    assert_eq!(
        *ledger.lock().unwrap(),
        ["send 1"],
        "settling starts nothing"
    );
    let events = events(&*store, "s").await;
    assert_eq!(statuses(&events), [Status::Unknown]);
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TurnEnd { outcome, .. } => Some(&outcome.reason),
            _ => None,
        })
        .collect();
    assert!(
        matches!(
            ends[..],
            [EndReason::Interrupted { .. }, EndReason::Answered]
        ),
        "{ends:?}"
    );
    let lines = transcript(session.messages());
    assert!(
        lines[2].contains("whether it took effect is unknown"),
        "{lines:?}"
    );
    assert!(
        lines[3].contains("may or may not have taken effect: `send` × 1"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn an_agent_that_resumes_lets_the_turn_end_before_the_new_one() {
    let store = Arc::new(MemoryStore::new());
    let ledger = Ledger::default();
    let script = || vec![calls("calc", json!({"n": 1})), says("One."), says("Two.")];
    assert!(cut_off(&store, Stop::After(1), tools(&ledger), script()).await);
    let agent = builder(store, tools(&ledger), model(script()))
        .recover(Recover::Resume)
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("and?").await.unwrap().text, "Two.");
    assert_eq!(
        transcript(session.messages()),
        [
            "user: go",
            "assistant: calc({\"n\":1})",
            "tool: did calc 1",
            "assistant: one.",
            "user: and?",
            "assistant: two."
        ]
    );
}

#[tokio::test]
async fn a_damaged_session_says_where_and_can_be_branched_there() {
    let store = Arc::new(MemoryStore::new());
    let agent = builder(store.clone(), [], model([says("Hello."), says("Again.")]))
        .build()
        .unwrap();
    agent
        .session("good")
        .await
        .unwrap()
        .run("hi")
        .await
        .unwrap();
    let mut records = store.records("good", 0).await.unwrap();
    let last = records.len() - 1;
    // A chain that holds, over a payload that is no event: as a newer or a foreign program may write it.
    let before = records[last - 1].hash;
    let record = &mut records[last];
    record.payload = b"{\"event\":\"turn_end\"}".to_vec();
    record.hash = claw_runtime::session::record::chain(
        &before,
        record.seq,
        &record.kind,
        record.version,
        record.time_ms,
        &record.payload,
    );
    store.restore("bad", None, &records).await.unwrap();
    let error = agent.session("bad").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("session `bad` is damaged: event 5"), "{text}");
    assert!(
        text.contains("its first 4 events are whole: branch it there"),
        "{text}"
    );
    let AgentError::Damaged { whole, .. } = error else {
        panic!("{error:?}");
    };
    claw_runtime::session::journal::branch(&*store, "bad", whole, "mended")
        .await
        .unwrap();
    let mut session = agent.session("mended").await.unwrap();
    assert_eq!(session.run("still there?").await.unwrap().text, "Again.");
    let given_up = store.sessions(&Default::default()).await.unwrap();
    let bad = given_up.iter().find(|info| info.id == "bad").unwrap();
    assert_eq!(bad.owner, None, "a session that cannot be used is not held");
}

/// codex, pydantic-ai: going on twice from the same journal gives the same conversation, so a prompt cache still hits.
#[tokio::test]
async fn from_one_journal_every_process_sends_the_same() {
    let store = Arc::new(MemoryStore::new());
    let script = || vec![asks(&[("a", 1), ("b", 2)]), says("Done.")];
    let calc = |ledger: &Ledger| [noted("calc", Effect::Pure, ledger)];
    let ledger = Ledger::default();
    // One of two results is kept.
    assert!(cut_off(&store, Stop::After(2), calc(&ledger), script()).await);
    let records = store.records("s", 0).await.unwrap();
    let mut sent = Vec::new();
    for copy in ["one", "two"] {
        store.restore(copy, None, &records).await.unwrap();
        let model = Arc::new(model(script()));
        let agent = claw_runtime::agent::Agent::builder()
            .model(model.clone(), "m")
            .tools(claw_runtime::registry::Toolset::new(calc(&ledger)).unwrap())
            .store(store.clone())
            .build()
            .unwrap();
        let mut session = agent.session(copy).await.unwrap();
        session.resume(&mut ()).await.unwrap();
        sent.push((model.requests(), session.messages().to_vec()));
    }
    assert_eq!(sent[0], sent[1]);
    assert_eq!(sent[0].0.len(), 1);
}

/// openclaw PR#107145 and others: a crash between two parallel calls, one answered and one not.
#[tokio::test]
async fn of_two_calls_the_answered_one_is_kept_and_the_other_decided_by_its_effect() {
    for (name, status) in [("calc", Status::Ok), ("send", Status::Unknown)] {
        let store = Arc::new(MemoryStore::new());
        let lease = store.open("s").await.unwrap();
        let call = |id: &str, name: &str| {
            ContentBlock::ToolCall(ToolCall {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: "{\"n\":1}".to_owned(),
            })
        };
        let ledger = Ledger::default();
        let digest = digest_of(name).await;
        let intent = |id: &str, effect, digest: &str| Event::Intent {
            call: id.to_owned(),
            attempt: 1,
            effect,
            digest: digest.to_owned(),
        };
        let effect = if name == "send" {
            Effect::Once
        } else {
            Effect::Pure
        };
        let events_before = [
            Event::UserInput {
                key: "input-1".to_owned(),
                content: Message::user("go").content,
            },
            Event::Assistant {
                content: vec![call("a", "calc"), call("b", name)],
                stop: StopReason::ToolCalls,
                usage: None,
                incomplete: false,
            },
            intent("a", Effect::Pure, &digest_of("calc").await),
            intent("b", effect, &digest),
            Event::Outcome {
                call: "a".to_owned(),
                status: Status::Ok,
                content: Message::user("kept").content,
                blob: None,
                progress: None,
                spent: None,
            },
        ];
        let append = Append {
            after: 0,
            events: events_before.into(),
            barrier: Barrier::Durable,
            taken: &[],
        };
        store.append(&lease, append).await.unwrap();
        let agent = builder(
            store.clone(),
            tools(&ledger),
            model([says("-"), says("Both seen.")]),
        )
        .policy(allow_all())
        .build()
        .unwrap();
        let mut session = agent.session("s").await.unwrap();
        let outcome = session.resume(&mut ()).await.unwrap().unwrap();
        assert_eq!(outcome.text, "Both seen.");
        let ran: &[&str] = if name == "calc" { &["calc 1"] } else { &[] };
        assert_eq!(*ledger.lock().unwrap(), ran);
        assert_eq!(
            statuses(&events(&*store, "s").await),
            [Status::Ok, status],
            "{name}"
        );
    }
}

/// Returns the digest that a call of `name` with `{"n":1}` has, as a run of it journals it.
async fn digest_of(name: &str) -> String {
    let store = Arc::new(MemoryStore::new());
    let ledger = Ledger::default();
    let agent = builder(
        store.clone(),
        tools(&ledger),
        model([calls(name, json!({"n": 1})), says("-")]),
    )
    .policy(allow_all())
    .build()
    .unwrap();
    agent.session("d").await.unwrap().run("go").await.unwrap();
    let events = events(&*store, "d").await;
    let digest = events.into_iter().find_map(|event| match event {
        Event::Intent { digest, .. } => Some(digest),
        _ => None,
    });
    digest.unwrap()
}
