//! Finds the commits that changed a file, lines or a definition, and what one commit changed.

use std::{
    collections::HashSet,
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, Root, RootFilter, hash, plain_name};
use codeinfo_history::{
    ChangeKind, ChangedFile, CommitDetails, CommitId, DiffHunk, HistoryBudget, HistoryReader,
    HistoryStop,
};
use codeinfo_lang::detect;
use codeinfo_worktree::{decode::decode_text, git::GitRepository};
use serde::Deserialize;
use similar::{Algorithm, DiffTag};
use tokio::time::timeout;

use super::{
    super::{
        Evidence, EvidenceError, TIMEOUT,
        render::{DiffLine, HistoryText},
        resolve::{ResolvedPath, split_lines},
        snapshot::retain_indexed,
    },
    RelationKind,
    changes::{explain_lookup_error, is_public_path, open_repository},
};

/// Maximum number of commits in a reply, and their default number.
const MAX_COMMITS: usize = 20;
const DEFAULT_COMMITS: usize = 10;
/// Maximum time of reading the history.
const MAX_READING: Duration = Duration::from_secs(2);
/// Maximum time of comparing the indexed text with the committed one.
const MAX_COMPARING: Duration = Duration::from_millis(300);
/// Maximum commits that changed lines, of which the oldest is where the lines appeared.
const MAX_LINE_CHANGES: usize = 300;
/// Maximum bytes of a file whose secrets are searched for, so that a difference can be shown.
const MAX_CENSORED_BYTES: usize = 1 << 20;
/// Maximum bytes of the difference of a file in one commit.
const MAX_PATCH_BYTES: usize = 16 << 10;

/// A result with a reason for people.
type Readable<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A question about the history of a repository.
#[derive(Debug, Default, Deserialize)]
pub struct HistoryRequest {
    /// File; the whole repository if it is missing. Lines may be part of the path.
    pub path: Option<String>,
    /// Lines of the file: `12` or `12-40`.
    pub lines: Option<String>,
    /// Name of a definition, in the file if there is one.
    pub symbol: Option<String>,
    /// Branch, tag or id of the only commit to describe.
    pub commit: Option<String>,
    /// Maximum number of commits.
    pub limit: Option<usize>,
    /// Name of the repository, which the caller resolves.
    pub repository: Option<String>,
}

/// The part of a root that is asked about.
struct HistoryTarget {
    root: Root,
    /// Path below the root.
    path: Option<String>,
    record: Option<FileRecord>,
    lines: Option<(u32, u32)>,
    /// Indexed text of the file, if the lines are those of the index.
    indexed_text: Option<String>,
    /// Paths of the indexed files that clients may see.
    indexed_paths: HashSet<String>,
}

impl Evidence {
    /// Describes the commits of a subject in one repository, newest first, or a single commit.
    /// Reads for at most two seconds.
    pub async fn describe_history(
        &self,
        request: HistoryRequest,
        within: RootFilter,
    ) -> Result<String, EvidenceError> {
        let target = self.locate_target(&request, within).await?;
        let waiting = timeout(TIMEOUT, Arc::clone(&self.history_permits).acquire_owned());
        let Ok(Ok(permit)) = waiting.await else { return Err(EvidenceError::Stalled) };
        self.run_blocking(move || {
            let answer = HistorySession::open(&target).and_then(|session| session.answer(&request));
            drop(permit);
            answer.map_err(|reason| {
                EvidenceError::History(target.root.name, plain_name(&reason.to_string(), 400))
            })
        })
        .await?
    }

