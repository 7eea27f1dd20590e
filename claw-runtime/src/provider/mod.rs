//! Adapters to model services: one trait, one file a wire format.
//!
//! A provider makes exactly one attempt per call. Retry, backoff and the choice of another model belong to the turn,
//! because they are journaled.

pub mod abilities;
pub mod anthropic;
mod assemble;
#[cfg(feature = "http")]
mod azure;
mod calls;
#[cfg(feature = "http")]
mod content;
pub mod dashscope;
mod decode;
mod draft;
#[cfg(feature = "http")]
mod endpoint;
mod failure;
mod function;
pub mod gemini;
mod history;
#[cfg(feature = "http")]
pub(crate) mod http;
mod lenient;
#[cfg(feature = "local")]
pub mod local;
mod loose;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
#[cfg(feature = "http")]
mod prefix;
pub mod presets;
#[cfg(all(test, feature = "http"))]
mod samples;
pub mod scripted;
mod sse;
mod surrogates;
mod target;
mod think;
mod thinking;
pub mod veil;
#[cfg(feature = "http")]
mod wait;
mod wrong_address;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

#[cfg(feature = "http")]
pub use anthropic::Anthropic;
#[cfg(feature = "http")]
pub use azure::Azure;
#[cfg(feature = "http")]
pub use dashscope::DashScope;
pub use decode::{Decoder, Head, Progress};
#[cfg(feature = "http")]
pub use endpoint::SetupError;
#[cfg(feature = "http")]
pub use gemini::Gemini;
pub use history::{History, Kept};
#[cfg(feature = "http")]
pub use http::Timeouts;
#[cfg(feature = "local")]
pub use local::Local;
#[cfg(feature = "http")]
pub use ollama::Ollama;
#[cfg(feature = "http")]
pub use openai_chat::OpenAiChat;
#[cfg(feature = "http")]
pub use openai_responses::OpenAiResponses;
pub use scripted::Scripted;
pub use target::{Protocol, Target};
pub use thinking::{Effort, Thinking};

use crate::dialect::Dialect;
use crate::message::{ContentBlock, Message, StopReason, ToolCall, Usage};
use crate::registry::Toolset;
use crate::secret::Secrets;

/// An adapter to a model service.
pub trait Provider: Send + Sync {
    /// Returns the name before the colon in `provider:model`.
    fn name(&self) -> &str;

    /// Returns what `model` can do, as far as it is declared; what a run learns later is the turn's.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// Returns the dialect that tools are lowered to for `model`; [`Request::dialect`] brings it back.
    fn dialect(&self, _model: &str) -> &'static Dialect {
        Dialect::CANONICAL
    }

    /// Tells whether a request to `model` may carry a [`form`](Request::form): the format has a place for one and the
    /// service may heed it. Whether it does, the first such request shows.
    fn takes_form(&self, _model: &str) -> bool {
        false
    }

    /// Makes one attempt and returns the finished reply.
    ///
    /// The request is encoded before this returns; the future borrows nothing of it, so the conversation may go on
    /// being used. With a `sink` the reply is streamed and each piece is handed over as it comes; the returned reply is
    /// the same either way. Dropping the future cancels the request.
    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>>;

    /// Asks the service what `model` can do, where it tells; elsewhere returns what is declared.
    fn about<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Capabilities, ProviderError>> {
        let declared = self.capabilities(model);
        Box::pin(async move { Ok(declared) })
    }

    /// Adds what it sends to its service and nobody else may see: keys, headers named like secrets. An agent masks them
    /// wherever something is kept or shown.
    fn secrets(&self, _known: &Secrets) {}

    /// Returns how many values its service was not told, by the name of what they are; see [`veil`]. Of one conversation, that
    /// with the most.
    fn hidden(&self) -> BTreeMap<String, usize> {
        BTreeMap::new()
    }

    /// Returns how many images its service was sent as they are, where values are hidden from it; of one conversation, that
    /// with the most.
    fn images(&self) -> usize {
        0
    }

    /// Returns the models the service offers.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Receives the pieces of a reply while it streams.
pub trait DeltaSink: Send {
    /// Takes the next piece.
    fn delta(&mut self, delta: Delta);
}

impl<S: DeltaSink + ?Sized> DeltaSink for &mut S {
    fn delta(&mut self, delta: Delta) {
        (**self).delta(delta);
    }
}

/// A piece of a growing block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Text {
        /// The piece.
        text: String,
    },
    /// More reasoning.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// A tool call whose name is known; its arguments still grow.
    CallStarted {
        /// Its place among the calls of this reply, from 0.
        index: usize,
        /// The tool's name on the wire.
        name: String,
    },
}

/// What is asked of a model: everything in it is a function of the view and the target.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The model's name at the provider.
    pub model: &'a str,
    /// Standing instructions; empty for none.
    pub system: &'a str,
    /// The conversation. Under [`Protocol::Prompt`] it is already rendered to plain text messages.
    pub messages: &'a [Message],
    /// What of the conversation an earlier request carried already; `None` to write all of it anew.
    pub history: Option<History<'a>>,
    /// Tools to offer natively; `None` under [`Protocol::Prompt`] and read-only chat.
    pub tools: Option<&'a Toolset>,
    /// The dialect the tools and the calls of the conversation are written in, as is the reply; the caller lifts it.
    pub dialect: &'static Dialect,
    /// Whether the model may, must or must not call.
    pub tool_choice: ToolChoice,
    /// Output limit in tokens; `None` leaves it to the provider.
    pub max_output_tokens: Option<u64>,
    /// Texts that end the reply; the prompt protocol uses them against invented tool results.
    pub stop: &'a [&'a str],
    /// The JSON Schema, as text, that the reply is to be held to; left out where the format has no place for it.
    pub form: Option<&'a str>,
}

