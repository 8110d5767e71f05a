//! Resolves a path to the indexed file or folder.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use codeinfo_core::{
    FileRecord, OmissionRule, OmittedPaths, Root, RootFilter, count_paths, list_encodings,
    list_omissions, normalize_nfc,
    paths::{ends_with, is_below, normalize_path},
};
use codeinfo_worktree::roots::{follow_link, read_file_url};
use regex_automata::meta::Regex;
use serde::Serialize;

use super::{Evidence, EvidenceError, snapshot::retain_indexed};

/// Maximum files in a message about an ambiguous or unknown path.
const MAX_NAMED: usize = 3;

/// A file as clients see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedFile {
    /// Absolute path.
    pub path: String,
    /// Path below the root.
    pub rel_path: String,
    /// Name of the repository.
    pub repo: String,
}

#[derive(Debug)]
pub(super) enum ResolvedPath {
    File(Root, FileRecord),
    /// A folder with its path below the root, which is empty for the root itself, and its files.
    Folder(Root, String, Vec<FileRecord>),
}

impl ResolvedPath {
    fn root(&self) -> &Root {
        match self {
            Self::File(root, _) | Self::Folder(root, ..) => root,
        }
    }
}

/// A path with line numbers, as models, compilers and forges write it: `a.rs:12-40`, `a.rs:12:5`,
/// `a.rs#L12-L40`, `a.rs#L12C3-L14C1`, `a.rs (lines 12-40)`.
static PATH_WITH_LINES: LazyLock<Regex> = LazyLock::new(|| {
    let mark = r"(?:\?plain=1)?#L|`?:L?|`?,? \(?[Ll]ines? ";
    let number = "([0-9]{1,9})(?:[:C][0-9]{1,9})?";
    let whole = format!(r"^`?(.*?[^:`])(?:{mark}){number}(?:(?:-|–|—|\.\.=?)L?{number})?\)?:?`?$");
    #[expect(clippy::expect_used, reason = "the pattern is constant")]
    Regex::new(&whole).expect("a valid pattern")
});

/// Splits a path such as `src/a.rs:12-40` or `src/a.rs#L12` into path, first line and last line.
pub fn split_lines(path: &str) -> Option<(&str, u32, Option<u32>)> {
    let trimmed = path.trim();
    let mut captures = PATH_WITH_LINES.create_captures();
    PATH_WITH_LINES.captures(trimmed, &mut captures);
    let group = |index| trimmed.get(captures.get_group(index)?.range());
    let last = group(3).and_then(|last| last.parse().ok());
    Some((group(1)?, group(2)?.parse().ok()?, last))
}

impl Evidence {
    /// Resolves a path: an absolute one, as clients or the server see it; one below a root, with or
    /// without the name of the root; or the end of a single indexed path. In trees that `within`
    /// leaves out, only an absolute path, or one that begins with the name of the tree, is found.
    pub(super) async fn resolve_path(
        &self,
        path: &str,
        within: RootFilter,
    ) -> Result<ResolvedPath, EvidenceError> {
        let mut roots = self.store.roots().await?;
        if roots.is_empty() {
            return Err(EvidenceError::IngestRequired);
        }
        let seen = within.select_roots(&roots);
        if matches!(within, RootFilter::Only(_)) {
            roots.clone_from(&seen);
        }
        let unknown = |omitted| EvidenceError::NotFound {
            path: path.to_owned(),
            similar: Vec::new(),
            omitted,
        };
        let written = Some(path.trim().trim_matches('`')).filter(|path| !path.contains('\0'));
        let Some(mut asked) = written.and_then(|path| normalize_path(&read_file_url(path))) else {
            return Err(unknown(None));
        };
        if asked.is_absolute()
            && self.list_possible_paths(&asked, &roots, &seen).is_empty()
            && let Some(real) = follow_link(&self.path_map.to_server_path(&asked), &roots).await
        {
            asked = real;
        }
        let mut places = Vec::new();
        let mut omitted = None;
        for (root, below) in self.list_possible_paths(&asked, &roots, &seen) {
            omitted = omitted.or_else(|| root.explain_unindexed_path(&below));
            let records = self.store.files_at(root.id, list_encodings(&below)).await?;
            if let Some(record) = root.retain_public_files(records).pop() {
                places.push(ResolvedPath::File(root.clone(), record));
                continue;
            }
            let files = retain_indexed(self.store.files(root.id).await?, root);
            let inside: Vec<FileRecord> = files
                .into_iter()
                .filter(|file| is_below(&normalize_nfc(&file.path), &normalize_nfc(&below)))
                .collect();
            if !inside.is_empty() {
                places.push(ResolvedPath::Folder(root.clone(), below, inside));
            }
        }
        // A path in several trees means the client's own tree, if that contains it.
        if let RootFilter::Tree(tree) = within
            && places.iter().any(|place| place.root().id == tree)
        {
            places.retain(|place| place.root().id == tree);
        }
        if places.len() > 1 {
            let outlived = self.folders.find_missing_unless_all(&roots).await;
            places.retain(|place| !outlived.contains(&place.root().id));
        }
        match places.len() {
            0 if asked.is_absolute() => Err(unknown(omitted)),
            0 => self.resolve_path_end(path, &asked, omitted, &seen).await,
            1 => places.pop().ok_or_else(|| unknown(None)),
            _ => Err(build_ambiguous_error(
                path,
                places.iter().map(|place| self.display_resolved_path(place)).collect(),
            )),
        }
    }

