//! A session as a file: JSON Lines, without loss, readable with any text tool.
//!
//! The first line says what it is, then comes one record a line with its exact payload and hash, then the blobs the session
//! refers to. A file that breaks off is taken as far as it is whole; the caller is told where the rest begins.

use std::io::{self, BufRead, Write};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::{self, Hash, Record, START};
use super::store::{MOST_BLOB_BYTES, SessionStore, StoreError};
use crate::digest;

/// The form of the file; a reader refuses newer ones.
pub const FORMAT: u32 = 1;

/// The longest line that is read, in bytes: the largest blob with each byte escaped, and more.
const LONGEST_LINE: u64 = 64 << 20;

/// What an import took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The session's id in the file.
    pub was: String,
    /// Events taken.
    pub events: u64,
    /// Blobs taken.
    pub blobs: u64,
    /// Where the file could not be read any further.
    pub rest: Option<Rest>,
}

/// The part of a file that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Its first line, from 1.
    pub line: u64,
    /// Its first byte.
    pub byte: u64,
    /// Why.
    pub fault: String,
}

/// Why a session could not be exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file failed.
    #[error("cannot read or write the file: {0}")]
    File(#[from] io::Error),
    /// It holds no session.
    #[error("not an exported session: {fault}")]
    NoSession {
        /// What is wrong with its beginning.
        fault: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    claw_session: u32,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct RecordLine {
    seq: u64,
    time_ms: u64,
    kind: String,
    version: u32,
    hash: String,
    /// The very text, where it is JSON on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    /// Anything else: a damaged payload is carried too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_hex: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct BlobLine {
    blob: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

/// Tells a blob's line from a record's.
#[derive(Deserialize)]
struct Probe {
    blob: Option<IgnoredAny>,
}

/// Writes a session with everything it refers to; its own words stay as they are, secrets having been taken out before they
/// were kept.
///
/// # Errors
///
/// Fails when the session does not exist, or the store or the file does. A damaged session is written as it is.
pub async fn export(
    store: &dyn SessionStore,
    session: &str,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let records = store.records(session, 0).await?;
    write_line(
        out,
        &Header {
            claw_session: FORMAT,
            id: session.to_owned(),
        },
    )?;
    for record in &records {
        write_line(out, &RecordLine::of(record))?;
    }
    for digest in store.blobs(session).await? {
        if let Some(bytes) = store.blob(session, &digest).await? {
            write_line(out, &BlobLine::of(digest, &bytes))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Returns the id the session of a file had; reads its first line.
///
/// # Errors
///
/// Fails when the file is no exported session.
pub fn id_in(file: &mut (dyn BufRead + Send)) -> Result<String, ExportError> {
    header(&mut Lines::new(file)).map(|header| header.id)
}

/// Creates the session `id` from what [`export`] wrote.
///
/// # Errors
///
/// Fails when the file is no exported session, `id` exists, or the store fails. Damage further down is no error: what stands
/// before it is taken, and [`Imported::rest`] says where it begins.
pub async fn import(
    store: &dyn SessionStore,
    id: &str,
    file: &mut (dyn BufRead + Send),
) -> Result<Imported, ExportError> {
    let mut lines = Lines::new(file);
    let header = header(&mut lines)?;
    let mut records = Vec::new();
    let mut blobs = Vec::new();
    let mut before = START;
    let rest = loop {
        let (line, byte) = (lines.line + 1, lines.byte);
        let fault = match lines.next() {
            Ok(None) => break None,
            Ok(Some(text)) => match entry(text, &before, records.len() as u64 + 1) {
                Ok(Entry::Record(record)) if blobs.is_empty() => {
                    before = record.hash;
                    records.push(record);
                    continue;
                }
                Ok(Entry::Record(_)) => "an event after the blobs".to_owned(),
                Ok(Entry::Blob(bytes)) => {
                    blobs.push(bytes);
                    continue;
                }
                Err(fault) => fault,
            },
            Err(fault) => fault.to_string(),
        };
        break Some(Rest { line, byte, fault });
    };
    store.restore(id, None, &records).await?;
    let lease = store.open(id).await?;
    for bytes in &blobs {
        store.put_blob(&lease, bytes).await?;
    }
    store.close(lease).await?;
    Ok(Imported {
        was: header.id,
        events: records.len() as u64,
        blobs: blobs.len() as u64,
        rest,
    })
}

fn header(lines: &mut Lines<'_>) -> Result<Header, ExportError> {
    let no_session = |fault: String| ExportError::NoSession { fault };
    let text = lines
        .next()
        .map_err(|error| no_session(format!("its first line cannot be read: {error}")))?
        .ok_or_else(|| no_session("the file is empty".to_owned()))?;
    let header: Header = serde_json::from_slice(text)
        .map_err(|error| no_session(format!("its first line is no header: {error}")))?;
    if header.claw_session > FORMAT {
        return Err(no_session(format!(
            "it has form {}, and this program reads up to {FORMAT}",
            header.claw_session
        )));
    }
    Ok(header)
}

enum Entry {
    Record(Record),
    Blob(Vec<u8>),
}

/// Reads one line and checks that it fits what came before.
fn entry(text: &[u8], before: &Hash, seq: u64) -> Result<Entry, String> {
    let probe: Probe = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if probe.blob.is_some() {
        let line: BlobLine = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        return line.bytes().map(Entry::Blob);
    }
    let line: RecordLine = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let record = line.record()?;
    record::follows(&record, seq, before).map_err(|fault| fault.to_string())?;
    Ok(Entry::Record(record))
}

impl RecordLine {
    fn of(record: &Record) -> Self {
        let text = std::str::from_utf8(&record.payload).ok();
        let payload = text
            .filter(|text| !text.contains(['\n', '\r']))
            .and_then(|text| RawValue::from_string(text.to_owned()).ok())
            // What stands around the value would be lost.
            .filter(|raw| raw.get().len() == record.payload.len());
        Self {
            seq: record.seq,
            time_ms: record.time_ms,
            kind: record.kind.clone(),
            version: record.version,
            hash: digest::hex(&record.hash),
            payload_hex: payload.is_none().then(|| digest::hex(&record.payload)),
            payload,
        }
    }

    fn record(self) -> Result<Record, String> {
        let payload = match (self.payload, self.payload_hex) {
            (Some(raw), None) => Box::<str>::from(raw).into_string().into_bytes(),
            (None, Some(hex)) => digest::unhex(&hex).ok_or("`payload_hex` is no hex")?,
            _ => return Err("expected `payload` or `payload_hex`".to_owned()),
        };
        let hash = digest::unhex(&self.hash)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or("`hash` is no SHA-256")?;
        Ok(Record {
            seq: self.seq,
            time_ms: self.time_ms,
            kind: self.kind,
            version: self.version,
            payload,
            hash,
        })
    }
}

impl BlobLine {
    fn of(blob: String, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
        Self {
            blob,
            hex: text.is_none().then(|| digest::hex(bytes)),
            text,
        }
    }

    fn bytes(self) -> Result<Vec<u8>, String> {
        let bytes = match (self.text, self.hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(hex)) => digest::unhex(&hex).ok_or("`hex` is no hex")?,
            _ => return Err("expected `text` or `hex`".to_owned()),
        };
        if bytes.len() > MOST_BLOB_BYTES {
            return Err(StoreError::TooLarge { bytes: bytes.len() }.to_string());
        }
        if digest::of(&bytes) != self.blob {
            return Err(format!(
                "the blob `{}` has other bytes than its digest",
                self.blob
            ));
        }
        Ok(bytes)
    }
}

fn write_line(out: &mut (dyn Write + Send), line: &impl Serialize) -> Result<(), ExportError> {
    let mut text = serde_json::to_vec(line).map_err(io::Error::from)?;
    text.push(b'\n');
    out.write_all(&text)?;
    Ok(())
}

/// Whole lines of a file, and where they stand.
struct Lines<'f> {
    file: &'f mut (dyn BufRead + Send),
    line: u64,
    byte: u64,
    text: Vec<u8>,
}

impl<'f> Lines<'f> {
    fn new(file: &'f mut (dyn BufRead + Send)) -> Self {
        Self {
            file,
            line: 0,
            byte: 0,
            text: Vec::new(),
        }
    }

    /// Returns the next line; a last one without its end was not written whole.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.text.clear();
        let read =
            io::Read::take(&mut *self.file, LONGEST_LINE).read_until(b'\n', &mut self.text)?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.byte += read as u64;
        match self.text.strip_suffix(b"\n") {
            Some(line) => Ok(Some(line)),
            None => Err(io::Error::other(if read as u64 == LONGEST_LINE {
                "the line is too long"
            } else {
                "the line breaks off"
            })),
        }
    }
}

#[cfg(test)]
mod tests;
