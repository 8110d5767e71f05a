//! Checks the citations of an answer: the file is there, the lines are in it, what is said of them stands
//! there, and it is as it was indexed.
//!
//! Mechanical, without a model, in milliseconds. Files are opened beneath their roots, never through a
//! link, and only those that the index has a record of: what it leaves out may be a secret, so that no more
//! is found out about it than whether it is there, and a citation of it is no fault.
//! Deliberately absent: asking the model again, and striking out; those belong to the turn.
#![warn(missing_docs)]

mod assess;
mod claims;
mod content;
mod documents;
mod error;
mod fault;
mod fit;
mod html;
mod judge;
mod lines;
mod lock;
mod markdown;
mod names;
mod parse;
mod pieces;
mod read;
mod resolve;
mod said;
mod state;
mod statement;
mod tree;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, LineRange, PathMap, Root, Within};
use codeinfo_embed::{EmbedError, StaticModel};
use codeinfo_store::Store;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Semaphore, oneshot},
    task::spawn_blocking,
    time::timeout,
};

use self::{
    assess::{About, CitedLines, Verdict},
    judge::Known,
    pieces::Pieces,
    read::{File, Wanted},
    resolve::{Asked, LookupOrder, Meaning, Named, Place, Roots},
    said::Said,
    statement::CitedStatement,
};

pub use claims::find_words;
pub use claims::{Claim, Excerpt};
pub use documents::{DocumentError, Documents, Examined, Finding, OnChange, is_markdown};
pub use error::CiteError;
pub use fault::{Fault, join_lines};
pub use html::{cited_html, found_html, html};
pub use lock::LOCK_FILE;
pub use parse::{Certainty, Citation, MAX_CITATIONS, citations};
pub use resolve::LookupScope;
pub use state::{CitationState, State};
pub use tree::{IsIgnored, Tree};

/// So many answers are checked at a time: each takes a thread, for ever if a folder hangs.
const MAX_CHECKS: usize = 16;
/// More files are not looked for outside of the index: a text may name many, and there may be many roots.
const MAX_LOOKUPS: usize = 4096;
/// So many citations of an answer are counted, and so many of them checked.
const MAX_FOUND: usize = 10_000;
const MAX_CHECKED: usize = 1000;
/// A check is given up after this; a folder on a network may hang.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Comparing stops after this; citations that are left are unchecked.
const COMPARING: Duration = Duration::from_secs(5);

/// Citations before and after one that its lines are compared with.
const NEIGHBOURS: usize = 2;

/// The vectors of words, from the binary.
static MODEL: LazyLock<Result<StaticModel, EmbedError>> = LazyLock::new(StaticModel::load);

/// A citation that was checked. Field names are a wire promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked<S = CitationState> {
    /// Absolute path as the client sees it; as it is written where no file is meant.
    pub path: String,
    /// Path below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rel_path: Option<String>,
    /// Name of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// As they are written; none for a whole file.
    pub lines: Vec<LineRange>,
    /// What became of it.
    pub state: S,
    /// The right lines of what has moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved_to: Vec<LineRange>,
    /// Names what stands in these lines now, or in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its bytes in the text.
    #[serde(skip)]
    pub range: Range<usize>,
    /// The same with the code span or link around it.
    #[serde(skip)]
    pub whole: Range<usize>,
    /// What is wrong with it.
    #[serde(skip)]
    pub fault: Option<Fault>,
}

/// What was found out about the citations of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// In order of the text.
    pub citations: Vec<Checked>,
    /// How many were left out: their files are there and not in the index, or checking the others took all
    /// that one answer may cost.
    pub unchecked: usize,
}

/// Says for the model what is wrong with each faulty citation of `text`, one a line, such as
/// "`app.py:1003-1128`: `handle_exception` is at 960-1001".
pub fn faults(text: &str, report: &Report) -> Vec<String> {
    let mut said = HashSet::new();
    let wrong = report.citations.iter().filter_map(|one| {
        let written = text.get(one.range.clone())?.replace('`', "");
        Some(format!("`{written}`: {}", one.fault.as_ref()?))
    });
    wrong.filter(|line| said.insert(line.clone())).collect()
}

