//! The beginning of a body, kept so that the next request of the session writes only what is new.
//!
//! It is an optimisation and nothing else: a body that goes on from a kept beginning has the bytes of one written anew.
//! Debug builds compare the two on every request.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::{Capabilities, Request};
use crate::dialect::{Dialect, Offer};
use crate::message::Message;

/// Who is asked: what an encoding depends on beside the request. `quirks` are the format's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer<'a, Q> {
    pub(crate) provider: &'a str,
    pub(crate) quirks: Q,
    pub(crate) capabilities: Capabilities,
}

/// Writes one wire format: what stands before the conversation, the conversation, what stands after it.
///
/// What is written of a message depends on that message and on those before it.
pub(crate) trait Body {
    /// Returns where it is written.
    fn buffer(&mut self) -> &mut Buffer;

    /// Writes what stands before the conversation. It stays the same from round to round.
    fn begin(&mut self);

    /// Writes the next messages.
    fn messages(&mut self, messages: &[Message]);

    /// Tells whether all that was given is written, so that nothing waits for a later message.
    fn is_whole(&self) -> bool {
        true
    }

    /// Writes what stands after the conversation.
    fn end(&mut self);
}

/// The bytes of a body as they are written.
#[derive(Debug)]
pub(crate) struct Buffer {
    out: BytesMut,
    /// Whether no message is written yet.
    first: bool,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            out: BytesMut::new(),
            first: true,
        }
    }

    /// Writes JSON as it is.
    pub(crate) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes text as a JSON string.
    pub(crate) fn string(&mut self, text: &str) {
        self.value(text);
    }

    /// Writes a value as JSON.
    pub(crate) fn value(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        serde_json::to_writer((&mut self.out).writer(), value)
            .expect("text and JSON values serialise, and a buffer takes all bytes");
    }

    /// Writes the comma between messages.
    pub(crate) fn next_message(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.raw(",");
        }
    }

    /// Returns how many bytes are written.
    #[cfg(test)]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.out
    }
}

/// Returns the body of `request`. What an earlier request of the session wrote of it is taken over; of the messages that
/// are settled the first `stable` are kept for the next one.
pub(crate) fn encode<Q, B>(
    request: &Request<'_>,
    peer: &Peer<'_, Q>,
    offer: Option<&Arc<Offer>>,
    stable: usize,
    fresh: impl Fn() -> B,
) -> Bytes
where
    Q: Clone + PartialEq + Send + 'static,
    B: Body,
{
    let settled = request.history.map_or(0, |history| history.settled);
    let (settled, open) = request
        .messages
        .split_at(settled.min(stable).min(request.messages.len()));
    let kept = request
        .history
        .and_then(|history| history.kept.take::<Prefix<Q>>())
        .filter(|kept| kept.messages <= settled.len())
        .filter(|kept| kept.head.fits(request, peer, offer));
    let mut body = fresh();
    let (head, written) = match kept {
        Some(kept) => {
            let written = kept.messages;
            body.buffer().first = kept.first;
            let (head, out) = kept.into_bytes();
            body.buffer().out = out;
            (Some(head), written)
        }
        None => {
            body.buffer().out.reserve(1024);
            body.begin();
            (None, 0)
        }
    };
    body.messages(&settled[written..]);
    let is_whole = body.is_whole();
    let Buffer { out, first } = body.buffer();
    let (length, first) = (out.len(), *first);
    body.messages(open);
    body.end();
    let out = std::mem::take(&mut body.buffer().out);
    let bytes = match request.history {
        // Held as long as the answer comes, so without the room it was written in; a later one needs room to grow.
        Some(_) if written == 0 => Bytes::copy_from_slice(&out),
        _ => out.freeze(),
    };
    if let Some(history) = request.history.filter(|_| is_whole) {
        debug_assert_eq!(
            bytes,
            {
                let mut anew = fresh();
                anew.begin();
                anew.messages(request.messages);
                anew.end();
                std::mem::take(&mut anew.buffer().out).freeze()
            },
            "what is kept is what would be written"
        );
        history.kept.keep(Prefix {
            head: head.unwrap_or_else(|| Head::of(request, peer, offer)),
            body: bytes.clone(),
            length,
            messages: settled.len(),
            first,
        });
    }
    bytes
}

/// The beginning of a body, up to and with the messages that were settled.
struct Prefix<Q> {
    head: Head<Q>,
    /// The whole body that began with it.
    body: Bytes,
    /// How many bytes of `body` it is.
    length: usize,
    /// How many messages of the conversation it holds.
    messages: usize,
    /// Whether no message was written for those.
    first: bool,
}

/// All that the beginning of a body depends on beside the messages.
struct Head<Q> {
    provider: String,
    model: String,
    system: String,
    quirks: Q,
    capabilities: Capabilities,
    dialect: &'static Dialect,
    /// Held, so that no other offer can come to stand at its address.
    offer: Option<Arc<Offer>>,
}

impl<Q: Clone + PartialEq> Head<Q> {
    fn of(request: &Request<'_>, peer: &Peer<'_, Q>, offer: Option<&Arc<Offer>>) -> Self {
        Self {
            provider: peer.provider.to_owned(),
            model: request.model.to_owned(),
            system: request.system.to_owned(),
            quirks: peer.quirks.clone(),
            capabilities: peer.capabilities,
            dialect: request.dialect,
            offer: offer.cloned(),
        }
    }

    /// Tells whether a request would begin the same way.
    fn fits(&self, request: &Request<'_>, peer: &Peer<'_, Q>, offer: Option<&Arc<Offer>>) -> bool {
        let same_tools = match (&self.offer, offer) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (None, None) => true,
            _ => false,
        };
        same_tools
            && self.provider == peer.provider
            && self.model == request.model
            && self.quirks == peer.quirks
            && self.capabilities == peer.capabilities
            && std::ptr::eq(self.dialect, request.dialect)
            && self.system == request.system
    }
}

impl<Q> Prefix<Q> {
    /// Returns the bytes to go on from: the very ones of the last body, once its request has let go of them.
    fn into_bytes(mut self) -> (Head<Q>, BytesMut) {
        self.body.truncate(self.length);
        let bytes = match self.body.try_into_mut() {
            Ok(bytes) => bytes,
            Err(shared) => BytesMut::from(&shared[..]),
        };
        (self.head, bytes)
    }
}
