//! Measures a folder that a hostile program may fill during the measurement.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    io::ErrorKind,
    path::Path,
};

/// Maximum number of files and folders to count, which takes one or two seconds.
const MAX_ENTRIES: usize = 500_000;

/// Returns a description of the excess if `folder` takes more than `max_mib` on disk or cannot be measured.
/// Follows no links, and counts a file with several names once.
pub(super) fn find_excess(folder: &Path, max_mib: u64) -> Option<String> {
    let max_bytes = max_mib.saturating_mul(super::MIB);
    let mut bytes = 0;
    let mut entries = 0;
    let mut linked = HashSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed = match fs::read_dir(&folder).map_err(|error| error.kind()) {
            Ok(listed) => listed,
            Err(ErrorKind::PermissionDenied | ErrorKind::InvalidFilename) => {
                return Some("holds folders that cannot be read to measure them".to_owned());
            }
            // The folder was removed in the meantime.
            Err(_) => continue,
        };
        for entry in listed.flatten() {
            entries += 1;
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            if is_first_name(&metadata, &mut linked) {
                bytes += size_on_disk(&metadata);
            }
            if bytes > max_bytes {
                return Some(format!("holds more than {max_mib} MiB"));
            }
            if entries > MAX_ENTRIES {
                return Some(format!("holds more than {MAX_ENTRIES} files"));
            }
        }
    }
    None
}

#[cfg(unix)]
fn is_first_name(metadata: &Metadata, linked: &mut HashSet<u64>) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() < 2 || linked.insert(metadata.ino())
}

#[cfg(not(unix))]
fn is_first_name(_: &Metadata, _: &mut HashSet<u64>) -> bool {
    true
}

/// Returns the allocated bytes of a file, which are less than its length if it has holes.
pub(super) fn size_on_disk(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(metadata) * 512;
    #[cfg(not(unix))]
    return metadata.len();
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_measured_without_links_and_with_each_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/file"), vec![1; 2 << 20]).unwrap();
        for name in ["b", "c", "d"] {
            fs::hard_link(at("a/file"), at(name)).unwrap();
        }
        symlink("/usr", at("usr")).unwrap();
        fs::File::create(at("hole")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(find_excess(folder.path(), 3), None);
        assert_eq!(find_excess(folder.path(), 1).as_deref(), Some("holds more than 1 MiB"));
    }

    #[test]
    fn what_lies_deeper_than_paths_reach_is_not_overlooked() {
        let folder = tempfile::tempdir().unwrap();
        let name = "d".repeat(250);
        // Nests folders deeper than the maximum path length by changing into each of them.
        let script = format!("for i in $(seq 20); do mkdir {name} && cd -P {name} || exit 1; done");
        let made = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(made.success());
        assert!(find_excess(folder.path(), 1 << 10).unwrap().contains("cannot be read"));
    }
}
