//! What every store can do with a journal: read it, branch it.

use super::record::{self, Stored, Unreadable};
use super::store::{Parent, SessionStore, StoreError};
use crate::event::Event;

/// Characters of a session's title.
const TITLE_CHARS: usize = 80;

/// A journal as read, as far as it is whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// The events, in order.
    pub events: Vec<Stored>,
    /// Why there are no more, when the rest cannot be read.
    pub fault: Option<Unreadable>,
}

/// Reads a session's journal as far as it is whole.
///
/// # Errors
///
/// [`StoreError::NotFound`], or what the medium says. Damage is no error here: what stands before it is returned.
pub async fn read(store: &dyn SessionStore, session: &str) -> Result<Journal, StoreError> {
    let records = store.records(session, 0).await?;
    let (events, fault) = record::read(&records);
    Ok(Journal { events, fault })
}

/// Reads the whole of a session's journal.
///
/// # Errors
///
/// As [`read`], and [`StoreError::Damaged`] when not all of it can be read.
pub async fn load(store: &dyn SessionStore, session: &str) -> Result<Vec<Stored>, StoreError> {
    let Journal { events, fault } = read(store, session).await?;
    match fault {
        None => Ok(events),
        Some(fault) => Err(StoreError::Damaged {
            session: session.to_owned(),
            fault,
        }),
    }
}

/// Begins a session `branch` that has the events of `session` up to `seq` and everything they refer to.
///
/// # Errors
///
/// [`StoreError::Moved`] when the journal is shorter; [`StoreError::NotFound`], [`StoreError::Exists`],
/// [`StoreError::Damaged`].
pub async fn branch(
    store: &dyn SessionStore,
    session: &str,
    seq: u64,
    branch: &str,
) -> Result<(), StoreError> {
    let mut records = store.records(session, 0).await?;
    let count = usize::try_from(seq).unwrap_or(usize::MAX);
    if records.len() < count {
        return Err(StoreError::Moved {
            session: session.to_owned(),
            head: records.len() as u64,
            expected: seq,
        });
    }
    records.truncate(count);
    let parent = Parent {
        session: session.to_owned(),
        seq,
    };
    store.restore(branch, Some(&parent), &records).await?;
    let lease = store.open(branch).await?;
    for digest in store.blobs(session).await? {
        if let Some(bytes) = store.blob(session, &digest).await? {
            store.put_blob(&lease, &bytes).await?;
        }
    }
    store.close(lease).await
}

/// Returns the first words of the first message among `events`: what a list calls the session. Control characters, which
/// a medium or a terminal may take amiss, are blanks here.
pub fn title<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<String> {
    let said = events.into_iter().find_map(|event| match event {
        Event::UserInput { content, .. } => Some(crate::message::text_of(content)),
        _ => None,
    })?;
    let words = said.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    Some(words.join(" ").chars().take(TITLE_CHARS).collect())
}
