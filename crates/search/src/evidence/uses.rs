//! Finds and counts every use of a name in the index.

use std::time::Duration;

use codeinfo_core::{Root, RootFilter, Timestamp};
use codeinfo_lang::references::list_possible_names;

use super::{
    Evidence, EvidenceError,
    classify::{self, FileOccurrences, ScanBudget},
    pick::{self, OccurrenceGroup},
    snapshot::FileSnapshot,
    unsearched,
    word::WordMatcher,
};

/// Uses of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameUses {
    /// The name that was searched.
    pub name: String,
    /// The requested name, if another reading of it was searched.
    pub asked: Option<String>,
    /// The name without its qualifier, such as that of its type, if it was not searched.
    pub bare: Option<String>,
    /// Number of occurrences as a separate word.
    pub count: usize,
    /// Number of files with an occurrence.
    pub files: usize,
    /// Non-empty groups in the order of [`OccurrenceKind::ALL`](super::OccurrenceKind::ALL).
    pub groups: Vec<OccurrenceGroup>,
    /// Searched repositories.
    pub searched: Vec<SearchedRepository>,
    /// Names of repositories that were not searched because their folder is gone.
    pub gone: Vec<String>,
    /// Number of possible files that were not read, because of the time limit or because they are
    /// being indexed. The counts are exact if it is 0.
    pub unread: usize,
    /// If there are no occurrences: names that differ only by case and underscores.
    pub spellings: Vec<String>,
    /// If there are no occurrences: description of the paths left out of the index.
    pub unsearched: Option<String>,
}

/// A repository that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedRepository {
    /// Name of the repository.
    pub name: String,
    /// Time since it was indexed.
    pub age: Option<Duration>,
}

pub(super) fn list_searched_repositories(roots: &[Root]) -> Vec<SearchedRepository> {
    let searched = |root: &Root| SearchedRepository {
        name: root.name.clone(),
        age: root.last_ingest_at.map(Timestamp::age),
    };
    roots.iter().map(searched).collect()
}

impl Evidence {
    /// Finds the uses of a name: as written, without the arguments of a call, or, if neither
    /// occurs, of its last part.
    pub async fn find_uses(
        &self,
        name: &str,
        within: RootFilter,
    ) -> Result<NameUses, EvidenceError> {
        WordMatcher::new(name)?;
        let readings = list_possible_names(name);
        let mut counts = None;
        for reading in &readings {
            let counted = self.count_uses(WordMatcher::new(reading)?, within).await?;
            if counted.count > 0 {
                counts = Some(counted);
                break;
            }
            counts.get_or_insert(counted);
        }
        let mut uses = counts.ok_or(EvidenceError::Name("is blank"))?;
        let bare = readings.last().filter(|bare| **bare != uses.name);
        uses.bare = bare.map(|bare| (*bare).to_owned());
        uses.asked = Some(name.trim().to_owned()).filter(|asked| *asked != uses.name);
        Ok(uses)
    }

    async fn count_uses(
        &self,
        word: WordMatcher,
        within: RootFilter,
    ) -> Result<NameUses, EvidenceError> {
        let (roots, gone) = self.present_roots(within).await?;
        let candidates = self.find_candidate_files(&word, &roots).await?;
        let needle = word.clone();
        let count = move |found: &mut Vec<FileOccurrences>,
                          root,
                          snapshot: &FileSnapshot,
                          budget: &mut ScanBudget| {
            found.extend(classify::count_occurrences(root, snapshot, &needle, budget));
            true
        };
        let (found, unread) = self.scan_files(candidates.files, Vec::new(), count).await?;
        let files = found.len();
        let shown = |file: &FileOccurrences| {
            let root = roots.get(file.root);
            root.map(|root| self.to_indexed_file(root, &file.path)).unwrap_or_default()
        };
        let groups = pick::pick_lines(found, shown);
        let count: usize = groups.iter().map(|group| group.count).sum();
        let unsearched = if count == 0 {
            unsearched::describe_unsearched_roots(&roots, &[word.as_str()])
        } else {
            None
        };
        Ok(NameUses {
            name: word.as_str().to_owned(),
            asked: None,
            bare: None,
            count,
            files,
            groups,
            searched: list_searched_repositories(&roots),
            gone,
            unread,
            spellings: candidates.spellings,
            unsearched,
        })
    }
}
