//! One JSON document of a message: an event of a stream, or the whole.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::message::{StopReason, Usage};
use crate::provider::DeltaSink;
use crate::provider::calls::{Arguments, CallPiece};
use crate::provider::decode::Format;
use crate::provider::draft::Draft;
use crate::provider::lenient::{count, few, number, text, value, written};
use crate::provider::loose;

/// Reads the documents of one answer.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// The blocks that have begun and not ended, by their index.
    open: HashMap<u64, Block>,
    /// The block that began last: what a piece without an index belongs to.
    last: u64,
    tokens: Tokens,
}

/// A content block that grows.
#[derive(Debug)]
enum Block {
    Text,
    Thinking {
        thinking: String,
        signature: String,
    },
    /// A call; `given` while its arguments are those that it began with.
    Call {
        given: bool,
    },
}

/// Tokens by the service's own division. Counts come in several events, and the last word on each counts.
#[derive(Debug, Default)]
struct Tokens {
    fresh: Option<u64>,
    written: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "few")]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

/// A block as it begins, or a piece of one.
#[derive(Default, Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Option<&'a RawValue>,
}

impl<'a> Piece<'a> {
    /// Reads a piece; a text is what is said, and what else is no object has nothing in it.
    fn read(raw: Option<&'a RawValue>) -> Self {
        raw.and_then(loose::part).unwrap_or_default()
    }
}

impl Format for Chunks {
    fn name(&self) -> &'static str {
        "an Anthropic message"
    }

    fn document(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        let Some(document) = loose::read::<Document<'_>>(json) else {
            return draft.complain(json, whole);
        };
        let index = number(document.index);
        match &*text(document.kind) {
            "message_start" => {
                #[derive(Deserialize)]
                struct Message<'a> {
                    #[serde(borrow, default)]
                    usage: Option<&'a RawValue>,
                }
                let message = document.message.map(RawValue::get);
                let message: Option<Message<'_>> = message.and_then(loose::read);
                self.tokens.add(message.and_then(|it| it.usage));
            }
            "content_block_start" => {
                let index = index.unwrap_or_else(|| self.last.wrapping_add(1));
                self.begin(index, &Piece::read(document.content_block), draft, sink);
            }
            "content_block_delta" => {
                let index = index.unwrap_or(self.last);
                self.grow(index, &Piece::read(document.delta), draft, sink);
            }
            "content_block_stop" => self.end(index.unwrap_or(self.last), draft),
            "message_delta" => {
                self.tokens.add(document.usage);
                self.stop(Piece::read(document.delta).stop_reason, draft);
            }
            "message_stop" => {
                self.stop(None, draft);
                if !draft.has_stopped() {
                    draft.assembler.stop(StopReason::Stop);
                }
                draft.end();
            }
            "message" if document.content.is_some() => {
                for (index, raw) in (0..).zip(document.content.into_iter().flatten()) {
                    self.begin(index, &Piece::read(Some(raw)), draft, sink);
                    self.end(index, draft);
                }
                self.tokens.add(document.usage);
                self.stop(document.stop_reason, draft);
            }
            // An event of a kind this version does not know is skipped; a whole body of it is no answer.
            _ => return draft.complain(json, whole) || !whole,
        }
        true
    }
}

impl Chunks {
    fn begin(
        &mut self,
        index: u64,
        block: &Piece<'_>,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) {
        self.last = index;
        let kind = match text(block.kind) {
            none if none.is_empty() && block.text.is_some() => "text".into(),
            kind => kind,
        };
        if kind != "text" {
            // Text that was held back, for it might have been a tag, stands before this block.
            draft.assembler.flush(sink);
        }
        let begun = match &*kind {
            "text" => {
                draft.text(&text(block.text), sink);
                Block::Text
            }
            "thinking" => {
                let thinking = text(block.thinking).into_owned();
                draft.reasoning(&thinking, sink);
                let signature = text(block.signature).into_owned();
                Block::Thinking {
                    thinking,
                    signature,
                }
            }
            "redacted_thinking" => {
                draft.advance();
                draft.keep(json!({"type": "redacted_thinking", "data": text(block.data)}));
                return;
            }
            "tool_use" => {
                let input = written(block.input);
                let (given, arguments) = arguments(&input);
                let (id, name) = (text(block.id), text(block.name));
                let piece = CallPiece {
                    index: Some(index),
                    id: &id,
                    name: &name,
                    arguments,
                };
                call(piece, draft, sink);
                Block::Call { given }
            }
            // What this version does not know, and did not ask for.
            _ => return,
        };
        self.open.insert(index, begun);
    }

