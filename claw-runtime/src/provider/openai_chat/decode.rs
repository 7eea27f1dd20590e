//! Bytes of a chat completion, streamed or whole, to a [`Reply`].

use std::time::Duration;

use serde_json::Value;

use super::chunk::Chunks;
use crate::provider::failure::{Complaint, bounded};
use crate::provider::{DeltaSink, FailureClass, ProviderError, Reply, sse};

/// The largest answer read, in bytes after decompression.
const MAX_BODY: usize = 32 << 20;
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
    chunks: Chunks,
}

#[derive(Debug)]
enum Body {
    Unknown(Vec<u8>),
    Stream(sse::Reader),
    Whole(Vec<u8>),
}

impl Decoder {
    /// Returns a decoder for one answer of `model` at `provider`.
    pub fn new(provider: &str, model: &str, head: Head) -> Self {
        let body = if is_success(&head) {
            Body::Unknown(Vec::new())
        } else {
            Body::Whole(Vec::new())
        };
        Self {
            head,
            body,
            size: 0,
            chunks: Chunks::new(provider, model),
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn DeltaSink) -> Progress {
        self.size += bytes.len();
        if self.size > MAX_BODY {
            self.chunks.fail(ProviderError::new(
                FailureClass::BadResponse,
                format!("answer of more than {} MiB", MAX_BODY >> 20),
            ));
        }
        if self.chunks.is_done() {
            return self.progress(false);
        }
        let before = self.chunks.progress_made();
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
            if matches!(first, b'{' | b'[' | b'<') {
                self.body = Body::Whole(held);
                return self.progress(true);
            }
            self.body = Body::Stream(sse::Reader::new(sse::MAX_EVENT));
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
        self.progress(self.chunks.progress_made() != before)
    }

    /// Ends the answer and returns the reply.
    ///
    /// # Errors
    ///
    /// Returns what the service complained of, or what is wrong with its answer; with what had been said until then.
    pub fn finish(mut self, sink: &mut dyn DeltaSink) -> Result<Reply, ProviderError> {
        match std::mem::replace(&mut self.body, Body::Unknown(Vec::new())) {
            Body::Unknown(_) if self.chunks.is_done() => {}
            Body::Unknown(_) => self.chunks.fail(ProviderError::new(
                FailureClass::IncompleteStream,
                "the answer is empty",
            )),
            Body::Stream(mut reader) => {
                let chunks = &mut self.chunks;
                reader.finish(&mut |event| chunks.last_event(event.data, sink));
            }
            Body::Whole(body) => self.whole(&body, sink),
        }
        self.chunks.finish(sink)
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
        self.chunks.interrupt(error, sink)
    }

    fn progress(&self, content: bool) -> Progress {
        Progress {
            content,
            stopped: self.chunks.has_stopped(),
            done: self.chunks.is_done(),
        }
    }

    fn stream(&mut self, bytes: &[u8], sink: &mut dyn DeltaSink) {
        let Body::Stream(reader) = &mut self.body else {
            return;
        };
        let chunks = &mut self.chunks;
        let fed = reader.feed(bytes, &mut |event| chunks.event(event.data, sink));
        if fed.is_err() {
            self.chunks.fail(ProviderError::new(
                FailureClass::BadResponse,
                format!("stream event of more than {} MiB", sse::MAX_EVENT >> 20),
            ));
        }
    }

    fn whole(&mut self, body: &[u8], sink: &mut dyn DeltaSink) {
        let text = String::from_utf8_lossy(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body));
        let text = text.trim();
        if is_success(&self.head) && !text.starts_with('<') {
            return self.chunks.whole(text, sink);
        }
        let mut error = if is_success(&self.head) {
            ProviderError::new(
                FailureClass::BadResponse,
                "the service answered with a web page; check the base URL",
            )
        } else {
            self.complaint(text).into_error(self.head.status)
        };
        error.retry_after = self.head.retry_after;
        self.chunks.fail(error);
    }

    fn complaint(&self, text: &str) -> Complaint {
        let status = self.head.status;
        let found = serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|body| Complaint::in_body(&body));
        found.unwrap_or_else(|| Complaint {
            message: if (300..400).contains(&status) {
                format!("the service redirects elsewhere (status {status}); check the base URL")
            } else if text.is_empty() {
                format!("status {status} without a reason")
            } else if text.starts_with('<') {
                format!("status {status} with a web page")
            } else {
                bounded(text)
            },
            status: (status < 400).then_some(400),
            ..Complaint::default()
        })
    }
}

fn is_success(head: &Head) -> bool {
    (200..300).contains(&head.status)
}
