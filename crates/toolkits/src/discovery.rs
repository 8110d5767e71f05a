//! Finds the tools that a question needs, by meaning and by words, and suggests names near a wrong one.
//!
//! The rank is a convex combination of the scores of the built-in model and of BM25, as in search. An index covers
//! one catalogue and never changes. Building one embeds each tool: above a few hundred, use a blocking thread.

mod entry;
mod words;

use codeinfo_core::TermVector;
use codeinfo_embed::{EmbeddingDocument, StaticModel, lexical};
use strsim::osa_distance;

pub use entry::{
    LOCAL, ToolIndexEntry, ToolParameter, parse_parameters, quote_text, render_signature,
};

use self::{entry::first_sentence, words::Bm25Index};

const MAX_INDEXED_CHARS: usize = 4000;

/// Weights of the ranking features; 0 switches a feature off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolRankingWeights {
    /// Share of the semantic score; the rest is lexical.
    pub dense: f32,
    /// Reduction of the weight of stop words.
    pub stop_word_discount: f32,
    /// Weights of one occurrence in the name of the tool, the name of the toolkit, the title, the names of
    /// parameters and their descriptions. An occurrence in the description of the tool counts 1.
    pub name: f32,
    pub toolkit: f32,
    pub title: f32,
    pub parameter: f32,
    pub parameter_description: f32,
    /// Bonus for tools of a toolkit that the query names, in units of the fused score, which is at most 1.
    pub toolkit_bonus: f32,
    /// Bonus for tools that match all words of the query; a partial match gets a share of it.
    pub coverage: f32,
    /// Share of the name and first sentence in a tool's vector; the rest is the whole text.
    pub gist: f32,
    /// Weights of synonyms of the query's words, in the lexical and the semantic score.
    pub synonyms: f32,
    pub synonyms_dense: f32,
}

impl ToolRankingWeights {
    /// Weights of the product.
    pub const SHIPPED: Self = Self {
        dense: 0.6,
        gist: 0.5,
        stop_word_discount: 0.5,
        name: 1.5,
        toolkit: 0.5,
        title: 1.0,
        parameter: 0.5,
        parameter_description: 0.1,
        toolkit_bonus: 0.2,
        coverage: 0.3,
        synonyms: 0.35,
        synonyms_dense: 0.5,
    };
}

/// Tool with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedTool<'a> {
    pub entry: &'a ToolIndexEntry,
    pub score: f32,
}

/// Toolkit with its tools.
#[derive(Debug, Clone, Copy)]
pub struct ToolDomain<'a> {
    pub name: &'a str,
    pub tools: &'a [IndexedTool],
}

/// Tool with its precomputed vectors.
#[derive(Debug)]
pub struct IndexedTool {
    entry: ToolIndexEntry,
    vector: Vec<f32>,
    toolkit: TermVector,
}

/// Returns up to three names spelled most like `name`, best first.
pub fn nearest_names<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    first_distinct(names_by_spelling(name, names).into_iter())
}

impl IndexedTool {
    pub fn entry(&self) -> &ToolIndexEntry {
        &self.entry
    }
}

/// Index of one catalogue's tools.
pub struct ToolIndex {
    model: StaticModel,
    weights: ToolRankingWeights,
    /// Tools, ordered by domain and name.
    tools: Vec<IndexedTool>,
    words: Bm25Index,
}

impl ToolIndex {
    /// Indexes tools. Among those with the same identifier, the first counts.
    pub fn new(entries: Vec<ToolIndexEntry>, model: StaticModel) -> Self {
        Self::with_weights(entries, model, ToolRankingWeights::SHIPPED)
    }

