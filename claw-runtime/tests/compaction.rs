//! Sessions that are shortened and taken back: agent, store and a scripted model, and what another host reads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use claw_runtime::agent::{Agent, Compaction, Observer};
use claw_runtime::event::{Event, Purpose};
use claw_runtime::limits::Limits;
use claw_runtime::message::{Message, text_of};
use claw_runtime::provider::scripted::{Answer, Scripted, calls, fails, says};
use claw_runtime::provider::{Delta, FailureClass};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, Phase, Query, SessionStore, View, journal};
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolOutput};
use serde_json::json;

#[derive(Default)]
struct Seen {
    events: Vec<&'static str>,
    text: String,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        self.events.push(event.kind());
    }
    fn delta(&mut self, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.text.push_str(text);
        }
    }
}

struct Host {
    agent: Agent,
    store: Arc<MemoryStore>,
    model: Arc<Scripted>,
}

/// A tool whose result is a text of the test, and one that reads what a session keeps.
fn tools(result: &str) -> Toolset {
    let result = result.to_owned();
    let fetch: Handler = Arc::new(move |_, _| {
        let result = result.clone();
        Box::pin(async move { Ok(ToolOutput::text(result)) })
    });
    let read: Handler = Arc::new(|ctx, arguments| {
        Box::pin(async move {
            let digest = arguments["digest"].as_str().unwrap_or_default();
            let bytes = ctx.output(digest).await?;
            Ok(ToolOutput::text(match bytes {
                Some(bytes) => format!("{} bytes", bytes.len()),
                None => "nothing".to_owned(),
            }))
        })
    });
    let tool = |name: &'static str, handler| {
        let mut spec = Spec::new(name.into(), "A tool of the test.".into());
        spec.effect = Effect::Read;
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "digest": {"type": "string"}}});
        Arc::new(Tool::dynamic(spec, schema, handler))
    };
    Toolset::new([tool("fetch", fetch), tool("read_output", read)]).unwrap()
}

fn host(answers: impl IntoIterator<Item = Answer>, limits: Limits, result: &str) -> Host {
    let model = Arc::new(Scripted::new(answers));
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::builder()
        .model(model.clone(), "m")
        .tools(tools(result))
        .system("Be brief.")
        .limits(limits)
        .store(store.clone())
        .build()
        .unwrap();
    Host {
        agent,
        store,
        model,
    }
}

async fn events(store: &MemoryStore) -> Vec<Event> {
    let read = journal::load(store, "s").await.unwrap();
    read.into_iter().map(|stored| stored.event).collect()
}

fn whole(messages: &[Message]) -> String {
    messages.iter().map(Message::text).collect()
}

#[tokio::test]
async fn a_conversation_is_compacted_on_demand_and_given_back() {
    let long = "A long answer. ".repeat(100);
    let Host {
        agent,
        store,
        model,
    } = host(
        [
            says(&long),
            says(&long),
            says("Short."),
            says("They talked."),
            says("Yes."),
            says("Still here."),
        ],
        Limits::default(),
        "",
    );
    let mut session = agent.session("s").await.unwrap();
    for prompt in ["one", "two", "three"] {
        session.run(prompt).await.unwrap();
    }
    let before = session.messages().to_vec();
    let mut seen = Seen::default();
    let made = session.compact(&mut seen).await.unwrap();
    let Compaction::Shorter { before: was, after } = made else {
        panic!("{made:?}")
    };
    assert!(after < was / 2, "{after} of {was}");
    assert_eq!(seen.events, ["model_request", "compacted"]);
    // A summary is no answer, so nobody sees it come.
    assert_eq!(seen.text, "");
    let asked = model.requests().pop().unwrap();
    assert!(asked.tools.is_none() && asked.system.contains("notes of a conversation"));
    assert!(whole(session.messages()).contains("They talked."));
    assert!(
        session.messages()[0].text().ends_with("three"),
        "{:?}",
        session.messages()
    );
    let listed = store.sessions(&Query::default()).await.unwrap();
    assert_eq!(listed[0].phase, Phase::Idle);

    // The next turn goes on from it, and so does another host.
    session.run("four").await.unwrap();
    assert!(whole(&model.requests().pop().unwrap().messages).contains("They talked."));
    let read: View = events(&store).await.iter().collect();
    assert_eq!(&read, session.view().unwrap());

    // Taken back: first the turn, then the compaction; given again: the turn stays taken back.
    assert!(session.undo().await.unwrap());
    assert!(!whole(session.messages()).contains("four"));
    assert!(session.undo().await.unwrap());
    assert_eq!(session.messages(), before);
    assert!(session.redo().await.unwrap());
    assert!(whole(session.messages()).contains("They talked."));
    let read: View = events(&store).await.iter().collect();
    assert_eq!(&read, session.view().unwrap());
    session.run("five").await.unwrap();
    assert!(!session.redo().await.unwrap(), "something was said since");
    assert!(whole(session.messages()).contains("Still here."));
}

#[tokio::test]
async fn nothing_to_compact_is_said_and_a_failure_changes_nothing() {
    let long = "A long answer. ".repeat(100);
    let Host { agent, model, .. } = host(
        [says(&long), says(&long), fails(FailureClass::Overloaded)],
        Limits::default(),
        "",
    );
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.compact(&mut ()).await.unwrap(), Compaction::Nothing);
    assert!(!session.undo().await.unwrap());
    assert!(model.requests().is_empty());
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    let before = session.messages().to_vec();
    let failed = session.compact(&mut ()).await.unwrap();
    assert!(matches!(failed, Compaction::Failed { .. }), "{failed:?}");
    assert_eq!(session.messages(), before);
    // What is undone is the turn, not the attempt.
    assert!(session.undo().await.unwrap());
    assert_eq!(session.messages(), &before[..2]);
}

