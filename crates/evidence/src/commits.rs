//! Finds commits by the meaning and the words of their messages.
//!
//! A search uses a file per repository, derived from it and shared by its trees. It has no
//! messages: these are read again, and their secrets replaced, for each reply.

mod reading;
mod rescoring;
mod table;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsString,
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use codeinfo_core::{
    Root, RootFilter, RootId,
    atomic::{FileAccess, create_private_folder, read_if_exists, write_atomically},
    plain_name,
};
use codeinfo_embed::{StaticModel, lexical};
use codeinfo_history::{CommitDetails, CommitId, HistoryBudget, HistoryReader};
use codeinfo_worktree::ignore_files::IgnoreFiles;
use lru::LruCache;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tracing::{info, warn};
use uuid::Uuid;

use self::{
    reading::{ReadingRequest, update_table},
    rescoring::{rank_candidates, rescore_commits, weigh_question},
    table::{CommitTable, MessageQuery},
};
use super::{
    Evidence, EvidenceError, TIMEOUT,
    symbols::{open_repository, redact, redact_body},
};

/// Maximum time of a search, or of a run's first step, for which searches wait, to read commits.
const MAX_READING: Duration = Duration::from_secs(2);
/// The same for a later step of a run. Some tens of thousands of commits take a part of it.
const MAX_STEP: Duration = Duration::from_secs(8);
/// Maximum time to read the commits that are shown.
const MAX_SHOWING: Duration = Duration::from_secs(2);
/// Maximum number of repositories whose tables are in memory, each with up to some megabytes.
const MAX_TABLES: NonZero<usize> = NonZero::new(16).unwrap();
/// Maximum commits of a repository, which take some seconds to read.
const MAX_KNOWN_COMMITS: usize = 100_000;
const DEFAULT_COMMITS: usize = 5;
const MAX_COMMITS: usize = 50;
/// Maximum files and lines of a message that are shown of a commit.
const MAX_FILES: usize = 5;
const MAX_LINES: usize = 3;
const MAX_CHARS: usize = 300;
/// Maximum changed files of a commit of which some are shown.
const MAX_EXAMINED_FILES: usize = 1_000;
const EXTENSION: &str = "commits";
/// Minimum digits of the beginning of an id.
const MIN_ID_DIGITS: usize = 7;

/// Reading of the commits of a repository.
pub type CommitsReading = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Settings of history.
#[derive(Debug, Clone, Copy)]
pub struct CommitSettings {
    /// Maximum number of commits of each repository that are searched; 0 searches none.
    pub max_commits: usize,
    /// Shows the authors of commits.
    pub shows_authors: bool,
}

/// Commits that a search found, best first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FoundCommits {
    /// The commits.
    pub commits: Vec<FoundCommit>,
    /// What was not searched.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A commit that a search found, without secrets.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundCommit {
    /// Name of the repository.
    pub repository: String,
    /// Full id.
    pub id: String,
    /// Time of the author, with its offset.
    pub time: String,
    /// First paragraph of the message.
    pub subject: String,
    /// Name of the author, unless a setting hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// First changed files that are not left out of the index.
    pub files: Vec<String>,
    /// Number of changed files.
    pub file_count: usize,
    /// Lines of the rest of the message that match best.
    pub lines: Vec<String>,
    /// From 0 to 1.
    pub score: f64,
    /// Number of parents, if it is a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<usize>,
    /// Id of the commit that it says to revert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
}

/// Tables of the commits of repositories. Clones share them.
#[derive(Clone)]
pub(super) struct CommitIndex {
    pub(super) settings: CommitSettings,
    /// Folder of the files, and the model of the vectors. `None` until they are given.
    parts: Option<(PathBuf, StaticModel)>,
    tables: Arc<Mutex<LruCache<PathBuf, Arc<TableSlot>>>>,
}

#[derive(Default)]
struct TableSlot {
    /// Locked while commits are read.
    reading: Mutex<()>,
    /// `None` before it is read.
    table: Mutex<Option<Arc<CommitTable>>>,
}

/// A repository of which trees are searched.
struct SearchedHistory {
    common_folder: PathBuf,
    trees: Vec<(Root, CommitId)>,
    /// Commits that its indexed trees check out, ascending.
    tips: BTreeSet<CommitId>,
}

