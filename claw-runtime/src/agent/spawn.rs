//! Sub-agents: each a session of its own, named by the call that started it, so that a call that runs again after a crash
//! finds it instead of starting a second.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::services::TurnServices;
use super::{Agent, AgentError, Approval, ApprovalRequest, Inner, Observer, Session};
use crate::budget::{Purse, Spent};
use crate::event::{Answer, Event, TurnOutcome};
use crate::message::Message;
use crate::session::journal;
use crate::tool::{CallInfo, Services, Spawn, SpawnError, Spawned};

/// What the names of sub-agents' sessions begin with.
const PREFIX: &str = "sub-";
/// Digits of a sub-agent's name.
const DIGITS: usize = 32;

/// Where an agent stands among agents that started one another.
#[derive(Clone, Debug, Default)]
pub(super) struct Nest {
    /// How many sub-agents deep.
    pub(super) depth: u32,
    /// What it draws on, besides its own budget.
    pub(super) purse: Option<Arc<Purse>>,
}

/// Starts the sub-agents of one call.
pub(super) struct Caller<'c> {
    pub(super) services: &'c TurnServices,
    pub(super) call: &'c CallInfo,
    pub(super) purse: Arc<Purse>,
}

impl Caller<'_> {
    pub(super) async fn run(&self, spawn: Spawn) -> Result<Spawned, SpawnError> {
        let purse = Arc::new(self.purse.slice(spawn.budget));
        let agent = self.agent(&spawn, purse.clone())?;
        let id = self.id(&spawn.key);
        let failed = |error: AgentError| SpawnError::Session {
            message: error.to_string(),
        };
        let mut session = agent.session(&id).await.map_err(failed)?;
        let before = session.view().map(|view| view.ledger().spent());
        purse.settle(Spent::default(), before.unwrap_or_default());
        if session.events() == 0 {
            let begin = Event::Spawned {
                parent: self.call.session_id.to_string(),
                call: self.call.call_id.clone(),
                depth: agent.inner.nest.depth,
            };
            session.begin_with(begin).await.map_err(failed)?;
        }
        let outcome = match self
            .ended(&agent.inner, &mut session)
            .await
            .map_err(failed)?
        {
            Some(outcome) => outcome,
            None => self
                .drive(&mut session, &spawn.task)
                .await
                .map_err(failed)?,
        };
        let spent = session.view().map(|view| view.ledger().spent());
        let spent = spent.unwrap_or_else(|| purse.spent());
        purse.settle(purse.spent(), spent);
        session.close().await.map_err(failed)?;
        Ok(Spawned {
            session: id,
            text: outcome.text,
            reason: outcome.reason,
            spent,
        })
    }

    /// Returns the name of the sub-agent's session: the same whenever this call runs.
    fn id(&self, key: &str) -> String {
        let CallInfo {
            session_id,
            call_id,
            ..
        } = self.call;
        let mut digest = crate::digest::of(format!("{session_id}\n{call_id}\n{key}").as_bytes());
        digest.truncate(DIGITS);
        format!("{PREFIX}{digest}")
    }

    /// Returns how the sub-agent's turn ended, if it did before a crash of this one.
    async fn ended(
        &self,
        agent: &Inner,
        session: &mut Session,
    ) -> Result<Option<TurnOutcome>, AgentError> {
        if session.unfinished().await? {
            return Ok(None);
        }
        let journal = journal::load(&*agent.store, session.id()).await?;
        let mut ends = journal.into_iter().rev().map(|stored| stored.event);
        Ok(ends.find_map(|event| match event {
            Event::TurnEnd { outcome, .. } => Some(outcome),
            _ => None,
        }))
    }

    /// Runs the sub-agent's turn, or goes on with it; it is cancelled when this call is.
    async fn drive(&self, session: &mut Session, task: &str) -> Result<TurnOutcome, AgentError> {
        let canceller = session.canceller();
        let mut told = Told {
            services: self.services,
            call: self.call,
        };
        let turn = async {
            match session.resume(&mut told).await? {
                Some(outcome) => Ok(outcome),
                None => session.run_observed(Message::user(task), &mut told).await,
            }
        };
        tokio::pin!(turn);
        tokio::select! {
            outcome = &mut turn => outcome,
            () = self.call.cancel.cancelled() => {
                canceller.cancel();
                turn.await
            }
        }
    }

    fn agent(&self, spawn: &Spawn, purse: Arc<Purse>) -> Result<Agent, SpawnError> {
        let caller = &self.services.agent.inner;
        let depth = caller.nest.depth + 1;
        let most = caller.limits.depth;
        if depth > most {
            return Err(SpawnError::TooDeep { most });
        }
        let mut inner = match &spawn.agent {
            None => Inner::clone(caller),
            Some(name) => {
                let named = caller
                    .agents
                    .get(name)
                    .ok_or_else(|| SpawnError::UnknownAgent {
                        name: name.clone(),
                        known: caller.agents.keys().cloned().collect(),
                    })?;
                Inner::clone(&named.inner)
            }
        };
        let called = self.call.tool.as_ref().map_or("", |tool| tool.name());
        inner.tools = inner
            .tools
            // At the last depth the tool that starts them is not there any more.
            .filtered(|tool| depth < most || tool.name() != called);
        if let Some(names) = &spawn.tools {
            if let Some(name) = names.iter().find(|name| inner.tools.get(name).is_none()) {
                return Err(SpawnError::UnknownTool {
                    name: name.clone(),
                    known: inner
                        .tools
                        .iter()
                        .map(|tool| tool.name().to_owned())
                        .collect(),
                });
            }
            inner.tools = inner
                .tools
                .filtered(|tool| names.iter().any(|name| name == tool.name()));
        }
        if let Some(rounds) = spawn.rounds {
            inner.limits.rounds = inner.limits.rounds.min(rounds);
        }
        inner.limits.depth = most;
        // Its tools are others.
        inner.prompt_tokens = Arc::default();
        inner.forms = Arc::default();
        inner.store = caller.store.clone();
        inner.secrets = caller.secrets.clone();
        inner.spending.shared = caller.spending.shared.clone();
        inner.abandoned = caller.abandoned.clone();
        inner.approval = Arc::new(Relayed {
            approval: caller.approval.clone(),
            session: self.call.session_id.to_string(),
        });
        inner.nest = Nest {
            depth,
            purse: Some(purse),
        };
        Ok(Agent {
            inner: Arc::new(inner),
        })
    }
}

/// Tells whether a session is a sub-agent's, by its name: only the call that began it may go on with it.
pub(super) fn is_sub_agent(session: &str) -> bool {
    session.strip_prefix(PREFIX).is_some_and(|digest| {
        digest.len() == DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Shows a sub-agent's questions where those of the agent that started it are shown.
struct Relayed {
    approval: Arc<dyn Approval>,
    session: String,
}

impl Approval for Relayed {
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Answer> {
        self.approval.ask(ApprovalRequest {
            session: &self.session,
            ..request
        })
    }
}

/// Shows what a sub-agent does as progress of the call that started it.
struct Told<'c> {
    services: &'c TurnServices,
    call: &'c CallInfo,
}

impl Observer for Told<'_> {
    fn is_live(&self) -> bool {
        false
    }

    fn event(&mut self, event: &Event) {
        if let Event::Assistant { content, .. } = event {
            let calls = Message::assistant(content.clone());
            for call in calls.calls() {
                let line = format!("calls `{}`", call.name);
                self.services.progress(self.call, &line);
            }
        }
    }
}
