//! Records: events as exact bytes, each tied to the one before by a hash.
//!
//! The chain finds damage and reordering; it is no proof against forgery, for anyone can compute it anew.

use sha2::{Digest, Sha256};

use super::store::StoreError;
use crate::event::{Event, VERSION};

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place, from 1.
    pub seq: u64,
    /// Milliseconds since the Unix epoch, set by the store.
    pub time_ms: u64,
    /// The event's name: `user_input`.
    pub kind: String,
    /// The version the payload is written in.
    pub version: u32,
    /// The payload: JSON, never rewritten.
    pub payload: Vec<u8>,
    /// See [`chain`].
    pub hash: Hash,
}

/// A SHA-256.
pub type Hash = [u8; 32];

/// What stands for the hash before the first record.
pub const START: Hash = [0; 32];

/// One stored event, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its place, from 1.
    pub seq: u64,
    /// Milliseconds since the Unix epoch, set by the store.
    pub time_ms: u64,
    /// The event.
    pub event: Event,
}

/// Why records cannot be read from some place on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// A place is missing or comes twice.
    #[error("event {found} stands where event {expected} is expected")]
    Gap {
        /// What should come.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// The bytes or their order are not what was written.
    #[error("event {seq} does not fit its hash: it or one before it was changed")]
    Hash {
        /// Where.
        seq: u64,
    },
    /// The medium cannot give it.
    #[error("event {seq} is lost: the medium it was kept on cannot give it")]
    Lost {
        /// Where.
        seq: u64,
    },
    /// Written by a newer claw.
    #[error(
        "event {seq} (`{kind}`) is written in version {version}; this program reads up to {VERSION}"
    )]
    Newer {
        /// Where.
        seq: u64,
        /// The event's name.
        kind: String,
        /// Its version.
        version: u32,
    },
    /// The payload is no event.
    #[error("event {seq} (`{kind}`) cannot be read: {message}")]
    Payload {
        /// Where.
        seq: u64,
        /// The event's name.
        kind: String,
        /// What is wrong.
        message: String,
    },
}

/// Returns the hash of a record: SHA-256 of the hash before, seq, kind, version, time and the SHA-256 of the payload.
///
/// Numbers enter as little-endian; kind with a zero byte after it. A payload can be erased and the chain still be checked, if its
/// own SHA-256 is kept.
pub fn chain(
    before: &Hash,
    seq: u64,
    kind: &str,
    version: u32,
    time_ms: u64,
    payload: &[u8],
) -> Hash {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(seq.to_le_bytes());
    hash.update(kind.as_bytes());
    hash.update([0]);
    hash.update(version.to_le_bytes());
    hash.update(time_ms.to_le_bytes());
    hash.update(Sha256::digest(payload));
    hash.finalize().into()
}

/// Returns an event as it is kept.
///
/// # Errors
///
/// Fails when the event cannot be written as JSON, which no event of ours does.
pub fn payload(event: &Event) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(event).map_err(|error| StoreError::Failed {
        message: format!("the event `{}` cannot be written: {error}", event.kind()),
    })
}

impl Record {
    /// Returns the record of an event that comes after a record with this hash.
    ///
    /// # Errors
    ///
    /// As [`payload`].
    pub fn new(before: &Hash, seq: u64, time_ms: u64, event: &Event) -> Result<Self, StoreError> {
        let payload = payload(event)?;
        Ok(Self::sealed(before, seq, time_ms, event.kind(), payload))
    }

    /// Returns the record of an event, written as JSON already, that comes after a record with this hash.
    pub fn sealed(before: &Hash, seq: u64, time_ms: u64, kind: &str, payload: Vec<u8>) -> Self {
        Self {
            seq,
            time_ms,
            kind: kind.to_owned(),
            version: VERSION,
            hash: chain(before, seq, kind, VERSION, time_ms, &payload),
            payload,
        }
    }

    /// Returns what stands for a record that the medium cannot give: one without a name, at which every reader stops with
    /// [`Unreadable::Lost`].
    pub fn lost(seq: u64) -> Self {
        Self {
            seq,
            time_ms: 0,
            kind: String::new(),
            version: 0,
            payload: Vec::new(),
            hash: START,
        }
    }

    /// Reads the event.
    ///
    /// # Errors
    ///
    /// [`Unreadable::Newer`] and [`Unreadable::Payload`].
    pub fn read(&self) -> Result<Event, Unreadable> {
        if self.version > VERSION {
            return Err(Unreadable::Newer {
                seq: self.seq,
                kind: self.kind.clone(),
                version: self.version,
            });
        }
        serde_json::from_slice(&self.payload).map_err(|error| Unreadable::Payload {
            seq: self.seq,
            kind: self.kind.clone(),
            message: error.to_string(),
        })
    }
}

