//! Interrupted turns: what becomes of them, and picking up all of a program's at its start.

use futures_util::StreamExt;
use futures_util::stream;

use super::spawn::is_sub_agent;
use super::{Agent, AgentError, Observer};
use crate::event::TurnOutcome;
use crate::session::{Query, SessionInfo, StoreError};

/// What becomes of an interrupted turn when its session is to run a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recover {
    /// It is brought to an end: its calls are answered by what is known of them, and nothing is started.
    #[default]
    Settle,
    /// It goes on to its own end first.
    Resume,
    /// The new turn is refused, so that somebody can be asked: [`AgentError::Unfinished`].
    Refuse,
}

/// A session whose unfinished turn was picked up.
#[derive(Debug)]
pub struct Recovered {
    /// The session.
    pub session: String,
    /// How its turn ended, or why it could not be picked up.
    pub outcome: Result<TurnOutcome, AgentError>,
}

impl Agent {
    /// Goes on with the unfinished turn of every session that no living host owns, at most `at_once` at a time: for the
    /// start of a host, and for whenever another host may have died or an answer may have come.
    ///
    /// `watch` returns who observes a session's turn, or `None` to leave that session alone, for example because it is
    /// another agent's or another program's.
    ///
    /// # Errors
    ///
    /// Fails when the store cannot list its sessions. What happens to one session stands in its [`Recovered`].
    pub async fn resume_all(
        &self,
        at_once: usize,
        watch: impl Fn(&SessionInfo) -> Option<Box<dyn Observer>>,
    ) -> Result<Vec<Recovered>, AgentError> {
        let query = Query {
            unfinished: true,
            ..Query::default()
        };
        let found = self.inner.store.sessions(&query).await?;
        // A sub-agent is picked up by the call that began it.
        let unowned = found
            .iter()
            .filter(|info| info.owner.is_none() && !is_sub_agent(&info.id));
        let watched: Vec<_> = unowned
            .filter_map(|info| Some((info.id.clone(), watch(info)?)))
            .collect();
        let resumed = stream::iter(watched)
            .map(|(session, observer)| self.resume_one(session, observer))
            .buffered(at_once.max(1))
            .filter_map(std::future::ready);
        Ok(resumed.collect().await)
    }

    /// `None` where somebody else was faster, or the session is not ours.
    async fn resume_one(&self, id: String, mut observer: Box<dyn Observer>) -> Option<Recovered> {
        let resumed = async {
            let mut session = self.session(&id).await?;
            let outcome = session.resume(&mut *observer).await?;
            session.close().await?;
            Ok(outcome)
        };
        let outcome = match resumed.await {
            Ok(outcome) => Ok(outcome?),
            Err(AgentError::Store(StoreError::Live { .. } | StoreError::OtherProgram { .. })) => {
                return None;
            }
            Err(error) => Err(error),
        };
        Some(Recovered {
            session: id,
            outcome,
        })
    }
}
