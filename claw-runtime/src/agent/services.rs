//! What a turn does for the calls it runs, made once a turn and not for each call.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use super::Agent;
use super::live::Lines;
use super::spawn::Caller;
use crate::budget::{Budget, Purse, Spent};
use crate::tool::{CallInfo, OutputRead, Services, Spawn, SpawnError, Spawned, ToolError};

/// What the calls of one turn share.
pub(super) struct TurnServices {
    pub(super) agent: Agent,
    pub(super) session: Arc<str>,
    /// Their progress.
    pub(super) lines: Lines,
    /// What they may spend together.
    pub(super) purse: Arc<Purse>,
    /// The share of each call that spends, by its id.
    slices: Mutex<BTreeMap<String, Arc<Purse>>>,
}

impl TurnServices {
    pub(super) fn new(agent: Agent, session: &str) -> Self {
        let purse = match &agent.inner.nest.purse {
            Some(purse) => purse.slice(Budget::default()),
            None => Purse::default(),
        };
        Self {
            agent,
            session: session.into(),
            lines: Lines::default(),
            purse: Arc::new(purse),
            slices: Mutex::default(),
        }
    }

    /// Returns what a call that ended has spent, if anything.
    pub(super) fn spent(&self, call: &str) -> Option<Spent> {
        let slice = self.slices().remove(call)?;
        Some(slice.spent()).filter(|spent| !spent.is_nothing())
    }

    fn slice(&self, call: &str) -> Arc<Purse> {
        match self.slices().entry(call.to_owned()) {
            Entry::Occupied(slice) => slice.get().clone(),
            Entry::Vacant(place) => {
                let slice = Arc::new(self.purse.slice(Budget::default()));
                place.insert(slice).clone()
            }
        }
    }

    fn slices(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Purse>>> {
        self.slices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Services for TurnServices {
    fn progress(&self, call: &CallInfo, line: &str) {
        let line = self.agent.inner.secrets.mask(line).into_owned();
        self.lines.push(call.call_id.clone(), line);
    }

    fn output<'a>(&'a self, call: &'a CallInfo, digest: &'a str) -> BoxFuture<'a, OutputRead> {
        Box::pin(async move {
            let read = self.agent.inner.store.blob(&call.session_id, digest).await;
            read.map_err(|error| {
                let session = &*call.session_id;
                tracing::warn!(%error, session, "an output could not be read");
                ToolError::new("the session's store could not be read; try again later")
            })
        })
    }

    fn spawn<'a>(
        &'a self,
        call: &'a CallInfo,
        spawn: Spawn,
    ) -> BoxFuture<'a, Result<Spawned, SpawnError>> {
        let caller = Caller {
            services: self,
            purse: self.slice(&call.call_id),
            call,
        };
        Box::pin(async move { caller.run(spawn).await })
    }
}
