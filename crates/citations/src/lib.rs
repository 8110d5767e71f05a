//! Checks the citations of an answer against the indexed files.
//!
//! The checks: the file exists, it has the lines, the sentence fits the lines, and the lines are
//! unchanged since they were indexed. They run without a model call, in milliseconds.
//!
//! Files are opened beneath their roots, never through a link, and only if the index has a record
//! of them. A file without a record may be a secret: only its existence is checked, and a citation
//! of it is not a fault. Commits are read from Git objects, without running git.
#![warn(missing_docs)]

mod assess;
mod assess_commit;
mod attribution;
mod claims;
mod commits;
mod content;
mod documents;
mod error;
mod fault;
mod fit;
mod html;
mod judge;
mod line_reference;
mod lock;
mod markdown;
mod names;
mod parse;
mod read;
mod resolve;
mod tree;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
    ops::Range,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, LineRange, PathMap, Root, RootFilter};
use codeinfo_embed::{EmbedError, StaticModel};
use codeinfo_store::Store;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Semaphore, oneshot},
    task::spawn_blocking,
    time::timeout,
};

use self::{
    assess::{CitationContext, CitationVerdict, CitedLines},
    attribution::AttributedText,
    commits::{CommitContent, ReadCommit},
    fit::CitedStatement,
    judge::CitedFile,
    markdown::MarkdownPieces,
    parse::CommitReference,
    read::{CurrentFile, FileReadRequest},
    resolve::{FilesByName, LookupOrder, LookupRoots, PathCandidates, PathMeaning, RootFilePath},
};

pub use claims::{CitedExcerpt, Claim, find_words};
pub use commits::{CitedCommit, CommitEvidence};
pub use documents::{
    ChangedLinesPolicy, CheckedDocument, DocumentChecker, DocumentFinding, is_markdown,
};
pub use error::{CiteError, DocumentError};
pub use fault::{CitationFault, CitationState, DocumentCitationState, join_lines};
pub use html::{render_cited_html, render_code_listing, render_html};
pub use lock::LOCK_FILE;
pub use parse::{Citation, CitationCertainty, MAX_CITATIONS, find_citations};
pub use resolve::LookupScope;
pub use tree::{DocumentTree, IgnoreCheck};

/// Maximum answers checked at a time. Each takes a thread, which stays blocked if a folder hangs.
const MAX_CHECKS: usize = 16;
/// Maximum files looked up outside of the index: a text may name many, and there may be many roots.
const MAX_LOOKUPS: usize = 4096;
/// Maximum citations of an answer that are counted, and that are checked.
const MAX_COUNTED: usize = 10_000;
const MAX_CHECKED: usize = 1000;
/// Timeout of a check; a folder on a network may hang.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which comparing stops. The remaining citations are left unchecked.
const MAX_COMPARE_TIME: Duration = Duration::from_secs(5);

/// Maximum missing paths, and commits cited beside each, whose paths are compared.
const MAX_FORMER_PATHS: usize = 50;

/// Number of citations before and after one whose lines are compared with its own.
const NEIGHBOURS: usize = 2;

/// Word vectors built into the binary.
static MODEL: LazyLock<Result<StaticModel, EmbedError>> = LazyLock::new(StaticModel::load);

/// A checked citation. Its field names are part of the wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedCitation<S = CitationState> {
    /// Absolute path as the client sees it, or the path as written if no file was found. For a
    /// commit, `app@1a2b3c4` or `app@1a2b3c4:src/a.rs`.
    pub path: String,
    /// Path relative to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rel_path: Option<String>,
    /// Name of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Line ranges as written; empty for a whole file.
    pub lines: Vec<LineRange>,
    /// Result of the check.
    pub state: S,
    /// Current line ranges of moved content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_to: Vec<LineRange>,
    /// Hash of the current content of the lines, or of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The commit whose file, or which itself, is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CitedCommit>,
    /// Reason for which a commit does not confirm the sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Byte range in the text.
    #[serde(skip)]
    pub range: Range<usize>,
    /// Byte range including the code span or link around it.
    #[serde(skip)]
    pub whole: Range<usize>,
    /// Fault found by the check.
    #[serde(skip)]
    pub fault: Option<CitationFault>,
}

