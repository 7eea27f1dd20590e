//! What of an address is sent, and in which header.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::http::uri::PathAndQuery;
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use super::{Fault, TransportError};

/// Returns path and query, as the first line of a request has them.
pub(super) fn path(url: &Url) -> Result<PathAndQuery, TransportError> {
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let path = Bytes::copy_from_slice(path.as_bytes());
    PathAndQuery::from_maybe_shared(path).map_err(|error| fault(error.into()))
}

/// Returns the host, with its port where that is not the scheme's.
pub(super) fn host(url: &Url) -> Result<HeaderValue, TransportError> {
    let host = &url[Position::BeforeHost..Position::AfterPort];
    HeaderValue::from_str(host).map_err(|error| fault(error.into()))
}

/// Returns the name and password in an address as a header says them (RFC 7617).
pub(super) fn login(url: &Url) -> Result<Option<HeaderValue>, TransportError> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let mut pair: Vec<u8> = percent_decode_str(url.username()).collect();
    pair.push(b':');
    pair.extend(percent_decode_str(url.password().unwrap_or_default()));
    let text = format!("Basic {}", BASE64_STANDARD.encode(pair));
    let mut value = HeaderValue::from_str(&text).map_err(|error| fault(error.into()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn fault(cause: Box<dyn std::error::Error + Send + Sync>) -> TransportError {
    TransportError::new(Fault::Address, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        let url = |text: &str| Url::parse(text).unwrap();
        for (text, expected_host, expected_path) in [
            ("http://h", "h", "/"),
            ("https://h:443/a?b=c#d", "h", "/a?b=c"),
            (
                "https://u:p@h:8443/a b/ü?q={x}|'",
                "h:8443",
                "/a%20b/%C3%BC?q={x}|%27",
            ),
            ("http://[::1]:80/v1", "[::1]", "/v1"),
            ("http://bücher.example:81", "xn--bcher-kva.example:81", "/"),
        ] {
            assert_eq!(host(&url(text)).unwrap(), expected_host, "{text}");
            assert_eq!(path(&url(text)).unwrap(), expected_path, "{text}");
        }
    }

    #[test]
    fn a_login_is_sent_decoded_and_never_shown() {
        let login = |text: &str| login(&Url::parse(text).unwrap()).unwrap();
        // RFC 7617, section 2: `Aladdin` and `open sesame`.
        let found = login("http://Aladdin:open%20sesame@h").unwrap();
        assert_eq!(found, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(found.is_sensitive());
        assert_eq!(login("http://u@h").unwrap(), "Basic dTo=");
        assert_eq!(login("http://h"), None);
    }
}
