//! Names of roots: validation, and names derived from folders and commits.

use std::path::Path;

use codeinfo_core::{IndexedCommit, plain_name};

use super::error::IngestError;

/// Maximum bytes of a name.
const MAX_BYTES: usize = 200;

/// Trims and validates a name from a client.
pub(super) fn validate_name(name: &str) -> Result<String, IngestError> {
    let refused = |reason: &str| Err(IngestError::Name(reason.to_owned()));
    match name.trim() {
        "" => refused("is blank"),
        name if name.len() > MAX_BYTES => refused("is longer than 200 bytes"),
        "." | ".." => refused("means a folder by its place, not by its name"),
        name if name.contains('/') => refused("contains `/`"),
        name if name.chars().any(char::is_control) => refused("contains a control character"),
        name if plain_name(name, MAX_BYTES) != name => {
            refused("contains a character that cannot be seen, or that reorders others")
        }
        name => Ok(name.to_owned()),
    }
}

/// Returns the folder's name. If it is taken, appends the host's name if there is one, else a
/// number.
pub(super) fn derive_folder_name(
    folder: &Path,
    host: Option<&str>,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let file_name = folder.file_name().map(|name| name.to_string_lossy());
    let printable: String =
        file_name.as_deref().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let plain = plain_name(&printable, MAX_BYTES);
    let name = match plain.trim() {
        "" => "root".to_owned(),
        trimmed => trimmed.to_owned(),
    };
    match host.and_then(|host| validate_name(&format!("{name}-{host}")).ok()) {
        Some(host_name) if is_taken(&name) => make_name_unique(host_name, is_taken),
        _ => make_name_unique(name, is_taken),
    }
}

/// Returns `REPOSITORY@NAME` for a commit, with a number appended if that is taken. `repository`
/// defaults to the folder's name.
pub(super) fn derive_revision_name(
    repository: Option<&str>,
    revision: &IndexedCommit,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let folder_name = || {
        let name = derive_folder_name(&revision.folder, None, |_| false);
        name.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(&name).to_owned()
    };
    let repository_name = repository.map_or_else(folder_name, str::to_owned);
    make_name_unique(format!("{repository_name}@{}", revision.name), is_taken)
}

fn make_name_unique(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let mut number = 2_u64;
    loop {
        let numbered = format!("{name}-{number}");
        if !is_taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert_eq!(validate_name(" demo ").unwrap(), "demo");
        assert!(validate_name("..").is_err() && validate_name(" . ").is_err());
        for name in ["", "  ", "a/b", "a\nb", &"a".repeat(201)] {
            assert!(validate_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn folders_give_unique_names() {
        let taken = ["demo", "demo-2"];
        let name = |folder: &str| {
            derive_folder_name(Path::new(folder), None, |name| taken.contains(&name))
        };
        assert_eq!(name("/a/demo"), "demo-3");
        assert_eq!(name("/a/other"), "other");
        assert_eq!(name("/"), "root");
        let of_host = |folder: &str, host: &str| {
            derive_folder_name(Path::new(folder), Some(host), |name| taken.contains(&name))
        };
        assert_eq!(of_host("/a/demo", "laptop"), "demo-laptop");
        assert_eq!(of_host("/a/demo", "2"), "demo-2-2");
        assert_eq!(of_host("/a/demo", "a/b"), "demo-3");
        assert_eq!(of_host("/a/other", "laptop"), "other");
    }
}
