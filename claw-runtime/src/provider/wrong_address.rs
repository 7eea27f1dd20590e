//! What answers there is no model server, in words that tell what it is and what to do.

#[cfg(feature = "http")]
use url::Url;

use super::failure::bounded;
#[cfg(feature = "http")]
use super::{FailureClass, ProviderError};
#[cfg(feature = "http")]
use crate::transport::{Answer, Fault, TransportError};

/// The most that is quoted of what came, in characters.
const QUOTED: usize = 60;

/// Returns what to say of a web page in the place of an answer.
pub(crate) fn page(text: &str, status: u16) -> String {
    let title = quoted(title(text).unwrap_or_default());
    let title = if title.is_empty() {
        title
    } else {
        format!(" (`{title}`)")
    };
    match status {
        200..300 => format!("the service answered with a web page{title}; check the base URL"),
        // The service may be away behind a gateway that is there.
        500.. => format!("status {status} with a web page{title}"),
        _ => format!(
            "status {status} with a web page{title}, so this is no model server's address; check the base URL"
        ),
    }
}

/// Returns what to say of a text in the place of an answer.
pub(crate) fn text(text: &str, wanted: &str) -> String {
    format!(
        "`{}` came in the place of {wanted}; check the base URL",
        quoted(text)
    )
}

/// Tells whether a body is no stream of events from its first bytes on, as against one that was cut.
pub(crate) fn is_no_stream(opening: &[u8]) -> bool {
    let fields: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
    let opening = opening.trim_ascii_start();
    let opening = opening.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(opening);
    !opening.is_empty()
        && !fields
            .iter()
            .any(|field| opening.starts_with(field) || field.starts_with(opening))
}

/// Returns the failure that a redirection from `url` is: a key goes where it was meant to go, and nowhere else.
#[cfg(feature = "http")]
pub(crate) fn redirection(answer: &Answer, url: &Url) -> Option<ProviderError> {
    let status = answer.status;
    if !status.is_redirection() {
        return None;
    }
    let to = answer
        .location(url)
        .map_or("elsewhere".to_owned(), |place| {
            // Without its query, which may hold what nobody should see.
            let host = place.host_str().unwrap_or_default();
            let path = format!("{}://{host}{}", place.scheme(), place.path());
            format!("to `{}`", quoted(&path))
        });
    let message = format!(
        "the service redirects {to} (status {}), which is not followed; check the base URL",
        status.as_u16()
    );
    Some(ProviderError {
        status: Some(status.as_u16()),
        ..ProviderError::new(FailureClass::BadRequest, message)
    })
}

/// Returns what to do about a failure of the transport, where it shows that the address is wrong.
#[cfg(feature = "http")]
pub(crate) fn advice(error: &TransportError, address: &Url) -> Option<&'static str> {
    const PLAIN: &str =
        "it does not speak TLS there: an address of this kind begins with `http://`";
    const NO_HTTP: &str = "what answers there does not speak HTTP: check host and port; where it speaks TLS, the address \
                           begins with `https://`";
    const GONE: &str = "where it speaks TLS, the address begins with `https://`";
    const UNTRUSTED: &str = "its certificate is not trusted: name the file of the authority that signed it with `ca_file`";
    match error.tls() {
        Some(rustls::Error::InvalidMessage(_)) => return Some(PLAIN),
        Some(rustls::Error::InvalidCertificate(_)) => return Some(UNTRUSTED),
        _ => {}
    }
    if error.fault() == Fault::NoHttp {
        return Some(NO_HTTP);
    }
    (error.is_closed() && address.scheme() == "http").then_some(GONE)
}

fn title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase();
    let begin = lower.find("<title")?;
    let begin = begin + lower[begin..].find('>')? + 1;
    let end = begin + lower[begin..].find('<')?;
    page.get(begin..end)
}

fn quoted(text: &str) -> String {
    let text = bounded(text).replace('`', "'");
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_was_cut_is_one() {
        for stream in [
            "",
            "  ",
            "d",
            "data: {",
            ": ping",
            "\u{feff}even",
            "id",
            "retry: 3",
        ] {
            assert!(!is_no_stream(stream.as_bytes()), "{stream}");
        }
        for other in [
            "Ollama is running",
            "SSH-2.0",
            "dat is geen antwoord",
            "\0\0",
        ] {
            assert!(is_no_stream(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_page_is_told_by_its_title() {
        let page = |text: &str, status| super::page(text, status);
        assert_eq!(
            page("<html><TITLE lang=en>404 `Not`\n Found</title>", 404),
            "status 404 with a web page (`404 'Not' Found`), so this is no model server's address; check the base URL"
        );
        assert_eq!(page("<title>İ", 502), "status 502 with a web page");
        assert_eq!(
            page("<p>", 200),
            "the service answered with a web page; check the base URL"
        );
    }
}
