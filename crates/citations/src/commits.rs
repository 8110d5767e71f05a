//! Finds cited commits in indexed repositories; reads their messages, changes and files. Blocks.

use std::{
    collections::{HashMap, HashSet},
    iter,
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::{Root, paths::ends_with};
use codeinfo_history::{
    ChangeKind, ChangedFile, CommitDiff, CommitId, HistoryBudget, HistoryReader, StopReason,
};
use codeinfo_lang::detect;
use codeinfo_worktree::{
    beneath::ObjectFault,
    decode::decode_text,
    git::{CommitLookupError, GitRepository},
    ignore_files::IgnoreFiles,
};
use serde::{Deserialize, Serialize};

use super::{
    content::CitedFileText,
    fault::{CitationFault, CitationState},
    fit::TermLines,
    judge::CitedFile,
    parse::CommitReference,
};

/// Maximum time of finding and reading the commits of an answer.
const MAX_READING: Duration = Duration::from_secs(3);
/// Maximum time of one step with one commit, because others follow.
const MAX_STEP: Duration = Duration::from_millis(500);
/// Maximum bytes of objects read in one step.
const MAX_BYTES: u64 = 128 << 20;
/// Maximum files of a commit whose changed lines are read, and bytes of each.
const MAX_PATCHES: usize = 50;
const MAX_PATCH_BYTES: usize = 16 << 10;
/// Maximum paths of changed files that are read, and of those that are compared with ignore files.
const MAX_PATHS: usize = 1000;
const MAX_EXAMINED_PATHS: usize = 10_000;
/// Maximum bytes of a file whose secrets are searched for.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The commit of a citation. Its field names are part of the wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CitedCommit {
    /// Full id, or the id as written if no commit was found.
    pub id: String,
    /// Web address, if the repository has a remote on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Part that confirms the sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<CommitEvidence>,
}

/// Parts of a commit that confirm a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitEvidence {
    /// The message, which says what its author claims.
    Message,
    /// The changed lines.
    Diff,
    /// The cited lines of a file.
    Lines,
}

#[derive(Debug)]
pub(super) struct ReadCommit {
    /// Index of the root; `None` if the commit was not found.
    pub(super) root: Option<usize>,
    pub(super) commit: CitedCommit,
    /// Path of the cited file below the root.
    pub(super) rel_path: Option<String>,
    pub(super) content: Arc<CommitContent>,
    /// Former and new paths of changed files that are not left out of the index.
    changed_paths: Arc<[String]>,
}

impl ReadCommit {
    /// Returns whether the commit changes a file at a path or the end of one, or is cited with it.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let is_known = |known: &String| ends_with(known, path);
        self.changed_paths.iter().any(is_known) || self.rel_path.as_ref().is_some_and(is_known)
    }
}

#[derive(Debug)]
pub(super) enum CommitContent {
    /// The file of the commit, then that of its first parent if the commit changed it.
    Files(Vec<CitedFile>),
    Texts(CommitTexts),
    Fault(CitationState, CitationFault),
    /// It may not be read, is too large, or time ran out.
    Unread,
}

/// Terms of a commit, without secrets and without files that are left out of the index.
#[derive(Debug)]
pub(super) struct CommitTexts {
    pub(super) message: TermLines,
    pub(super) origin: TermLines,
    /// Kind of change, paths and changed lines: of the paths of all files, then of each file.
    pub(super) changes: Vec<ChangeTerms>,
}

/// Terms that a change adds, and those that it removes.
#[derive(Debug)]
pub(super) struct ChangeTerms {
    pub(super) added: TermLines,
    pub(super) removed: TermLines,
}

impl ChangeTerms {
    fn from_sides([added, removed]: &[String; 2]) -> Self {
        Self { added: TermLines::from_text(added), removed: TermLines::from_text(removed) }
    }
}

