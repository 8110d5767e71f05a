//! Defines the validated search request.

use codeinfo_core::RootId;

use super::SearchError;

/// Maximum results of one search.
pub const MAX_LIMIT: usize = 20;
/// Maximum results of one search for a page that people read.
pub const MAX_LISTED: usize = 1000;
/// Number of results without an explicit limit.
pub const DEFAULT_LIMIT: usize = 5;
/// Maximum bytes of a query: far more than any question, far less than a file.
pub const MAX_QUERY_BYTES: usize = 64 * 1024;

/// A validated search request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    text: String,
    repository: Option<String>,
    limit: usize,
    languages: Vec<String>,
    tree: Option<RootId>,
    compared_trees: Option<[String; 2]>,
}

impl SearchQuery {
    /// Validates a request.
    ///
    /// `text` is trimmed, not blank, at most [`MAX_QUERY_BYTES`] long and without NUL. `repository`
    /// is a name, an id or a path; `None` means all repositories. `limit` is 1 to [`MAX_LIMIT`];
    /// `None` means [`DEFAULT_LIMIT`].
    pub fn new(
        text: &str,
        repository: Option<&str>,
        limit: Option<u64>,
    ) -> Result<Self, SearchError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(SearchError::BlankQuery);
        }
        if trimmed.len() > MAX_QUERY_BYTES {
            return Err(SearchError::LongQuery { bytes: trimmed.len(), max: MAX_QUERY_BYTES });
        }
        if trimmed.contains('\0') {
            return Err(SearchError::Nul("query"));
        }
        Ok(Self {
            text: trimmed.to_owned(),
            repository: repository.map(validate_repository).transpose()?,
            limit: limit.map_or(Ok(DEFAULT_LIMIT), validate_limit)?,
            languages: Vec::new(),
            tree: None,
            compared_trees: None,
        })
    }

    /// Limits the search to the differences between two trees. Fails if a repository is set.
    pub fn with_compared_trees(self, trees: Option<[&str; 2]>) -> Result<Self, SearchError> {
        let Some([first, second]) = trees else { return Ok(self) };
        if self.repository.is_some() {
            return Err(SearchError::BetweenAndRepository);
        }
        let trees = [validate_repository(first)?, validate_repository(second)?];
        Ok(Self { compared_trees: Some(trees), ..self })
    }

    pub(super) fn compared_trees(&self) -> Option<[&str; 2]> {
        self.compared_trees.as_ref().map(|trees| trees.each_ref().map(String::as_str))
    }

    /// Leaves out the other trees of the repository of `tree`, unless a repository is set.
    #[must_use]
    pub fn within_tree(self, tree: Option<RootId>) -> Self {
        Self { tree, ..self }
    }

    /// Returns the tree whose siblings are left out.
    pub(super) fn tree(&self) -> Option<RootId> {
        self.tree.filter(|_| self.repository.is_none())
    }

    /// Creates a request for a page that people read. `limit` is clamped to 1 to [`MAX_LISTED`]. If
    /// `languages`, in lower case, is not empty, only files in them match.
    pub fn for_listing(
        text: &str,
        repository: Option<&str>,
        limit: usize,
        languages: Vec<String>,
    ) -> Result<Self, SearchError> {
        let query = Self::new(text, repository, None)?;
        Ok(Self { limit: limit.clamp(1, MAX_LISTED), languages, ..query })
    }

    pub(super) fn accepts_language(&self, language: Option<&str>) -> bool {
        self.languages.is_empty()
            || language.is_some_and(|language| self.languages.iter().any(|known| known == language))
    }

    pub(super) fn has_languages(&self) -> bool {
        !self.languages.is_empty()
    }

    /// Returns the text, trimmed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the repository to search: a name, an id or a path. `None` means all.
    pub fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    /// Returns the maximum number of results.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

fn validate_repository(reference: &str) -> Result<String, SearchError> {
    match reference.trim() {
        "" => Err(SearchError::BlankRepository),
        reference if reference.contains('\0') => Err(SearchError::Nul("repository")),
        reference => Ok(reference.to_owned()),
    }
}

fn validate_limit(limit: u64) -> Result<usize, SearchError> {
    match usize::try_from(limit) {
        Ok(limit @ 1..=MAX_LIMIT) => Ok(limit),
        _ => Err(SearchError::Limit(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_trimmed_and_has_defaults() {
        let query = SearchQuery::new("  open the store\n", None, None).unwrap();
        assert_eq!((query.text(), query.repository(), query.limit()), ("open the store", None, 5));
        let query = SearchQuery::new("x", Some(" demo "), Some(20)).unwrap();
        assert_eq!((query.text(), query.repository(), query.limit()), ("x", Some("demo"), 20));
    }

    #[test]
    fn an_invalid_query_is_refused_with_the_reason() {
        let long = "x".repeat(MAX_QUERY_BYTES + 1);
        let faults = [
            SearchQuery::new(" \n", None, None),
            SearchQuery::new(&long, None, None),
            SearchQuery::new("a\0b", None, None),
            SearchQuery::new("a", Some(" "), None),
            SearchQuery::new("a", Some("b\0"), None),
            SearchQuery::new("a", None, Some(0)),
            SearchQuery::new("a", None, Some(21)),
        ];
        let faults: Vec<String> = faults.into_iter().map(|f| f.unwrap_err().to_string()).collect();
        insta::assert_snapshot!(faults.join("\n"), @r"
        `query` is blank
        `query` has 65537 bytes; at most 65536 are allowed
        `query` holds a NUL character
        `repository` is blank; leave it out to search all repositories
        `repository` holds a NUL character
        `limit` is 0; it must be between 1 and 20
        `limit` is 21; it must be between 1 and 20
        ");
    }
}
