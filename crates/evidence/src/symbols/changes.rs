//! Compares the files of a tree with those of a commit, definition by definition.

use std::{collections::HashSet, io, path::Path, time::Instant};

use codeinfo_core::{FileRecord, Root, hash, plain_name};
use codeinfo_facts::{
    compare::{DefinitionChange, DefinitionTexts, compare_definitions},
    extract_facts, reads_language,
};
use codeinfo_lang::detect;
use codeinfo_worktree::{
    beneath::{self, CommitFiles, ContentId, ObjectFault, RootDir, as_object_fault},
    decode,
    git::{CommitLookupError, GitRepository},
    ignore_files::IgnoreFiles,
};
use serde::Serialize;

use super::super::EvidenceError;

/// Maximum files whose definitions are compared.
const MAX_CHANGED_FILES: usize = 2_000;
const MAX_FILE_BYTES: u64 = 8 << 20;
/// A file with the content that another path of the commit had, which is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MovedFile {
    /// Path in the commit.
    pub from: String,
    /// Path in the tree.
    pub to: String,
}

/// Files of a change, by path below the root, whose definitions are not compared or not as they
/// are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFiles {
    /// Files with the same content at another path.
    pub moved: Vec<MovedFile>,
    /// Further files that differ: of languages without rules, or too large.
    pub other_files: Vec<String>,
    /// Files that changed since they were indexed; their callers are those that are indexed.
    pub stale_files: Vec<String>,
    /// Files that cannot be read, such as links that replaced them.
    pub unread_files: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedDefinition {
    /// Path of its file below the root.
    pub(super) path: String,
    pub(super) definition: DefinitionChange,
}

#[derive(Debug, Default)]
pub(super) struct TreeChanges {
    pub(super) commit: String,
    pub(super) definitions: Vec<ChangedDefinition>,
    pub(super) files: ChangedFiles,
    /// True if files were not compared.
    pub(super) is_cut: bool,
}

pub(super) fn compare_tree(
    root: &Root,
    records: &[FileRecord],
    since: &str,
    deadline: Instant,
) -> Result<TreeChanges, EvidenceError> {
    let refuse = |reason: String| EvidenceError::Commit(root.name.clone(), reason);
    let (git, commit) = resolve_since(root, since)?;
    let list = |commit: &str| CommitFiles::list_commit(git.common_folder(), commit, deadline);
    let failed = |error: io::Error| refuse(explain_read_error(&error));
    let before = list(&commit).map_err(failed)?;
    let now = match &root.revision {
        Some(revision) => TreeContent::Commit(Box::new(list(&revision.commit).map_err(failed)?)),
        None => TreeContent::Folder(RootDir::open_root(root).map_err(failed)?),
    };
    let ignore_files = IgnoreFiles::open_root(root).map_err(failed)?;
    let changes = TreeChanges::default();
    let mut comparison = TreeComparison { root, ignore_files, before, now, changes };
    comparison.changes.commit = commit;
    comparison.compare_files(records, deadline).map_err(failed)?;
    Ok(comparison.changes)
}

fn resolve_since(root: &Root, since: &str) -> Result<(GitRepository, String), EvidenceError> {
    let refuse = |reason: String| EvidenceError::Commit(root.name.clone(), reason);
    let git = open_repository(root).map_err(refuse)?;
    let commit =
        git.resolve_ancestor(since).map_err(|error| refuse(explain_lookup_error(since, error)))?;
    Ok((git, commit))
}

/// Opens the repository of a root, or says why that is not possible.
pub(crate) fn open_repository(root: &Root) -> Result<GitRepository, String> {
    if let Some(host) = &root.host {
        return Err(format!("it is on `{}`, ask there", plain_name(&host.name, 100)));
    }
    let folder = root.revision.as_ref().map_or(&root.path, |revision| &revision.folder);
    let git = GitRepository::open(folder).ok().flatten();
    git.ok_or_else(|| "it is no Git work tree; index the folder that has `.git`".to_owned())
}

/// Says why a name leads to no commit.
pub(super) fn explain_lookup_error(name: &str, error: CommitLookupError) -> String {
    let named = plain_name(name, 100).replace('`', "'");
    match error {
        CommitLookupError::Unknown => format!(
            "`{named}` is no branch, tag or commit of it, and no `main~3` or `HEAD^` that it has; `git log` lists commits"
        ),
        CommitLookupError::Reftable | CommitLookupError::Packed => {
            format!("its references cannot be read; name the id of a commit instead of `{named}`")
        }
        CommitLookupError::Object(fault) => explain_object_fault(fault),
        CommitLookupError::Unreadable => "the files of Git cannot be read".to_owned(),
    }
}

fn explain_read_error(error: &io::Error) -> String {
    match as_object_fault(error) {
        Some(fault) => explain_object_fault(fault),
        None if error.kind() == io::ErrorKind::TimedOut => {
            "its commit has too many files to be compared in time".to_owned()
        }
        None => format!("its files cannot be read: {error}"),
    }
}

fn explain_object_fault(fault: ObjectFault) -> String {
    match fault {
        ObjectFault::Missing => {
            "it is a shallow or partial clone without the commit or its files; \
            `git fetch --unshallow` or `git fetch --refetch` gets them"
                .to_owned()
        }
        other => format!("its objects cannot be read: {other}"),
    }
}

enum TreeContent {
    Folder(RootDir),
    Commit(Box<CommitFiles>),
}

struct TreeComparison<'a> {
    root: &'a Root,
    ignore_files: IgnoreFiles,
    before: CommitFiles,
    now: TreeContent,
    changes: TreeChanges,
}

