//! Bytes of an answer, streamed or whole, to a [`Reply`]: the same for every wire format.
//!
//! How documents follow each other on the wire is decided here; what one document means is the format's business.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::draft::Draft;
use super::failure::{Complaint, bounded};
use super::surrogates::Joiner;
use super::{DeltaSink, FailureClass, ProviderError, Reply, lenient, sse, wrong_address};
use crate::message::StopReason;

/// What one wire format makes of the documents of an answer.
pub(crate) trait Format: std::fmt::Debug + Send {
    /// Returns what a document is, for messages: `a chat completion`.
    fn name(&self) -> &'static str;

    /// How documents of a stream follow each other.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Takes one document, a piece of a stream or the whole; returns `false` when it is none.
    fn document(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool;

    /// Hands over what is only known at the end of a whole answer.
    fn end(&mut self, _draft: &mut Draft) {}
}

/// How documents of a stream follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// As server-sent events.
    Events,
    /// One a line.
    Lines,
}

/// The largest answer read, in bytes after decompression.
const MAX_BODY: usize = 32 << 20;
/// How much of the beginning of a stream is kept, to tell what it is when it is none.
const OPENING: usize = 256;
/// The largest error body read.
const MAX_ERROR: usize = 64 << 10;

/// What stands before the body of an answer.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
}

/// What the last bytes brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The model made progress; keep-alives, comments and empty pieces are none.
    pub content: bool,
    /// The service said why the model stopped; at most its token count follows.
    pub stopped: bool,
    /// Nothing that follows counts.
    pub done: bool,
}

/// Reads one answer, wherever the network cuts it.
///
/// Whether it is a stream, one JSON body or something else is told from its first byte: services answer a request for a
/// stream with a JSON body, and label streams as JSON.
#[derive(Debug)]
pub struct Decoder {
    head: Head,
    body: Body,
    size: usize,
    /// How a stream of events begins, until it is known to be one.
    opening: Vec<u8>,
    draft: Draft,
    format: Box<dyn Format>,
    joiner: Joiner,
}

#[derive(Debug)]
enum Body {
    Unknown(Vec<u8>),
    Events(sse::Reader),
    Lines(Vec<u8>),
    Whole(Vec<u8>),
}

