//! Finds what the engine would wait for, or read without end: what is no file, and settings that are too
//! large.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    super::{Collection, StoreError, atomic},
    shard,
};

/// Returns such entries below the folders of the collections, by their paths below the folder of the
/// store.
pub(super) fn strange(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for collection in Collection::ALL {
        let name = shard::folder_name(collection);
        let path = folder.join(name);
        let seen = match path.metadata() {
            Ok(entry) if entry.is_dir() => collect(&path, name, &mut found),
            Err(error) if path.symlink_metadata().is_err() => absent_is_fine(error),
            Ok(_) | Err(_) => {
                found.push(name.to_owned());
                Ok(())
            }
        };
        seen.map_err(|source| StoreError::io(&path, source))?;
    }
    Ok(found)
}

fn collect(folder: &PathBuf, below: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{below}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &path, found)?;
        } else if !kind.is_file()
            || (is_settings(&path) && atomic::MAX_BYTES < entry.metadata()?.len())
        {
            found.push(path);
        }
    }
    Ok(())
}

fn is_settings(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "json")
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::{fs::symlink, net::UnixListener},
    };

    use super::{super::super::atomic::MAX_BYTES, strange};

    #[test]
    fn links_pipes_and_endless_settings_are_strange_and_large_data_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(strange(folder.path()).unwrap(), [""; 0]);
        let deep = folder.path().join("chunks/segments/one");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("segment.json"), "{}").unwrap();
        let large = |name: &str| {
            File::create(deep.join(name)).unwrap().set_len(MAX_BYTES + 1).unwrap();
        };
        large("page_0.dat");
        assert_eq!(strange(folder.path()).unwrap(), [""; 0]);
        large("config.json");
        symlink("/dev/zero", deep.join("matrix.dat")).unwrap();
        let _socket = UnixListener::bind(deep.join("socket")).unwrap();
        symlink("/nowhere", folder.path().join("roots")).unwrap();
        let mut found = strange(folder.path()).unwrap();
        found.sort_unstable();
        let below = |name: &str| format!("chunks/segments/one/{name}");
        let expected = [below("config.json"), below("matrix.dat"), below("socket")];
        assert_eq!(found, [&expected[..], &["roots".to_owned()]].concat());
    }
}
