//! What goes wrong with a database, in words that hold no password.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use super::connect::DEADLINE;
use crate::session::StoreError;

/// Why something could not be done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The store says so.
    Store(StoreError),
    /// The server, or the way to it, says so.
    Server(tokio_postgres::Error),
    /// We say so.
    Said(String),
    /// There was no answer in time.
    Late,
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Server(error),
            // What was to be done has not begun.
            PoolError::Timeout(_) => Self::Said("no connection became free in time".to_owned()),
            error => Self::Said(error.to_string()),
        }
    }
}

impl Fault {
    /// Tells whether the server may have done what it was asked, and whether its connections are worth nothing.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::Server(error) => match error.code() {
                Some(code) => LOST.contains(code),
                None => {
                    error.is_closed() || error.source().is_some_and(|cause| cause.is::<io::Error>())
                }
            },
            Self::Late => true,
            Self::Store(_) | Self::Said(_) => false,
        }
    }

    /// Returns the error of the store, for something that was `doing`.
    pub(super) fn into_error(self, doing: &str) -> StoreError {
        let unknown = if self.is_unknown() && !doing.starts_with("connecting") {
            "; a write may have been done or not: read the session again"
        } else {
            ""
        };
        let why = match self {
            Self::Store(error) => return error,
            Self::Server(error) => chain(&error),
            Self::Said(message) => message,
            Self::Late => format!("no answer in {} s", DEADLINE.as_secs()),
        };
        let message = format!("Postgres, {doing}: {why}{unknown}");
        StoreError::Failed { message }
    }
}

/// With these the server ends the connection, whatever it was doing.
const LOST: [SqlState; 4] = [
    SqlState::ADMIN_SHUTDOWN,
    SqlState::CRASH_SHUTDOWN,
    SqlState::TRANSACTION_RESOLUTION_UNKNOWN,
    SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
];

/// Returns an error with its causes. The server's own details are left out: they may hold what was to be kept.
pub(super) fn chain(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string does not fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
