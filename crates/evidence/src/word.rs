//! Matches a word by the rules of `rg --word-regexp --fixed-strings`, and finds the files that may
//! contain it, by the terms of the index where that is certain.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    iter,
    ops::Range,
};

use codeinfo_core::{ChunkRecord, FileRecord, Root, RootId, list_encodings};
use codeinfo_embed::lexical;
use codeinfo_lang::words::{find_identifiers, fold_name, is_unspaced};
use codeinfo_store::ScoredChunk;
use memchr::memmem::Finder;

use super::{Evidence, EvidenceError, snapshot::retain_indexed};

/// Maximum bytes of a name.
const MAX_BYTES: usize = 500;

/// Matches a whole word; in scripts without spaces, any text. Accents may have either encoding.
#[derive(Debug, Clone)]
pub(super) struct WordMatcher {
    text: String,
    finders: Vec<Finder<'static>>,
}

impl WordMatcher {
    /// Creates a matcher for a name, without white space around it. Fails for names that no line
    /// can contain.
    pub(super) fn new(name: &str) -> Result<Self, EvidenceError> {
        let text = name.trim();
        let fault = match text {
            "" => Some("is blank"),
            text if text.len() > MAX_BYTES => {
                Some("is too long; give one name, of 500 bytes at most")
            }
            text if text.contains(char::is_control) => {
                Some("holds a line end, tab or other control; give one name")
            }
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(EvidenceError::Name(fault));
        }
        let encodings = list_encodings(text).into_iter();
        let finders = encodings.map(|text| Finder::new(&text).into_owned()).collect();
        Ok(Self { text: text.to_owned(), finders })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the name has accents, which texts may encode in another form.
    pub(super) fn has_encodings(&self) -> bool {
        self.finders.len() > 1
    }

    /// Returns true if a text contains the name, also as part of a longer word.
    pub(super) fn occurs_in(&self, text: &str) -> bool {
        self.finders.iter().any(|finder| finder.find(text.as_bytes()).is_some())
    }

    /// Returns the occurrences in a text, ascending and without overlap.
    pub(super) fn find_places<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut all: Vec<_> =
            self.finders.iter().map(|finder| find_words(finder, text).peekable()).collect();
        iter::from_fn(move || {
            let starts = all.iter_mut().map(|places| places.peek().map(|place| place.start));
            let first = starts.enumerate().filter_map(|(at, start)| Some((start?, at))).min();
            all.get_mut(first?.1)?.next()
        })
    }
}

/// Returns the occurrences of a finder's needle as a word.
fn find_words<'a>(
    finder: &'a Finder<'static>,
    text: &'a str,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut from = 0;
    iter::from_fn(move || {
        loop {
            let found = from + finder.find(text.as_bytes().get(from..)?)?;
            let word = found..found + finder.needle().len();
            if is_whole(text, &word) {
                from = word.end;
                return Some(word);
            }
            from = word.start + text.get(word.start..).map_or(1, first_length);
        }
    })
}

/// Returns true if a range is not part of a longer word.
fn is_whole(text: &str, word: &Range<usize>) -> bool {
    let (before, rest) = text.split_at_checked(word.start).unwrap_or_default();
    let (inner, after) = rest.split_at_checked(word.len()).unwrap_or_default();
    let joins = |outer: Option<char>, inner: Option<char>| {
        let is_unspaced = |c: Option<char>| c.is_some_and(is_unspaced);
        outer.is_some_and(is_part) && !is_unspaced(outer) && !is_unspaced(inner)
    };
    !joins(before.chars().next_back(), inner.chars().next())
        && !joins(after.chars().next(), inner.chars().next_back())
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

fn is_part(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}

/// Minimum bytes of a one-line chunk that may be a piece of a longer line, cut within the word.
const PIECE_BYTES: usize = 900;
const MAX_SPELLINGS: usize = 3;

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
        let mut candidates = self.find_all_candidates(word, roots).await?;
        drop_duplicate_files(&mut candidates.files, roots);
        Ok(candidates)
    }

    async fn find_all_candidates(
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

    pub(super) async fn list_files(
        &self,
        roots: &[Root],
    ) -> Result<Vec<(usize, FileRecord)>, EvidenceError> {
        let mut files = Vec::new();
        for (at, root) in roots.iter().enumerate() {
            files.extend(self.list_root_files(at, root).await?);
        }
        drop_duplicate_files(&mut files, roots);
        Ok(files)
    }

    /// Returns the files of the root with index `at`, ordered by path.
    async fn list_root_files(
        &self,
        at: usize,
        root: &Root,
    ) -> Result<Vec<(usize, FileRecord)>, EvidenceError> {
        let mut files = retain_indexed(self.store.files(root.id).await?, root);
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

    async fn find_chunk_files(
        &self,
        word: &WordMatcher,
        found: Vec<ScoredChunk>,
        roots: &[Root],
    ) -> Result<CandidateFiles, EvidenceError> {
        let mut paths: HashMap<RootId, BTreeSet<String>> = HashMap::new();
        let (holding, others): (Vec<ScoredChunk>, Vec<ScoredChunk>) =
            found.into_iter().partition(|found| may_contain(&found.record, word));
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
            let mut files = retain_indexed(files, root);
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
fn drop_duplicate_files(files: &mut Vec<(usize, FileRecord)>, roots: &[Root]) {
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
fn may_contain(chunk: &ChunkRecord, word: &WordMatcher) -> bool {
    let is_piece = chunk.start_line == chunk.end_line && chunk.text.len() >= PIECE_BYTES;
    is_piece || word.occurs_in(&chunk.text)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str, text: &str) -> usize {
        WordMatcher::new(name).unwrap().find_places(text).count()
    }

    #[test]
    fn a_name_counts_only_as_a_whole_word() {
        for (name, text, wanted) in [
            ("foo", "foo foo_ foobar _foo foo2 (foo) foo.foo", 4),
            ("foo", "Foo FOO naïfoo foo\u{301} foo\u{200d} föfoo foo²", 1),
            ("$x", "$x a$x $x2 $$x", 2),
            ("Foo::bar", "Foo::bar Foo::bars Foo::bar::baz aFoo::bar", 2),
            ("a.a", "xa.a.a", 1),
            ("aa", "aaa aa", 1),
            ("größe", "größe größer Größe", 1),
            ("日本", "日本 日本語 、日本。", 3),
            ("购物车", "// 计算购物车总价", 1),
            ("カート", "ショッピングカートの合計", 1),
            ("ตะกร้า", "คำนวณตะกร้าสินค้า", 1),
            ("장바구니", "장바구니를 비운다", 1),
            ("sumCart", "调用sumCart函数 sumCarts", 1),
            ("z\u{e4}hler", "zähler za\u{308}hler zählers", 2),
            ("za\u{308}hler", "zähler za\u{308}hler za\u{308}hlers", 2),
            ("->", "a->b -> c", 1),
        ] {
            assert_eq!(count(name, text), wanted, "{name}");
        }
    }

    #[test]
    fn invalid_names_are_refused() {
        for name in ["", " \t", "a\nb", "a\0b", &"a".repeat(501)] {
            assert!(matches!(WordMatcher::new(name), Err(EvidenceError::Name(_))), "{name:?}");
        }
        assert_eq!(WordMatcher::new(" a b ").unwrap().as_str(), "a b");
    }
}
