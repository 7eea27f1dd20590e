//! What the engine is asked, and what it answers.

use tokio_util::sync::CancellationToken;

use super::EngineError;

/// A prompt to be continued.
pub(crate) struct Job {
    /// The prompt as tokens, with whatever begins a text for this model.
    pub prompt: Vec<u32>,
    /// Holds the reply to a form.
    pub constraint: Option<Box<dyn Constraint>>,
    /// Tokens of the reply at most; what the context has room for bounds it too.
    pub most: usize,
    /// 0 takes the likeliest token each time and is deterministic.
    pub temperature: f32,
    /// Keeps the likeliest tokens that have this probability together; 1 keeps all.
    pub top_p: f32,
    /// Seeds the choice among tokens; the same seed gives the same reply.
    pub seed: u64,
    /// Texts that end the reply; they are not part of it.
    pub stop: Vec<String>,
    /// Ends the job between two tokens or two chunks of the prompt.
    pub cancel: CancellationToken,
}

/// Holds a reply to a form while it is written.
pub(crate) trait Constraint: Send {
    /// Sets the logit of every token that may not come next to negative infinity. Logits are one a token of the
    /// vocabulary.
    ///
    /// # Errors
    ///
    /// When no token may come and the reply is not complete, or the form became too costly to follow.
    fn mask(&mut self, logits: &mut [f32]) -> Result<Step, ConstraintError>;

    /// Takes the token that was chosen, and tells whether anything may follow.
    ///
    /// # Errors
    ///
    /// When it is none of those allowed.
    fn take(&mut self, token: u32) -> Result<Step, ConstraintError>;

    /// Returns tokens that must come next, which need not be asked of the model; [`take`](Self::take) is called for
    /// each of them in order.
    fn forced(&mut self) -> Vec<u32> {
        Vec::new()
    }
}

/// Whether a form has room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Some token is to come.
    More,
    /// The text is complete, and nothing may follow.
    Complete,
}

/// Why a form cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ConstraintError(pub String);

/// A piece of an answer, in the order they come: waits, prompt, text, and one end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// As many jobs come before this one.
    Waiting {
        /// Jobs before this one.
        before: usize,
    },
    /// The prompt is being read.
    Prompt {
        /// Tokens read, those found in a cache included.
        done: usize,
        /// Tokens of the prompt.
        total: usize,
    },
    /// The next text; whole characters only, never part of a stop text.
    Text(String),
    /// The reply is at its end. Nothing follows.
    Done(Done),
    /// The job failed. Nothing follows.
    Failed(EngineError),
}

/// How a reply ended and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// Why it ended.
    pub end: End,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Those of them whose work was found in a cache.
    pub cached: usize,
    /// Tokens of the reply, the one that ended it included.
    pub reply: usize,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The model ended it, or its form is complete.
    Complete,
    /// A stop text came.
    Stop,
    /// It was cut at the bound or at the end of the context.
    Length,
    /// It was cancelled.
    Cancelled,
}