impl<S> CheckedCitation<S> {
    /// Creates a citation of a file that was not found.
    fn new(path: String, lines: Vec<LineRange>, state: S, range: Range<usize>) -> Self {
        Self {
            path,
            rel_path: None,
            repo: None,
            lines,
            state,
            moved_to: Vec::new(),
            hash: None,
            commit: None,
            reason: None,
            whole: range.clone(),
            range,
            fault: None,
        }
    }

    fn from_citation(citation: &Citation, state: S) -> Self {
        let Citation { path, lines, range, whole, .. } = citation;
        Self {
            whole: whole.clone(),
            ..Self::new(path.clone(), lines.clone(), state, range.clone())
        }
    }
}

/// Result of checking the citations of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CitationReport {
    /// Citations in the order of the text.
    pub citations: Vec<CheckedCitation>,
    /// Number of citations left out: the file exists but is not indexed, or the limits of one
    /// answer were reached.
    pub unchecked: usize,
}

/// Describes each faulty citation of `text` for the model, one a line, without duplicates, as in
/// "`app.py:1003-1128`: `handle_exception` is at 960-1001".
pub fn describe_faults(text: &str, report: &CitationReport) -> Vec<String> {
    let mut described = HashSet::new();
    let wrong = report.citations.iter().filter_map(|citation| {
        let written = text.get(citation.range.clone())?.replace('`', "");
        Some(format!("`{written}`: {}", citation.fault.as_ref()?))
    });
    wrong.filter(|line| described.insert(line.clone())).collect()
}

/// Checks answers. Clones share the limit on concurrent checks.
#[derive(Clone)]
pub struct CitationChecker {
    store: Store,
    paths: PathMap,
    permits: Arc<Semaphore>,
}

struct ParsedCitations {
    citations: Vec<Citation>,
    attributed: Vec<AttributedText>,
    statements: Vec<CitedStatement>,
}

impl CitationChecker {
    /// Creates a checker for answers about the contents of `store`.
    pub fn new(store: Store, paths: PathMap) -> Self {
        Self { store, paths, permits: Arc::new(Semaphore::new(MAX_CHECKS)) }
    }

    /// Checks the citations of a text.
    pub async fn check_text(
        &self,
        text: &str,
        scope: &LookupScope,
    ) -> Result<CitationReport, CiteError> {
        self.check_text_with_claims(text, scope, None).await
    }

