//! Reads the arguments of a request, from its JSON body or from the query of its address.

use codeinfo_http::{HttpError, Request};
use codeinfo_mcp::Schema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded;

use super::error::ApiError;

const MAX_CHARS: usize = 80;

pub(super) async fn parse_arguments<T: DeserializeOwned>(
    request: &mut Request,
    schema: &Schema,
) -> Result<T, ApiError> {
    schema.validate_and_parse(read_json_body(request).await?).map_err(ApiError::Arguments)
}

pub(super) async fn read_json_body(request: &mut Request) -> Result<Value, ApiError> {
    let body = request.read_json_body().await?;
    let read = serde_json::from_slice(&body);
    Ok(read.map_err(|error| HttpError::InvalidJson(error.to_string()))?)
}

/// Returns the decoded names and values of a query. The last of several values counts.
pub(super) fn parse_query(query: Option<&str>) -> impl Iterator<Item = (String, String)> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
}

pub(super) fn invalid_argument(fault: &str) -> ApiError {
    ApiError::Arguments(vec![fault.to_owned()])
}

pub(super) fn unknown_parameter(name: &str, known: &str) -> ApiError {
    let start: String = name.chars().take(MAX_CHARS).collect();
    invalid_argument(&format!("`{start}` is no parameter; there are: {known}"))
}
