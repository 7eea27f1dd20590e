//! What can be wrong with a file of weights or a job.

use std::path::PathBuf;

/// Why a model could not be loaded or a job not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EngineError {
    /// The file cannot be read.
    #[error("cannot read the weights `{}`: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is not what it should be.
    #[error("the weights `{}` cannot be used: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The key or tensor, what was found and what was expected.
        fault: String,
    },
    /// The model needs more memory than it may have.
    #[error("the weights `{}` need {need} bytes of memory and may have {limit}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// Bytes needed: weights as they are held, and one cache.
        need: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The prompt does not fit the model's context.
    #[error("the prompt has {prompt} tokens, the context holds {context} with the reply")]
    Context {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens the context holds.
        context: usize,
    },
    /// As many jobs wait as may.
    #[error("{waiting} requests wait for this model already")]
    Busy {
        /// Jobs that wait.
        waiting: usize,
    },
    /// The constraint gave up.
    #[error("the form of the reply cannot be kept: {0}")]
    Constraint(#[from] super::ConstraintError),
    /// The engine failed inside; the job is lost, others are not.
    #[error("the model failed inside: {0}")]
    Inside(String),
}