#[tokio::test]
async fn what_is_put_aside_can_be_read_by_its_own_session_only() {
    let result = "A line of output.\n".repeat(300);
    let digest = claw_runtime::digest::of(result.as_bytes());
    let rounds = (0..6).map(|n| calls("fetch", json!({ "n": n })));
    let answers = rounds.chain([
        calls("read_output", json!({ "digest": digest })),
        says("Done."),
        calls("read_output", json!({ "digest": digest })),
        says("Nothing there."),
    ]);
    let limits = Limits {
        window: Some(6_000),
        ..Limits::default()
    };
    let Host { agent, store, .. } = host(answers, limits, &result);
    let mut session = agent.session("s").await.unwrap();
    let outcome = session.run("go").await.unwrap();
    assert_eq!(outcome.text, "Done.");
    let put_aside = events(&store).await.iter().any(|event| {
        matches!(event, Event::Compacted { elided, .. } if elided.iter().all(|elided| elided.digest == digest))
    });
    assert!(put_aside);
    let kept = store.blob("s", &digest).await.unwrap().unwrap();
    assert_eq!(&*kept, result.as_bytes());
    let results = transcript(session.messages());
    assert!(
        results.contains(&format!("the digest of the whole is {digest}")),
        "{results}"
    );
    assert!(results.contains("5400 bytes"), "{results}");

    let mut other = agent.session("other").await.unwrap();
    other.run("go").await.unwrap();
    assert!(transcript(other.messages()).contains("nothing"));
}

fn transcript(messages: &[Message]) -> String {
    let results = messages.iter().flat_map(|message| &message.content);
    results
        .map(|block| match block {
            claw_runtime::message::ContentBlock::ToolResult(result) => text_of(&result.content),
            _ => String::new(),
        })
        .collect()
}

#[tokio::test]
async fn a_cut_output_tells_how_the_rest_is_read() {
    let result = "A line of output.\n".repeat(2_000);
    let digest = claw_runtime::digest::of(result.as_bytes());
    let answers = [calls("fetch", json!({})), says("Done.")];
    let Host { agent, .. } = host(answers, Limits::default(), &result);
    let mut session = agent.session("s").await.unwrap();
    session.run("go").await.unwrap();
    let told = transcript(session.messages());
    assert!(
        told.ends_with(&format!(
            "[`read_output` gives any part of the whole, by its digest {digest}]"
        )),
        "{told}"
    );
}

#[tokio::test]
async fn an_interrupted_turn_can_be_taken_back() {
    let seen = Arc::new(Mutex::new(0));
    let count = seen.clone();
    let model = Arc::new(Scripted::from_fn(move |_| {
        *count.lock().unwrap() += 1;
        says("Fine.")
    }));
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::builder()
        .model(model, "m")
        .store(store.clone())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("one").await.unwrap();
    // A process that died after it asked.
    let after = session.view().unwrap().seq();
    let mut crashed = events(&store).await;
    let begin = crashed
        .iter()
        .position(|event| matches!(event, Event::ModelRequest { .. }))
        .unwrap();
    let again = [
        Event::UserInput {
            key: "lost".to_owned(),
            content: vec![claw_runtime::message::ContentBlock::text("two")],
        },
        crashed.swap_remove(begin),
    ];
    let lease = store.open("s").await.unwrap();
    let append = claw_runtime::session::Append {
        after,
        events: again.into(),
        barrier: claw_runtime::session::Barrier::Durable,
        taken: &[],
    };
    store.append(&lease, append).await.unwrap();
    store.close(lease).await.unwrap();

    let mut session = agent.session("s").await.unwrap();
    assert!(session.unfinished().await.unwrap());
    assert!(session.undo().await.unwrap());
    assert!(!session.unfinished().await.unwrap());
    assert_eq!(whole(session.messages()), "oneFine.");
    let mut again = agent.session("s").await.unwrap();
    assert!(!again.unfinished().await.unwrap());
    assert_eq!(again.run("three").await.unwrap().text, "Fine.");
    assert_eq!(*seen.lock().unwrap(), 2);
}

#[tokio::test]
async fn what_a_summary_costs_counts() {
    let long = "A long answer. ".repeat(100);
    let usage = claw_runtime::message::Usage {
        input_tokens: 100,
        output_tokens: 10,
        ..Default::default()
    };
    let model = Arc::new(Scripted::from_fn(move |_| claw_runtime::provider::Reply {
        content: vec![claw_runtime::message::ContentBlock::text(&long)],
        cut_calls: Vec::new(),
        stop: claw_runtime::message::StopReason::Stop,
        usage: Some(usage),
    }));
    let agent = Agent::builder().model(model, "m").build().unwrap();
    let mut session = agent.session("s").await.unwrap();
    session.run("one").await.unwrap();
    session.run("two").await.unwrap();
    session.compact(&mut ()).await.unwrap();
    assert_eq!(session.view().unwrap().usage().input_tokens, 300);
    let summary = Purpose::Summary;
    assert_ne!(summary, Purpose::default());
}
