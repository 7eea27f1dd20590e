//! Where the database lies: its folder and file, private to the user, and on a disk of this machine.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::faults::{failed, of_io};
use crate::session::StoreError;

/// Makes folder and file where they are missing: the folder for this user alone (0700), the file too (0600).
///
/// # Errors
///
/// Fails when they cannot be made, or lie on a network file system, where SQLite's write-ahead log loses data.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, StoreError> {
    let path = std::path::absolute(path).map_err(|error| of_io(path, "found", &error))?;
    let folder = path.parent().unwrap_or(&path);
    make_folder(folder).map_err(|error| of_io(folder, "made", &error))?;
    if let Some(kind) = network(folder) {
        return Err(failed(
            &path,
            format_args!(
                "lies on a network file system ({kind}), where SQLite's log cannot be shared safely; keep sessions on a \
                 local disk, or in Postgres when several machines share them"
            ),
        ));
    }
    private_file(&path).map_err(|error| of_io(&path, "opened", &error))?;
    Ok(path)
}

/// Makes a folder and those above it, for this user alone.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file to read and write; one that is made is this user's alone.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns the path of a file beside the database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the type of the file system a folder lies on, when it is one that other machines share.
#[cfg(target_os = "linux")]
fn network(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let device = fs::metadata(folder).ok()?.dev();
    // As the kernel packs it for programs: the minor number's low byte, the major, the rest of the minor.
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = type_of(&mounts, &format!("{major}:{minor}"))?;
    is_network(kind).then(|| kind.to_owned())
}

/// Only Linux tells; elsewhere SQLite's own checks must do.
#[cfg(not(target_os = "linux"))]
fn network(_: &Path) -> Option<String> {
    None
}

/// Returns the type of the file system with this device number, from a mountinfo table (proc_pid_mountinfo(5)).
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux asks"))]
fn type_of<'a>(mounts: &'a str, device: &str) -> Option<&'a str> {
    mounts.lines().find_map(|line| {
        // Optional fields end with a lone hyphen; the type follows it.
        let (fields, rest) = line.split_once(" - ")?;
        (fields.split(' ').nth(2)? == device).then(|| rest.split(' ').next())?
    })
}

/// Tells whether several machines may write a file system of this type.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux asks"))]
fn is_network(kind: &str) -> bool {
    // FUSE serves local disks and containers too; only what is known to reach over a network is refused.
    let kind = kind.strip_prefix("fuse.").unwrap_or(kind);
    let named = [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "ceph-fuse",
        "cifs",
        "coda",
        "curlftpfs",
        "davfs",
        "gcsfuse",
        "gfs2",
        "glusterfs",
        "goofys",
        "gpfs",
        "juicefs",
        "lustre",
        "mfs",
        "ncpfs",
        "ocfs2",
        "pvfs2",
        "rclone",
        "s3fs",
        "smb3",
        "smbfs",
        "smbnetfs",
        "sshfs",
        "vboxsf",
    ];
    kind.starts_with("nfs") || named.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:29 / /mnt/team rw,nosuid shared:16 master:2 - nfs4 server:/team rw,vers=4.2
32 22 0:30 / /home/me/box rw,nosuid,nodev - fuse.sshfs me@host: rw,user_id=1000
33 22 0:31 /a - b /mnt/odd\\040name rw - fuse.fuse-overlayfs fuse-overlayfs rw
";

    #[test]
    fn the_type_is_found_by_the_device() {
        assert_eq!(type_of(MOUNTS, "254:0"), Some("ext4"));
        assert_eq!(type_of(MOUNTS, "0:29"), Some("nfs4"));
        assert_eq!(type_of(MOUNTS, "0:30"), Some("fuse.sshfs"));
        assert_eq!(type_of(MOUNTS, "0:3"), None);
        assert_eq!(type_of("", "0:3"), None);
    }

    #[test]
    fn what_other_machines_share_is_refused() {
        for kind in [
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "fuse.sshfs",
            "fuse.rclone",
            "9p",
        ] {
            assert!(is_network(kind), "{kind}");
        }
        for kind in [
            "ext4",
            "xfs",
            "btrfs",
            "overlay",
            "tmpfs",
            "fuseblk",
            "fuse.fuse-overlayfs",
        ] {
            assert!(!is_network(kind), "{kind}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_root_of_this_machine_is_in_its_table() {
        use std::os::unix::fs::MetadataExt;
        let device = fs::metadata("/proc").unwrap().dev();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let found = type_of(&mounts, &format!("{}:{}", device >> 8, device & 0xff));
        assert_eq!(found, Some("proc"));
    }
}