    /// Returns the possible locations of a path, each with its root: of nested roots, the
    /// innermost. The name of a root means that root, never a folder of that name in it.
    fn list_possible_paths<'a>(
        &self,
        path: &Path,
        roots: &'a [Root],
        seen: &'a [Root],
    ) -> Vec<(&'a Root, String)> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        if path.is_absolute() {
            let server_path = self.path_map.to_server_path(path);
            let below = roots.iter().filter_map(|root| {
                let rest =
                    strip_root(&server_path, &root.path).or_else(|| strip_root(path, &root.path));
                Some((root, text(&rest?)?))
            });
            return below
                .max_by_key(|(root, _)| (root.host.is_none(), root.path.as_os_str().len()))
                .into_iter()
                .collect();
        }
        let named =
            roots.iter().filter(|root| compose_path(path) == compose_path(Path::new(&root.name)));
        let mut asked: Vec<(&Root, String)> = named.map(|root| (root, String::new())).collect();
        if !asked.is_empty() {
            return asked;
        }
        for root in roots {
            let below = strip_root(path, Path::new(&root.name));
            if let Some(below) = below.and_then(|below| text(&below)) {
                asked.push((root, below));
            }
        }
        for root in seen {
            if let Some(below) = text(path).filter(|below| !below.is_empty() || seen.len() == 1) {
                asked.push((root, below));
            }
        }
        asked
    }

    /// Finds the single file or folder whose path ends with the parts of the path.
    async fn resolve_path_end(
        &self,
        given: &str,
        asked: &Path,
        omitted: Option<String>,
        roots: &[Root],
    ) -> Result<ResolvedPath, EvidenceError> {
        let end = normalize_nfc(asked.to_str().unwrap_or_default());
        let name = end.rsplit('/').next().unwrap_or(&end);
        let mut found = Vec::new();
        let mut folders = BTreeSet::new();
        let mut similar = Vec::new();
        for (at, root) in roots.iter().enumerate() {
            for file in retain_indexed(self.store.files(root.id).await?, root) {
                let path = normalize_nfc(&file.path);
                if end.is_empty() {
                } else if ends_with(&path, &end) {
                    found.push(ResolvedPath::File(root.clone(), file));
                } else if let Some(folder) = folder_ending(&path, &end) {
                    folders.insert((at, folder.to_owned()));
                } else if path.rsplit('/').next() == Some(name) {
                    similar.push(self.display_path(root, &file.path));
                }
            }
        }
        if found.is_empty() {
            for (at, folder) in folders {
                let Some(root) = roots.get(at) else { continue };
                let mut files = retain_indexed(self.store.files(root.id).await?, root);
                files.retain(|file| is_below(&normalize_nfc(&file.path), &folder));
                found.push(ResolvedPath::Folder(root.clone(), folder, files));
                if found.len() > MAX_NAMED {
                    break;
                }
            }
        }
        similar.sort_unstable();
        similar.truncate(MAX_NAMED);
        let unknown = EvidenceError::NotFound { path: given.to_owned(), similar, omitted };
        match found.len() {
            0 => Err(unknown),
            1 => found.pop().ok_or(unknown),
            _ => Err(build_ambiguous_error(
                given,
                found.iter().map(|place| self.display_resolved_path(place)).collect(),
            )),
        }
    }

    pub(super) fn to_indexed_file(&self, root: &Root, path: &str) -> IndexedFile {
        IndexedFile {
            path: self.display_path(root, path),
            rel_path: path.to_owned(),
            repo: root.name.clone(),
        }
    }

    fn display_resolved_path(&self, place: &ResolvedPath) -> String {
        match place {
            ResolvedPath::File(root, record) => self.display_path(root, &record.path),
            ResolvedPath::Folder(root, path, _) => self.display_path(root, path),
        }
    }
}

