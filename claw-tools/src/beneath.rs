//! Paths that a model wrote, resolved beneath the workspace by descriptor.
//!
//! A path is never checked as text and opened afterwards: the kernel resolves it from the open folder and refuses whatever
//! leaves it, `..` and symbolic links included. Errors speak of the path as the model wrote it and tell the same for every
//! target outside, whether it exists or not.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use claw::tool::{ToolContext, ToolError, Workspace};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;

/// Symbolic links followed before a path counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The folder that everything stays in.
#[derive(Clone, Copy)]
pub(crate) struct Root<'a> {
    workspace: &'a Workspace,
}

impl<'a> Root<'a> {
    /// Returns the workspace of a call.
    pub(crate) fn of(ctx: &'a ToolContext) -> Result<Self, ToolError> {
        let workspace = ctx.workspace().ok_or_else(no_workspace)?;
        Ok(Self { workspace })
    }

    /// Returns the absolute path of the workspace.
    pub(crate) fn path(self) -> &'a Path {
        self.workspace.path()
    }

    /// Returns `path` as a path from the workspace, `.` for the workspace itself; it may still try to leave it.
    pub(crate) fn relative(self, path: &str) -> Result<PathBuf, ToolError> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolError::new(
                "the path is empty or holds a NUL; give one relative to the workspace, for example `src/main.rs`",
            ));
        }
        if path == "~" || path.starts_with("~/") {
            return Err(ToolError::new(format!(
                "`{path}` is outside the workspace: `~` is not expanded; give a path relative to the workspace, for \
                 example `src/main.rs`"
            )));
        }
        let wanted = Path::new(path);
        let relative = match wanted.strip_prefix(self.path()) {
            Ok(inside) => inside,
            Err(_) if wanted.is_absolute() => return Err(refused(path, Errno::XDEV)),
            Err(_) => wanted,
        };
        let parts = relative.components();
        let clean: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
        Ok(match clean.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => clean,
        })
    }

    /// Opens a regular file to read.
    pub(crate) fn file(self, path: &str) -> Result<File, ToolError> {
        let wanted = self.relative(path)?;
        let file = self.open(&wanted, READ).map_err(|err| refused(path, err))?;
        let stat = fstat(&file).map_err(|err| refused(path, err))?;
        check_regular(path, &stat)?;
        Ok(File::from(file))
    }

    /// Opens a file that a walk has found: no link is followed, and anything but a regular file is `None`.
    pub(crate) fn found(self, path: &Path) -> Option<File> {
        let file = self.open(path, READ | OFlags::NOFOLLOW).ok()?;
        let stat = fstat(&file).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| File::from(file))
    }

    /// Opens a folder that a walk has found or begins at.
    pub(crate) fn found_folder(self, path: &Path) -> Option<OwnedFd> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        self.open(path, DIRECTORY).ok()
    }

    /// Opens a folder.
    pub(crate) fn folder(self, path: &str) -> Result<OwnedFd, ToolError> {
        let wanted = self.relative(path)?;
        self.open(&wanted, DIRECTORY).map_err(|err| match err {
            Errno::NOTDIR => ToolError::new(format!("`{path}` is not a folder")),
            err => refused(path, err),
        })
    }

    /// Tells whether `path` is there, and whether it is a folder.
    pub(crate) fn is_folder(self, path: &str) -> Result<bool, ToolError> {
        let wanted = self.relative(path)?;
        let stat = self
            .open(&wanted, READ)
            .and_then(fstat)
            .map_err(|err| refused(path, err))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(true),
            _ => check_regular(path, &stat).map(|()| false),
        }
    }

    /// Returns where a file is or will be written. Links in the workspace are followed; missing parents are made on demand.
    pub(crate) fn place(self, path: &str, make_parents: bool) -> Result<Place, ToolError> {
        let folder = || ToolError::new(format!("`{path}` names a folder; give the path of a file"));
        let mut wanted = self.relative(path)?;
        if path.ends_with('/') || path.ends_with("/.") {
            return Err(folder());
        }
        for hop in 0..MAX_LINKS {
            let name = wanted.file_name().ok_or_else(folder)?.to_owned();
            let parent = match wanted.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let dir = match make_parents && hop == 0 {
                true => self.make_folders(parent),
                false => self.open(parent, DIRECTORY),
            }
            .map_err(|err| refused(path, err))?;
            if self.workspace.has_closed() {
                let root = self.workspace.dir().as_fd();
                self.real(root, parent, DIRECTORY)
                    .and_then(|real| self.check_open(&real.join(&name)))
                    .map_err(|err| refused(path, err))?;
            }
            let Ok(target) = readlinkat(&dir, &name, Vec::new()) else {
                let place = Place {
                    dir,
                    name,
                    path: path.to_owned(),
                };
                if hop > 0 && place.existing()?.is_none() {
                    return Err(ToolError::new(format!(
                        "`{path}` is a symbolic link to nothing; write to the file itself"
                    )));
                }
                return Ok(place);
            };
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                return Err(refused(path, Errno::XDEV));
            }
            wanted = parent.join(target);
        }
        Err(refused(path, Errno::LOOP))
    }

    fn make_folders(self, path: &Path) -> Result<OwnedFd, Errno> {
        let mut dir = self.open(Path::new("."), DIRECTORY)?;
        let mut done = PathBuf::new();
        for part in path.components() {
            done.push(part);
            dir = match (self.open(&done, DIRECTORY), part) {
                (Err(Errno::NOENT), Component::Normal(name)) => {
                    match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => self.open(&done, DIRECTORY)?,
                        Err(err) => return Err(err),
                    }
                }
                (opened, _) => opened?,
            };
        }
        Ok(dir)
    }

    fn open(self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let root = self.workspace.dir().as_fd();
        if self.workspace.has_closed() {
            let real = self.real(root, path, flags)?;
            self.check_open(&real)?;
        }
        open_beneath(root, path, flags)
    }

    fn check_open(self, real: &Path) -> Result<(), Errno> {
        match self.workspace.is_closed(real) {
            true => Err(Errno::ACCESS),
            false => Ok(()),
        }
    }

    /// Returns the path of what would be opened, links resolved. It is only looked at: to open and close the file of a
    /// database would drop the locks that this process holds on it.
    #[cfg(target_os = "linux")]
    fn real(self, root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<PathBuf, Errno> {
        use std::os::fd::AsRawFd;
        let kept = flags & (OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC);
        let looked = open_beneath(root, path, OFlags::PATH | kept)?;
        let link = format!("/proc/self/fd/{}", looked.as_raw_fd());
        Ok(std::fs::read_link(link).unwrap_or_else(|_| self.path().join(path)))
    }

    #[cfg(not(target_os = "linux"))]
    fn real(self, _: BorrowedFd<'_>, path: &Path, _: OFlags) -> Result<PathBuf, Errno> {
        let full = self.path().join(path);
        Ok(full.canonicalize().unwrap_or(full))
    }
}