    /// Checks the citations of a text and sends its claims before the citations are judged.
    pub async fn check_text_with_claims(
        &self,
        text: &str,
        scope: &LookupScope,
        claims: Option<oneshot::Sender<Vec<Claim>>>,
    ) -> Result<CitationReport, CiteError> {
        let pieces = MarkdownPieces::parse(text);
        let mut citations = parse::find_citations_in_pieces(text, &pieces, MAX_COUNTED);
        let uncounted = citations.split_off(citations.len().min(MAX_CHECKED)).len();
        if citations.is_empty() {
            return Ok(CitationReport::default());
        }
        let mut roots = self.store.roots().await?;
        if let RootFilter::Only(only) = scope.within {
            roots.retain(|root| root.id == only);
        }
        let commits = self.read_commits(&mut citations, &roots).await?;
        let (mut meanings, records) = self.resolve_citations(&citations, &roots, scope).await?;
        drop_former_paths(text, &citations, &mut meanings, &commits);
        // Paths that are not citations may be names.
        let (citations, meanings): (Vec<Citation>, Vec<PathMeaning>) = citations
            .into_iter()
            .zip(meanings)
            .filter(|(_, meaning)| *meaning != PathMeaning::NotACitation)
            .unzip();
        let model = MODEL.as_ref().map_err(|_| CiteError::Model)?;
        let attributed = attribution::attribute_text(text, &pieces, &citations);
        let build_statement =
            |attributed| CitedStatement::from_attributed_text(text, &pieces, attributed, model);
        let statements = attributed.iter().map(build_statement).collect();
        let parsed = ParsedCitations { citations, attributed, statements };
        let files = self.read_cited_files(&meanings, &records, &roots).await?;
        let known = self.add_indexed_chunks(files, &records, &roots).await?;
        let paths = self.paths.clone();
        let text = claims.is_some().then(|| text.to_owned());
        let read = ReadPlaces { files: known, commits };
        let judge = move || {
            if let (Some(claims), Some(text)) = (claims, text) {
                let content = |at: usize| Some(&read.find_file(meanings.get(at)?)?.content);
                let found = claims::find_claims(&text, &pieces, &parsed.citations, content);
                // The caller may have stopped waiting for the claims.
                drop(claims.send(found));
            }
            build_report(parsed, meanings, &read, &LookupRoots::new(&roots, &paths), model)
        };
        let mut report = self.run_blocking(judge).await?;
        report.unchecked += uncounted;
        Ok(report)
    }

    /// Reads the cited commits. A citation that names none becomes that of its place.
    async fn read_commits(
        &self,
        citations: &mut Vec<Citation>,
        roots: &[Root],
    ) -> Result<Vec<ReadCommit>, CiteError> {
        let ask =
            |citation: &Citation| Some((citation.commit.clone()?, !citation.lines.is_empty()));
        let asked: Vec<(CommitReference, bool)> = citations.iter().filter_map(ask).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let known = roots.to_vec();
        let commits = self.run_blocking(move || commits::read_commits(&asked, &known)).await?;
        let mut read = commits.into_iter();
        let mut found = Vec::new();
        let keep = |mut citation: Citation| {
            let Some(reference) = &mut citation.commit else { return Some(citation) };
            let Some(commit) = read.next()? else {
                return reference.otherwise.take().map(|place| *place);
            };
            found.push(commit);
            Some(citation)
        };
        *citations = mem::take(citations).into_iter().filter_map(keep).collect();
        Ok(found)
    }

    /// Resolves citations to files and loads the index records of these files.
    async fn resolve_citations(
        &self,
        citations: &[Citation],
        roots: &[Root],
        scope: &LookupScope,
    ) -> Result<(Vec<PathMeaning>, HashMap<RootFilePath, FileRecord>), CiteError> {
        let known = LookupRoots::new(roots, &self.paths);
        let order = LookupOrder::new(scope, &known);
        let mut commits = 0..;
        let asked: Vec<PathCandidates> =
            citations.iter().map(|citation| known.find_candidates(&citation.path)).collect();
        let places = asked.iter().flat_map(PathCandidates::as_slice).cloned();
        let mut records = self.load_file_records(places.collect(), roots).await?;
        let is_indexed = |place: &RootFilePath| records.contains_key(place);
        let asking = || citations.iter().zip(&asked);
        let shown: Vec<Option<PathMeaning>> = asking()
            .map(|(citation, asked)| match citation.commit {
                None => order.find_among_read(&citation.path, asked, is_indexed),
                Some(_) => commits.next().map(PathMeaning::Commit),
            })
            .collect();
        let is_unknown: Vec<bool> = (asked.iter().zip(&shown))
            .map(|(asked, shown)| shown.is_none() && asked.resolve_exact(is_indexed).is_none())
            .collect();
        let left_out = self.find_left_out_files(citations, &asked, &is_unknown, roots).await?;
        let is_left_out = |asked: &PathCandidates| {
            asked.resolve_exact(|place| left_out.contains(place)).is_some()
        };
        let open = asking().zip(&shown).filter(|(_, shown)| shown.is_none());
        let mut named = FilesByName::new(open.map(|((citation, _), _)| citation.path.as_str()));
        if !named.is_empty() {
            for (at, root) in roots.iter().enumerate() {
                named.add_root_files(
                    at,
                    &root.retain_public_files(self.store.files(root.id).await?),
                );
            }
        }
        let mut meanings: Vec<PathMeaning> = (asking().zip(is_unknown).zip(shown))
            .map(|(((citation, asked), is_unknown), shown)| match shown {
                Some(meaning) => meaning,
                None if is_unknown && is_left_out(asked) => PathMeaning::LeftOut,
                None => named.resolve_citation(citation, asked, &order, is_indexed),
            })
            .collect();
        resolve::narrow_meanings(&mut meanings, citations);
        let files = meanings.iter().filter_map(PathMeaning::as_file);
        let missing = files.filter(|place| !records.contains_key(*place)).cloned().collect();
        records.extend(self.load_file_records(missing, roots).await?);
        Ok((meanings, records))
    }

