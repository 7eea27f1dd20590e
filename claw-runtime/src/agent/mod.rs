//! An agent: a model, the tools it may use and the rules it works under; and the sessions people have with it.

mod clock;
mod driver;
mod inbox;
mod keep;
mod live;
mod mask;
mod meter;
mod pending;
mod prompt;
mod recover;
mod services;
mod session;
mod setup;
mod spawn;
mod watch;

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

pub use recover::{Recover, Recovered};
pub use session::{Canceller, Compaction, Session};
pub use watch::{Approval, ApprovalRequest, Later, Nobody, Observer};

use spawn::Nest;

use crate::budget::{Budget, Price, SharedBudget};
use crate::dispatch::Abandoned;
use crate::event::Fact;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::provider::{Constrain, Protocol, Provider, Target};
use crate::registry::{RegistryError, Toolset};
use crate::schema::Coerce;
use crate::secret::Secrets;
use crate::session::{MemoryStore, SessionStore, StoreError, Unreadable, View};
use crate::tool::{StateMap, Tool, Tools, Workspace};

/// A model, the tools it may use and the rules it works under. Cheap to clone; sessions share it.
///
/// ```
/// use std::sync::Arc;
/// use claw_runtime::agent::Agent;
/// use claw_runtime::provider::Scripted;
/// use claw_runtime::provider::scripted::says;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let agent = Agent::builder().model(Arc::new(Scripted::new([says("Hello.")])), "demo").build()?;
/// let outcome = agent.session("first").await?.run("Hi!").await?;
/// assert_eq!(outcome.text, "Hello.");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    models: Vec<Model>,
    tools: Toolset,
    system: Arc<str>,
    state: Arc<StateMap>,
    policy: Arc<Policy>,
    limits: Limits,
    coerce: Coerce,
    approval: Arc<dyn Approval>,
    store: Arc<dyn SessionStore>,
    workspace: Option<Arc<Workspace>>,
    protocol: Option<Protocol>,
    constrain: Option<Constrain>,
    recover: Recover,
    clock: Clock,
    spending: Spending,
    agents: BTreeMap<String, Agent>,
    nest: Nest,
    must_call: bool,
    /// What is masked in all that is kept and shown.
    secrets: Secrets,
    abandoned: Arc<Abandoned>,
    /// Estimated tokens of what stands before the conversation, natively and under the prompt protocol.
    prompt_tokens: Arc<OnceLock<[u64; 2]>>,
    /// What replies are held to under the prompt protocol.
    forms: Arc<prompt::Forms>,
}

/// What may be spent, and what things cost.
#[derive(Clone, Default)]
struct Spending {
    turn: Budget,
    session: Budget,
    shared: Vec<SharedBudget>,
    /// By provider and model.
    prices: HashMap<(String, String), Price>,
}

/// Tells the milliseconds since the Unix epoch.
type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Clone)]
struct Model {
    provider: Arc<dyn Provider>,
    name: String,
}

/// Collects what an [`Agent`] is made of.
pub struct AgentBuilder {
    models: Vec<Model>,
    tools: Toolset,
    more: Vec<Arc<Tool>>,
    system: Arc<str>,
    state: StateMap,
    policy: Policy,
    limits: Limits,
    coerce: Coerce,
    approval: Arc<dyn Approval>,
    store: Arc<dyn SessionStore>,
    workspace: Option<Arc<Workspace>>,
    protocol: Option<Protocol>,
    constrain: Option<Constrain>,
    recover: Recover,
    clock: Clock,
    spending: Spending,
    agents: BTreeMap<String, Agent>,
    must_call: bool,
    secrets: Secrets,
}

