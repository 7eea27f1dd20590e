//! One event of an answer, or the whole.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Pieces;
use crate::message::Usage;
use crate::provider::DeltaSink;
use crate::provider::decode::Format;
use crate::provider::draft::Draft;
use crate::provider::function::{self, Call, Texts};
use crate::provider::lenient::{self, count, few, text, text_of, value};
use crate::provider::loose;
use crate::provider::openai_chat::stop_reason;

/// Reads the events of one answer.
#[derive(Debug)]
pub(super) struct Chunks {
    pieces: Pieces,
    /// What was said so far, where each event repeats it.
    said: String,
    thought: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    output: Option<Output<'a>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default, deserialize_with = "few")]
    choices: Option<Vec<Choice<'a>>>,
    /// The answer of a model that knows no messages.
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Said<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "few")]
    tool_calls: Option<Vec<Option<Call<'a>>>>,
}

impl Format for Chunks {
    fn name(&self) -> &'static str {
        "a DashScope answer"
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
        let Some(output) = chunk.output else {
            return draft.complain(json, whole) || !whole;
        };
        if let Some(usage) = chunk.usage.and_then(read_usage) {
            draft.assembler.usage(usage);
        }
        self.answer(&text(output.text), draft, sink);
        stop(output.finish_reason, draft);
        // Only one answer is ever asked for.
        if let Some(choice) = output.choices.into_iter().flatten().next() {
            if let Some(said) = choice.message {
                self.said(said, whole, draft, sink);
            }
            stop(choice.finish_reason, draft);
        }
        true
    }
}

impl Chunks {
    pub(super) fn new(pieces: Pieces) -> Self {
        Self {
            pieces,
            said: String::new(),
            thought: String::new(),
        }
    }

    fn said(&mut self, said: Said<'_>, whole: bool, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let thought = text(said.reasoning_content);
        let new = unsaid(self.pieces, &mut self.thought, &thought);
        draft.reasoning(new, sink);
        let content = text(said.content);
        if content.is_empty() {
            self.answer(&parts(said.content), draft, sink);
        } else {
            self.answer(&content, draft, sink);
        }
        if said
            .tool_calls
            .as_ref()
            .is_some_and(|calls| !calls.is_empty())
        {
            draft.advance();
        }
        let texts = match self.pieces {
            Pieces::All => Texts::Whole,
            Pieces::New => Texts::Pieces,
        };
        function::take_all(said.tool_calls, whole, texts, draft, sink);
    }

    fn answer(&mut self, said: &str, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        draft.text(unsaid(self.pieces, &mut self.said, said), sink);
    }
}

/// Returns what of `said` is new, and keeps it where the next event repeats it.
fn unsaid<'s>(pieces: Pieces, before: &mut String, said: &'s str) -> &'s str {
    if pieces == Pieces::New {
        return said;
    }
    // What takes back what was said has been shown already; only what goes on from it counts.
    let new = said.strip_prefix(before.as_str()).unwrap_or("");
    before.push_str(new);
    new
}

/// Returns the text of content that is a list: `[{"text":"…"}]`, from models that see.
fn parts(content: Option<&RawValue>) -> String {
    let parted = content.filter(|raw| raw.get().starts_with(['[', '{']));
    let content = parted.and_then(value).unwrap_or_default();
    lenient::parts(&content).iter().map(text_of).collect()
}

/// Takes the reason why the model stopped. Until then the service sends the word `null`.
fn stop(reason: Option<&RawValue>, draft: &mut Draft) {
    match text(reason).as_ref() {
        "" | "null" => {}
        reason => {
            draft.assembler.stop(stop_reason(reason));
            draft.advance();
        }
    }
}

fn read_usage(raw: &RawValue) -> Option<Usage> {
    let usage = value(raw)?;
    let first = |paths: &[&str]| count(&usage, paths);
    let input = first(&["/input_tokens"]);
    let output = first(&["/output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        cached_tokens: first(&[
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
        ])
        .unwrap_or(0),
        reasoning_tokens: first(&["/output_tokens_details/reasoning_tokens"]).unwrap_or(0),
    })
}
