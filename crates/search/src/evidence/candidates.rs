//! Finds the files that may contain a word: by the terms of the index where that is certain,
//! otherwise all files.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use codeinfo_core::{ChunkRecord, FileRecord, Root, RootId};
use codeinfo_embed::lexical;
use codeinfo_lang::words::{find_identifiers, fold_name};
use codeinfo_store::ScoredChunk;

use super::{Evidence, EvidenceError, snapshot::with_content, word::WordMatcher};

/// Minimum bytes of a chunk of one line that may be a piece of a longer line, whose cut may split
/// the word.
const PIECE_BYTES: usize = 900;
/// Maximum other spellings of a name that are returned.
const MAX_SPELLINGS: usize = 3;

/// Files that may contain a word.
#[derive(Debug, Default)]
pub(super) struct CandidateFiles {
    /// Files with the index of their root, ordered by path within each root.
    pub(super) files: Vec<(usize, FileRecord)>,
    /// If there are no files: names that differ only by case and underscores.
    pub(super) spellings: Vec<String>,
}

impl Evidence {
    /// Returns the files that may contain a word. `roots` is either all roots or one.
    pub(super) async fn find_candidate_files(
        &self,
        word: &WordMatcher,
        roots: &[Root],
    ) -> Result<CandidateFiles, EvidenceError> {
        let mut candidates = self.all_candidates(word, roots).await?;
        keep_once(&mut candidates.files, roots);
        Ok(candidates)
    }

    async fn all_candidates(
        &self,
        word: &WordMatcher,
        roots: &[Root],
    ) -> Result<CandidateFiles, EvidenceError> {
        let only_root = if let [only] = roots { Some(only.id) } else { None };
        if let Some(found) = self.find_chunks_with_term(word, only_root).await? {
            return self.find_chunk_files(word, found, roots).await;
        }
        let mut candidates = CandidateFiles::default();
        for (at, root) in roots.iter().enumerate() {
            let found = if only_root.is_none() {
                self.find_chunks_with_term(word, Some(root.id)).await?
            } else {
                None
            };
            let files = match found {
                Some(found) => self.find_chunk_files(word, found, roots).await?.files,
                None => self.list_root_files(at, root).await?,
            };
            candidates.files.extend(files);
        }
        Ok(candidates)
    }

    /// Returns all files of `roots`.
    pub(super) async fn all_files(
        &self,
        roots: &[Root],
    ) -> Result<Vec<(usize, FileRecord)>, EvidenceError> {
        let mut files = Vec::new();
        for (at, root) in roots.iter().enumerate() {
            files.extend(self.list_root_files(at, root).await?);
        }
        keep_once(&mut files, roots);
        Ok(files)
    }

    /// Returns the files of the root with index `at`, ordered by path.
    async fn list_root_files(
        &self,
        at: usize,
        root: &Root,
    ) -> Result<Vec<(usize, FileRecord)>, EvidenceError> {
        let mut files = with_content(self.store.files(root.id).await?, root);
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(files.into_iter().map(|file| (at, file)).collect())
    }

    /// Returns all chunks with a term that every text with the word has; `None` if there is no such
    /// term, or if each has more chunks than one read returns.
    async fn find_chunks_with_term(
        &self,
        word: &WordMatcher,
        root: Option<RootId>,
    ) -> Result<Option<Vec<ScoredChunk>>, EvidenceError> {
        // Texts are split into words at an accent that is a separate character.
        let terms = if word.has_encodings() {
            Vec::new()
        } else {
            lexical::list_required_terms(word.as_str())
        };
        for term in terms {
            let found = self.store.chunks_with_terms(term, root).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the files of those chunks that may contain the word.
    async fn find_chunk_files(
        &self,
        word: &WordMatcher,
        found: Vec<ScoredChunk>,
        roots: &[Root],
    ) -> Result<CandidateFiles, EvidenceError> {
        let mut paths: HashMap<RootId, BTreeSet<String>> = HashMap::new();
        let (holding, others): (Vec<ScoredChunk>, Vec<ScoredChunk>) =
            found.into_iter().partition(|found| may_hold(&found.record, word));
        for ScoredChunk { record, also, .. } in holding {
            for root in also {
                paths.entry(root).or_default().insert(record.path.clone());
            }
            paths.entry(record.root).or_default().insert(record.path);
        }
        let mut candidates = CandidateFiles::default();
        for (at, root) in roots.iter().enumerate() {
            let Some(paths) = paths.remove(&root.id) else { continue };
            let files = self.store.files_at(root.id, paths.into_iter().collect()).await?;
            let mut files = with_content(files, root);
            files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            candidates.files.extend(files.into_iter().map(|file| (at, file)));
        }
        if candidates.files.is_empty() {
            let known =
                |found: &&ScoredChunk| roots.iter().any(|root| root.id == found.record.root);
            let texts = others.iter().filter(known).map(|found| found.record.text.as_str());
            candidates.spellings = list_spellings(word.as_str(), texts);
        }
        Ok(candidates)
    }
}

/// Keeps each file once if trees of one repository share it, or if it lies in nested roots. Of
/// nested roots, the file indexed last stays.
fn keep_once(files: &mut Vec<(usize, FileRecord)>, roots: &[Root]) {
    let mut seen: HashSet<(RootId, String, String)> = HashSet::new();
    files.retain(|(at, file)| {
        roots.get(*at).is_none_or(|root| {
            let key = (root.chunk_owner(), file.path.clone(), file.version.clone());
            root.repository.is_none() || seen.insert(key)
        })
    });
    let is_nested = |root: &Root| {
        let mut others =
            roots.iter().filter(|other| other.id != root.id && other.host == root.host);
        others.any(|other| root.path.starts_with(&other.path) || other.path.starts_with(&root.path))
    };
    let nested: Vec<bool> = roots.iter().map(is_nested).collect();
    let place = |at: usize, file: &FileRecord| {
        let root = roots.get(at).filter(|_| nested.get(at) == Some(&true))?;
        Some((root.last_ingest_at, at, (root.host.clone(), root.path.join(&file.path))))
    };
    let mut last = HashMap::new();
    for (time, at, path) in files.iter().filter_map(|(at, file)| place(*at, file)) {
        let known = last.entry(path).or_insert((time, at));
        *known = (time, at).max(*known);
    }
    files.retain(|(at, file)| {
        place(*at, file)
            .is_none_or(|(_, _, path)| last.get(&path).is_none_or(|(_, kept)| kept == at))
    });
}

/// Returns true if a chunk with the terms of a word may contain the word or a part of it.
fn may_hold(chunk: &ChunkRecord, word: &WordMatcher) -> bool {
    let is_piece = chunk.start_line == chunk.end_line && chunk.text.len() >= PIECE_BYTES;
    is_piece || word.is_part_of(&chunk.text)
}

/// Returns the spellings of a name in some texts, most frequent first.
fn list_spellings<'a>(name: &str, texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = fold_name(name.as_bytes());
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for identifier in texts.flat_map(find_identifiers) {
        if fold_name(identifier) == wanted
            && let Ok(spelled) = str::from_utf8(identifier)
        {
            *counted.entry(spelled).or_default() += 1;
        }
    }
    let mut spellings: Vec<(&str, usize)> = counted.into_iter().collect();
    spellings.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let spelled = spellings.into_iter().map(|(name, _)| name.to_owned());
    spelled.take(MAX_SPELLINGS).collect()
}