impl Default for CommitIndex {
    fn default() -> Self {
        let settings = CommitSettings { max_commits: 0, shows_authors: true };
        Self { settings, parts: None, tables: Arc::new(Mutex::new(LruCache::new(MAX_TABLES))) }
    }
}

impl CommitIndex {
    /// Returns a repository's table, updated until `deadline`, and writes it if it has changed.
    fn open_table(
        &self,
        history: &SearchedHistory,
        deadline: Instant,
    ) -> Result<Arc<CommitTable>, String> {
        let (folder, model) = self.parts.as_ref().ok_or("commits are not searched here")?;
        let max_commits = self.settings.max_commits;
        let slot = {
            let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(tables.get_or_insert_mut(history.common_folder.clone(), Arc::default))
        };
        let _reading = match slot.lock_reading(&history.tree_tips()) {
            Ok(guard) => guard,
            Err(present) => return Ok(present),
        };
        let path = folder.join(name_file(&history.common_folder));
        let id_bytes = history.tips.first().map_or(0, |id| id.as_slice().len());
        let read = || {
            let file = read_if_exists(&path, FileAccess::Owner).ok()??;
            CommitTable::decode(&file, id_bytes)
        };
        let present = slot.table().clone();
        let table = present.unwrap_or_else(|| Arc::new(read().unwrap_or_default()));
        *slot.table() = Some(Arc::clone(&table));
        let known = table.tips.iter().map(|(id, _)| id);
        if known.eq(&history.tips) && table.unread == 0 && table.limit == max_commits {
            return Ok(table);
        }
        let tips: Vec<CommitId> = history.tips.iter().copied().collect();
        let common_folder = &history.common_folder;
        let request = ReadingRequest { common_folder, tips: &tips, max_commits, deadline };
        let began = Instant::now();
        let updated = update_table(&table, model, &request).map_err(|error| error.to_string())?;
        let encoded = updated.encode();
        info!(
            repository = %common_folder.display(),
            commits = updated.ids.len(),
            unread = updated.unread,
            bytes = encoded.len(),
            ms = began.elapsed().as_millis(),
            "commits read"
        );
        let written = create_private_folder(folder)
            .and_then(|()| write_atomically(&path, &encoded, FileAccess::Owner));
        drop(written.inspect_err(|error| warn!(%error, "the table of commits is not kept")));
        let result = Arc::new(updated);
        *slot.table() = Some(Arc::clone(&result));
        Ok(result)
    }
}

impl TableSlot {
    fn table(&self) -> MutexGuard<'_, Option<Arc<CommitTable>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the table if it knows all of `tips`.
    fn find_present(&self, tips: &[CommitId]) -> Option<Arc<CommitTable>> {
        let present = self.table().clone()?;
        let is_known = |tip| present.tips.iter().any(|(known, _)| known == tip);
        tips.iter().all(is_known).then_some(present)
    }

