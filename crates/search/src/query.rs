//! A search request that cannot be wrong.

use codeinfo_core::RootId;

use super::SearchError;

/// The most results one search gives.
pub const MAX_LIMIT: usize = 20;
/// The most that one search for people gives.
pub const MAX_LISTED: usize = 1000;
/// The number of results when none is asked for.
pub const DEFAULT_LIMIT: usize = 5;
/// The most bytes a query may have: far more than any question, far less than a file.
pub const MAX_QUERY_BYTES: usize = 8 * 1024;

/// What to find, where, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    text: String,
    repository: Option<String>,
    limit: usize,
    languages: Vec<String>,
    tree: Option<RootId>,
    between: Option<(String, String)>,
}

impl SearchQuery {
    /// Checks a request: `text` trimmed, not blank, at most [`MAX_QUERY_BYTES`], without NUL;
    /// `repository` a name, an id or a path, `None` for all repositories; `limit` 1 to
    /// [`MAX_LIMIT`], `None` for [`DEFAULT_LIMIT`].
    pub fn new(
        text: &str,
        repository: Option<&str>,
        limit: Option<u64>,
    ) -> Result<Self, SearchError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SearchError::BlankQuery);
        }
        if text.len() > MAX_QUERY_BYTES {
            return Err(SearchError::LongQuery { bytes: text.len(), most: MAX_QUERY_BYTES });
        }
        if text.contains('\0') {
            return Err(SearchError::Nul("query"));
        }
        Ok(Self {
            text: text.to_owned(),
            repository: repository.map(checked_repository).transpose()?,
            limit: limit.map_or(Ok(DEFAULT_LIMIT), checked_limit)?,
            languages: Vec::new(),
            tree: None,
            between: None,
        })
    }

    /// Finds only what differs between two trees, each a name, an id or a path; no repository may be named beside.
    pub fn with_compared_trees(self, between: Option<[&str; 2]>) -> Result<Self, SearchError> {
        let Some([first, second]) = between else { return Ok(self) };
        if self.repository.is_some() {
            return Err(SearchError::BetweenAndRepository);
        }
        let between = (checked_repository(first)?, checked_repository(second)?);
        Ok(Self { between: Some(between), ..self })
    }

    /// Returns the two trees whose differences are asked for.
    pub fn compared_trees(&self) -> Option<(&str, &str)> {
        self.between.as_ref().map(|(first, second)| (first.as_str(), second.as_str()))
    }

    /// Leaves out the other trees of the repository that this one is of, unless a repository is named.
    #[must_use]
    pub fn standing_in(self, tree: Option<RootId>) -> Self {
        Self { tree, ..self }
    }

    /// Returns the tree that counts of its repository.
    pub fn tree(&self) -> Option<RootId> {
        self.tree.filter(|_| self.repository.is_none())
    }

    /// Checks a request of people, who look through more: `limit` 1 to [`MAX_LISTED`], and only files in one of
    /// `languages`, lower-case, if there are some.
    pub fn for_listing(
        text: &str,
        repository: Option<&str>,
        (limit, languages): (usize, Vec<String>),
    ) -> Result<Self, SearchError> {
        let limit = limit.clamp(1, MAX_LISTED);
        Ok(Self { limit, languages, ..Self::new(text, repository, None)? })
    }

    /// Whether results may be in a language.
    pub fn accepts_language(&self, language: Option<&str>) -> bool {
        self.languages.is_empty()
            || language.is_some_and(|one| self.languages.iter().any(|other| other == one))
    }

    /// Whether some languages alone are asked for.
    pub fn is_of_languages(&self) -> bool {
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

    /// Returns the most results to give.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

fn checked_repository(reference: &str) -> Result<String, SearchError> {
    match reference.trim() {
        "" => Err(SearchError::BlankRepository),
        reference if reference.contains('\0') => Err(SearchError::Nul("repository")),
        reference => Ok(reference.to_owned()),
    }
}

fn checked_limit(limit: u64) -> Result<usize, SearchError> {
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
    fn a_faulty_query_is_refused_with_the_reason() {
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
        `query` has 8193 bytes; at most 8192 are allowed
        `query` holds a NUL character
        `repository` is blank; leave it out to search all repositories
        `repository` holds a NUL character
        `limit` is 0; it must be between 1 and 20
        `limit` is 21; it must be between 1 and 20
        ");
    }
}
