//! Finds the commits that changed a file, lines or a definition, and what one commit changed.

use std::{
    collections::HashSet,
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_chunk::{HighlightMark, highlight_lines};
use codeinfo_core::{FileRecord, Root, RootFilter, hash, plain_name};
use codeinfo_history::{
    ChangeKind, ChangedFile, CommitDetails, CommitId, DiffHunk, HistoryBudget, HistoryReader,
    HistoryStop,
};
use codeinfo_lang::{Language, detect};
use codeinfo_worktree::{decode::decode_text, git::GitRepository, ignore_files::IgnoreFiles};
use serde::Deserialize;
use similar::{Algorithm, DiffTag};
use tokio::time::timeout;

use super::{
    super::{
        Evidence, EvidenceError, TIMEOUT,
        commits::repository_name,
        lines::RequestedLines,
        resolve::{ResolvedPath, split_lines},
        snapshot::retain_indexed,
        source::{HighlightedSource, cut_line},
    },
    RelationKind,
    changes::{explain_lookup_error, open_repository},
    history_report::{
        ChangedFileList, CommitReport, DiffLine, FileChangeReport, HistoryReport, redact_body,
    },
};

/// Maximum number of commits in a reply, in one for the page, and their default number.
const MAX_COMMITS: usize = 20;
const MAX_PAGE_COMMITS: usize = 100;
const DEFAULT_COMMITS: usize = 10;
const MAX_READING: Duration = Duration::from_secs(2);
/// Maximum time of comparing the indexed text with the committed one.
const MAX_COMPARING: Duration = Duration::from_millis(300);
/// Maximum commits that changed lines, of which the oldest is where the lines appeared.
const MAX_LINE_CHANGES: usize = 300;
/// Maximum bytes of a file whose secrets are searched for, so that a difference can be shown.
const MAX_CENSORED_BYTES: usize = 1 << 20;
/// Maximum bytes of the difference of a file in one commit.
const MAX_PATCH_BYTES: usize = 64 << 10;
/// Maximum lines of the difference of a file, in a list of commits and in a single one.
const MAX_DIFF_LINES: usize = 200;
const MAX_PATCH_LINES: usize = 2_000;
/// Maximum files of a commit that are listed, and of those that are compared with ignore files.
const MAX_FILES: usize = 1_000;
const MAX_EXAMINED_FILES: usize = 10_000;

const LEFT_OUT: &str = "its file is left out of the index, and not shown";

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
    /// True for the page: `lines` are those of the index, differences are highlighted, and of a
    /// single commit with a path, only that file is read.
    #[serde(skip)]
    pub is_for_page: bool,
}

/// The part of a root that is asked about.
struct HistoryTarget {
    root: Root,
    path: Option<String>,
    record: Option<FileRecord>,
    lines: Option<(u32, u32)>,
    /// Indexed text of the file, if the lines are those of the index.
    indexed_text: Option<String>,
    /// Paths of the indexed files that clients may see.
    indexed_paths: HashSet<String>,
}

impl Evidence {
    /// Finds the commits of a subject in one repository, newest first, or a single commit. Reads
    /// for at most two seconds.
    pub async fn read_history(
        &self,
        request: HistoryRequest,
        within: RootFilter,
    ) -> Result<HistoryReport, EvidenceError> {
        let target = self.locate_target(&request, within).await?;
        let mut report =
            self.read_repository(target, move |session| session.answer(&request)).await?;
        if !self.commits.settings.shows_authors {
            report.commits.iter_mut().for_each(|commit| commit.author.clear());
        }
        Ok(report)
    }

    /// Reads lines of a file in a commit, without secrets, for display; clamps bounds to the file.
    pub async fn read_committed_source(
        &self,
        path: &str,
        commit: String,
        asked: RequestedLines,
        within: RootFilter,
    ) -> Result<HighlightedSource, EvidenceError> {
        let request = HistoryRequest {
            path: Some(path.to_owned()),
            commit: Some(commit.clone()),
            is_for_page: true,
            ..HistoryRequest::default()
        };
        let target = self.locate_target(&request, within).await?;
        let below = target.path.clone().unwrap_or_default();
        let (root, file) = (target.root.clone(), self.to_indexed_file(&target.root, &below));
        let read = move |session: HistorySession<'_>| session.read_text(&commit, &below);
        let (commit, text) = self.read_repository(target, read).await?;
        let show = move || HighlightedSource::from_commit(root, file, commit, text, asked);
        self.run_blocking(show).await
    }

