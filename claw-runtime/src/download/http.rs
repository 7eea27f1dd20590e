//! One file from a server that may ignore what it is asked, break off, lie about lengths or send something else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::part::{Origin, Part};
use super::{DownloadError, Progress};
use crate::provider::http::cause;
use crate::transport::{Answer, Body, Client, Options, Request, TransportError, is_loopback};
use crate::{digest, tls};

/// How often a broken connection is made anew.
const TRIES: usize = 5;
/// How many redirects are followed.
const REDIRECTS: usize = 10;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// What must come within the patience, in bytes: less than a phone line's worth will never be a whole file.
const PACE: u64 = 64 << 10;
/// The longest name of a content that is remembered.
const LONGEST_ETAG: usize = 512;

/// Reads an address, and refuses one that may not be fetched from.
pub(super) fn address(text: &str) -> Result<Url, DownloadError> {
    let fault = |what: &str| DownloadError::Address {
        what: what.to_owned(),
    };
    let url = Url::parse(text).map_err(|error| fault(&format!("it is no address: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("an address must not hold a name or password"));
    }
    may_fetch(&url).map_err(fault)?;
    Ok(url)
}

fn may_fetch(url: &Url) -> Result<(), &'static str> {
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) => Ok(()),
        _ => Err("only `https` addresses are fetched from, and `http` ones of this machine"),
    }
}

/// Asks for the file, and where it is said to be elsewhere, there.
async fn ask(url: &Url, headers: &HeaderMap) -> Result<Answer, DownloadError> {
    let mut url = url.clone();
    for _ in 0..=REDIRECTS {
        let options = Options {
            headers: headers.clone(),
            connect: CONNECT,
            trusted: Arc::new(tls::config),
        };
        let client =
            Client::new(&url, options).map_err(|error| network(&error, "cannot ask for it"))?;
        let request = Request {
            method: Method::GET,
            url: &url,
            accept: "*/*",
            body: Bytes::new(),
        };
        let answer = client.send(&request).await;
        let answer = answer.map_err(|error| network(&error, "no answer"))?;
        match elsewhere(&url, &answer)? {
            Some(next) => url = next,
            None => return Ok(answer),
        }
    }
    Err(redirected("there are too many redirects"))
}

/// Returns where an answer says that the file is (RFC 9110, 15.4); a place that may not be fetched from is a failure.
fn elsewhere(url: &Url, answer: &Answer) -> Result<Option<Url>, DownloadError> {
    if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    if !answer.headers.contains_key(header::LOCATION) {
        return Ok(None);
    }
    let place = answer.location(url);
    let place = place.ok_or_else(|| redirected("a redirect leads to no address"))?;
    if url.scheme() == "https" && place.scheme() == "http" {
        return Err(redirected("a redirect leads from `https` to `http`"));
    }
    may_fetch(&place).map_err(redirected)?;
    Ok(Some(place))
}

fn redirected(what: &str) -> DownloadError {
    DownloadError::Network {
        what: format!("no answer: {what}"),
    }
}

/// Brings all that is missing of a file.
pub(super) async fn fetch(
    part: &mut Part<'_>,
    url: &Url,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), DownloadError> {
    let mut tries = 0;
    loop {
        let before = part.taken;
        match attempt(part, url, progress).await {
            Err(error) if error.is_break() && part.taken > before && tries < TRIES => tries += 1,
            ended => return ended,
        }
    }
}