/// Checks answers. Clones share how many are checked at a time.
#[derive(Clone)]
pub struct Checker {
    store: Store,
    paths: PathMap,
    room: Arc<Semaphore>,
}

/// A text whose citations have been read, before anything is looked up.
struct Reading {
    citations: Vec<Citation>,
    said: Vec<Said>,
    statements: Vec<CitedStatement>,
}

impl Checker {
    /// Makes a checker of answers about what `store` holds.
    pub fn new(store: Store, paths: PathMap) -> Self {
        Self { store, paths, room: Arc::new(Semaphore::new(MAX_CHECKS)) }
    }

    /// Checks the citations of a text.
    pub async fn check(&self, text: &str, scope: &LookupScope) -> Result<Report, CiteError> {
        self.check_beside(text, scope, None).await
    }

    /// Checks them, and sends the claims of the text once its files are read, before they are judged.
    pub async fn check_beside(
        &self,
        text: &str,
        scope: &LookupScope,
        claims: Option<oneshot::Sender<Vec<Claim>>>,
    ) -> Result<Report, CiteError> {
        let whole = Pieces::of(text);
        let mut citations = parse::found_in(text, &whole, MAX_FOUND);
        let more = citations.split_off(citations.len().min(MAX_CHECKED)).len();
        if citations.is_empty() {
            return Ok(Report::default());
        }
        let mut roots = self.store.roots().await?;
        if let Within::Only(only) = scope.within {
            roots.retain(|root| root.id == only);
        }
        let (meanings, records) = self.meanings(&citations, &roots, scope).await?;
        // What is no citation may be a name.
        let (citations, meanings): (Vec<Citation>, Vec<Meaning>) = citations
            .into_iter()
            .zip(meanings)
            .filter(|(_, meaning)| *meaning != Meaning::Unmeant)
            .unzip();
        let model = MODEL.as_ref().map_err(|_| CiteError::Model)?;
        let said = said::said(text, &whole, &citations);
        let read = |said| CitedStatement::read(text, &whole, said, model);
        let statements = said.iter().map(read).collect();
        let reading = Reading { citations, said, statements };
        let files = self.read(&meanings, &records, &roots).await?;
        let known = self.known(files, &records, &roots).await?;
        let paths = self.paths.clone();
        let text = claims.is_some().then(|| text.to_owned());
        let judge = move || {
            if let (Some(claims), Some(text)) = (claims, text) {
                let content = |at: usize| {
                    let place = meanings.get(at).and_then(Meaning::file)?;
                    Some(&known.get(place)?.as_ref()?.content)
                };
                let found = claims::find_claims(&text, &whole, &reading.citations, content);
                // The caller may wait for the report alone by now.
                drop(claims.send(found));
            }
            report(reading, meanings, &known, &Roots::new(&roots, &paths), model)
        };
        let mut report = self.blocking(judge).await?;
        report.unchecked += more;
        Ok(report)
    }

    /// Finds out which files are meant, and what the index has of them.
    async fn meanings(
        &self,
        citations: &[Citation],
        roots: &[Root],
        scope: &LookupScope,
    ) -> Result<(Vec<Meaning>, HashMap<Place, FileRecord>), CiteError> {
        let known = Roots::new(roots, &self.paths);
        let order = LookupOrder::new(scope, &known);
        let asked: Vec<Asked> = citations.iter().map(|one| known.asked(&one.path)).collect();
        let places = asked.iter().flat_map(Asked::places).cloned();
        let mut records = self.records(places.collect(), roots).await?;
        let is_indexed = |place: &Place| records.contains_key(place);
        let asking = || citations.iter().zip(&asked);
        let shown: Vec<Option<Meaning>> = asking()
            .map(|(citation, asked)| order.find_shown(&citation.path, asked, is_indexed))
            .collect();
        let is_unknown: Vec<bool> = (asked.iter().zip(&shown))
            .map(|(asked, shown)| shown.is_none() && asked.exact(is_indexed).is_none())
            .collect();
        let left_out = self.left_out(citations, &asked, &is_unknown, roots).await?;
        let is_left_out = |asked: &Asked| asked.exact(|place| left_out.contains(place)).is_some();
        let open = asking().zip(&shown).filter(|(_, shown)| shown.is_none());
        let mut named = Named::new(open.map(|((citation, _), _)| citation.path.as_str()));
        if !named.is_empty() {
            for (at, root) in roots.iter().enumerate() {
                named.add(at, &root.public(self.store.files(root.id).await?));
            }
        }
        let mut meanings: Vec<Meaning> = (asking().zip(is_unknown).zip(shown))
            .map(|(((citation, asked), is_unknown), shown)| match shown {
                Some(meaning) => meaning,
                None if is_unknown && is_left_out(asked) => Meaning::LeftOut,
                None => named.meaning(citation, asked, &order, is_indexed),
            })
            .collect();
        resolve::narrow(&mut meanings, citations);
        let missing = meanings.iter().filter_map(Meaning::file);
        let missing = missing.filter(|place| !records.contains_key(*place)).cloned().collect();
        records.extend(self.records(missing, roots).await?);
        Ok((meanings, records))
    }

