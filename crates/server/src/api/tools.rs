//! Raw search and the list of repositories, as plain HTTP.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use codeinfo_core::{Root, telemetry::Outcome};
use codeinfo_http::{Response, reply};
use codeinfo_search::{Found, MAX_LIMIT, MAX_QUERY_BYTES, Query, SearchError};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Services, error::ApiError, repos::repos_compared};

/// What to search for, over HTTP and over MCP.
#[derive(Deserialize)]
pub(super) struct SearchArguments {
    query: String,
    repository: Option<String>,
    limit: Option<u64>,
    /// Two trees whose differences are looked for.
    between: Option<[String; 2]>,
    /// Where the client stands.
    folder: Option<PathBuf>,
}

impl SearchArguments {
    /// Returns the repository that is named.
    pub(super) fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    /// Returns the query as it is given.
    pub(super) fn text(&self) -> &str {
        &self.query
    }

    /// Searches in `root` only.
    pub(super) fn within(self, root: &Root) -> Self {
        Self { repository: Some(root.id.to_string()), ..self }
    }

    /// Returns where the client stands, where that says which tree it means.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| self.repository.is_none())
    }

    /// Returns the query, with another limit where none is asked for.
    pub(super) fn query_or(&self, limit: usize) -> Result<Query, SearchError> {
        let limit = self.limit.or(u64::try_from(limit).ok());
        Query::new(&self.query, self.repository.as_deref(), limit)?.comparing(self.between())
    }

    pub(super) fn query(&self) -> Result<Query, SearchError> {
        Query::new(&self.query, self.repository.as_deref(), self.limit)?.comparing(self.between())
    }

    /// Returns the two trees that are compared.
    pub(super) fn between(&self) -> Option<[&str; 2]> {
        self.between.as_ref().map(|trees| trees.each_ref().map(String::as_str))
    }
}

/// Returns the schema of [`SearchArguments`], where `default_limit` counts if no limit is asked for; its
/// descriptions are for models.
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
                "description": "Two trees of one repository, the older first, such as `app@v1.2` and `app`: finds what differs. Instead of `repository`.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "description": format!("Maximum number of places; {default_limit} by default."),
            },
        },
    })
}

/// Returns the same with where the client stands, which a program knows and a model does not.
pub(super) fn standing_schema(default_limit: usize) -> Value {
    let mut schema = search_schema(default_limit);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let folder = json!({ "type": "string", "minLength": 1, "maxLength": 4096 });
        properties.insert("folder".to_owned(), folder);
    }
    schema
}

pub(super) async fn ingested_repos(services: &Services) -> Result<Response, ApiError> {
    Ok(reply::json(StatusCode::OK, &repos_compared(services).await?))
}

impl Services {
    /// Searches, and counts that.
    pub(super) async fn find(&self, query: &Query) -> Result<Found, SearchError> {
        let began = Instant::now();
        let found = self.search.find(query).await;
        let outcome = found.as_ref().map_or_else(|failure| failure.code().as_str(), |_| "ok");
        self.metrics.searches.ended(&Outcome { outcome }, began.elapsed());
        found
    }
}

pub(super) async fn vector_search(
    services: &Services,
    arguments: SearchArguments,
) -> Result<Response, ApiError> {
    let query = arguments.query()?;
    let (tree, notice) = services.standing(arguments.folder()).await;
    let found = services.find(&query.standing_in(tree)).await?;
    Ok(reply::json(StatusCode::OK, &Found { notice: notice.or(found.notice.clone()), ..found }))
}
