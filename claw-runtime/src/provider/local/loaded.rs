//! One opened model: a request becomes a job, and the job's pieces a reply.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::choose::{self, Ranked, Reading};
use super::constraint::{Forms, Free, Held};
use super::engine::{
    Constraint, ConstraintError, Done, End, Engine, EngineError, Job, Options, Piece,
};
use super::template::{Part, Said, Speaker, Template};
use super::{DeltaSink, Reply, Request, Settings};
use crate::fallback::{self, Results, constrained};
use crate::message::{ContentBlock, Message, Role, StopReason, Usage, text_of};
use crate::provider::Delta;

/// Weights up to which a model does not choose among tools by writing.
const SMALL: u64 = 1_000_000_000;
/// Tokens of such a model's answer where no limit is set: one that has not ended by then repeats itself.
const ANSWER: usize = 1_024;

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

/// What a model is asked for.
enum Wanted {
    /// Whatever it writes.
    Text,
    /// Whatever is in the form.
    Form(String),
    /// A call of one tool: the form that holds it to that, and what it is told of the tool.
    Call { form: String, about: String },
    /// An answer. A small model says more in plain words, so they become the form's here.
    Answer,
}

impl Wanted {
    /// Returns the conversation as it is told: of the tools only what the reply is about, as each word costs time.
    fn told(&self, mut said: Vec<Said>) -> Vec<Said> {
        let told = match self {
            Self::Text | Self::Form(_) => return said,
            // What else it was told would end up in the arguments.
            Self::Call { about, .. } => about.clone(),
            Self::Answer => match said.first() {
                Some(first) => constrained::instructions(&first.text).trim_end().to_owned(),
                None => String::new(),
            },
        };
        if let Some(first) = said.first_mut().filter(|it| it.by == Speaker::System) {
            first.text = told;
        }
        if matches!(self, Self::Answer) {
            said = plain(said);
        }
        said.retain(|it| it.by != Speaker::System || !it.text.is_empty());
        said
    }
}

/// Returns a conversation without its form: answers in plain words, and results as if the user had brought them, for a
/// small model that sees calls writes another.
fn plain(said: Vec<Said>) -> Vec<Said> {
    let mut out: Vec<Said> = Vec::new();
    for mut next in said {
        if next.by == Speaker::Assistant {
            match constrained::answer_of(&next.text) {
                Some(answer) => next.text = answer,
                None => continue,
            }
        } else if let Some(read) = fallback::results(&next.text) {
            let parts = read.texts.iter().copied().chain([read.rest]);
            let parts = parts.filter(|part| !part.is_empty());
            next.text = parts.collect::<Vec<_>>().join("\n\n");
        }
        match out.last_mut() {
            Some(last) if last.by == next.by => {
                last.text.push_str("\n\n");
                last.text.push_str(&next.text);
            }
            _ => out.push(next),
        }
    }
    out
}

/// Returns the results that a message of the user's is; `None` where the user said something in it.
fn only_results(said: &Said) -> Option<Results<'_>> {
    let read = fallback::results(&said.text).filter(|read| read.rest.is_empty());
    read.filter(|_| said.by == Speaker::User)
}

/// Writes plain words as the answer of a form.
#[derive(Default)]
struct Answer {
    is_begun: bool,
}

impl Answer {
    fn more(&mut self, text: &str) -> String {
        let text = Value::from(text).to_string();
        let escaped = &text[1..text.len() - 1];
        match std::mem::replace(&mut self.is_begun, true) {
            true => escaped.to_owned(),
            false => format!("{{\"answer\": \"{escaped}"),
        }
    }