    /// Reads the repository of a target. Few questions about histories run at a time.
    async fn read_repository<T: Send + 'static>(
        &self,
        target: HistoryTarget,
        read: impl FnOnce(HistorySession<'_>) -> Readable<T> + Send + 'static,
    ) -> Result<T, EvidenceError> {
        let waiting = timeout(TIMEOUT, Arc::clone(&self.history_permits).acquire_owned());
        let Ok(Ok(permit)) = waiting.await else { return Err(EvidenceError::Stalled) };
        self.run_blocking(move || {
            let answer = HistorySession::open(&target).and_then(read);
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
            // The commit may have files that the index lacks: names are not completed.
            Some(written) if request.is_for_page && request.commit.is_some() => {
                let root = self.find_only_tree(within).await?;
                let path = relative_path(&root, written);
                (root, Some(path), None)
            }
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
        let is_mapped = request.symbol.is_some() || (request.is_for_page && lines.is_some());
        let snapshot = match record.as_ref().filter(|_| is_mapped) {
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
        let below = relative_path(&root, path);
        if root.is_public_path(&below) { Ok((root, below)) } else { Err(unknown) }
    }
}

struct HistorySession<'a> {
    target: &'a HistoryTarget,
    git: GitRepository,
    ignore_files: IgnoreFiles,
    reader: HistoryReader,
    tip: CommitId,
    deadline: Instant,
    report: HistoryReport,
    is_for_page: bool,
    max_diff_lines: usize,
}

/// Lines of a file in a commit, without secrets, and the marks of each.
type CommittedLines = Vec<(String, Vec<HighlightMark>)>;

impl<'a> HistorySession<'a> {
    fn open(target: &'a HistoryTarget) -> Readable<Self> {
        let git = open_repository(&target.root)?;
        let revision = target.root.revision.as_ref();
        let head = revision.map_or_else(|| git.head_commit(), |known| Some(known.commit.clone()));
        let id = head.filter(|id| !id.is_empty()).ok_or("it has no commit yet")?;
        let ignore_files = IgnoreFiles::open_root(&target.root)?;
        let reader = HistoryReader::open(git.common_folder(), &id)?;
        let tip = id.parse()?;
        let report = HistoryReport {
            repo: target.root.name.clone(),
            base_repo: repository_name(&target.root).to_owned(),
            tip: id,
            subject: "all files".to_owned(),
            ..HistoryReport::default()
        };
        let deadline = Instant::now() + MAX_READING;
        let max_diff_lines = MAX_DIFF_LINES;
        Ok(Self {
            target,
            git,
            ignore_files,
            reader,
            tip,
            deadline,
            report,
            is_for_page: false,
            max_diff_lines,
        })
    }

    fn answer(mut self, request: &HistoryRequest) -> Readable<HistoryReport> {
        self.is_for_page = request.is_for_page;
        let max_commits = if request.is_for_page { MAX_PAGE_COMMITS } else { MAX_COMMITS };
        let limit = request.limit.unwrap_or(DEFAULT_COMMITS).clamp(1, max_commits);
        let stop = match (&request.commit, &self.target.path) {
            (Some(name), Some(path)) if request.is_for_page => self.read_change(name, path)?,
            (Some(name), _) => self.read_commit(name)?,
            (None, Some(path)) => match self.locate_lines(path)? {
                Some(lines) => self.read_line_changes(path, lines, limit)?,
                None => self.read_file_changes(path, limit)?,
            },
            (None, None) => {
                let list = self.reader.list_commits(&self.tip, &[], &self.budget(limit));
                self.report.commits = list.commits.iter().map(CommitReport::new).collect();
                list.stop
            }
        };
        self.report.stop = stop.map(|stop| stop.to_string());
        Ok(self.report)
    }

    fn read_text(mut self, name: &str, path: &str) -> Readable<(String, String)> {
        let id = self.resolve_commit(name)?;
        self.check_path(path)?;
        let found = self.reader.read_file_at(&id, path, &self.budget(1))?;
        let content = found.ok_or_else(|| format!("the commit has no file `{path}`"))?;
        Ok((id.to_string(), censor_content(path, &content)?.0))
    }

    fn resolve_commit(&self, name: &str) -> Readable<CommitId> {
        let found = self.git.resolve_ancestor(name);
        Ok(found.map_err(|error| explain_lookup_error(name, error))?.parse()?)
    }

    fn budget(&self, max_results: usize) -> HistoryBudget {
        HistoryBudget { max_results, ..HistoryBudget::until(self.deadline) }
    }

    fn read_commit(&mut self, name: &str) -> Readable<Option<HistoryStop>> {
        let id = self.resolve_commit(name)?;
        let budget = self.budget(1);
        let diff = self.reader.commit_diff(&id, &budget)?;
        self.report.subject = format!("commit {name}");
        let mut report = CommitReport::new(&diff.commit);
        report.message = redact_body(&diff.commit);
        if let Some(path) = &self.target.path {
            let patch = self.reader.file_patch(&id, path, MAX_PATCH_BYTES, &budget)?;
            self.add_change(&mut report, &diff.commit, patch.file, &patch.hunks);
        }
        let count = diff.files.len();
        let examined = diff.files.into_iter().take(MAX_EXAMINED_FILES);
        let (shown, hidden): (Vec<ChangedFile>, Vec<ChangedFile>) =
            examined.partition(|file| self.may_show_change(file));
        let listed = shown.into_iter().take(MAX_FILES).map(|file| self.report_file(file)).collect();
        report.files = Some(ChangedFileList { listed, count, hidden: hidden.len() });
        self.report.commits.push(report);
        Ok(diff.stop)
    }

    fn read_change(&mut self, name: &str, path: &str) -> Readable<Option<HistoryStop>> {
        let id = self.resolve_commit(name)?;
        self.check_path(path)?;
        let budget = self.budget(1);
        self.max_diff_lines = MAX_PATCH_LINES;
        let found = self.reader.file_patch(&id, path, MAX_PATCH_BYTES, &budget)?;
        let commit = self.reader.list_commits(&id, &[], &budget).commits.pop();
        let commit = commit.ok_or("the commit could not be read")?;
        let mut report = CommitReport::new(&commit);
        self.add_change(&mut report, &commit, found.file, &found.hunks);
        self.report.commits.push(report);
        Ok(None)
    }

    fn read_file_changes(&mut self, path: &str, limit: usize) -> Readable<Option<HistoryStop>> {
        let history = self.reader.file_history(&self.tip, path, &self.budget(limit))?;
        for change in history.changes {
            let mut report = CommitReport::new(&change.commit);
            let (path, old_path) = (change.path, change.old_path);
            let file = ChangedFile { path, old_path, kind: change.kind, lines: change.lines };
            self.add_change(&mut report, &change.commit, file, &[]);
            self.report.commits.push(report);
        }
        Ok(history.stop)
    }

    /// Reads the newest commits that changed lines, and the one in which they appeared.
    fn read_line_changes(
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
            let mut report = CommitReport::new(&change.commit);
            report.is_after_gap = is_last && index > limit;
            report.is_origin = is_last && history.stop.is_none();
            // The history does not tell whether the commit added the file.
            let (path, old_path) = (change.path, change.old_path);
            let kind = if old_path.is_some() { ChangeKind::Renamed } else { ChangeKind::Modified };
            let file = ChangedFile { path, old_path, kind, lines: None };
            self.add_change(&mut report, &change.commit, file, &change.hunks);
            self.report.commits.push(report);
        }
        if self.is_for_page {
            self.add_present_lines(path, lines);
        }
        Ok(history.stop)
    }

    /// Adds to the commits the lines that got their present form in them, if there is time left.
    fn add_present_lines(&mut self, path: &str, lines: (u32, u32)) {
        let budget = self.budget(usize::MAX);
        let blame = self.reader.blame_lines(&self.tip, path, lines.0, lines.1, &budget);
        for part in blame.map(|blame| blame.lines).unwrap_or_default() {
            let id = part.commit.id.to_string();
            let found = self.report.commits.iter_mut().find(|commit| commit.id == id);
            if let Some(commit) = found.filter(|_| !part.may_be_older) {
                commit.present_lines.push((part.first, part.last));
            }
        }
    }

    /// Sets a file as the subject. Returns the lines asked about as the tip has them.
    fn locate_lines(&mut self, path: &str) -> Readable<Option<(u32, u32)>> {
        let mut lines = self.target.lines;
        if let Some(record) = &self.target.record {
            let found = self.reader.read_file_at(&self.tip, path, &self.budget(1))?;
            let content = found.ok_or("the commit does not have the file yet")?;
            self.report.is_changed = !hash::matches_content(&record.version, &content);
            if let (true, Some(asked), Some(indexed)) =
                (self.report.is_changed, lines, &self.target.indexed_text)
            {
                let committed = decode_text(&content).ok_or("the file is no text")?.text;
                let mapped = map_lines(indexed, &committed, asked);
                lines = Some(mapped.ok_or("the commit does not have the lines yet")?);
            }
        }
        let range = lines.map(|(first, last)| format!(":{first}-{last}")).unwrap_or_default();
        self.report.subject = format!("{path}{range}");
        Ok(lines)
    }

    fn is_indexed(&self, path: &str) -> bool {
        self.target.indexed_paths.contains(path)
    }

    fn may_show(&self, path: &str) -> bool {
        self.is_indexed(path)
            || self.target.root.is_public_path(path) && !self.ignore_files.is_ignored(path)
    }

    /// Fails for a path that would be left out, whether the commit has it or not.
    fn check_path(&self, path: &str) -> Readable<()> {
        if self.may_show(path) { Ok(()) } else { Err(LEFT_OUT.into()) }
    }

    fn may_show_change(&self, file: &ChangedFile) -> bool {
        self.may_show(&file.path) && file.old_path.as_ref().is_none_or(|path| self.may_show(path))
    }

    fn report_file(&self, file: ChangedFile) -> FileChangeReport {
        let is_indexed = self.is_indexed(&file.path);
        FileChangeReport::new(file, is_indexed)
    }

    /// Adds a change without secrets to a commit, unless its file would not be indexed.
    fn add_change(
        &mut self,
        report: &mut CommitReport,
        commit: &CommitDetails,
        file: ChangedFile,
        hunks: &[DiffHunk],
    ) {
        if !self.may_show_change(&file) {
            report.note = Some(LEFT_OUT);
            return;
        }
        let censored = self.censor_hunks(commit, &file, hunks);
        report.note = censored.as_ref().err().copied();
        let mut change = self.report_file(file);
        change.diff = censored.unwrap_or_default();
        change.is_cut =
            change.diff.len() > self.max_diff_lines || hunks.iter().any(|hunk| hunk.is_truncated);
        change.diff.truncate(self.max_diff_lines);
        report.change = Some(change);
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
                let (version, number) =
                    if sign == '-' { (before.as_ref(), old) } else { (Some(&after), new) };
                old += u32::from(sign != '+');
                new += u32::from(sign != '-');
                let found = version.and_then(|lines| lines.get(number as usize - 1)).cloned();
                let (mut text, mut marks) = found.unwrap_or_default();
                cut_line(&mut text, &mut marks);
                let marks = marks.iter().map(|mark| (mark.start, mark.end, mark.class.letter()));
                diff.push(DiffLine { sign, number, text, marks: marks.collect() });
            }
        }
        Ok(diff)
    }

    /// Reads the lines of a file in a commit, with marks in place of secrets.
    fn read_censored(&mut self, id: &CommitId, path: &str) -> Result<CommittedLines, &'static str> {
        let found = self.reader.read_file_at(id, path, &self.budget(1));
        let content = found.map_err(|_| "its lines could not be read")?.unwrap_or_default();
        let (text, language) = censor_content(path, &content)?;
        let count = text.split('\n').count();
        // A carriage return alone ends a line of the text, but not one of Git.
        if count != memchr::memchr_iter(b'\n', &content).count() + 1 {
            return Err("its lines are not shown: some end with a carriage return alone");
        }
        let has_time = self.is_for_page && Instant::now() < self.deadline;
        let found = has_time.then(|| highlight_lines(language, &text, 0..count));
        let mut marks = found.unwrap_or_default();
        marks.resize(count, Vec::new());
        Ok(text.split('\n').map(str::to_owned).zip(marks).collect())
    }
}

fn relative_path(root: &Root, path: &str) -> String {
    let below = Path::new(path).strip_prefix(&root.path).ok().and_then(Path::to_str);
    below.unwrap_or(path).to_owned()
}

/// Returns the text of a file with marks in place of secrets, and its language.
fn censor_content(
    path: &str,
    content: &[u8],
) -> Result<(String, Option<&'static Language>), &'static str> {
    if content.len() > MAX_CENSORED_BYTES {
        return Err("its lines are not shown: the file is too large to look for secrets");
    }
    let text = decode_text(content).ok_or("its lines are not shown: no text")?.text;
    let language = detect::detect_language(path, &text);
    let public_text = codeinfo_secrets::censor_text(path, language, &text);
    let censored = public_text.ok_or("its lines are not shown: they may be secrets")?;
    Ok((censored.text.into_owned(), language))
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