    /// Locks the reading. Fails with the table instead of waiting if that knows all of `tips`.
    fn lock_reading(&self, tips: &[CommitId]) -> Result<MutexGuard<'_, ()>, Arc<CommitTable>> {
        let present = match self.reading.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(error)) => return Ok(error.into_inner()),
            Err(TryLockError::WouldBlock) => self.find_present(tips),
        };
        match present {
            Some(table) => Err(table),
            None => Ok(self.reading.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

impl Evidence {
    /// Searches commits by tables in `folder`, below an existing folder, with vectors of `model`.
    #[must_use]
    pub fn with_commits(
        self,
        folder: PathBuf,
        settings: CommitSettings,
        model: StaticModel,
    ) -> Self {
        let max_commits = settings.max_commits.min(MAX_KNOWN_COMMITS);
        let (parts, settings) = (Some((folder, model)), CommitSettings { max_commits, ..settings });
        Self { commits: CommitIndex { settings, parts, ..self.commits }, ..self }
    }

    /// Finds the commits whose messages are about `query`, or whose id begins as a word of it.
    pub async fn find_commits(
        &self,
        query: &str,
        limit: Option<usize>,
        within: RootFilter,
    ) -> Result<FoundCommits, EvidenceError> {
        let (selected, _) = self.list_present_roots(within).await?;
        let all = self.store.roots().await?;
        let name = selected.first().map(|root| root.name.clone()).unwrap_or_default();
        let waiting = timeout(TIMEOUT, Arc::clone(&self.history_permits).acquire_owned());
        let Ok(Ok(permit)) = waiting.await else { return Err(EvidenceError::Stalled) };
        let index = self.commits.clone();
        let text = query.to_owned();
        let count = limit.unwrap_or(DEFAULT_COMMITS).clamp(1, MAX_COMMITS);
        let found = move || {
            let found = index.find_commits(&text, count, &selected, &all);
            drop(permit);
            found
        };
        let searched = self.run_blocking(found).await?;
        searched.map_err(|reason| EvidenceError::History(name, plain_name(&reason, 400)))
    }

    /// Returns the work at the end of a run of a root: reading its commits.
    pub fn follow_up(&self) -> Box<dyn Fn(RootId) -> CommitsReading + Send + Sync> {
        let evidence = self.clone();
        Box::new(move |root| {
            let own = evidence.clone();
            Box::pin(async move { own.read_commits(root).await })
        })
    }

    /// Reads the commits of a root that was indexed, until all are known.
    pub async fn read_commits(&self, root: RootId) {
        if self.commits.settings.max_commits == 0 {
            return self.remove_unused_commits().await;
        }
        let mut known = 0;
        loop {
            let Ok(all) = self.store.roots().await else { return };
            let index = self.commits.clone();
            let max_time = if known == 0 { MAX_READING } else { MAX_STEP };
            let step = move || {
                let histories =
                    list_histories(&RootFilter::Only(root).select_roots(&all), &all).ok()?;
                let history = histories.first()?;
                index.open_table(history, Instant::now() + max_time).ok()
            };
            match tokio::task::spawn_blocking(step).await {
                // A step that reads nothing would be followed by others.
                Ok(Some(table)) if table.unread > 0 && table.ids.len() > known => {
                    known = table.ids.len();
                }
                _ => return,
            }
        }
    }

    /// Removes the tables of repositories of which no tree is indexed.
    pub async fn remove_unused_commits(&self) {
        let Ok(all) = self.store.roots().await else { return };
        let index = self.commits.clone();
        let removing = move || {
            let histories = match index.settings.max_commits {
                0 => Vec::new(),
                _ => list_histories(&all, &all).unwrap_or_default(),
            };
            let used: BTreeSet<OsString> =
                histories.iter().map(|history| name_file(&history.common_folder).into()).collect();
            let Some((folder, _)) = &index.parts else { return };
            // What a link leads to belongs to others.
            if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return;
            }
            let is_table =
                |name: &OsString| Path::new(name).extension() == Some(EXTENSION.as_ref());
            for file in fs::read_dir(folder).into_iter().flatten().flatten() {
                if is_table(&file.file_name()) && !used.contains(&file.file_name()) {
                    let removed = fs::remove_file(file.path());
                    drop(removed.inspect_err(|error| warn!(%error, "a table of commits remains")));
                }
            }
        };
        drop(tokio::task::spawn_blocking(removing).await);
    }
}

impl CommitIndex {
    fn find_commits(
        &self,
        text: &str,
        limit: usize,
        selected: &[Root],
        all: &[Root],
    ) -> Result<FoundCommits, String> {
        if self.settings.max_commits == 0 {
            return Err("commits are not searched: `HISTORY_COMMITS` is 0".to_owned());
        }
        let (_, model) = self.parts.as_ref().ok_or("commits are not searched here")?;
        let histories = list_histories(selected, all)?;
        let query = parse_query(text, model);
        let deadline = Instant::now() + MAX_READING;
        let notes = describe_unsearched(selected, &histories).into_iter().collect();
        let mut found = FoundCommits { notes, ..FoundCommits::default() };
        let mut failures = Vec::new();
        let mut tables = Vec::new();
        for history in &histories {
            match self.open_table(history, deadline) {
                Ok(table) => tables.push((history, table)),
                Err(reason) => failures.push((history.name(), reason)),
            }
        }
        let ranked = rank_candidates(&tables, &query);
        let budget = HistoryBudget::until(Instant::now() + MAX_SHOWING);
        let mut readers = HashMap::new();
        let mut commits = Vec::new();
        for (history, table) in tables {
            found.notes.extend(table.describe_gaps(&history.name()));
            let folder = history.common_folder.as_path();
            let own: Vec<_> = ranked.iter().filter(|one| one.folder == folder).collect();
            let Some(first) = own.first() else { continue };
            match HistoryReader::open(folder, &first.id.to_string()) {
                Ok(mut reader) => {
                    let mut words = weigh_question(text, model, &table.weigh_terms(&query));
                    let rescored = rescore_commits(&own, &mut reader, &budget, &mut words);
                    commits.extend(rescored.into_iter().map(|(score, one)| (score, history, one)));
                    readers.insert(folder, (reader, history.open_ignore_files()));
                }
                Err(error) => failures.push((history.name(), error.to_string())),
            }
        }
        if let Some((_, reason)) = failures.first().filter(|_| failures.len() == histories.len()) {
            return Err(reason.clone());
        }
        let failed =
            failures.iter().map(|(name, reason)| format!("{name} cannot be read: {reason}"));
        found.notes.extend(failed);
        commits.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut without_files = HashSet::new();
        for (score, history, commit) in commits.into_iter().take(limit) {
            let folder = history.common_folder.as_path();
            let Some((reader, ignore_files)) = readers.get_mut(folder) else { continue };
            let paths = reader.list_paths(&commit.id, &budget).unwrap_or_else(|error| {
                if without_files.insert(folder) {
                    let name = history.name();
                    found.notes.push(format!("{name}: changed files are not known: {error}"));
                }
                Vec::new()
            });
            let may_show = |path: &&String| history.may_show(path, ignore_files.as_deref());
            let examined = paths.iter().take(MAX_EXAMINED_FILES);
            let files: Vec<&String> = examined.filter(may_show).take(MAX_FILES).collect();
            found.commits.push(FoundCommit {
                files: files.into_iter().map(|path| plain_name(path, MAX_CHARS)).collect(),
                file_count: paths.len(),
                score: (f64::from(score) * 1e4).round() / 1e4,
                ..self.describe(history, &commit, &query)
            });
        }
        Ok(found)
    }

    fn describe(
        &self,
        history: &SearchedHistory,
        commit: &CommitDetails,
        query: &MessageQuery,
    ) -> FoundCommit {
        let shown = |text: &str| plain_name(text, MAX_CHARS);
        FoundCommit {
            repository: history.name(),
            id: commit.id.to_string(),
            time: commit.author_time.to_string(),
            subject: shown(&redact(&commit.subject)),
            author: self.settings.shows_authors.then(|| shown(&redact(&commit.author_name))),
            lines: find_lines(&redact_body(commit), query),
            merge: Some(commit.parents.len()).filter(|parents| *parents > 1),
            reverts: commit.reverted_commit().map(str::to_owned),
            ..FoundCommit::default()
        }
    }
}

impl SearchedHistory {
    fn tree_tips(&self) -> Vec<CommitId> {
        self.trees.iter().map(|(_, tip)| *tip).collect()
    }

    /// Opens the ignore files of its trees; `None` if one of them cannot be read.
    fn open_ignore_files(&self) -> Option<Vec<IgnoreFiles>> {
        self.trees.iter().map(|(root, _)| IgnoreFiles::open_root(root).ok()).collect()
    }

    /// Returns true for a path that no tree leaves out.
    fn may_show(&self, path: &str, ignore_files: Option<&[IgnoreFiles]>) -> bool {
        self.trees.iter().all(|(root, _)| root.is_public_path(path))
            && ignore_files.is_some_and(|all| !all.iter().any(|files| files.is_ignored(path)))
    }

    fn name(&self) -> String {
        let root = self.trees.first().map(|(root, _)| repository_name(root));
        plain_name(root.unwrap_or_default(), MAX_CHARS)
    }
}

/// Returns the repositories of the selected trees. Fails with the first reason if none has commits.
fn list_histories(selected: &[Root], all: &[Root]) -> Result<Vec<SearchedHistory>, String> {
    let mut histories: Vec<SearchedHistory> = Vec::new();
    let mut refused = None;
    for root in selected {
        match find_tip(root) {
            Ok((folder, tip)) => {
                let tree = (root.clone(), tip);
                match histories.iter_mut().find(|history| history.common_folder == folder) {
                    Some(history) => history.trees.push(tree),
                    None => histories.push(SearchedHistory {
                        common_folder: folder,
                        trees: vec![tree],
                        tips: BTreeSet::new(),
                    }),
                }
            }
            Err(reason) => drop(refused.get_or_insert(reason)),
        }
    }
    if histories.is_empty() {
        return Err(refused.unwrap_or_else(|| "no tree of it is indexed".to_owned()));
    }
    for history in &mut histories {
        let is_tree = |root: &&Root| {
            let has_owner = |tree: &(Root, _)| tree.0.chunk_owner() == root.chunk_owner();
            history.trees.iter().any(has_owner)
        };
        let others = all.iter().filter(is_tree).filter_map(|root| find_tip(root).ok());
        let own = others.filter(|(folder, _)| *folder == history.common_folder);
        history.tips = own.map(|(_, tip)| tip).collect();
        history.tips.extend(history.trees.iter().map(|(_, tip)| *tip));
    }
    Ok(histories)
}

fn describe_unsearched(selected: &[Root], histories: &[SearchedHistory]) -> Option<String> {
    let searched = || histories.iter().flat_map(|history| &history.trees);
    let is_searched = |root: &&Root| searched().any(|(tree, _)| tree.id == root.id);
    let others: Vec<&Root> = selected.iter().filter(|root| !is_searched(root)).collect();
    let names: Vec<String> =
        others.iter().take(MAX_FILES).map(|root| plain_name(&root.name, MAX_CHARS)).collect();
    let rest = if names.len() < others.len() { ", …" } else { "" };
    (!names.is_empty()).then(|| format!("without commits: {}{rest}", names.join(", ")))
}

/// Returns the git folder of a tree, and the commit that it checks out.
fn find_tip(root: &Root) -> Result<(PathBuf, CommitId), String> {
    let git = open_repository(root)?;
    let revision = root.revision.as_ref();
    let head = revision.map_or_else(|| git.head_commit(), |known| Some(known.commit.clone()));
    let tip = head.and_then(|id| id.parse().ok()).ok_or("it has no commit yet")?;
    Ok((git.common_folder().to_owned(), tip))
}

fn parse_query(text: &str, model: &StaticModel) -> MessageQuery {
    let mut terms = lexical::extract_query_terms(text);
    lexical::weigh_stop_words(&mut terms, 0.0);
    let is_id = |word: &&str| {
        word.len() >= MIN_ID_DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    MessageQuery {
        vector: model.embed_query(text),
        ids: words.filter(is_id).map(str::to_ascii_lowercase).collect(),
        terms: terms.indices.into_iter().zip(terms.values).collect(),
    }
}

/// Returns the lines of a message that have most of the words of a query, in order.
fn find_lines(body: &str, query: &MessageQuery) -> Vec<String> {
    let mut lines: Vec<(f32, usize, &str)> = Vec::new();
    for (number, line) in body.lines().enumerate() {
        let found = lexical::count_terms([(line, 1.0)]).indices;
        let weight = |term: &(u32, f32)| found.binary_search(&term.0).map_or(0.0, |_| term.1);
        let weights: f32 = query.terms.iter().map(weight).sum();
        if weights > 0.0 {
            lines.push((weights, number, line));
        }
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    lines.truncate(MAX_LINES);
    lines.sort_by_key(|line| line.1);
    lines.iter().map(|(.., line)| plain_name(line.trim(), MAX_CHARS)).collect()
}

pub(crate) fn repository_name(root: &Root) -> &str {
    let name = root.name.as_str();
    let tree = root.revision.as_ref().map(|known| format!("@{}", known.name));
    tree.and_then(|tree| name.strip_suffix(&tree)).unwrap_or(name)
}

fn name_file(common_folder: &Path) -> String {
    let path = common_folder.as_os_str().as_encoded_bytes();
    format!("{}.{EXTENSION}", Uuid::new_v5(&Uuid::NAMESPACE_URL, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_knows_the_tree_is_searched_while_commits_are_read() {
        let [known, new] = ["1", "2"].map(|digit| digit.repeat(40).parse::<CommitId>().unwrap());
        let slot = TableSlot::default();
        assert!(slot.find_present(&[known]).is_none());
        let mut table = CommitTable::default();
        table.tips.push((known, Vec::new()));
        *slot.table() = Some(Arc::new(table));
        assert!(slot.find_present(&[known, new]).is_none());
        let reading = slot.lock_reading(&[known]).unwrap();
        assert_eq!(slot.lock_reading(&[known]).unwrap_err().tips.len(), 1);
        drop(reading);
        assert!(slot.lock_reading(&[known]).is_ok());
    }
}
