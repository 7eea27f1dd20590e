//! A toolset over a file: what is harmless runs, what changes something asks, what destroys asks every time.
//!
//! ```sh
//! cargo run --example notes -- tools list
//! cargo run --example notes -- tools call add_note '{"title":"milk","text":"two litres"}'
//! cargo run --example notes                    # talk with it, in a terminal and with a model
//! ```
//!
//! The notes stand in `notes.json` in the working folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use claw::prelude::*;

type Pages = BTreeMap<String, String>;

/// The notes on disk; the lock keeps two calls from losing each other's change.
struct Notes {
    file: PathBuf,
    lock: Mutex<()>,
}

/// What the model reads when a call fails.
#[derive(Debug, thiserror::Error)]
enum NoteError {
    #[error("there is no note `{0}`; `list_notes` shows the titles")]
    Missing(String),
    #[error("there is a note `{0}` already; delete it first, or take another title")]
    Exists(String),
    #[error("the notes cannot be read or written: {0}")]
    File(#[from] io::Error),
    #[error("the notes are damaged: {0}")]
    Damaged(#[from] claw::serde_json::Error),
}

impl Notes {
    fn read(&self) -> Result<Pages, NoteError> {
        match fs::read(&self.file) {
            Ok(bytes) => Ok(claw::serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Pages::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the notes and replaces the file whole, so that a crash leaves the old one or the new one.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Pages) -> Result<T, NoteError>,
    ) -> Result<T, NoteError> {
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pages = self.read()?;
        let result = change(&mut pages)?;
        let fresh = self.file.with_extension("json.new");
        fs::write(&fresh, claw::serde_json::to_vec_pretty(&pages)?)?;
        fs::rename(&fresh, &self.file)?;
        Ok(result)
    }
}

/// Lists the titles of all notes.
#[tool(effect = read, group = "notes")]
fn list_notes(notes: State<'_, Notes>) -> Result<Vec<String>, NoteError> {
    Ok(notes.read()?.into_keys().collect())
}

/// Reads one note.
#[tool(effect = read, group = "notes")]
fn read_note(
    notes: State<'_, Notes>,
    /// Its title.
    title: &str,
) -> Result<String, NoteError> {
    let mut pages = notes.read()?;
    pages
        .remove(title)
        .ok_or_else(|| NoteError::Missing(title.to_owned()))
}

/// Adds a note.
#[tool(effect = once, group = "notes")]
fn add_note(
    notes: State<'_, Notes>,
    /// A title that no note has yet.
    #[arg(len = 1..=60)]
    title: &str,
    /// What to remember.
    #[arg(len = 1..=2000)]
    text: &str,
) -> Result<String, NoteError> {
    notes.change(|pages| {
        if pages.contains_key(title) {
            return Err(NoteError::Exists(title.to_owned()));
        }
        pages.insert(title.to_owned(), text.to_owned());
        Ok(format!("Added; {} notes now.", pages.len()))
    })
}

/// Deletes a note for good.
#[tool(effect = once, destructive, approve = always, group = "notes")]
fn delete_note(
    notes: State<'_, Notes>,
    /// Its title.
    title: &str,
) -> Result<String, NoteError> {
    notes.change(|pages| match pages.remove(title) {
        Some(_) => Ok(format!("Deleted; {} notes left.", pages.len())),
        None => Err(NoteError::Missing(title.to_owned())),
    })
}

fn main() -> ExitCode {
    claw::program()
        .name("notes")
        .system("You keep the user's notes. Look before you add, and never delete what you were not told to.")
        .state(Notes {
            file: "notes.json".into(),
            lock: Mutex::new(()),
        })
        .main()
}
