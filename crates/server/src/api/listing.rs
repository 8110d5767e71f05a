//! `POST /search`: what a search finds, for people who look through much of it.

use codeinfo_core::{Hit, Parts};
use codeinfo_http::{Response, reply};
use codeinfo_lang::detect;
use codeinfo_search::{Found, MAX_LISTED, MAX_QUERY_BYTES, Query};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Services, error::ApiError};
use crate::replies::{ListedHit, Listing, Part};

/// How many results there are if no limit is asked for.
const DEFAULT_LIMIT: usize = 50;
/// More languages are not asked for at once.
const MAX_LANGUAGES: usize = 50;

/// What to search for.
#[derive(Deserialize)]
pub(super) struct Arguments {
    query: String,
    repository: Option<String>,
    limit: Option<usize>,
    languages: Option<Vec<String>>,
}

pub(super) fn schema() -> Value {
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

pub(super) async fn search(
    services: &Services,
    Arguments { query, repository, limit, languages }: Arguments,
) -> Result<Response, ApiError> {
    let asked = (limit.unwrap_or(DEFAULT_LIMIT), languages.unwrap_or_default());
    let query = Query::listing(&query, repository.as_deref(), asked)?;
    let found = services.find(&query).await?;
    // Marking a thousand pieces of code takes a while.
    let listing = services.turns.blocking(move || listing(found)).await?;
    Ok(reply::json(StatusCode::OK, &listing))
}

fn listing(Found { hits, files, absent, model_id, .. }: Found) -> Listing {
    Listing { results: hits.into_iter().map(listed).collect(), files, absent, model_id }
}

fn listed(hit: Hit) -> ListedHit {
    let language = hit.language.as_deref().and_then(detect::named);
    let lines = 0..hit.chunk.lines().count();
    let marks = codeinfo_chunk::highlight(language, &hit.chunk, lines).into_iter();
    let marks = marks.map(|line| line.iter().map(super::source::mark).collect()).collect();
    ListedHit { parts: parts(&hit.parts), marks, hit }
}

/// Returns the parts that count, the largest first.
fn parts(of: &Parts) -> Vec<Part> {
    let rounded = |part: f32| (f64::from(part) * 1e4).round() / 1e4;
    let parts =
        of.named().map(|(name, value)| Part { name: name.to_owned(), value: rounded(value) });
    let mut parts: Vec<Part> = parts.into_iter().filter(|part| part.value != 0.0).collect();
    parts.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    parts
}
