//! A reply while it is read: what was said so far, whether it ended, and the first reason why it is worth nothing.
//!
//! Every wire format fills one of these; where a document of the wire stands in it is the format's business.

use serde_json::Value;

use super::assemble::Assembler;
use super::failure::Complaint;
use super::{DeltaSink, FailureClass, ProviderError, Reply};
use crate::message::ContentBlock;

/// The longest complaint read, in bytes.
const MOST_COMPLAINT: usize = 1 << 20;
/// The most calls of an answer.
const MOST_CALLS: usize = 4096;

/// A reply while it is read.
#[derive(Debug)]
pub(crate) struct Draft {
    provider: String,
    model: String,
    /// Puts the pieces together.
    pub(crate) assembler: Assembler,
    error: Option<Box<ProviderError>>,
    ended: bool,
    /// The status that the wire names of the document being read; 200 where it names none.
    pub(crate) status: u16,
    /// How often the model made progress.
    progress: u64,
}

impl Draft {
    /// Returns an empty reply of `model` at `provider`.
    pub(crate) fn new(provider: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            assembler: Assembler::default(),
            error: None,
            ended: false,
            status: 200,
            progress: 0,
        }
    }

    /// Counts progress of the model: what keeps a slow answer from being given up.
    pub(crate) fn advance(&mut self) {
        self.progress += 1;
    }

    /// Returns a number that grows whenever the model makes progress.
    pub(crate) fn progress_made(&self) -> u64 {
        self.progress
    }

    /// Takes text that counts as progress, unless it is empty.
    pub(crate) fn text(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        if !text.is_empty() {
            self.progress += 1;
            self.assembler.text(text, sink);
        }
    }

    /// Takes reasoning that counts as progress, unless it is empty.
    pub(crate) fn reasoning(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        if !text.is_empty() {
            self.progress += 1;
            self.assembler.reasoning(text, sink);
        }
    }

    /// Fails when there are more calls than any model makes.
    pub(crate) fn bound_calls(&mut self, calls: usize) {
        if calls > MOST_CALLS {
            self.fail(ProviderError::new(
                FailureClass::BadResponse,
                format!("answer of more than {MOST_CALLS} tool calls"),
            ));
        }
    }

    /// Keeps a part that goes back to this very model as it is.
    pub(crate) fn keep(&mut self, value: Value) {
        self.assembler.opaque(ContentBlock::Opaque {
            provider: self.provider.clone(),
            model: self.model.clone(),
            value,
        });
    }

    /// Records why the answer is worth nothing from here on; the first reason counts.
    pub(crate) fn fail(&mut self, error: ProviderError) {
        self.error.get_or_insert_with(|| Box::new(error));
    }

    /// Fails with the complaint that `json` holds, if it does; a whole body is searched harder than an event.
    pub(crate) fn complain(&mut self, json: &str, whole: bool) -> bool {
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
        let status = self.status;
        found.map(|it| self.fail(it.into_error(status))).is_some()
    }

    /// Takes the wire's word that nothing more follows.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Tells whether nothing that follows counts.
    pub(crate) fn is_done(&self) -> bool {
        self.ended || self.error.is_some()
    }

    /// Tells whether the answer failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Tells whether the service said why the model stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.assembler.has_stopped()
    }

    /// Tells whether the answer came to its end: with a stop reason, or with whole calls and the wire's own end.
    pub(crate) fn is_whole(&self) -> bool {
        self.has_stopped() || (self.ended && self.assembler.has_whole_calls())
    }

    /// Returns the reply, or the error with what had been said before.
    pub(crate) fn finish(mut self, sink: &mut dyn DeltaSink) -> Result<Reply, ProviderError> {
        if let Some(error) = self.error.take() {
            return Err(self.broken(*error, sink));
        }
        if !self.is_whole() {
            let error = ProviderError::new(
                FailureClass::IncompleteStream,
                "the stream ended before the model stopped",
            );
            return Err(self.broken(error, sink));
        }
        self.assembler.finish(sink)
    }

    /// Returns the error with which the transport broke the answer off.
    pub(crate) fn interrupt(
        self,
        mut error: ProviderError,
        sink: &mut dyn DeltaSink,
    ) -> ProviderError {
        if error.class == FailureClass::Network && self.progress > 0 {
            error.class = FailureClass::IncompleteStream;
        }
        self.broken(error, sink)
    }

    fn broken(self, error: ProviderError, sink: &mut dyn DeltaSink) -> ProviderError {
        ProviderError {
            usage: self.assembler.spent(),
            partial: self.assembler.into_partial(sink),
            ..error
        }
    }
}
