//! Reads packed references from the `packed-refs` file.
//!
//! Results are cached while the file does not change, because the watcher asks every second.

use std::{
    fs::Metadata,
    io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use lru::LruCache;

use super::parse_object_id;
use crate::beneath::{self, RootDir};

const FILE: &str = "packed-refs";
/// Maximum bytes of the file, which has one line per branch and tag. A larger file is not read.
const MAX_BYTES: u64 = 32 << 20;
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).expect("more than none");

/// Cached ids by file and reference name, with the stamp of the file that they were read from.
type PackedReferenceCache = LruCache<(PathBuf, String), (PackedFileStamp, Option<String>)>;

static NAMED: LazyLock<Mutex<PackedReferenceCache>> =
    LazyLock::new(|| Mutex::new(LruCache::new(REMEMBERED)));

/// Properties that identify a version of the file. Git replaces the file to change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackedFileStamp {
    size: u64,
    modified: Option<SystemTime>,
    number: u64,
}

impl PackedFileStamp {
    fn from_metadata(file: &Metadata) -> Self {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(file);
        #[cfg(not(unix))]
        let number = 0;
        Self { size: file.len(), modified: file.modified().ok(), number }
    }
}

/// Returns the id of a packed reference in a git folder. Fails with
/// [`io::ErrorKind::FileTooLarge`] if the file is larger than [`MAX_BYTES`].
pub(super) fn find_packed_reference(git: &Path, name: &str) -> io::Result<Option<String>> {
    let path = git.join(FILE);
    let stamp = match path.symlink_metadata() {
        Ok(file) => PackedFileStamp::from_metadata(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let key = (path, name.to_owned());
    let known = lock_cache().get(&key).filter(|(cached, _)| *cached == stamp).cloned();
    if let Some((_, id)) = known {
        return Ok(id);
    }
    // If the file has changed since `stamp`, the next call reads it again.
    let id = read_packed_reference(git, name)?;
    lock_cache().put(key, (stamp, id.clone()));
    Ok(id)
}

fn read_packed_reference(git: &Path, name: &str) -> io::Result<Option<String>> {
    let (file, facts) = RootDir::open(git)?.open_file(Path::new(FILE))?;
    if facts.size > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let bytes = beneath::read_to_limit(file, MAX_BYTES, || ())?;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(at) = line.iter().position(|byte| *byte == b' ') else { continue };
        let (id, reference) = line.split_at(at);
        if reference.trim_ascii() == name.as_bytes() {
            return Ok(str::from_utf8(id).ok().and_then(parse_object_id));
        }
    }
    Ok(None)
}

fn lock_cache() -> MutexGuard<'static, PackedReferenceCache> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_stays_the_same_is_not_read_again() {
        let git = tempfile::tempdir().unwrap();
        let path = git.path().join(FILE);
        let named = || find_packed_reference(git.path(), "refs/heads/main").unwrap();
        let [first, second] = ["1", "2"].map(|digit| digit.repeat(40));
        let write = |id: &str| fs::write(&path, format!("# pack-refs\n{id} refs/heads/main\n"));
        assert_eq!(named(), None);
        write(&first).unwrap();
        let modified = path.metadata().unwrap().modified().unwrap();
        let set = |time: SystemTime| {
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        set(modified);
        assert_eq!(named(), Some(first.clone()));
        write(&second).unwrap();
        set(modified);
        assert_eq!(named(), Some(first));
        set(modified + std::time::Duration::from_secs(1));
        assert_eq!(named(), Some(second));
    }

    #[test]
    fn a_file_above_the_limit_is_an_error() {
        let git = tempfile::tempdir().unwrap();
        let file = fs::File::create(git.path().join(FILE)).unwrap();
        file.set_len(MAX_BYTES + 1).unwrap();
        let error = find_packed_reference(git.path(), "refs/heads/main").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
