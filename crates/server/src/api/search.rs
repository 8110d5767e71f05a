//! Search over plain HTTP: `POST /tools/vector-search` for programs, `POST /search` for people.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use codeinfo_core::{FileSummary, Hit, Root, RootFilter, ScoreParts, telemetry::OutcomeLabel};
use codeinfo_http::{Response, reply};
use codeinfo_lang::detect;
use codeinfo_search::{
    MAX_LIMIT, MAX_LISTED, MAX_QUERY_BYTES, SearchError, SearchQuery, SearchResults,
};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    ApiServices,
    error::ApiError,
    source::{EncodedMark, encode_mark},
};

const DEFAULT_LISTED: usize = 50;
const MAX_LANGUAGES: usize = 50;

#[derive(Deserialize)]
pub(super) struct SearchArguments {
    query: String,
    repository: Option<String>,
    limit: Option<u64>,
    between: Option<[String; 2]>,
    folder: Option<PathBuf>,
    #[serde(rename = "in")]
    place: Option<SearchedPlace>,
}

/// Source that is searched instead of code and documents.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SearchedPlace {
    History,
}

impl SearchArguments {
    pub(super) fn asks_for_commits(&self) -> bool {
        matches!(self.place, Some(SearchedPlace::History))
    }

    pub(super) fn limit(&self) -> Option<usize> {
        self.limit.and_then(|limit| usize::try_from(limit).ok())
    }

    pub(super) fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    pub(super) fn query_text(&self) -> &str {
        &self.query
    }

    pub(super) fn with_root(self, root: &Root) -> Self {
        Self { repository: Some(root.id.to_string()), ..self }
    }

    /// Returns the folder in which the client works, unless a repository is named.
    pub(super) fn client_folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| self.repository.is_none())
    }

    /// Returns the query; `limit` is the default of its limit.
    pub(super) fn query_or(&self, limit: usize) -> Result<SearchQuery, SearchError> {
        let limit = self.limit.or(u64::try_from(limit).ok());
        SearchQuery::new(&self.query, self.repository.as_deref(), limit)?
            .with_compared_trees(self.compared_trees())
    }

    pub(super) fn to_query(&self) -> Result<SearchQuery, SearchError> {
        SearchQuery::new(&self.query, self.repository.as_deref(), self.limit)?
            .with_compared_trees(self.compared_trees())
    }

    pub(super) fn compared_trees(&self) -> Option<[&str; 2]> {
        self.between.as_ref().map(|trees| trees.each_ref().map(String::as_str))
    }
}

#[derive(Deserialize)]
pub(super) struct ListingArguments {
    query: String,
    repository: Option<String>,
    limit: Option<usize>,
    languages: Option<Vec<String>>,
    #[serde(rename = "in")]
    place: Option<SearchedPlace>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchListing {
    results: Vec<ListedHit>,
    files: Vec<FileSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent: Vec<String>,
    model_id: String,
}

#[derive(Serialize)]
struct ListedHit {
    #[serde(flatten)]
    hit: Hit,
    /// Parts of the score, the largest first.
    parts: Vec<ScorePart>,
    /// Marks of each line of `chunk`.
    marks: Vec<Vec<EncodedMark>>,
}

#[derive(Serialize)]
struct ScorePart {
    name: &'static str,
    value: f64,
}

/// Returns the schema of [`SearchArguments`], with descriptions for models and `default_limit`.
pub(super) fn search_schema(default_limit: usize) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY_BYTES,
                "description": "What the code does, or names and words in it. One topic per search.",
            },
            "repository": {
                "type": "string",
                "minLength": 1,
                "description": "Name of the only repository to search, or of one of its commits, as `app@v1.2`.",
            },
            "between": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": { "type": "string", "minLength": 1 },
                "description": "Two trees of one repository, the older first, such as `app@v1.2` and `app`: finds unified diffs. Instead of `repository`.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "description": format!("Maximum number of places; {default_limit} by default."),
            },
            "in": { "enum": ["history"], "description": "Finds commits." },
        },
    })
}

/// Returns [`search_schema`] with the client's folder, which programs know and models do not.
pub(super) fn schema_with_folder(default_limit: usize) -> Value {
    let mut schema = search_schema(default_limit);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let folder = json!({ "type": "string", "minLength": 1, "maxLength": 4096 });
        properties.insert("folder".to_owned(), folder);
    }
    schema
}

