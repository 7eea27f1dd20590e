//! A kept conversation.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::driver;
use super::{Agent, AgentError, Observer};
use crate::event::{EndReason, TurnOutcome};
use crate::message::Message;
use crate::provider::Kept;
use crate::session::{Lease, View, journal};
use crate::turn::{Input, Turn};

/// A kept conversation with an [`Agent`]. One turn at a time.
///
/// Dropping the future of a turn cancels it; the session goes on from what its journal holds.
#[derive(Debug)]
pub struct Session {
    agent: Agent,
    lease: Lease,
    /// `None` while a turn has it, and when a turn was dropped or could not be written: then it is folded anew.
    view: Option<View>,
    events: u64,
    /// What the provider kept of the conversation of this very view.
    kept: Kept,
    canceller: Canceller,
}

/// Cancels the turn that a session is running. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Canceller {
    running: Arc<Mutex<Option<CancellationToken>>>,
}

impl Canceller {
    /// Cancels the running turn; does nothing between turns. Returns whether one was running.
    pub fn cancel(&self) -> bool {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        running.inspect(CancellationToken::cancel).is_some()
    }

    fn set(&self, token: Option<CancellationToken>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }
}

/// Takes the token back even when the turn's future is dropped.
struct Running<'a>(&'a Canceller);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Session {
    pub(super) async fn open(agent: Agent, id: &str) -> Result<Self, AgentError> {
        let lease = agent.inner.store.open(id).await?;
        let mut session = Self {
            agent,
            lease,
            view: None,
            events: 0,
            kept: Kept::default(),
            canceller: Canceller::default(),
        };
        session.view = Some(session.fold().await?);
        Ok(session)
    }

    async fn fold(&mut self) -> Result<View, AgentError> {
        let store = &*self.agent.inner.store;
        let journal = journal::load(store, &self.lease.session).await?;
        self.events = journal.len() as u64;
        self.kept = Kept::default();
        Ok(journal.iter().map(|stored| &stored.event).collect())
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.lease.session
    }

    /// Runs one turn: asks the model, calls the tools it wants, until it answers or a limit ends it.
    ///
    /// # Errors
    ///
    /// Fails when the session cannot be read from its store. Everything else is an outcome.
    pub async fn run(&mut self, prompt: &str) -> Result<TurnOutcome, AgentError> {
        self.run_observed(Message::user(prompt), &mut ()).await
    }

    /// Runs one turn on a user message and tells `observer` what happens.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn run_observed(
        &mut self,
        input: Message,
        observer: &mut dyn Observer,
    ) -> Result<TurnOutcome, AgentError> {
        let view = match self.view.take() {
            Some(view) => view,
            None => self.fold().await?,
        };
        let token = CancellationToken::new();
        self.canceller.set(Some(token.clone()));
        let _running = Running(&self.canceller);

        let agent = self.agent.clone();
        driver::keep_context(&agent, &self.lease, &view).await?;
        let mut turn = Turn::new(agent.setup(&view, &self.lease, self.events), view);
        // The key is the input's place in the journal: the same after a reload, different for each turn.
        let key = format!("input-{}", self.events + 1);
        let first = Input::Posted {
            key,
            content: input.content,
        };
        let (outcome, head) = driver::drive(
            &agent.inner,
            &self.lease,
            &self.kept,
            &mut turn,
            first,
            self.events,
            &token,
            observer,
        )
        .await;
        self.events = head;
        // After a failure the store alone knows what it kept.
        self.view = match outcome.reason {
            EndReason::StoreFailed { .. } => None,
            _ => Some(turn.into_view()),
        };
        Ok(outcome)
    }

    /// Returns a handle that cancels the running turn from another task or a signal handler.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Returns the conversation as the model sees it; empty where there is no [`view`](Session::view).
    pub fn messages(&self) -> &[Message] {
        self.view.as_ref().map_or(&[], |view| view.messages())
    }

    /// Returns the session as folded from its journal; `None` after a turn was dropped or could not be written, until the
    /// next one.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }
}
