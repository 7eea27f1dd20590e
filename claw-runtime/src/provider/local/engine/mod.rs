//! Runs one model in the process: tokens in, text out, one thread for all sessions.
//!
//! A file of weights is somebody else's data, so nothing of it is believed before it is checked. The engine knows no
//! chat, no tools and no templates: a job is a list of tokens, a bound and, if need be, a [`Constraint`] that holds the
//! decoding to a form.

mod attend;
mod encode;
mod error;
mod format;
mod gguf;
mod job;
mod kernel;
mod matrix;
mod memories;
mod model;
mod sample;
mod shape;
mod split;
mod text;
mod threads;
mod vocabulary;
mod worker;

#[cfg(test)]
pub(super) mod tests;

use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver};

pub(crate) use error::EngineError;
pub(crate) use job::{Constraint, ConstraintError, Done, End, Job, Piece, Step};
pub(crate) use vocabulary::{Kind, Vocabulary};

use gguf::{Fault, Gguf};
use model::Model;
use shape::Shape;
use threads::Threads;
use worker::{CHUNK, Order, Rules};

/// Jobs that may be with an engine at the same time, those that wait included.
const MOST_JOBS: usize = 64;

/// How an engine runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// Threads that compute; one less than there are cores where none is given.
    pub threads: Option<NonZeroUsize>,
    /// Tokens of a prompt and its reply together at most, where the model was made for as many.
    pub context: usize,
    /// Bytes of memory the engine may take: weights, and what is kept of texts.
    pub memory: u64,
    /// How long weights stay loaded without a job.
    pub idle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: None,
            context: 4096,
            memory: 4 << 30,
            idle: Duration::from_secs(300),
        }
    }
}

/// What a file says of its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// The name its makers gave it.
    pub name: Option<String>,
    /// The chat template, in Jinja; untrusted.
    pub template: Option<String>,
    /// Tokens of a prompt and its reply together at most.
    pub context: usize,
    /// How many weights there are.
    pub parameters: u64,
    /// Bytes of memory they take once loaded.
    pub weights: u64,
    /// Bytes of memory one text of the whole context takes.
    pub text: u64,
}

/// One model. Cheap to clone; the weights go with the last clone and the last job.
#[derive(Clone)]
pub(crate) struct Engine {
    about: Arc<About>,
    vocabulary: Arc<Vocabulary>,
    orders: Sender<Order>,
    /// Jobs that are not at their end.
    jobs: Arc<AtomicUsize>,
}

