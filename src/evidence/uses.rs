//! Every use of a name in what is indexed, counted exactly.

use std::{collections::HashMap, time::Duration};

use super::{
    Evidence, EvidenceError,
    classify::{self, Budget, Counted},
    pick::{self, Shown},
    word::Word,
};
use crate::domain::{FileRecord, Root, RootId, Timestamp, Within};

/// So many chunks are read at a time.
const BATCH_CHUNKS: usize = 1000;
/// Reading and counting stops after this, before the request would be given up; the counts then say that they are not
/// of all files.
const DEADLINE: Duration = Duration::from_secs(8);

/// Where a name is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uses {
    /// The name that was looked for.
    pub name: String,
    /// How often it stands as a word of its own.
    pub count: usize,
    /// In how many files.
    pub files: usize,
    /// The groups that there are, in the order of [`super::Group::ALL`].
    pub groups: Vec<Shown>,
    /// What was searched.
    pub searched: Vec<Searched>,
    /// How many files that may hold it were not read, since there was no time or they are being indexed: 0 for exact
    /// counts.
    pub unread: usize,
    /// If it is nowhere: names that differ by case and underscores alone.
    pub spellings: Vec<String>,
}

/// A repository that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// Its name.
    pub name: String,
    /// How long ago it was indexed.
    pub age: Option<Duration>,
}

impl Evidence {
    /// Finds the uses of a name.
    pub async fn uses(&self, name: &str, within: Within) -> Result<Uses, EvidenceError> {
        let word = Word::new(name)?;
        let roots = self.store.roots().await?;
        if roots.is_empty() {
            return Err(EvidenceError::IngestRequired);
        }
        let roots = within.of(&roots);
        let candidates = self.candidates(&word, &roots).await?;
        let (found, unread) = self.counted(&word, candidates.files).await?;
        let files = found.len();
        let shown = |file: &Counted| {
            let root = roots.get(file.root);
            root.map(|root| self.file(root, &file.path)).unwrap_or_default()
        };
        let groups = pick::pick(found, shown);
        let searched = |root: &Root| Searched {
            name: root.name.clone(),
            age: root.last_ingest_at.map(Timestamp::age),
        };
        Ok(Uses {
            name: word.as_str().to_owned(),
            count: groups.iter().map(|group| group.count).sum(),
            files,
            groups,
            searched: roots.iter().map(searched).collect(),
            unread,
            spellings: candidates.spellings,
        })
    }

    /// Counts a word in files; returns also how many were not read.
    async fn counted(
        &self,
        word: &Word,
        files: Vec<(usize, FileRecord)>,
    ) -> Result<(Vec<Counted>, usize), EvidenceError> {
        let mut budget = Budget::default();
        let (mut found, mut unread) = (Vec::new(), 0);
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() {
            if budget.elapsed() > DEADLINE {
                unread += files.count();
                break;
            }
            let (mut batch, mut roots, mut chunks) = (Vec::new(), Vec::new(), 0);
            while let Some((root, record)) = files.next_if(|_| chunks < BATCH_CHUNKS) {
                chunks += record.chunks as usize;
                roots.push(root);
                batch.push(record);
            }
            let mut missing = batch.len();
            let places: HashMap<RootId, usize> =
                batch.iter().zip(roots).map(|(record, root)| (record.root, root)).collect();
            let snapshots = self.snapshots(batch).await?;
            let word = word.clone();
            let count = move || {
                let mut counted: Vec<Counted> = Vec::new();
                for snapshot in snapshots {
                    if budget.elapsed() > DEADLINE {
                        break;
                    }
                    let root = places.get(&snapshot.record.root).copied().unwrap_or_default();
                    counted.extend(classify::counted(root, &snapshot, &word, &mut budget));
                    missing -= 1;
                }
                (counted, budget, missing)
            };
            let (counted, left, missing) = self.blocking(count).await?;
            budget = left;
            unread += missing;
            found.extend(counted);
        }
        Ok((found, unread))
    }
}