    async fn locate_target(
        &self,
        request: &HistoryRequest,
        within: RootFilter,
    ) -> Result<HistoryTarget, EvidenceError> {
        let written = match (&request.path, &request.symbol, &request.lines) {
            (path, Some(symbol), _) => {
                let prefix = path.as_ref().map(|path| format!("{path}:")).unwrap_or_default();
                Some(self.locate_definition(&format!("{prefix}{symbol}"), within).await?)
            }
            (Some(path), None, Some(lines)) => Some(format!("{path}:{lines}")),
            (path, None, _) => path.clone(),
        };
        let (root, path, lines) = match &written {
            Some(written) => {
                let (path, first, last) = split_lines(written).unwrap_or((written, 0, None));
                let (root, path) = self.locate_file(path, within).await?;
                (root, Some(path), (first > 0).then_some((first, last.unwrap_or(first))))
            }
            None => (self.find_only_tree(within).await?, None, None),
        };
        let files = retain_indexed(self.store.files(root.id).await?, &root);
        let record = files.iter().find(|file| Some(&file.path) == path.as_ref()).cloned();
        let indexed_paths = files.into_iter().map(|file| file.path).collect();
        let snapshot = match record.as_ref().filter(|_| request.symbol.is_some()) {
            Some(record) => self.load_snapshot(record).await?,
            None => None,
        };
        let indexed_text = snapshot.map(|snapshot| snapshot.text());
        Ok(HistoryTarget { root, path, record, lines, indexed_text, indexed_paths })
    }

    /// Returns the path and lines of the only definition with a name.
    async fn locate_definition(
        &self,
        name: &str,
        within: RootFilter,
    ) -> Result<String, EvidenceError> {
        let related = self.find_relations(name, RelationKind::Overrides, within).await?;
        let places = related.definitions.iter();
        let mut places: Vec<String> = places
            .map(|place| format!("{}:{}-{}", place.file.path, place.lines.0, place.lines.1))
            .collect();
        match places.len() {
            0 => Err(EvidenceError::History(name.to_owned(), "no definition has the name".into())),
            1 => Ok(places.remove(0)),
            count => {
                places.truncate(3);
                Err(EvidenceError::Ambiguous { path: name.to_owned(), several: places, count })
            }
        }
    }

    /// Returns the only tree, or that of the client.
    pub(super) async fn find_only_tree(&self, within: RootFilter) -> Result<Root, EvidenceError> {
        let (mut roots, _) = self.list_present_roots(within).await?;
        if let RootFilter::Tree(tree) = within {
            roots.retain(|root| root.id == tree);
        }
        let [root]: [Root; 1] = roots.try_into().map_err(|_| EvidenceError::SeveralRepositories)?;
        Ok(root)
    }

    /// Finds a file. One that is not indexed may have been deleted, and is a path below the root.
    async fn locate_file(
        &self,
        path: &str,
        within: RootFilter,
    ) -> Result<(Root, String), EvidenceError> {
        let unknown = match self.resolve_path(path, within).await {
            Ok(ResolvedPath::File(root, record)) => return Ok((root, record.path)),
            Ok(ResolvedPath::Folder(..)) => return Err(EvidenceError::IsFolder(path.to_owned())),
            Err(unknown @ EvidenceError::NotFound { .. }) => unknown,
            Err(other) => return Err(other),
        };
        let Ok(root) = self.find_only_tree(within).await else { return Err(unknown) };
        let relative = Path::new(path).strip_prefix(&root.path).ok().and_then(Path::to_str);
        let below = relative.unwrap_or(path).to_owned();
        if is_public_path(&root, &below) { Ok((root, below)) } else { Err(unknown) }
    }
}

/// Reads the history of one root and describes it.
struct HistorySession<'a> {
    target: &'a HistoryTarget,
    git: GitRepository,
    reader: HistoryReader,
    tip: CommitId,
    deadline: Instant,
    text: HistoryText,
}

impl<'a> HistorySession<'a> {
    fn open(target: &'a HistoryTarget) -> Readable<Self> {
        let git = open_repository(&target.root)?;
        let revision = target.root.revision.as_ref();
        let head = revision.map_or_else(|| git.head_commit(), |known| Some(known.commit.clone()));
        let id = head.filter(|id| !id.is_empty()).ok_or("it has no commit yet")?;
        let reader = HistoryReader::open(git.common_folder(), &id)?;
        let tip = id.parse()?;
        let name = target.root.name.as_str();
        let tree = revision.map(|known| format!("@{}", known.name));
        let repo = tree.and_then(|tree| name.strip_suffix(&tree)).unwrap_or(name);
        let text = HistoryText::new(repo, &tip);
        Ok(Self { target, git, reader, tip, deadline: Instant::now() + MAX_READING, text })
    }

