//! Parses the query of an address. Unknown names are refused; the last of several values counts.

use url::form_urlencoded;

use super::error::ApiError;

/// Maximum characters of a name in an error.
const MAX_CHARS: usize = 80;

/// Returns the decoded names and values.
pub(super) fn parse_query(query: Option<&str>) -> impl Iterator<Item = (String, String)> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Returns the error for one invalid argument.
pub(super) fn invalid_argument(fault: &str) -> ApiError {
    ApiError::Arguments(vec![fault.to_owned()])
}

/// Returns the error for an unknown name, with the known ones.
pub(super) fn unknown_parameter(name: &str, known: &str) -> ApiError {
    let start: String = name.chars().take(MAX_CHARS).collect();
    invalid_argument(&format!("`{start}` is no parameter; there are: {known}"))
}