impl Decoder {
    /// Returns a decoder for one answer of `model` at `provider`.
    pub(crate) fn new(format: Box<dyn Format>, provider: &str, model: &str, head: Head) -> Self {
        let body = if is_success(&head) {
            Body::Unknown(Vec::new())
        } else {
            Body::Whole(Vec::new())
        };
        Self {
            head,
            body,
            size: 0,
            opening: Vec::new(),
            draft: Draft::new(provider, model),
            format,
            joiner: Joiner::default(),
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn DeltaSink) -> Progress {
        self.size += bytes.len();
        if self.size > MAX_BODY {
            self.draft.fail(ProviderError::new(
                FailureClass::BadResponse,
                format!("answer of more than {} MiB", MAX_BODY >> 20),
            ));
        }
        if self.draft.is_done() {
            return self.progress(false);
        }
        let before = self.draft.progress_made();
        if let Body::Unknown(held) = &mut self.body {
            held.extend_from_slice(bytes);
            // Blank space and the bytes of a byte order mark come before either form.
            let first = bytes
                .iter()
                .find(|byte| !byte.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(byte));
            let Some(first) = first else {
                return self.progress(false);
            };
            let held = std::mem::take(held);
            self.body = match (first, self.format.framing()) {
                (b'{', Framing::Lines) => Body::Lines(Vec::new()),
                (b'{' | b'[' | b'<', _) => {
                    self.body = Body::Whole(held);
                    return self.progress(true);
                }
                _ => Body::Events(sse::Reader::new(sse::MAX_EVENT)),
            };
            self.stream(&held, sink);
        } else if let Body::Whole(whole) = &mut self.body {
            if is_success(&self.head) || self.size <= MAX_ERROR {
                whole.extend_from_slice(bytes);
            }
            let done = !is_success(&self.head) && self.size > MAX_ERROR;
            return Progress {
                content: true,
                stopped: false,
                done,
            };
        } else {
            self.stream(bytes, sink);
        }
        self.progress(self.draft.progress_made() != before)
    }

    /// Ends the answer and returns the reply.
    ///
    /// # Errors
    ///
    /// Returns what the service complained of, or what is wrong with its answer; with what had been said until then.
    pub fn finish(mut self, sink: &mut dyn DeltaSink) -> Result<Reply, ProviderError> {
        match std::mem::replace(&mut self.body, Body::Unknown(Vec::new())) {
            Body::Unknown(_) if self.draft.is_done() => {}
            Body::Unknown(_) => self.draft.fail(ProviderError::new(
                FailureClass::IncompleteStream,
                "the answer is empty",
            )),
            // What the end of the stream closed and cannot be read was cut.
            Body::Events(mut reader) => {
                reader.finish(&mut |event| {
                    self.take(event, sink);
                });
                let is_stream = self.draft.progress_made() > 0 || self.draft.has_stopped();
                if !is_stream && wrong_address::is_no_stream(&self.opening) {
                    let text = String::from_utf8_lossy(&self.opening);
                    // Its first line: how much more was read, the network decides.
                    let line = text.trim_start().split(['\n', '\r']).next();
                    let message = wrong_address::text(line.unwrap_or_default(), self.format.name());
                    let error = ProviderError::new(FailureClass::BadResponse, message);
                    self.draft.fail(error);
                }
            }
            Body::Lines(line) => {
                let line = lenient::utf8(&line);
                if !self.take(line_event(&line), sink) && is_document(&line) {
                    self.no_document();
                }
            }
            Body::Whole(body) => self.whole(&body, sink),
        }
        if self.draft.is_whole() && !self.draft.has_failed() {
            self.format.end(&mut self.draft);
        }
        self.draft.finish(sink)
    }

    /// Ends an answer that the transport broke off with `error`; it is whole if the model had stopped before.
    ///
    /// # Errors
    ///
    /// Returns `error` with what had been said until then, or what the service complained of before.
    pub fn interrupt(
        self,
        error: ProviderError,
        sink: &mut dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        if !is_success(&self.head) {
            return self.finish(sink);
        }
        if self.draft.has_failed() || self.draft.has_stopped() {
            let mut ended = self;
            ended.format.end(&mut ended.draft);
            return ended.draft.finish(sink);
        }
        Err(self.draft.interrupt(error, sink))
    }

    fn progress(&self, content: bool) -> Progress {
        Progress {
            content,
            stopped: self.draft.has_stopped(),
            done: self.draft.is_done(),
        }
    }

    fn stream(&mut self, bytes: &[u8], sink: &mut dyn DeltaSink) {
        let body = std::mem::replace(&mut self.body, Body::Unknown(Vec::new()));
        self.body = match body {
            Body::Events(mut reader) => {
                if self.draft.progress_made() == 0 {
                    let room = OPENING.saturating_sub(self.opening.len());
                    self.opening.extend(&bytes[..room.min(bytes.len())]);
                }
                let fed = reader.feed(bytes, &mut |event| self.event(event, sink));
                if self.draft.progress_made() > 0 {
                    self.opening = Vec::new();
                }
                if fed.is_err() {
                    self.too_long();
                }
                Body::Events(reader)
            }
            Body::Lines(line) => Body::Lines(self.lines_of(line, bytes, sink)),
            other => other,
        };
    }

    /// Takes the lines that `bytes` complete and returns the beginning of the next one.
    fn lines_of(
        &mut self,
        mut held: Vec<u8>,
        mut bytes: &[u8],
        sink: &mut dyn DeltaSink,
    ) -> Vec<u8> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            held.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            self.event(line_event(&lenient::utf8(&held)), sink);
            held.clear();
        }
        held.extend_from_slice(bytes);
        if held.len() > sse::MAX_EVENT {
            self.too_long();
        }
        held
    }

    fn too_long(&mut self) {
        self.draft.fail(ProviderError::new(
            FailureClass::BadResponse,
            format!("stream event of more than {} MiB", sse::MAX_EVENT >> 20),
        ));
    }

    /// Takes one event of a stream.
    fn event(&mut self, event: sse::Event<'_>, sink: &mut dyn DeltaSink) {
        if !self.take(event, sink) && !self.draft.has_stopped() {
            self.no_document();
        }
    }

    fn no_document(&mut self) {
        self.draft.fail(ProviderError::new(
            FailureClass::BadResponse,
            format!("a stream event is no JSON of {}", self.format.name()),
        ));
    }

    fn take(&mut self, event: sse::Event<'_>, sink: &mut dyn DeltaSink) -> bool {
        let data = event.data.trim();
        // Some gateways send their keep-alive comments as data.
        if self.draft.is_done() || data.is_empty() || data.starts_with(':') {
            return true;
        }
        if data == "[DONE]" {
            self.draft.end();
            return true;
        }
        self.draft.status = event.status.unwrap_or(200);
        if event.is_error && self.draft.complain(data, true) {
            return true;
        }
        if event.is_error && !is_document(data) {
            let complaint = Complaint {
                message: data.to_owned(),
                ..Complaint::default()
            };
            self.draft.fail(complaint.into_error(self.draft.status));
            return true;
        }
        self.document(data, false, sink) || self.several(event, sink)
    }

    /// Takes several documents in one event: a server that leaves out the blank lines.
    fn several(&mut self, event: sse::Event<'_>, sink: &mut dyn DeltaSink) -> bool {
        if !event.data.contains('\n') || !event.data.lines().all(is_document) {
            return false;
        }
        for data in event.data.lines() {
            self.event(sse::Event { data, ..event }, sink);
        }
        true
    }

    /// Takes one document; returns `false` when it is none.
    fn document(&mut self, json: &str, whole: bool, sink: &mut dyn DeltaSink) -> bool {
        // Half a character is legal JSON and no Rust string; only an escape can be one.
        let may_hold = || json.contains("\\u") && (json.contains("\\ud") || json.contains("\\uD"));
        if self.joiner.is_waiting() || may_hold() {
            let mended = self.joiner.mend(json);
            return self.format.document(&mended, whole, &mut self.draft, sink);
        }
        self.format.document(json, whole, &mut self.draft, sink)
    }

    fn whole(&mut self, body: &[u8], sink: &mut dyn DeltaSink) {
        let text = lenient::utf8(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body));
        let text = text.trim();
        if is_success(&self.head) && !text.starts_with('<') {
            return self.whole_document(text, sink);
        }
        let mut error = if is_success(&self.head) {
            ProviderError::new(
                FailureClass::BadResponse,
                wrong_address::page(text, self.head.status),
            )
        } else {
            complaint(text, self.head.status)
        };
        error.retry_after = self.head.retry_after.or(error.retry_after);
        self.draft.fail(error);
    }

    fn whole_document(&mut self, text: &str, sink: &mut dyn DeltaSink) {
        if !self.document(text, true, sink) {
            self.draft.fail(ProviderError::new(
                FailureClass::BadResponse,
                format!(
                    "the answer is no JSON of {}; check the base URL",
                    self.format.name()
                ),
            ));
        } else if !self.draft.has_failed() && !self.draft.has_stopped() {
            // A whole body is its own end.
            self.draft.assembler.stop(StopReason::Stop);
        }
    }
}

/// Returns the error of a body that came with `status` in the place of what was asked for.
pub(crate) fn complaint(text: &str, status: u16) -> ProviderError {
    let found = serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|body| Complaint::in_body(&body));
    let found = found.unwrap_or_else(|| Complaint {
        message: if (300..400).contains(&status) {
            format!("the service redirects elsewhere (status {status}); check the base URL")
        } else if text.is_empty() {
            format!("status {status} without a reason")
        } else if text.starts_with('<') {
            wrong_address::page(text, status)
        } else {
            bounded(text)
        },
        status: (status < 400).then_some(400),
        ..Complaint::default()
    });
    found.into_error(status)
}

fn is_success(head: &Head) -> bool {
    (200..300).contains(&head.status)
}

fn line_event(data: &str) -> sse::Event<'_> {
    sse::Event {
        data,
        is_error: false,
        status: None,
    }
}

fn is_document(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line == "[DONE]"
        || line.starts_with(':')
        || serde_json::from_str::<&RawValue>(line).is_ok_and(|raw| raw.get().starts_with('{'))
}
