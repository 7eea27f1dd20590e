//! HTTP as every provider uses it: one pooled client, TLS made when first needed, two timers for an answer.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, Url};
use rustls::pki_types::TrustAnchor;
use tokio::time::{Instant, timeout, timeout_at};
use tower_layer::Layer;
use tower_service::Service;

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

/// The connections to one service.
#[derive(Debug)]
pub(crate) struct Pool {
    client: Client,
    /// How many were begun.
    begun: Begun,
}

impl Pool {
    /// Returns a pool for `base`, which trusts these authorities besides the public ones.
    pub(crate) fn new(
        base: &Url,
        authorities: &[TrustAnchor<'static>],
        timeouts: &Timeouts,
    ) -> Result<Self, ProviderError> {
        let begun = Begun::default();
        let client = client(base, authorities, timeouts, begun.clone())?;
        Ok(Self { client, begun })
    }

    pub(crate) fn get(&self, url: Url) -> RequestBuilder {
        self.client.get(url)
    }

    pub(crate) fn post(&self, url: Url) -> RequestBuilder {
        self.client.post(url)
    }

    /// Sends `request` and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        request: RequestBuilder,
        base: &Url,
        timeouts: &Timeouts,
    ) -> Result<Response, ProviderError> {
        match timeout(timeouts.first_content, self.sent(request)).await {
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

    /// Sends a request, and again where the connection was one that had been idle and was closed before an answer: servers do
    /// that without a word. One that closed within the head of its answer looks the same and is asked again too. Each such
    /// connection is gone then, so this ends.
    async fn sent(&self, mut request: RequestBuilder) -> Result<Response, reqwest::Error> {
        loop {
            let (again, begun) = (request.try_clone(), self.begun.count());
            match (request.send().await, again) {
                // Where another request has begun a connection meanwhile, it is not known whose failed.
                (Err(error), Some(again)) if is_closed(&error) && self.begun.count() == begun => {
                    tracing::debug!("an idle connection was closed; sent again");
                    request = again;
                }
                (sent, _) => return sent,
            }
        }
    }
}

/// Tells whether a connection was closed before an answer came.
fn is_closed(error: &reqwest::Error) -> bool {
    use std::io::ErrorKind;
    if error.is_timeout() || error.is_connect() {
        return false;
    }
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(cause) = cause.downcast_ref::<std::io::Error>() {
            return matches!(
                cause.kind(),
                ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::NotConnected
                    | ErrorKind::UnexpectedEof
            );
        }
        // The words of hyper, whose type says no more to who does not depend on it.
        if cause.to_string() == "connection closed before message completed" {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Counts connections as they are begun: a request that begins none goes over one that was idle.
#[derive(Clone, Debug, Default)]
struct Begun(Arc<AtomicUsize>);

impl Begun {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl<S> Layer<S> for Begun {
    type Service = Connecting<S>;

    fn layer(&self, connect: S) -> Connecting<S> {
        let begun = self.clone();
        Connecting { connect, begun }
    }
}

/// What makes connections, counted.
#[derive(Clone, Debug)]
struct Connecting<S> {
    connect: S,
    begun: Begun,
}

impl<S: Service<R>, R> Service<R> for Connecting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connect.poll_ready(context)
    }

    fn call(&mut self, to: R) -> S::Future {
        self.begun.0.fetch_add(1, Ordering::SeqCst);
        self.connect.call(to)
    }
}

/// Returns a client for `base`: redirects off, HTTP/1.1, connections kept for five minutes.
fn client(
    base: &Url,
    authorities: &[TrustAnchor<'static>],
    timeouts: &Timeouts,
    begun: Begun,
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
        .connector_layer(begun)
        // One odd header of a proxy makes no answer unreadable.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
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
            Pool::new(&base.parse().unwrap(), &[], &Timeouts::default()).unwrap();
        }
    }
}
