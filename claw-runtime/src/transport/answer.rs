//! The answer to a request: its head, and its body as it comes.

use std::io::Write;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use flate2::write::MultiGzDecoder;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, HeaderMap, LOCATION};
use url::Url;

use super::connection::Connection;
use super::idle::Idle;
use super::{Fault, TransportError};

/// How much of a compressed body is taken at once, in bytes: they may become a thousand times as many.
const MOST_PACKED: usize = 1 << 10;

/// An answer whose head has come.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// They keep the buffer they came in, so who reads a long body drops them before.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// The body of an answer.
pub(crate) struct Body {
    incoming: Incoming,
    /// What the body comes over, until its end.
    connection: Option<Box<Connection>>,
    idle: Arc<Idle>,
    packed: Option<Box<Packed>>,
}

impl Answer {
    pub(super) fn new(
        response: hyper::Response<Incoming>,
        connection: Box<Connection>,
        idle: &Arc<Idle>,
    ) -> Self {
        let (head, incoming) = response.into_parts();
        let encoding = head.headers.get(CONTENT_ENCODING);
        // RFC 9110, 8.4.1.3: the other name is the same.
        let is_packed = encoding.is_some_and(|it| {
            let name = it.as_bytes().trim_ascii();
            name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip")
        });
        Self {
            status: head.status,
            headers: head.headers,
            body: Body {
                incoming,
                connection: Some(connection),
                idle: idle.clone(),
                packed: is_packed.then(Box::default),
            },
        }
    }

    /// Returns where the answer to `from` says that something is (RFC 9110, 10.2.2); `None` where that is no address.
    pub(crate) fn location(&self, from: &Url) -> Option<Url> {
        let place = self.headers.get(LOCATION)?;
        from.join(place.to_str().ok()?).ok()
    }
}

impl Body {
    /// Waits for the next bytes of the body; `None` at its end, after which the connection serves the next request.
    ///
    /// # Errors
    ///
    /// Fails where the body breaks off or is not what its head says.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            if let Some(packed) = &mut self.packed
                && let Some(bytes) = packed.next()?
            {
                return Ok(Some(bytes));
            }
            let Some(connection) = &mut self.connection else {
                return Ok(None);
            };
            match (connection.next(&mut self.incoming).await, &mut self.packed) {
                (Some(Ok(bytes)), None) => return Ok(Some(bytes)),
                (Some(Ok(bytes)), Some(packed)) => packed.rest = bytes,
                (Some(Err(error)), _) => {
                    self.connection = None;
                    return Err(TransportError::new(Fault::Body, error));
                }
                (None, packed) => {
                    if let Some(connection) = self.connection.take() {
                        self.idle.keep(connection);
                    }
                    if let Some(packed) = packed {
                        packed.end()?;
                    }
                }
            }
        }
    }
}

/// A body that comes in gzip's form.
struct Packed {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// What came and was not yet unpacked.
    rest: Bytes,
    has_begun: bool,
}

impl Default for Packed {
    fn default() -> Self {
        Self {
            decoder: MultiGzDecoder::new(Vec::new()),
            rest: Bytes::new(),
            has_begun: false,
        }
    }
}

impl Packed {
    /// Unpacks some of what came; `None` when more must come.
    fn next(&mut self) -> Result<Option<Bytes>, TransportError> {
        let fault = |error| TransportError::new(Fault::Body, error);
        while !self.rest.is_empty() {
            let some = &self.rest[..self.rest.len().min(MOST_PACKED)];
            let taken = self.decoder.write(some).map_err(fault)?;
            self.decoder.flush().map_err(fault)?;
            self.rest.advance(taken);
            self.has_begun = true;
            let bytes = std::mem::take(self.decoder.get_mut());
            if !bytes.is_empty() {
                return Ok(Some(bytes.into()));
            }
        }
        Ok(None)
    }

    /// Fails where the body ended before what it holds.
    fn end(&mut self) -> Result<(), TransportError> {
        // Nothing at all is no body that broke off.
        if !std::mem::take(&mut self.has_begun) {
            return Ok(());
        }
        let ended = self.decoder.try_finish();
        ended.map_err(|error| TransportError::new(Fault::Body, error))
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Unpacks what comes in these pieces; returns it and the longest piece of it.
    fn unpacked<'p>(
        pieces: impl IntoIterator<Item = &'p [u8]>,
    ) -> Result<(Vec<u8>, usize), TransportError> {
        let (mut packed, mut whole, mut longest) = (Packed::default(), Vec::new(), 0);
        for piece in pieces {
            packed.rest = Bytes::copy_from_slice(piece);
            while let Some(bytes) = packed.next()? {
                longest = longest.max(bytes.len());
                whole.extend_from_slice(&bytes);
            }
        }
        packed.end()?;
        Ok((whole, longest))
    }

    #[test]
    fn a_packed_body_is_the_same_however_it_is_cut() {
        let text: Vec<u8> = (0..3000_u32).flat_map(u32::to_le_bytes).collect();
        // Two members are one body (RFC 1952, 2.2).
        let body = [packed(&text), packed(b"more")].concat();
        let expected = [&text[..], b"more"].concat();
        for size in [1, 7, 1000, body.len()] {
            let found = unpacked(body.chunks(size)).unwrap();
            assert_eq!(found.0, expected, "{size}");
        }
        assert_eq!(unpacked([]).unwrap().0, b"");
    }

    #[test]
    fn a_packed_body_that_is_none_or_breaks_off_is_a_failure() {
        let body = packed(b"some text");
        for broken in [&body[..body.len() - 1], &body[..5], b"no gzip at all"] {
            let error = unpacked([broken]).unwrap_err();
            assert_eq!(error.fault(), Fault::Body, "{error}");
        }
        let mut changed = body.clone();
        let checksum = changed.len() - 8;
        changed[checksum] ^= 1;
        assert!(unpacked([&changed[..]]).is_err());
    }

    #[test]
    fn what_grows_a_thousand_times_comes_in_small_pieces() {
        let body = packed(&vec![0; 64 << 20]);
        assert!(body.len() < 80_000);
        let (whole, longest) = unpacked([&body[..]]).unwrap();
        assert_eq!(whole.len(), 64 << 20);
        assert!(longest <= 2 << 20, "{longest}");
    }
}