/// Whether the model may call tools in this round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// Not at all; the tools stay in the request, so that a prompt cache stays valid.
    None,
    /// At least one.
    Required,
}

/// A model's finished reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Text, reasoning, calls and opaque parts, in order.
    pub content: Vec<ContentBlock>,
    /// Calls whose arguments were cut off; never run.
    #[serde(default)]
    pub cut_calls: Vec<ToolCall>,
    /// Why it ended, derived from the content where the wire's word contradicts it.
    pub stop: StopReason,
    /// Tokens, as far as the provider tells.
    pub usage: Option<Usage>,
}

/// What a provider and model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Takes tool definitions and answers with calls.
    pub native_tools: bool,
    /// Follows the prompt protocol, where it takes no tool definitions.
    pub prompt_tools: bool,
    /// May answer with several calls in one round.
    pub parallel_calls: bool,
    /// Streams.
    pub streaming: bool,
    /// Streams while tools are offered.
    pub streaming_with_tools: bool,
    /// Takes images.
    pub vision: bool,
    /// Takes a system message.
    pub system_role: bool,
    /// Sends reasoning apart from text.
    pub reasoning: bool,
    /// How far it can be held to a form.
    pub structured: Structured,
    /// When it is, where it can be.
    #[serde(default)]
    pub constrain: Constrain,
    /// How many tokens a conversation may have, the reply included; `None` where nobody told.
    pub window: Option<u64>,
}

impl Capabilities {
    /// A current chat model of a large service.
    pub const FULL: Self = Self {
        native_tools: true,
        prompt_tools: true,
        parallel_calls: true,
        streaming: true,
        streaming_with_tools: true,
        vision: true,
        system_role: true,
        reasoning: false,
        structured: Structured::None,
        constrain: Constrain::OnFailure,
        window: None,
    };
}

/// When a model under the prompt protocol is held to a form: one JSON object that is a call or an answer.
///
/// It takes effect where the provider [takes forms](Provider::takes_form) and the model is not one that reasons, for a
/// form leaves no place for reasoning. A service that refuses the form or does not heed it is not sent one again in that
/// session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constrain {
    /// In every request that may call tools: for weak models, which write no valid call otherwise.
    Always,
    /// In the last re-ask after replies that could not be read.
    #[default]
    OnFailure,
    /// Not at all.
    Never,
}

/// How far a model's output can be held to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Structured {
    /// Not at all.
    None,
    /// Some JSON object.
    Object,
    /// A JSON Schema.
    Schema,
    /// A grammar.
    Grammar,
}

impl Structured {
    /// Tells whether it takes a JSON Schema; what takes grammars turns one into a grammar.
    pub fn takes_schema(self) -> bool {
        matches!(self, Self::Schema | Self::Grammar)
    }
}

/// One failed attempt, classified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{class}: {message}")]
pub struct ProviderError {
    /// What kind of failure; decides about retry.
    pub class: FailureClass,
    /// What the service or the transport said, bounded and free of secrets.
    pub message: String,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the service asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// What had been said before the stream broke; partial calls are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<ContentBlock>,
    /// Tokens spent all the same, where the service told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl ProviderError {
    /// Returns an error of this class without status, wait, partial content or usage.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            retry_after: None,
            partial: Vec::new(),
            usage: None,
        }
    }
}

/// What kind of failure an attempt met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureClass {
    /// Too many requests.
    RateLimit,
    /// Paid quota used up; waiting does not help.
    Quota,
    /// The service is overloaded or broken (5xx, 408, 409).
    Overloaded,
    /// Key missing, wrong or not allowed.
    Auth,
    /// The service refuses the request's form.
    BadRequest,
    /// The model or address does not exist.
    NotFound,
    /// The service says that this model takes no tools.
    ToolsUnsupported,
    /// The service refuses a tool's schema, or the way it is sent.
    SchemaRefused,
    /// The conversation is longer than the model's window.
    ContextLength,
    /// No connection, or it broke.
    Network,
    /// Nothing came in time.
    Stalled,
    /// The stream ended without a terminal signal.
    IncompleteStream,
    /// The answer is not what the format says.
    BadResponse,
    /// The provider could not form a call and said so.
    MalformedCall,
    /// The provider's filter refused.
    Filtered,
}

impl FailureClass {
    /// Tells whether the same request may succeed on another attempt.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Overloaded
                | Self::Network
                | Self::Stalled
                | Self::IncompleteStream
                | Self::BadResponse
        )
    }

    /// Returns the class in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate limited",
            Self::Quota => "quota used up",
            Self::Overloaded => "service unavailable",
            Self::Auth => "not authorised",
            Self::BadRequest => "request refused",
            Self::NotFound => "not found",
            Self::ToolsUnsupported => "tools not supported",
            Self::SchemaRefused => "tool schema refused",
            Self::ContextLength => "conversation too long for the model",
            Self::Network => "network failure",
            Self::Stalled => "no answer in time",
            Self::IncompleteStream => "answer cut off",
            Self::BadResponse => "unreadable answer",
            Self::MalformedCall => "malformed tool call",
            Self::Filtered => "refused by the provider's filter",
        }
    }
}

impl std::fmt::Display for FailureClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
