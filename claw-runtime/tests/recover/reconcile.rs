//! A call whose outcome was lost, of a tool that can find out what became of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use claw_runtime::event::Status;
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::registry::Toolset;
use claw_runtime::session::MemoryStore;
use claw_runtime::tool::{Reconciled, ToolContext, ToolOutput};
use claw_runtime::{tool, tools};
use serde_json::{Value, json};

use crate::tapped::{Stop, Tapped};
use crate::{allow_all, builder, events, model, statuses, transcript};

static STARTS: AtomicUsize = AtomicUsize::new(0);

/// Sends a parcel.
#[tool(effect = once, reconcile = track)]
async fn parcel(
    /// What becomes of it.
    fate: &str,
) -> String {
    STARTS.fetch_add(1, Ordering::SeqCst);
    format!("sent {fate}")
}

async fn track_it(arguments: &Value) -> Reconciled {
    match arguments["fate"].as_str() {
        Some("arrives") => Reconciled::Done(ToolOutput::text("it had arrived")),
        Some("returns") => Reconciled::NotDone,
        Some("burns") => panic!("the tracker burns too"),
        _ => Reconciled::Unknown,
    }
}

async fn track(_: &ToolContext, arguments: &Value) -> Reconciled {
    track_it(arguments).await
}

#[tokio::test]
async fn the_tool_is_asked_and_its_word_counts() {
    for (fate, status, starts, said) in [
        ("arrives", Status::Ok, 1, "it had arrived"),
        // It did not take effect, so it is made again.
        ("returns", Status::Ok, 2, "sent returns"),
        ("vanishes", Status::Unknown, 1, "cannot be found out"),
        ("burns", Status::Unknown, 1, "cannot be found out"),
    ] {
        STARTS.store(0, Ordering::SeqCst);
        let store = Arc::new(MemoryStore::new());
        let script = || model([calls("parcel", json!({"fate": fate})), says("Well.")]);
        let agent = |store| {
            builder(store, [], script())
                .tools(Toolset::of(tools![parcel]).unwrap())
                .policy(allow_all())
                .build()
                .unwrap()
        };
        let tapped = Arc::new(Tapped::new(store.clone(), Some(Stop::Before(2))));
        let first = agent(tapped.clone());
        let mut session = first.session("s").await.unwrap();
        tokio::select! {
            biased;
            () = tapped.stopped.notified() => {}
            _ = session.run("go") => panic!("the outcome is never kept"),
        }
        drop(session);
        let mut session = agent(store.clone()).session("s").await.unwrap();
        let outcome = session.resume(&mut ()).await.unwrap().unwrap();
        assert_eq!(outcome.text, "Well.");
        assert_eq!(STARTS.load(Ordering::SeqCst), starts, "{fate}");
        assert_eq!(statuses(&events(&*store, "s").await), [status], "{fate}");
        let lines = transcript(session.messages());
        assert!(lines[2].contains(said), "{}", lines[2]);
    }
}
