//! What is read, and the connections that read.
//!
//! In a write-ahead log readers see the last commit and wait for nobody, so each read borrows a connection and a thread of the
//! runtime's pool.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::faults::{Fault, failed, is_damage};
use super::host::{Host, called};
use super::schema;
use super::writes::{not_found, number, owned};
use crate::session::{Lease, Parent, Phase, Query, Record, SessionInfo, StoreError, Waiting};

/// Connections that are kept when nobody reads.
const MOST_IDLE: usize = 4;

/// Lends connections to readers.
pub(super) struct Readers {
    path: Arc<PathBuf>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Returns no connection yet; they are opened when somebody reads.
    pub(super) fn new(path: Arc<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            path,
            idle: Mutex::default(),
        })
    }

    /// Reads off the async threads, in one transaction: all of one moment.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.clone();
        let path = self.path.clone();
        let reading = tokio::task::spawn_blocking(move || readers.lend(read));
        match reading.await {
            Ok(read) => read.map_err(|fault| fault.at(&path)),
            Err(error) => Err(failed(&path, format_args!("cannot be read: {error}"))),
        }
    }

    fn lend<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let conn = match kept {
            Some(conn) => conn,
            None => schema::reading(&self.path)?,
        };
        // A connection whose reading fails is not used again.
        let transaction = conn.unchecked_transaction()?;
        let answer = read(&transaction)?;
        transaction.finish()?;
        let mut idle = idle();
        if idle.len() < MOST_IDLE {
            idle.push(conn);
        }
        Ok(answer)
    }
}

/// Returns the records after a place; where the medium fails, a lost one stands for the rest.
pub(super) fn records(conn: &Connection, id: &str, after: u64) -> Result<Vec<Record>, Fault> {
    let mut find = conn.prepare_cached("SELECT number, head FROM sessions WHERE id = ?1")?;
    let found = find.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)));
    let (number, head): (i64, i64) = found.optional()?.ok_or_else(|| not_found(id))?;
    let head = head.cast_unsigned();
    let mut records = Vec::new();
    let mut seq = after;
    match read_records(conn, number, after, |record| {
        seq = record.seq;
        records.push(record);
    }) {
        Err(error) if !is_damage(&error) => return Err(error.into()),
        Ok(()) if seq >= head => {}
        _ => records.push(Record::lost(seq.saturating_add(1))),
    }
    Ok(records)
}

fn read_records(
    conn: &Connection,
    number: i64,
    after: u64,
    mut each: impl FnMut(Record),
) -> rusqlite::Result<()> {
    let mut find = conn.prepare_cached(
        "SELECT seq, time_ms, kind, version, payload, hash FROM events
         WHERE session = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut rows = find.query([number, after])?;
    while let Some(row) = rows.next()? {
        each(Record {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            time_ms: row.get::<_, i64>(1)?.cast_unsigned(),
            kind: row.get(2)?,
            version: row.get(3)?,
            payload: row.get(4)?,
            hash: row.get(5)?,
        });
    }
    Ok(())
}

/// Returns the sessions that fit, the one used last first.
pub(super) fn sessions(
    conn: &Connection,
    host: &Host,
    query: &Query,
) -> Result<Vec<SessionInfo>, Fault> {
    let mut find = conn.prepare_cached(
        "SELECT id, program, coalesce(title, ''), parent, parent_seq, head, created_ms, updated_ms, phase, until_ms, owner
         FROM sessions WHERE (?1 IS NULL OR program = ?1) AND (phase <> 0 OR NOT ?2)
         ORDER BY updated_ms DESC, id LIMIT ?3",
    )?;
    // A negative limit is none.
    let limit = match query.limit {
        0 => -1,
        most => i64::try_from(most).unwrap_or(-1),
    };
    let found = find.query_map(params![query.program, query.unfinished, limit], session)?;
    let mut found: Vec<_> = found.collect::<Result<_, _>>()?;
    let mut living = HashMap::new();
    for session in &mut found {
        if let Some(owner) = session.owner.take()
            && *living
                .entry(owner.clone())
                .or_insert_with(|| host.lives(&owner))
        {
            session.here = owner == host.name;
            session.owner = Some(called(&owner));
        }
    }
    Ok(found)
}

fn session(row: &Row<'_>) -> rusqlite::Result<SessionInfo> {
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let parent = match (row.get(3)?, row.get::<_, Option<i64>>(4)?) {
        (Some(session), Some(seq)) => Some(Parent {
            session,
            seq: seq.cast_unsigned(),
        }),
        _ => None,
    };
    Ok(SessionInfo {
        id: row.get(0)?,
        program: row.get(1)?,
        title: row.get(2)?,
        parent,
        head: number(5)?,
        created_ms: number(6)?,
        updated_ms: number(7)?,
        phase: match row.get(8)? {
            0 => Phase::Idle,
            2 => Phase::Parked {
                until_ms: number(9)?,
            },
            _ => Phase::Open,
        },
        owner: row.get(10)?,
        here: false,
    })
}

/// Returns the bytes of a digest, to a session that refers to them.
pub(super) fn blob(conn: &Connection, id: &str, digest: &str) -> Result<Option<Arc<[u8]>>, Fault> {
    let mut find = conn.prepare_cached(
        "SELECT bytes FROM sessions JOIN blob_uses ON session = sessions.number JOIN blobs ON blob = blobs.number
         WHERE id = ?1 AND digest = ?2",
    )?;
    let bytes = find.query_row([id, digest], |row| Ok(row.get_ref(0)?.as_blob()?.into()));
    Ok(bytes.optional()?)
}

/// Returns the digests a session refers to, sorted.
pub(super) fn blobs(conn: &Connection, id: &str) -> Result<Vec<String>, Fault> {
    let number = number(conn, id)?;
    let mut find = conn.prepare_cached(
        "SELECT digest FROM blob_uses JOIN blobs ON blob = number WHERE session = ?1 ORDER BY digest",
    )?;
    let digests = find.query_map([number], |row| row.get(0))?;
    Ok(digests.collect::<Result<_, _>>()?)
}

/// Returns what waits in the owner's inbox, the oldest first.
pub(super) fn inbox(conn: &Connection, host: &Host, lease: &Lease) -> Result<Vec<Waiting>, Fault> {
    let session = owned(conn, host, lease)?;
    let mut find = conn.prepare_cached(
        "SELECT id, key, input FROM inbox WHERE session = ?1 AND input IS NOT NULL ORDER BY id",
    )?;
    let mut rows = find.query([session.number])?;
    let mut waiting = Vec::new();
    while let Some(row) = rows.next()? {
        // What a newer claw posted waits for one; it must not keep the session from going on.
        match serde_json::from_slice(row.get_ref(2)?.as_blob().unwrap_or_default()) {
            Ok(input) => waiting.push(Waiting {
                id: row.get::<_, i64>(0)?.cast_unsigned(),
                key: row.get(1)?,
                input,
            }),
            Err(error) => {
                tracing::warn!(session = lease.session, %error, "posted input cannot be read");
            }
        }
    }
    Ok(waiting)
}
