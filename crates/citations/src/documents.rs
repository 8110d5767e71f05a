//! Checks the documents of a work tree: the lines and files that they cite, and the targets of
//! their links.
//!
//! Works on files alone, without an index. A lock file in the work tree records the content of
//! cited lines, which distinguishes moved lines from changed ones.

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
    edit::DocumentEdit,
    links::{LinkChecker, LinkTarget},
    mend::{DocumentChange, FixLock},
    places::LineColumnIndex,
    settle::CitationOutcome,
    target::PathTarget,
};
use super::{
    CheckedCitation, DocumentCitationState,
    content::CitedFileText,
    judge::{self, CitedFile},
    lock::{CitationLock, CitationLockKey, LOCK_FILE},
    markdown::MarkdownPage,
    parse::{self, Citation},
    pieces::MarkdownPieces,
    said::{self, AttributedText},
    tree::DocumentTree,
};

/// Maximum citations read of one document.
const MAX_CITATIONS: usize = 10_000;

/// A checked citation or link of a document. Its field names are part of the wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentFinding {
    /// Path of the document relative to the root.
    pub document: String,
    /// Line in the document, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Result of the check.
    #[serde(flatten)]
    pub checked: CheckedCitation<DocumentCitationState>,
    /// Description of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Set if rewriting the document or the lock file fixes the fault.
    #[serde(skip)]
    pub is_mendable: bool,
    /// Citation or link target as written in the document.
    #[serde(skip)]
    pub written: String,
}

/// A checked document.
#[derive(Debug)]
pub struct CheckedDocument {
    /// Findings in the order of the text.
    pub findings: Vec<DocumentFinding>,
    /// Number of citations of files that exist but are not read.
    pub unchecked: usize,
    /// Number of citations missing from the lock file.
    pub unlocked: usize,
    document: String,
    text: String,
    edits: Vec<DocumentEdit>,
    /// Lock entries of the document after the fixes.
    entries: BTreeMap<CitationLockKey, String>,
    /// Lock entries of lines that people have to review. They win over entries of lines that moved
    /// to the same place.
    kept: BTreeMap<CitationLockKey, String>,
}

/// Policy for changed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedLinesPolicy {
    /// Report them for review.
    Report,
    /// Accept them as reviewed.
    Accept,
}

/// Checks the documents of a work tree.
pub struct DocumentChecker {
    tree: DocumentTree,
    lock: CitationLock,
    stored: CitationLock,
    links: LinkChecker,
    on_change: ChangedLinesPolicy,
    with_hashes: bool,
    _alone: Option<FixLock>,
}

/// A parsed document, before any lookup.
struct ParsedDocument<'a> {
    document: &'a str,
    text: &'a str,
    page: MarkdownPage,
    places: LineColumnIndex,
}

/// A citation with its names and its context.
struct DocumentCitation<'a> {
    citation: &'a Citation,
    attributed: &'a AttributedText,
    fits: bool,
    in_link: bool,
}

impl DocumentChecker {
    /// Opens a tree and reads its lock file, if it has one.
    pub fn open(tree: DocumentTree, on_change: ChangedLinesPolicy) -> Result<Self, DocumentError> {
        let lock = match tree.read_text(LOCK_FILE) {
            Ok(text) => CitationLock::parse(&text).map_err(|line| DocumentError::Lock { line })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => CitationLock::default(),
            Err(source) => return Err(DocumentError::Read { path: LOCK_FILE.to_owned(), source }),
        };
        let stored = lock.clone();
        let links = LinkChecker::default();
        Ok(Self { tree, lock, stored, links, on_change, with_hashes: false, _alone: None })
    }

    /// Opens a tree to fix its documents afterwards. Fails if another process does so.
    pub fn open_to_mend(
        tree: DocumentTree,
        on_change: ChangedLinesPolicy,
    ) -> Result<Self, DocumentError> {
        let alone = Some(FixLock::new(&tree.root)?);
        Ok(Self { _alone: alone, ..Self::open(tree, on_change)? })
    }

    /// Adds content hashes to the findings.
    #[must_use]
    pub fn with_hashes(self) -> Self {
        Self { with_hashes: true, ..self }
    }

