//! Lists a worktree's tracked files from git's index, versions 2 to 4, with SHA-1 or SHA-256 ids.
//!
//! The index is not trusted: its size is bounded and each step is checked.

use std::{io, path::Path};

use super::GitRepository;
use crate::beneath::{self, RootDir};

/// Maximum bytes of an index. The index of a million files has 100 MB.
const MAX_INDEX_BYTES: u64 = 256 << 20;
const MAX_PATH_BYTES: usize = 4096;
/// Maximum bytes of all paths: in version 4, a small index can contain many long paths.
const MAX_TOTAL_PATH_BYTES: usize = 256 << 20;
/// Bytes of an entry before its object id.
const FACTS: usize = 40;
const MODE: usize = 24;
/// Mask of the kind of an entry in its mode.
const KIND: u32 = 0o170_000;
const MODULE: u32 = 0o160_000;
/// Flag for an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;

#[derive(Debug, Default)]
pub struct TrackedPaths(Vec<Box<str>>);

impl TrackedPaths {
    /// Reads a folder's tracked paths; empty without a repository or if its index is unreadable.
    pub fn read_worktree(root: &Path) -> Self {
        let mut paths: Vec<Box<str>> = Vec::new();
        let git = GitRepository::open(root).ok().flatten();
        let read = git.map(|git| git.each_tracked(|path| paths.push(path.into())));
        if !matches!(read, Some(Ok(()))) {
            paths.clear();
        }
        // Git writes the paths in order, but the index is not trusted.
        paths.sort_unstable();
        Self(paths)
    }

    pub fn has_file(&self, path: &str) -> bool {
        self.0.binary_search_by(|known| known.as_ref().cmp(path)).is_ok()
    }

    /// Returns whether a file in the folder, at any depth, is tracked.
    pub fn has_below(&self, folder: &str) -> bool {
        let prefix = format!("{folder}/");
        let first = self.0.partition_point(|known| known.as_ref() < prefix.as_str());
        self.0.get(first).is_some_and(|known| known.starts_with(&prefix))
    }
}

impl GitRepository {
    /// Calls `each` with the path of each tracked UTF-8 file in order, without submodules.
    pub fn each_tracked(&self, each: impl FnMut(&str)) -> io::Result<()> {
        let (file, _) = RootDir::open(&self.own)?.open_file(Path::new("index"))?;
        let index = beneath::read_to_limit(file, MAX_INDEX_BYTES + 1, || ())?;
        let is_whole = index.len() as u64 <= MAX_INDEX_BYTES;
        let read = is_whole.then(|| read_index(&index, self.id_length() / 2, each)).flatten();
        read.ok_or_else(|| io::Error::other("its index is too large or has an unknown format"))
    }
}

fn read_index(index: &[u8], id_bytes: usize, mut each: impl FnMut(&str)) -> Option<()> {
    let (magic, rest) = index.split_at_checked(4)?;
    let (version, rest) = take_number(rest)?;
    let (count, mut rest) = take_number(rest)?;
    if magic != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut path: Vec<u8> = Vec::new();
    let mut total_bytes = 0;
    for _ in 0..count {
        let entry = rest;
        let (facts, after) = entry.split_at_checked(FACTS + id_bytes)?;
        let (flags, after) = after.split_first_chunk()?;
        let is_extended = u16::from_be_bytes(*flags) & EXTENDED != 0;
        let mut name = after.get(if is_extended { 2 } else { 0 }..)?;
        if version == 4 {
            let (dropped, after) = take_varint(name)?;
            path.truncate(path.len().checked_sub(dropped)?);
            name = after;
        } else {
            path.clear();
        }
        let end = name.iter().position(|byte| *byte == 0)?;
        path.extend(name.get(..end)?);
        total_bytes += path.len();
        if path.len() > MAX_PATH_BYTES || total_bytes > MAX_TOTAL_PATH_BYTES {
            return None;
        }
        let length = entry.len() - name.len() + end + 1;
        rest = entry.get(if version == 4 { length } else { length.next_multiple_of(8) }..)?;
        let (mode, _) = take_number(facts.get(MODE..)?)?;
        if let Ok(path) = str::from_utf8(&path)
            && mode & KIND != MODULE
        {
            each(path);
        }
    }
    Some(())
}

fn take_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// Reads a number in git's variable-length format: seven bits a byte, plus one per further byte.
fn take_varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
        value = value.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    fn run_git(folder: &Path, arguments: &[&str]) -> bool {
        Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap().status.success()
    }

    fn list_tracked(folder: &Path) -> Vec<String> {
        let mut tracked = Vec::new();
        let git = GitRepository::open(folder).unwrap().unwrap();
        git.each_tracked(|path| tracked.push(path.to_owned())).unwrap();
        tracked
    }

    #[test]
    fn all_index_versions_and_hash_kinds_are_read() {
        for format in ["sha1", "sha256"] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            assert!(run_git(&root, &["init", "-q", &format!("--object-format={format}")]));
            fs::create_dir_all(root.join("src/deep")).unwrap();
            let paths = ["a.rs", "src/b.rs", "src/deep/a-long-name.rs", "src/z.rs"];
            for path in paths {
                fs::write(root.join(path), path).unwrap();
            }
            fs::write(root.join("new.rs"), "").unwrap();
            for version in ["2", "4"] {
                assert!(run_git(&root, &["add", "a.rs", "src"]));
                assert!(run_git(&root, &["update-index", "--index-version", version]));
                assert_eq!(list_tracked(&root), paths, "{format}, version {version}");
            }
            assert!(run_git(&root, &["add", "-N", "new.rs"]));
            assert_eq!(list_tracked(&root).len(), 5, "{format}, with flags of version 3");
        }
    }

    #[test]
    fn a_truncated_index_lists_no_further_paths() {
        let head = b"DIRC\0\0\0\x02\0\0\0\x01".iter().copied();
        let whole: Vec<u8> = head.chain([0; 62]).chain(*b"a\0").chain([0; 8]).collect();
        assert_eq!(read_index(&whole, 20, |path| assert_eq!(path, "a")), Some(()));
        for end in 0..75 {
            assert_eq!(read_index(&whole[..end], 20, |_| ()), None, "{end}");
        }
    }

    #[test]
    fn a_small_index_with_too_many_long_paths_is_refused() {
        let entry = |path: &str| [&[0; 62][..], b"\0", path.as_bytes(), b"\0"].concat();
        let index = |first: usize, more: u32| {
            let mut index = [&b"DIRC\0\0\0\x04"[..], &(more + 1).to_be_bytes()].concat();
            index.extend(entry(&"a".repeat(first)));
            (0..more).for_each(|_| index.extend(entry("")));
            index
        };
        let mut paths = 0;
        assert_eq!(read_index(&index(4096, 9), 20, |_| paths += 1), Some(()));
        assert_eq!(paths, 10);
        assert_eq!(read_index(&index(4097, 0), 20, |_| ()), None);
        assert_eq!(read_index(&index(4096, 70_000), 20, |_| paths += 1), None);
        assert!(paths < 70_000);
    }
}