/// Why an agent cannot be built or a session cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No model was given.
    #[error("the agent has no model: add `.model(provider, name)`")]
    NoModel,
    /// Two models cannot be told apart.
    #[error("two models are named `{provider}:{model}`: give one of the providers another name")]
    DuplicateModel {
        /// The provider's name.
        provider: String,
        /// The model's name.
        model: String,
    },
    /// A model can call tools neither natively nor by prompt, and the agent is to have none such.
    #[error(
        "model `{provider}:{model}` can call no tools, and this agent takes no such model: choose another one, or say \
         otherwise in its capabilities"
    )]
    CannotCall {
        /// The provider's name.
        provider: String,
        /// The model's name.
        model: String,
    },
    /// The tools do not fit together.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The session store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session's journal is damaged.
    #[error(
        "session `{session}` is damaged: {fault}; its first {whole} events are whole: branch it there to go on"
    )]
    Damaged {
        /// The session.
        session: String,
        /// How many events are whole, which is where to branch it.
        whole: u64,
        /// Where and how.
        fault: Unreadable,
    },
    /// The session has a turn that was interrupted, and was not to be touched.
    #[error(
        "session `{session}` has an unfinished turn: resume it, or settle it, before a new one begins"
    )]
    Unfinished {
        /// The session.
        session: String,
    },
}