    /// Returns the cited files that exist but have no record in the index.
    async fn find_left_out_files(
        &self,
        citations: &[Citation],
        asked: &[PathCandidates],
        is_unknown: &[bool],
        roots: &[Root],
    ) -> Result<HashSet<RootFilePath>, CiteError> {
        let mut wanted: BTreeMap<usize, (Root, Vec<RootFilePath>)> = BTreeMap::new();
        let unknown = citations.iter().zip(asked).zip(is_unknown).filter(|(_, unknown)| **unknown);
        let named = unknown.filter(|((citation, _), _)| !citation.is_bare());
        let places = named.flat_map(|((_, asked), _)| asked.as_slice());
        for place in places.take(MAX_LOOKUPS) {
            let Some(root) = roots.get(place.0) else { continue };
            let (_, root_places) =
                wanted.entry(place.0).or_insert_with(|| (root.clone(), Vec::new()));
            root_places.push(place.clone());
        }
        if wanted.is_empty() {
            return Ok(HashSet::new());
        }
        self.run_blocking(move || read::find_existing_paths(wanted.into_values())).await
    }

    async fn load_file_records(
        &self,
        places: HashSet<RootFilePath>,
        roots: &[Root],
    ) -> Result<HashMap<RootFilePath, FileRecord>, CiteError> {
        let mut by_root: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (root, path) in places {
            by_root.entry(root).or_default().push(path);
        }
        let mut found = HashMap::new();
        for (at, paths) in by_root {
            let Some(root) = roots.get(at) else { continue };
            for record in root.retain_public_files(self.store.files_at(root.id, paths).await?) {
                found.insert((at, record.path.clone()), record);
            }
        }
        Ok(found)
    }

    async fn read_cited_files(
        &self,
        meanings: &[PathMeaning],
        records: &HashMap<RootFilePath, FileRecord>,
        roots: &[Root],
    ) -> Result<HashMap<RootFilePath, CurrentFile>, CiteError> {
        let mut places: BTreeMap<usize, (Root, Vec<FileReadRequest>)> = BTreeMap::new();
        let mut seen = HashSet::new();
        for place in meanings.iter().filter_map(PathMeaning::as_file) {
            if let (Some(root), Some(record)) = (roots.get(place.0), records.get(place))
                && seen.insert(place.clone())
            {
                let (_, requests) =
                    places.entry(place.0).or_insert_with(|| (root.clone(), Vec::new()));
                requests.push(FileReadRequest { place: place.clone(), record: record.clone() });
            }
        }
        self.run_blocking(move || read::read_files(places.into_values())).await
    }