/// Reads commits for citations, which may have lines. `None` for texts that name no commit.
pub(super) fn read_commits(
    references: &[(CommitReference, bool)],
    roots: &[Root],
) -> Vec<Option<ReadCommit>> {
    let trees = CommitTrees {
        roots: roots.iter().map(|root| (root, open_repository(root))).collect(),
        deadline: Instant::now() + MAX_READING,
    };
    // A commit is cited several times.
    let mut known: HashMap<_, Option<Result<LocatedCommit<'_>, Arc<CommitContent>>>> =
        HashMap::new();
    let mut read_one = |(reference, has_lines): &(CommitReference, bool)| {
        if reference.is_in_tree(roots) {
            return None;
        }
        let key = (reference.repo.clone(), reference.id.clone());
        match known.entry(key).or_insert_with(|| trees.find_commit(reference)).as_mut()? {
            Ok(located) => Some(located.read(reference.path.as_deref(), *has_lines)),
            Err(content) => Some(ReadCommit {
                root: None,
                commit: CitedCommit { id: reference.id.clone(), url: None, shown_by: None },
                rel_path: reference.path.clone(),
                content: Arc::clone(content),
                changed_paths: Arc::default(),
            }),
        }
    };
    references.iter().map(&mut read_one).collect()
}

fn open_repository(root: &Root) -> Option<GitRepository> {
    let folder = root.revision.as_ref().map_or(&root.path, |revision| &revision.folder);
    root.host.is_none().then(|| GitRepository::open(folder).ok().flatten()).flatten()
}

impl CommitReference {
    /// Returns whether the place is a path below one of the roots, such as an indexed commit.
    fn is_in_tree(&self, roots: &[Root]) -> bool {
        let places = self.repo.as_ref().zip(self.otherwise.as_ref());
        places.is_some_and(|(repo, otherwise)| {
            let name = format!("{repo}@{}", self.id);
            otherwise.path.starts_with(&name) && roots.iter().any(|root| root.name == name)
        })
    }
}

/// The roots, each with its repository on this machine.
struct CommitTrees<'a> {
    roots: Vec<(&'a Root, Option<GitRepository>)>,
    deadline: Instant,
}

impl<'a> CommitTrees<'a> {
    /// Finds a commit in the objects of repositories, reachable from a branch or not. `None` for a
    /// text that names none; what is known of an unreadable one.
    fn find_commit(
        &self,
        reference: &CommitReference,
    ) -> Option<Result<LocatedCommit<'a>, Arc<CommitContent>>> {
        let id = &reference.id;
        let (root, found) = match &reference.repo {
            _ if Instant::now() > self.deadline => return Some(Err(CommitContent::Unread.into())),
            None => self.find_anywhere(id)?,
            Some(repo) => {
                let root = self.find_root(repo)?;
                match self.find_in_root(root, id)? {
                    Ok(found) => (root, found),
                    Err(content) => return Some(Err(content.into())),
                }
            }
        };
        let located = self.open_commit(root, found);
        Some(located.ok_or_else(|| CommitContent::Unread.into()))
    }

    /// Finds a root by its name, which may follow that of its owner, and lack that of its tree.
    fn find_root(&self, repo: &str) -> Option<usize> {
        let is_named = |name: &str| repo == name || repo.rsplit('/').next() == Some(name);
        let has_base = |root: &Root| {
            let tree = root.revision.as_ref().map(|revision| format!("@{}", revision.name));
            tree.and_then(|tree| root.name.strip_suffix(&tree)).is_some_and(is_named)
        };
        let named = self.roots.iter().position(|(root, _)| is_named(&root.name));
        named.or_else(|| self.roots.iter().position(|(root, _)| has_base(root)))
    }

    /// Returns the full id of a commit, or why it is not known. `None` for a branch or a tag.
    fn find_in_root(&self, root: usize, id: &str) -> Option<Result<String, CommitContent>> {
        let unconfirmed = |reason: &str| Some(Err(fault(CitationState::Unconfirmed, reason)));
        let (root, Some(git)) = self.roots.get(root)? else {
            return unconfirmed("the commits of its repository are not on this machine");
        };
        match git.find_commit(id) {
            Ok(found) => Some(Ok(found)),
            Err(CommitLookupError::Object(ObjectFault::Ambiguous)) => {
                unconfirmed("several objects of the repository have ids that begin with this one")
            }
            Err(
                CommitLookupError::Unknown
                | CommitLookupError::Object(ObjectFault::Missing | ObjectFault::NoCommit),
            ) => match git.resolve_commit(id) {
                Ok(_) => None,
                Err(_) if git.is_shallow() => {
                    unconfirmed("the clone is shallow and lacks earlier commits")
                }
                Err(_) => {
                    let reason = format!("`{}` has no commit with this id", root.name);
                    Some(Err(fault(CitationState::Wrong, &reason)))
                }
            },
            Err(_) => unconfirmed("the objects of its repository cannot be read"),
        }
    }

    /// Finds the only repository that has a commit.
    fn find_anywhere(&self, id: &str) -> Option<(usize, String)> {
        let mut folders = HashSet::new();
        let mut trees: Vec<_> = self.roots.iter().enumerate().collect();
        trees.sort_by_key(|(_, (root, _))| root.revision.is_some());
        let mut found = trees.into_iter().filter_map(|(at, (_, repository))| {
            let git = repository.as_ref().filter(|git| folders.insert(git.common_folder()))?;
            Some((at, git.find_commit(id).ok()?))
        });
        found.next().filter(|_| found.next().is_none())
    }

    fn open_commit(&self, index: usize, id: String) -> Option<LocatedCommit<'a>> {
        let (root, Some(git)) = self.roots.get(index)? else { return None };
        let ignore_files = IgnoreFiles::open_root(root).ok()?;
        let mut reader = HistoryReader::open(git.common_folder(), &id).ok()?;
        let diff = reader.commit_diff(&id.parse().ok()?, &next_budget(self.deadline)).ok()?;
        let url = git.commit_url(&id).map(String::from);
        let commit = CitedCommit { id, url, shown_by: None };
        let is_public =
            |path: &&String| root.is_public_path(path) && !ignore_files.is_ignored(path);
        let changed = diff.files.iter().take(MAX_PATHS).flat_map(list_paths);
        let changed_paths = changed.filter(is_public).cloned().collect();
        Some(LocatedCommit {
            index,
            root,
            commit,
            ignore_files,
            reader,
            diff,
            changed_paths,
            deadline: self.deadline,
            texts: None,
        })
    }
}

