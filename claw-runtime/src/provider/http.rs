//! HTTP as every provider uses it: one pooled client, TLS made when first needed, two timers for an answer.

use std::error::Error as _;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, Url};
use rustls::pki_types::TrustAnchor;
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::bounded;
use super::{FailureClass, Progress, ProviderError, wrong_address};
use crate::tls;

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

/// Returns a client for `base`, which trusts these authorities besides the public ones: redirects off, HTTP/1.1, connections
/// kept for five minutes.
pub(crate) fn client(
    base: &Url,
    authorities: &[TrustAnchor<'static>],
    timeouts: &Timeouts,
) -> Result<Client, ProviderError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(match base.scheme() {
            "https" if authorities.is_empty() => tls::config(),
            "https" => tls::with(authorities),
            _ => tls::trusting_nobody(),
        })
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(timeouts.connect)
        .pool_idle_timeout(Duration::from_secs(300))
        .tcp_nodelay(true)
        .user_agent(concat!("claw/", env!("CARGO_PKG_VERSION")));
    if is_loopback(base) {
        // A proxy cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| network(error, "cannot make an HTTP client"))
}

/// Tells whether an address is of this machine.
pub(crate) fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or("").trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// Sends `request` and waits for the head of the answer.
pub(crate) async fn send(
    request: RequestBuilder,
    base: &Url,
    timeouts: &Timeouts,
) -> Result<Response, ProviderError> {
    match timeout(timeouts.first_content, request.send()).await {
        Ok(Ok(response)) => match wrong_address::redirection(&response) {
            Some(error) => Err(error),
            None => Ok(response),
        },
        Ok(Err(error)) => {
            let advice = wrong_address::advice(&error, base);
            let mut failure = network(error, "no answer");
            if let Some(advice) = advice {
                failure.message.push_str("; ");
                failure.message.push_str(advice);
            }
            Err(failure)
        }
        Err(_) => Err(stalled(timeouts.first_content)),
    }
}

/// Hands the body of `response` to `feed` until it says that it is done, the body ends, or nothing comes in time.
pub(crate) async fn read(
    mut response: Response,
    started: Instant,
    timeouts: &Timeouts,
    mut feed: impl FnMut(&[u8]) -> Progress,
) -> Result<(), ProviderError> {
    let mut wait = timeouts.first_content;
    let mut deadline = after(started, wait);
    loop {
        let bytes = match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(network(error, "the answer broke off")),
            Err(_) => return Err(stalled(wait)),
        };
        let progress = feed(&bytes);
        if progress.done {
            let (end, mut drained) = (Instant::now() + DRAIN, 0);
            while drained < MOST_DRAINED
                && let Ok(Ok(Some(rest))) = timeout_at(end, response.chunk()).await
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

fn network(error: reqwest::Error, what: &str) -> ProviderError {
    ProviderError::new(FailureClass::Network, cause(error, what))
}

/// Returns a transport failure in words; without the address, which may hold a key.
pub(crate) fn cause(error: reqwest::Error, what: &str) -> String {
    let error = error.without_url();
    let mut message = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    bounded(&message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_needs_no_tls_provider_set_for_the_process() {
        for base in ["https://api.openai.com/v1", "http://127.0.0.1:8080/v1"] {
            client(&base.parse().unwrap(), &[], &Timeouts::default()).unwrap();
        }
    }
}
