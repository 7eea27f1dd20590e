//! Questions that outlive their process: parked, answered through the inbox, or expired.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use claw_runtime::agent::{Agent, Later};
use claw_runtime::event::{Answer, EndReason, Event, Status};
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::session::{MemoryStore, Phase, Posted, SessionStore};
use claw_runtime::tool::Effect;
use serde_json::json;

use crate::{Ledger, builder, events, kinds, model, noted, statuses};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Surface {
    store: Arc<MemoryStore>,
    ledger: Ledger,
    now: Arc<AtomicU64>,
}

impl Surface {
    fn new() -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            ledger: Ledger::default(),
            now: Arc::new(AtomicU64::new(1_000)),
        }
    }

    /// Returns an agent of a new process.
    fn agent(&self) -> Agent {
        let script = [
            calls("send", json!({"n": 1})).and_calls("send", json!({"n": 2})),
            says("Sent what I may."),
        ];
        let now = self.now.clone();
        builder(
            self.store.clone(),
            [noted("send", Effect::Once, &self.ledger)],
            model(script),
        )
        .approval(Arc::new(Later(DAY)))
        .clock(move || now.load(Ordering::SeqCst))
        .build()
        .unwrap()
    }

    async fn phase(&self) -> (Phase, Option<String>) {
        let infos = self.store.sessions(&Default::default()).await.unwrap();
        (infos[0].phase, infos[0].owner.clone())
    }

    async fn post(&self, key: &str, call: &str, digest: &str, answer: Answer) {
        let answer = Posted::Approval {
            call: call.to_owned(),
            digest: digest.to_owned(),
            answer,
        };
        assert!(self.store.post("s", key, &answer).await.unwrap());
    }

    /// Resumes the session in a new process.
    async fn resume(&self) -> claw_runtime::event::TurnOutcome {
        let mut session = self.agent().session("s").await.unwrap();
        assert!(session.unfinished().await.unwrap());
        let outcome = session.resume(&mut ()).await.unwrap().unwrap();
        session.close().await.unwrap();
        outcome
    }
}

fn question(reason: &EndReason) -> (String, String, u64) {
    match reason {
        EndReason::Parked {
            call,
            digest,
            expires_ms,
        } => (call.clone(), digest.clone(), *expires_ms),
        other => panic!("{other:?}"),
    }
}

/// bounty-challenge#43367; vercel/ai#18018: after a restart the question is still open, with the same id and the same call.
#[tokio::test]
async fn a_question_survives_restarts_and_each_is_asked_in_order() {
    let surface = Surface::new();
    let mut session = surface.agent().session("s").await.unwrap();
    let parked = session.run("go").await.unwrap();
    let (call, digest, expires) = question(&parked.reason);
    assert_eq!(expires, 1_000 + 86_400_000);
    assert!(parked.text.contains("`send`"), "{}", parked.text);
    assert!(session.view().is_none());
    let until_ms = expires;
    assert_eq!(surface.phase().await, (Phase::Parked { until_ms }, None));
    drop(session);

    // Nobody has answered: it stays as it is, and nothing is written.
    let before = events(&*surface.store, "s").await;
    assert_eq!(kinds(&before).last(), Some(&"blocked"));
    surface.now.store(50_000, Ordering::SeqCst);
    assert_eq!(
        question(&surface.resume().await.reason),
        (call.clone(), digest.clone(), expires)
    );
    assert_eq!(events(&*surface.store, "s").await, before);

    // An answer for other arguments is none.
    surface.post("k1", &call, "0000", Answer::Always).await;
    let still = question(&surface.resume().await.reason);
    assert_eq!(still, (call.clone(), digest.clone(), expires));
    assert!(surface.ledger.lock().unwrap().is_empty());

    surface.post("k2", &call, &digest, Answer::Once).await;
    let (second, other, later) = question(&surface.resume().await.reason);
    assert_ne!((&second, &other), (&call, &digest));
    assert_eq!(later, 50_000 + 86_400_000);
    // Calls start when all questions of the round are answered.
    assert!(surface.ledger.lock().unwrap().is_empty());

    surface.post("k3", &second, &other, Answer::Deny).await;
    let outcome = surface.resume().await;
    assert_eq!(outcome.text, "Sent what I may.");
    assert_eq!(*surface.ledger.lock().unwrap(), ["send 1"]);
    let events = events(&*surface.store, "s").await;
    assert_eq!(statuses(&events), [Status::Denied, Status::Ok]);
    assert_eq!(surface.phase().await, (Phase::Idle, None));
}

#[tokio::test]
async fn a_question_expires_to_no_by_the_clock_that_was_given() {
    let surface = Surface::new();
    let mut session = surface.agent().session("s").await.unwrap();
    let parked = session.run("go").await.unwrap();
    let (call, digest, expires) = question(&parked.reason);
    drop(session);
    surface.now.store(expires - 1, Ordering::SeqCst);
    let still = question(&surface.resume().await.reason);
    assert_eq!(still, (call.clone(), digest.clone(), expires));
    // Whoever says yes when the time is over is too late.
    surface.now.store(expires, Ordering::SeqCst);
    surface.post("late", &call, &digest, Answer::Once).await;
    let (second, ..) = question(&surface.resume().await.reason);
    assert_ne!(second, call);
    surface.now.store(expires * 3, Ordering::SeqCst);
    assert_eq!(surface.resume().await.text, "Sent what I may.");
    assert!(surface.ledger.lock().unwrap().is_empty());
    let events = events(&*surface.store, "s").await;
    assert_eq!(statuses(&events), [Status::Denied; 2]);
}

#[tokio::test]
async fn a_message_to_a_parked_session_is_kept_and_the_question_stays() {
    let surface = Surface::new();
    let mut session = surface.agent().session("s").await.unwrap();
    let parked = session.run("go").await.unwrap();
    let (call, digest, expires) = question(&parked.reason);
    drop(session);
    let said = Posted::Message {
        content: vec![claw_runtime::message::ContentBlock::text("Well?")],
    };
    surface.store.post("s", "m", &said).await.unwrap();
    assert_eq!(
        question(&surface.resume().await.reason),
        (call, digest, expires)
    );
    let until_ms = expires;
    assert_eq!(surface.phase().await, (Phase::Parked { until_ms }, None));
    let kept = events(&*surface.store, "s").await;
    let asked = |event: &&Event| matches!(event, Event::UserInput { .. });
    assert_eq!(kept.iter().filter(asked).count(), 2);
}

#[tokio::test]
async fn a_new_message_in_person_settles_a_parked_turn_without_running_its_call() {
    let surface = Surface::new();
    let mut session = surface.agent().session("s").await.unwrap();
    question(&session.run("go").await.unwrap().reason);
    let outcome = session.run("Forget it.").await.unwrap();
    assert!(matches!(
        outcome.reason,
        EndReason::Failed { .. } | EndReason::Answered
    ));
    assert!(surface.ledger.lock().unwrap().is_empty());
    let events = events(&*surface.store, "s").await;
    assert_eq!(statuses(&events), [Status::NotStarted; 2]);
}
