//! Opens files beneath a root by folder handles, on Unix.

use std::{
    ffi::{CString, OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path},
};

use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};

use super::{FileFacts, FolderEntry, FolderEntryKind};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// Flags for files. `NONBLOCK` avoids waiting for the writer of a pipe.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

#[derive(Debug)]
pub(super) struct SystemRoot(OwnedFd);

pub(super) struct SystemFolder(Dir);

impl SystemRoot {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let flags = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, root, flags, Mode::empty())?))
    }

    pub(super) fn open_folder(&self, path: &Path) -> io::Result<SystemFolder> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(SystemFolder(Dir::new(open_beneath(self.0.as_fd(), path, FOLDER)?)?))
    }

    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        Ok(File::from(open_beneath(self.0.as_fd(), path, FILE)?))
    }
}

/// Opens a path beneath a folder, in one system call if the system supports it.
fn open_beneath(top: BorrowedFd<'_>, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let open_flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let beneath =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(top, path, open_flags, Mode::empty(), beneath) {
            // Kernels before 5.6 lack the call, and filters of containers may refuse it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    step_by_step(top, path, open_flags)
}

/// Opens a path part by part.
fn step_by_step(top: BorrowedFd<'_>, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let step = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        if !matches!(part, Component::Normal(_) | Component::CurDir) {
            return Err(Errno::XDEV);
        }
        let flags = if parts.peek().is_some() { step } else { flags };
        let folder = at.as_ref().map_or(top, AsFd::as_fd);
        at = Some(openat(folder, part.as_os_str(), flags, Mode::empty())?);
    }
    at.ok_or(Errno::NOENT)
}

impl SystemFolder {
    pub(super) fn list_entries(&mut self) -> impl Iterator<Item = io::Result<FolderEntry>> + '_ {
        std::iter::from_fn(|| {
            loop {
                let entry = match self.0.read()? {
                    Ok(entry) => entry,
                    Err(error) => return Some(Err(error.into())),
                };
                let name = entry.file_name();
                if name == c"." || name == c".." {
                    continue;
                }
                let kind = match entry.file_type() {
                    // Some file systems do not report the kind here.
                    FileType::Unknown => {
                        self.stat_entry(name).map_or(FolderEntryKind::Other, |(kind, _)| kind)
                    }
                    kind => kind_of(kind),
                };
                return Some(Ok(FolderEntry {
                    name: OsString::from_vec(name.to_bytes().to_vec()),
                    kind,
                }));
            }
        })
    }

    pub(super) fn read_facts(&self, name: &OsStr) -> io::Result<Option<FileFacts>> {
        let (kind, facts) = self.stat_entry(&CString::new(name.as_bytes())?)?;
        Ok((kind == FolderEntryKind::File).then_some(facts))
    }

    fn stat_entry(
        &self,
        name: &std::ffi::CStr,
    ) -> rustix::io::Result<(FolderEntryKind, FileFacts)> {
        let stat = statat(self.0.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let content = to_nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
        let modified_ns = content.max(to_nanoseconds(stat.st_ctime, stat.st_ctime_nsec));
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
        Ok((kind, FileFacts { size, modified_ns }))
    }
}

fn kind_of(kind: FileType) -> FolderEntryKind {
    match kind {
        FileType::RegularFile => FolderEntryKind::File,
        FileType::Directory => FolderEntryKind::Folder,
        _ => FolderEntryKind::Other,
    }
}

/// Converts a time to nanoseconds since the Unix epoch; 0 before it. Types differ by platform.
fn to_nanoseconds(seconds: impl TryInto<u64>, rest: impl TryInto<u64>) -> u64 {
    let (Ok(seconds), Ok(rest)) = (seconds.try_into(), rest.try_into()) else { return 0 };
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn opening_part_by_part_follows_no_link() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("real/deep")).unwrap();
        fs::write(root.path().join("real/deep/a.rs"), "").unwrap();
        symlink("real", root.path().join("link")).unwrap();
        symlink("a.rs", root.path().join("real/deep/b.rs")).unwrap();
        let top = SystemRoot::open(root.path()).unwrap();
        let flags = FILE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |path: &str| step_by_step(top.0.as_fd(), Path::new(path), flags);
        open("real/deep/a.rs").unwrap();
        for path in ["link/deep/a.rs", "real/deep/b.rs", "../x", "/etc/passwd", "real/../real", ""]
        {
            assert!(open(path).is_err(), "{path}");
        }
    }

    #[test]
    fn facts_have_the_modification_time_of_the_metadata() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.rs"), "four").unwrap();
        let folder = SystemRoot::open(root.path()).unwrap().open_folder(Path::new("")).unwrap();
        let facts = folder.read_facts(OsStr::new("a.rs")).unwrap().unwrap();
        let metadata = root.path().join("a.rs").metadata().unwrap();
        let modified_ns = codeinfo_core::modified_ns(&metadata);
        assert_eq!(facts, FileFacts { size: 4, modified_ns });
        // The kind is read again, because it may have changed since the folder was listed.
        symlink("a.rs", root.path().join("link")).unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        for name in ["link", "folder"] {
            assert_eq!(folder.read_facts(OsStr::new(name)).unwrap(), None, "{name}");
        }
    }
}
