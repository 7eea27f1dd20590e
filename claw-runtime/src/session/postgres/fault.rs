//! What goes wrong with a database, in words that hold no password.

use std::error::Error as _;
use std::fmt::Write as _;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

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
    /// Returns the error of the store, for something that was `doing`.
    pub(super) fn into_error(self, doing: &str) -> StoreError {
        let message = match self {
            Self::Store(error) => return error,
            Self::Server(error) if is_unknown(&error) => unknown(doing, &chain(&error)),
            Self::Server(error) => format!("Postgres, {doing}: {}", chain(&error)),
            Self::Said(message) => format!("Postgres, {doing}: {message}"),
        };
        StoreError::Failed { message }
    }
}

/// Says that nobody knows whether something was done.
pub(super) fn unknown(doing: &str, why: &str) -> String {
    format!(
        "Postgres, {doing}: {why}; it is not known whether that was done before: read the session again"
    )
}

/// The connection was lost, or is lost by now: the server may have done what it was asked.
fn is_unknown(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        None => {
            error.is_closed()
                || matches!(error.source(), Some(source) if source.is::<std::io::Error>())
        }
        Some(code) => [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::TRANSACTION_RESOLUTION_UNKNOWN,
            SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
        ]
        .contains(code),
    }
}

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
