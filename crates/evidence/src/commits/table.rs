//! The commits of a repository in a form that is small and quickly searched: of each message a
//! vector with two bits per dimension, and the commits of each term.
//!
//! The numbers of a unit vector of `DIMENSIONS` numbers vary by 1/16. Two bits tell apart the four
//! ranges that are best for a normal distribution: Max, "Quantizing for Minimum Distortion", 1960.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    io::Write,
};

use codeinfo_core::hash::sha256_hex;
use codeinfo_embed::{DIMENSIONS, lexical::saturate_counts};
use codeinfo_history::CommitId;

/// First bytes of a file. They change when the same commits would give another content.
const MAGIC: &[u8] = b"codeinfo commits 1\n";
const CHECKSUM_BYTES: usize = 64;
const PER_BYTE: usize = 4;
const VECTOR_BYTES: usize = DIMENSIONS / PER_BYTE;
/// Number that divides the ranges of magnitudes, in standard deviations.
const THRESHOLD: f32 = 0.9816;
/// Mean of each range for a vector of unit length.
const SMALL_MEAN: f32 = 0.4528 / 16.0;
const LARGE_MEAN: f32 = 1.510 / 16.0;
/// Mark of a merge in the number of terms of a commit.
const MERGE: u8 = 0x80;

/// Maximum bytes of terms and their commits beyond those per commit, which small repositories need.
const MAX_TERM_BYTES: usize = 1 << 20;
/// The same for each commit, as real repositories with 20,000 commits have without the addition.
const MAX_COMMIT_TERM_BYTES: usize = 48;
/// Bytes of a term and the end of its commits.
const TERM_BYTES: usize = 8;
/// Usual bytes of a commit of a term.
const POSTING_BYTES: usize = 2;

/// Weight of a term in a subject, relative to one in the rest of a message.
const SUBJECT_WEIGHT: f32 = 3.0;
/// Part of the words in the score; that of the meaning is the rest.
const LEXICAL_WEIGHT: f32 = 0.6;
/// Share of its score that a merge keeps. Its message mostly repeats those of others.
pub(super) const MERGE_SHARE: f32 = 0.7;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageEntry {
    vector: [u8; VECTOR_BYTES],
    /// Ascending terms, each with whether it is in the subject.
    terms: Vec<(u32, bool)>,
    is_merge: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct MessageQuery {
    pub(super) vector: Vec<f32>,
    pub(super) terms: Vec<(u32, f32)>,
    /// Beginnings of ids, in lower case.
    pub(super) ids: Vec<String>,
}

/// Commits of a repository, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommitTable {
    pub(super) ids: Vec<CommitId>,
    /// Commits that the trees check out, each with a bit for each commit that it reaches.
    pub(super) tips: Vec<(CommitId, Vec<u8>)>,
    /// Maximum number of commits for which it was made.
    pub(super) limit: usize,
    /// Number of commits that were not read yet.
    pub(super) unread: usize,
    /// Why earlier commits are missing; blank if none is.
    pub(super) gap: String,
    vectors: Vec<u8>,
    /// Number of terms of each commit, up to 127, and [`MERGE`].
    lengths: Vec<u8>,
    /// Ascending terms.
    terms: Vec<u32>,
    /// End of the commits of each term in `postings`.
    ends: Vec<u32>,
    /// For each term the places of its commits, ascending: twice the distance to the one before,
    /// plus one if the term is in the subject, in bytes of seven bits.
    postings: Vec<u8>,
}

impl MessageEntry {
    pub(super) fn new(vector: &[f32], mut terms: Vec<(u32, bool)>, is_merge: bool) -> Self {
        terms.sort_unstable_by_key(|(term, in_subject)| (*term, !in_subject));
        terms.dedup_by_key(|(term, _)| *term);
        let mut packed = [0; VECTOR_BYTES];
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        for (byte, numbers) in packed.iter_mut().zip(vector.chunks(PER_BYTE)) {
            for (place, number) in numbers.iter().enumerate() {
                let is_large = u8::from(number.abs() > THRESHOLD / 16.0 * length);
                *byte |= (is_large | u8::from(*number < 0.0) << 1) << (2 * place);
            }
        }
        Self { vector: packed, terms, is_merge }
    }
}

