//! An agent: a model, the tools it may use and the rules it works under; and the sessions people have with it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::event::{Answer, Event, TurnOutcome};
use crate::limits::Limits;
use crate::message::Message;
use crate::policy::Policy;
use crate::provider::{Delta, Protocol, Provider};
use crate::registry::{RegistryError, Toolset};
use crate::session::{SessionStore, StoreError};
use crate::tool::{StateMap, Workspace};

/// A model, the tools it may use and the rules it works under. Cheap to clone; sessions share it.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<AgentInner>,
}

#[derive(Clone)]
pub(crate) struct AgentInner {
    pub(crate) models: Vec<(Arc<dyn Provider>, String)>,
    pub(crate) tools: Toolset,
    pub(crate) system: Arc<str>,
    pub(crate) state: Arc<StateMap>,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) approval: Arc<dyn Approval>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) workspace: Option<Arc<Workspace>>,
    pub(crate) protocol: Option<Protocol>,
}

/// Collects what an [`Agent`] is made of.
pub struct AgentBuilder {
    inner: AgentInner,
}

/// Why an agent cannot be built or a session not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No model was given.
    #[error("the agent has no model: add `.model(provider, name)`")]
    NoModel,
    /// The tools do not fit together.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The session store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A person's yes: asks about calls that the policy does not let run by itself.
pub trait Approval: Send + Sync {
    /// Asks, and waits for the answer. [`Answer::Unanswered`] denies, naming the rule.
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Answer>;
}

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequest<'a> {
    /// The session.
    pub session: &'a str,
    /// The call's id.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The arguments as they will run, secrets masked.
    pub arguments: &'a str,
    /// The rule that asks.
    pub rule: &'a str,
}

/// Answers every question with [`Answer::Unanswered`]: for programs without a person.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approval for Nobody {
    fn ask<'a>(&'a self, _: ApprovalRequest<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Unanswered })
    }
}

/// Watches a turn. Called on the turn's task: return quickly.
pub trait Observer: Send {
    /// An event was appended to the journal.
    fn event(&mut self, event: &Event) {
        let _ = event;
    }

    /// A piece of the running reply came. Not journaled.
    fn delta(&mut self, delta: &Delta) {
        let _ = delta;
    }

    /// A running call tells how far it is.
    fn progress(&mut self, call: &str, line: &str) {
        let _ = (call, line);
    }
}

impl Observer for () {}

impl Agent {
    /// Starts to build an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder {
            inner: AgentInner {
                models: Vec::new(),
                tools: Toolset::default(),
                system: "".into(),
                state: Arc::default(),
                policy: Policy::default(),
                limits: Limits::default(),
                approval: Arc::new(Nobody),
                store: Arc::new(crate::session::MemoryStore::new()),
                workspace: None,
                protocol: None,
            },
        }
    }

    /// Opens the session named `id`, creating it when it does not exist.
    ///
    /// # Errors
    ///
    /// Fails when the store does.
    pub async fn session(&self, id: &str) -> Result<Session, AgentError> {
        let _ = &self.inner;
        Err(AgentError::Store(StoreError::NotFound {
            session: id.to_owned(),
        }))
    }

    /// Returns an agent that asks this model instead; everything else is shared, the session store too.
    pub fn with_model(&self, provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        let mut inner = AgentInner::clone(&self.inner);
        inner.models = vec![(provider, name.into())];
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the tools the agent may use.
    pub fn tools(&self) -> &Toolset {
        &self.inner.tools
    }
}

impl AgentBuilder {
    /// Adds a model; the first is asked first, the others when it keeps failing.
    pub fn model(mut self, provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        self.inner.models.push((provider, name.into()));
        self
    }

    /// Sets the tools.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.inner.tools = tools;
        self
    }

    /// Sets the standing instructions.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.inner.system = text.into();
        self
    }

    /// Adds state for tools that name its type.
    ///
    /// # Panics
    ///
    /// Never: the map is not shared before the agent is built.
    pub fn state<T: std::any::Any + Send + Sync>(mut self, value: T) -> Self {
        Arc::get_mut(&mut self.inner.state)
            .expect("not shared before the agent is built")
            .insert(value);
        self
    }

    /// Sets all state at once; what was added before is dropped.
    pub fn state_map(mut self, state: StateMap) -> Self {
        self.inner.state = Arc::new(state);
        self
    }

    /// Sets the policy.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.inner.policy = policy;
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.inner.limits = limits;
        self
    }

    /// Sets who is asked for approval; nobody when left out.
    pub fn approval(mut self, approval: Arc<dyn Approval>) -> Self {
        self.inner.approval = approval;
        self
    }

    /// Sets the session store; memory when left out.
    pub fn store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.inner.store = store;
        self
    }

    /// Sets the folder the agent works in.
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.inner.workspace = Some(Arc::new(workspace));
        self
    }

    /// Fixes how tool calls travel; left out, it follows from the model's capabilities.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.inner.protocol = Some(protocol);
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    ///
    /// Fails without a model, and when a tool misses its state.
    pub fn build(self) -> Result<Agent, AgentError> {
        if self.inner.models.is_empty() {
            return Err(AgentError::NoModel);
        }
        self.inner.tools.check_state(&self.inner.state)?;
        Ok(Agent {
            inner: Arc::new(self.inner),
        })
    }
}

/// A kept conversation.
pub struct Session {
    id: String,
    cancel: CancellationToken,
}

impl Session {
    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Runs one turn: asks the model, calls the tools it wants, until it answers or a limit ends it.
    ///
    /// # Errors
    ///
    /// Fails only when the session store does; everything else is an outcome.
    pub async fn run(&mut self, prompt: &str) -> Result<TurnOutcome, AgentError> {
        self.run_observed(Message::user(prompt), &mut ()).await
    }

    /// Runs one turn and tells `observer` what happens.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub async fn run_observed(
        &mut self,
        input: Message,
        observer: &mut dyn Observer,
    ) -> Result<TurnOutcome, AgentError> {
        let _ = (input, observer);
        Err(AgentError::Store(StoreError::NotFound {
            session: self.id.clone(),
        }))
    }

    /// Returns a handle that cancels the running turn from another task or a signal handler.
    pub fn canceller(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Returns the conversation as the model sees it.
    pub fn messages(&self) -> Vec<Message> {
        Vec::new()
    }
}