    /// Checks the document at a path relative to the root.
    pub fn check_document(&mut self, document: &str) -> Result<CheckedDocument, DocumentError> {
        let path = document.to_owned();
        let text =
            self.tree.read_text(document).map_err(|source| DocumentError::Read { path, source })?;
        self.lock.settle_pending_rewrite(document, &mend::hash_text(&text));
        let reading = ParsedDocument {
            document,
            text: &text,
            page: MarkdownPage::parse(&text),
            places: LineColumnIndex::new(&text),
        };
        let mut examined = CheckedDocument {
            findings: Vec::new(),
            unchecked: 0,
            unlocked: 0,
            document: document.to_owned(),
            text: String::new(),
            edits: Vec::new(),
            entries: BTreeMap::new(),
            kept: BTreeMap::new(),
        };
        let checked_links = self.check_citations(&reading, &mut examined);
        self.check_links(&reading, &checked_links, &mut examined);
        examined.findings.sort_by_key(|finding| (finding.line, finding.column));
        examined.text = text;
        Ok(examined)
    }

    /// Checks the citations. Returns the offsets of those that are link targets, in order.
    fn check_citations(
        &self,
        reading: &ParsedDocument<'_>,
        examined: &mut CheckedDocument,
    ) -> Vec<usize> {
        let text = reading.text;
        let whole = MarkdownPieces::parse(text);
        let mut citations = Vec::new();
        let mut targets = Vec::new();
        for citation in parse::find_citations_in_pieces(text, &whole, MAX_CITATIONS) {
            let in_link = is_in_link(text, &citation);
            // A link to a whole file is checked with the other links.
            if reading.page.leaves_out(citation.range.start) || in_link && citation.lines.is_empty()
            {
                continue;
            }
            let target = target::resolve_target(&self.tree, reading.document, &citation, in_link);
            if target != PathTarget::Unmeant {
                citations.push(citation);
                targets.push(target);
            }
        }
        let attributed = said::attribute_text(text, &whole, &citations);
        let known: Vec<Option<Arc<CitedFile>>> =
            targets.iter().map(|target| self.load_target_file(target)).collect();
        let content = |at: usize| known.get(at)?.as_deref().map(|known| &known.content);
        let fits = judge::find_fitting_groups(&citations, &attributed, content);
        let mut links = Vec::new();
        for (((citation, attributed), target), known) in
            citations.iter().zip(&attributed).zip(&targets).zip(&known)
        {
            let in_link = is_in_link(text, citation);
            if in_link {
                links.push(citation.range.start);
            }
            let case = DocumentCitation {
                citation,
                attributed,
                fits: fits.contains(&attributed.group),
                in_link,
            };
            match (target, known) {
                (PathTarget::File(path), Some(known)) => {
                    self.check_existing_file(reading, &case, path, known, examined);
                }
                (PathTarget::Gone(paths), _) => {
                    self.check_missing_file(reading, &case, paths, examined);
                }
                _ => examined.unchecked += 1,
            }
        }
        links
    }

    fn load_target_file(&self, target: &PathTarget) -> Option<Arc<CitedFile>> {
        match target {
            PathTarget::File(path) => self.tree.load_file(path),
            PathTarget::LeftOut | PathTarget::Gone(_) | PathTarget::Unmeant => None,
        }
    }

    fn check_existing_file(
        &self,
        reading: &ParsedDocument<'_>,
        case: &DocumentCitation<'_>,
        path: &str,
        known: &CitedFile,
        examined: &mut CheckedDocument,
    ) {
        let citation = case.citation;
        let content = &known.content;
        let lines = &citation.lines;
        let is_hashed = self.with_hashes || !lines.is_empty();
        if is_hashed && !self.tree.reserve_hash_bytes(content.byte_len_of_ranges(lines)) {
            self.keep_lock_entries(path, lines, examined);
            examined.unchecked += 1;
            return;
        }
        let by_lock =
            settle::compare_with_lock_entries(&self.lock, reading.document, path, lines, content);
        let is_new = by_lock.is_none() && !lines.is_empty();
        let mut settled = by_lock
            .unwrap_or_else(|| settle::judge_by_names(known, citation, case.attributed, case.fits));
        let is_accepted = settled.state == DocumentCitationState::Changed
            && self.on_change == ChangedLinesPolicy::Accept
            && lines.iter().all(|range| content.has_lines(*range));
        let mut named = lines.clone();
        if settled.is_mendable {
            let (edits, lines) = edit::edit_line_numbers(citation, &settled.moved_to);
            examined.edits.extend(edits);
            named = lines;
        }
        if settled.state == DocumentCitationState::Verified || settled.is_mendable || is_accepted {
            examined.record_lock_entries(path, content, &named);
            examined.unlocked += usize::from(is_new);
        } else {
            self.keep_lock_entries(path, lines, examined);
        }
        settled.is_mendable |= is_accepted;
        let found = CheckedCitation {
            rel_path: Some(path.to_owned()),
            path: self.tree.root.join(path).to_string_lossy().into_owned(),
            repo: self.tree.folder_name(),
            hash: self.with_hashes.then(|| content.hash_lines(lines)).flatten(),
            ..build_missing_citation(citation)
        };
        examined.findings.push(reading.build_finding(
            found,
            settled,
            reading.citation_text(citation),
        ));
    }

