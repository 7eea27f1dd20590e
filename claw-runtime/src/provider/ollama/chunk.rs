//! One line of an answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::message::{StopReason, Usage};
use crate::provider::DeltaSink;
use crate::provider::decode::{Format, Framing};
use crate::provider::draft::Draft;
use crate::provider::function::{self, Call, Texts};
use crate::provider::lenient::{Count, documents, few, text};
use crate::provider::loose;
use crate::provider::openai_chat::content;

/// Reads the lines of one answer.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// How many calls there are. Every one is sent once and whole, under an index that may be that of another.
    calls: u64,
    /// Whether a line was one of an answer.
    is_answer: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow, default)]
    done_reason: Option<&'a RawValue>,
    #[serde(default)]
    prompt_eval_count: Count,
    #[serde(default)]
    eval_count: Count,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "few")]
    tool_calls: Option<Vec<Option<Call<'a>>>>,
}

impl Format for Chunks {
    fn name(&self) -> &'static str {
        "an Ollama answer"
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn document(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        if json.starts_with('[') {
            return documents(json).is_some_and(|lines| {
                let mut lines = lines.iter();
                lines.all(|raw| self.document(raw.get(), whole, draft, sink))
            });
        }
        let Some(chunk) = loose::read::<Chunk<'_>>(json) else {
            return draft.complain(json, whole);
        };
        if chunk.error.is_some() && draft.complain(json, whole) {
            return true;
        }
        if chunk.message.is_none() && chunk.done.is_none() {
            // A line of a kind this version does not know is skipped; one that an answer begins with is none.
            return draft.complain(json, whole) || (self.is_answer && !whole);
        }
        self.is_answer = true;
        if let Some(said) = chunk.message {
            draft.reasoning(&text(said.thinking), sink);
            content(said.content, draft, sink);
            for call in said.tool_calls.into_iter().flatten().flatten() {
                draft.advance();
                let id = text(call.id);
                let index = Some(self.calls);
                function::take(index, &id, call.function(), Texts::Whole, draft, sink);
                self.calls += 1;
            }
        }
        if chunk.done == Some(true) {
            let (input, output) = (chunk.prompt_eval_count.0, chunk.eval_count.0);
            if input.is_some() || output.is_some() {
                // A prompt that was cached as a whole is not counted.
                draft.assembler.usage(Usage {
                    input_tokens: input.unwrap_or(0),
                    output_tokens: output.unwrap_or(0),
                    ..Usage::default()
                });
            }
            draft
                .assembler
                .stop(match text(chunk.done_reason).as_ref() {
                    "stop" | "load" | "unload" | "" => StopReason::Stop,
                    "length" => StopReason::Length,
                    other => StopReason::Other(other.chars().take(64).collect()),
                });
            draft.advance();
            draft.end();
        }
        true
    }
}
