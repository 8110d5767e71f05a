//! Checks documents of a work tree: the lines and files that they cite, and where their links lead.
//!
//! Works on files alone, without an index. What cited lines stood for is in a lock file of the work tree, so
//! that lines which moved are distinguished from those that changed.

mod edit;
mod error;
mod links;
mod mend;
mod places;
mod settle;
mod target;

use std::{collections::BTreeMap, io, sync::Arc};

use codeinfo_core::LineRange;
use serde::Serialize;

pub use error::DocumentError;
pub use links::is_markdown;

use self::{
    edit::Edit,
    links::{Leads, Links},
    mend::{Alone, Change},
    places::Places,
    settle::Settled,
    target::Target,
};
use super::{
    Checked, State,
    content::Content,
    judge::{self, Known},
    lock::{Key, LOCK_FILE, Lock},
    markdown::Page,
    parse::{self, Citation},
    pieces::Pieces,
    said::{self, Said},
    tree::Tree,
};

/// Further citations of one document are not read.
const MAX_CITATIONS: usize = 10_000;

/// A citation or a link of a document that was checked. Field names are a wire promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Path of the document below the root.
    pub document: String,
    /// Its line there, counted from 1.
    pub line: usize,
    /// Its column in characters, counted from 1.
    pub column: usize,
    /// What was found out.
    #[serde(flatten)]
    pub checked: Checked<State>,
    /// What is wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether mending the document or the lock file puts it right.
    #[serde(skip)]
    pub is_mendable: bool,
    /// As it stands in the document.
    #[serde(skip)]
    pub written: String,
}

/// A document that was checked.
#[derive(Debug)]
pub struct Examined {
    /// In order of the text.
    pub findings: Vec<Finding>,
    /// How many citations are of files that are there and not read.
    pub unchecked: usize,
    /// How many citations the lock file lacks.
    pub unlocked: usize,
    document: String,
    text: String,
    edits: Vec<Edit>,
    /// What the lock is to have of it when it was mended.
    entries: BTreeMap<Key, String>,
    /// What it keeps of lines that people have to look at, whatever moved to the same lines.
    kept: BTreeMap<Key, String>,
}

/// Whether changed lines are accepted as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnChange {
    /// People have to look.
    Report,
    /// They have.
    Accept,
}

/// The documents of a work tree.
pub struct Documents {
    tree: Tree,
    lock: Lock,
    /// As it is on disk.
    stored: Lock,
    links: Links,
    on_change: OnChange,
    with_hashes: bool,
    _alone: Option<Alone>,
}

/// A document that was read, before anything is looked up.
struct Reading<'a> {
    document: &'a str,
    text: &'a str,
    page: Page,
    places: Places,
}

/// A citation with what is known of it.
struct Case<'a> {
    citation: &'a Citation,
    said: &'a Said,
    fits: bool,
    in_link: bool,
}

impl Documents {
    /// Reads the lock file of a tree, if it has one.
    pub fn open(tree: Tree, on_change: OnChange) -> Result<Self, DocumentError> {
        let lock = match tree.text(LOCK_FILE) {
            Ok(text) => Lock::read(&text).map_err(|line| DocumentError::Lock { line })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Lock::default(),
            Err(source) => return Err(DocumentError::Read { path: LOCK_FILE.to_owned(), source }),
        };
        let stored = lock.clone();
        let links = Links::default();
        Ok(Self { tree, lock, stored, links, on_change, with_hashes: false, _alone: None })
    }

    /// The same to mend them afterwards, which is for one at a time.
    pub fn open_to_mend(tree: Tree, on_change: OnChange) -> Result<Self, DocumentError> {
        let alone = Some(Alone::new(&tree.root)?);
        Ok(Self { _alone: alone, ..Self::open(tree, on_change)? })
    }

    /// Has what stands in cited lines named.
    #[must_use]
    pub fn with_hashes(self) -> Self {
        Self { with_hashes: true, ..self }
    }