    /// Checks a citation of a missing file, whose content may have moved to another one.
    fn check_missing_file(
        &self,
        reading: &ParsedDocument<'_>,
        case: &DocumentCitation<'_>,
        paths: &[String],
        examined: &mut CheckedDocument,
    ) {
        let citation = case.citation;
        let lines = &citation.lines;
        let entries = |path: &&String| -> Option<Vec<&str>> {
            lines.iter().map(|range| self.lock.get(reading.document, path, *range)).collect()
        };
        let exact = paths.iter().find(|path| !lines.is_empty() && entries(path).is_some());
        let by_suffix = || self.lock.find_path_with_suffix(reading.document, &citation.path, lines);
        let locked = exact.cloned().or_else(by_suffix);
        if locked.is_none()
            && !target::is_repository_path(&self.tree, reading.document, citation, case.in_link)
        {
            return;
        }
        let mut settled = CitationOutcome {
            state: DocumentCitationState::Missing,
            message: Some(links::describe_missing_file(&self.tree, &citation.path)),
            moved_to: Vec::new(),
            is_mendable: false,
        };
        if let Some(path) = &locked {
            let moved = self.find_moved_lines(path, lines, &entries(&path).unwrap_or_default());
            if let Some((to, ranges)) = moved {
                let mended = self.redirect_citation(reading, case, path, &to, &ranges, examined);
                let place = format!("moved to {to}:{}", super::fault::join_lines(&ranges));
                settled = CitationOutcome {
                    state: DocumentCitationState::Moved,
                    message: Some(place),
                    moved_to: ranges,
                    is_mendable: mended,
                };
            }
            if !settled.is_mendable {
                self.keep_lock_entries(path, lines, examined);
            }
        }
        examined.findings.push(reading.build_finding(
            build_missing_citation(citation),
            settled,
            reading.citation_text(citation),
        ));
    }

