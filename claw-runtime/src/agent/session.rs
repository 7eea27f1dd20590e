//! A kept conversation.

mod rewind;

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

pub use rewind::Compaction;

use super::driver::{self, Drive};
use super::inbox::{self, Before, Given};
use super::{Agent, AgentError, Observer, Recover, keep};
use crate::event::{EndReason, Event, TurnOutcome};
use crate::message::Message;
use crate::provider::Kept;
use crate::session::journal::{self, Journal};
use crate::session::{Append, Barrier, Lease, Phase, Stored, View};
use crate::turn::{Input, Turn};

/// A kept conversation with an [`Agent`]. One turn at a time.
///
/// Dropping the future of a turn interrupts it, as the end of the process would: the session goes on from what its journal
/// holds.
#[derive(Debug)]
pub struct Session {
    agent: Agent,
    id: String,
    /// `None` where the session was given up: while it is parked, and when it was lost to another owner.
    lease: Option<Lease>,
    /// `None` while a turn has it, and when a turn was dropped or could not be written: then it is folded anew. Boxed: a
    /// session is small while its turn runs.
    view: Option<Box<View>>,
    events: u64,
    /// The events of a turn that was interrupted or parked.
    unfinished: Vec<Stored>,
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
        let mut session = Self {
            agent,
            id: id.to_owned(),
            lease: None,
            view: None,
            events: 0,
            unfinished: Vec::new(),
            kept: Kept::default(),
            canceller: Canceller::default(),
        };
        session.fold().await?;
        Ok(session)
    }

    /// Makes sure that the session is ours and that its journal is folded.
    async fn fold(&mut self) -> Result<(), AgentError> {
        let store = self.agent.inner.store.clone();
        if self.lease.is_none() {
            self.lease = Some(store.open(&self.id).await?);
            self.view = None;
        }
        if self.view.is_some() {
            return Ok(());
        }
        let Journal { mut events, fault } = journal::read(&*store, &self.id).await?;
        if let Some(fault) = fault {
            self.give_up().await?;
            return Err(AgentError::Damaged {
                session: self.id.clone(),
                whole: events.len() as u64,
                fault,
            });
        }
        self.events = events.len() as u64;
        self.kept = Kept::default();
        self.view = Some(Box::new(
            events.iter().map(|stored| &stored.event).collect(),
        ));
        let ended =
            |stored: &Stored| matches!(stored.event, Event::TurnEnd { .. } | Event::Undone { .. });
        let begin = events.iter().rposition(ended).map_or(0, |at| at + 1);
        self.unfinished = events.split_off(begin);
        if phase(&self.unfinished) == Phase::Idle {
            self.unfinished.clear();
        }
        Ok(())
    }

    /// Gives the session up, so that another host may own it.
    async fn give_up(&mut self) -> Result<(), AgentError> {
        self.view = None;
        if let Some(lease) = self.lease.take() {
            self.agent.inner.store.close(lease).await?;
        }
        Ok(())
    }

    /// Closes the session, so that another host may own it.
    ///
    /// # Errors
    ///
    /// Fails when the store does.
    pub async fn close(mut self) -> Result<(), AgentError> {
        self.give_up().await
    }

    /// Returns how many events the journal has.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Appends the first event.
    pub(super) async fn begin_with(&mut self, event: Event) -> Result<(), AgentError> {
        let (Some(lease), Some(view)) = (&self.lease, &mut self.view) else {
            return Ok(());
        };
        let append = Append {
            after: self.events,
            events: [event.clone()].into(),
            barrier: Barrier::Durable,
            taken: &[],
        };
        self.agent.inner.store.append(lease, append).await?;
        view.apply(&event);
        self.events += 1;
        Ok(())
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Runs one turn: asks the model, calls the tools it wants, until it answers or a limit ends it.
    ///
    /// # Errors
    ///
    /// Fails when the session cannot be read from its store or is damaged, and when an unfinished turn is in the way and the
    /// agent's [`Recover`] leaves it there. Everything else is an outcome.
    pub async fn run(&mut self, prompt: &str) -> Result<TurnOutcome, AgentError> {
        self.run_observed(Message::user(prompt), &mut ()).await
    }

    /// Runs one turn on a user message and tells `observer` what happens. What waits in the session's inbox is said first.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn run_observed(
        &mut self,
        input: Message,
        observer: &mut dyn Observer,
    ) -> Result<TurnOutcome, AgentError> {
        self.make_way(observer).await?;
        let Before { mut said, stale } = self.waiting().await?;
        // The key is the input's place in the journal: the same after a reload, different for each turn.
        let key = format!("input-{}", self.events + 1);
        // The turn keeps the list, and begins with this alone as a rule.
        said.reserve_exact(1);
        said.push(Given {
            input: Input::Posted {
                key,
                content: input.content,
            },
            taken: stale,
        });
        self.turn(said, observer).await
    }

    /// Runs one turn on what waits in the session's inbox; `None` when nothing does.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn run_posted(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Option<TurnOutcome>, AgentError> {
        self.fold().await?;
        let mut before = self.waiting().await?;
        if !before.said.is_empty() && !self.unfinished.is_empty() {
            self.make_way(observer).await?;
            // A turn that went on has taken what it could.
            before = self.waiting().await?;
        }
        let Before { mut said, stale } = before;
        let Some(Given { input, mut taken }) = said.pop() else {
            return Ok(None);
        };
        let input = match input {
            Input::Said { key, content } => Input::Posted { key, content },
            input => input,
        };
        taken.extend(stale);
        said.push(Given { input, taken });
        self.turn(said, observer).await.map(Some)
    }

    /// Tells whether the session has a turn that was interrupted, or parked with an open question.
    ///
    /// # Errors
    ///
    /// Fails when the session cannot be read from its store.
    pub async fn unfinished(&mut self) -> Result<bool, AgentError> {
        self.fold().await?;
        Ok(!self.unfinished.is_empty())
    }

    /// Goes on with the unfinished turn, from where its journal ends: open calls are decided by their effect, a request
    /// under way is made again, an open question is asked again. `None` when there is no such turn.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn resume(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Option<TurnOutcome>, AgentError> {
        self.fold().await?;
        if self.unfinished.is_empty() {
            return Ok(None);
        }
        let now_ms = (self.agent.inner.clock)();
        let mut first = vec![Given::from(Input::Resume { now_ms })];
        if let Some(lease) = &self.lease {
            first.extend(inbox::read(&self.agent.inner, lease, None).await?);
        }
        self.turn(first, observer).await.map(Some)
    }

    /// Brings the unfinished turn to an end: open calls are answered by their effect, nothing is started. `None` when there
    /// is no such turn.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn settle(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Option<TurnOutcome>, AgentError> {
        self.fold().await?;
        if self.unfinished.is_empty() {
            return Ok(None);
        }
        let first = vec![Given::from(Input::Settle)];
        self.turn(first, observer).await.map(Some)
    }

    /// Does with an unfinished turn what the agent says, so that a new one can begin.
    async fn make_way(&mut self, observer: &mut dyn Observer) -> Result<(), AgentError> {
        self.fold().await?;
        if self.unfinished.is_empty() {
            return Ok(());
        }
        // Boxed, for it is a whole turn, and seldom there.
        match self.agent.inner.recover {
            Recover::Settle => Box::pin(self.settle(observer)).await?,
            Recover::Resume => Box::pin(self.resume(observer)).await?,
            Recover::Refuse => None,
        };
        self.fold().await?;
        if self.unfinished.is_empty() {
            return Ok(());
        }
        Err(self.in_the_way())
    }

    fn in_the_way(&self) -> AgentError {
        AgentError::Unfinished {
            session: self.id.clone(),
        }
    }

    async fn waiting(&self) -> Result<Before, AgentError> {
        match &self.lease {
            Some(lease) => Ok(inbox::before(&self.agent.inner, lease).await?),
            None => Ok(Before::default()),
        }
    }

    /// Drives a turn that begins or goes on with these inputs; the session is folded.
    async fn turn(
        &mut self,
        first: Vec<Given>,
        observer: &mut dyn Observer,
    ) -> Result<TurnOutcome, AgentError> {
        let token = CancellationToken::new();
        self.canceller.set(Some(token.clone()));
        let canceller = self.canceller.clone();
        let _running = Running(&canceller);

        let agent = self.agent.clone();
        let (Some(lease), Some(view)) = (self.lease.clone(), &self.view) else {
            return Err(self.in_the_way());
        };
        keep::keep_context(&agent, &lease, view).await?;
        let Some(mut turn) = self.begin(&lease) else {
            return Err(self.in_the_way());
        };
        let drive = Drive {
            agent: &agent.inner,
            lease: &lease,
            kept: &self.kept,
            turn: &mut turn,
            first,
            head: self.events,
            token: &token,
        };
        let (outcome, head) = driver::drive(drive, observer).await;
        self.events = head;
        match outcome.reason {
            // The store alone knows what it kept, and whose the session is.
            EndReason::StoreFailed { .. } => self.lease = None,
            EndReason::Parked { .. } => self.give_up().await?,
            _ => self.view = Some(Box::new(turn.into_view())),
        }
        Ok(outcome)
    }

    /// Returns the turn that begins or goes on, with the view in it. Apart from what waits for it: what a future once held
    /// has its room there to the end.
    fn begin(&mut self, lease: &Lease) -> Option<Turn> {
        let view = *self.view.take()?;
        let setup = self.agent.setup(&view, lease, self.events);
        let unfinished = std::mem::take(&mut self.unfinished);
        Some(match unfinished.is_empty() {
            true => Turn::new(setup, view),
            false => Turn::resume(setup, view, &unfinished),
        })
    }

    /// Returns a handle that cancels the running turn from another task or a signal handler.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Returns the conversation as the model sees it; empty where there is no [`view`](Session::view).
    pub fn messages(&self) -> &[Message] {
        self.view.as_deref().map_or(&[], View::messages)
    }

    /// Returns the session as folded from its journal; `None` after a turn was dropped, parked or could not be written,
    /// until the next one.
    pub fn view(&self) -> Option<&View> {
        self.view.as_deref()
    }
}

fn phase(events: &[Stored]) -> Phase {
    events
        .iter()
        .fold(Phase::Idle, |phase, stored| phase.after(&stored.event))
}
