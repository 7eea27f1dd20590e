//! Replaces a file in one step.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;

use claw::tool::ToolError;
use rustix::fs::{
    Access, AtFlags, Mode, OFlags, Stat, accessat, fchmod, fchown, openat, renameat, unlinkat,
};
use rustix::fs::{Gid, Uid};

use crate::beneath::Place;

/// Replaces what stands at `place` by `bytes`: whoever reads sees the old file or the new one, also after a crash.
///
/// An existing file keeps its mode and, where allowed, its owner and group.
pub(super) fn replace(
    place: &Place,
    existing: Option<&Stat>,
    bytes: &[u8],
) -> Result<(), ToolError> {
    if existing.is_some() {
        accessat(&place.dir, &place.name, Access::WRITE_OK, AtFlags::empty())
            .map_err(|err| place.refused(err))?;
    }
    let unique = RandomState::new().build_hasher().finish();
    let temporary = format!(".claw-{unique:016x}.tmp");
    let result = fill(place, &temporary, existing, bytes).and_then(|()| {
        renameat(&place.dir, temporary.as_str(), &place.dir, &place.name)
            .map_err(|err| place.refused(err))
    });
    if result.is_err() {
        // It may not even have been made; the first error is the one to tell.
        let _ = unlinkat(&place.dir, temporary.as_str(), AtFlags::empty());
    }
    result
}

fn fill(place: &Place, name: &str, existing: Option<&Stat>, bytes: &[u8]) -> Result<(), ToolError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // What is replaced may be private: no moment in which its content is readable by others.
    let mode = Mode::from_raw_mode(if existing.is_some() { 0o600 } else { 0o666 });
    let file = openat(&place.dir, name, flags, mode).map_err(|err| place.refused(err))?;
    if let Some(stat) = existing {
        let group = Some(Gid::from_raw(stat.st_gid));
        // Only root may give files away; a file of another owner becomes ours, as in any editor.
        let has_group = fchown(&file, Some(Uid::from_raw(stat.st_uid)), group)
            .or_else(|_| fchown(&file, None, group))
            .is_ok();
        let mode = Mode::from_raw_mode(match has_group {
            true => stat.st_mode,
            false => without_group(stat.st_mode),
        });
        fchmod(&file, mode).map_err(|err| place.refused(err))?;
    }
    let mut file = File::from(file);
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|err| ToolError::new(format!("the file could not be written: {err}")))
}

/// Returns a mode that gives the group what everybody has: it is another group now, for which nothing else was meant.
fn without_group(mode: u32) -> u32 {
    mode & !0o2070 | (mode & mode << 3 & 0o070)
}

#[cfg(test)]
mod tests {
    use super::without_group;

    #[test]
    fn another_group_gets_no_more_than_everybody() {
        for (mode, expected) in [
            (0o100_640, 0o100_600),
            (0o100_664, 0o100_644),
            (0o102_775, 0o100_755),
            (0o100_604, 0o100_604),
        ] {
            assert_eq!(without_group(mode), expected, "{mode:o}");
        }
    }
}