struct LocatedCommit<'a> {
    index: usize,
    root: &'a Root,
    commit: CitedCommit,
    ignore_files: IgnoreFiles,
    reader: HistoryReader,
    diff: CommitDiff,
    changed_paths: Arc<[String]>,
    deadline: Instant,
    texts: Option<Arc<CommitContent>>,
}

impl LocatedCommit<'_> {
    /// Reads what a citation is compared with: the texts of the commit or, with lines, a file.
    fn read(&mut self, path: Option<&str>, has_lines: bool) -> ReadCommit {
        let mut rel_path = path.map(|path| path.trim_start_matches("./").to_owned());
        let found = self.read_content(&mut rel_path, has_lines);
        let content = found.unwrap_or_else(|| CommitContent::Unread.into());
        ReadCommit {
            root: Some(self.index),
            commit: self.commit.clone(),
            rel_path,
            content,
            changed_paths: Arc::clone(&self.changed_paths),
        }
    }

    /// Reads the commit's texts, or a file; completes a path that ends a single changed path.
    fn read_content(
        &mut self,
        path: &mut Option<String>,
        has_lines: bool,
    ) -> Option<Arc<CommitContent>> {
        if let Some(path) = path {
            let mut versions = self.read_versions(path)?;
            let paths = self.diff.files.iter().flat_map(list_paths);
            let longer: Vec<&String> = paths.filter(|longer| ends_with(longer, path)).collect();
            if let ([longer], true) = (&longer[..], versions.is_empty()) {
                path.clone_from(longer);
                versions = self.read_versions(path)?;
            }
            if versions.is_empty() {
                let is_known = self.diff.stop.is_none_or(|stop| stop.reason != StopReason::Shallow);
                let state =
                    if is_known { CitationState::Wrong } else { CitationState::Unconfirmed };
                let reason = "neither the commit nor its first parent has this file";
                return Some(fault(state, reason).into());
            }
            if has_lines {
                return Some(CommitContent::Files(versions).into());
            }
        }
        if self.texts.is_none() {
            self.texts = Some(CommitContent::Texts(self.read_texts()).into());
        }
        self.texts.clone()
    }

    /// Reads a file of the commit, then that of its first parent if changed; `None` if not allowed.
    fn read_versions(&mut self, path: &str) -> Option<Vec<CitedFile>> {
        let mut versions = Vec::new();
        versions.extend(self.read_file(self.diff.commit.id, path)?);
        let has_path = |file: &&ChangedFile| list_paths(file).any(|changed| changed == path);
        let changed = self.diff.files.iter().find(has_path);
        if let Some(parent) = self.diff.commit.parents.first().copied()
            && (changed.is_some() || versions.is_empty())
        {
            let old_path = changed.and_then(|file| file.old_path.clone());
            versions.extend(self.read_file(parent, old_path.as_deref().unwrap_or(path))?);
        }
        Some(versions)
    }

    /// Reads a file without its secrets: none if the commit lacks it, `None` if it cannot be read.
    fn read_file(&mut self, id: CommitId, path: &str) -> Option<Vec<CitedFile>> {
        if !self.is_public_path(path) {
            return None;
        }
        let found = self.reader.read_file_at(&id, path, &next_budget(self.deadline)).ok()?;
        let Some(bytes) = found else { return Some(Vec::new()) };
        let text = decode_text(&bytes).filter(|_| bytes.len() <= MAX_FILE_BYTES)?.text;
        let content = CitedFileText::new(path.to_owned(), censor_text(path, &text)?);
        Some(vec![CitedFile { content, indexed: None }])
    }

    fn is_public_path(&self, path: &str) -> bool {
        self.root.is_public_path(path) && !self.ignore_files.is_ignored(path)
    }

    fn read_texts(&mut self) -> CommitTexts {
        let is_public =
            |file: &&ChangedFile| list_paths(file).all(|path| self.is_public_path(path));
        let examined = self.diff.files.iter().take(MAX_EXAMINED_PATHS);
        let files: Vec<&ChangedFile> = examined.filter(is_public).collect();
        let mut all_paths = [String::new(), String::new()];
        for file in files.iter().take(MAX_PATHS) {
            for (all, paths) in all_paths.iter_mut().zip(describe_sides(file)) {
                all.push_str(&paths);
            }
        }
        let mut changes = vec![ChangeTerms::from_sides(&all_paths)];
        let (id, budget) = (self.diff.commit.id, next_budget(self.deadline));
        for file in files.into_iter().take(MAX_PATCHES) {
            let found = self.reader.file_patch(&id, &file.path, MAX_PATCH_BYTES, &budget);
            let Ok(diff) = found else { break };
            let mut sides = describe_sides(file);
            for (side, sign) in sides.iter_mut().zip(['+', '-']) {
                let lines = diff.hunks.iter().flat_map(|hunk| hunk.text.lines());
                let edited = lines.filter_map(|line| line.strip_prefix(sign));
                let text = edited.fold(String::new(), |before, line| before + line + "\n");
                side.push_str(&censor_text(&file.path, &text).unwrap_or_default());
            }
            changes.push(ChangeTerms::from_sides(&sides));
        }
        let commit = &self.diff.commit;
        let read = |text: &str| {
            TermLines::from_text(&codeinfo_secrets::redact_secrets("", None, text).text)
        };
        let date = format!("{:.10}", commit.author_time.to_string());
        // Days and months are also written without zeros.
        let origin = format!("{date} {} {}", date.replace("-0", " "), commit.author_name);
        let message = read(&format!("{}\n\n{}", commit.subject, commit.body));
        CommitTexts { message, origin: read(&origin), changes }
    }
}

