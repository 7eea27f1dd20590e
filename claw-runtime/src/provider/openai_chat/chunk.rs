//! One JSON document of a chat completion: a piece of a stream, or the whole.
//!
//! Every field may be absent, null or of another type than documented: what cannot be read is nothing, never a failure.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{ContentBlock, StopReason, Usage};
use crate::provider::assemble::Assembler;
use crate::provider::calls::{Arguments, CallPiece};
use crate::provider::failure::Complaint;
use crate::provider::sse::Event;
use crate::provider::surrogates::Joiner;
use crate::provider::{DeltaSink, FailureClass, ProviderError, Reply};

/// The most choices and pieces of calls that one document may hold, and the most calls of an answer.
const MOST: usize = 4096;

/// The longest complaint read, in bytes.
const MOST_COMPLAINT: usize = 1 << 20;

/// Reads the documents of one answer.
#[derive(Debug)]
pub(super) struct Chunks {
    provider: String,
    model: String,
    assembler: Assembler,
    joiner: Joiner,
    refusal: String,
    details: Vec<Value>,
    error: Option<ProviderError>,
    said_done: bool,
    /// How often the model made progress.
    progress: u64,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "few")]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// llama.cpp reads a long prompt and says how far it is.
    #[serde(default)]
    prompt_progress: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<Said<'a>>,
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "few")]
    tool_calls: Option<Vec<Option<Call<'a>>>>,
    #[serde(borrow, default)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// Reads a list or `null`. A list of millions of empty objects is small on the wire and gigabytes in memory, so a long one
/// is no answer.
fn few<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Few<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Option<Vec<T>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} or null")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = list.next_element()? {
                if items.len() == MOST {
                    return Err(de::Error::invalid_length(MOST + 1, &self));
                }
                items.push(item);
            }
            Ok(Some(items))
        }
    }
    deserializer.deserialize_any(Few(PhantomData))
}

