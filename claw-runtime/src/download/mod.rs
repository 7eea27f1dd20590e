//! Large files onto the disk: from an address, resumed where they broke off, or from a stream; bounded, and under their
//! name only once their digest holds.
//!
//! Nothing here chooses what is fetched or whether: the program does. A file grows beside its place as `NAME.part`; a
//! lock, `NAME.lock`, keeps two processes from writing it at once. Pieces are hashed and written on the calling task, in
//! microseconds each: this is for a program that waits for the file, not for a host that serves others meanwhile.

mod http;
mod part;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use part::{Claim, Part};

/// A file that is wanted, and what is known of it before it comes.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Where it stands once it is whole. Its folder exists.
    pub file: PathBuf,
    /// Its SHA-256 in hex, where that is known; a file with another one is deleted.
    pub sha256: Option<String>,
    /// Its length in bytes, where that is known.
    pub size: Option<u64>,
    /// The most bytes that are taken.
    pub most: u64,
    /// What it begins with, so that an error page is found out at once; empty for anything.
    pub begins: &'static [u8],
    /// How long the head of an answer, and then every 64 KiB, may take.
    pub patience: Duration,
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its SHA-256 in lower-case hex.
    pub sha256: String,
    /// Its length in bytes.
    pub size: u64,
    /// Whether it was there before, so that nothing was fetched.
    pub was_there: bool,
}

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another process fetches the same file; this one waits for it.
    Waiting,
    /// Bytes of it are on the disk.
    Bytes {
        /// How many.
        done: u64,
        /// Of how many, where that is known.
        total: Option<u64>,
    },
}

/// Why a file is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The address, or one it leads to, may not be fetched from.
    #[error("{what}")]
    Address {
        /// What is wrong with it.
        what: String,
    },
    /// There was no connection, or it broke. What came is kept, and is gone on with next time where that is safe.
    #[error("{what}")]
    Network {
        /// What happened, without the address.
        what: String,
    },
    /// Too little came in time. What came is kept.
    #[error("less than 64 KiB came within {} s", patience.as_secs_f32())]
    Stalled {
        /// How long was waited.
        patience: Duration,
    },
    /// The server answered with something else than the file.
    #[error("the server answered with status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// The server sends another part than the one asked for, or in a form that was not asked for.
    #[error("the server sent {what}")]
    Answer {
        /// What it sent.
        what: String,
    },
    /// The file ended early. What came is kept.
    #[error("the file ended after {found} of {expected} bytes")]
    Truncated {
        /// Its length.
        expected: u64,
        /// How many bytes came.
        found: u64,
    },
    /// The file is longer than it should be, or than is taken.
    #[error("the file has more than {most} bytes")]
    TooLarge {
        /// How many it may have.
        most: u64,
    },
    /// The file has another length than the one that is known.
    #[error("the file has {found} bytes, expected {expected}")]
    Size {
        /// The length that is known.
        expected: u64,
        /// The length the server tells.
        found: u64,
    },
    /// The file begins otherwise than one of its kind; it was deleted.
    #[error("it is no file of the expected kind: it does not begin with {expected:?}")]
    Kind {
        /// What it should begin with.
        expected: String,
    },
    /// The file is another one than the one wanted; it was deleted.
    #[error("its SHA-256 is {found}, expected {expected}; the file was deleted")]
    Digest {
        /// The digest wanted.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// The disk refused.
    #[error("cannot write `{}`: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl DownloadError {
    /// Tells whether another attempt may go on from here.
    fn is_break(&self) -> bool {
        matches!(
            self,
            Self::Network { .. } | Self::Stalled { .. } | Self::Truncated { .. }
        )
    }
}

/// Fetches a file from an address: `https`, or `http` on this machine.
///
/// Goes on with what an earlier attempt left, when the server still has the same file (its strong `ETag` tells) or the
/// digest is known. A connection that breaks after it brought something is made anew, a few times. Redirects are
/// followed, never from `https` to `http`.
///
/// # Errors
///
/// Fails as [`DownloadError`] says. Dropping the future leaves what came for the next time.
pub async fn from_url(
    wanted: &Wanted,
    address: &str,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Fetched, DownloadError> {
    let address = http::address(address)?;
    let _claim = Claim::take(wanted, progress).await?;
    if let Some(there) = part::there(wanted).await? {
        return Ok(there);
    }
    let mut part = Part::open(wanted).await?;
    let is_resumed = part.length() > 0;
    http::fetch(&mut part, &address, progress).await?;
    match part.finish() {
        // What was there may have been of another file; only all of it anew can tell.
        Err(DownloadError::Digest { .. }) if is_resumed => {
            let mut part = Part::open(wanted).await?;
            http::fetch(&mut part, &address, progress).await?;
            part.finish()
        }
        finished => finished,
    }
}

/// Takes a file from a stream, all of it anew.
///
/// # Errors
///
/// Fails as [`DownloadError`] says.
pub async fn from_reader(
    wanted: &Wanted,
    mut reader: impl AsyncRead + Unpin,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Fetched, DownloadError> {
    let _claim = Claim::take(wanted, progress).await?;
    if let Some(there) = part::there(wanted).await? {
        return Ok(there);
    }
    let mut part = Part::open(wanted).await?;
    part.restart(None)?;
    let mut piece = vec![0; 64 << 10];
    loop {
        let count = match tokio::time::timeout(wanted.patience, reader.read(&mut piece)).await {
            Ok(Ok(count)) => count,
            Ok(Err(error)) => {
                let what = format!("the stream broke off: {error}");
                return Err(DownloadError::Network { what });
            }
            Err(_) => {
                let patience = wanted.patience;
                return Err(DownloadError::Stalled { patience });
            }
        };
        if count == 0 {
            return part.finish();
        }
        part.push(&piece[..count])?;
        let total = wanted.size;
        progress(Progress::Bytes {
            done: part.length(),
            total,
        });
    }
}