fn list_paths(file: &ChangedFile) -> impl Iterator<Item = &String> {
    iter::once(&file.path).chain(&file.old_path)
}

/// Returns the kind and the path of a change as it adds and as it removes; empty if it does not.
fn describe_sides(file: &ChangedFile) -> [String; 2] {
    let ChangedFile { kind, path, old_path, .. } = file;
    let former_path = old_path.as_ref().unwrap_or(path);
    let [added, removed] = [format!("{kind:?} {path}\n"), format!("{kind:?} {former_path}\n")];
    match kind {
        ChangeKind::Added => [added, String::new()],
        ChangeKind::Copied => [added + former_path + "\n", String::new()],
        ChangeKind::Deleted => [String::new(), removed],
        _ => [added, removed],
    }
}

fn next_budget(deadline: Instant) -> HistoryBudget {
    let end = deadline.min(Instant::now() + MAX_STEP);
    HistoryBudget { max_bytes: MAX_BYTES, ..HistoryBudget::until(end) }
}

fn censor_text(path: &str, text: &str) -> Option<String> {
    let language = detect::detect_language(path, text);
    Some(codeinfo_secrets::censor_text(path, language, text)?.text.into_owned())
}

fn fault(state: CitationState, reason: &str) -> CommitContent {
    CommitContent::Fault(state, CitationFault::Commit(reason.to_owned()))
}
