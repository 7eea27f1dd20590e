//! HTTP to one server: requests over connections that are kept, answers read as they come.
//!
//! hyper speaks the protocol. What is ours is little: a connection is driven by whoever waits for its answer, in their own
//! task, so that no answer crosses tasks or wakes another thread; and one server needs no pool by host.

mod address;
mod answer;
mod connect;
mod connection;
mod error;
mod idle;
mod stream;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Method, Uri};
use url::Url;

pub(crate) use answer::{Answer, Body};
use connect::Connector;
pub(crate) use connect::Trusted;
pub(crate) use error::{Fault, TransportError};
use idle::Idle;

/// What is asked of the server.
#[derive(Clone)]
pub(crate) struct Request<'r> {
    pub(crate) method: Method,
    /// Where on the server; its scheme and host are not looked at.
    pub(crate) url: &'r Url,
    /// The type of answer that is wanted.
    pub(crate) accept: &'static str,
    /// A JSON document, or nothing.
    pub(crate) body: Bytes,
}

/// How a server is reached.
pub(crate) struct Options {
    /// Sent with every request, and rather than what is sent otherwise.
    pub(crate) headers: HeaderMap,
    /// How long a connection may take, finding its address and TLS included.
    pub(crate) connect: Duration,
    pub(crate) trusted: Trusted,
}

/// The connections to one server.
pub(crate) struct Client {
    headers: HeaderMap,
    /// Whether they say which type of answer is wanted, whatever a request says.
    accepts: bool,
    connector: Connector,
    idle: Arc<Idle>,
}

impl Client {
    /// Returns a client of the server of `url`. Nothing is connected yet.
    ///
    /// A server on this machine is reached straight, any other as `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`
    /// say, else as the system is set.
    ///
    /// # Errors
    ///
    /// Fails where the address is none that can be asked.
    pub(crate) fn new(url: &Url, options: Options) -> Result<Self, TransportError> {
        let Options {
            mut headers,
            connect,
            trusted,
        } = options;
        let connector = Connector::new(url, connect, trusted)?;
        let claw = concat!("claw/", env!("CARGO_PKG_VERSION"));
        let otherwise = [
            (HOST, Some(address::host(url)?)),
            (USER_AGENT, Some(HeaderValue::from_static(claw))),
            (ACCEPT_ENCODING, Some(HeaderValue::from_static("gzip"))),
            (AUTHORIZATION, address::login(url)?),
            (PROXY_AUTHORIZATION, connector.login().cloned()),
            (
                CONTENT_TYPE,
                Some(HeaderValue::from_static("application/json")),
            ),
        ];
        let accepts = headers.contains_key(ACCEPT);
        for (name, value) in otherwise {
            if let Some(value) = value {
                headers.entry(name).or_insert(value);
            }
        }
        // There is room for each request's own already.
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("*/*"));
        Ok(Self {
            headers,
            accepts,
            connector,
            idle: Arc::default(),
        })
    }

    /// Sends `request` and waits for the head of the answer.
    ///
    /// Servers close an idle connection, without a word or with one (408); a request that finds out is sent again, over another
    /// one. That is so where the connection was kept, and the request was not sent or nothing at all came of it; in the latter
    /// case the server may have read it, so it goes over a new connection then, and never out a third time.
    ///
    /// # Errors
    ///
    /// Fails where no connection comes about, or it ends or says something else before the head has come.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Answer, TransportError> {
        let target = self.connector.target(address::path(request.url)?)?;
        while let Some(mut connection) = self.idle.take().await {
            match connection.send(self.message(request, &target)).await {
                Ok(response) => return Ok(Answer::new(response, connection, &self.idle)),
                Err(error) if error.is_unsent() => {
                    tracing::debug!("an idle connection had ended; another is taken");
                }
                Err(error) if connection.was_silent() && error.is_closed() => {
                    tracing::debug!("an idle connection was closed; sent again");
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let mut connection = self.connector.connect().await?;
        let response = connection.send(self.message(request, &target)).await?;
        Ok(Answer::new(response, connection, &self.idle))
    }

    fn message(&self, request: &Request<'_>, target: &Uri) -> hyper::Request<Full<Bytes>> {
        let mut message = hyper::Request::new(Full::new(request.body.clone()));
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = target.clone();
        let headers = message.headers_mut();
        headers.clone_from(&self.headers);
        if !self.accepts {
            headers.insert(ACCEPT, HeaderValue::from_static(request.accept));
        }
        if request.body.is_empty() {
            headers.remove(CONTENT_TYPE);
        }
        message
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Tells whether an address is of this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("").trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