    /// Finds the only file that now has the content of lines of another.
    fn find_moved_lines(
        &self,
        path: &str,
        lines: &[LineRange],
        entries: &[&str],
    ) -> Option<(String, Vec<LineRange>)> {
        let mut found = lines.iter().zip(entries).map(|(range, entry)| {
            let more = range.last.checked_sub(range.first)?;
            self.tree.find_by_fingerprint(path, entry, more.saturating_add(1))
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

    /// Rewrites a citation to name another file and its lines. Returns `false` if it cannot be
    /// rewritten.
    fn redirect_citation(
        &self,
        reading: &ParsedDocument<'_>,
        case: &DocumentCitation<'_>,
        from: &str,
        to: &str,
        ranges: &[LineRange],
        examined: &mut CheckedDocument,
    ) -> bool {
        let citation = case.citation;
        let written = reading.text.get(citation.written.clone()).unwrap_or_default();
        let folder = target::parent_folder(reading.document);
        let paths = target::find_candidate_paths(reading.document, &citation.path);
        let text = if written.starts_with('/') {
            format!("/{to}")
        } else if case.in_link || paths.first().is_some_and(|path| path == from) {
            target::make_relative_path(folder, to)
        } else {
            to.to_owned()
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/@+".contains(c);
        let Some(known) = self.tree.load_file(to) else { return false };
        if written != citation.path || !text.chars().all(is_plain) {
            return false;
        }
        let (edits, named) = edit::edit_line_numbers(citation, ranges);
        examined.edits.push(DocumentEdit { range: citation.written.clone(), text });
        examined.edits.extend(edits);
        examined.record_lock_entries(to, &known.content, &named);
        true
    }

    /// Keeps the lock entries of lines that people have to review.
    fn keep_lock_entries(&self, path: &str, lines: &[LineRange], examined: &mut CheckedDocument) {
        for range in lines {
            if let Some(entry) = self.lock.get(&examined.document, path, *range) {
                let key = examined.lock_key(path, *range);
                examined.kept.insert(key, entry.to_owned());
            }
        }
    }

    fn check_links(
        &self,
        reading: &ParsedDocument<'_>,
        done: &[usize],
        examined: &mut CheckedDocument,
    ) {
        for link in &reading.page.links {
            let next = done.partition_point(|at| *at < link.range.start);
            let is_done = done.get(next).is_some_and(|at| *at < link.range.end);
            if is_done || reading.page.leaves_out(link.range.start) {
                continue;
            }
            let leads =
                self.links.follow_link(&self.tree, reading.document, &reading.page, &link.target);
            let (state, message, found) = match leads {
                LinkTarget::Elsewhere => continue,
                LinkTarget::To(path) => (DocumentCitationState::Verified, None, Some(path)),
                LinkTarget::Nowhere(why) => (DocumentCitationState::Missing, Some(why), None),
            };
            let absolute = found.as_ref().map(|path| self.tree.root.join(path));
            let found = CheckedCitation {
                path: absolute.map_or_else(
                    || link.target.clone(),
                    |path| path.to_string_lossy().into_owned(),
                ),
                repo: found.is_some().then(|| self.tree.folder_name()).flatten(),
                rel_path: found,
                lines: Vec::new(),
                state,
                moved_to: Vec::new(),
                hash: None,
                range: link.range.clone(),
                whole: link.range.clone(),
                fault: None,
            };
            let settled =
                CitationOutcome { state, message, moved_to: Vec::new(), is_mendable: false };
            examined.findings.push(reading.build_finding(found, settled, link.target.clone()));
        }
    }

    /// Writes the documents with moved citations and the lock file. Returns the failures.
    pub fn apply_fixes(self, examined: Vec<CheckedDocument>) -> Vec<DocumentError> {
        let change = |CheckedDocument { document, text, edits, mut entries, kept, .. }| {
            entries.extend(kept);
            DocumentChange { document, text, edits, entries }
        };
        let changes = examined.into_iter().map(change).collect();
        mend::write_fixes(&self.tree, &self.stored, &self.lock, changes)
    }
}

impl ParsedDocument<'_> {
    /// Builds a finding with its position in the document.
    fn build_finding(
        &self,
        found: CheckedCitation<DocumentCitationState>,
        settled: CitationOutcome,
        written: String,
    ) -> DocumentFinding {
        let (line, column) = self.places.line_and_column(self.text, found.range.start);
        let CitationOutcome { state, message, moved_to, is_mendable } = settled;
        DocumentFinding {
            document: self.document.to_owned(),
            line,
            column,
            checked: CheckedCitation { state, moved_to, ..found },
            message,
            is_mendable,
            written,
        }
    }

    fn citation_text(&self, citation: &Citation) -> String {
        self.text.get(citation.range.clone()).unwrap_or_default().replace('`', "")
    }
}

impl CheckedDocument {
    fn lock_key(&self, path: &str, lines: LineRange) -> CitationLockKey {
        CitationLockKey { document: self.document.clone(), path: path.to_owned(), lines }
    }

    /// Records the current fingerprints of lines in the lock entries.
    fn record_lock_entries(&mut self, path: &str, content: &CitedFileText, lines: &[LineRange]) {
        for range in lines {
            if let Some(fingerprint) = content.fingerprint_lines(*range) {
                let key = self.lock_key(path, *range);
                self.entries.insert(key, fingerprint);
            }
        }
    }
}

/// Returns whether a citation is the target of a link.
fn is_in_link(text: &str, citation: &Citation) -> bool {
    text.get(..citation.written.start).is_some_and(|before| before.ends_with("]("))
}

/// Returns a citation in its initial state, as if its file were missing.
fn build_missing_citation(citation: &Citation) -> CheckedCitation<DocumentCitationState> {
    CheckedCitation {
        path: citation.path.clone(),
        rel_path: None,
        repo: None,
        lines: citation.lines.clone(),
        state: DocumentCitationState::Missing,
        moved_to: Vec::new(),
        hash: None,
        range: citation.range.clone(),
        whole: citation.whole.clone(),
        fault: None,
    }
}
