//! HTTP as every provider uses it: one client, TLS made when first needed, two timers for an answer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::header::HeaderMap;
use rustls::pki_types::TrustAnchor;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::failure::bounded;
use super::{FailureClass, Progress, ProviderError, wrong_address};
use crate::tls;
use crate::transport::{Answer, Body, Client, Options, Request, TransportError, Trusted};

/// How long an answer may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// From the request to the first content; a local server reads a long prompt in this time.
    pub first_content: Duration,
    /// From content to content. Keep-alives are no content.
    pub between_content: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_content: Duration::from_secs(300),
            between_content: Duration::from_secs(35),
        }
    }
}

/// How long the token count may follow the stop reason.
const AFTER_STOP: Duration = Duration::from_secs(3);
/// How long the end of a finished answer is waited for, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(20);
/// How much of it is read, in bytes; a service that sends more than that has not finished.
const MOST_DRAINED: usize = 64 << 10;

/// Returns the connections to the service of `base`, which send these headers with each request. Authorities in `authorities`
/// are trusted besides the public ones.
pub(crate) fn client(
    base: &Url,
    headers: HeaderMap,
    authorities: &[TrustAnchor<'static>],
    timeouts: &Timeouts,
) -> Result<Client, ProviderError> {
    let trusted: Trusted = if authorities.is_empty() {
        Arc::new(tls::config)
    } else {
        let authorities = authorities.to_vec();
        // Read when a connection needs them, and once.
        let read = OnceLock::new();
        Arc::new(move || {
            let config = read.get_or_init(|| Arc::new(tls::with(&authorities)));
            Arc::clone(config)
        })
    };
    let options = Options {
        headers,
        connect: timeouts.connect,
        trusted,
    };
    Client::new(base, options).map_err(|error| network(&error, "cannot ask the service"))
}

/// Sends `request` and waits for the head of the answer.
pub(crate) async fn send(
    client: &Client,
    request: &Request<'_>,
    timeouts: &Timeouts,
) -> Result<Answer, ProviderError> {
    let url = request.url;
    match timeout(timeouts.first_content, client.send(request)).await {
        Ok(Ok(answer)) => match wrong_address::redirection(&answer, url) {
            Some(error) => Err(error),
            None => Ok(answer),
        },
        Ok(Err(error)) => {
            let mut failure = network(&error, "no answer");
            if let Some(advice) = wrong_address::advice(&error, url) {
                failure.message.push_str("; ");
                failure.message.push_str(advice);
            }
            Err(failure)
        }
        Err(_) => Err(stalled(timeouts.first_content)),
    }
}

/// Hands `body` to `feed` until it says that it is done, the body ends, or nothing comes in time.
pub(crate) async fn read(
    mut body: Body,
    started: Instant,
    timeouts: &Timeouts,
    mut feed: impl FnMut(&[u8]) -> Progress,
) -> Result<(), ProviderError> {
    let mut wait = timeouts.first_content;
    let mut deadline = after(started, wait);
    loop {
        let bytes = match timeout_at(deadline, body.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(network(&error, "the answer broke off")),
            Err(_) => return Err(stalled(wait)),
        };
        let progress = feed(&bytes);
        if progress.done {
            let (end, mut drained) = (Instant::now() + DRAIN, 0);
            while drained < MOST_DRAINED
                && let Ok(Ok(Some(rest))) = timeout_at(end, body.chunk()).await
            {
                drained += rest.len();
            }
            return Ok(());
        }
        if progress.content {
            wait = if progress.stopped {
                AFTER_STOP
            } else {
                timeouts.between_content
            };
            deadline = after(Instant::now(), wait);
        }
    }
}

/// Returns the moment `wait` after `start`; a wait that no clock can show is over in a year.
fn after(start: Instant, wait: Duration) -> Instant {
    start
        .checked_add(wait)
        .unwrap_or_else(|| start + Duration::from_secs(365 * 86_400))
}

fn stalled(wait: Duration) -> ProviderError {
    ProviderError::new(
        FailureClass::Stalled,
        format!("nothing came for {} s", wait.as_secs_f32()),
    )
}

fn network(error: &TransportError, what: &str) -> ProviderError {
    ProviderError::new(FailureClass::Network, cause(error, what))
}

/// Returns a failure of the transport in words.
pub(crate) fn cause(error: &TransportError, what: &str) -> String {
    bounded(&format!("{what}: {error}"))
}