    /// Returns the files that are there among those which citations mean, and the index has no record of.
    async fn left_out(
        &self,
        citations: &[Citation],
        asked: &[Asked],
        is_unknown: &[bool],
        roots: &[Root],
    ) -> Result<HashSet<Place>, CiteError> {
        let mut wanted: BTreeMap<usize, (Root, Vec<Place>)> = BTreeMap::new();
        let unknown = citations.iter().zip(asked).zip(is_unknown).filter(|(_, unknown)| **unknown);
        let named = unknown.filter(|((citation, _), _)| !citation.is_bare());
        let places = named.flat_map(|((_, asked), _)| asked.places());
        for place in places.take(MAX_LOOKUPS) {
            let Some(root) = roots.get(place.0) else { continue };
            let of_root = wanted.entry(place.0).or_insert_with(|| (root.clone(), Vec::new()));
            of_root.1.push(place.clone());
        }
        if wanted.is_empty() {
            return Ok(HashSet::new());
        }
        self.blocking(move || read::present(wanted.into_values())).await
    }

    /// Reads the records of files.
    async fn records(
        &self,
        places: HashSet<Place>,
        roots: &[Root],
    ) -> Result<HashMap<Place, FileRecord>, CiteError> {
        let mut by_root: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (root, path) in places {
            by_root.entry(root).or_default().push(path);
        }
        let mut found = HashMap::new();
        for (at, paths) in by_root {
            let Some(root) = roots.get(at) else { continue };
            for record in root.public(self.store.files_at(root.id, paths).await?) {
                found.insert((at, record.path.clone()), record);
            }
        }
        Ok(found)
    }

    async fn read(
        &self,
        meanings: &[Meaning],
        records: &HashMap<Place, FileRecord>,
        roots: &[Root],
    ) -> Result<HashMap<Place, File>, CiteError> {
        let mut places: BTreeMap<usize, (Root, Vec<Wanted>)> = BTreeMap::new();
        let mut seen = HashSet::new();
        for place in meanings.iter().filter_map(Meaning::file) {
            if let (Some(root), Some(record)) = (roots.get(place.0), records.get(place))
                && seen.insert(place.clone())
            {
                let of_root = places.entry(place.0).or_insert_with(|| (root.clone(), Vec::new()));
                of_root.1.push(Wanted { place: place.clone(), record: record.clone() });
            }
        }
        self.blocking(move || read::files(places.into_values())).await
    }

    /// Adds what was indexed of files that have changed since.
    async fn known(
        &self,
        files: HashMap<Place, File>,
        records: &HashMap<Place, FileRecord>,
        roots: &[Root],
    ) -> Result<HashMap<Place, Option<Known>>, CiteError> {
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
                let ids = record.chunk_ids(root.owner(), 0..record.chunks).collect();
                let chunks = self.store.chunks_by_id(ids).await?;
                indexed = Some(chunks.into_iter().map(|chunk| chunk.record).collect());
            }
            known.insert(place, Some(Known { content, indexed }));
        }
        Ok(known)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CiteError> {
        let room = Arc::clone(&self.room);
        let working = async {
            let room = room.acquire_owned().await.map_err(|_| CiteError::Stalled)?;
            let held = move || {
                let done = work();
                drop(room);
                done
            };
            spawn_blocking(held).await.map_err(|_| CiteError::Stalled)
        };
        timeout(TIMEOUT, working).await.map_err(|_| CiteError::Stalled)?
    }
}