/// Reads records that begin a session, as far as they are whole, and says why not further.
pub fn read(records: &[Record]) -> (Vec<Stored>, Option<Unreadable>) {
    let mut events = Vec::with_capacity(records.len());
    let mut before = START;
    for (record, seq) in records.iter().zip(1..) {
        let event = match follows(record, seq, &before).and_then(|()| record.read()) {
            Ok(event) => event,
            Err(fault) => return (events, Some(fault)),
        };
        before = record.hash;
        events.push(Stored {
            seq,
            time_ms: record.time_ms,
            event,
        });
    }
    (events, None)
}

/// Checks that records are a whole chain from the first; does not read their payloads.
///
/// # Errors
///
/// [`Unreadable::Gap`] and [`Unreadable::Hash`], at the first that does not fit.
pub fn verify(records: &[Record]) -> Result<(), Unreadable> {
    let mut before = START;
    for (record, seq) in records.iter().zip(1..) {
        follows(record, seq, &before)?;
        before = record.hash;
    }
    Ok(())
}

/// Checks that a record stands at `seq` and fits the hash before it; does not read its payload.
///
/// # Errors
///
/// [`Unreadable::Gap`] and [`Unreadable::Hash`].
pub fn follows(record: &Record, seq: u64, before: &Hash) -> Result<(), Unreadable> {
    if record.seq != seq {
        return Err(Unreadable::Gap {
            expected: seq,
            found: record.seq,
        });
    }
    if record.kind.is_empty() {
        return Err(Unreadable::Lost { seq });
    }
    let Record {
        time_ms,
        kind,
        version,
        payload,
        hash,
        ..
    } = record;
    if chain(before, seq, kind, *version, *time_ms, payload) != *hash {
        return Err(Unreadable::Hash { seq });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ContentBlock;

    fn records() -> Vec<Record> {
        let said = |text: &str| Event::UserInput {
            key: text.to_owned(),
            content: vec![ContentBlock::text(text)],
        };
        let first = Record::new(&START, 1, 5, &said("a")).expect("an event");
        let second = Record::new(&first.hash, 2, 6, &Event::CancelRequested).expect("an event");
        let third = Record::new(&second.hash, 3, 6, &said("b")).expect("an event");
        vec![first, second, third]
    }

    #[test]
    fn the_hash_is_the_documented_one() {
        let record = &records()[1];
        assert_eq!(record.payload, br#"{"event":"cancel_requested"}"#);
        let mut bytes = records()[0].hash.to_vec();
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(b"cancel_requested\0\x01\0\0\0\x06\0\0\0\0\0\0\0");
        bytes.extend(Sha256::digest(br#"{"event":"cancel_requested"}"#));
        assert_eq!(record.hash, *Sha256::digest(bytes));
    }

    #[test]
    fn what_was_changed_lost_or_moved_is_found_where_it_is() {
        assert_eq!(verify(&records()), Ok(()));
        let (events, fault) = read(&records());
        assert_eq!((events.len(), fault), (3, None));

        let mut changed = records();
        changed[1].time_ms = 7;
        assert_eq!(verify(&changed), Err(Unreadable::Hash { seq: 2 }));
        let (events, fault) = read(&changed);
        assert_eq!(
            (events.len(), fault),
            (1, Some(Unreadable::Hash { seq: 2 }))
        );

        let mut lost = records();
        lost.remove(1);
        let gap = Unreadable::Gap {
            expected: 2,
            found: 3,
        };
        assert_eq!(verify(&lost), Err(gap));
        let mut first_lost = records();
        first_lost.remove(0);
        first_lost[0].seq = 1;
        assert_eq!(verify(&first_lost), Err(Unreadable::Hash { seq: 1 }));
        let mut ungiven = records();
        ungiven[1] = Record::lost(2);
        assert_eq!(verify(&ungiven), Err(Unreadable::Lost { seq: 2 }));
    }

    #[test]
    fn a_newer_and_a_broken_payload_say_so() {
        let mut record = records().remove(1);
        record.payload = b"{".to_vec();
        let fault = record.read().expect_err("no event").to_string();
        assert!(
            fault.starts_with("event 2 (`cancel_requested`) cannot be read: EOF"),
            "{fault}"
        );
        record.version = VERSION + 1;
        let fault = record.read().expect_err("newer").to_string();
        assert!(
            fault.contains("version 2; this program reads up to 1"),
            "{fault}"
        );
    }
}
