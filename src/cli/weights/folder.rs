//! The folder of weights: which are there, where each came from, and what a name stands for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use claw_runtime::digest;
use claw_runtime::nearest::nearest;
use serde::{Deserialize, Serialize};

use super::table::{KNOWN, Known, known};
use crate::cli::args::folder;
use crate::cli::exit::{Exit, Failure};

/// What the file of every model ends with.
const ENDING: &str = ".gguf";
/// The longest name.
const LONGEST: usize = 100;

/// Where a file came from, kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The address without its query, or the package.
    pub(crate) from: String,
    pub(crate) sha256: String,
    /// In bytes.
    pub(crate) size: u64,
}

/// The folder weights are kept in.
pub(crate) struct Folder(PathBuf);

/// Weights that are there.
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// In bytes.
    pub(crate) size: u64,
    /// Where it came from; unknown of a file that somebody put there.
    pub(crate) record: Option<Record>,
}

impl Folder {
    /// Returns the folder in the user's cache. It may not be there yet.
    pub(crate) fn of_user() -> Result<Self, Failure> {
        let cache = folder("XDG_CACHE_HOME", ".cache").ok_or_else(|| {
            Failure::usage("there is no home folder to keep weights in")
                .hint("name a folder with `XDG_CACHE_HOME`")
        })?;
        Ok(Self(cache.join("models")))
    }