    fn answer(mut self, request: &HistoryRequest) -> Readable<String> {
        let limit = request.limit.unwrap_or(DEFAULT_COMMITS).clamp(1, MAX_COMMITS);
        let stop = match (&request.commit, &self.target.path) {
            (Some(name), _) => self.describe_commit(name)?,
            (None, Some(path)) => match self.describe_place(path)? {
                Some(lines) => self.describe_line_changes(path, lines, limit)?,
                None => self.describe_file_changes(path, limit)?,
            },
            (None, None) => {
                self.text.push_place("all files");
                let list = self.reader.list_commits(&self.tip, &[], &self.budget(limit));
                list.commits.iter().for_each(|commit| self.text.push_commit(commit));
                list.stop
            }
        };
        Ok(self.text.finish(stop))
    }

    fn budget(&self, max_results: usize) -> HistoryBudget {
        HistoryBudget { max_results, ..HistoryBudget::until(self.deadline) }
    }

    fn describe_commit(&mut self, name: &str) -> Readable<Option<HistoryStop>> {
        let found = self.git.resolve_ancestor(name);
        let id: CommitId = found.map_err(|error| explain_lookup_error(name, error))?.parse()?;
        let budget = self.budget(1);
        let diff = self.reader.commit_diff(&id, &budget)?;
        self.text.push_place(&format!("commit {name}"));
        self.text.push_commit(&diff.commit);
        self.text.push_message(&diff.commit);
        if let Some(path) = &self.target.path {
            let patch = self.reader.file_patch(&id, path, MAX_PATCH_BYTES, &budget)?;
            self.describe_change(&diff.commit, &patch.file, &patch.hunks);
        }
        let files = diff.files.iter().filter(|file| self.may_show(file));
        self.text.push_files(&files.collect::<Vec<_>>(), diff.files.len());
        Ok(diff.stop)
    }

    fn describe_file_changes(&mut self, path: &str, limit: usize) -> Readable<Option<HistoryStop>> {
        let history = self.reader.file_history(&self.tip, path, &self.budget(limit))?;
        for change in history.changes {
            self.text.push_commit(&change.commit);
            let (path, old_path) = (change.path, change.old_path);
            let file = ChangedFile { path, old_path, kind: change.kind, lines: change.lines };
            self.describe_change(&change.commit, &file, &[]);
        }
        Ok(history.stop)
    }

    /// Describes the newest commits that changed lines, and the one in which they appeared.
    fn describe_line_changes(
        &mut self,
        path: &str,
        lines: (u32, u32),
        limit: usize,
    ) -> Readable<Option<HistoryStop>> {
        let budget = self.budget(MAX_LINE_CHANGES);
        let history = self.reader.line_history(&self.tip, path, lines.0, lines.1, &budget)?;
        let count = history.changes.len();
        for (index, change) in history.changes.into_iter().enumerate() {
            let is_last = index + 1 == count;
            if index >= limit && !is_last {
                continue;
            }
            if is_last && index > limit {
                self.text.push_note("commits between are left out: raise `limit`");
            }
            if is_last && history.stop.is_none() {
                self.text.push_note("the lines appeared in");
            }
            self.text.push_commit(&change.commit);
            // The history does not tell whether the commit added the file.
            let (path, old_path) = (change.path, change.old_path);
            let kind = if old_path.is_some() { ChangeKind::Renamed } else { ChangeKind::Modified };
            let file = ChangedFile { path, old_path, kind, lines: None };
            self.describe_change(&change.commit, &file, &change.hunks);
        }
        Ok(history.stop)
    }

    /// Begins the text for a file. Returns the lines asked about as the tip has them.
    fn describe_place(&mut self, path: &str) -> Readable<Option<(u32, u32)>> {
        let mut lines = self.target.lines;
        let mut is_changed = false;
        if let Some(record) = &self.target.record {
            let found = self.reader.read_file_at(&self.tip, path, &self.budget(1))?;
            let content = found.ok_or("the commit does not have the file yet")?;
            is_changed = !hash::matches_content(&record.version, &content);
            if let (true, Some(asked), Some(indexed)) =
                (is_changed, lines, &self.target.indexed_text)
            {
                let committed = decode_text(&content).ok_or("the file is no text")?.text;
                let mapped = map_lines(indexed, &committed, asked);
                lines = Some(mapped.ok_or("the commit does not have the definition yet")?);
            }
        }
        let range = lines.map(|(first, last)| format!(":{first}-{last}")).unwrap_or_default();
        self.text.push_place(&format!("{path}{range}"));
        if is_changed {
            self.text
                .push_note("the indexed file has local changes: lines are those of the commit");
        }
        Ok(lines)
    }