/// A name in an open folder.
pub(crate) struct Place {
    pub(crate) dir: OwnedFd,
    pub(crate) name: OsString,
    path: String,
}

impl Place {
    /// Returns what stands there, or `None`; anything but a regular file is an error.
    pub(crate) fn existing(&self) -> Result<Option<Stat>, ToolError> {
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => check_regular(&self.path, &stat).map(|()| Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(err) => Err(refused(&self.path, err)),
        }
    }

    /// Opens the file that stands there.
    pub(crate) fn open(&self) -> Result<File, ToolError> {
        let file = openat(
            &self.dir,
            &self.name,
            READ | OFlags::NOFOLLOW,
            Mode::empty(),
        )
        .map_err(|err| refused(&self.path, err))?;
        let stat = fstat(&file).map_err(|err| refused(&self.path, err))?;
        check_regular(&self.path, &stat)?;
        Ok(File::from(file))
    }

    /// Puts an error about this place into words.
    pub(crate) fn refused(&self, err: Errno) -> ToolError {
        refused(&self.path, err)
    }
}

/// Says that the agent has no workspace.
pub(crate) fn no_workspace() -> ToolError {
    ToolError::new("this agent has no workspace, so there are no files to work on; tell the user")
}

/// Puts an error about `path` into words for a model.
pub(crate) fn refused(path: &str, err: Errno) -> ToolError {
    ToolError::new(match err {
        Errno::NOENT => format!("`{path}` does not exist; `list_dir` and `glob` show what does"),
        Errno::NOTDIR => format!("`{path}` does not exist: a part of it is a file, not a folder"),
        Errno::XDEV => format!(
            "`{path}` is outside the workspace; give a path inside it, relative to it, for example `src/main.rs`"
        ),
        Errno::LOOP => format!("`{path}` is a loop of symbolic links"),
        Errno::ACCESS | Errno::PERM => format!("`{path}` may not be opened: permission denied"),
        Errno::ISDIR => format!("`{path}` is a folder; give the path of a file"),
        Errno::NXIO | Errno::NODEV => special(path),
        Errno::NAMETOOLONG => "the path is too long".to_owned(),
        err => format!("`{path}`: {err}"),
    })
}

