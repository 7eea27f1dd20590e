//! A provider that plays a script: for tests, and for examples that need no service.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use super::{
    Capabilities, Delta, DeltaSink, FailureClass, Provider, ProviderError, Reply, Request,
    ToolChoice,
};
use crate::message::{ContentBlock, Message, StopReason, ToolCall};

/// How many characters a streamed piece of text has.
const PIECE: usize = 7;

/// A provider whose answers are written beforehand.
///
/// ```
/// use claw_runtime::provider::scripted::{Scripted, calls, says};
///
/// let model = Scripted::new([
///     calls("weather", serde_json::json!({"city": "Oslo"})),
///     says("It is 12 °C in Oslo."),
/// ]);
/// assert!(model.requests().is_empty());
/// ```
pub struct Scripted {
    capabilities: Capabilities,
    script: Script,
    state: Mutex<State>,
}

enum Script {
    List { answers: Vec<Answer>, repeats: bool },
    Function(Function),
}

type Function = Box<dyn Fn(&Request<'_>) -> Answer + Send + Sync>;

#[derive(Default)]
struct State {
    requests: Vec<Recorded>,
    calls: u32,
}

/// One written answer: a reply or a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer(Result<Reply, ProviderError>);

/// Answers with this text.
pub fn says(text: impl Into<String>) -> Answer {
    reply(vec![ContentBlock::text(text)])
}

/// Answers with a call of the tool `name`. Arguments that are a JSON string stand for their text, well formed or not.
pub fn calls(name: impl Into<String>, arguments: serde_json::Value) -> Answer {
    reply(vec![call(name.into(), arguments)])
}

/// Fails in this way.
pub fn fails(class: FailureClass) -> Answer {
    ProviderError::new(class, "the script says so").into()
}

impl Answer {
    /// Adds a call of the tool `name` to the reply; a failure stays what it is.
    #[must_use]
    pub fn and_calls(self, name: impl Into<String>, arguments: serde_json::Value) -> Self {
        self.and(call(name.into(), arguments))
    }

    /// Adds a text to the reply; a failure stays what it is.
    #[must_use]
    pub fn and_says(self, text: impl Into<String>) -> Self {
        self.and(ContentBlock::text(text))
    }

    fn and(self, block: ContentBlock) -> Self {
        match self.0 {
            Ok(mut said) => {
                said.content.push(block);
                reply(said.content)
            }
            failure => Self(failure),
        }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self(Ok(reply))
    }
}

impl From<ProviderError> for Answer {
    fn from(error: ProviderError) -> Self {
        Self(Err(error))
    }
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The model asked for.
    pub model: String,
    /// The standing instructions.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The names of the tools offered; `None` when none were.
    pub tools: Option<Vec<String>>,
    /// Whether the model might, had to or must not call.
    pub tool_choice: ToolChoice,
    /// The output limit.
    pub max_output_tokens: Option<u64>,
    /// The texts that end the reply.
    pub stop: Vec<String>,
    /// The schema the reply was to be held to.
    pub form: Option<String>,
    /// Whether pieces were asked for.
    pub streamed: bool,
}

impl Scripted {
    /// Returns a provider that gives these answers in order; past the last it fails and says so.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::of(Script::List {
            answers: answers.into_iter().collect(),
            repeats: false,
        })
    }

    /// Returns a provider whose answers are a function of the request.
    pub fn from_fn<A: Into<Answer>>(
        answer: impl Fn(&Request<'_>) -> A + Send + Sync + 'static,
    ) -> Self {
        Self::of(Script::Function(Box::new(move |request| {
            answer(request).into()
        })))
    }

    fn of(script: Script) -> Self {
        Self {
            capabilities: Capabilities::FULL,
            script,
            state: Mutex::default(),
        }
    }

    /// Gives the last answer again and again once the list is through.
    #[must_use]
    pub fn repeating(mut self) -> Self {
        if let Script::List { repeats, .. } = &mut self.script {
            *repeats = true;
        }
        self
    }

    /// Sets what the model is said to be able to do; [`Capabilities::FULL`] without.
    #[must_use]
    pub fn declare(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets how many tokens the model is said to read; unknown without.
    #[must_use]
    pub fn reading(mut self, tokens: u64) -> Self {
        self.capabilities.window = Some(tokens);
        self
    }

    /// Returns the requests so far, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is half done when a panic passes here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request<'_>, streamed: bool) -> Result<Reply, ProviderError> {
        let at = {
            let mut state = self.state();
            state.requests.push(record(request, streamed));
            state.requests.len() - 1
        };
        let Answer(answer) = match &self.script {
            Script::Function(answer) => answer(request),
            Script::List { answers, repeats } => {
                let last = answers.last().filter(|_| *repeats);
                answers.get(at).or(last).cloned().unwrap_or_else(|| {
                    let given = answers.len();
                    let message = format!("the script has {given} answers and was asked for more");
                    ProviderError::new(FailureClass::BadRequest, message).into()
                })
            }
        };
        answer.map(|reply| self.with_ids(reply))
    }

    /// Gives an id to each call that has none, unique for this provider.
    fn with_ids(&self, mut reply: Reply) -> Reply {
        let mut state = self.state();
        for block in &mut reply.content {
            if let ContentBlock::ToolCall(call) = block
                && call.id.is_empty()
            {
                state.calls += 1;
                call.id = format!("call{:05}", state.calls);
            }
        }
        reply
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        self.capabilities
    }

    fn takes_form(&self, _model: &str) -> bool {
        self.capabilities.structured.takes_schema()
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let answer = self.answer(&request, sink.is_some());
        if let Some(mut sink) = sink {
            let content = match &answer {
                Ok(reply) => &reply.content,
                Err(error) => &error.partial,
            };
            play(content, &mut *sink);
        }
        Box::pin(std::future::ready(answer))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        Box::pin(std::future::ready(Ok(vec!["scripted".to_owned()])))
    }
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asked = self.state().requests.len();
        f.debug_struct("Scripted")
            .field("asked", &asked)
            .finish_non_exhaustive()
    }
}

