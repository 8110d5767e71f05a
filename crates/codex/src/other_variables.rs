//! Environment variables that are not our settings; Codex inherits some of them.

use std::{collections::BTreeMap, fmt};

/// Our own keys, which no other program may see.
const OWN_KEYS: [&str; 3] = ["EMBEDDING_API_KEY", "QDRANT_API_KEY", "SECRET_KEY"];

/// Variables by name, without our own keys. `Debug` hides the values, which may be keys of others.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtherVariables(BTreeMap<String, String>);

impl OtherVariables {
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let others = pairs.into_iter().filter(|(name, _)| !OWN_KEYS.contains(&name.as_str()));
        Self(others.collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns names and values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for OtherVariables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
