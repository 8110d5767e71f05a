//! Every use of a name in what is indexed, counted exactly.

use std::time::Duration;

use codeinfo_core::{Root, Timestamp, Within};
use codeinfo_lang::readings::list_readings;

use super::{
    Evidence, EvidenceError,
    classify::{self, Budget, Counted},
    pick::{self, Shown},
    snapshot::Snapshot,
    unsearched,
    word::Word,
};

/// Where a name is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uses {
    /// The name that was looked for.
    pub name: String,
    /// The name that was asked for, if it was read as another one.
    pub asked: Option<String>,
    /// The name without what it was written with, such as that of its type, if that was not looked for.
    pub bare: Option<String>,
    /// How often it stands as a word of its own.
    pub count: usize,
    /// In how many files.
    pub files: usize,
    /// The groups that there are, in the order of [`super::Group::ALL`].
    pub groups: Vec<Shown>,
    /// What was searched.
    pub searched: Vec<Searched>,
    /// Names of repositories that were not searched, since their folder is gone.
    pub gone: Vec<String>,
    /// How many files that may hold it were not read, since there was no time or they are being indexed: 0 for exact
    /// counts.
    pub unread: usize,
    /// If it is nowhere: names that differ by case and underscores alone.
    pub spellings: Vec<String>,
    /// If it is nowhere: what was not searched, since it was left out of the index.
    pub unsearched: Option<String>,
}

/// A repository that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// Its name.
    pub name: String,
    /// How long ago it was indexed.
    pub age: Option<Duration>,
}

/// Lists the repositories that were searched.
pub(super) fn searched(roots: &[Root]) -> Vec<Searched> {
    let searched = |root: &Root| Searched {
        name: root.name.clone(),
        age: root.last_ingest_at.map(Timestamp::age),
    };
    roots.iter().map(searched).collect()
}

impl Evidence {
    /// Finds the uses of a name: as it is written, without the arguments of a call, or, where it is nowhere so, of its
    /// last part.
    pub async fn uses(&self, name: &str, within: Within) -> Result<Uses, EvidenceError> {
        Word::new(name)?;
        let readings = list_readings(name);
        let mut uses = None;
        for reading in &readings {
            let counted = self.count_uses(Word::new(reading)?, within).await?;
            if counted.count > 0 {
                uses = Some(counted);
                break;
            }
            uses.get_or_insert(counted);
        }
        let mut uses = uses.ok_or(EvidenceError::Name("is blank"))?;
        let bare = readings.last().filter(|bare| **bare != uses.name);
        uses.bare = bare.map(|bare| (*bare).to_owned());
        uses.asked = Some(name.trim().to_owned()).filter(|asked| *asked != uses.name);
        Ok(uses)
    }

    async fn count_uses(&self, word: Word, within: Within) -> Result<Uses, EvidenceError> {
        let (roots, gone) = self.present_roots(within).await?;
        let candidates = self.candidates(&word, &roots).await?;
        let needle = word.clone();
        let count =
            move |found: &mut Vec<Counted>, root, snapshot: &Snapshot, budget: &mut Budget| {
                found.extend(classify::counted(root, snapshot, &needle, budget));
                true
            };
        let (found, unread) = self.scan_files(candidates.files, Vec::new(), count).await?;
        let files = found.len();
        let shown = |file: &Counted| {
            let root = roots.get(file.root);
            root.map(|root| self.file(root, &file.path)).unwrap_or_default()
        };
        let groups = pick::pick(found, shown);
        let count: usize = groups.iter().map(|group| group.count).sum();
        let unsearched =
            if count == 0 { unsearched::describe(&roots, &[word.as_str()]) } else { None };
        Ok(Uses {
            name: word.as_str().to_owned(),
            asked: None,
            bare: None,
            count,
            files,
            groups,
            searched: searched(&roots),
            gone,
            unread,
            spellings: candidates.spellings,
            unsearched,
        })
    }
}
