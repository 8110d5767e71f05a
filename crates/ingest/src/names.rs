//! Names of roots, and explanations of inputs that are no path here, such as URLs and `~`. Pure.

use std::path::Path;

use codeinfo_core::{IndexedCommit, plain_name};
use url::Url;

use super::error::IngestError;

const MAX_BYTES: usize = 200;

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

/// Returns the folder's name, followed by the host's name, or else a number, if it is taken.
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

/// Returns `REPOSITORY@NAME`, numbered if taken; `repository` defaults to the folder's name.
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

/// Forges whose names are often given without `https://`.
const FORGES: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];

/// Explains the form of a path and the correct one; returns `None` if the form is valid.
pub fn explain_form(path: &str) -> Option<String> {
    let starts =
        |start: &str| path.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if starts("file:") {
        let file_path = Url::parse(path).ok().and_then(|url| url.to_file_path().ok());
        let folder = file_path.map_or("/srv/app".into(), |folder| folder.display().to_string());
        return Some(format!("is a URL; give the path alone, such as `{folder}`"));
    }
    if is_remote(path) {
        return Some(format!(
            "is the address of a repository; clone it first: `git clone {path}`, then give the folder, as in \
             `codeinfo ingest FOLDER`"
        ));
    }
    if path.starts_with('~') {
        return Some("begins with `~`, which shells replace where it is not quoted; give the whole path, such as `/home/me/app`".to_owned());
    }
    if path.starts_with(['$', '%']) {
        return Some("begins with a variable, which shells replace; give the whole path, such as `/home/me/app`".to_owned());
    }
    if cfg!(windows) || !is_of_windows(path) {
        return None;
    }
    let drive = path
        .split_once(':')
        .map(|(drive, rest)| (drive.to_ascii_lowercase(), rest.replace('\\', "/")));
    let example =
        drive.map_or_else(String::new, |(drive, rest)| format!(", in WSL as `/mnt/{drive}{rest}`"));
    Some(format!(
        "is a path of Windows, where this program does not run; give it as this system has it{example}"
    ))
}

/// Returns true for the address of a repository: a URL, `git@host:path`, or a page of a forge.
fn is_remote(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let is_url = path.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    let is_ssh = path.split_once(':').is_some_and(|(host, _)| {
        host.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
            && !host.contains(['/', '\\'])
    });
    let host = path.split('/').next().unwrap_or_default();
    let is_forge = FORGES.contains(&host.trim_start_matches("www.")) && path.len() > host.len();
    is_url || is_ssh || is_forge
}

/// Returns true for paths with a Windows drive or share, or with only Windows separators.
fn is_of_windows(path: &str) -> bool {
    let mut start = path.chars();
    let has_drive = start.next().is_some_and(|c| c.is_ascii_alphabetic())
        && start.next() == Some(':')
        && start.next().is_none_or(|c| matches!(c, '\\' | '/'));
    has_drive || path.starts_with(r"\\") || path.contains('\\') && !path.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_validated() {
        assert_eq!(validate_name(" demo ").unwrap(), "demo");
        assert!(validate_name("..").is_err() && validate_name(" . ").is_err());
        for name in ["", "  ", "a/b", "a\nb", &"a".repeat(201)] {
            assert!(validate_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn derived_names_are_unique() {
        let taken = ["demo", "demo-2"];
        let name = |folder: &str| {
            derive_folder_name(Path::new(folder), None, |name| taken.contains(&name))
        };
        assert_eq!(name("/a/demo"), "demo-3");
        assert_eq!(name("/a/other"), "other");
        assert_eq!(name("/"), "root");
        let host_name = |folder: &str, host: &str| {
            derive_folder_name(Path::new(folder), Some(host), |name| taken.contains(&name))
        };
        assert_eq!(host_name("/a/demo", "laptop"), "demo-laptop");
        assert_eq!(host_name("/a/demo", "2"), "demo-2-2");
        assert_eq!(host_name("/a/demo", "a/b"), "demo-3");
        assert_eq!(host_name("/a/other", "laptop"), "other");
    }

    #[test]
    fn each_form_has_its_advice() {
        for (path, advice) in [
            ("https://github.com/o/r", "git clone"),
            ("http://localhost/o/r.git", "git clone"),
            ("ssh://git@host/o/r", "git clone"),
            ("git+ssh://git@host/o/r", "git clone"),
            ("git@github.com:o/r.git", "git clone"),
            ("me@host:src/r", "git clone"),
            ("github.com/o/r", "git clone"),
            ("www.github.com/o/r", "git clone"),
            ("file:///srv/a%20b", "`/srv/a b`"),
            ("File:///srv/a", "`/srv/a`"),
            ("~", "`~`"),
            ("~/proj", "`~`"),
            ("~me/proj", "`~`"),
            ("$HOME/proj", "variable"),
            ("${workspaceFolder}", "variable"),
            ("%USERPROFILE%\\proj", "variable"),
        ] {
            assert!(
                explain_form(path).is_some_and(|advice_text| advice_text.contains(advice)),
                "{path}"
            );
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn paths_of_windows_are_explained_on_other_systems() {
        for (path, advice) in [
            (r"C:\Users\me\proj", "`/mnt/c/Users/me/proj`"),
            ("d:/work", "`/mnt/d/work`"),
            (r"\\server\share", "this system has it"),
            (r"src\app", "this system has it"),
        ] {
            assert!(
                explain_form(path).is_some_and(|advice_text| advice_text.contains(advice)),
                "{path}"
            );
        }
    }

    #[test]
    fn valid_forms_get_no_advice() {
        for path in [
            "/srv/app", "app", "./a:b", "app@v1.2", "/srv/a@main:x", "a/b://c", "github.com", "",
            ".", "/a\\b",
        ] {
            assert_eq!(explain_form(path), None, "{path}");
        }
    }
}