    fn grow(&mut self, index: u64, piece: &Piece<'_>, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let kind = match (text(piece.kind), self.open.get(&index)) {
            (none, None | Some(Block::Text)) if none.is_empty() => "text_delta".into(),
            (kind, _) => kind,
        };
        match &*kind {
            "text_delta" => draft.text(&text(piece.text), sink),
            "thinking_delta" => {
                let more = text(piece.thinking);
                draft.reasoning(&more, sink);
                if let Some(Block::Thinking { thinking, .. }) = self.open.get_mut(&index) {
                    thinking.push_str(&more);
                }
            }
            "signature_delta" => {
                draft.advance();
                if let Some(Block::Thinking { signature, .. }) = self.open.get_mut(&index) {
                    signature.push_str(&text(piece.signature));
                }
            }
            "input_json_delta" => {
                let more = written(piece.partial_json);
                let is_object = piece
                    .partial_json
                    .is_some_and(|raw| raw.get().starts_with('{'));
                if more.is_empty() || is_object && !arguments(&more).0 {
                    return;
                }
                let of_call = |arguments| CallPiece {
                    index: Some(index),
                    arguments,
                    ..CallPiece::default()
                };
                if let Some(Block::Call { given }) = self.open.get_mut(&index)
                    && std::mem::replace(given, is_object)
                {
                    // Sent whole at the beginning, and then in pieces all the same.
                    call(of_call(Arguments::Whole("")), draft, sink);
                }
                let arguments = match is_object {
                    true => Arguments::Whole(&more),
                    false => Arguments::Text(&more),
                };
                call(of_call(arguments), draft, sink);
            }
            _ => {}
        }
    }

    fn end(&mut self, index: u64, draft: &mut Draft) {
        if let Some(Block::Thinking {
            thinking,
            signature,
        }) = self.open.remove(&index)
        {
            draft.keep(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
    }

    fn stop(&mut self, reason: Option<&RawValue>, draft: &mut Draft) {
        if let Some(usage) = self.tokens.usage() {
            draft.assembler.usage(usage);
        }
        let reason = match &*text(reason) {
            "" => return,
            "end_turn" | "stop_sequence" => StopReason::Stop,
            "tool_use" => StopReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::ContentFilter,
            "pause_turn" => StopReason::Pause,
            other => StopReason::Other(other.chars().take(64).collect()),
        };
        draft.assembler.stop(reason);
        draft.advance();
    }
}

impl Tokens {
    fn add(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = usage.and_then(value) else {
            return;
        };
        let take = |count_: &mut Option<u64>, paths: &[&str]| {
            *count_ = count(&usage, paths).or(*count_);
        };
        take(&mut self.fresh, &["/input_tokens"]);
        take(&mut self.written, &["/cache_creation_input_tokens"]);
        take(&mut self.cached, &["/cache_read_input_tokens"]);
        take(&mut self.output, &["/output_tokens"]);
        take(
            &mut self.thinking,
            &[
                "/output_tokens_details/thinking_tokens",
                "/output_tokens_details/reasoning_tokens",
            ],
        );
    }

    /// Returns the tokens as claw counts them: the prompt with what was cached of it.
    fn usage(&self) -> Option<Usage> {
        self.fresh.or(self.output)?;
        let or_none = |count: Option<u64>| count.unwrap_or(0);
        Some(Usage {
            input_tokens: or_none(self.fresh) + or_none(self.written) + or_none(self.cached),
            output_tokens: or_none(self.output),
            cached_tokens: or_none(self.cached),
            reasoning_tokens: or_none(self.thinking),
        })
    }
}

/// Returns what a call begins with, and whether that is something: mostly `{}`, with the real arguments to follow.
fn arguments(input: &str) -> (bool, Arguments<'_>) {
    let inner = input.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    match inner.unwrap_or(input).trim() {
        "" => (false, Arguments::Text("")),
        _ => (true, Arguments::Whole(input)),
    }
}

fn call(piece: CallPiece<'_>, draft: &mut Draft, sink: &mut dyn DeltaSink) {
    draft.advance();
    let calls = draft.assembler.call(piece, sink);
    draft.bound_calls(calls);
}
