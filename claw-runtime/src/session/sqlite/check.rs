//! Looks a database over, for `doctor`: pages, references, every session's chain, every blob.

use rusqlite::Connection;

use super::faults::Fault;
use super::reads;
use crate::session::record::{self, START};

/// Something wrong in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The session it is about, when it is about one.
    pub session: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// Findings of one kind that are told; the rest repeats them.
const MOST: usize = 20;

/// Returns what is wrong. A check that itself fails on damage is a finding too.
pub(super) fn check(conn: &Connection) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut look =
        |what: &str, look: fn(&Connection) -> Result<Vec<Finding>, Fault>| match look(conn) {
            Ok(more) => found.extend(more),
            Err(Fault::Store(error)) => found.push(of_all(format!("{what}: {error}"))),
            Err(Fault::Sqlite(error)) => {
                found.push(of_all(format!("{what} cannot be read: {error}")))
            }
        };
    look("pages", pages);
    look("references", references);
    look("sessions", sessions);
    look("blobs", blobs);
    found
}

fn of_all(message: String) -> Finding {
    Finding {
        session: None,
        message,
    }
}

fn pages(conn: &Connection) -> Result<Vec<Finding>, Fault> {
    let mut check = conn.prepare(&format!("PRAGMA quick_check({MOST})"))?;
    let rows = check.query_map([], |row| row.get::<_, String>(0))?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(rows
        .into_iter()
        .filter(|row| row != "ok")
        .map(of_all)
        .collect())
}

fn references(conn: &Connection) -> Result<Vec<Finding>, Fault> {
    let mut check = conn.prepare("PRAGMA foreign_key_check")?;
    let rows = check.query_map([], |row| {
        let (table, row, of): (String, Option<i64>, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let row = row.map_or_else(String::new, |row| format!(" {row}"));
        Ok(of_all(format!(
            "row{row} of `{table}` names one of `{of}` that does not exist"
        )))
    })?;
    Ok(rows.take(MOST).collect::<Result<_, _>>()?)
}

fn sessions(conn: &Connection) -> Result<Vec<Finding>, Fault> {
    let mut list = conn.prepare("SELECT id, head, head_hash FROM sessions ORDER BY number")?;
    let mut rows = list.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, head, hash): (String, i64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let records = reads::records(conn, &id, 0)?;
        let (last, end) = records
            .last()
            .map_or((0, START), |last| (last.seq, last.hash));
        let message = match record::verify(&records) {
            Err(fault) => fault.to_string(),
            Ok(()) if (last.cast_signed(), &end[..]) != (head, &hash[..]) => {
                format!("ends at event {last}, but is listed with {head} or another hash")
            }
            Ok(()) => continue,
        };
        found.push(Finding {
            session: Some(id),
            message,
        });
    }
    Ok(found)
}

fn blobs(conn: &Connection) -> Result<Vec<Finding>, Fault> {
    let mut list = conn.prepare("SELECT digest, bytes FROM blobs ORDER BY number")?;
    let mut rows = list.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let digest: String = row.get(0)?;
        let is = crate::digest::of(row.get_ref(1)?.as_blob().unwrap_or_default());
        if is != digest {
            found.push(of_all(format!(
                "blob {digest} holds other bytes (their digest is {is})"
            )));
        }
    }
    Ok(found)
}
