//! Search results: ranked chunks, and the same chunks grouped by file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One chunk that matches a query. Field names are a wire promise of `POST /tools/vector-search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// Name of the repository.
    pub repo: String,
    /// Path below the root.
    pub rel_path: String,
    /// Absolute path as the client sees it.
    pub path: String,
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition or heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Lower-case language name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Relevance from 0 to 1, rounded to four places. Higher is better.
    pub score: f64,
    /// Text of the chunk's lines.
    pub chunk: String,
    /// Id of the chunk in the store.
    pub chunk_id: String,
    /// Embedding model, as `name@version`.
    pub model_id: String,
    /// Number of lines in the chunk.
    pub line_count: u32,
    /// Names of the repository's other trees that contain the same lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<String>,
    /// Name of the host that has the file, if it is another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// In a comparison of two trees, the name of the tree that has these lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_in: Option<String>,
    /// First line of the enclosing definition, if it starts above the chunk; not on the wire.
    #[serde(skip)]
    pub signature: Option<String>,
    /// Parts of the score. Only `POST /search` reports them.
    #[serde(skip)]
    pub parts: ScoreParts,
}

/// Parts of a score. The score is their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    /// Similarity in meaning to the query.
    pub meaning: f32,
    /// Matching words of the query, weighted by rarity.
    pub words: f32,
    /// Bonus if the chunk defines what the query names.
    pub definition: f32,
    /// Share of the query's words that the chunk contains.
    pub coverage: f32,
    /// Match with the file's name, and with other hits in the file.
    pub file: f32,
    /// Verbatim matches of the query, such as a message or a path.
    pub verbatim: f32,
    /// Deduction for the role of the file, such as tests.
    pub role: f32,
    /// Adjustment by other results, such as overrides of the chunk.
    pub others: f32,
}

impl ScoreParts {
    /// Returns each part's name and value.
    pub fn to_named_values(&self) -> [(&'static str, f32); 8] {
        let Self { meaning, words, definition, coverage, file, verbatim, role, others } = *self;
        [
            ("meaning", meaning),
            ("words", words),
            ("definition", definition),
            ("coverage", coverage),
            ("file", file),
            ("verbatim", verbatim),
            ("role", role),
            ("others", others),
        ]
    }

    /// Returns the sum of the parts.
    pub fn sum(&self) -> f32 {
        self.to_named_values().iter().map(|(_, part)| part).sum()
    }
}

/// Lines of one file from a search or a read. Field names are a wire promise of `vector_summary`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSummary {
    /// Absolute path as the client sees it.
    pub path: String,
    /// Path below the root.
    pub rel_path: String,
    /// Name of the repository.
    pub repo: String,
    /// Best score of the file's chunks, 0 to 1: 1 for lines read by path, 0.5 for uses of a name.
    #[serde(rename = "match")]
    pub best: f64,
    /// Number of chunks found or of ranges read.
    pub chunks: u32,
    /// Number of distinct lines covered.
    pub lines: u32,
    /// Covered lines as ascending, disjoint ranges such as `12-40`.
    pub ranges: Vec<LineRange>,
}

/// Inclusive range of lines, written `12-40`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LineRange {
    /// First line, counted from 1.
    pub first: u32,
    /// Last line, inclusive.
    pub last: u32,
}

impl LineRange {
    /// Returns the number of lines; 1 for a reversed range.
    pub fn line_count(self) -> u32 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl From<LineRange> for String {
    fn from(range: LineRange) -> Self {
        range.to_string()
    }
}

impl TryFrom<String> for LineRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = text.split_once('-').and_then(|(first, last)| {
            Some(Self { first: first.parse().ok()?, last: last.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("`{text}` is not a line range"))
    }
}

/// Sorts ranges and joins those that overlap or touch.
pub fn merge_ranges(mut ranges: Vec<LineRange>) -> Vec<LineRange> {
    ranges.sort_unstable();
    let mut merged: Vec<LineRange> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(before) if range.first <= before.last.saturating_add(1) => {
                before.last = before.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    merged
}
