//! Checks the documents of a work tree: the cited lines and files, and the targets of links.
//!
//! Works on files alone, without an index. A lock file in the work tree records the content of
//! cited lines, which distinguishes moved lines from changed ones.

mod fixes;
mod links;
mod outcome;
mod positions;
mod target;

use std::{collections::BTreeMap, io, sync::Arc};

use codeinfo_core::LineRange;
use serde::Serialize;

pub use links::is_markdown;

use self::{
    fixes::{DocumentChange, DocumentEdit, FixLock},
    links::{LinkChecker, LinkTarget},
    outcome::CitationOutcome,
    positions::LineColumnIndex,
    target::PathTarget,
};
use super::{
    CheckedCitation, DocumentCitationState, DocumentError,
    attribution::{self, AttributedText},
    content::CitedFileText,
    fault::join_lines,
    judge::{self, CitedFile},
    lock::{CitationLock, CitationLockKey, LOCK_FILE},
    markdown::{MarkdownPage, MarkdownPieces},
    parse::{self, Citation},
    tree::DocumentTree,
};

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
    pub is_fixable: bool,
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
    /// Number of citations that a fix would add to the lock file.
    pub unlocked: usize,
    document: String,
    text: String,
    edits: Vec<DocumentEdit>,
    /// Lock entries of the document after the fixes.
    entries: BTreeMap<CitationLockKey, String>,
    /// Former lock entries of lines that people have to review. They are written last, over entries of
    /// lines that moved to the same place.
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
    _fix_lock: Option<FixLock>,
}

