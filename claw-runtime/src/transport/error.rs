//! Why nothing came of a request, or not all of it.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The address cannot be asked.
    Address,
    /// No connection came about.
    Connect,
    /// The request was not sent, or no head of an answer came.
    Exchange,
    /// What answered does not speak HTTP.
    NoHttp,
    /// The body broke off.
    Body,
}

/// A failure of the transport. It names no address, which may hold a key.
#[derive(Debug)]
pub(crate) struct TransportError {
    fault: Fault,
    is_unsent: bool,
    cause: Box<dyn Error + Send + Sync>,
}

impl TransportError {
    pub(super) fn new(fault: Fault, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        Self {
            fault,
            is_unsent: false,
            cause,
        }
    }

    /// Returns the failure of an exchange.
    pub(super) fn exchange(error: hyper::Error) -> Self {
        let (is_parse, is_unsent) = (error.is_parse(), error.is_canceled());
        let mut error = Self::new(Fault::Exchange, error);
        // hyper's type does not tell these; a head that is too long for it is HTTP all the same.
        let says = |words| {
            error
                .causes()
                .any(|cause| cause.to_string().contains(words))
        };
        // Who speaks before it is asked does not speak HTTP.
        if is_parse && !says("head is too large") || says("unexpected message") {
            error.fault = Fault::NoHttp;
        }
        error.is_unsent = is_unsent;
        error
    }

    /// Tells whether the request was not sent at all: the connection had ended, or the other side had said something.
    pub(super) fn is_unsent(&self) -> bool {
        self.is_unsent
    }

    /// Returns what failed.
    pub(crate) fn fault(&self) -> Fault {
        self.fault
    }

    /// Tells whether the other side closed a connection that there was.
    pub(crate) fn is_closed(&self) -> bool {
        let is_lost = |error: &io::Error| {
            matches!(
                error.kind(),
                ErrorKind::ConnectionReset
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::BrokenPipe
                    | ErrorKind::NotConnected
                    | ErrorKind::UnexpectedEof
            )
        };
        self.fault == Fault::Exchange
            && self.causes().any(|cause| {
                let hyper = cause.downcast_ref::<hyper::Error>();
                hyper.is_some_and(|it| {
                    it.is_incomplete_message() || it.is_canceled() || it.is_closed()
                }) || cause.downcast_ref::<io::Error>().is_some_and(is_lost)
            })
    }

    /// Returns the TLS library's own error, where that is what failed.
    pub(crate) fn tls(&self) -> Option<&rustls::Error> {
        self.causes().find_map(|cause| cause.downcast_ref())
    }

    /// Goes through what failed, the outermost first.
    fn causes(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let first: &(dyn Error + 'static) = &*self.cause;
        std::iter::successors(Some(first), |&error| {
            // An error of input and output hides what it holds from `source`.
            match error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
            {
                Some(held) => Some(held as _),
                None => error.source(),
            }
        })
    }
}

impl std::fmt::Display for TransportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut said = match self.fault {
            Fault::Address => "this address cannot be asked",
            Fault::Connect => "no connection",
            // What hyper says of these is said well.
            Fault::Exchange | Fault::NoHttp | Fault::Body => "",
        }
        .to_owned();
        for cause in self.causes() {
            let text = cause.to_string();
            if said.contains(&text) {
                continue;
            }
            if !said.is_empty() {
                said.push_str(": ");
            }
            said.push_str(&text);
        }
        f.write_str(&said)
    }
}

impl Error for TransportError {}
