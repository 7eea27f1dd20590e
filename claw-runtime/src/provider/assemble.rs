//! The one assembler: every wire format's pieces become a [`Reply`] here.
//!
//! A format knows where its pieces are; which pieces belong to one call, what a cut call is and why the model stopped
//! are decided once, from the content.

use crate::message::{ContentBlock, StopReason, ToolCall, Usage};

use super::calls::{CallPiece, Calls};
use super::think::{Kind, Splitter};
use super::{Delta, DeltaSink, FailureClass, ProviderError, Reply};

/// Puts the pieces of one reply together.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    parts: Vec<Part>,
    calls: Calls,
    think: Splitter,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Reasoning(String),
    Call(usize),
    /// Boxed, for most replies have none: the list is as small as its texts.
    Opaque(Box<ContentBlock>),
}

impl Assembler {
    /// Takes text as the model wrote it; reasoning in tags in front of it is split off.
    pub(crate) fn text(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        let parts = &mut self.parts;
        self.think
            .push(text, &mut |kind, piece| add(parts, kind, piece, sink));
    }

    /// Takes reasoning that the service sends apart from text.
    pub(crate) fn reasoning(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        add(&mut self.parts, Kind::Reasoning, text, sink);
    }

    /// Takes a piece of a tool call. Returns how many calls there are.
    pub(crate) fn call(&mut self, piece: CallPiece<'_>, sink: &mut dyn DeltaSink) -> usize {
        let taken = self.calls.push(piece);
        if taken.opened {
            self.parts.push(Part::Call(taken.slot));
        }
        if let Some(name) = taken.named {
            sink.delta(Delta::CallStarted {
                index: taken.slot,
                name,
            });
        }
        self.calls.len()
    }

    /// Takes a part that goes back to the same model as it came, in its place among the others.
    pub(crate) fn opaque(&mut self, block: ContentBlock) {
        self.parts.push(Part::Opaque(Box::new(block)));
    }

    /// Keeps what follows apart from the text before it.
    pub(crate) fn split(&mut self) {
        self.parts.push(Part::Text(String::new()));
    }

    /// Takes the tokens spent; the last word counts.
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// Returns the tokens spent, as far as they are known.
    pub(crate) fn spent(&self) -> Option<Usage> {
        self.usage
    }

    /// Takes the service's word for why the model stopped; the last one counts.
    pub(crate) fn stop(&mut self, stop: StopReason) {
        self.stop = Some(stop);
    }

    /// Tells whether the service said why the model stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Tells whether there are calls and each of them is whole.
    pub(crate) fn has_whole_calls(&self) -> bool {
        self.calls.are_whole()
    }

    /// Returns what was said, without calls: what is left of a stream that broke.
    pub(crate) fn into_partial(mut self, sink: &mut dyn DeltaSink) -> Vec<ContentBlock> {
        self.flush(sink);
        self.parts.into_iter().filter_map(Part::into_said).collect()
    }

    /// Returns the reply.
    pub(crate) fn finish(mut self, sink: &mut dyn DeltaSink) -> Result<Reply, ProviderError> {
        self.flush(sink);
        let at_limit = self.stop == Some(StopReason::Length);
        let Some(mut calls) = self.calls.finish(at_limit) else {
            return Err(ProviderError {
                usage: self.usage,
                partial: self.parts.into_iter().filter_map(Part::into_said).collect(),
                ..ProviderError::new(
                    FailureClass::MalformedCall,
                    "the model made a tool call without a name",
                )
            });
        };
        let mut content = Vec::new();
        let mut cut_calls = Vec::new();
        let mut has_calls = false;
        for part in self.parts {
            match part {
                Part::Call(slot) => match calls[slot].take() {
                    Some(Outcome::Whole(call)) => {
                        has_calls = true;
                        content.push(ContentBlock::ToolCall(call));
                    }
                    Some(Outcome::Cut(call)) => cut_calls.push(call),
                    None => {}
                },
                Part::Opaque(block) => content.push(*block),
                said => content.extend(said.into_said()),
            }
        }
        Ok(Reply {
            stop: derive_stop(self.stop, has_calls, !cut_calls.is_empty()),
            content,
            cut_calls,
            usage: self.usage,
        })
    }

    /// Hands over text that was held back because it might have been a tag: something else follows.
    pub(crate) fn flush(&mut self, sink: &mut dyn DeltaSink) {
        let parts = &mut self.parts;
        self.think
            .finish(&mut |kind, piece| add(parts, kind, piece, sink));
    }
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its arguments came to their end, well formed or not: validation has the word.
    Whole(ToolCall),
    /// Its arguments were cut off.
    Cut(ToolCall),
}

impl Part {
    fn into_said(self) -> Option<ContentBlock> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(ContentBlock::Text { text }),
            Self::Reasoning(text) if !text.trim().is_empty() => {
                Some(ContentBlock::Reasoning { text })
            }
            _ => None,
        }
    }
}

fn add(parts: &mut Vec<Part>, kind: Kind, piece: &str, sink: &mut dyn DeltaSink) {
    if piece.is_empty() {
        return;
    }
    let text = piece.to_owned();
    match (kind, parts.last_mut()) {
        (Kind::Text, Some(Part::Text(last))) | (Kind::Reasoning, Some(Part::Reasoning(last))) => {
            last.push_str(piece);
        }
        (Kind::Text, _) => parts.push(Part::Text(text.clone())),
        (Kind::Reasoning, _) => parts.push(Part::Reasoning(text.clone())),
    }
    sink.delta(match kind {
        Kind::Text => Delta::Text { text },
        Kind::Reasoning => Delta::Reasoning { text },
    });
}

/// Services say `stop` beside calls and `tool_calls` beside none: what is there decides.
fn derive_stop(said: Option<StopReason>, has_calls: bool, has_cut: bool) -> StopReason {
    if has_cut {
        return StopReason::Length;
    }
    match said {
        Some(StopReason::Stop | StopReason::Other(_)) | None if has_calls => StopReason::ToolCalls,
        Some(StopReason::ToolCalls) | None if !has_calls => StopReason::Stop,
        Some(said) => said,
        None => StopReason::Stop,
    }
}
