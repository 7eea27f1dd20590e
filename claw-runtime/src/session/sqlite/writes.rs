//! What is written, statement by statement, within a transaction of the [writer](super::writer).

use rusqlite::{Connection, OptionalExtension, params};

use super::faults::Fault;
use super::host::{Host, called};
use crate::session::record::{Hash, START};
use crate::session::{Lease, Parent, Phase, Record, StoreError};

/// A session, as its owner finds it.
pub(super) struct Owned {
    /// Its number.
    pub(super) number: i64,
    head: u64,
    hash: Hash,
}

/// What an append brings, written down already.
pub(super) struct Written {
    /// The seq of the last event the writer knows of.
    pub(super) after: u64,
    /// The events: name and payload.
    pub(super) events: Vec<(&'static str, Vec<u8>)>,
    /// The first words, when they are among them.
    pub(super) title: Option<String>,
    /// Where the session stands after them, when they tell.
    pub(super) phase: Option<Phase>,
    /// The inbox entries they take in.
    pub(super) taken: Vec<u64>,
}

/// Takes ownership of a session, creating it when it does not exist.
pub(super) fn open(
    conn: &Connection,
    host: &Host,
    program: &str,
    id: &str,
) -> Result<Lease, Fault> {
    let mut find = conn.prepare_cached("SELECT program, owner FROM sessions WHERE id = ?1")?;
    let found = find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
    match found.optional()? {
        None => insert(conn, program, id, None)?,
        Some((of, _)) if of != program => {
            return Err(StoreError::OtherProgram {
                session: id.to_owned(),
                program: of,
            }
            .into());
        }
        Some((_, owner)) => not_elsewhere(host, id, owner)?,
    }
    let mut next = conn.prepare_cached("UPDATE fences SET last = last + 1 RETURNING last")?;
    let fence: i64 = next.query_row([], |row| row.get(0))?;
    conn.prepare_cached("UPDATE sessions SET owner = ?2, fence = ?3 WHERE id = ?1")?
        .execute(params![id, host.name, fence])?;
    Ok(Lease {
        session: id.to_owned(),
        fence: fence.cast_unsigned(),
    })
}

/// Gives a session up, if it is this lease's.
pub(super) fn close(conn: &Connection, host: &Host, lease: &Lease) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE sessions SET owner = NULL WHERE id = ?1 AND owner = ?2 AND fence = ?3",
    )?
    .execute(params![lease.session, host.name, lease.fence.cast_signed()])?;
    Ok(())
}

/// Returns the session of a lease.
///
/// # Errors
///
/// [`StoreError::NotFound`] and [`StoreError::FenceLost`].
pub(super) fn owned(conn: &Connection, host: &Host, lease: &Lease) -> Result<Owned, Fault> {
    let mut find = conn.prepare_cached(
        "SELECT number, head, head_hash, owner IS ?2 AND fence = ?3 FROM sessions WHERE id = ?1",
    )?;
    let found = find.query_row(
        params![lease.session, host.name, lease.fence.cast_signed()],
        |row| {
            let owned = Owned {
                number: row.get(0)?,
                head: row.get::<_, i64>(1)?.cast_unsigned(),
                hash: row.get(2)?,
            };
            Ok((owned, row.get(3)?))
        },
    );
    match found.optional()? {
        Some((owned, true)) => Ok(owned),
        Some(_) => Err(StoreError::FenceLost {
            session: lease.session.clone(),
        }
        .into()),
        None => Err(not_found(&lease.session).into()),
    }
}

/// Appends events and takes inbox entries in.
pub(super) fn append(
    conn: &Connection,
    host: &Host,
    lease: &Lease,
    written: &Written,
) -> Result<(), Fault> {
    let session = owned(conn, host, lease)?;
    if session.head != written.after {
        return Err(StoreError::Moved {
            session: lease.session.clone(),
            head: session.head,
            expected: written.after,
        }
        .into());
    }
    let now = now_ms();
    let (mut head, mut hash) = (session.head, session.hash);
    for (kind, payload) in &written.events {
        head += 1;
        let record = Record::sealed(&hash, head, now, kind, payload.clone());
        put(conn, session.number, &record)?;
        hash = record.hash;
    }
    let (phase, until) = written.phase.map(phase_columns).unzip();
    conn.prepare_cached(
        "UPDATE sessions SET head = ?2, head_hash = ?3, updated_ms = ?4, title = coalesce(title, ?5),
             phase = coalesce(?6, phase), until_ms = coalesce(?7, until_ms)
         WHERE number = ?1",
    )?
    .execute(params![
        session.number,
        head.cast_signed(),
        hash,
        now.cast_signed(),
        written.title,
        phase,
        until
    ])?;
    for id in &written.taken {
        conn.prepare_cached("UPDATE inbox SET input = NULL WHERE id = ?1 AND session = ?2")?
            .execute([id.cast_signed(), session.number])?;
    }
    Ok(())
}

/// Creates a session from whole records.
pub(super) fn restore(
    conn: &Connection,
    program: &str,
    id: &str,
    parent: Option<&Parent>,
    records: &[Record],
) -> Result<(), Fault> {
    let mut find = conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?;
    if find.exists([id])? {
        return Err(StoreError::Exists {
            session: id.to_owned(),
        }
        .into());
    }
    insert(conn, program, id, parent)?;
    let number = conn.last_insert_rowid();
    for record in records {
        put(conn, number, record)?;
    }
    // As far as this program can read them; a newer one's events stay as they are.
    let events: Vec<_> = records.iter().map_while(|one| one.read().ok()).collect();
    let (phase, until) = phase_columns(Phase::of(&events).unwrap_or_default());
    conn.execute(
        "UPDATE sessions SET head = ?2, head_hash = ?3, title = ?4, phase = ?5, until_ms = ?6 WHERE number = ?1",
        params![
            number,
            i64::try_from(records.len()).unwrap_or(i64::MAX),
            records.last().map_or(START, |last| last.hash),
            crate::session::journal::title(&events),
            phase,
            until
        ],
    )?;
    Ok(())
}