    /// Adds the indexed chunks of files that have changed since.
    async fn add_indexed_chunks(
        &self,
        files: HashMap<RootFilePath, CurrentFile>,
        records: &HashMap<RootFilePath, FileRecord>,
        roots: &[Root],
    ) -> Result<HashMap<RootFilePath, Option<CitedFile>>, CiteError> {
        let mut known = HashMap::new();
        for (place, file) in files {
            let Some(content) = file.content else {
                known.insert(place, None);
                continue;
            };
            let mut indexed = None;
            if file.is_changed
                && let (Some(record), Some(root)) = (records.get(&place), roots.get(place.0))
            {
                let ids = record.chunk_ids(root.chunk_owner(), 0..record.chunks).collect();
                let chunks = self.store.chunks_by_id(ids).await?;
                indexed = Some(chunks.into_iter().map(|chunk| chunk.record).collect());
            }
            known.insert(place, Some(CitedFile { content, indexed }));
        }
        Ok(known)
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CiteError> {
        let permits = Arc::clone(&self.permits);
        let working = async {
            let permit = permits.acquire_owned().await.map_err(|_| CiteError::Stalled)?;
            let work_with_permit = move || {
                let result = work();
                drop(permit);
                result
            };
            spawn_blocking(work_with_permit).await.map_err(|_| CiteError::Stalled)
        };
        timeout(CHECK_TIMEOUT, working).await.map_err(|_| CiteError::Stalled)?
    }
}

struct ReadPlaces {
    files: HashMap<RootFilePath, Option<CitedFile>>,
    commits: Vec<ReadCommit>,
}

impl ReadPlaces {
    /// Returns the file of a citation; that of the commit, if one is cited.
    fn find_file(&self, meaning: &PathMeaning) -> Option<&CitedFile> {
        if let PathMeaning::Commit(at) = meaning {
            let CommitContent::Files(files) = &*self.commits.get(*at)?.content else { return None };
            return files.first();
        }
        self.files.get(meaning.as_file()?)?.as_ref()
    }
}

/// Drops paths without lines that are not found, if a commit cited in the same paragraph changes or
/// is cited with them: they are about that commit.
fn drop_former_paths(
    text: &str,
    citations: &[Citation],
    meanings: &mut [PathMeaning],
    commits: &[ReadCommit],
) {
    let blank_lines = ["\n\n", "\n\r\n"].into_iter().flat_map(|mark| text.match_indices(mark));
    let mut breaks: Vec<usize> = blank_lines.map(|(at, _)| at).collect();
    breaks.sort_unstable();
    let paragraph = |of: &Citation| breaks.partition_point(|at| *at < of.range.start);
    let cited = citations.iter().zip(&*meanings).filter_map(|(citation, meaning)| match meaning {
        PathMeaning::Commit(at) => Some((paragraph(citation), commits.get(*at)?)),
        _ => None,
    });
    let cited: Vec<(usize, &ReadCommit)> = cited.collect();
    let missing = citations.iter().zip(meanings).filter(|(citation, meaning)| {
        matches!(meaning, PathMeaning::Nothing(_)) && citation.lines.is_empty()
    });
    for (citation, meaning) in missing.take(MAX_FORMER_PATHS) {
        let own = paragraph(citation);
        let mut beside = cited.iter().filter(|(other, _)| *other == own).take(MAX_FORMER_PATHS);
        if beside.any(|(_, commit)| commit.has_path(&citation.path)) {
            *meaning = PathMeaning::NotACitation;
        }
    }
}

fn build_report(
    parsed: ParsedCitations,
    meanings: Vec<PathMeaning>,
    read: &ReadPlaces,
    roots: &LookupRoots<'_>,
    model: &StaticModel,
) -> CitationReport {
    let deadline = Instant::now() + MAX_COMPARE_TIME;
    let is_late = || Instant::now() > deadline;
    let ParsedCitations { citations, attributed, statements } = parsed;
    let contexts: Vec<CitationContext<'_>> = (attributed.iter().zip(&statements))
        .map(|(attributed, statement)| CitationContext { attributed, statement })
        .collect();
    let cited: Vec<Option<CitedLines<'_>>> = (citations.iter().zip(&meanings))
        .zip(&contexts)
        .map(|((citation, meaning), context)| {
            let file = read.find_file(meaning)?;
            (!is_late()).then(|| CitedLines::new(file, &citation.lines, *context, model))
        })
        .collect();
    let mut report = CitationReport::default();
    for (at, (citation, meaning)) in citations.into_iter().zip(meanings).enumerate() {
        let lines = cited.get(at).and_then(Option::as_ref);
        let neighbours = || find_neighbours(&cited, at);
        let checked = match meaning {
            PathMeaning::NotACitation => continue,
            PathMeaning::LeftOut => None,
            PathMeaning::File(_) | PathMeaning::Commit(_) if is_late() => None,
            PathMeaning::Nothing(fault) => Some(build_wrong_citation(&citation, fault)),
            PathMeaning::Several(files) => {
                let fault = roots.build_ambiguous_fault(&files);
                let state = CitationState::Unconfirmed;
                Some(CheckedCitation { state, ..build_wrong_citation(&citation, fault) })
            }
            PathMeaning::Commit(index) => {
                read.commits.get(index).zip(contexts.get(at)).and_then(|(commit, context)| {
                    let root = commit.root.and_then(|root| roots.known.get(root));
                    let repo = root.map(|root| root.name.clone());
                    let cited = lines.map(|lines| (lines, neighbours()));
                    assess_commit::judge_commit(&citation, repo, commit, *context, cited, model)
                })
            }
            PathMeaning::File(place) => {
                let file = read.files.get(&place).map(Option::as_ref);
                let repo = roots.known.get(place.0).map(|root| root.name.clone());
                let path = roots.display_path(&place).to_string_lossy().into_owned();
                let wrong = build_wrong_citation(&citation, CitationFault::Gone);
                let rel_path = Some(place.1);
                let mut checked = CheckedCitation { path, rel_path, repo, ..wrong };
                match (file, lines) {
                    (Some(None), _) => Some(checked),
                    (Some(Some(known)), Some(lines)) => {
                        checked.apply_verdict(lines.judge_citation(&neighbours()), known);
                        Some(checked)
                    }
                    _ => None,
                }
            }
        };
        match checked {
            Some(checked) => report.citations.push(checked),
            None => report.unchecked += 1,
        }
    }
    report
}

fn find_neighbours<'a, 'b>(
    cited: &'a [Option<CitedLines<'b>>],
    at: usize,
) -> Vec<&'a CitedLines<'b>> {
    let from = at.saturating_sub(NEIGHBOURS);
    let near =
        cited.iter().enumerate().skip(from).take_while(|(other, _)| *other <= at + NEIGHBOURS);
    near.filter(|(other, _)| *other != at).filter_map(|(_, lines)| lines.as_ref()).collect()
}

fn build_wrong_citation(citation: &Citation, fault: CitationFault) -> CheckedCitation {
    let wrong = CheckedCitation::from_citation(citation, CitationState::Wrong);
    CheckedCitation { fault: Some(fault), ..wrong }
}

impl CheckedCitation {
    /// Describes the state, with the reason if there is one.
    pub fn describe_state(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})"));
        self.state.as_str().to_owned() + &reason.unwrap_or_default()
    }

    fn apply_verdict(&mut self, verdict: CitationVerdict, known: &CitedFile) {
        let (state, fault, moved_to) = match verdict {
            CitationVerdict::Confirmed => (CitationState::Confirmed, None, Vec::new()),
            CitationVerdict::Unconfirmed => (CitationState::Unconfirmed, None, Vec::new()),
            CitationVerdict::Wrong(fault, to) => (CitationState::Wrong, Some(fault), to),
            CitationVerdict::Changed(fault, to) => (CitationState::Unconfirmed, Some(fault), to),
        };
        self.hash = known.content.hash_lines(&self.lines);
        (self.state, self.fault, self.moved_to) = (state, fault, moved_to);
    }
}
