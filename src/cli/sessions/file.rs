//! `sessions export` and `sessions import`: a session as JSON Lines.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use claw_runtime::event::{Answer, Event};
use claw_runtime::session::export::{self as lines, ExportError, Rest};
use claw_runtime::session::{Phase, Stored, journal};

use super::args::{Export, Import};
use super::{Exit, Failure, Kept, Screen, store};
use crate::cli::exit::warn;
use crate::cli::terminal::DIM;

/// Runs `sessions export`.
pub(super) async fn export(kept: &Kept, export: &Export) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, &export.id).await?;
    let Some(path) = &export.file else {
        let mut out = BufWriter::new(io::stdout());
        lines::export(&*kept.store, &info.id, &mut out).await?;
        return Ok(Exit::Answered);
    };
    let at = |error: io::Error| {
        let failure = Failure::other(format!("cannot write `{}`: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("name a file that does not exist yet"),
            _ => failure,
        }
    };
    let file = new_file(path).map_err(at)?;
    let mut out = BufWriter::new(file);
    lines::export(&*kept.store, &info.id, &mut out).await?;
    out.into_inner()
        .map_err(|error| at(error.into_error()))?
        .sync_all()
        .map_err(at)?;
    let mut screen = Screen::new(false);
    screen.note(DIM, &format!("{} written to {}", info.id, path.display()));
    screen.finish()?;
    Ok(Exit::Answered)
}

/// Runs `sessions import`. What cannot be read is set aside in a file beside the one that was read.
pub(super) async fn import(kept: &Kept, import: &Import) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    if import.file.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes)?;
    }
    let at = |error: io::Error| {
        Failure::usage(format!("cannot read `{}`: {error}", import.file.display()))
    };
    let mut source = match import.file.as_os_str() == "-" {
        true => Source::Piped(io::Cursor::new(bytes)),
        false => Source::File(BufReader::new(File::open(&import.file).map_err(at)?)),
    };
    let id = match &import.new {
        Some(id) => id.clone(),
        None => {
            let id = lines::id_in(source.reader())?;
            source.rewind()?;
            id
        }
    };
    store::check_id(&id)?;
    let imported = lines::import(&*kept.store, &id, source.reader()).await?;
    let mut screen = Screen::new(false);
    screen.answer(&format!("{id}\n"));
    screen.note(
        DIM,
        &format!("{} events, {} blobs", imported.events, imported.blobs),
    );
    screen.finish()?;
    if let Some(what) = carries(kept, &id).await? {
        warn(&format!(
            "by this file {what}; go on with it only if you trust whoever wrote it: `sessions show {id}`"
        ));
    }
    let Some(rest) = imported.rest else {
        return Ok(Exit::Answered);
    };
    set_aside(&mut source, &import.file, &rest)?;
    Ok(Exit::Found)
}

/// Returns what a journal says that lets calls run without a question: words of a person that still count, and calls under way.
async fn carries(kept: &Kept, id: &str) -> Result<Option<String>, Failure> {
    let events = journal::read(&*kept.store, id).await?.events;
    let lasts = |stored: &&Stored| {
        matches!(
            stored.event,
            Event::Approval {
                answer: Answer::Session | Answer::Always,
                ..
            }
        )
    };
    let allowed = events.iter().filter(lasts).count();
    let info = store::find(&*kept.store, kept.program, id).await?;
    let mut carried = Vec::new();
    if info.phase != Phase::Idle {
        carried.push("a turn is under way, whose calls may run again".to_owned());
    }
    if allowed > 0 {
        carried.push(format!(
            "somebody allowed calls for the whole session ({allowed} times)"
        ));
    }
    Ok((!carried.is_empty()).then(|| carried.join(", and ")))
}

/// Copies what was not taken, so that a repair has something to work on, and says so.
fn set_aside(source: &mut Source, from: &Path, rest: &Rest) -> Result<(), Failure> {
    let Rest { line, byte, fault } = rest;
    let Source::File(file) = source else {
        warn(&format!(
            "line {line} and what follows was not taken: {fault}"
        ));
        return Ok(());
    };
    let mut path = from.as_os_str().to_owned();
    path.push(".rest");
    let path = PathBuf::from(path);
    file.seek(SeekFrom::Start(*byte))?;
    let kept = new_file(&path).and_then(|mut out| {
        io::copy(file, &mut out)?;
        out.flush()
    });
    match kept {
        Ok(()) => warn(&format!(
            "line {line} and what follows was not taken: {fault}; it is set aside in `{}`",
            path.display()
        )),
        Err(error) => warn(&format!(
            "line {line} and what follows was not taken: {fault}; it could not be set aside in `{}`: {error}",
            path.display()
        )),
    }
    Ok(())
}

/// Creates a file that only its owner can read; one that exists is not written over.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Where a session is read from.
enum Source {
    Piped(io::Cursor<Vec<u8>>),
    File(BufReader<File>),
}

impl Source {
    fn reader(&mut self) -> &mut (dyn io::BufRead + Send) {
        match self {
            Self::Piped(bytes) => bytes,
            Self::File(file) => file,
        }
    }

    fn rewind(&mut self) -> io::Result<()> {
        match self {
            Self::Piped(bytes) => bytes.rewind(),
            Self::File(file) => file.rewind(),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::NoSession { .. } => {
                Self::usage(error).hint("`sessions export ID FILE` writes one")
            }
            error => Self::other(error),
        }
    }
}
