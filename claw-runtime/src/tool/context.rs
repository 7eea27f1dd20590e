//! What a running call can ask about itself.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::spawn::{Spawn, SpawnError, Spawned};
use super::{Tool, ToolError};

/// What a running call can ask about itself and its session. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    call: Arc<CallInfo>,
}

/// What is known of one call, and who runs it.
#[derive(Default)]
pub struct CallInfo {
    /// The session.
    pub session_id: Arc<str>,
    /// The call.
    pub call_id: String,
    /// The tool that is called.
    pub tool: Option<Arc<Tool>>,
    /// Cancelled when the turn is.
    pub cancel: CancellationToken,
    /// When the call is given up.
    pub deadline: Option<Instant>,
    /// The folder the agent works in.
    pub workspace: Option<Arc<Workspace>>,
    /// The agent's state.
    pub state: Arc<StateMap>,
    /// What is done for it by the turn it belongs to; nothing without one.
    pub services: Option<Arc<dyn Services>>,
}

/// What a turn does for the calls it runs.
pub trait Services: Send + Sync {
    /// Shows one line of progress.
    fn progress(&self, _call: &CallInfo, _line: &str) {}

    /// Reads what the session keeps under `digest`; see [`ToolContext::output`].
    fn output<'a>(&'a self, _call: &'a CallInfo, _digest: &'a str) -> BoxFuture<'a, OutputRead> {
        Box::pin(async { Ok(None) })
    }

    /// Runs a sub-agent to its end, or picks up the one this call began before a crash.
    fn spawn<'a>(
        &'a self,
        _call: &'a CallInfo,
        _spawn: Spawn,
    ) -> BoxFuture<'a, Result<Spawned, SpawnError>> {
        Box::pin(async { Err(SpawnError::NoAgent) })
    }
}

/// The bytes of an output, where the session keeps it.
pub type OutputRead = Result<Option<Arc<[u8]>>, ToolError>;

impl ToolContext {
    /// Returns the context of one call.
    pub fn new(call: CallInfo) -> Self {
        Self {
            call: Arc::new(call),
        }
    }

    /// Returns the bytes that the session keeps under `digest`: the whole of an output that had to be cut, or that was put
    /// aside later. `None` when this session keeps nothing of that name; another session's outputs are none of its own.
    ///
    /// # Errors
    ///
    /// Fails when the session store does.
    pub async fn output(&self, digest: &str) -> OutputRead {
        match &self.call.services {
            Some(services) => services.output(&self.call, digest).await,
            None => Ok(None),
        }
    }

    /// Returns a context without session, workspace and state, as `tools call` and tests use it.
    pub fn detached() -> Self {
        Self::new(CallInfo::default())
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> &str {
        &self.call.session_id
    }

    /// Returns the call's id.
    pub fn call_id(&self) -> &str {
        &self.call.call_id
    }

    /// Returns the token that is cancelled with the turn.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.call.cancel
    }

    /// Returns when the call is given up.
    pub fn deadline(&self) -> Option<Instant> {
        self.call.deadline
    }

    /// Returns the folder the agent works in, when it has one.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.call.workspace.as_deref()
    }

    /// Tells observers how far the call is.
    pub fn progress(&self, line: &str) {
        if let Some(services) = &self.call.services {
            services.progress(&self.call, line);
        }
    }

    /// Runs a sub-agent to its end, in a session of its own. A call that is made again after a crash picks up the one it
    /// began, and what the sub-agent spends is this call's.
    ///
    /// A tool that does so is best declared `idempotent`: by its own doing it changes nothing twice.
    ///
    /// # Errors
    ///
    /// Fails when no sub-agent can be started: outside an agent, too deep, or with a name that nobody knows.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Spawned, SpawnError> {
        match &self.call.services {
            Some(services) => services.spawn(&self.call, spawn).await,
            None => Err(SpawnError::NoAgent),
        }
    }

    /// Returns the agent's state of type `T`, when it was given.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.call.state.get()
    }

    pub(crate) fn has_state(&self, id: TypeId) -> bool {
        self.call.state.has(id)
    }
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext")
            .field("call_id", &self.call.call_id)
            .finish_non_exhaustive()
    }
}

/// Values by type, handed to tools that name the type.
#[derive(Default)]
pub struct StateMap {
    values: HashMap<TypeId, (&'static str, Box<dyn Any + Send + Sync>)>,
}

impl StateMap {
    /// Adds a value; an earlier one of the same type is replaced.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.values
            .insert(TypeId::of::<T>(), (type_name::<T>(), Box::new(value)));
    }

    /// Takes over all values of `other`; they replace earlier ones of the same type.
    pub fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
    }

    /// Returns the value of type `T`.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.values
            .get(&TypeId::of::<T>())
            .and_then(|(_, value)| value.downcast_ref())
    }

    /// Tells whether a value of this type was given.
    pub fn has(&self, id: TypeId) -> bool {
        self.values.contains_key(&id)
    }
}

impl std::fmt::Debug for StateMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.values.values().map(|(name, _)| name))
            .finish()
    }
}

/// The folder an agent works in, held open: paths resolve beneath the descriptor, not the name.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    dir: std::fs::File,
    closed: Option<PathBuf>,
}

impl Workspace {
    /// Opens a folder.
    ///
    /// # Errors
    ///
    /// Fails when `path` is not a folder that can be read.
    pub fn open(path: impl Into<PathBuf>) -> std::io::Result<Self> {
        let path = path.into().canonicalize()?;
        std::fs::read_dir(&path)?;
        let dir = std::fs::File::open(&path)?;
        Ok(Self {
            path,
            dir,
            closed: None,
        })
    }

    /// Closes everything whose path begins with that of `file` to tools that work on files: a database and what stands
    /// beside it, for an agent must not edit its own sessions. Outside the workspace they are out of reach anyway.
    pub fn close(mut self, file: &Path) -> Self {
        // The folder may be there before the file is.
        let full = file.canonicalize().or_else(|_| {
            let (folder, name) = (file.parent(), file.file_name());
            let folder = folder.ok_or(std::io::ErrorKind::NotFound)?;
            Ok::<_, std::io::Error>(folder.canonicalize()?.join(name.unwrap_or_default()))
        });
        let full = full.unwrap_or_else(|_| file.to_owned());
        self.closed = full.starts_with(&self.path).then_some(full);
        self
    }

    /// Tells whether a path, absolute and without links, is closed.
    pub fn is_closed(&self, path: &Path) -> bool {
        let begins = |closed: &PathBuf| {
            let (path, closed) = (path.as_os_str(), closed.as_os_str());
            path.as_encoded_bytes()
                .starts_with(closed.as_encoded_bytes())
        };
        self.closed.as_ref().is_some_and(begins)
    }

    /// Tells whether anything in it is closed.
    pub fn has_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Returns the folder's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open folder.
    pub fn dir(&self) -> &std::fs::File {
        &self.dir
    }
}
