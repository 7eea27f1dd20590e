//! Which hosts live: each holds an operating-system lock on a file of its own, which the kernel frees when its process ends,
//! however it ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::faults::of_io;
use super::place::{beside, make_folder, private_file};
use crate::session::StoreError;

/// This host, and where the others are.
pub(super) struct Host {
    /// Its name in the database and in the folder, never used again: the process, and the nanosecond it began in.
    pub(super) name: String,
    folder: PathBuf,
    /// Locked for as long as the host lives.
    _life: File,
}

impl Host {
    /// Begins to live. Only within a turn at the gate, for it clears away what dead hosts left.
    pub(super) fn begin(database: &Path) -> Result<Self, StoreError> {
        let folder = beside(database, "-hosts");
        make_folder(&folder).map_err(|error| of_io(&folder, "made", &error))?;
        let begin = || -> io::Result<_> {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if !lives(&path) {
                    // Its sessions are free already; a file that stays does no harm.
                    let _ = fs::remove_file(path);
                }
            }
            loop {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                let name = format!(
                    "{}-{}",
                    std::process::id(),
                    since.unwrap_or_default().as_nanos()
                );
                let life = private_file(&folder.join(&name))?;
                match life.try_lock() {
                    Ok(()) => return Ok((name, life)),
                    // Another host of this process, or of a container with the same ids, began just now.
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => return Err(error),
                }
            }
        };
        let (name, life) = begin().map_err(|error| of_io(&folder, "used", &error))?;
        Ok(Self {
            name,
            folder,
            _life: life,
        })
    }

    /// Tells whether the host of this name lives.
    pub(super) fn lives(&self, name: &str) -> bool {
        let plain = name.bytes().all(|c| c.is_ascii_digit() || c == b'-');
        name == self.name || (plain && lives(&self.folder.join(name)))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // While the lock is held, so that it is certainly this host's file.
        let _ = fs::remove_file(self.folder.join(&self.name));
    }
}

/// Returns what people call the host of this name.
pub(super) fn called(name: &str) -> String {
    let process = name.split('-').next().unwrap_or(name);
    format!("process {process}")
}

fn lives(path: &Path) -> bool {
    match File::open(path) {
        // Shared, so that two that look at once do not take each other for the host.
        Ok(file) => file.try_lock_shared().is_err(),
        // A file that cannot be looked at may be another user's, and alive.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}