impl Chunks {
    pub(super) fn new(provider: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            assembler: Assembler::default(),
            joiner: Joiner::default(),
            refusal: String::new(),
            details: Vec::new(),
            error: None,
            said_done: false,
            progress: 0,
        }
    }

    /// Takes one stream event.
    pub(super) fn event(&mut self, event: Event<'_>, sink: &mut dyn DeltaSink) {
        if !self.take(event, sink) && !self.has_stopped() {
            self.fail(ProviderError::new(
                FailureClass::BadResponse,
                "a stream event is no JSON of a chat completion",
            ));
        }
    }

    /// Takes an event that the end of the stream closed: one that cannot be read was cut.
    pub(super) fn last_event(&mut self, event: Event<'_>, sink: &mut dyn DeltaSink) {
        self.take(event, sink);
    }

    fn take(&mut self, event: Event<'_>, sink: &mut dyn DeltaSink) -> bool {
        let data = event.data.trim();
        // Some gateways send their keep-alive comments as data.
        if self.is_done() || data.is_empty() || data.starts_with(':') {
            return true;
        }
        if data == "[DONE]" {
            self.said_done = true;
            return true;
        }
        if event.is_error && self.complain(data, true) {
            return true;
        }
        self.document(data, false, sink) || self.lines(event, sink)
    }

    /// Takes a body that is one document.
    pub(super) fn whole(&mut self, body: &str, sink: &mut dyn DeltaSink) {
        if !self.document(body, true, sink) {
            self.fail(ProviderError::new(
                FailureClass::BadResponse,
                "the answer is no JSON of a chat completion",
            ));
        } else if self.error.is_none() && !self.has_stopped() {
            // A whole body is its own end.
            self.assembler.stop(StopReason::Stop);
        }
    }

    /// Records why the answer is worth nothing from here on; the first reason counts.
    pub(super) fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert(error);
    }

    pub(super) fn is_done(&self) -> bool {
        self.said_done || self.error.is_some()
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.assembler.has_stopped()
    }

    /// Returns a number that grows whenever the model makes progress.
    pub(super) fn progress_made(&self) -> u64 {
        self.progress
    }

    pub(super) fn finish(mut self, sink: &mut dyn DeltaSink) -> Result<Reply, ProviderError> {
        if let Some(error) = self.error.take() {
            return Err(self.broken(error, sink));
        }
        let is_whole = self.has_stopped() || (self.said_done && self.assembler.has_whole_calls());
        if !is_whole {
            let error = ProviderError::new(
                FailureClass::IncompleteStream,
                "the stream ended before the model stopped",
            );
            return Err(self.broken(error, sink));
        }
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            self.keep("reasoning_details", Value::Array(details));
        }
        if !self.refusal.is_empty() {
            let refusal = std::mem::take(&mut self.refusal);
            self.keep("refusal", Value::String(refusal));
        }
        self.assembler.finish(sink)
    }

    pub(super) fn interrupt(
        self,
        mut error: ProviderError,
        sink: &mut dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        if self.error.is_some() || self.has_stopped() {
            return self.finish(sink);
        }
        if error.class == FailureClass::Network && self.progress > 0 {
            error.class = FailureClass::IncompleteStream;
        }
        Err(self.broken(error, sink))
    }

    fn broken(self, error: ProviderError, sink: &mut dyn DeltaSink) -> ProviderError {
        ProviderError {
            partial: self.assembler.into_partial(sink),
            ..error
        }
    }

    fn keep(&mut self, name: &str, value: Value) {
        self.assembler.opaque(ContentBlock::Opaque {
            provider: self.provider.clone(),
            model: self.model.clone(),
            value: Value::Object([(name.to_owned(), value)].into_iter().collect()),
        });
    }

    /// Takes several documents in one event: a server that leaves out the blank lines.
    fn lines(&mut self, event: Event<'_>, sink: &mut dyn DeltaSink) -> bool {
        if !event.data.contains('\n') || !event.data.lines().all(is_document) {
            return false;
        }
        for data in event.data.lines() {
            self.event(Event { data, ..event }, sink);
        }
        true
    }

    /// Takes one document; returns `false` when it is none.
    fn document(&mut self, json: &str, whole: bool, sink: &mut dyn DeltaSink) -> bool {
        // Half a character is legal JSON and no Rust string; only an escape can be one.
        if self.joiner.is_waiting() || json.contains("\\ud") || json.contains("\\uD") {
            let mended = self.joiner.mend(json);
            return self.read(&mended, whole, sink);
        }
        self.read(json, whole, sink)
    }

    fn read(&mut self, json: &str, whole: bool, sink: &mut dyn DeltaSink) -> bool {
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(json) else {
            return self.complain(json, whole);
        };
        self.progress += u64::from(chunk.prompt_progress.is_some());
        let mut choices = chunk.choices.iter().flatten();
        if let Some(error) = chunk.error.or(choices.find_map(|choice| choice.error)) {
            let error = format!("{{\"error\":{}}}", error.get());
            self.read_choices(chunk.choices, whole, sink);
            if self.complain(&error, whole) {
                return true;
            }
        } else if chunk.choices.is_none() && chunk.usage.is_none() {
            // An event of a kind this version does not know is skipped; a whole body of it is no answer.
            return self.complain(json, whole) || !whole;
        } else if whole && chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return false;
        } else {
            self.read_choices(chunk.choices, whole, sink);
        }
        if let Some(usage) = chunk.usage.and_then(read_usage) {
            self.assembler.usage(usage);
            self.progress += 1;
        }
        true
    }

    /// Fails with the complaint that `json` holds, if it does; a whole body is searched harder than an event.
    fn complain(&mut self, json: &str, whole: bool) -> bool {
        if json.len() > MOST_COMPLAINT {
            return false;
        }
        let found = serde_json::from_str::<Value>(json).ok().and_then(|value| {
            if whole {
                Complaint::in_body(&value)
            } else {
                Complaint::find(&value)
            }
        });
        found.map(|it| self.fail(it.into_error(200))).is_some()
    }

    fn read_choices(
        &mut self,
        choices: Option<Vec<Choice<'_>>>,
        whole: bool,
        sink: &mut dyn DeltaSink,
    ) {
        for choice in choices.into_iter().flatten() {
            if number(choice.index).unwrap_or(0) != 0 {
                continue;
            }
            // Some streams close with the whole message once more.
            let message = choice.message.filter(|_| whole || self.progress == 0);
            if let Some(said) = choice.delta.or(message) {
                self.said(said, whole, sink);
            }
            match text(choice.finish_reason).as_ref() {
                "" | "null" => {}
                // OpenRouter and DeepSeek end a broken answer this way.
                reason @ ("error" | "insufficient_system_resource") => {
                    self.fail(ProviderError::new(
                        FailureClass::Overloaded,
                        format!("the service stopped with `{reason}`"),
                    ));
                }
                reason => {
                    self.assembler.stop(stop_reason(reason));
                    self.progress += 1;
                }
            }
        }
    }

    fn said(&mut self, said: Said<'_>, whole: bool, sink: &mut dyn DeltaSink) {
        let reasoning = match text(said.reasoning_content) {
            empty if empty.is_empty() => text(said.reasoning),
            reasoning => reasoning,
        };
        if !reasoning.is_empty() {
            self.progress += 1;
            self.assembler.reasoning(&reasoning, sink);
        }
        if let Some(Value::Array(details)) = said.reasoning_details.and_then(value) {
            self.progress += u64::from(!details.is_empty());
            self.details.extend(details);
        }
        self.content(said.content, sink);
        let refusal = text(said.refusal);
        if !refusal.is_empty() {
            self.progress += 1;
            self.refusal.push_str(&refusal);
            self.assembler.text(&refusal, sink);
        }
        let calls = said.tool_calls.unwrap_or_default();
        let several = calls.len() > 1;
        for (at, call) in calls.into_iter().enumerate() {
            let Some(call) = call else { continue };
            let id = text(call.id);
            let index = number(call.index).or_else(|| {
                // Calls that nothing tells apart are told apart by their place.
                (whole || (several && id.is_empty())).then_some(at as u64)
            });
            self.call(index, &id, call.function, sink);
        }
        if let Some(function) = said.function_call {
            self.call(Some(0), "", Some(function), sink);
        }
    }

    /// Takes content: text, or a list of typed parts where a model reasons (Mistral).
    fn content(&mut self, content: Option<&RawValue>, sink: &mut dyn DeltaSink) {
        let text = text(content);
        if !text.is_empty() {
            self.progress += 1;
            return self.assembler.text(&text, sink);
        }
        let Some(Value::Array(parts)) = content
            .filter(|raw| raw.get().starts_with('['))
            .and_then(value)
        else {
            return;
        };
        for part in &parts {
            self.progress += 1;
            if part["type"] == "thinking" {
                for piece in part["thinking"].as_array().into_iter().flatten() {
                    self.assembler
                        .reasoning(piece["text"].as_str().unwrap_or(""), sink);
                }
            } else if let Some(text) = part["text"].as_str() {
                self.assembler.text(text, sink);
            }
        }
    }

    fn call(
        &mut self,
        index: Option<u64>,
        id: &str,
        function: Option<Function<'_>>,
        sink: &mut dyn DeltaSink,
    ) {
        let (name, arguments) = function.map_or((None, None), |it| (it.name, it.arguments));
        let name = text(name);
        let said = text(arguments);
        let arguments = match arguments {
            Some(raw) if raw.get().starts_with(['{', '[']) => Arguments::Whole(raw.get()),
            _ => Arguments::Text(&said),
        };
        let is_empty = matches!(arguments, Arguments::Text(""));
        self.progress += u64::from(!is_empty || !name.is_empty());
        let calls = self.assembler.call(
            CallPiece {
                index,
                id,
                name: &name,
                arguments,
            },
            sink,
        );
        if calls > MOST {
            self.fail(ProviderError::new(
                FailureClass::BadResponse,
                format!("answer of more than {MOST} tool calls"),
            ));
        }
    }
}

