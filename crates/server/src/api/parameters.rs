//! Reads what stands in the query of an address: no name that is not known, as in a body; the last of several counts.

use url::form_urlencoded;

use super::error::ApiError;

/// Characters of a name that are repeated.
const MAX_CHARS: usize = 80;

/// Returns names and values, decoded.
pub(super) fn parse_query(query: Option<&str>) -> impl Iterator<Item = (String, String)> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Refuses a request for one reason.
pub(super) fn invalid_argument(fault: &str) -> ApiError {
    ApiError::Arguments(vec![fault.to_owned()])
}

/// Refuses a name, and says which are known.
pub(super) fn unknown_parameter(name: &str, known: &str) -> ApiError {
    let name: String = name.chars().take(MAX_CHARS).collect();
    invalid_argument(&format!("`{name}` is no parameter; there are: {known}"))
}