impl CommitTable {
    /// Returns a table of `ids`, each of which is in this table or in `added`, or left out.
    pub(super) fn rebuild(
        &self,
        ids: &[CommitId],
        added: &HashMap<CommitId, MessageEntry>,
    ) -> Self {
        let known: HashMap<&CommitId, usize> = self.ids.iter().zip(0..).collect();
        let mut table = Self::default();
        let mut places = vec![None; self.ids.len()];
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for id in ids {
            let Ok(place) = u32::try_from(table.ids.len()) else { break };
            if let Some(entry) = added.get(id) {
                let count = entry.terms.len().min(usize::from(MERGE - 1));
                let length = u8::try_from(count).unwrap_or_default();
                table.lengths.push(length | if entry.is_merge { MERGE } else { 0 });
                table.vectors.extend(entry.vector);
                let postings = entry.terms.iter().map(|(term, in_subject)| (*term, *in_subject));
                pairs.extend(postings.map(|(term, top)| (term, place << 1 | u32::from(top))));
            } else if let Some((old, slot)) =
                known.get(id).and_then(|old| Some((*old, places.get_mut(*old)?)))
            {
                *slot = Some(place);
                table.lengths.extend(self.lengths.get(old));
                table.vectors.extend(self.vector(old));
            } else {
                continue;
            }
            table.ids.push(*id);
        }
        for (index, term) in self.terms.iter().enumerate() {
            let old = self.list_postings(index).filter_map(|(place, in_subject)| {
                let new = places.get(place).copied().flatten()?;
                Some((*term, new << 1 | u32::from(in_subject)))
            });
            pairs.extend(old);
        }
        pairs.sort_unstable();
        drop_rare_terms(&mut pairs, MAX_TERM_BYTES + MAX_COMMIT_TERM_BYTES * table.ids.len());
        table.pack_postings(&pairs);
        table
    }

