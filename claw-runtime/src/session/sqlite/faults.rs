//! What SQLite and the file system say, told so that somebody can act on it: what happened, where, what to do.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::session::StoreError;

/// Why a piece of work in the database could not be done.
pub(super) enum Fault {
    /// The session does not allow it.
    Store(StoreError),
    /// The database cannot.
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// Returns the error as callers get it.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(error) => of_sqlite(path, &error),
        }
    }
}

/// Returns a fault of this file.
pub(super) fn failed(path: &Path, what: impl std::fmt::Display) -> StoreError {
    StoreError::Failed {
        message: format!("`{}` {what}", path.display()),
    }
}

/// Returns what the file system said about a path.
pub(super) fn of_io(path: &Path, doing: &str, error: &io::Error) -> StoreError {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; give this user write access to the folder, or keep sessions elsewhere"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space",
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::AlreadyExists => "; name a file in a folder that can be made",
        _ => "",
    };
    failed(path, format_args!("cannot be {doing}: {error}{advice}"))
}

/// Returns what SQLite said about a database.
pub(super) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> StoreError {
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "is full: the disk has no room left, or the file has reached its largest size; nothing of this write was \
             kept: free some space, then try again"
        }
        Some(ErrorCode::ReadOnly) => {
            "cannot be written; give this user write access to the file and its folder, or keep sessions elsewhere"
        }
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied,
        ) => {
            "cannot be opened; see that the file and its folder exist and are this user's, or keep sessions elsewhere"
        }
        Some(ErrorCode::NotADatabase) => {
            "is no SQLite database; move it away, or keep sessions elsewhere"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "is held by another program; end what keeps it open, then try again"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "cannot be read or written: the disk reports a fault, or a limit on file sizes is reached; nothing of this \
             write was kept"
        }
        _ if is_damage(error) => {
            "is damaged; copy it and its `-wal` file away before anything else, then export the sessions that still read, \
             and begin a new file"
        }
        _ => "cannot be used",
    };
    failed(path, format_args!("{what} ({error})"))
}

/// Tells whether an error says that what is asked for cannot be read, though other things may.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    let torn = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure)
    );
    torn || matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}
