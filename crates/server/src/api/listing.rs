//! `POST /search`: search results for people, with scores and highlighting.

use codeinfo_core::{Hit, ScoreParts};
use codeinfo_http::{Response, reply};
use codeinfo_lang::detect;
use codeinfo_search::{MAX_LISTED, MAX_QUERY_BYTES, SearchQuery, SearchResults};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ApiServices, error::ApiError};
use crate::replies::{ListedHit, ScorePart, SearchListing};

/// Number of results by default.
const DEFAULT_LIMIT: usize = 50;
/// Maximum number of languages in a request.
const MAX_LANGUAGES: usize = 50;

#[derive(Deserialize)]
pub(super) struct ListingArguments {
    query: String,
    repository: Option<String>,
    limit: Option<usize>,
    languages: Option<Vec<String>>,
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
            "languages": {
                "type": "array",
                "maxItems": MAX_LANGUAGES,
                "items": { "type": "string", "minLength": 1, "maxLength": 100 },
            },
        },
    })
}

pub(super) async fn list_hits(
    services: &ApiServices,
    ListingArguments { query, repository, limit, languages }: ListingArguments,
) -> Result<Response, ApiError> {
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    let languages = languages.unwrap_or_default();
    let query = SearchQuery::for_listing(&query, repository.as_deref(), limit, languages)?;
    let found = services.search_and_count(&query).await?;
    // Highlighting a thousand chunks takes a while.
    let listing = services.turns.run_blocking(move || build_listing(found)).await?;
    Ok(reply::json_response(StatusCode::OK, &listing))
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
    let marks = highlighted
        .iter()
        .map(|line| line.iter().map(super::source::encode_mark).collect())
        .collect();
    ListedHit { parts: list_score_parts(&hit.parts), marks, hit }
}

/// Returns the parts that are not zero, the largest first.
fn list_score_parts(parts: &ScoreParts) -> Vec<ScorePart> {
    let rounded = |part: f32| (f64::from(part) * 1e4).round() / 1e4;
    let named = parts
        .to_named_values()
        .map(|(name, value)| ScorePart { name: name.to_owned(), value: rounded(value) });
    let mut nonzero: Vec<ScorePart> = named.into_iter().filter(|part| part.value != 0.0).collect();
    nonzero.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    nonzero
}