    fn pack_postings(&mut self, pairs: &[(u32, u32)]) {
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            let mut last = 0;
            self.terms.extend(same.first().map(|(term, _)| term));
            for (_, posting) in same {
                put_number(&mut self.postings, (((posting >> 1) - last) << 1) | (posting & 1));
                last = posting >> 1;
            }
            self.ends.push(u32::try_from(self.postings.len()).unwrap_or(u32::MAX));
        }
    }

    fn vector(&self, place: usize) -> &[u8] {
        self.vectors.chunks_exact(VECTOR_BYTES).nth(place).unwrap_or_default()
    }

    /// Returns the places of the commits of a term, and whether it is in their subjects.
    fn list_postings(&self, index: usize) -> impl Iterator<Item = (usize, bool)> {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let start = index.checked_sub(1).map_or(0, end);
        let mut bytes = self.postings.get(start..end(index)).unwrap_or_default();
        let mut place = 0;
        std::iter::from_fn(move || {
            let number = take_number(&mut bytes)?;
            place += (number >> 1) as usize;
            Some((place, number & 1 == 1))
        })
    }

    /// Says which commits of a repository are missing.
    pub(super) fn describe_gaps(&self, name: &str) -> impl Iterator<Item = String> {
        let unread = (self.unread > 0)
            .then(|| format!("{name}: {} commits are not read yet, ask again", self.unread));
        let gap = (!self.gap.is_empty()).then(|| format!("{name}: {}", self.gap));
        unread.into_iter().chain(gap)
    }

    /// Returns the places of the commits that `tips` reach, best first, with scores from 0 to 1.
    pub(super) fn rank(&self, query: &MessageQuery, tips: &[CommitId]) -> Vec<(usize, f32)> {
        let reached: Vec<&Vec<u8>> =
            self.tips.iter().filter(|(tip, _)| tips.contains(tip)).map(|(_, bits)| bits).collect();
        let is_reached = |place: usize| {
            let has_bit = |bits: &&Vec<u8>| {
                bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
            };
            reached.iter().any(has_bit)
        };
        let each = self.ids.iter().zip(self.score_words(query)).zip(self.score_meanings(query));
        let mut ranked: Vec<(usize, f32)> = Vec::new();
        for (place, ((id, words), meaning)) in
            each.enumerate().filter(|(place, _)| is_reached(*place))
        {
            let mut score = LEXICAL_WEIGHT * words + (1.0 - LEXICAL_WEIGHT) * meaning.max(0.0);
            if self.lengths.get(place).is_some_and(|length| length & MERGE != 0) {
                score *= MERGE_SHARE;
            }
            let is_named = |hex: String| query.ids.iter().any(|start| hex.starts_with(start));
            if !query.ids.is_empty() && is_named(id.to_string()) {
                score = 1.0;
            }
            if score > 0.0 {
                ranked.push((place, score));
            }
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    /// Returns the terms of a query, each with its weight by the number of commits that have it.
    #[expect(clippy::cast_precision_loss, reason = "counts only need to be about right")]
    pub(super) fn weigh_terms(&self, query: &MessageQuery) -> Vec<(u32, f32)> {
        let count = self.ids.len() as f32;
        let weigh = |(term, weight): &(u32, f32)| {
            let place = self.terms.binary_search(term).ok();
            let found = place.map_or(0, |index| self.list_postings(index).count()) as f32;
            (*term, weight * (1.0 + (count - found + 0.5) / (found + 0.5)).ln())
        };
        query.terms.iter().map(weigh).collect()
    }

    /// Returns the BM25 score of each commit, as a share of the highest that the query can have.
    #[expect(clippy::cast_precision_loss, reason = "counts only need to be about right")]
    fn score_words(&self, query: &MessageQuery) -> Vec<f32> {
        let count = self.ids.len() as f32;
        let length = |byte: &u8| f32::from(byte & !MERGE);
        let average = (self.lengths.iter().map(length).sum::<f32>() / count).max(1.0);
        let mut scores = vec![0.0; self.ids.len()];
        let mut highest = f32::MIN_POSITIVE;
        for (term, rarity) in self.weigh_terms(query) {
            highest += rarity * saturate_counts(0.0)(1e6);
            let place = self.terms.binary_search(&term).ok();
            for (place, in_subject) in place.into_iter().flat_map(|index| self.list_postings(index))
            {
                if let (Some(score), Some(byte)) = (scores.get_mut(place), self.lengths.get(place))
                {
                    let times = if in_subject { SUBJECT_WEIGHT } else { 1.0 };
                    *score += rarity * saturate_counts(length(byte) / average)(times);
                }
            }
        }
        scores.iter().map(|score| score / highest).collect()
    }

    /// Returns the product of the query's vector with that of each commit.
    fn score_meanings(&self, query: &MessageQuery) -> Vec<f32> {
        // The product of each four numbers of the query with all that a byte may mean.
        let mut products = vec![[0.0_f32; 256]; VECTOR_BYTES];
        for (row, numbers) in products.iter_mut().zip(query.vector.chunks(PER_BYTE)) {
            for (byte, product) in row.iter_mut().enumerate() {
                let means = numbers.iter().enumerate().map(|(place, number)| {
                    let bits = byte >> (2 * place);
                    let mean = number * if bits & 1 == 0 { SMALL_MEAN } else { LARGE_MEAN };
                    if bits & 2 == 0 { mean } else { -mean }
                });
                *product = means.sum();
            }
        }
        let score = |vector: &[u8]| {
            let each = vector.iter().zip(&products);
            each.map(|(byte, row)| row.get(usize::from(*byte)).unwrap_or(&0.0)).sum()
        };
        self.vectors.chunks_exact(VECTOR_BYTES).map(score).collect()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_part(&mut body, self.ids.iter().flat_map(CommitId::as_slice).copied());
        put_part(&mut body, self.tips.iter().flat_map(|(id, _)| id.as_slice()).copied());
        for (_, bits) in &self.tips {
            put_part(&mut body, bits.iter().copied());
        }
        for number in [self.limit, self.unread] {
            put_part(&mut body, (number as u64).to_le_bytes().into_iter());
        }
        put_part(&mut body, self.gap.bytes());
        put_part(&mut body, self.vectors.iter().copied());
        put_part(&mut body, self.lengths.iter().copied());
        put_part(&mut body, self.terms.iter().flat_map(|term| term.to_le_bytes()));
        put_part(&mut body, self.ends.iter().flat_map(|end| end.to_le_bytes()));
        put_part(&mut body, self.postings.iter().copied());
        [MAGIC, sha256_hex(&body).as_bytes(), &body].concat()
    }

    /// Reads the content of a file. `None` if it is damaged or of another version.
    pub(super) fn decode(file: &[u8], id_bytes: usize) -> Option<Self> {
        let (checksum, mut body) = file.strip_prefix(MAGIC)?.split_at_checked(CHECKSUM_BYTES)?;
        if checksum != sha256_hex(body).as_bytes() {
            return None;
        }
        let to_ids = |bytes: &[u8]| -> Option<Vec<CommitId>> {
            bytes.chunks(id_bytes).map(|id| CommitId::try_from(id).ok()).collect()
        };
        let to_numbers = |bytes: &[u8]| -> Vec<u32> {
            bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect()
        };
        let body = &mut body;
        let ids = to_ids(take_part(body)?)?;
        let tip_ids = to_ids(take_part(body)?)?;
        let tips = tip_ids.into_iter().map(|id| Some((id, take_part(body)?.to_vec())));
        let table = Self {
            tips: tips.collect::<Option<_>>()?,
            limit: take_count(body)?,
            unread: take_count(body)?,
            gap: String::from_utf8(take_part(body)?.to_vec()).ok()?,
            vectors: take_part(body)?.to_vec(),
            lengths: take_part(body)?.to_vec(),
            terms: to_numbers(take_part(body)?),
            ends: to_numbers(take_part(body)?),
            postings: take_part(body)?.to_vec(),
            ids,
        };
        let count = table.ids.len();
        let is_whole = table.vectors.len() == count * VECTOR_BYTES
            && table.lengths.len() == count
            && table.ends.len() == table.terms.len();
        is_whole.then_some(table)
    }
}

/// Drops the terms with the fewest commits, first the oldest and those in no subject, until the rest
/// fits. Terms of random words have one commit.
fn drop_rare_terms(pairs: &mut Vec<(u32, u32)>, max_bytes: usize) {
    let groups = || pairs.chunk_by(|a, b| a.0 == b.0);
    let size = |commits: usize| TERM_BYTES + POSTING_BYTES * commits;
    let mut bytes: usize = groups().map(|same| size(same.len())).sum();
    if bytes <= max_bytes {
        return;
    }
    let mut rarest: Vec<_> = groups()
        .filter_map(|same| {
            let (term, posting) = *same.first()?;
            Some((same.len(), posting & 1, Reverse(posting >> 1), term))
        })
        .collect();
    rarest.sort_unstable();
    let mut dropped = HashSet::new();
    for (commits, _, _, term) in rarest {
        if bytes <= max_bytes {
            break;
        }
        bytes -= size(commits);
        dropped.insert(term);
    }
    pairs.retain(|(term, _)| !dropped.contains(term));
}

fn put_part(body: &mut Vec<u8>, part: impl Iterator<Item = u8>) {
    let start = body.len();
    body.extend([0; 4]);
    body.extend(part);
    let length = u32::try_from(body.len() - start - 4).unwrap_or(u32::MAX);
    if let Some(mut place) = body.get_mut(start..) {
        // The place has as many bytes as the number.
        let _infallible = place.write_all(&length.to_le_bytes());
    }
}

fn take_part<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = body.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *body = rest;
    Some(part)
}

