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
/// An existing file keeps its mode and, where allowed, its owner.
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
        // Only root may give files away; a file of another owner becomes ours, as in any editor.
        let _ = fchown(
            &file,
            Some(Uid::from_raw(stat.st_uid)),
            Some(Gid::from_raw(stat.st_gid)),
        );
        fchmod(&file, Mode::from_raw_mode(stat.st_mode)).map_err(|err| place.refused(err))?;
    }
    let mut file = File::from(file);
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|err| ToolError::new(format!("the file could not be written: {err}")))
}
