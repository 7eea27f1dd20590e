//! What people do with a conversation that they had: shorten it, take the last turn back, hold on to what they said.

use super::Session;
use crate::agent::inbox::Given;
use crate::agent::{AgentError, Observer};
use crate::event::{EndReason, Event};
use crate::session::{Append, Barrier, View};
use crate::turn::Input;

/// What came of [`Session::compact`]; sizes are estimated tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compaction {
    /// The conversation became shorter.
    Shorter {
        /// Before.
        before: u64,
        /// After.
        after: u64,
    },
    /// There is nothing that a summary would make shorter.
    Nothing,
    /// It stayed as it was.
    Failed {
        /// Why.
        message: String,
    },
}

impl Session {
    /// Has the model summarise the older part of the conversation, whatever room there still is. [`Session::undo`] takes it
    /// back; nothing is lost either way.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn compact(&mut self, observer: &mut dyn Observer) -> Result<Compaction, AgentError> {
        self.make_way(observer).await?;
        let before = self.events;
        let tokens = self.view.as_deref().map_or(0, View::tokens);
        let outcome = self
            .turn(vec![Given::from(Input::Compact)], observer)
            .await?;
        let after = self.view.as_deref().map_or(tokens, View::tokens);
        Ok(match outcome.reason {
            EndReason::Answered if self.events == before => Compaction::Nothing,
            EndReason::Answered => Compaction::Shorter {
                before: tokens,
                after,
            },
            EndReason::Failed { message, .. } | EndReason::StoreFailed { message } => {
                Compaction::Failed { message }
            }
            EndReason::Limit { limit } => Compaction::Failed {
                message: format!("it took longer than {limit}"),
            },
            _ => Compaction::Failed {
                message: "it was cancelled".to_owned(),
            },
        })
    }

    /// Takes the last turn back, also an interrupted one, or the last compaction where one was made after it. The journal
    /// keeps it, and what its calls did is done. Returns `false` when there is nothing to take back.
    ///
    /// # Errors
    ///
    /// Fails when the session cannot be read from its store or written to it.
    pub async fn undo(&mut self) -> Result<bool, AgentError> {
        self.step(View::back).await
    }

    /// Takes the last [`Session::undo`] back that was not taken back already. Returns `false` when there is none, or when
    /// something was said since.
    ///
    /// # Errors
    ///
    /// As [`Session::undo`].
    pub async fn redo(&mut self) -> Result<bool, AgentError> {
        self.step(View::forth).await
    }

    /// Holds on, word for word and through every compaction, to what the user said in event `seq` of the journal: the first
    /// message of a session is event 1. What was summarised before stays summarised.
    ///
    /// # Errors
    ///
    /// As [`Session::undo`].
    pub async fn pin(&mut self, seq: u64) -> Result<(), AgentError> {
        self.fold().await?;
        self.write(Event::Pinned { seq }).await
    }

    async fn step(&mut self, to: impl Fn(&View) -> Option<u64>) -> Result<bool, AgentError> {
        self.fold().await?;
        let Some(to) = self.view.as_deref().and_then(to) else {
            return Ok(false);
        };
        self.write(Event::Undone { to }).await?;
        self.unfinished.clear();
        self.kept.clear();
        Ok(true)
    }

    /// Writes an event that belongs to no turn; the session is folded.
    async fn write(&mut self, event: Event) -> Result<(), AgentError> {
        let (Some(lease), Some(view)) = (&self.lease, &mut self.view) else {
            return Ok(());
        };
        let append = Append {
            after: self.events,
            events: [event.clone()].into(),
            barrier: Barrier::Durable,
            taken: &[],
        };
        if let Err(error) = self.agent.inner.store.append(lease, append).await {
            // The store alone knows what it kept, and whose the session is.
            self.lease = None;
            self.view = None;
            return Err(error.into());
        }
        view.apply(&event);
        self.events += 1;
        Ok(())
    }
}
