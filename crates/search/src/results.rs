//! Builds the results of a search from ranked candidates.

use std::collections::HashMap;

use codeinfo_core::{FileSummary, Hit, LineRange, Root, RootId, merge_ranges};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    DocumentedName, Search,
    candidate::SearchCandidate,
    file_diff::{FileDiff, UnmatchedFiles},
    intent::{QueryIntent, QueryKind},
    rank,
};

/// Results of a search. The field names are part of the wire format of `POST /tools/vector-search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    /// Best first; equal scores in a fixed order.
    #[serde(rename = "results")]
    pub hits: Vec<Hit>,
    /// Hits summarised by file, ordered by the best hit.
    pub files: Vec<FileSummary>,
    /// Names and files of the query that occur nowhere in the searched roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Plain words of the query that no indexed text contains in any form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent_words: Vec<String>,
    /// Names of the query that occur only in documents.
    #[serde(skip)]
    pub documented: Vec<DocumentedName>,
    /// Hint for the client, such as about the language of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Between two trees: the changes that match, ordered by the best hit of their file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<FileDiff>,
    /// Between two trees: the files that also differ, in no change that matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_differ: Option<UnmatchedFiles>,
    /// Other definitions, if the query consists of one name.
    #[serde(skip)]
    pub other_definitions: Vec<NameLocation>,
    /// Embedding model, as `name@version`.
    pub model_id: String,
}

/// Location of a name that is not among the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameLocation {
    /// Absolute path as the client sees it.
    pub path: String,
    /// Line of the name, or the first line of the chunk that defines it.
    pub line: u32,
}

#[derive(Debug)]
pub(super) struct DefiningChunk {
    id: Uuid,
    root: RootId,
    path: String,
    line: u32,
}

/// Returns the candidates that define the only name of a query as spelled, by path and line.
pub(super) fn find_defining_chunks(
    candidates: &[SearchCandidate],
    intent: &QueryIntent,
) -> Vec<DefiningChunk> {
    let ([name], QueryKind::Symbol) = (intent.names.as_slice(), intent.kind) else {
        return Vec::new();
    };
    let defining = candidates.iter().filter(|candidate| {
        rank::find_named_symbol(&candidate.record, intent).is_some_and(|symbol| {
            symbol.trim_end_matches(['?', '!', '=', '\'']).ends_with(&name.spelled)
        })
    });
    let mut definitions: Vec<DefiningChunk> = defining
        .map(|SearchCandidate { id, record, .. }| DefiningChunk {
            id: *id,
            root: record.root,
            path: record.path.clone(),
            line: record.start_line,
        })
        .collect();
    definitions.sort_by(|a, b| (&a.path, a.line, a.id).cmp(&(&b.path, b.line, b.id)));
    definitions
}

impl Search {
    pub(super) fn build_results(
        &self,
        ranked: Vec<SearchCandidate>,
        roots: &[Root],
    ) -> SearchResults {
        let model_id = self.embedder.model().id();
        let by_id: HashMap<RootId, &Root> = roots.iter().map(|root| (root.id, root)).collect();
        let hits: Vec<Hit> = ranked
            .into_iter()
            .filter_map(|candidate| {
                let root = by_id.get(&candidate.record.root)?;
                let others = candidate.other_roots.iter().filter_map(|id| by_id.get(id));
                let mut also_in: Vec<String> = others.map(|root| root.name.clone()).collect();
                let copies = candidate.copies.iter();
                also_in.extend(copies.map(|copy| format!("{}:{}", copy.path, copy.line)));
                Some(Hit { also_in, ..self.build_hit(candidate, root, &model_id) })
            })
            .collect();
        SearchResults { files: summarize_files(&hits), hits, model_id, ..SearchResults::default() }
    }

    fn build_hit(
        &self,
        SearchCandidate { id, record, score, parts, .. }: SearchCandidate,
        root: &Root,
        model: &str,
    ) -> Hit {
        Hit {
            repo: root.name.clone(),
            path: self.display_path(root, &record.path),
            rel_path: record.path,
            start_line: record.start_line,
            end_line: record.end_line,
            symbol: record.symbol,
            language: record.language,
            score: (f64::from(score) * 1e4).round() / 1e4,
            chunk: record.text,
            chunk_id: id.to_string(),
            model_id: model.to_owned(),
            line_count: record.end_line.saturating_sub(record.start_line) + 1,
            signature: record.signature,
            also_in: Vec::new(),
            host: root.host.as_ref().map(|host| host.name.clone()),
            only_in: None,
            parts,
        }
    }

    /// Returns the locations of the definitions that are not among the `ranked` results.
    pub(super) fn locate_other_definitions(
        &self,
        definitions: Vec<DefiningChunk>,
        ranked: &[SearchCandidate],
        roots: &[Root],
    ) -> Vec<NameLocation> {
        let is_ranked = |id: Uuid| {
            ranked.iter().any(|candidate| {
                candidate.id == id || candidate.copies.iter().any(|copy| copy.id == id)
            })
        };
        let others = definitions.into_iter().filter(|chunk| !is_ranked(chunk.id));
        let locations = others.filter_map(|chunk| {
            let root = roots.iter().find(|root| root.id == chunk.root)?;
            Some(NameLocation { path: self.display_path(root, &chunk.path), line: chunk.line })
        });
        locations.collect()
    }

    /// Returns a file's absolute path as clients see it.
    pub(super) fn display_path(&self, root: &Root, path: &str) -> String {
        self.path_map.to_client_path(&root.path.join(path)).display().to_string()
    }
}

/// Summarises hits by file. Hits come best first, and files are ordered by their best hit.
pub(super) fn summarize_files(hits: &[Hit]) -> Vec<FileSummary> {
    let mut files: Vec<FileSummary> = Vec::new();
    let mut places: HashMap<(Option<&str>, &str), usize> = HashMap::new();
    for hit in hits {
        let file = (hit.host.as_deref(), hit.path.as_str());
        let place = *places.entry(file).or_insert(files.len());
        if place == files.len() {
            files.push(FileSummary {
                path: hit.path.clone(),
                rel_path: hit.rel_path.clone(),
                repo: hit.repo.clone(),
                best: hit.score,
                chunks: 0,
                lines: 0,
                ranges: Vec::new(),
            });
        }
        if let Some(file) = files.get_mut(place) {
            file.best = file.best.max(hit.score);
            file.chunks += 1;
            file.ranges.push(LineRange { first: hit.start_line, last: hit.end_line });
        }
    }
    for file in &mut files {
        file.ranges = merge_ranges(std::mem::take(&mut file.ranges));
        file.lines = file.ranges.iter().map(|range| range.line_count()).sum();
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::hit, *};

    #[test]
    fn each_file_is_listed_once_with_joined_ranges() {
        let hits = [
            hit("src/a.rs", 12..=40, 0.9),
            hit("src/b.rs", 1..=3, 0.8),
            hit("src/a.rs", 88..=115, 0.7),
            hit("src/a.rs", 41..=50, 0.6),
            hit("src/a.rs", 30..=45, 0.5),
        ];
        let shown: Vec<String> = summarize_files(&hits)
            .iter()
            .map(|file| {
                serde_json::to_string(&(
                    &file.rel_path, file.best, file.chunks, file.lines, &file.ranges,
                ))
                .unwrap()
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        ["src/a.rs",0.9,4,67,["12-50","88-115"]]
        ["src/b.rs",0.8,1,3,["1-3"]]
        "#);
        assert!(summarize_files(&[]).is_empty());
    }
}