    fn may_show(&self, file: &ChangedFile) -> bool {
        let is_shown = |path: &String| {
            self.target.indexed_paths.contains(path) || is_public_path(&self.target.root, path)
        };
        is_shown(&file.path) && file.old_path.as_ref().is_none_or(is_shown)
    }

    /// Describes a change without secrets, unless its file would not be indexed.
    fn describe_change(&mut self, commit: &CommitDetails, file: &ChangedFile, hunks: &[DiffHunk]) {
        if !self.may_show(file) {
            self.text.push_note("its file is left out of the index, and not shown");
            return;
        }
        self.text.push_file(file);
        match self.censor_hunks(commit, file, hunks) {
            Ok(diff) => self.text.push_diff(&diff, hunks.iter().any(|hunk| hunk.is_truncated)),
            Err(reason) => self.text.push_note(reason),
        }
    }

    /// Takes the lines of hunks from the files without their secrets.
    fn censor_hunks(
        &mut self,
        commit: &CommitDetails,
        file: &ChangedFile,
        hunks: &[DiffHunk],
    ) -> Result<Vec<DiffLine>, &'static str> {
        if hunks.is_empty() {
            return Ok(Vec::new());
        }
        let old_path = file.old_path.as_ref().unwrap_or(&file.path);
        let parent = commit.parents.first();
        let before = parent.map(|id| self.read_censored(id, old_path)).transpose()?;
        let after = self.read_censored(&commit.id, &file.path)?;
        let mut diff = Vec::new();
        for hunk in hunks {
            let (mut old, mut new) = (hunk.old_first, hunk.new_first);
            for line in hunk.text.split_terminator('\n') {
                let sign = line.chars().next().unwrap_or(' ');
                let (lines, number) =
                    if sign == '-' { (before.as_ref(), old) } else { (Some(&after), new) };
                old += u32::from(sign != '+');
                new += u32::from(sign != '-');
                let text = lines.and_then(|lines| lines.get(number as usize - 1)).cloned();
                diff.push(DiffLine { sign, number, text: text.unwrap_or_default() });
            }
        }
        Ok(diff)
    }

    /// Reads the lines of a file in a commit, with marks in place of secrets.
    fn read_censored(&mut self, id: &CommitId, path: &str) -> Result<Vec<String>, &'static str> {
        let found = self.reader.read_file_at(id, path, &self.budget(1));
        let content = found.map_err(|_| "its lines could not be read in time")?.unwrap_or_default();
        if content.len() > MAX_CENSORED_BYTES {
            return Err("its lines are not shown: the file is too large to look for secrets");
        }
        let text = decode_text(&content).ok_or("its lines are not shown: no text")?.text;
        let language = detect::detect_language(path, &text);
        let public_text = codeinfo_secrets::censor_text(path, language, &text);
        let censored = public_text.ok_or("its lines are not shown: they may be secrets")?;
        Ok(censored.text.split('\n').map(str::to_owned).collect())
    }
}

/// Returns where lines of an indexed text are in the committed one. `None` if none of them is.
fn map_lines(indexed: &str, committed: &str, lines: (u32, u32)) -> Option<(u32, u32)> {
    let [before, now] =
        [indexed, committed].map(|text| text.lines().map(str::trim_end).collect::<Vec<&str>>());
    let until = Instant::now() + MAX_COMPARING;
    let parts = similar::capture_diff_slices_deadline(Algorithm::Myers, &before, &now, Some(until));
    let equal = parts.iter().filter(|part| part.tag() == DiffTag::Equal);
    let pairs = equal.flat_map(|part| part.old_range().zip(part.new_range()));
    let inside = pairs.filter(|(old, _)| {
        let is_blank = before.get(*old).is_none_or(|line| line.is_empty());
        (lines.0 as usize..=lines.1 as usize).contains(&(old + 1)) && !is_blank
    });
    let numbers: Vec<u32> = inside.filter_map(|(_, new)| u32::try_from(new + 1).ok()).collect();
    Some((*numbers.first()?, *numbers.last()?))
}