    /// Checks a document, by its path below the root.
    pub fn examine(&mut self, document: &str) -> Result<Examined, DocumentError> {
        let path = document.to_owned();
        let text = self.tree.text(document);
        let text = text.map_err(|source| DocumentError::Read { path, source })?;
        self.lock.settle(document, &mend::name(&text));
        let reading =
            Reading { document, text: &text, page: Page::of(&text), places: Places::of(&text) };
        let mut examined = Examined {
            findings: Vec::new(),
            unchecked: 0,
            unlocked: 0,
            document: document.to_owned(),
            text: String::new(),
            edits: Vec::new(),
            entries: BTreeMap::new(),
            kept: BTreeMap::new(),
        };
        let checked_links = self.citations(&reading, &mut examined);
        self.links(&reading, &checked_links, &mut examined);
        examined.findings.sort_by_key(|finding| (finding.line, finding.column));
        examined.text = text;
        Ok(examined)
    }

    /// Checks the citations; returns where those stand that are targets of links, in order.
    fn citations(&self, reading: &Reading<'_>, examined: &mut Examined) -> Vec<usize> {
        let (text, whole) = (reading.text, Pieces::of(reading.text));
        let (mut citations, mut targets) = (Vec::new(), Vec::new());
        for citation in parse::found_in(text, &whole, MAX_CITATIONS) {
            let in_link = is_in_link(text, &citation);
            // A link to a whole file is followed as others are.
            if reading.page.leaves_out(citation.range.start) || in_link && citation.lines.is_empty()
            {
                continue;
            }
            let target = target::of(&self.tree, reading.document, &citation, in_link);
            if target != Target::Unmeant {
                citations.push(citation);
                targets.push(target);
            }
        }
        let said = said::said(text, &whole, &citations);
        let known: Vec<Option<Arc<Known>>> =
            targets.iter().map(|target| self.known(target)).collect();
        let content = |at: usize| known.get(at)?.as_deref().map(|known| &known.content);
        let fits = judge::fitting(&citations, &said, content);
        let mut links = Vec::new();
        for (((citation, said), target), known) in
            citations.iter().zip(&said).zip(&targets).zip(&known)
        {
            let in_link = is_in_link(text, citation);
            if in_link {
                links.push(citation.range.start);
            }
            let case = Case { citation, said, fits: fits.contains(&said.group), in_link };
            match (target, known) {
                (Target::File(path), Some(known)) => {
                    self.of_file(reading, &case, (path, known), examined);
                }
                (Target::Gone(paths), _) => self.of_gone(reading, &case, paths, examined),
                _ => examined.unchecked += 1,
            }
        }
        links
    }

    fn known(&self, target: &Target) -> Option<Arc<Known>> {
        match target {
            Target::File(path) => self.tree.known(path),
            Target::LeftOut | Target::Gone(_) | Target::Unmeant => None,
        }
    }

    /// Checks a citation of a file that is there.
    fn of_file(
        &self,
        reading: &Reading<'_>,
        case: &Case<'_>,
        (path, known): (&str, &Known),
        examined: &mut Examined,
    ) {
        let (citation, content) = (case.citation, &known.content);
        let lines = &citation.lines;
        let is_hashed = self.with_hashes || !lines.is_empty();
        if is_hashed && !self.tree.may_hash(content.size(lines)) {
            self.keep_entries(path, lines, examined);
            examined.unchecked += 1;
            return;
        }
        let by_lock = settle::by_lock(&self.lock, (reading.document, path), lines, content);
        let is_new = by_lock.is_none() && !lines.is_empty();
        let mut settled =
            by_lock.unwrap_or_else(|| settle::by_names(known, citation, case.said, case.fits));
        let is_accepted = settled.state == State::Changed
            && self.on_change == OnChange::Accept
            && lines.iter().all(|range| content.has(*range));
        let mut named = lines.clone();
        if settled.is_mendable {
            let (edits, lines) = edit::lines(citation, &settled.moved_to);
            examined.edits.extend(edits);
            named = lines;
        }
        if settled.state == State::Verified || settled.is_mendable || is_accepted {
            examined.take_entries(path, content, &named);
            examined.unlocked += usize::from(is_new);
        } else {
            self.keep_entries(path, lines, examined);
        }
        settled.is_mendable |= is_accepted;
        let found = Checked {
            rel_path: Some(path.to_owned()),
            path: self.tree.root.join(path).to_string_lossy().into_owned(),
            repo: self.tree.name(),
            hash: self.with_hashes.then(|| content.hash(lines)).flatten(),
            ..checked(citation)
        };
        examined.findings.push(reading.finding(found, settled, reading.written(citation)));
    }