fn call(name: String, arguments: serde_json::Value) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: String::new(),
        name,
        arguments: match arguments {
            serde_json::Value::String(text) => text,
            value => value.to_string(),
        },
    })
}

fn reply(content: Vec<ContentBlock>) -> Answer {
    let has_calls = content
        .iter()
        .any(|block| matches!(block, ContentBlock::ToolCall(_)));
    Answer(Ok(Reply {
        content,
        cut_calls: Vec::new(),
        stop: if has_calls {
            StopReason::ToolCalls
        } else {
            StopReason::Stop
        },
        usage: None,
    }))
}

fn record(request: &Request<'_>, streamed: bool) -> Recorded {
    let names = |tools: &crate::registry::Toolset| {
        tools.iter().map(|tool| tool.name().to_owned()).collect()
    };
    Recorded {
        model: request.model.to_owned(),
        system: request.system.to_owned(),
        messages: request.messages.to_vec(),
        tools: request.tools.map(names),
        tool_choice: request.tool_choice,
        max_output_tokens: request.max_output_tokens,
        stop: request.stop.iter().map(|text| (*text).to_owned()).collect(),
        form: request.form.map(str::to_owned),
        streamed,
    }
}

fn play(content: &[ContentBlock], sink: &mut dyn DeltaSink) {
    let mut index = 0;
    for block in content {
        match block {
            ContentBlock::Text { text } => {
                pieces(text).for_each(|text| sink.delta(Delta::Text { text }));
            }
            ContentBlock::Reasoning { text } => {
                pieces(text).for_each(|text| sink.delta(Delta::Reasoning { text }));
            }
            ContentBlock::ToolCall(call) => {
                let name = call.name.clone();
                sink.delta(Delta::CallStarted { index, name });
                index += 1;
            }
            _ => {}
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let mut chars = text.chars();
    std::iter::from_fn(move || {
        let piece: String = chars.by_ref().take(PIECE).collect();
        (!piece.is_empty()).then_some(piece)
    })
}