/// Returns a name or path for a model: bytes that are not UTF-8 and control characters are replaced.
pub(crate) fn shown(path: impl AsRef<OsStr>) -> String {
    let text = path.as_ref().to_string_lossy();
    text.replace(char::is_control, "\u{fffd}")
}

fn check_regular(path: &str, stat: &Stat) -> Result<(), ToolError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(refused(path, Errno::ISDIR)),
        _ => Err(ToolError::new(special(path))),
    }
}

fn special(path: &str) -> String {
    format!("`{path}` is a pipe, socket or device, not a regular file")
}

/// Opens `path` from `root` without ever leaving it.
fn open_beneath(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // The kernel says EAGAIN when something on the way is renamed meanwhile.
        for _ in 0..16 {
            match openat2(root, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                // An old kernel, or a filter of system calls as containers have it.
                Err(Errno::NOSYS | Errno::PERM) => break,
                opened => return opened,
            }
        }
    }
    walk_beneath(root, path, flags)
}

/// The same in single steps, none of which follows a link by itself.
fn walk_beneath(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if path.is_absolute() {
        return Err(Errno::XDEV);
    }
    let mut todo = parts(path.as_os_str());
    let mut folders: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        let here = folders.last().map_or(root, AsFd::as_fd);
        if part == "." {
            continue;
        }
        if part == ".." {
            folders.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let is_last = todo.is_empty();
        if !(is_last && flags.contains(OFlags::NOFOLLOW))
            && let Ok(target) = readlinkat(here, &part, Vec::new())
        {
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP);
            }
            let target = OsString::from_vec(target.into_bytes());
            if Path::new(&target).is_absolute() {
                return Err(Errno::XDEV);
            }
            todo.extend(parts(&target));
            continue;
        }
        if is_last {
            return openat(here, &part, flags | OFlags::NOFOLLOW, Mode::empty());
        }
        let folder = openat(here, &part, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        folders.push(folder);
    }
    let here = folders.last().map_or(root, AsFd::as_fd);
    openat(here, ".", flags, Mode::empty())
}

/// The components, last first; a trailing slash counts as `.`, so that it asks for a folder.
fn parts(path: &OsStr) -> Vec<OsString> {
    path.as_bytes()
        .split(|byte| *byte == b'/')
        .rev()
        .map(|part| match part {
            b"" => OsString::from("."),
            part => OsString::from_vec(part.to_vec()),
        })
        .collect()
}

#[cfg(test)]
#[path = "beneath_tests.rs"]
mod tests;
