//! The file as it grows: its length, its digest so far, where it came from, and the lock that makes it one process's own.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{DownloadError, Fetched, Progress, Wanted};
use crate::digest;

/// Where the bytes so far came from: needed to go on with them where no digest is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The digest of the address, which may hold a secret.
    pub(super) address: String,
    /// The server's name for this very content.
    pub(super) etag: String,
}

/// The right to write a file; others wait for it. Given up when dropped.
pub(super) struct Claim {
    _lock: File,
}

impl Claim {
    pub(super) async fn take(
        wanted: &Wanted,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self, DownloadError> {
        let path = beside(&wanted.file, "lock");
        let fault = |source| file_fault(&path, source);
        // It stays where it is: deleting it would let somebody lock another file of the same name.
        let lock = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(fault)?;
        match lock.try_lock() {
            Ok(()) => return Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => progress(Progress::Waiting),
            Err(TryLockError::Error(error)) => return Err(fault(error)),
        }
        let locked = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await;
        let lock = locked
            .map_err(io::Error::other)
            .and_then(|it| it)
            .map_err(fault)?;
        Ok(Self { _lock: lock })
    }
}

/// Returns the file when it is there whole; one with another digest is as good as none.
pub(super) async fn there(wanted: &Wanted) -> Result<Option<Fetched>, DownloadError> {
    let path = wanted.file.clone();
    let hashed = blocking(&wanted.file, move || match File::open(&path) {
        Ok(mut file) => hash(&mut file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    });
    let Some((hasher, size)) = hashed.await? else {
        return Ok(None);
    };
    let sha256 = digest::hex(&hasher.finalize());
    let is_it = wanted.size.is_none_or(|known| known == size)
        && wanted
            .sha256
            .as_ref()
            .is_none_or(|known| known.eq_ignore_ascii_case(&sha256));
    Ok(is_it.then_some(Fetched {
        sha256,
        size,
        was_there: true,
    }))
}

/// A file that is not whole yet.
pub(super) struct Part<'w> {
    pub(super) wanted: &'w Wanted,
    path: PathBuf,
    file: File,
    hasher: Sha256,
    length: u64,
    /// How many bytes were taken since it was opened, those thrown away again too.
    pub(super) taken: u64,
    origin: Option<Origin>,
}

impl<'w> Part<'w> {
    /// Opens what an earlier attempt left, or begins.
    pub(super) async fn open(wanted: &'w Wanted) -> Result<Self, DownloadError> {
        let path = beside(&wanted.file, "part");
        let opening = path.clone();
        let opened = blocking(&path, move || {
            let mut file = OpenOptions::new()
                .create(true)
                .read(true)
                .write(true)
                .truncate(false)
                .open(&opening)?;
            let (hasher, length) = hash(&mut file)?;
            Ok((file, hasher, length))
        });
        let (file, hasher, length) = opened.await?;
        let origin = fs::read(beside(&wanted.file, "part.from"))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        let mut part = Self {
            wanted,
            path,
            file,
            hasher,
            length,
            taken: 0,
            origin,
        };
        if length > wanted.size.unwrap_or(wanted.most) {
            part.restart(None)?;
        }
        Ok(part)
    }

    /// Returns how many bytes there are.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the server's name for the content so far, if it came from this address.
    pub(super) fn etag(&self, address: &str) -> Option<&str> {
        let origin = self.origin.as_ref().filter(|it| it.address == address)?;
        Some(&origin.etag)
    }

    /// Throws away what there is, and notes where what follows comes from.
    pub(super) fn restart(&mut self, origin: Option<Origin>) -> Result<(), DownloadError> {
        let reset = |file: &mut File| {
            // A device has no length to set.
            if file.metadata()?.len() > 0 {
                file.set_len(0)?;
            }
            file.seek(SeekFrom::Start(0))
        };
        reset(&mut self.file).map_err(|source| file_fault(&self.path, source))?;
        self.hasher = Sha256::new();
        self.length = 0;
        let note = beside(&self.wanted.file, "part.from");
        let noted = match &origin {
            Some(origin) => serde_json::to_vec(origin)
                .map_err(io::Error::other)
                .and_then(|text| fs::write(&note, text)),
            None => remove(&note),
        };
        noted.map_err(|source| file_fault(&note, source))?;
        self.origin = origin;
        Ok(())
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        let most = self.wanted.size.unwrap_or(self.wanted.most);
        let length = self.length + bytes.len() as u64;
        if length > most {
            self.discard()?;
            return Err(DownloadError::TooLarge { most });
        }
        let from = usize::try_from(self.length).unwrap_or(usize::MAX);
        let begins = self.wanted.begins.get(from..).unwrap_or_default();
        let count = begins.len().min(bytes.len());
        if begins[..count] != bytes[..count] {
            self.discard()?;
            return Err(self.kind());
        }
        let written = self.file.write_all(bytes);
        if let Err(source) = written {
            // Some of it may be written; the length tells what is hashed.
            let _ = self.file.set_len(self.length);
            return Err(file_fault(&self.path, source));
        }
        self.hasher.update(bytes);
        self.length = length;
        self.taken += bytes.len() as u64;
        Ok(())
    }

    /// Puts the file in its place, if it is the one wanted.
    pub(super) fn finish(mut self) -> Result<Fetched, DownloadError> {
        if let Some(expected) = self.wanted.size.filter(|expected| *expected != self.length) {
            let found = self.length;
            return Err(DownloadError::Truncated { expected, found });
        }
        if self.length < self.wanted.begins.len() as u64 {
            self.discard()?;
            return Err(self.kind());
        }
        let found = digest::hex(&self.hasher.finalize_reset());
        if let Some(expected) = &self.wanted.sha256
            && !expected.eq_ignore_ascii_case(&found)
        {
            self.discard()?;
            let expected = expected.to_ascii_lowercase();
            return Err(DownloadError::Digest { expected, found });
        }
        self.file
            .sync_all()
            .and_then(|()| fs::rename(&self.path, &self.wanted.file))
            .map_err(|source| file_fault(&self.wanted.file, source))?;
        // Only a note about what is whole now.
        let _ = remove(&beside(&self.wanted.file, "part.from"));
        Ok(Fetched {
            sha256: found,
            size: self.length,
            was_there: false,
        })
    }

    fn discard(&self) -> Result<(), DownloadError> {
        for path in [&self.path, &beside(&self.wanted.file, "part.from")] {
            remove(path).map_err(|source| file_fault(path, source))?;
        }
        Ok(())
    }

    fn kind(&self) -> DownloadError {
        let expected = String::from_utf8_lossy(self.wanted.begins).into_owned();
        DownloadError::Kind { expected }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // Nothing to go on with. The claim outlives it, so nobody else has begun.
        if self.length == 0 {
            let _ = remove(&self.path);
        }
    }
}

/// Reads a file to its end and returns its digest so far and its length.
fn hash(file: &mut File) -> io::Result<(Sha256, u64)> {
    let mut hasher = Sha256::new();
    // A device may have no end.
    let length = match file.metadata()?.is_file() {
        true => digest::feed(&mut hasher, file)?,
        false => 0,
    };
    Ok((hasher, length))
}

async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, DownloadError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other)
        .and_then(|it| it)
        .map_err(|source| file_fault(path, source))
}

/// Returns the path of a file that belongs to another one.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn file_fault(path: &Path, source: io::Error) -> DownloadError {
    DownloadError::File {
        path: path.to_owned(),
        source,
    }
}
