//! The tables, how they came to be, and connections that are set up to use them.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::Durability;
use super::faults::{Fault, failed, of_sqlite};
use crate::session::StoreError;

/// `claw`: marks the file as ours among SQLite databases.
const APPLICATION: i32 = 0x636c_6177;

/// How long SQLite waits for a lock by itself; the gate in front of it makes that rare.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// The steps from an empty file to today's tables. Each runs once, in a transaction of its own; a step that has been
/// released is never changed.
const STEPS: [&str; 1] = ["
    CREATE TABLE sessions (
        number     INTEGER PRIMARY KEY,
        id         TEXT NOT NULL UNIQUE,
        program    TEXT NOT NULL,
        fence      INTEGER NOT NULL DEFAULT 0,
        owner      TEXT,                        -- a host's name; it may be dead
        head       INTEGER NOT NULL DEFAULT 0,  -- the seq of the last event
        head_hash  BLOB NOT NULL,
        title      TEXT,
        parent     TEXT,
        parent_seq INTEGER,
        phase      INTEGER NOT NULL DEFAULT 0,  -- 0 idle, 1 open, 2 parked
        until_ms   INTEGER NOT NULL DEFAULT 0,  -- of a parked one
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE events (
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        seq     INTEGER NOT NULL,
        time_ms INTEGER NOT NULL,
        kind    TEXT NOT NULL,
        version INTEGER NOT NULL,
        payload BLOB NOT NULL,
        hash    BLOB NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE inbox (
        id      INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        key     TEXT NOT NULL,
        input   BLOB,                           -- NULL once it is taken; the key stays
        UNIQUE (session, key)
    ) STRICT;
    CREATE INDEX inbox_waiting ON inbox (session, id) WHERE input IS NOT NULL;
    CREATE TABLE blobs (
        number INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        bytes  BLOB NOT NULL
    ) STRICT;
    CREATE TABLE blob_uses (
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        blob    INTEGER NOT NULL REFERENCES blobs,
        PRIMARY KEY (session, blob)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blob_users ON blob_uses (blob);
    CREATE TABLE counters (
        name  TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE fences (last INTEGER NOT NULL) STRICT;
    INSERT INTO fences VALUES (0);
"];

/// Opens the connection that writes, and brings the tables up to date. Only within a turn at the gate.
pub(super) fn writing(
    path: &Path,
    durability: Durability,
    most_bytes: Option<u64>,
) -> Result<Connection, StoreError> {
    let mut conn = connect(path).map_err(|error| of_sqlite(path, &error))?;
    let version = version(&conn, path)?;
    set_up(&conn, path, durability, most_bytes).map_err(|fault| fault.at(path))?;
    migrate(&mut conn, version).map_err(|error| of_sqlite(path, &error))?;
    Ok(conn)
}

/// Opens a connection that reads.
pub(super) fn reading(path: &Path) -> rusqlite::Result<Connection> {
    let conn = connect(path)?;
    conn.execute_batch("PRAGMA query_only = ON;")?;
    Ok(conn)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without `CREATE`: the file was made before, with the right mode.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    // A file from elsewhere may hold functions in its schema, and pages that lie about themselves.
    conn.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(conn)
}

/// Returns the step a database stands at.
///
/// # Errors
///
/// Fails when it is somebody else's, or a newer claw's.
fn version(conn: &Connection, path: &Path) -> Result<usize, StoreError> {
    let read = || -> rusqlite::Result<(i32, i64, i64)> {
        Ok((
            pragma(conn, "application_id")?,
            pragma(conn, "user_version")?,
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        ))
    };
    let (application, version, tables) = read().map_err(|error| of_sqlite(path, &error))?;
    if (application, version, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION {
        return Err(failed(
            path,
            "is another program's SQLite database; keep sessions in a file of their own",
        ));
    }
    match usize::try_from(version) {
        Ok(version) if version <= STEPS.len() => Ok(version),
        _ => Err(failed(
            path,
            format_args!(
                "was written by a newer claw (schema {version}; this one knows up to {}); update claw, or keep sessions \
                 elsewhere",
                STEPS.len()
            ),
        )),
    }
}

fn set_up(
    conn: &Connection,
    path: &Path,
    durability: Durability,
    most_bytes: Option<u64>,
) -> Result<(), Fault> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        let what = format_args!(
            "cannot have a write-ahead log (SQLite stays in mode `{mode}`); keep sessions on a local disk"
        );
        return Err(failed(path, what).into());
    }
    // Checkpoints are the writer's: after a commit is acknowledged, not within it. What is deleted is overwritten, for
    // conversations are private.
    conn.execute_batch(
        "PRAGMA wal_autocheckpoint = 0;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;",
    )?;
    conn.execute_batch(durability.firm())?;
    if durability == Durability::Full {
        // macOS calls it synced when the drive has it in memory, unless told otherwise.
        conn.execute_batch("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;")?;
    }
    if let Some(most) = most_bytes {
        let size: u32 = pragma(conn, "page_size")?;
        let pages = (most / u64::from(size.max(1))).clamp(1, u64::from(u32::MAX - 1));
        // A pragma that answers is a query.
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(())
}

fn migrate(conn: &mut Connection, version: usize) -> rusqlite::Result<()> {
    for (step, number) in STEPS.iter().zip(1..).skip(version) {
        let step = format!(
            "{step} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {number};"
        );
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(&step)?;
        transaction.commit()?;
    }
    Ok(())
}

fn pragma<T: rusqlite::types::FromSql>(conn: &Connection, name: &str) -> rusqlite::Result<T> {
    conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}
