//! One opened model: a request becomes a job, and the job's pieces a reply.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError};

use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::choose::{self, Ranked, Reading};
use super::constraint::{Forms, Held};
use super::engine::{
    Constraint, ConstraintError, Done, End, Engine, EngineError, Job, Options, Piece,
};
use super::template::{Part, Said, Speaker, Template};
use super::{DeltaSink, Reply, Request, Settings};
use crate::fallback;
use crate::message::{ContentBlock, Message, Role, StopReason, Usage, text_of};
use crate::provider::Delta;

/// Weights up to which a model does not choose among tools by writing.
const SMALL: u64 = 1_000_000_000;
/// How a result begins under the prompt protocol, and one of a call that failed.
const RESULT: &str = "<tool_response";
const FAILED: &str = " error=\"true\">";

/// What of a request a job needs.
pub(super) struct Asked {
    said: Vec<Said>,
    form: Option<String>,
    most: Option<usize>,
    stop: Vec<String>,
    temperature: f32,
    seed: u64,
}

impl Asked {
    pub(super) fn of(request: &Request<'_>, settings: &Settings) -> Self {
        let system = Some(request.system)
            .filter(|system| !system.trim().is_empty())
            .map(|system| (Speaker::System, system.to_owned()));
        // Calls and results of another model's turns are text here.
        let messages = fallback::messages(request.messages);
        let messages = messages.iter().map(|message: &Message| {
            let by = match message.role {
                Role::System => Speaker::System,
                Role::Assistant => Speaker::Assistant,
                Role::User | Role::Tool => Speaker::User,
            };
            (by, text_of(&message.content))
        });
        Self {
            said: system
                .into_iter()
                .chain(messages)
                .map(|(by, text)| Said { by, text })
                .collect(),
            form: request.form.map(str::to_owned),
            most: request
                .max_output_tokens
                .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            stop: request.stop.iter().map(|stop| (*stop).to_owned()).collect(),
            temperature: settings.temperature,
            seed: settings.seed,
        }
    }
}

/// An opened model.
pub(super) struct Loaded {
    engine: Engine,
    template: Template,
    /// Made by the first request with a form.
    forms: OnceLock<Result<Arc<Forms>, ConstraintError>>,
}

impl Loaded {
    /// Checks the file. Its weights are read by the first job.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Self, EngineError> {
        let engine = Engine::open(path, options)?;
        let template = Template::new(engine.about().template.as_deref(), engine.vocabulary());
        Ok(Self {
            engine,
            template,
            forms: OnceLock::new(),
        })
    }

    /// Returns how many tokens a conversation and its reply may have together.
    pub(super) fn context(&self) -> usize {
        self.engine.about().context
    }

    pub(super) async fn complete(
        self: Arc<Self>,
        asked: Asked,
        mut sink: Option<Box<dyn DeltaSink + '_>>,
    ) -> Result<Reply, EngineError> {
        let form = match &asked.form {
            Some(form) => Some(self.branch(form, &asked.said).await?),
            None => None,
        };
        let constraint = match form {
            Some(form) => Some(Box::new(self.hold(form).await?) as Box<dyn Constraint>),
            None => None,
        };
        let parts = self.template.render(&asked.said);
        let mut job = self.job(Template::encode(&parts, self.engine.vocabulary()));
        job.constraint = constraint;
        job.most = asked.most.unwrap_or(usize::MAX).min(self.context());
        job.temperature = asked.temperature;
        job.seed = asked.seed;
        job.stop = asked.stop;
        let mut text = String::new();
        let done = finished(self.engine.run(job)?, |piece| {
            text.push_str(&piece);
            if let Some(sink) = &mut sink {
                sink.delta(Delta::Text { text: piece });
            }
        })
        .await?;
        Ok(reply(text, done))
    }

    fn job(&self, prompt: Vec<u32>) -> Job {
        Job {
            prompt,
            constraint: None,
            most: self.context(),
            temperature: 0.0,
            top_p: 0.95,
            seed: 0,
            stop: Vec::new(),
            // Who no longer waits for the pieces has cancelled the job.
            cancel: CancellationToken::new(),
        }
    }

    /// Returns the part of a form that a model of this size is held to.
    async fn branch(&self, form: &str, said: &[Said]) -> Result<String, EngineError> {
        let last = said.last().filter(|last| last.by == Speaker::User);
        let is_small = self.engine.about().parameters <= SMALL;
        let (Some(last), true, Some(ranked)) = (last, is_small, Ranked::read(form)) else {
            return Ok(form.to_owned());
        };
        if last.text.starts_with(RESULT) {
            // What was asked for is there. After a failure everything is open.
            return Ok(match last.text.contains(FAILED) {
                true => form.to_owned(),
                false => ranked.answer(),
            });
        }
        let vocabulary = self.engine.vocabulary();
        let mut text = Template::encode(&[Part::Text(last.text.clone())], vocabulary);
        text.truncate(choose::LONGEST);
        let (mut scores, mut best) = (Vec::new(), f64::NEG_INFINITY);
        for line in &ranked.lines {
            let line = Template::encode(&[Part::Text(line.clone())], vocabulary);
            let (reading, likelihood) = Reading::of(text.clone(), best);
            let mut job = self.job(line);
            job.constraint = Some(Box::new(reading));
            finished(self.engine.run(job)?, |_| {}).await?;
            let score = *likelihood.lock().unwrap_or_else(PoisonError::into_inner);
            best = best.max(score);
            scores.push(score);
        }
        Ok(ranked.best(&scores))
    }

    /// Compiles a form, which may take a while.
    async fn hold(self: &Arc<Self>, form: String) -> Result<Held, EngineError> {
        let this = self.clone();
        let held = tokio::task::spawn_blocking(move || {
            let forms = this
                .forms
                .get_or_init(|| Forms::new(this.engine.vocabulary()).map(Arc::new));
            forms.clone().and_then(|forms| forms.hold(&form))
        });
        let held = held
            .await
            .map_err(|panic| EngineError::Inside(panic.to_string()))?;
        // The words the turn knows a refused form by.
        held.map_err(|error| {
            EngineError::Constraint(ConstraintError(format!(
                "no grammar for its schema: {error}"
            )))
        })
    }
}

/// Takes the pieces of a job to its end.
async fn finished(
    mut pieces: Receiver<Piece>,
    mut said: impl FnMut(String),
) -> Result<Done, EngineError> {
    while let Some(piece) = pieces.recv().await {
        match piece {
            Piece::Text(text) => said(text),
            Piece::Done(done) => return Ok(done),
            Piece::Failed(error) => return Err(error),
            Piece::Waiting { before } => tracing::debug!(before, "waits for the model"),
            Piece::Prompt { done, total } => tracing::trace!(done, total, "reads the prompt"),
        }
    }
    Err(EngineError::Inside(
        "the model's thread has ended".to_owned(),
    ))
}

fn reply(text: String, done: Done) -> Reply {
    let count = |tokens: usize| u64::try_from(tokens).unwrap_or(u64::MAX);
    Reply {
        content: match text.is_empty() {
            true => Vec::new(),
            false => vec![ContentBlock::text(text)],
        },
        cut_calls: Vec::new(),
        stop: match done.end {
            End::Complete | End::Stop => StopReason::Stop,
            End::Length | End::Cancelled => StopReason::Length,
        },
        usage: Some(Usage {
            input_tokens: count(done.prompt),
            output_tokens: count(done.reply),
            cached_tokens: count(done.cached),
            reasoning_tokens: 0,
        }),
    }
}