impl Agent {
    /// Starts to build an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder {
            models: Vec::new(),
            tools: Toolset::default(),
            more: Vec::new(),
            system: "".into(),
            state: StateMap::default(),
            policy: Policy::default(),
            limits: Limits::default(),
            coerce: Coerce::default(),
            approval: Arc::new(Nobody),
            store: Arc::new(MemoryStore::new()),
            workspace: None,
            protocol: None,
            constrain: None,
            recover: Recover::default(),
            clock: Arc::new(wall_clock),
            spending: Spending::default(),
            agents: BTreeMap::new(),
            must_call: false,
            secrets: Secrets::new(),
        }
    }

    /// Opens the session named `id`, creating it when it does not exist.
    ///
    /// # Errors
    ///
    /// Fails when the store does, and when the agent [must call](AgentBuilder::must_call) and a model cannot.
    pub async fn session(&self, id: &str) -> Result<Session, AgentError> {
        self.check_calls()?;
        Session::open(self.clone(), id).await
    }

    /// Returns an agent that asks this model instead; everything else is shared, the session store too.
    pub fn with_model(&self, provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        let mut inner = Inner::clone(&self.inner);
        provider.secrets(&inner.secrets);
        inner.models = vec![Model {
            provider,
            name: name.into(),
        }];
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns an agent whose calls travel this way, or with `None` as the model can; everything else is shared.
    pub fn with_protocol(&self, protocol: Option<Protocol>) -> Self {
        let mut inner = Inner::clone(&self.inner);
        inner.protocol = protocol;
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Refuses a model that can call neither natively nor by prompt, or is not let, where the agent must call.
    fn check_calls(&self) -> Result<(), AgentError> {
        let cannot = |model: &&Model| {
            let capabilities = model.provider.capabilities(&model.name);
            self.inner.protocol == Some(Protocol::Chat)
                || (!capabilities.native_tools && !capabilities.prompt_tools)
        };
        match self.inner.models.iter().find(cannot) {
            Some(model) if self.inner.must_call => Err(AgentError::CannotCall {
                provider: model.provider.name().to_owned(),
                model: model.name.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns how many values its services were not told, by the name of what they are; see
    /// [`Veiled`](crate::provider::veil::Veiled).
    pub fn hidden(&self) -> BTreeMap<String, usize> {
        let mut hidden = BTreeMap::new();
        for (name, count) in self.inner.models.iter().flat_map(|it| it.provider.hidden()) {
            let most = hidden.entry(name).or_insert(0);
            *most = count.max(*most);
        }
        hidden
    }

    /// Returns how many images its services were sent as they are, though values are hidden from them.
    pub fn images(&self) -> usize {
        let models = self.inner.models.iter();
        models.map(|it| it.provider.images()).max().unwrap_or(0)
    }

    /// Returns the tools the model is offered: those given, without the ones the policy denies.
    pub fn tools(&self) -> &Toolset {
        &self.inner.tools
    }

    /// Returns whom a session asks, in order, how calls travel and in which dialect: as fixed for the agent, else as the
    /// model is declared, else as a request has shown.
    pub fn targets(&self, view: &View) -> Vec<Arc<Target>> {
        let inner = &self.inner;
        inner
            .models
            .iter()
            .map(|model| {
                let Model { provider, name } = model;
                let learnt = view.has_learnt(provider.name(), name, &Fact::NoNativeTools);
                let capabilities = provider.capabilities(name);
                let fitting = if (capabilities.native_tools && !learnt) || inner.tools.is_empty() {
                    Protocol::Native
                } else {
                    // One that must call and cannot refuses again, and the next one is asked.
                    inner.otherwise(model).unwrap_or(Protocol::Native)
                };
                Arc::new(Target {
                    provider: provider.name().to_owned(),
                    model: name.clone(),
                    protocol: inner.protocol.unwrap_or(fitting),
                    dialect: view
                        .dialect(provider.name(), name, provider.dialect(name))
                        .name
                        .to_owned(),
                    toolset: inner.tools.digest().to_owned(),
                })
            })
            .collect()
    }
}

impl Inner {
    /// Returns how a model is asked that takes no tool definitions; `None` where the agent does not take it then.
    fn otherwise(&self, model: &Model) -> Option<Protocol> {
        let prompted = model.provider.capabilities(&model.name).prompt_tools;
        match prompted {
            true => Some(Protocol::Prompt),
            false => (!self.must_call).then_some(Protocol::Chat),
        }
    }

    /// Returns when a model is held to a form, where it can be.
    fn constrain(&self, model: &Model) -> Constrain {
        let declared = model.provider.capabilities(&model.name).constrain;
        self.constrain.unwrap_or(declared)
    }

    fn price(&self, model: &Model) -> Option<Price> {
        let names = (model.provider.name().to_owned(), model.name.clone());
        self.spending.prices.get(&names).copied()
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("tools", &self.inner.tools.len())
            .finish_non_exhaustive()
    }
}

impl AgentBuilder {
    /// Adds a model; the first is asked first, the others when it keeps failing.
    pub fn model(mut self, provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        self.models.push(Model {
            provider,
            name: name.into(),
        });
        self
    }

    /// Sets the tools; none when left out.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Adds the tools of a `#[tools] impl`, which work on `value`.
    pub fn toolset<T: Tools>(mut self, value: T) -> Self {
        self.more.extend(Tool::all_of::<T>());
        self.state(value)
    }

    /// Sets the standing instructions.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system = text.into();
        self
    }

    /// Adds state for tools that name its type.
    pub fn state<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.state.insert(value);
        self
    }

    /// Adds all of these values to the state.
    pub fn state_map(mut self, state: StateMap) -> Self {
        self.state.extend(state);
        self
    }

    /// Sets what runs, asks or is denied; harmless tools run and others ask when left out.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how far arguments may be coerced, for tools that do not say so themselves and destroy nothing.
    pub fn coerce(mut self, coerce: Coerce) -> Self {
        self.coerce = coerce;
        self
    }

    /// Sets who is asked for approval; nobody when left out, so that what would ask is denied.
    pub fn approval(mut self, approval: Arc<dyn Approval>) -> Self {
        self.approval = approval;
        self
    }

    /// Sets the session store; memory when left out.
    pub fn store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = store;
        self
    }

    /// Sets the folder the agent works in.
    pub fn workspace(mut self, workspace: impl Into<Arc<Workspace>>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Fixes how tool calls travel; left out, it follows from what the model can do.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Sets when models under the prompt protocol are held to a form; left out, as each model is
    /// [declared](crate::provider::Capabilities::constrain).
    pub fn constrain(mut self, constrain: Constrain) -> Self {
        self.constrain = Some(constrain);
        self
    }

    /// Sets what becomes of an interrupted turn when its session is to run a new one.
    pub fn recover(mut self, recover: Recover) -> Self {
        self.recover = recover;
        self
    }

    /// Sets the clock that questions expire by, in milliseconds since the Unix epoch; the system's when left out.
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets what one turn may spend; nothing is limited when left out. A turn that comes to its limit wraps up.
    pub fn turn_budget(mut self, budget: Budget) -> Self {
        self.spending.turn = budget;
        self
    }

    /// Sets what one session may spend, all its turns together; nothing is limited when left out.
    pub fn session_budget(mut self, budget: Budget) -> Self {
        self.spending.session = budget;
        self
    }

    /// Adds a limit that all sessions share, also those of other hosts on the same store: of a day, of a user.
    pub fn shared_budget(mut self, budget: SharedBudget) -> Self {
        self.spending.shared.push(budget);
        self
    }

    /// Sets what a model costs, by its names: `provider`, `model`.
    pub fn price(
        mut self,
        provider: impl Into<String>,
        model: impl Into<String>,
        price: Price,
    ) -> Self {
        let names = (provider.into(), model.into());
        self.spending.prices.insert(names, price);
        self
    }

    /// Adds an agent that this one's tools may start by name; see [`ToolContext::spawn`](crate::tool::ToolContext::spawn).
    /// It keeps its models, tools, policy and instructions; its sessions are in this one's store, and its questions are this
    /// one's.
    pub fn agent(mut self, name: impl Into<String>, agent: Agent) -> Self {
        self.agents.insert(name.into(), agent);
        self
    }

    /// Refuses models that can call tools neither natively nor by prompt; left out, they chat without tools.
    pub fn must_call(mut self) -> Self {
        self.must_call = true;
        self
    }

    /// Adds secrets to those that are masked in all that is kept, sent to models and shown; what its providers send as keys is
    /// known already. Those that are added to the set later count too.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        secrets.add_all(&self.secrets);
        self.secrets = secrets;
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    ///
    /// Fails without a model, with one that cannot call where the agent [must](Self::must_call), when two models are named alike, for the journal names a model and so must find it, when two
    /// tools have one name, and when a tool misses its state.
    pub fn build(self) -> Result<Agent, AgentError> {
        if self.models.is_empty() {
            return Err(AgentError::NoModel);
        }
        for (at, model) in self.models.iter().enumerate() {
            let (provider, name) = (model.provider.name(), &model.name);
            if self.models[..at]
                .iter()
                .any(|other| other.provider.name() == provider && other.name == *name)
            {
                return Err(AgentError::DuplicateModel {
                    provider: provider.to_owned(),
                    model: name.clone(),
                });
            }
        }
        let tools = self.tools.with(self.more)?;
        let tools = tools.filtered(|tool| !tool.spec().hidden && self.policy.offers(tool));
        tools.check_state(&self.state)?;
        for model in &self.models {
            model.provider.secrets(&self.secrets);
        }
        for agent in self.agents.values() {
            self.secrets.add_all(&agent.inner.secrets);
        }
        let system = match self.secrets.mask(&self.system) {
            Cow::Borrowed(_) => self.system,
            Cow::Owned(masked) => masked.into(),
        };
        let agent = Agent {
            inner: Arc::new(Inner {
                models: self.models,
                tools,
                system,
                state: Arc::new(self.state),
                policy: Arc::new(self.policy),
                limits: self.limits,
                coerce: self.coerce,
                approval: self.approval,
                store: self.store,
                workspace: self.workspace,
                protocol: self.protocol,
                constrain: self.constrain,
                recover: self.recover,
                clock: self.clock,
                spending: self.spending,
                agents: self.agents,
                nest: Nest::default(),
                must_call: self.must_call,
                secrets: self.secrets,
                abandoned: Arc::default(),
                prompt_tokens: Arc::default(),
                forms: Arc::default(),
            }),
        };
        agent.check_calls()?;
        Ok(agent)
    }
}

fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