    /// Indexes tools with other weights, to measure their effect.
    pub fn with_weights(
        mut entries: Vec<ToolIndexEntry>,
        model: StaticModel,
        weights: ToolRankingWeights,
    ) -> Self {
        entries.sort_by(|a, b| (a.domain(), &a.name, &a.id).cmp(&(b.domain(), &b.name, &b.id)));
        entries.dedup_by(|later, first| later.id == first.id);
        let counts = entries.iter().map(|entry| count_terms(entry, &weights)).collect();
        let tools = entries
            .into_iter()
            .map(|entry| IndexedTool::new(entry, &model, weights.gist))
            .collect();
        Self { model, weights, tools, words: Bm25Index::new(counts) }
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tool with an identifier, in its original or its shown form.
    pub fn find_entry(&self, id: &str) -> Option<&ToolIndexEntry> {
        let mut entries = self.tools.iter().map(IndexedTool::entry);
        let exact = entries.clone().find(|entry| entry.id == id);
        exact.or_else(|| entries.find(|entry| entry.shown_id() == id))
    }

    /// Returns up to `limit` tools of one domain or all, best first.
    pub fn search(&self, query: &str, domain: Option<&str>, limit: usize) -> Vec<RankedTool<'_>> {
        let prepared = ToolQuery::new(self, query);
        let tools = self.tools.iter().enumerate();
        let mut found: Vec<ScoredTool<'_>> = tools
            .filter(|(_, tool)| domain.is_none_or(|domain| tool.entry.domain() == domain))
            .map(|(place, tool)| prepared.score_tool(place, tool))
            .collect();
        let dense = ScoreRange::from_scores(found.iter().map(|scored| scored.dense));
        let max = found.iter().map(|scored| scored.lexical).fold(0.0, f32::max);
        let lexical = ScoreRange { min: 0.0, max };
        let weights = &self.weights;
        for scored in &mut found {
            scored.score = weights.dense * dense.normalize_score(scored.dense)
                + (1.0 - weights.dense) * lexical.normalize_score(scored.lexical)
                + scored.bonus;
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(limit);
        found
            .iter()
            .map(|scored| RankedTool { entry: &scored.tool.entry, score: scored.score })
            .collect()
    }

    /// Returns up to three identifiers near a wrong one, first by spelling, then by meaning.
    pub fn nearest_ids(&self, id: &str) -> Vec<&str> {
        let by_spelling = ids_by_spelling(id, self.tools.iter().map(IndexedTool::entry));
        let ranked = self.search(&to_search_words(id), None, MAX_SUGGESTIONS);
        let by_meaning = ranked.into_iter().map(|ranked| ranked.entry.id.as_str());
        first_distinct(by_spelling.into_iter().chain(by_meaning))
    }

    /// Returns up to three domains near a wrong one, first by spelling, then by meaning.
    pub fn nearest_domains(&self, name: &str) -> Vec<&str> {
        let names = self.domains().map(|domain| domain.name);
        let by_spelling = names_by_spelling(name, names);
        let ranked = self.search(&to_search_words(name), None, self.len());
        let by_meaning = ranked.into_iter().map(|ranked| ranked.entry.domain());
        first_distinct(by_spelling.into_iter().chain(by_meaning))
    }

    /// Returns the domains, ordered by name.
    pub fn domains(&self) -> impl Iterator<Item = ToolDomain<'_>> {
        let groups = self.tools.chunk_by(|a, b| a.entry.domain() == b.entry.domain());
        groups.filter_map(|tools| Some(ToolDomain { name: tools.first()?.entry.domain(), tools }))
    }

    /// Returns the tools of a domain by name, after `cursor`, which may be gone; `None` for an unknown domain.
    pub fn browse_domain(&self, domain: &str, cursor: Option<&str>) -> Option<&[IndexedTool]> {
        let tools = self.domains().find(|known| known.name == domain)?.tools;
        let is_shown =
            |tool: &IndexedTool| cursor.is_some_and(|cursor| tool.entry.name.as_str() <= cursor);
        tools.get(tools.partition_point(is_shown)..)
    }
}

impl IndexedTool {
    fn new(entry: ToolIndexEntry, model: &StaticModel, gist: f32) -> Self {
        let text = build_embedding_text(&entry);
        let domain = entry.domain();
        let mut vector = model.embed_document(&EmbeddingDocument {
            path: domain,
            symbol: &entry.name,
            text: &text,
        });
        let text = format!("{} {}", entry.name, first_sentence(&entry.description));
        let gist_vector =
            model.embed_document(&EmbeddingDocument { path: domain, symbol: "", text: &text });
        for (value, gist_value) in vector.iter_mut().zip(gist_vector) {
            *value += gist * (gist_value - *value);
        }
        let toolkit =
            lexical::extract_query_terms(entry.toolkit.as_ref().map_or("", |name| name.as_str()));
        Self { entry, vector, toolkit }
    }
}

struct ToolQuery<'a> {
    index: &'a ToolIndex,
    vector: Vec<f32>,
    terms: TermVector,
    synonym_terms: TermVector,
    total: f32,
}

struct ScoredTool<'a> {
    tool: &'a IndexedTool,
    dense: f32,
    lexical: f32,
    bonus: f32,
    score: f32,
}

impl<'a> ToolQuery<'a> {
    fn new(index: &'a ToolIndex, query: &str) -> Self {
        let weights = &index.weights;
        let synonyms = words::find_synonyms(query);
        let mut terms = lexical::extract_query_terms(query);
        lexical::weigh_stop_words(&mut terms, 1.0 - weights.stop_word_discount);
        index.words.weigh_query(&mut terms);
        let total = terms.values.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let mut synonym_terms = lexical::extract_query_terms(&synonyms);
        for weight in &mut synonym_terms.values {
            *weight *= weights.synonyms;
        }
        index.words.weigh_query(&mut synonym_terms);
        let mut vector = index.model.embed_query(query);
        if weights.synonyms_dense > 0.0 {
            let other = index.model.embed_query(&synonyms);
            for (value, other) in vector.iter_mut().zip(other) {
                *value += weights.synonyms_dense * other;
            }
        }
        Self { index, vector, terms, synonym_terms, total }
    }