    /// Makes it, where it is not there.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        fs::create_dir_all(&self.0).map_err(|error| {
            Failure::other(format!("cannot make `{}`: {error}", self.0.display()))
                .hint("name another folder with `XDG_CACHE_HOME`")
        })
    }

    /// Returns where the weights of this name stand or would stand.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}{ENDING}"))
    }

    /// Returns what is there, by name.
    pub(crate) fn all(&self) -> Result<Vec<Kept>, Failure> {
        let mut kept: Vec<Kept> = self
            .names()?
            .iter()
            .filter_map(|file| file.strip_suffix(ENDING))
            .filter(|name| check_name(name).is_ok())
            .filter_map(|name| self.find(name))
            .collect();
        kept.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(kept)
    }

    /// Returns the weights of this name, if they are there.
    pub(crate) fn find(&self, name: &str) -> Option<Kept> {
        check_name(name).ok()?;
        let file = self.file(name);
        let about = fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let record = fs::read(beside(&file))
            .ok()
            .and_then(|text| serde_json::from_slice::<Record>(&text).ok())
            // Of another file, which has been in this place.
            .filter(|record| record.size == about.len());
        Some(Kept {
            name: name.to_owned(),
            size: about.len(),
            file,
            record,
        })
    }

    /// Returns the weights of this name.
    pub(crate) fn get(&self, name: &str) -> Result<Kept, Failure> {
        if let Some(kept) = self.find(name) {
            return Ok(kept);
        }
        let missing = |what: String| Failure::new(Exit::NoModel, what);
        Err(match known(name) {
            Some(known) => missing(format!("the weights `{name}` are not here")).hint(format!(
                "`claw model pull {name}` fetches them ({}, {})",
                super::show::bytes(known.size),
                known.licence
            )),
            None => missing(format!("there are no weights `{name}`")).hint(self.near(name)),
        })
    }

    /// Says what may be meant by a name that nothing has.
    pub(crate) fn near(&self, name: &str) -> String {
        let kept = self.all().unwrap_or_default();
        let names = || {
            let kept = kept.iter().map(|kept| kept.name.as_str());
            kept.chain(KNOWN.iter().map(|known| known.name))
        };
        match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`claw model list` shows those that are here or known; a file is named by its path, an address of \
                     a GGUF file can be pulled"
                .to_owned(),
        }
    }

    /// Tells whether a file still is the one that was fetched; unknown of one that somebody put there.
    pub(crate) fn is_whole(&self, kept: &Kept) -> Result<Option<bool>, Failure> {
        let Some(record) = &kept.record else {
            return Ok(None);
        };
        let found = digest::of_file(&kept.file).map_err(|error| {
            Failure::other(format!("cannot read `{}`: {error}", kept.file.display()))
        })?;
        Ok(Some(found == record.sha256))
    }

    /// Returns how many bytes of these weights came before their transfer was stopped, if any.
    pub(crate) fn begun(&self, name: &str) -> Option<u64> {
        let part = self.0.join(format!("{name}{ENDING}.part"));
        fs::metadata(part).ok().map(|about| about.len())
    }

    /// Notes where weights came from.
    pub(crate) fn note(&self, name: &str, record: &Record) -> Result<(), Failure> {
        let text = serde_json::to_vec(record).map_err(Failure::other)?;
        fs::write(beside(&self.file(name)), text).map_err(Failure::from)
    }

    /// Deletes weights with all that was made of them or stands beside them, and returns how many bytes that were.
    pub(crate) fn remove(&self, name: &str) -> Result<u64, Failure> {
        check_name(name).map_err(Failure::usage)?;
        let (file, lock) = (format!("{name}{ENDING}"), format!("{name}{ENDING}.lock"));
        let belonging = format!("{file}.");
        let (mut freed, mut found) = (0, false);
        // The lock stays: another process may wait for it.
        let names = self.names()?.into_iter().filter(|it| *it != lock);
        for entry in names.filter(|it| *it == file || it.starts_with(&belonging)) {
            let path = self.0.join(entry);
            let about = fs::symlink_metadata(&path)?;
            if about.is_dir() {
                fs::remove_dir_all(&path)?;
            } else {
                fs::remove_file(&path)?;
                freed += about.len();
            }
            found = true;
        }
        match found {
            true => Ok(freed),
            false => Err(self
                .get(name)
                .err()
                .unwrap_or_else(|| Failure::other(format!("`{name}` is gone already")))),
        }
    }

    /// Returns the names of the files in it; none where it is not there.
    fn names(&self) -> io::Result<Vec<String>> {
        match fs::read_dir(&self.0) {
            Ok(entries) => Ok(entries
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// Returns where a record stands.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Refuses names that are no plain file names.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_good = (1..=LONGEST).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(good)
        && !name.ends_with(ENDING);
    is_good.then_some(()).ok_or_else(|| {
        format!(
            "the name `{name}` of weights must begin with a letter or digit, and hold at most {LONGEST} letters, digits, \
             `-`, `_` and `.`"
        )
    })
}

/// Returns a name for the file at the end of a path or an address: in lower case, without its ending.
pub(crate) fn name_of(address: &str) -> Option<String> {
    let path = &address[..address.find(['?', '#']).unwrap_or(address.len())];
    let file = path.rsplit('/').next()?.to_ascii_lowercase();
    let name = file.strip_suffix(ENDING)?;
    check_name(name).ok().map(|()| name.to_owned())
}

/// Returns the licence of known weights.
pub(super) fn licence(name: &str, sha256: Option<&str>) -> Option<&'static str> {
    let is_it = |known: &&Known| sha256.is_some_and(|it| it == known.sha256);
    known(name)
        .into_iter()
        .chain(KNOWN)
        .find(is_it)
        .map(|known| known.licence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Folder, name: &str, text: &str) {
        fs::write(folder.0.join(name), text).unwrap();
    }

    #[test]
    fn what_is_there_is_found_with_its_record() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder(temp.path().join("none"));
        assert!(folder.all().unwrap().is_empty());
        folder.make().unwrap();
        for name in [
            "b.gguf",
            "a.gguf",
            "c.gguf.part",
            "d.txt",
            "-x.gguf",
            "e.gguf.lock",
        ] {
            put(&folder, name, "12345");
        }
        fs::create_dir(folder.0.join("dir.gguf")).unwrap();
        let record = |size| Record {
            from: "x".into(),
            sha256: "y".into(),
            size,
        };
        folder.note("a", &record(5)).unwrap();
        folder.note("b", &record(6)).unwrap();
        let all = folder.all().unwrap();
        let found: Vec<_> = all
            .iter()
            .map(|kept| (kept.name.as_str(), kept.size, kept.record.is_some()))
            .collect();
        assert_eq!(found, [("a", 5, true), ("b", 5, false)]);
        assert_eq!(folder.begun("c"), Some(5));
    }

    #[test]
    fn removing_takes_all_that_belongs_to_a_name_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder(temp.path().to_owned());
        for name in [
            "a.gguf",
            "a.gguf.json",
            "a.gguf.q8_0",
            "a.gguf.lock",
            "a.other.gguf",
            "ab.gguf",
        ] {
            put(&folder, name, "12345");
        }
        fs::create_dir(temp.path().join("a.gguf.pip-1")).unwrap();
        assert_eq!(folder.remove("a").unwrap(), 15);
        let mut left = folder.names().unwrap();
        left.sort();
        assert_eq!(left, ["a.gguf.lock", "a.other.gguf", "ab.gguf"]);
        let failure = folder.remove("abb").unwrap_err();
        assert_eq!(failure.hints, ["did you mean `ab`?"]);
        assert!(
            folder
                .remove("../a")
                .unwrap_err()
                .message
                .contains("must begin")
        );
    }

    #[test]
    fn a_name_is_taken_from_the_end_of_an_address() {
        let name = |text| name_of(text);
        assert_eq!(
            name("https://h/a/Qwen2.5-0.5B-Q4_K_M.gguf?download=true#x").as_deref(),
            Some("qwen2.5-0.5b-q4_k_m")
        );
        for bad in [
            "https://h/",
            "https://h/a.bin",
            "https://h/.gguf",
            "https://h/a%20b.gguf",
            "https://h/..gguf",
        ] {
            assert_eq!(name(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_licence_belongs_to_a_content() {
        let usual = &KNOWN[0];
        assert_eq!(licence("mine", Some(usual.sha256)), Some("Apache-2.0"));
        assert_eq!(licence(usual.name, Some("00")), None);
    }
}