enum CurrentContent {
    Same,
    Differs(ContentId, Vec<u8>),
    TooLarge,
    Gone,
    Unreadable,
}

impl TreeComparison<'_> {
    fn compare_files(&mut self, records: &[FileRecord], deadline: Instant) -> io::Result<()> {
        let mut gone = self.list_gone_files(records);
        let mut files = 0;
        let mut sorted: Vec<&FileRecord> = records.iter().collect();
        sorted.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        for record in sorted {
            let path = record.path.as_str();
            if files >= MAX_CHANGED_FILES || deadline < Instant::now() {
                self.changes.is_cut = true;
                break;
            }
            let (id, content) = match self.read_current(path)? {
                CurrentContent::Same => continue,
                CurrentContent::Differs(id, content) => (id, content),
                CurrentContent::TooLarge => {
                    self.changes.files.other_files.push(path.to_owned());
                    continue;
                }
                CurrentContent::Gone => {
                    self.changes.files.stale_files.push(path.to_owned());
                    if self.before.content_id(path).is_some() {
                        gone.push(path.to_owned());
                    }
                    continue;
                }
                CurrentContent::Unreadable => {
                    self.changes.files.unread_files.push(path.to_owned());
                    continue;
                }
            };
            files += 1;
            if !hash::matches_content(&record.version, &content) {
                self.changes.files.stale_files.push(path.to_owned());
            }
            let is_new = self.before.content_id(path).is_none();
            let former =
                gone.iter().position(|gone| is_new && self.before.content_id(gone) == Some(id));
            if let Some(former) = former {
                let from = gone.swap_remove(former);
                self.changes.files.moved.push(MovedFile { from, to: path.to_owned() });
                continue;
            }
            let before = if is_new { None } else { Some(self.before.read_file(path)?) };
            self.compare_file(path, before.as_deref(), Some(&content));
        }
        for path in gone {
            if files >= MAX_CHANGED_FILES || deadline < Instant::now() {
                self.changes.is_cut = true;
                break;
            }
            files += 1;
            let former = self.before.read_file(&path)?;
            self.compare_file(&path, Some(&former), None);
        }
        Ok(())
    }

    /// Lists indexable code of the commit that is neither indexed nor in the tree.
    fn list_gone_files(&self, records: &[FileRecord]) -> Vec<String> {
        let indexed: HashSet<&str> = records.iter().map(|record| record.path.as_str()).collect();
        let is_gone = |path: &str| match &self.now {
            TreeContent::Folder(folder) => !folder.may_contain(Path::new(path)),
            TreeContent::Commit(files) => files.content_id(path).is_none(),
        };
        let unindexed =
            self.before.iter().map(|(path, _)| path).filter(|path| !indexed.contains(path));
        let code =
            unindexed.filter(|path| detect::detect_by_path(path).is_some_and(reads_language));
        let is_public =
            |path: &&str| self.root.is_public_path(path) && !self.ignore_files.is_ignored(path);
        let mut gone: Vec<String> =
            code.filter(|path| is_public(path) && is_gone(path)).map(str::to_owned).collect();
        gone.sort_unstable();
        gone
    }

    fn read_current(&self, path: &str) -> io::Result<CurrentContent> {
        let former = self.before.content_id(path);
        let folder = match &self.now {
            TreeContent::Folder(folder) => folder,
            TreeContent::Commit(files) => {
                return Ok(match files.content_id(path) {
                    None => CurrentContent::Gone,
                    Some(id) if Some(id) == former => CurrentContent::Same,
                    Some(id) => CurrentContent::Differs(id, files.read_file(path)?),
                });
            }
        };
        let opened = folder.open_file(Path::new(path));
        let read =
            opened.and_then(|(file, _)| beneath::read_to_limit(file, MAX_FILE_BYTES + 1, || ()));
        let content = match read {
            Ok(content) if content.len() as u64 > MAX_FILE_BYTES => {
                return Ok(CurrentContent::TooLarge);
            }
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(CurrentContent::Gone);
            }
            Err(_) => return Ok(CurrentContent::Unreadable),
        };
        let id = self.before.hash_content(&content)?;
        Ok(if Some(id) == former {
            CurrentContent::Same
        } else {
            CurrentContent::Differs(id, content)
        })
    }

    fn compare_file(&mut self, path: &str, former: Option<&[u8]>, current: Option<&[u8]>) {
        let read = |content: Option<&[u8]>| match content {
            Some(content) => read_definitions(path, content),
            None => Some(DefinitionTexts::default()),
        };
        let (Some(before), Some(now)) = (read(former), read(current)) else {
            // What is gone may have been a secret, which is not named.
            if current.is_some() {
                self.changes.files.other_files.push(path.to_owned());
            }
            return;
        };
        let changed = |definition| ChangedDefinition { path: path.to_owned(), definition };
        self.changes
            .definitions
            .extend(compare_definitions(&before, &now).into_iter().map(changed));
    }
}

/// Reads the definitions of a content; `None` if it is no public text in a language with rules.
fn read_definitions(path: &str, content: &[u8]) -> Option<DefinitionTexts> {
    let is_small = content.len() as u64 <= MAX_FILE_BYTES;
    if !is_small || detect::detect_by_path(path).is_some_and(|language| !reads_language(language)) {
        return None;
    }
    let text = decode::decode_text(content)?.text;
    let language = detect::detect_language(path, &text)?;
    let censored = codeinfo_secrets::censor_text(path, Some(language), &text)?.text;
    let facts = extract_facts(language, &censored)?;
    Some(DefinitionTexts::from_facts(&facts, &text))
}