    fn end(self) -> String {
        match self.is_begun {
            true => "\"}".to_owned(),
            false => String::new(),
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
        let wanted = match &asked.form {
            Some(form) => self.wanted(form, &asked.said).await?,
            None => Wanted::Text,
        };
        let constraint = match &wanted {
            Wanted::Form(form) | Wanted::Call { form, .. } => {
                Some(Box::new(self.hold(form.clone()).await?) as Box<dyn Constraint>)
            }
            Wanted::Answer => Some(Box::new(Free::default()) as Box<dyn Constraint>),
            Wanted::Text => None,
        };
        let mut answer = matches!(wanted, Wanted::Answer).then(Answer::default);
        let parts = self.template.render(&wanted.told(asked.said));
        let mut job = self.job(Template::encode(&parts, self.engine.vocabulary()));
        job.constraint = constraint;
        let most = if answer.is_some() { ANSWER } else { usize::MAX };
        job.most = asked.most.unwrap_or(most).min(self.context());
        job.temperature = asked.temperature;
        job.seed = asked.seed;
        job.stop = asked.stop;
        let mut text = String::new();
        let mut say = |piece: String| {
            text.push_str(&piece);
            if let Some(sink) = &mut sink {
                sink.delta(Delta::Text { text: piece });
            }
        };
        let done = finished(self.engine.run(job)?, |piece| match &mut answer {
            Some(answer) => say(answer.more(&piece)),
            None => say(piece),
        })
        .await?;
        if let (Some(answer), End::Complete | End::Stop) = (answer, done.end) {
            say(answer.end());
        }
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

    /// Returns what a model of this size is asked for.
    async fn wanted(&self, form: &str, said: &[Said]) -> Result<Wanted, EngineError> {
        let is_small = self.engine.about().parameters <= SMALL;
        if is_small && form == constrained::ANSWER {
            return Ok(Wanted::Answer);
        }
        let last = said.last().filter(|last| last.by == Speaker::User);
        let (Some(last), true, Some(ranked)) = (last, is_small, Ranked::read(form)) else {
            return Ok(Wanted::Form(form.to_owned()));
        };
        if let Some(read) = only_results(last) {
            // What was asked for is there. After a failure everything is open, once: it would say the same again.
            let turn = said.iter().rev();
            let turn =
                turn.take_while(|said| said.by != Speaker::User || only_results(said).is_some());
            let failed = |said: &&Said| only_results(said).is_some_and(|read| read.failed);
            return Ok(match read.failed && turn.filter(failed).count() < 2 {
                true => Wanted::Form(form.to_owned()),
                false => Wanted::Answer,
            });
        }
        let asked = fallback::results(&last.text).map_or(last.text.as_str(), |read| read.rest);
        let vocabulary = self.engine.vocabulary();
        let mut text = Template::encode(&[Part::Text(asked.to_owned())], vocabulary);
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
        Ok(match ranked.best(&scores) {
            Some((form, about)) => Wanted::Call { form, about },
            None => Wanted::Answer,
        })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(of: &[(Speaker, &str)]) -> Vec<Said> {
        let said = of.iter().map(|(by, text)| Said {
            by: *by,
            text: (*text).to_owned(),
        });
        said.collect()
    }

    #[test]
    fn an_answer_is_asked_for_in_plain_words() {
        let tool = crate::tool::Tool::dynamic(
            crate::tool::Spec::new("weather".into(), "Tells it.".into()),
            json!({"type": "object"}),
            Arc::new(|_, _| Box::pin(async { Ok(crate::tool::ToolOutput::default()) })),
        );
        let tools = crate::registry::Toolset::new([Arc::new(tool)]).expect("one name");
        let rules = constrained::system("Be kind.", &tools);
        assert!(rules.contains("# Tools"));
        let talk = said(&[
            (Speaker::System, &rules),
            (Speaker::User, "Hi"),
            (Speaker::Assistant, r#"{"answer": "Hello\n!"}"#),
            (Speaker::User, "Weather?"),
            (
                Speaker::Assistant,
                r#"{"name": "weather", "arguments": {}}"#,
            ),
            (
                Speaker::User,
                "<tool_response name=\"weather\" id=\"1\">\nrain > sun\n</tool_response>\n<tool_response name=\"x\" id=\"2\">\nno\n</tool_response>\n\nAnd now?",
            ),
        ]);
        let told = Wanted::Answer.told(talk.clone());
        let told: Vec<_> = told.iter().map(|it| (it.by, it.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Speaker::System, "Be kind."),
                (Speaker::User, "Hi"),
                (Speaker::Assistant, "Hello\n!"),
                (Speaker::User, "Weather?\n\nrain > sun\n\nno\n\nAnd now?"),
            ]
        );
        assert_eq!(Wanted::Text.told(talk.clone()).len(), talk.len());
        let call = Wanted::Call {
            form: String::new(),
            about: "Reply so.".to_owned(),
        };
        let told = call.told(talk);
        assert_eq!((told.len(), told[0].text.as_str()), (6, "Reply so."));
    }

    #[test]
    fn plain_words_become_the_forms_answer_piece_by_piece() {
        let mut answer = Answer::default();
        let mut text = String::new();
        for piece in ["a \"b\"", "", "\n\u{1}é\\"] {
            text.push_str(&answer.more(piece));
        }
        text.push_str(&answer.end());
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, json!({"answer": "a \"b\"\n\u{1}é\\"}));
        assert_eq!(Answer::default().end(), "");
    }
}
