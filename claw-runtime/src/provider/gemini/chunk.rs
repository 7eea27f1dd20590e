//! One JSON document of an answer: the parts that are new, and what is known of the whole.
//!
//! Calls come whole. A signature is kept in front of the block it belongs to, as `{"thoughtSignature": …, "part": …}`;
//! one on a part of its own, or on a thought, as that part.

use serde::Deserialize;
#[cfg(feature = "http")]
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use crate::message::{StopReason, Usage};
use crate::provider::calls::{Arguments, CallPiece};
use crate::provider::decode::Format;
use crate::provider::draft::Draft;
use crate::provider::lenient::{count, documents, few, number, text, value, written};
use crate::provider::loose;
use crate::provider::{DeltaSink, FailureClass, ProviderError};

/// Reads the documents of one answer.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// How many calls there were.
    calls: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow, default, deserialize_with = "few")]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default)]
    prompt_feedback: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default, deserialize_with = "few")]
    parts: Option<Vec<Option<Part<'a>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thought: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "thought_signature")]
    thought_signature: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "function_call")]
    function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

impl Format for Chunks {
    fn name(&self) -> &'static str {
        "a Gemini answer"
    }

    fn document(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        if json.starts_with('[') {
            return self.list(json, whole, draft, sink);
        }
        let Some(document) = loose::read::<Document<'_>>(json) else {
            return draft.complain(json, whole);
        };
        if let Some(usage) = document.usage_metadata.and_then(read_usage) {
            draft.assembler.usage(usage);
        }
        let is_known = document.candidates.is_some() || document.prompt_feedback.is_some();
        let candidates = document.candidates.unwrap_or_default();
        if let Some(feedback) = document.prompt_feedback.and_then(value)
            && feedback["blockReason"].is_string()
        {
            draft.assembler.stop(StopReason::ContentFilter);
            draft.advance();
        }
        for candidate in candidates {
            if number(candidate.index).unwrap_or(0) == 0 {
                self.candidate(candidate, draft, sink);
            }
        }
        if document.error.is_some() && draft.complain(json, whole) {
            return true;
        }
        // A document of a kind this version does not know is skipped; a whole body of it is no answer.
        is_known || draft.complain(json, whole) || (!whole)
    }
}

impl Chunks {
    /// Takes a stream that was not asked for as events: one list of documents.
    fn list(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        let documents = documents(json);
        documents.is_some_and(|documents| {
            let mut documents = documents.iter();
            documents.all(|raw| self.document(raw.get(), whole, draft, sink))
        })
    }

    fn candidate(&mut self, candidate: Candidate<'_>, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten().flatten() {
            self.part(&part, draft, sink);
        }
        let reason = text(candidate.finish_reason);
        let stop = match &*reason {
            "" | "FINISH_REASON_UNSPECIFIED" => return,
            // Beside calls, too: what is there decides.
            "STOP" => StopReason::Stop,
            "MAX_TOKENS" => StopReason::Length,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => StopReason::ContentFilter,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
                let mut message = format!("the service stopped with `{reason}`");
                let said = text(candidate.finish_message);
                if !said.trim().is_empty() {
                    message.push_str(": ");
                    message.push_str(&said);
                }
                let message = crate::provider::failure::bounded(&message);
                return draft.fail(ProviderError::new(FailureClass::MalformedCall, message));
            }
            "MISSING_THOUGHT_SIGNATURE" => {
                return draft.fail(ProviderError::new(
                    FailureClass::BadRequest,
                    "the service misses a thought signature that came with an earlier call",
                ));
            }
            other => StopReason::Other(other.chars().take(64).collect()),
        };
        draft.assembler.stop(stop);
        draft.advance();
    }

    fn part(&mut self, part: &Part<'_>, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let signature = text(part.thought_signature);
        let is_signed = !signature.is_empty();
        let said = text(part.text);
        if is_signed {
            draft.advance();
            // What was held back, for it might have been a tag, is no part of what is signed.
            draft.assembler.flush(sink);
        }
        if let Some(call) = &part.function_call {
            if is_signed {
                draft.keep(json!({"thoughtSignature": signature, "part": "functionCall"}));
            }
            return self.call(call, draft, sink);
        }
        if part.thought.is_some_and(|raw| raw.get() == "true") {
            draft.reasoning(&said, sink);
            if is_signed {
                draft.keep(json!({"text": said, "thought": true, "thoughtSignature": signature}));
            }
        } else if is_signed && said.trim().is_empty() {
            draft.text(&said, sink);
            draft.keep(json!({"text": "", "thoughtSignature": signature}));
        } else {
            if is_signed {
                draft.keep(json!({"thoughtSignature": signature, "part": "text"}));
            }
            draft.text(&said, sink);
            if is_signed {
                draft.assembler.split();
            }
        }
    }

    fn call(&mut self, call: &Call<'_>, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        draft.advance();
        let (id, name) = (text(call.id), text(call.name));
        let arguments = written(call.args);
        let piece = CallPiece {
            index: Some(self.calls),
            id: &id,
            name: &name,
            arguments: Arguments::Text(&arguments),
        };
        self.calls += 1;
        let calls = draft.assembler.call(piece, sink);
        draft.bound_calls(calls);
    }
}

fn read_usage(raw: &RawValue) -> Option<Usage> {
    let usage = value(raw)?;
    let of = |path: &str| count(&usage, &[path]);
    let prompt = of("/promptTokenCount");
    let said = of("/candidatesTokenCount");
    let thoughts = of("/thoughtsTokenCount").unwrap_or(0);
    prompt.or(said)?;
    Some(Usage {
        input_tokens: prompt.unwrap_or(0) + of("/toolUsePromptTokenCount").unwrap_or(0),
        output_tokens: said.unwrap_or(0) + thoughts,
        cached_tokens: of("/cachedContentTokenCount").unwrap_or(0),
        reasoning_tokens: thoughts,
    })
}

/// Returns the ids of the models that answer, from the list of all.
#[cfg(feature = "http")]
pub(super) fn model_ids(body: &Value) -> Option<Vec<String>> {
    let list = body.get("models")?.as_array()?;
    let answers = |model: &&Value| match &model["supportedGenerationMethods"] {
        Value::Array(methods) => methods.iter().any(|method| method == "generateContent"),
        _ => true,
    };
    let id = |model: &Value| {
        let name = model.get("name")?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    Some(list.iter().filter(answers).filter_map(id).collect())
}
