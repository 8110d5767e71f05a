//! Finds the web address of a file on the forge of its repository.
//!
//! It reads the files of `.git`, whose content is untrusted, without running git.

use codeinfo_core::Root;
use codeinfo_worktree::git::GitRepository;
use url::Url;

/// A commit of a repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ForgeCommit {
    /// Address of the repository, without user name and password.
    repository: Url,
    commit: String,
}

/// Web address of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePermalink {
    /// Address of the file in the commit.
    pub address: String,
    /// Suffix for a range of lines, with the placeholders `{first}` and `{last}`.
    pub lines: &'static str,
}

/// Format of the addresses of a forge.
struct ForgeUrlStyle {
    /// Part of the host name.
    host: &'static str,
    /// Path segments between repository and commit, and between commit and path.
    before: &'static [&'static str],
    between: &'static [&'static str],
    lines: &'static str,
}

const STYLES: [ForgeUrlStyle; 6] = [
    ForgeUrlStyle {
        host: "gitlab",
        before: &["-", "blob"],
        between: &[],
        lines: "#L{first}-{last}",
    },
    ForgeUrlStyle {
        host: "bitbucket",
        before: &["src"],
        between: &[],
        lines: "#lines-{first}:{last}",
    },
    ForgeUrlStyle { host: "gitea", before: &["src", "commit"], between: &[], lines: LINES },
    ForgeUrlStyle { host: "forgejo", before: &["src", "commit"], between: &[], lines: LINES },
    ForgeUrlStyle { host: "codeberg", before: &["src", "commit"], between: &[], lines: LINES },
    ForgeUrlStyle {
        host: "sr.ht",
        before: &["tree"],
        between: &["item"],
        lines: "#L{first}-{last}",
    },
];
const LINES: &str = "#L{first}-L{last}";
/// Default: the format of GitHub, which many forges share.
const USUAL: ForgeUrlStyle =
    ForgeUrlStyle { host: "", before: &["blob"], between: &[], lines: LINES };

impl ForgeCommit {
    /// Reads the remote repository of a root and its checked-out or indexed commit. Returns `None`
    /// if the repository has no remote or commit.
    pub(super) fn from_root(root: &Root) -> Option<Self> {
        let folder = match (&root.revision, &root.host) {
            (Some(revision), None) => &revision.folder,
            _ => root.local_folder()?,
        };
        let git = GitRepository::open(folder).ok()??;
        let repository = git.remote_url()?;
        let commit = match &root.revision {
            None => git.head_commit()?,
            Some(revision) => revision.commit.clone(),
        };
        Some(Self { repository, commit })
    }

    /// Returns the address of a file, given its path below the root.
    pub(super) fn build_permalink(&self, path: &str) -> Option<FilePermalink> {
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
        Some(FilePermalink { address: address.into(), lines: style.lines })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use codeinfo_core::Host;
    use codeinfo_worktree::git::web_address;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_commit_is_that_of_the_branch_wherever_git_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("refs/heads/a")).unwrap();
        let write = |name: &str, text: &str| fs::write(git.join(name), text).unwrap();
        let address = || {
            let forge = ForgeCommit::from_root(&Root::from_folder(folder.path().to_owned()))?;
            Some(forge.build_permalink("src/a b#.rs")?.address)
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
        let elsewhere =
            Root { host: Some(Host::unknown()), ..Root::from_folder(folder.path().to_owned()) };
        assert_eq!(ForgeCommit::from_root(&elsewhere), None);
        for hostile in ["ref: ../HEAD", "ref: refs/../../secret", "ref: config", "not a commit"] {
            write("HEAD", hostile);
            assert_eq!(address(), None, "{hostile}");
        }
    }

    #[test]
    fn each_forge_has_its_addresses() {
        let at = |remote: &str| {
            let repository = web_address(remote).unwrap();
            let forge = ForgeCommit { repository, commit: "c".to_owned() };
            let FilePermalink { address, lines } = forge.build_permalink("a/b.rs").unwrap();
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