    /// Checks a citation of a file that is not there: what it stood for may be elsewhere.
    fn of_gone(
        &self,
        reading: &Reading<'_>,
        case: &Case<'_>,
        paths: &[String],
        examined: &mut Examined,
    ) {
        let (citation, lines) = (case.citation, &case.citation.lines);
        let entries = |path: &&String| -> Option<Vec<&str>> {
            lines.iter().map(|range| self.lock.get(reading.document, path, *range)).collect()
        };
        let locked = paths.iter().find(|path| !lines.is_empty() && entries(path).is_some());
        let end = || self.lock.ending(reading.document, &citation.path, lines);
        let locked = locked.cloned().or_else(end);
        if locked.is_none()
            && !target::is_sure(&self.tree, reading.document, citation, case.in_link)
        {
            return;
        }
        let mut settled = Settled {
            state: State::Missing,
            message: Some(links::no_file(&self.tree, &citation.path)),
            moved_to: Vec::new(),
            is_mendable: false,
        };
        if let Some(path) = &locked {
            let moved = self.moved(path, lines, &entries(&path).unwrap_or_default());
            if let Some((to, ranges)) = moved {
                let mended = self.mended(reading, case, (path, &to, &ranges), examined);
                let place = format!("moved to {to}:{}", super::fault::join_lines(&ranges));
                settled = Settled {
                    state: State::Moved,
                    message: Some(place),
                    moved_to: ranges,
                    is_mendable: mended,
                };
            }
            if !settled.is_mendable {
                self.keep_entries(path, lines, examined);
            }
        }
        examined.findings.push(reading.finding(
            checked(citation),
            settled,
            reading.written(citation),
        ));
    }

    /// Finds the one file that has now what stood in the lines of another.
    fn moved(
        &self,
        path: &str,
        lines: &[LineRange],
        entries: &[&str],
    ) -> Option<(String, Vec<LineRange>)> {
        let mut found = lines.iter().zip(entries).map(|(range, entry)| {
            let more = range.last.checked_sub(range.first)?;
            self.tree.found(path, entry, more.saturating_add(1))
        });
        let (to, first) = found.next()??;
        let mut ranges = vec![first];
        for place in found {
            let (file, range) = place?;
            if file != to {
                return None;
            }
            ranges.push(range);
        }
        Some((to, ranges))
    }