fn take_count(body: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(take_part(body)?.try_into().ok()?)).ok()
}

fn put_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_make_no_large_table_and_push_out_no_common_ones() {
        let ids: Vec<CommitId> =
            (0..20_000_u32).map(|number| format!("{number:040x}").parse().unwrap()).collect();
        let entry = |place: u32| {
            let random = (0..63).map(|number| (1_000 + place * 63 + number, number == 0));
            let terms = random.chain([(place % 7, true)]).collect();
            MessageEntry::new(&[1.0; DIMENSIONS], terms, false)
        };
        let added = ids.iter().copied().zip((0..).map(entry)).collect();
        let table = CommitTable::default().rebuild(&ids, &added);
        let bytes = table.encode().len();
        assert!(bytes < 4 << 20, "{bytes}");
        let count = |term| {
            let query = MessageQuery { terms: vec![(term, 1.0)], ..MessageQuery::default() };
            table.score_words(&query).iter().filter(|score| **score > 0.0).count()
        };
        assert_eq!([3, 1_000, 1_001].map(count), [2_857, 1, 1]);
        let oldest = 1_000 + 19_999 * 63;
        assert_eq!([oldest, oldest + 1].map(count), [1, 0]);
        let again = table.rebuild(&ids, &HashMap::new());
        assert!(again == table);
    }
}