/// Judges every citation, in order.
fn report(
    reading: Reading,
    meanings: Vec<Meaning>,
    known: &HashMap<Place, Option<Known>>,
    roots: &Roots<'_>,
    model: &StaticModel,
) -> Report {
    let until = Instant::now() + COMPARING;
    let is_late = || Instant::now() > until;
    let Reading { citations, said, statements } = reading;
    let cited: Vec<Option<CitedLines<'_>>> = (citations.iter().zip(&meanings))
        .zip(said.iter().zip(&statements))
        .map(|((citation, meaning), (said, statement))| {
            let known = known.get(meaning.file()?)?.as_ref()?;
            let about = About { said, statement };
            (!is_late()).then(|| CitedLines::read(known, &citation.lines, about, model))
        })
        .collect();
    let mut report = Report::default();
    for (at, (citation, meaning)) in citations.into_iter().zip(meanings).enumerate() {
        let place = match meaning {
            Meaning::Unmeant => continue,
            Meaning::File(_) if is_late() => {
                report.unchecked += 1;
                continue;
            }
            Meaning::LeftOut => {
                report.unchecked += 1;
                continue;
            }
            Meaning::Nothing(fault) => {
                report.citations.push(unknown(citation, fault));
                continue;
            }
            Meaning::Several(files) => {
                let fault = roots.ambiguous(&files);
                let state = CitationState::Unconfirmed;
                report.citations.push(Checked { state, ..unknown(citation, fault) });
                continue;
            }
            Meaning::File(place) => place,
        };
        let mut checked = Checked {
            path: roots.shown(&place).to_string_lossy().into_owned(),
            repo: roots.known.get(place.0).map(|root| root.name.clone()),
            ..unknown(citation, Fault::Gone)
        };
        match (known.get(&place), cited.get(at).and_then(Option::as_ref)) {
            (Some(None), _) => {}
            (Some(Some(known)), Some(lines)) => {
                checked.take(lines.judge(&neighbours(&cited, at)), known);
            }
            _ => {
                report.unchecked += 1;
                continue;
            }
        }
        checked.rel_path = Some(place.1);
        report.citations.push(checked);
    }
    report
}

/// Returns the citations before and after the one at a place.
fn neighbours<'a, 'b>(cited: &'a [Option<CitedLines<'b>>], at: usize) -> Vec<&'a CitedLines<'b>> {
    let from = at.saturating_sub(NEIGHBOURS);
    let near =
        cited.iter().enumerate().skip(from).take_while(|(other, _)| *other <= at + NEIGHBOURS);
    near.filter(|(other, _)| *other != at).filter_map(|(_, lines)| lines.as_ref()).collect()
}

fn unknown(citation: Citation, fault: Fault) -> Checked {
    let Citation { range, whole, path, lines, .. } = citation;
    Checked {
        path,
        rel_path: None,
        repo: None,
        lines,
        state: CitationState::Wrong,
        moved_to: Vec::new(),
        hash: None,
        range,
        whole,
        fault: Some(fault),
    }
}

impl Checked {
    fn take(&mut self, verdict: Verdict, known: &Known) {
        let (state, fault, moved_to) = match verdict {
            Verdict::Confirmed => (CitationState::Confirmed, None, Vec::new()),
            Verdict::Unconfirmed => (CitationState::Unconfirmed, None, Vec::new()),
            Verdict::Wrong(fault, to) => (CitationState::Wrong, Some(fault), to),
            Verdict::Changed(fault, to) => (CitationState::Unconfirmed, Some(fault), to),
        };
        self.hash = known.content.hash(&self.lines);
        (self.state, self.fault, self.moved_to) = (state, fault, moved_to);
    }
}