pub(super) fn listing_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {
            "query": { "type": "string", "minLength": 1, "maxLength": MAX_QUERY_BYTES },
            "repository": { "type": "string", "minLength": 1 },
            "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LISTED },
            "in": { "enum": ["history"] },
            "languages": {
                "type": "array",
                "maxItems": MAX_LANGUAGES,
                "items": { "type": "string", "minLength": 1, "maxLength": 100 },
            },
        },
    })
}

impl ApiServices {
    /// Searches, and records the duration and outcome.
    pub(super) async fn search_and_count(
        &self,
        query: &SearchQuery,
    ) -> Result<SearchResults, SearchError> {
        let began = Instant::now();
        let found = self.search.find_chunks(query).await;
        let outcome = found.as_ref().map_or_else(|failure| failure.code().as_str(), |_| "ok");
        self.metrics.searches.record_duration(&OutcomeLabel { outcome }, began.elapsed());
        found
    }
}

pub(super) async fn vector_search(
    services: &ApiServices,
    arguments: SearchArguments,
) -> Result<Response, ApiError> {
    let query = arguments.to_query()?;
    let (tree, notice) = services.find_client_tree(arguments.client_folder()).await;
    if arguments.asks_for_commits() {
        let within = tree.map_or(RootFilter::Everything, RootFilter::Tree);
        return reply_commits(services, &query, arguments.limit(), within).await;
    }
    let found = services.search_and_count(&query.within_tree(tree)).await?;
    Ok(reply::json_response(
        StatusCode::OK,
        &SearchResults { notice: notice.or(found.notice.clone()), ..found },
    ))
}

pub(super) async fn list_hits(
    services: &ApiServices,
    ListingArguments { query, repository, limit: given_limit, languages, place }: ListingArguments,
) -> Result<Response, ApiError> {
    let limit = given_limit.unwrap_or(DEFAULT_LISTED);
    let languages = languages.unwrap_or_default();
    let query = SearchQuery::for_listing(&query, repository.as_deref(), limit, languages)?;
    if place.is_some() {
        return reply_commits(services, &query, given_limit, RootFilter::Everything).await;
    }
    let found = services.search_and_count(&query).await?;
    // Highlighting a thousand chunks takes a while.
    let listing = services.turns.run_blocking(move || build_listing(found)).await?;
    Ok(reply::json_response(StatusCode::OK, &listing))
}

/// Replies with the commits of the named repository, else of those `within`.
async fn reply_commits(
    services: &ApiServices,
    query: &SearchQuery,
    limit: Option<usize>,
    within: RootFilter,
) -> Result<Response, ApiError> {
    let roots = match query.repository() {
        Some(named) => RootFilter::Only(services.resolve_root(named).await?.id),
        None => within,
    };
    let found = services.evidence.find_commits(query.text(), limit, roots).await?;
    Ok(reply::json_response(StatusCode::OK, &found))
}

fn build_listing(
    SearchResults { hits, files, absent, model_id, .. }: SearchResults,
) -> SearchListing {
    SearchListing {
        results: hits.into_iter().map(build_listed_hit).collect(),
        files,
        absent,
        model_id,
    }
}

fn build_listed_hit(hit: Hit) -> ListedHit {
    let language = hit.language.as_deref().and_then(detect::find_language);
    let lines = 0..hit.chunk.lines().count();
    let highlighted = codeinfo_chunk::highlight_lines(language, &hit.chunk, lines);
    let marks = highlighted.iter().map(|line| line.iter().map(encode_mark).collect()).collect();
    ListedHit { parts: list_score_parts(&hit.parts), marks, hit }
}

fn list_score_parts(parts: &ScoreParts) -> Vec<ScorePart> {
    let rounded = |part: f32| (f64::from(part) * 1e4).round() / 1e4;
    let named =
        parts.to_named_values().map(|(name, value)| ScorePart { name, value: rounded(value) });
    let mut nonzero: Vec<ScorePart> = named.into_iter().filter(|part| part.value != 0.0).collect();
    nonzero.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    nonzero
}