fn is_document(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line == "[DONE]"
        || line.starts_with(':')
        || serde_json::from_str::<&RawValue>(line).is_ok_and(|raw| raw.get().starts_with('{'))
}

/// Returns a string's text, a number's digits, and nothing for everything else.
fn text(raw: Option<&RawValue>) -> Cow<'_, str> {
    let Some(raw) = raw else {
        return Cow::Borrowed("");
    };
    match raw.get().as_bytes()[0] {
        b'"' => {
            #[derive(Deserialize)]
            struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
            serde_json::from_str::<Text<'_>>(raw.get()).map_or(Cow::Borrowed(""), |text| text.0)
        }
        b'0'..=b'9' => Cow::Borrowed(raw.get()),
        _ => Cow::Borrowed(""),
    }
}

fn number(raw: Option<&RawValue>) -> Option<u64> {
    text(raw).parse().ok()
}

fn value(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" => StopReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "content_filter" | "safety" | "sensitive" => StopReason::ContentFilter,
        other => StopReason::Other(other.chars().take(64).collect()),
    }
}

fn read_usage(raw: &RawValue) -> Option<Usage> {
    let usage = value(raw)?;
    // A count beyond this is no count; sums over a session stay far from overflow.
    let count = |value: &Value| match value.as_f64() {
        Some(count) if count >= 0.0 => Some((count as u64).min(1 << 40)),
        _ => None,
    };
    let first = |paths: &[&str]| paths.iter().find_map(|path| count(usage.pointer(path)?));
    let input = first(&["/prompt_tokens", "/input_tokens"]);
    let output = first(&["/completion_tokens", "/output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        cached_tokens: first(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ])
        .unwrap_or(0),
        reasoning_tokens: first(&["/completion_tokens_details/reasoning_tokens"]).unwrap_or(0),
    })
}