    fn score_tool(&self, place: usize, tool: &'a IndexedTool) -> ScoredTool<'a> {
        let Self { index, vector, terms, synonym_terms, total } = self;
        let weights = &index.weights;
        let dense = vector.iter().zip(&tool.vector).map(|(a, b)| a * b).sum();
        let lexical =
            index.words.score_text(place, terms) + index.words.score_text(place, synonym_terms);
        let mut bonus = weights.coverage * index.words.matched_weight(place, terms) / total;
        if is_within(&tool.toolkit, terms) {
            bonus += weights.toolkit_bonus;
        }
        ScoredTool { tool, dense, lexical, bonus, score: 0.0 }
    }
}

fn is_within(name: &TermVector, query: &TermVector) -> bool {
    let has = |term| query.indices.binary_search(term).is_ok();
    !name.indices.is_empty() && name.indices.iter().all(has)
}

struct ScoreRange {
    min: f32,
    max: f32,
}

impl ScoreRange {
    fn from_scores(scores: impl Iterator<Item = f32>) -> Self {
        let empty = Self { min: f32::INFINITY, max: f32::NEG_INFINITY };
        scores.fold(empty, |range, score| Self {
            min: range.min.min(score),
            max: range.max.max(score),
        })
    }

    /// Maps the minimum to 0 and the maximum to 1; returns 0 if all scores are equal.
    fn normalize_score(&self, score: f32) -> f32 {
        let width = self.max - self.min;
        if width > 0.0 { (score - self.min) / width } else { 0.0 }
    }
}

fn count_terms(entry: &ToolIndexEntry, weights: &ToolRankingWeights) -> TermVector {
    let toolkit = entry.toolkit.as_ref().map_or("", |name| name.as_str());
    let mut fields = vec![
        (entry.name.as_str(), weights.name),
        (toolkit, weights.toolkit),
        (entry.title.as_deref().unwrap_or_default(), weights.title),
        (truncate_description(&entry.description), 1.0),
    ];
    for parameter in &entry.parameters {
        fields.push((&parameter.name, weights.parameter));
        let description = parameter.description.as_deref().unwrap_or_default();
        fields.push((description, weights.parameter_description));
    }
    fields.retain(|(_, weight)| *weight > 0.0);
    lexical::count_terms(fields)
}

fn build_embedding_text(entry: &ToolIndexEntry) -> String {
    let title = entry.title.as_deref().unwrap_or_default();
    let mut text = format!("{title}\n{}", truncate_description(&entry.description));
    for parameter in &entry.parameters {
        text.push('\n');
        text.push_str(&parameter.name);
    }
    text
}

fn truncate_description(description: &str) -> &str {
    let end =
        description.char_indices().nth(MAX_INDEXED_CHARS).map_or(description.len(), |(at, _)| at);
    description.get(..end).unwrap_or_default()
}

const MAX_SUGGESTIONS: usize = 3;
/// Minimum similarity of two names of similar spelling.
const MIN_SIMILARITY: f32 = 0.6;
/// Maximum characters to compare; of longer names only the start counts.
const MAX_COMPARED_CHARS: usize = 64;

/// The same tool name in another toolkit counts as near.
fn ids_by_spelling<'a>(
    id: &str,
    entries: impl Iterator<Item = &'a ToolIndexEntry>,
) -> Vec<&'a str> {
    let id = fold_name(id);
    let bare = id.rsplit(':').next().unwrap_or_default();
    let rated = entries.map(|entry| {
        let id_similarity = name_similarity(&id, &fold_name(&entry.id));
        (
            id_similarity.max(0.95 * name_similarity(bare, &fold_name(&entry.name))),
            entry.id.as_str(),
        )
    });
    pick_nearest(rated.collect())
}

fn names_by_spelling<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let name = fold_name(name);
    pick_nearest(names.map(|known| (name_similarity(&name, &fold_name(known)), known)).collect())
}

fn to_search_words(id: &str) -> String {
    let start: String = id.chars().take(4 * MAX_COMPARED_CHARS).collect();
    start.strip_prefix("mcp:").unwrap_or(&start).replace([':', '_', '-', '.', '/'], " ")
}

fn first_distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::with_capacity(MAX_SUGGESTIONS);
    for name in names {
        if distinct.len() == MAX_SUGGESTIONS {
            break;
        }
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn pick_nearest(mut rated: Vec<(f32, &str)>) -> Vec<&str> {
    rated.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    rated.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    rated.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// Returns the similarity of two names: 1 minus their edit distance relative to the longer one.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn name_similarity(a: &str, b: &str) -> f32 {
    let longest = a.chars().count().max(b.chars().count()).max(1);
    1.0 - osa_distance(a, b) as f32 / longest as f32
}

fn fold_name(name: &str) -> String {
    let bare = name.strip_prefix("mcp:").unwrap_or(name);
    let lower = bare.chars().take(MAX_COMPARED_CHARS).flat_map(char::to_lowercase);
    lower.map(|c| if matches!(c, '-' | '.' | '/' | ' ') { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests;