    /// Has a citation name another file and lines there; returns whether it can.
    fn mended(
        &self,
        reading: &Reading<'_>,
        case: &Case<'_>,
        (from, to, ranges): (&str, &str, &[LineRange]),
        examined: &mut Examined,
    ) -> bool {
        let citation = case.citation;
        let written = reading.text.get(citation.written.clone()).unwrap_or_default();
        let folder = target::folder(reading.document);
        let paths = target::candidates(reading.document, &citation.path);
        let text = if written.starts_with('/') {
            format!("/{to}")
        } else if case.in_link || paths.first().is_some_and(|path| path == from) {
            target::relative(folder, to)
        } else {
            to.to_owned()
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/@+".contains(c);
        let Some(known) = self.tree.known(to) else { return false };
        if written != citation.path || !text.chars().all(is_plain) {
            return false;
        }
        let (edits, named) = edit::lines(citation, ranges);
        examined.edits.push(Edit { range: citation.written.clone(), text });
        examined.edits.extend(edits);
        examined.take_entries(to, &known.content, &named);
        true
    }

    /// Keeps what the lock has of lines that people have to look at.
    fn keep_entries(&self, path: &str, lines: &[LineRange], examined: &mut Examined) {
        for range in lines {
            if let Some(entry) = self.lock.get(&examined.document, path, *range) {
                let entry = entry.to_owned();
                examined.kept.insert(examined.key(path, *range), entry);
            }
        }
    }

    fn links(&self, reading: &Reading<'_>, done: &[usize], examined: &mut Examined) {
        for link in &reading.page.links {
            let next = done.partition_point(|at| *at < link.range.start);
            let is_done = done.get(next).is_some_and(|at| *at < link.range.end);
            if is_done || reading.page.leaves_out(link.range.start) {
                continue;
            }
            let leads =
                self.links.follow(&self.tree, reading.document, &reading.page, &link.target);
            let (state, message, found) = match leads {
                Leads::Elsewhere => continue,
                Leads::To(path) => (State::Verified, None, Some(path)),
                Leads::Nowhere(why) => (State::Missing, Some(why), None),
            };
            let absolute = found.as_ref().map(|path| self.tree.root.join(path));
            let found = Checked {
                path: absolute.map_or_else(
                    || link.target.clone(),
                    |path| path.to_string_lossy().into_owned(),
                ),
                repo: found.is_some().then(|| self.tree.name()).flatten(),
                rel_path: found,
                lines: Vec::new(),
                state,
                moved_to: Vec::new(),
                hash: None,
                range: link.range.clone(),
                whole: link.range.clone(),
                fault: None,
            };
            let settled = Settled { state, message, moved_to: Vec::new(), is_mendable: false };
            examined.findings.push(reading.finding(found, settled, link.target.clone()));
        }
    }

    /// Writes the documents whose citations moved, and the lock file; returns what could not be written.
    pub fn mend(self, examined: Vec<Examined>) -> Vec<DocumentError> {
        let change = |Examined { document, text, edits, mut entries, kept, .. }| {
            entries.extend(kept);
            Change { document, text, edits, entries }
        };
        let changes = examined.into_iter().map(change).collect();
        mend::mend(&self.tree, &self.stored, &self.lock, changes)
    }
}

impl Reading<'_> {
    /// Says where something that was found out stands in the document.
    fn finding(&self, found: Checked<State>, settled: Settled, written: String) -> Finding {
        let (line, column) = self.places.line_and_column(self.text, found.range.start);
        let Settled { state, message, moved_to, is_mendable } = settled;
        Finding {
            document: self.document.to_owned(),
            line,
            column,
            checked: Checked { state, moved_to, ..found },
            message,
            is_mendable,
            written,
        }
    }

    fn written(&self, citation: &Citation) -> String {
        self.text.get(citation.range.clone()).unwrap_or_default().replace('`', "")
    }
}

impl Examined {
    fn key(&self, path: &str, lines: LineRange) -> Key {
        Key { document: self.document.clone(), path: path.to_owned(), lines }
    }

    /// Takes what lines have now for what they stand for.
    fn take_entries(&mut self, path: &str, content: &Content, lines: &[LineRange]) {
        for range in lines {
            if let Some(fingerprint) = content.fingerprint(*range) {
                let key = self.key(path, *range);
                self.entries.insert(key, fingerprint);
            }
        }
    }
}

/// Whether a citation is the target of a link.
fn is_in_link(text: &str, citation: &Citation) -> bool {
    text.get(..citation.written.start).is_some_and(|before| before.ends_with("]("))
}

/// Returns a citation before anything is known of it.
fn checked(citation: &Citation) -> Checked<State> {
    Checked {
        path: citation.path.clone(),
        rel_path: None,
        repo: None,
        lines: citation.lines.clone(),
        state: State::Missing,
        moved_to: Vec::new(),
        hash: None,
        range: citation.range.clone(),
        whole: citation.whole.clone(),
        fault: None,
    }
}
