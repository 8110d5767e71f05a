//! `GET /symbols` and below: definitions, what uses them, and the commits that changed them.

use std::path::Path;

use codeinfo_core::RootFilter;
use codeinfo_evidence::{
    DEFAULT_SINCE, DEFAULT_TRACE_DEPTH, HistoryRequest, ImpactRequest, MAX_TRACE_DEPTH,
    RelationKind, TraceDirection, TraceRequest, render,
};
use codeinfo_http::{Response, reply};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::json;

use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
};

/// The `kind` for which every place of a name is found.
const EVERY_USE: &str = "uses";
/// Maximum bytes of a name or path.
const MAX_NAME_BYTES: usize = 4_096;

pub(super) async fn find_relations(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let names = ["name", "kind", "format", "repository", "folder"];
    let [given_name, given_kind, format, repository, folder] = read_parameters(query, names)?;
    let name = require(given_name, "`name` is missing: give `Type.name` or `path:line`")?;
    let within = resolve_filter(services, repository, folder).await?;
    let kind = given_kind.as_deref().unwrap_or(EVERY_USE);
    if kind == EVERY_USE {
        let found = services.evidence.find_uses(&name, within).await?;
        return reply_found(format.as_deref(), &found, || render::render_uses(&found).0);
    }
    let relation = RelationKind::from_name(kind).ok_or_else(|| {
        invalid_argument(
            "`kind` must be `uses`, `callers`, `callees`, `implementations`, `overrides` or `importers`",
        )
    })?;
    let found = services.evidence.find_relations(&name, relation, within).await?;
    reply_found(format.as_deref(), &found, || render::render_relations(&found).0)
}

pub(super) async fn trace_calls(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let names = ["from", "to", "direction", "depth", "format", "repository", "folder"];
    let [from, to, direction, depth, format, repository, folder] = read_parameters(query, names)?;
    let start = require(from, "`from` is missing: give `Type.name` or `path:line`")?;
    let followed = match direction.as_deref() {
        None | Some("callees") => TraceDirection::Callees,
        Some("callers") => TraceDirection::Callers,
        Some(_) => return Err(invalid_argument("`direction` must be `callers` or `callees`")),
    };
    let default_depth = if to.is_some() { MAX_TRACE_DEPTH } else { DEFAULT_TRACE_DEPTH };
    let max_depth = parse_depth(depth.as_deref(), default_depth)?;
    let within = resolve_filter(services, repository, folder).await?;
    let request = TraceRequest { from: start, to, direction: followed, depth: max_depth };
    let found = services.evidence.trace_calls(request.clone(), within).await?;
    reply_found(format.as_deref(), &found, || render::render_trace(&found, &request).0)
}

/// Answers with the definitions that changed since a commit, and what reaches them.
pub(super) async fn find_impact(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let names = ["since", "depth", "format", "repository", "folder"];
    let [since, depth, format, repository, folder] = read_parameters(query, names)?;
    let since = since.unwrap_or_else(|| DEFAULT_SINCE.to_owned());
    let max_depth = parse_depth(depth.as_deref(), DEFAULT_TRACE_DEPTH)?;
    let within = resolve_filter(services, repository, folder).await?;
    let request = ImpactRequest { since, depth: max_depth };
    let found = services.evidence.find_impact(request.clone(), within).await?;
    reply_found(format.as_deref(), &found, || render::render_impact(&found, &request).0)
}

/// Answers with the commits that changed a file, lines or a definition, or with one commit.
pub(super) async fn describe_history(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let names = ["path", "lines", "symbol", "commit", "limit", "format", "repository", "folder"];
    let [path, lines, symbol, commit, given_limit, format, repository, folder] =
        read_parameters(query, names)?;
    let parsed = given_limit.map(|text| text.parse()).transpose();
    let limit = parsed.map_err(|_| invalid_argument("`limit` must be a number"))?;
    let within = resolve_filter(services, repository, folder).await?;
    let is_for_page = format.is_none();
    let request =
        HistoryRequest { path, lines, symbol, commit, limit, repository: None, is_for_page };
    let report = services.evidence.read_history(request, within).await?;
    reply_found(format.as_deref(), &report, || render::render_history(&report))
}

fn parse_depth(depth: Option<&str>, default_depth: usize) -> Result<usize, ApiError> {
    let given = depth.map_or(Some(default_depth), |text| text.parse().ok());
    given.filter(|depth| (1..=MAX_TRACE_DEPTH).contains(depth)).ok_or_else(|| {
        invalid_argument(&format!("`depth` must be a number from 1 to {MAX_TRACE_DEPTH}"))
    })
}

/// Answers with the definitions that the name at a place of a file leads to.
pub(super) async fn find_definitions(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let names = ["path", "line", "column", "repository"];
    let [path, line, column, repository] = read_parameters(query, names)?;
    let file_path = require(path, "`path` is missing: give that of an indexed file")?;
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u32>().ok());
    let (Some(line_number), Some(byte_column)) = (number(line), number(column)) else {
        return Err(invalid_argument("`line` must be a number from 1, `column` one from 0"));
    };
    let within = resolve_filter(services, repository, None).await?;
    let found = services
        .evidence
        .find_definitions_at(&file_path, (line_number, byte_column), within)
        .await?;
    Ok(reply::json_response(StatusCode::OK, &json!({ "definitions": found })))
}

/// Replies with what was found, or with the text that models get of it.
fn reply_found(
    format: Option<&str>,
    found: &impl Serialize,
    render: impl FnOnce() -> String,
) -> Result<Response, ApiError> {
    match format {
        None => Ok(reply::json_response(StatusCode::OK, found)),
        Some("text") => Ok(reply::json_response(StatusCode::OK, &json!({ "text": render() }))),
        Some(_) => Err(invalid_argument("`format` must be `text`")),
    }
}

/// Returns the roots of a named repository, or those that a client in a folder sees.
async fn resolve_filter(
    services: &ApiServices,
    repository: Option<String>,
    folder: Option<String>,
) -> Result<RootFilter, ApiError> {
    if let Some(named) = repository {
        return Ok(RootFilter::Only(services.resolve_root(&named).await?.id));
    }
    let (tree, _) = services.find_client_tree(folder.as_deref().map(Path::new)).await;
    Ok(tree.map_or(RootFilter::Everything, RootFilter::Tree))
}

/// Returns the values of some parameters. Refuses others, blank values and long ones.
fn read_parameters<const N: usize>(
    query: Option<&str>,
    names: [&str; N],
) -> Result<[Option<String>; N], ApiError> {
    let mut values = [const { None }; N];
    for (name, value) in parse_query(query) {
        let place = names.iter().position(|known| *known == name);
        let Some(slot) = place.and_then(|place| values.get_mut(place)) else {
            let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            return Err(unknown_parameter(&name, &known.join(", ")));
        };
        if value.trim().is_empty() || value.len() > MAX_NAME_BYTES {
            return Err(invalid_argument(&format!("`{name}` is blank or too long")));
        }
        *slot = Some(value);
    }
    Ok(values)
}

fn require(value: Option<String>, fault: &str) -> Result<String, ApiError> {
    value.ok_or_else(|| invalid_argument(fault))
}