async fn attempt(
    part: &mut Part<'_>,
    url: &Url,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), DownloadError> {
    let patience = part.wanted.patience;
    let from = digest::of(url.as_str().as_bytes());
    let etag = part.etag(&from).map(str::to_owned);
    let mut asked = HeaderMap::new();
    // Lengths and parts are those of the file.
    asked.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    // With a digest that is known, a mixture is found out.
    let may_resume = etag.is_some() || part.wanted.sha256.is_some();
    if part.length() > 0 && !may_resume {
        part.restart(None)?;
    }
    let start = part.length();
    if start > 0 {
        let range = HeaderValue::from_str(&format!("bytes={start}-"));
        asked.extend(range.ok().map(|range| (header::RANGE, range)));
        let etag = etag.and_then(|etag| HeaderValue::from_str(&etag).ok());
        asked.extend(etag.map(|etag| (header::IF_RANGE, etag)));
    }
    let response = match timeout(patience, ask(url, &asked)).await {
        Ok(answer) => answer?,
        Err(_) => return Err(DownloadError::Stalled { patience }),
    };
    let headers = &response.headers;
    if headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|it| it != "identity")
    {
        return Err(answer("the file in a compressed form"));
    }
    let total = match (response.status, range(headers)) {
        (StatusCode::OK, _) => {
            let total = length(headers);
            let etag = strong_etag(headers);
            part.restart(etag.map(|etag| Origin {
                address: from,
                etag,
            }))?;
            total
        }
        (
            StatusCode::PARTIAL_CONTENT,
            Some(Range {
                first: Some(first),
                total,
            }),
        ) if start > 0 && first == start => {
            let rest = length(headers);
            total.or(rest.map(|rest| start.saturating_add(rest)))
        }
        // All of it is there already.
        (
            StatusCode::RANGE_NOT_SATISFIABLE,
            Some(Range {
                first: None,
                total: Some(total),
            }),
        ) if start > 0 && total == start => {
            return Ok(());
        }
        (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, _) if start > 0 => {
            part.restart(None)?;
            // Nothing is asked for but the whole this time.
            return Box::pin(attempt(part, url, progress)).await;
        }
        (StatusCode::PARTIAL_CONTENT, _) => return Err(answer("a part that was not asked for")),
        (status, _) => {
            return Err(DownloadError::Status {
                status: status.as_u16(),
            });
        }
    };
    check_total(part, total)?;
    let total = part.wanted.size.or(total);
    receive(part, response.body, total, progress).await?;
    match total {
        Some(expected) if part.length() < expected => {
            let found = part.length();
            Err(DownloadError::Truncated { expected, found })
        }
        _ => Ok(()),
    }
}

fn check_total(part: &Part<'_>, total: Option<u64>) -> Result<(), DownloadError> {
    match (total, part.wanted.size) {
        (Some(found), Some(expected)) if found != expected => {
            Err(DownloadError::Size { expected, found })
        }
        (Some(found), _) if found > part.wanted.most => {
            let most = part.wanted.most;
            Err(DownloadError::TooLarge { most })
        }
        _ => Ok(()),
    }
}

async fn receive(
    part: &mut Part<'_>,
    mut body: Body,
    total: Option<u64>,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), DownloadError> {
    let patience = part.wanted.patience;
    let (mut deadline, mut since) = (Instant::now() + patience, 0);
    loop {
        let bytes = match timeout_at(deadline, body.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(network(&error, "the file broke off")),
            Err(_) => return Err(DownloadError::Stalled { patience }),
        };
        part.push(&bytes)?;
        progress(Progress::Bytes {
            done: part.length(),
            total,
        });
        since += bytes.len() as u64;
        if since >= PACE {
            (deadline, since) = (Instant::now() + patience, 0);
        }
    }
}

/// What `Content-Range` says (RFC 9110, 14.4).
#[derive(Debug, PartialEq, Eq)]
struct Range {
    /// The first byte of the part; none of them where the range was refused.
    first: Option<u64>,
    /// The length of the whole.
    total: Option<u64>,
}

fn range(headers: &HeaderMap) -> Option<Range> {
    let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (part, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let first = match part.trim() {
        "*" => None,
        part => Some(part.split_once('-')?.0.parse().ok()?),
    };
    Some(Range {
        first,
        total: total.trim().parse().ok(),
    })
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Returns the server's name for this very content; a weak one may stand for another that means the same.
fn strong_etag(headers: &HeaderMap) -> Option<String> {
    let etag = headers.get(header::ETAG)?.to_str().ok()?;
    (etag.starts_with('"') && etag.len() <= LONGEST_ETAG).then(|| etag.to_owned())
}

fn network(error: &TransportError, what: &str) -> DownloadError {
    DownloadError::Network {
        what: cause(error, what),
    }
}

fn answer(what: &str) -> DownloadError {
    DownloadError::Answer {
        what: what.to_owned(),
    }
}
