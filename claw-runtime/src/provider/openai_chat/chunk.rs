//! One JSON document of a chat completion: a piece of a stream, or the whole.
//!
//! Every field may be absent, null or of another type than documented: what cannot be read is nothing, never a failure.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::message::{StopReason, Usage};
use crate::provider::decode::Format;
use crate::provider::draft::Draft;
use crate::provider::function::{self, Call, Function, Texts};
use crate::provider::lenient::{Count, few, number, parts, text, text_of, value};
use crate::provider::loose;
use crate::provider::{DeltaSink, FailureClass, ProviderError};

/// Reads the documents of one answer.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    refusal: String,
    details: Vec<Value>,
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

impl Format for Chunks {
    fn name(&self) -> &'static str {
        "a chat completion"
    }

    fn document(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        let Some(chunk) = loose::read::<Chunk<'_>>(json) else {
            return draft.complain(json, whole);
        };
        if chunk.prompt_progress.is_some() {
            draft.advance();
        }
        let mut choices = chunk.choices.iter().flatten();
        if let Some(error) = chunk.error.or(choices.find_map(|choice| choice.error)) {
            let error = format!("{{\"error\":{}}}", error.get());
            self.read_choices(chunk.choices, whole, draft, sink);
            if draft.complain(&error, whole) {
                return true;
            }
        } else if chunk.choices.is_none() && chunk.usage.is_none() {
            // An event of a kind this version does not know is skipped; a whole body of it is no answer.
            return draft.complain(json, whole) || !whole;
        } else if whole && chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return false;
        } else {
            self.read_choices(chunk.choices, whole, draft, sink);
        }
        if let Some(usage) = chunk.usage.and_then(read_usage) {
            draft.assembler.usage(usage);
            draft.advance();
        }
        true
    }

    fn end(&mut self, draft: &mut Draft) {
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            draft.keep(json!({ "reasoning_details": details }));
        }
        if !self.refusal.is_empty() {
            draft.keep(json!({ "refusal": self.refusal }));
        }
    }
}

impl Chunks {
    fn read_choices(
        &mut self,
        choices: Option<Vec<Choice<'_>>>,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) {
        for choice in choices.into_iter().flatten() {
            if number(choice.index).unwrap_or(0) != 0 {
                continue;
            }
            // Some streams close with the whole message once more.
            let message = choice
                .message
                .filter(|_| whole || draft.progress_made() == 0);
            if let Some(said) = choice.delta.or(message) {
                self.said(said, whole, draft, sink);
            }
            match text(choice.finish_reason).as_ref() {
                "" | "null" => {}
                // OpenRouter and DeepSeek end a broken answer this way.
                reason @ ("error" | "insufficient_system_resource") => {
                    draft.fail(ProviderError::new(
                        FailureClass::Overloaded,
                        format!("the service stopped with `{reason}`"),
                    ));
                }
                reason => {
                    draft.assembler.stop(stop_reason(reason));
                    draft.advance();
                }
            }
        }
    }

    fn said(&mut self, said: Said<'_>, whole: bool, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let reasoning = match text(said.reasoning_content) {
            empty if empty.is_empty() => text(said.reasoning),
            reasoning => reasoning,
        };
        draft.reasoning(&reasoning, sink);
        if let Some(Value::Array(details)) = said.reasoning_details.and_then(value) {
            if !details.is_empty() {
                draft.advance();
            }
            self.details.extend(details);
        }
        content(said.content, draft, sink);
        let refusal = text(said.refusal);
        self.refusal.push_str(&refusal);
        draft.text(&refusal, sink);
        function::take_all(said.tool_calls, whole, Texts::Pieces, draft, sink);
        if let Some(function) = said.function_call {
            function::take(Some(0), "", Some(function), Texts::Pieces, draft, sink);
        }
    }
}

/// Takes content: text, or a list of typed parts where a model reasons (Mistral).
pub(crate) fn content(content: Option<&RawValue>, draft: &mut Draft, sink: &mut dyn DeltaSink) {
    draft.text(&text(content), sink);
    let parted = content.filter(|raw| raw.get().starts_with(['[', '{']));
    let Some(content) = parted.and_then(value) else {
        return;
    };
    for part in parts(&content) {
        draft.advance();
        if part["type"] == "thinking" {
            for piece in parts(&part["thinking"]) {
                draft.assembler.reasoning(text_of(piece), sink);
            }
        } else {
            draft.assembler.text(text_of(part), sink);
        }
    }
}

/// Returns what a word for the end means.
pub(crate) fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" => StopReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "content_filter" | "safety" | "sensitive" => StopReason::ContentFilter,
        other => StopReason::Other(other.chars().take(64).collect()),
    }
}

#[derive(Deserialize)]
struct Tokens<'a> {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(borrow, default)]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(default)]
    prompt_cache_hit_tokens: Count,
    #[serde(default)]
    cached_tokens: Count,
    #[serde(borrow, default)]
    completion_tokens_details: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    reasoning_tokens: Count,
}

/// Reads the tokens spent, without a tree of what else stands there.
fn read_usage(raw: &RawValue) -> Option<Usage> {
    let tokens: Tokens<'_> = loose::read(raw.get())?;
    let details = |raw: Option<&RawValue>| -> Details {
        raw.and_then(|raw| loose::read(raw.get()))
            .unwrap_or_default()
    };
    let input = tokens.prompt_tokens.0.or(tokens.input_tokens.0);
    let output = tokens.completion_tokens.0.or(tokens.output_tokens.0);
    if input.is_none() && output.is_none() {
        return None;
    }
    let cached = details(tokens.prompt_tokens_details).cached_tokens.0;
    let cached = cached.or(tokens.prompt_cache_hit_tokens.0);
    let reasoning = details(tokens.completion_tokens_details).reasoning_tokens.0;
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        cached_tokens: cached.or(tokens.cached_tokens.0).unwrap_or(0),
        reasoning_tokens: reasoning.unwrap_or(0),
    })
}