/// Deletes a session and the blobs that nothing else refers to.
pub(super) fn delete(conn: &Connection, host: &Host, id: &str) -> Result<(), Fault> {
    let mut find = conn.prepare_cached("SELECT number, owner FROM sessions WHERE id = ?1")?;
    let found = find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
    let (number, owner): (i64, _) = found.optional()?.ok_or_else(|| not_found(id))?;
    not_elsewhere(host, id, owner)?;
    let mut uses =
        conn.prepare_cached("DELETE FROM blob_uses WHERE session = ?1 RETURNING blob")?;
    let blobs = uses.query_map([number], |row| row.get(0))?;
    let blobs: Vec<i64> = blobs.collect::<Result<_, _>>()?;
    let mut free = conn.prepare_cached(
        "DELETE FROM blobs WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob = ?1)",
    )?;
    for blob in blobs {
        free.execute([blob])?;
    }
    // Journal and inbox go with it.
    conn.execute("DELETE FROM sessions WHERE number = ?1", [number])?;
    Ok(())
}

/// Keeps bytes under their digest and lets the session refer to them.
pub(super) fn put_blob(
    conn: &Connection,
    host: &Host,
    lease: &Lease,
    digest: &str,
    bytes: &[u8],
) -> Result<(), Fault> {
    let session = owned(conn, host, lease)?;
    let mut find = conn.prepare_cached("SELECT number FROM blobs WHERE digest = ?1")?;
    let number = match find.query_row([digest], |row| row.get(0)).optional()? {
        Some(number) => number,
        None => {
            conn.prepare_cached("INSERT INTO blobs (digest, bytes) VALUES (?1, ?2)")?
                .execute(params![digest, bytes])?;
            conn.last_insert_rowid()
        }
    };
    conn.prepare_cached("INSERT OR IGNORE INTO blob_uses (session, blob) VALUES (?1, ?2)")?
        .execute([session.number, number])?;
    Ok(())
}

/// Puts something into an inbox, unless something was posted under the key before.
pub(super) fn post(conn: &Connection, id: &str, key: &str, input: &[u8]) -> Result<bool, Fault> {
    let number = number(conn, id)?;
    let added = conn
        .prepare_cached(
            "INSERT INTO inbox (session, key, input) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![number, key, input])?;
    Ok(added == 1)
}

/// Adds to a counter, unless that would take it past `most`.
pub(super) fn count(conn: &Connection, name: &str, add: i64, most: u64) -> Result<bool, Fault> {
    let mut find = conn.prepare_cached("SELECT value FROM counters WHERE name = ?1")?;
    let value = find.query_row([name], |row| row.get(0)).optional()?;
    let sum = value
        .map_or(0, i64::cast_unsigned)
        .saturating_add_signed(add);
    let fits = add <= 0 || sum <= most;
    if fits {
        conn.prepare_cached("INSERT OR REPLACE INTO counters (name, value) VALUES (?1, ?2)")?
            .execute(params![name, i64::try_from(sum).unwrap_or(i64::MAX)])?;
    }
    Ok(fits)
}

/// Returns a session's number.
pub(super) fn number(conn: &Connection, id: &str) -> Result<i64, Fault> {
    let mut find = conn.prepare_cached("SELECT number FROM sessions WHERE id = ?1")?;
    let number = find.query_row([id], |row| row.get(0)).optional()?;
    number.ok_or_else(|| not_found(id).into())
}

/// Returns the error for a session that does not exist.
pub(super) fn not_found(id: &str) -> StoreError {
    StoreError::NotFound {
        session: id.to_owned(),
    }
}

fn not_elsewhere(host: &Host, id: &str, owner: Option<String>) -> Result<(), StoreError> {
    match owner {
        Some(owner) if owner != host.name && host.lives(&owner) => Err(StoreError::Live {
            session: id.to_owned(),
            owner: called(&owner),
        }),
        _ => Ok(()),
    }
}

fn insert(
    conn: &Connection,
    program: &str,
    id: &str,
    parent: Option<&Parent>,
) -> Result<(), Fault> {
    let now = now_ms().cast_signed();
    conn.prepare_cached(
        "INSERT INTO sessions (id, program, head_hash, parent, parent_seq, created_ms, updated_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
    )?
    .execute(params![
        id,
        program,
        START,
        parent.map(|parent| &parent.session),
        parent.map(|parent| parent.seq.cast_signed()),
        now
    ])?;
    Ok(())
}

fn put(conn: &Connection, session: i64, record: &Record) -> Result<(), Fault> {
    conn.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![
            session,
            record.seq.cast_signed(),
            record.time_ms.cast_signed(),
            record.kind,
            record.version,
            record.payload,
            record.hash
        ])?;
    Ok(())
}

fn phase_columns(phase: Phase) -> (i64, i64) {
    match phase {
        Phase::Idle => (0, 0),
        Phase::Open => (1, 0),
        Phase::Parked { until_ms } => (2, until_ms.cast_signed()),
    }
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
