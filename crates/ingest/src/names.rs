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
pub(super) fn of_folder(
    folder: &Path,
    host: Option<&str>,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    let name: String =
        name.as_deref().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let name = plain_name(&name, MAX_BYTES);
    let name = match name.trim() {
        "" => "root".to_owned(),
        name => name.to_owned(),
    };
    match host.and_then(|host| validate_name(&format!("{name}-{host}")).ok()) {
        Some(of_host) if is_taken(&name) => make_name_unique(of_host, is_taken),
        _ => make_name_unique(name, is_taken),
    }
}

/// Returns `REPOSITORY@NAME` for a commit, with a number appended if that is taken. `repository`
/// defaults to the folder's name.
pub(super) fn of_revision(
    repository: Option<&str>,
    revision: &IndexedCommit,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let of_folder = || {
        let name = of_folder(&revision.folder, None, |_| false);
        name.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(&name).to_owned()
    };
    let repository = repository.map_or_else(of_folder, str::to_owned);
    make_name_unique(format!("{repository}@{}", revision.name), is_taken)
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
        let name = |folder: &str| of_folder(Path::new(folder), None, |name| taken.contains(&name));
        assert_eq!(name("/a/demo"), "demo-3");
        assert_eq!(name("/a/other"), "other");
        assert_eq!(name("/"), "root");
        let of_host = |folder: &str, host: &str| {
            of_folder(Path::new(folder), Some(host), |name| taken.contains(&name))
        };
        assert_eq!(of_host("/a/demo", "laptop"), "demo-laptop");
        assert_eq!(of_host("/a/demo", "2"), "demo-2-2");
        assert_eq!(of_host("/a/demo", "a/b"), "demo-3");
        assert_eq!(of_host("/a/other", "laptop"), "other");
    }
}
