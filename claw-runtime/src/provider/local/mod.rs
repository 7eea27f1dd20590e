//! A model in this process: weights from a GGUF file, no server and no key.
//!
//! The [`engine`] runs the model and knows nothing of messages and tools. Here a conversation becomes a prompt
//! ([`template`]) and a form becomes a [`constraint`] on what may be written; a small model does not choose among tools by
//! writing, so that is decided before ([`choose`]). Nothing here reads a network, and there are no deadlines: a wait in the
//! queue and the reading of a long prompt are work.

mod choose;
mod constraint;
mod engine;
mod loaded;
mod template;

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use super::{
    Capabilities, Constrain, DeltaSink, FailureClass, Provider, ProviderError, Reply, Request,
    Structured,
};
use engine::EngineError;
use loaded::{Asked, Loaded};

/// How models run in this process.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Threads that compute; one less than there are cores where none is given.
    pub threads: Option<NonZeroUsize>,
    /// Tokens of a conversation and its reply together at most, where the model was made for as many.
    pub context: usize,
    /// Bytes of memory a model may take: weights, and what it keeps of texts.
    pub memory: u64,
    /// How long weights stay loaded without a request.
    pub idle: Duration,
    /// 0 takes the likeliest token each time, so that the same request gives the same reply.
    pub temperature: f32,
    /// Seeds the choice among tokens above that.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let engine::Options {
            threads,
            context,
            memory,
            idle,
        } = engine::Options::default();
        Self {
            threads,
            context,
            memory,
            idle,
            temperature: 0.0,
            seed: 0,
        }
    }
}

type Opening = Arc<OnceCell<Arc<Loaded>>>;

/// The provider of models that run in this process. Sessions that use one model share its weights.
///
/// ```
/// use claw_runtime::provider::local::{Local, Settings};
///
/// let local = Local::new("local", Settings::default()).weights("small", "/models/small.gguf");
/// ```
///
/// A model is a name given with its [`weights`](Self::weights), or the path of a GGUF file. A file is opened by the first
/// request that names it.
pub struct Local {
    name: String,
    settings: Settings,
    weights: BTreeMap<String, PathBuf>,
    open: Mutex<HashMap<PathBuf, Opening>>,
}

impl Local {
    /// Returns the provider, called `name` before the colon in `provider:model`.
    pub fn new(name: impl Into<String>, settings: Settings) -> Self {
        Self {
            name: name.into(),
            settings,
            weights: BTreeMap::new(),
            open: Mutex::default(),
        }
    }

    /// Names a file of weights.
    #[must_use]
    pub fn weights(mut self, model: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.weights.insert(model.into(), path.into());
        self
    }

    fn path(&self, model: &str) -> Option<PathBuf> {
        let named = self.weights.get(model).cloned();
        let is_path = model.contains(['/', '\\']) || model.ends_with(".gguf");
        named.or_else(|| is_path.then(|| PathBuf::from(model)))
    }

    fn opening(&self, path: &Path) -> Opening {
        // Nothing is half done when a panic passes here.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry(path.to_owned()).or_default().clone()
    }

    /// Returns the model once its file has been checked.
    async fn loaded(&self, model: &str) -> Result<Arc<Loaded>, ProviderError> {
        let Some(path) = self.path(model) else {
            let known: Vec<_> = self
                .weights
                .keys()
                .map(|name| format!("`{name}`"))
                .collect();
            let known = match known.is_empty() {
                true => "there are none with a name".to_owned(),
                false => format!("there are {}", known.join(", ")),
            };
            let message =
                format!("no weights are called `{model}`: {known}; a path ends in `.gguf`");
            return Err(ProviderError::new(FailureClass::NotFound, message));
        };
        let opening = self.opening(&path);
        let options = engine::Options {
            threads: self.settings.threads,
            context: self.settings.context,
            memory: self.settings.memory,
            idle: self.settings.idle,
        };
        let loaded = opening
            .get_or_try_init(|| async {
                let opened = tokio::task::spawn_blocking(move || Loaded::open(&path, &options));
                let opened = opened
                    .await
                    .map_err(|panic| EngineError::Inside(panic.to_string()));
                opened.and_then(|opened| opened).map(Arc::new)
            })
            .await;
        loaded.cloned().map_err(failure)
    }

    fn about_of(&self, context: usize) -> Capabilities {
        Capabilities {
            native_tools: false,
            prompt_tools: true,
            parallel_calls: false,
            vision: false,
            structured: Structured::Grammar,
            constrain: Constrain::Always,
            window: u64::try_from(context).ok(),
            ..Capabilities::FULL
        }
    }
}

impl Provider for Local {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let open = self.path(model).map(|path| self.opening(&path));
        let loaded = open.as_ref().and_then(|open| open.get());
        self.about_of(loaded.map_or(self.settings.context, |loaded| loaded.context()))
    }

    fn takes_form(&self, _model: &str) -> bool {
        true
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let model = request.model.to_owned();
        let asked = Asked::of(&request, &self.settings);
        Box::pin(async move {
            let loaded = self.loaded(&model).await?;
            loaded.complete(asked, sink).await.map_err(failure)
        })
    }

    fn about<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Capabilities, ProviderError>> {
        Box::pin(async move {
            let loaded = self.loaded(model).await?;
            Ok(self.about_of(loaded.context()))
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        Box::pin(async { Ok(self.weights.keys().cloned().collect()) })
    }
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .field("weights", &self.weights)
            .finish_non_exhaustive()
    }
}

fn failure(error: EngineError) -> ProviderError {
    let class = match &error {
        // The next model of the chain is not harmed by these.
        EngineError::Read { .. } | EngineError::File { .. } | EngineError::Memory { .. } => {
            FailureClass::NotFound
        }
        EngineError::Context { .. } => FailureClass::ContextLength,
        EngineError::Constraint(_) => FailureClass::BadRequest,
        EngineError::Busy { .. } | EngineError::Inside(_) => FailureClass::Overloaded,
    };
    ProviderError::new(class, error.to_string())
}

#[cfg(test)]
mod tests;