struct ParsedDocument<'a> {
    document: &'a str,
    text: &'a str,
    page: MarkdownPage,
    positions: LineColumnIndex,
}

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
        Ok(Self { tree, lock, stored, links, on_change, with_hashes: false, _fix_lock: None })
    }

    /// Opens a tree to fix its documents afterwards. Fails if another process does so.
    pub fn open_to_fix(
        tree: DocumentTree,
        on_change: ChangedLinesPolicy,
    ) -> Result<Self, DocumentError> {
        let fix_lock = Some(FixLock::new(&tree.root)?);
        Ok(Self { _fix_lock: fix_lock, ..Self::open(tree, on_change)? })
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
        self.lock.settle_pending_rewrite(document, &fixes::hash_text(&text));
        let parsed = ParsedDocument {
            document,
            text: &text,
            page: MarkdownPage::parse(&text),
            positions: LineColumnIndex::new(&text),
        };
        let mut checked = CheckedDocument {
            findings: Vec::new(),
            unchecked: 0,
            unlocked: 0,
            document: document.to_owned(),
            text: String::new(),
            edits: Vec::new(),
            entries: BTreeMap::new(),
            kept: BTreeMap::new(),
        };
        let checked_links = self.check_citations(&parsed, &mut checked);
        self.check_links(&parsed, &checked_links, &mut checked);
        checked.findings.sort_by_key(|finding| (finding.line, finding.column));
        checked.text = text;
        Ok(checked)
    }

    /// Checks the citations. Returns the offsets of those that are link targets, in order.
    fn check_citations(
        &self,
        parsed: &ParsedDocument<'_>,
        checked: &mut CheckedDocument,
    ) -> Vec<usize> {
        let text = parsed.text;
        let pieces = MarkdownPieces::parse(text);
        let mut citations = Vec::new();
        let mut targets = Vec::new();
        for citation in parse::find_citations_in_pieces(text, &pieces, MAX_CITATIONS) {
            let in_link = is_in_link(text, &citation);
            // A link to a whole file is checked with the other links.
            if parsed.page.is_excluded(citation.range.start) || in_link && citation.lines.is_empty()
            {
                continue;
            }
            let target = target::resolve_target(&self.tree, parsed.document, &citation, in_link);
            if target != PathTarget::NotAPath {
                citations.push(citation);
                targets.push(target);
            }
        }
        let attributed = attribution::attribute_text(text, &pieces, &citations);
        let files: Vec<Option<Arc<CitedFile>>> =
            targets.iter().map(|target| self.load_target_file(target)).collect();
        let content = |at: usize| files.get(at)?.as_deref().map(|file| &file.content);
        let fits = judge::find_fitting_groups(&citations, &attributed, content);
        let mut links = Vec::new();
        for (((citation, attributed), target), file) in
            citations.iter().zip(&attributed).zip(&targets).zip(&files)
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
            match (target, file) {
                (PathTarget::File(path), Some(file)) => {
                    self.check_existing_file(parsed, &case, path, file, checked);
                }
                (PathTarget::Gone(paths), _) => {
                    self.check_missing_file(parsed, &case, paths, checked);
                }
                _ => checked.unchecked += 1,
            }
        }
        links
    }

    fn load_target_file(&self, target: &PathTarget) -> Option<Arc<CitedFile>> {
        match target {
            PathTarget::File(path) => self.tree.load_file(path),
            PathTarget::LeftOut | PathTarget::Gone(_) | PathTarget::NotAPath => None,
        }
    }

    fn check_existing_file(
        &self,
        parsed: &ParsedDocument<'_>,
        case: &DocumentCitation<'_>,
        path: &str,
        file: &CitedFile,
        checked: &mut CheckedDocument,
    ) {
        let citation = case.citation;
        let content = &file.content;
        let lines = &citation.lines;
        let is_hashed = self.with_hashes || !lines.is_empty();
        if is_hashed && !self.tree.reserve_hash_bytes(content.byte_len_of_ranges(lines)) {
            self.keep_lock_entries(path, lines, checked);
            checked.unchecked += 1;
            return;
        }
        let by_lock =
            outcome::compare_with_lock_entries(&self.lock, parsed.document, path, lines, content);
        let is_new = by_lock.is_none() && !lines.is_empty();
        let mut outcome = by_lock
            .unwrap_or_else(|| outcome::judge_by_names(file, citation, case.attributed, case.fits));
        let is_accepted = outcome.state == DocumentCitationState::Changed
            && self.on_change == ChangedLinesPolicy::Accept
            && lines.iter().all(|range| content.has_lines(*range));
        let mut new_lines = lines.clone();
        if outcome.is_fixable {
            let (edits, lines) = fixes::edit_line_numbers(citation, &outcome.moved_to);
            checked.edits.extend(edits);
            new_lines = lines;
        }
        if outcome.state == DocumentCitationState::Verified || outcome.is_fixable || is_accepted {
            checked.record_lock_entries(path, content, &new_lines);
            checked.unlocked += usize::from(is_new);
        } else {
            self.keep_lock_entries(path, lines, checked);
        }
        outcome.is_fixable |= is_accepted;
        let found = CheckedCitation {
            rel_path: Some(path.to_owned()),
            path: self.tree.root.join(path).to_string_lossy().into_owned(),
            repo: self.tree.folder_name(),
            hash: self.with_hashes.then(|| content.hash_lines(lines)).flatten(),
            ..build_missing_citation(citation)
        };
        checked.findings.push(parsed.build_finding(found, outcome, parsed.citation_text(citation)));
    }

    /// Checks a citation of a missing file, whose content may have moved to another one.
    fn check_missing_file(
        &self,
        parsed: &ParsedDocument<'_>,
        case: &DocumentCitation<'_>,
        paths: &[String],
        checked: &mut CheckedDocument,
    ) {
        let citation = case.citation;
        let lines = &citation.lines;
        let entries = |path: &&String| -> Option<Vec<&str>> {
            lines.iter().map(|range| self.lock.get(parsed.document, path, *range)).collect()
        };
        let exact = paths.iter().find(|path| !lines.is_empty() && entries(path).is_some());
        let by_suffix = || self.lock.find_path_with_suffix(parsed.document, &citation.path, lines);
        let locked = exact.cloned().or_else(by_suffix);
        if locked.is_none()
            && !target::is_repository_path(&self.tree, parsed.document, citation, case.in_link)
        {
            return;
        }
        let reason = links::describe_missing_file(&self.tree, &citation.path);
        let mut outcome = CitationOutcome::new(DocumentCitationState::Missing, Some(reason));
        if let Some(path) = &locked {
            let moved = self.find_moved_lines(path, lines, &entries(&path).unwrap_or_default());
            if let Some((to, ranges)) = moved {
                let is_redirected =
                    self.redirect_citation(parsed, case, path, &to, &ranges, checked);
                let place = format!("moved to {to}:{}", join_lines(&ranges));
                outcome = CitationOutcome {
                    state: DocumentCitationState::Moved,
                    message: Some(place),
                    moved_to: ranges,
                    is_fixable: is_redirected,
                };
            }
            if !outcome.is_fixable {
                self.keep_lock_entries(path, lines, checked);
            }
        }
        checked.findings.push(parsed.build_finding(
            build_missing_citation(citation),
            outcome,
            parsed.citation_text(citation),
        ));
    }

    /// Finds the only file that now has the content of lines of another.
    fn find_moved_lines(
        &self,
        path: &str,
        lines: &[LineRange],
        entries: &[&str],
    ) -> Option<(String, Vec<LineRange>)> {
        let mut found = lines
            .iter()
            .zip(entries)
            .map(|(range, entry)| self.tree.find_by_fingerprint(path, entry, range.line_count()));
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

    /// Rewrites a citation to name another file and its lines; `false` if that is impossible.
    fn redirect_citation(
        &self,
        parsed: &ParsedDocument<'_>,
        case: &DocumentCitation<'_>,
        from: &str,
        to: &str,
        ranges: &[LineRange],
        checked: &mut CheckedDocument,
    ) -> bool {
        let citation = case.citation;
        let written = parsed.text.get(citation.written.clone()).unwrap_or_default();
        let folder = target::parent_folder(parsed.document);
        let paths = target::find_candidate_paths(parsed.document, &citation.path);
        let text = if written.starts_with('/') {
            format!("/{to}")
        } else if case.in_link || paths.first().is_some_and(|path| path == from) {
            target::make_relative_path(folder, to)
        } else {
            to.to_owned()
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/@+".contains(c);
        let Some(file) = self.tree.load_file(to) else { return false };
        if written != citation.path || !text.chars().all(is_plain) {
            return false;
        }
        let (edits, new_lines) = fixes::edit_line_numbers(citation, ranges);
        checked.edits.push(DocumentEdit { range: citation.written.clone(), text });
        checked.edits.extend(edits);
        checked.record_lock_entries(to, &file.content, &new_lines);
        true
    }

    fn keep_lock_entries(&self, path: &str, lines: &[LineRange], checked: &mut CheckedDocument) {
        for range in lines {
            if let Some(entry) = self.lock.get(&checked.document, path, *range) {
                let key = checked.lock_key(path, *range);
                checked.kept.insert(key, entry.to_owned());
            }
        }
    }

    fn check_links(
        &self,
        parsed: &ParsedDocument<'_>,
        done: &[usize],
        checked: &mut CheckedDocument,
    ) {
        for link in &parsed.page.links {
            let next = done.partition_point(|at| *at < link.range.start);
            let is_done = done.get(next).is_some_and(|at| *at < link.range.end);
            if is_done || parsed.page.is_excluded(link.range.start) {
                continue;
            }
            let target =
                self.links.follow_link(&self.tree, parsed.document, &parsed.page, &link.target);
            let (state, message, found) = match target {
                LinkTarget::External => continue,
                LinkTarget::Found(path) => (DocumentCitationState::Verified, None, Some(path)),
                LinkTarget::Missing(reason) => (DocumentCitationState::Missing, Some(reason), None),
            };
            let absolute = found.as_ref().map(|path| self.tree.root.join(path));
            let path = absolute
                .map_or_else(|| link.target.clone(), |path| path.to_string_lossy().into_owned());
            let found = CheckedCitation {
                repo: found.is_some().then(|| self.tree.folder_name()).flatten(),
                rel_path: found,
                ..CheckedCitation::new(path, Vec::new(), state, link.range.clone())
            };
            let outcome = CitationOutcome::new(state, message);
            checked.findings.push(parsed.build_finding(found, outcome, link.target.clone()));
        }
    }

    /// Writes the documents with moved citations and the lock file. Returns the failures.
    pub fn apply_fixes(self, documents: Vec<CheckedDocument>) -> Vec<DocumentError> {
        let change = |CheckedDocument { document, text, edits, mut entries, kept, .. }| {
            entries.extend(kept);
            DocumentChange { document, text, edits, entries }
        };
        let changes = documents.into_iter().map(change).collect();
        fixes::write_fixes(&self.tree, &self.stored, &self.lock, changes)
    }
}

impl ParsedDocument<'_> {
    fn build_finding(
        &self,
        found: CheckedCitation<DocumentCitationState>,
        outcome: CitationOutcome,
        written: String,
    ) -> DocumentFinding {
        let (line, column) = self.positions.line_and_column(self.text, found.range.start);
        let CitationOutcome { state, message, moved_to, is_fixable } = outcome;
        DocumentFinding {
            document: self.document.to_owned(),
            line,
            column,
            checked: CheckedCitation { state, moved_to, ..found },
            message,
            is_fixable,
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

    fn record_lock_entries(&mut self, path: &str, content: &CitedFileText, lines: &[LineRange]) {
        for range in lines {
            if let Some(fingerprint) = content.fingerprint_lines(*range) {
                let key = self.lock_key(path, *range);
                self.entries.insert(key, fingerprint);
            }
        }
    }
}

fn is_in_link(text: &str, citation: &Citation) -> bool {
    text.get(..citation.written.start).is_some_and(|before| before.ends_with("]("))
}

fn build_missing_citation(citation: &Citation) -> CheckedCitation<DocumentCitationState> {
    CheckedCitation::from_citation(citation, DocumentCitationState::Missing)
}
