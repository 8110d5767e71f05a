//! Where a file can be seen on the forge that its repository comes from: read from the files of `.git`, which are
//! whatever the repository says, without running git.

use std::path::Path;

use url::Url;

use crate::{domain::Revision, git::Git};

/// A commit of a repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Forge {
    /// The address of the repository, without a name or a password.
    repository: Url,
    commit: String,
}

/// Where a file can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permalink {
    /// The address of the file in the commit.
    pub address: String,
    /// What to add for lines, with `{first}` and `{last}` in their places.
    pub lines: &'static str,
}

/// How the addresses of a forge are made.
struct Style {
    /// A part of the host's name.
    host: &'static str,
    /// What stands between repository and commit, and between commit and path.
    before: &'static [&'static str],
    between: &'static [&'static str],
    lines: &'static str,
}

const STYLES: [Style; 6] = [
    Style { host: "gitlab", before: &["-", "blob"], between: &[], lines: "#L{first}-{last}" },
    Style { host: "bitbucket", before: &["src"], between: &[], lines: "#lines-{first}:{last}" },
    Style { host: "gitea", before: &["src", "commit"], between: &[], lines: LINES },
    Style { host: "forgejo", before: &["src", "commit"], between: &[], lines: LINES },
    Style { host: "codeberg", before: &["src", "commit"], between: &[], lines: LINES },
    Style { host: "sr.ht", before: &["tree"], between: &["item"], lines: "#L{first}-{last}" },
];
const LINES: &str = "#L{first}-L{last}";
/// Of all others: GitHub's, which many took over.
const USUAL: Style = Style { host: "", before: &["blob"], between: &[], lines: LINES };

impl Forge {
    /// Reads where the repository of a root comes from, and which commit is checked out, or indexed. Nothing where
    /// it does not say so.
    pub(super) fn of(folder: &Path, revision: Option<&Revision>) -> Option<Self> {
        let git = Git::of(revision.map_or(folder, |revision| &revision.folder)).ok()??;
        let repository = remote(&git.config().ok()?)?;
        let commit = match revision {
            None => git.head()?,
            Some(revision) => revision.commit.clone(),
        };
        Some(Self { repository, commit })
    }

    /// Returns the address of a file, by its path below the root.
    pub(super) fn permalink(&self, path: &str) -> Option<Permalink> {
        let host = self.repository.host_str()?;
        let style = STYLES.iter().find(|style| host.contains(style.host)).unwrap_or(&USUAL);
        let mut address = self.repository.clone();
        address
            .path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(style.before)
            .push(&self.commit)
            .extend(style.between)
            .extend(path.split('/'));
        Some(Permalink { address: address.into(), lines: style.lines })
    }
}

/// Returns the address of `origin`, else of the first remote that is on the web.
fn remote(config: &str) -> Option<Url> {
    let (mut section, mut first) = ("", None);
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            section = head.split(']').next().unwrap_or_default().trim();
            continue;
        }
        let value = line.strip_prefix("url").map(str::trim_start);
        let value = value.and_then(|rest| rest.strip_prefix('='));
        let name = section.strip_prefix("remote").map(|name| name.trim().trim_matches('"'));
        let (Some(name), Some(value)) = (name, value) else { continue };
        let Some(address) = on_the_web(value.trim().trim_matches('"')) else { continue };
        if name == "origin" {
            return Some(address);
        }
        first.get_or_insert(address);
    }
    first
}