impl Engine {
    /// Checks the file and starts the engine's thread. Weights are loaded by the first job.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or used, or its model needs more memory than it may have.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, EngineError> {
        let opened = Opened::read(path)?;
        let shape = opened.shape;
        let context = options.context.clamp(2, shape.context.max(2));
        let weights = Shape::weight_bytes(&opened.gguf);
        let text = shape.token_bytes().saturating_mul(context as u64);
        let need = weights.saturating_add(text);
        if need > options.memory {
            return Err(EngineError::Memory {
                path: path.to_owned(),
                need,
                limit: options.memory,
            });
        }
        let fault = |fault| file_error(path, fault);
        let text_of = |key| opened.gguf.text(key).map(|text| text.map(str::to_owned));
        let about = About {
            name: text_of("general.name").map_err(fault)?,
            template: text_of("tokenizer.chat_template").map_err(fault)?,
            context,
            parameters: Shape::parameters(&opened.gguf),
            weights,
            text,
        };
        let tokens = (options.memory - weights) / shape.token_bytes().max(1);
        let vocabulary = Arc::new(opened.vocabulary);
        let rules = Rules {
            vocabulary: vocabulary.clone(),
            context,
            tokens: usize::try_from(tokens).unwrap_or(usize::MAX),
            idle: options.idle,
        };
        let threads = options.threads.unwrap_or_else(Threads::default_count);
        let path = path.to_owned();
        let (orders, mut taken) = channel();
        let thread = std::thread::Builder::new().name("claw-model".to_owned());
        let started =
            thread.spawn(move || worker::work(&mut taken, &rules, || load(&path, threads)));
        started.map_err(|err| EngineError::Inside(format!("no thread for the model: {err}")))?;
        Ok(Self {
            about: Arc::new(about),
            vocabulary,
            orders,
            jobs: Arc::default(),
        })
    }

    /// Returns what the file says of its model.
    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// Returns the model's tokens.
    pub(crate) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Asks for a reply. Its pieces come by the receiver; dropping that cancels the job.
    ///
    /// # Errors
    ///
    /// When the prompt leaves no room for a reply in the context, has a token that is none of the model's, or too many
    /// jobs wait.
    pub(crate) fn run(&self, job: Job) -> Result<Receiver<Piece>, EngineError> {
        let (prompt, context) = (job.prompt.len(), self.about.context);
        if prompt >= context {
            return Err(EngineError::Context { prompt, context });
        }
        let known = |token: &u32| (*token as usize) < self.vocabulary.words.len();
        if prompt == 0 || !job.prompt.iter().all(known) {
            let fault = "the prompt is empty, or has a token that is none of the model's";
            return Err(EngineError::Inside(fault.to_owned()));
        }
        let place = Place::take(&self.jobs)?;
        // Room for every piece there can be, so that a slow reader never holds up the others: each job before it, the
        // chunks of the prompt, a text for each token and one more, and the end.
        let most = MOST_JOBS + prompt / CHUNK + job.most.min(context) + 8;
        let (pieces, receiver) = mpsc::channel(most);
        let order = Order::new(job, pieces, place);
        let gone = |_| EngineError::Inside("the model's thread has ended".to_owned());
        self.orders.send(order).map_err(gone)?;
        Ok(receiver)
    }
}

/// One of the places for jobs, free again once dropped.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(jobs: &Arc<AtomicUsize>) -> Result<Self, EngineError> {
        let one_more = |jobs| (jobs < MOST_JOBS).then_some(jobs + 1);
        match jobs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Self(jobs.clone())),
            Err(waiting) => Err(EngineError::Busy { waiting }),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file whose head was read and found right.
struct Opened {
    file: BufReader<File>,
    gguf: Gguf,
    vocabulary: Vocabulary,
    shape: Shape,
}

impl Opened {
    fn read(path: &Path) -> Result<Self, EngineError> {
        let unread = |err: std::io::Error| EngineError::Read {
            path: path.to_owned(),
            reason: err.to_string(),
        };
        let file = File::open(path).map_err(unread)?;
        let found = file.metadata().map_err(unread)?;
        if !found.is_file() {
            return Err(file_error(path, Fault("it is no file".to_owned())));
        }
        let mut file = BufReader::with_capacity(1 << 16, file);
        let read = |file: &mut BufReader<File>| {
            let gguf = Gguf::read(file, found.len())?;
            let vocabulary = Vocabulary::read(&gguf)?;
            let shape = Shape::read(&gguf, vocabulary.words.len())?;
            Ok((gguf, vocabulary, shape))
        };
        let (gguf, vocabulary, shape) = read(&mut file).map_err(|fault| file_error(path, fault))?;
        Ok(Self {
            file,
            gguf,
            vocabulary,
            shape,
        })
    }
}

fn file_error(path: &Path, fault: Fault) -> EngineError {
    EngineError::File {
        path: path.to_owned(),
        fault: fault.0,
    }
}

/// Loads the weights. The head is read again: the file may be another one by now.
fn load(path: &Path, threads: NonZeroUsize) -> Result<Model, EngineError> {
    let mut opened = Opened::read(path)?;
    let threads = Threads::new(threads);
    let model = Model::read(&mut opened.file, &opened.gguf, opened.shape, threads);
    model.map_err(|fault| file_error(path, fault))
}
