//! The beginning of a body, kept so that the next request of the session writes only what is new.
//!
//! It is an optimisation and nothing else: a body that goes on from a kept beginning has the bytes of one written anew.
//! Debug builds compare the two on every request.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::Peer;
use super::Quirks;
use crate::dialect::{Dialect, Offer};
use crate::provider::{Capabilities, Request};

/// The beginning of a body, up to and with the messages that were settled.
pub(super) struct Prefix {
    pub(super) head: Head,
    /// The whole body that began with it.
    pub(super) body: Bytes,
    /// How many bytes of `body` it is.
    pub(super) length: usize,
    /// How many messages of the conversation it holds.
    pub(super) messages: usize,
    /// Whether no message was written for those.
    pub(super) first: bool,
}

/// All that the beginning of a body depends on beside the messages.
pub(super) struct Head {
    provider: String,
    model: String,
    system: String,
    quirks: Quirks,
    capabilities: Capabilities,
    dialect: &'static Dialect,
    /// Held, so that no other offer can come to stand at its address.
    offer: Option<Arc<Offer>>,
}

impl Head {
    pub(super) fn of(request: &Request<'_>, peer: Peer<'_>, offer: Option<&Arc<Offer>>) -> Self {
        Self {
            provider: peer.provider.to_owned(),
            model: request.model.to_owned(),
            system: request.system.to_owned(),
            quirks: peer.quirks,
            capabilities: peer.capabilities,
            dialect: request.dialect,
            offer: offer.cloned(),
        }
    }

    /// Tells whether a request would begin the same way.
    pub(super) fn fits(
        &self,
        request: &Request<'_>,
        peer: Peer<'_>,
        offer: Option<&Arc<Offer>>,
    ) -> bool {
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

impl Prefix {
    /// Returns the bytes to go on from: the very ones of the last body, once its request has let go of them.
    pub(super) fn into_bytes(mut self) -> (Head, BytesMut) {
        self.body.truncate(self.length);
        let bytes = match self.body.try_into_mut() {
            Ok(bytes) => bytes,
            Err(shared) => BytesMut::from(&shared[..]),
        };
        (self.head, bytes)
    }
}