/// Returns the address at which browsers find a repository that git finds at `remote`: without the name and
/// password that may stand in it.
fn on_the_web(remote: &str) -> Option<Url> {
    let (host, path) = match remote.split_once("://") {
        Some(("https" | "http" | "ssh" | "git" | "git+ssh", _)) => {
            let address = Url::parse(remote).ok()?;
            // Services for git and for browsers have ports of their own, except over HTTP.
            let port = address.port().filter(|_| address.scheme().starts_with("http"));
            let host = address.host_str()?;
            let host = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
            (host, address.path().to_owned())
        }
        Some(_) => return None,
        // `git@host:owner/name`; one letter would be a drive of Windows.
        None => {
            let (host, path) = remote.split_once(':')?;
            let host = host.rsplit('@').next()?;
            let is_host = host.len() > 1
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
            is_host.then(|| (host.to_owned(), path.to_owned()))?
        }
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    if path.is_empty() || host.starts_with('.') {
        return None;
    }
    let scheme = if remote.starts_with("http://") { "http" } else { "https" };
    let mut address = Url::parse(&format!("{scheme}://{host}/")).ok()?;
    // What is encoded already stays as it is.
    address.set_path(path);
    Some(address)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn remotes_become_addresses_of_the_web() {
        for (given, expected) in [
            ("https://github.com/o/r.git", Some("https://github.com/o/r")),
            ("https://me:secret@git.example:8443/a/b/c", Some("https://git.example:8443/a/b/c")),
            ("http://git.example/r/", Some("http://git.example/r")),
            ("git@github.com:o/r.git", Some("https://github.com/o/r")),
            ("ssh://git@gitlab.com:2222/o/r.git", Some("https://gitlab.com/o/r")),
            ("git@host:o/a b?token=x", Some("https://host/o/a%20b")),
            ("https://host/o/a%20b.git#x", Some("https://host/o/a%20b")),
            ("javascript:alert(1)", Some("https://javascript/alert(1)")),
            ("/srv/git/r.git", None),
            ("file:///srv/r", None),
            ("C:\\r", None),
            ("../r", None),
            ("git@ho st:o/r", None),
            ("https://", None),
            ("git@host:", None),
        ] {
            let found = on_the_web(given).map(String::from);
            assert_eq!(found.as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn origin_is_before_other_remotes() {
        let config = "[core]\n\turl = https://no/no\n[remote \"fork\"]\n\turl = git@b.example:f/r\n\
                      [remote \"origin\"]\n\tfetch = x\n\turl=https://a.example/o/r\n";
        assert_eq!(remote(config).unwrap().as_str(), "https://a.example/o/r");
        let (fork, _) = config.split_once("[remote \"origin\"]").unwrap();
        assert_eq!(remote(fork).unwrap().as_str(), "https://b.example/f/r");
        assert_eq!(remote("[remote \"origin\"]\nurlx = https://a.example/o\n"), None);
    }

    #[test]
    fn the_commit_is_that_of_the_branch_wherever_git_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("refs/heads/a")).unwrap();
        let write = |name: &str, text: &str| fs::write(git.join(name), text).unwrap();
        let address = || {
            let forge = Forge::of(folder.path(), None)?;
            Some(forge.permalink("src/a b#.rs")?.address)
        };
        assert_eq!(address(), None);
        write("config", "[remote \"origin\"]\n\turl = git@github.com:o/r.git\n");
        let expected = format!("https://github.com/o/r/blob/{COMMIT}/src/a%20b%23.rs");
        write("HEAD", "ref: refs/heads/a/b\n");
        assert_eq!(address(), None);
        write("packed-refs", &format!("# pack\n{COMMIT} refs/heads/a/b\n^{COMMIT}\n"));
        assert_eq!(address().as_ref(), Some(&expected));
        write("refs/heads/a/b", &COMMIT.replace('0', "f"));
        assert_eq!(address(), Some(expected.replace(COMMIT, &COMMIT.replace('0', "f"))));
        write("HEAD", COMMIT);
        assert_eq!(address().as_ref(), Some(&expected));
        for hostile in ["ref: ../HEAD", "ref: refs/../../secret", "ref: config", "not a commit"] {
            write("HEAD", hostile);
            assert_eq!(address(), None, "{hostile}");
        }
    }

    #[test]
    fn each_forge_has_its_addresses() {
        let at = |remote: &str| {
            let repository = on_the_web(remote).unwrap();
            let forge = Forge { repository, commit: "c".to_owned() };
            let Permalink { address, lines } = forge.permalink("a/b.rs").unwrap();
            format!("{address}{lines}")
        };
        let expected = [
            ("https://gitlab.com/o/r", "https://gitlab.com/o/r/-/blob/c/a/b.rs#L{first}-{last}"),
            (
                "git@bitbucket.org:o/r.git",
                "https://bitbucket.org/o/r/src/c/a/b.rs#lines-{first}:{last}",
            ),
            (
                "https://codeberg.org/o/r",
                "https://codeberg.org/o/r/src/commit/c/a/b.rs#L{first}-L{last}",
            ),
            ("https://git.sr.ht/~o/r", "https://git.sr.ht/~o/r/tree/c/item/a/b.rs#L{first}-{last}"),
            ("https://git.example/o/r", "https://git.example/o/r/blob/c/a/b.rs#L{first}-L{last}"),
        ];
        for (remote, expected) in expected {
            assert_eq!(at(remote), expected);
        }
    }
}