/// Returns the path after the root, regardless of the encoding of accents.
fn strip_root(path: &Path, root: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(root).map(Path::to_owned);
    rest.or_else(|_| compose_path(path).strip_prefix(compose_path(root)).map(Path::to_owned)).ok()
}

fn compose_path(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |path| PathBuf::from(&*normalize_nfc(path)))
}

fn build_ambiguous_error(path: &str, mut several: Vec<String>) -> EvidenceError {
    let count = several.len();
    several.sort_unstable();
    several.truncate(MAX_NAMED);
    EvidenceError::Ambiguous { path: path.to_owned(), several, count }
}

fn folder_ending<'a>(file: &'a str, end: &str) -> Option<&'a str> {
    file.match_indices('/')
        .map(|(at, _)| file.get(..at).unwrap_or_default())
        .find(|folder| ends_with(folder, end))
}

impl Evidence {
    /// Describes the paths that were left out of the index and therefore not searched for `names`.
    pub async fn describe_unsearched(&self, names: &[&str], within: RootFilter) -> Option<String> {
        let roots = self.store.roots().await.ok()?;
        describe_unsearched_roots(&within.select_roots(&roots), names)
    }
}

/// Describes the left-out paths of some roots; `None` if none of them may contain code.
pub(super) fn describe_unsearched_roots(roots: &[Root], names: &[&str]) -> Option<String> {
    let mut unsearched = OmittedPaths::default();
    for root in roots {
        let prefix = if roots.len() == 1 { String::new() } else { format!("{}/", root.name) };
        unsearched.add_groups(&root.omitted, &prefix, OmissionRule::may_hide_code);
    }
    let mut files = 0;
    let mut folders = 0;
    for (_, group) in unsearched.groups() {
        files += group.files;
        folders += group.folders;
    }
    let listed = list_omissions(unsearched.groups(), names);
    let counts = count_paths(folders, files);
    (!listed.is_empty()).then(|| format!("not searched, as left out: {counts}: {listed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_split_off_a_path() {
        assert_eq!(split_lines("src/a.rs:12-40"), Some(("src/a.rs", 12, Some(40))));
        for range in [
            "a.rs:12-40", "a.rs:12–40", "a.rs:L12-L40", "a.rs:12..40", "a.rs#L12-L40",
            "a.rs#L12-40", "a.rs#L12C3-L40C1", "a.rs?plain=1#L12-L40", "`a.rs:12-40`",
            "`a.rs` (lines 12-40)", "a.rs, lines 12-40",
        ] {
            assert_eq!(split_lines(range), Some(("a.rs", 12, Some(40))), "{range}");
        }
        for line in [
            " /x/a.rs:7 ", "/x/a.rs:7:5", "/x/a.rs#L7", "/x/a.rs#L7C5", "/x/a.rs:7:",
            "/x/a.rs line 7",
        ] {
            assert_eq!(split_lines(line), Some(("/x/a.rs", 7, None)), "{line}");
        }
        assert_eq!(split_lines("C:/x/a.rs:7"), Some(("C:/x/a.rs", 7, None)));
        for other in [
            "a.rs", "Foo::bar", "a.rs:", ":7", "a::7", "a.rs:x", "a.rs:1-x", "a#7", "#L7",
            "a.rs:99999999999", "a 7",
        ] {
            assert_eq!(split_lines(other), None, "{other}");
        }
    }

    #[test]
    fn a_folder_matches_by_its_last_parts() {
        assert_eq!(folder_ending("src/net/http/a.rs", "net"), Some("src/net"));
        assert_eq!(folder_ending("src/net/http/a.rs", "net/http"), Some("src/net/http"));
        assert_eq!(folder_ending("src/inet/a.rs", "net"), None);
    }
}
