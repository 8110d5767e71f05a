//! Reads lines of a file for display, with highlight marks and the web address of the file, which
//! is read from the untrusted content of `.git`, without running git.

use codeinfo_chunk::{HighlightMark, highlight_lines};
use codeinfo_core::{Root, RootFilter};
use codeinfo_lang::detect;
use codeinfo_worktree::{decode::TextEncoding, git::GitRepository};
use url::Url;

use super::{
    Evidence, EvidenceError,
    lines::{FileLines, IndexedFileState, LoadedFile, RequestedLines},
    resolve::IndexedFile,
};

/// Maximum lines of one reply, and their default number.
const MAX_LINES: u32 = 2000;
/// Maximum bytes of a file that is highlighted.
const MAX_MARKED_BYTES: usize = 1 << 20;
/// Maximum bytes of a line; longer ones are cut.
const MAX_LINE_BYTES: usize = 10_000;

/// Lines for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightedSource {
    /// The lines.
    pub lines: FileLines,
    /// Highlight marks of each line, in the same order.
    pub marks: Vec<Vec<HighlightMark>>,
    /// Lower-case name of the language.
    pub language: Option<&'static str>,
    /// True if the file exists at its path: false for files of a commit and deleted ones.
    pub on_disk: bool,
    /// Web address of the file in the checked-out commit.
    pub permalink: Option<FilePermalink>,
}

impl Evidence {
    /// Reads lines of a file for display. Bounds outside the file are clamped.
    pub async fn read_highlighted_source(
        &self,
        path: &str,
        asked: RequestedLines,
        within: RootFilter,
    ) -> Result<HighlightedSource, EvidenceError> {
        let whole = self.load_file(path, asked.or_most(), MAX_LINES, within).await?;
        self.run_blocking(move || HighlightedSource::new(whole, None)).await
    }
}

impl RequestedLines {
    /// Returns the lines with the default number of lines for display.
    fn or_most(self) -> Self {
        let default_last = self.first.unwrap_or(1).saturating_add(MAX_LINES - 1);
        Self { last: self.last.or(Some(default_last)), ..self }
    }
}

impl HighlightedSource {
    /// Highlights lines of a text that a file has in a commit.
    pub(super) fn from_commit(
        root: Root,
        file: IndexedFile,
        commit: String,
        text: String,
        asked: RequestedLines,
    ) -> Self {
        let mut lines = FileLines::new(file, IndexedFileState::Committed, TextEncoding::UTF_8);
        lines.select_lines(&text, 0, asked.or_most(), MAX_LINES);
        Self::new(LoadedFile { lines, text, root }, Some(commit))
    }

    /// Highlights a file, which is that of a commit if there is one.
    fn new(loaded: LoadedFile, commit: Option<String>) -> Self {
        let LoadedFile { mut lines, text, root } = loaded;
        let language = detect::detect_language(&lines.file.rel_path, &text);
        let ends = lines.lines.first().zip(lines.lines.last());
        let range =
            ends.map_or(0..0, |((first, _), (last, _))| *first as usize - 1..*last as usize);
        let mut marks = Vec::new();
        if text.len() <= MAX_MARKED_BYTES {
            marks = highlight_lines(language, &text, range);
        }
        marks.resize(lines.lines.len(), Vec::new());
        for ((_, line), marks) in lines.lines.iter_mut().zip(&mut marks) {
            cut_line(line, marks);
        }
        let is_present =
            !matches!(lines.state, IndexedFileState::Deleted | IndexedFileState::Committed);
        let forge = ForgeCommit::from_root(&root)
            .map(|head| ForgeCommit { commit: commit.unwrap_or(head.commit), ..head });
        Self {
            marks,
            language: language.map(|language| language.name),
            on_disk: root.local_folder().is_some() && is_present,
            permalink: forge.and_then(|forge| forge.build_permalink(&lines.file.rel_path)),
            lines,
        }
    }
}

/// Cuts a long line, and removes the marks of its rest.
pub(super) fn cut_line(line: &mut String, marks: &mut Vec<HighlightMark>) {
    if MAX_LINE_BYTES < line.len() {
        line.truncate(line.floor_char_boundary(MAX_LINE_BYTES));
        let units = line.encode_utf16().count();
        marks.retain(|mark| mark.end as usize <= units);
        line.push('…');
    }
}

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

struct ForgeUrlStyle {
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
    /// Reads the remote of a root and its checked-out or indexed commit; `None` if one is missing.
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

    use codeinfo_core::Host;
    use codeinfo_worktree::git::web_address;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_commit_of_a_branch_is_found_in_all_forms() {
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
