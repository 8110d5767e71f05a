//! Finds and counts every use of a name in the index, and selects lines of each kind to show.

use std::collections::HashMap;

use codeinfo_core::RootFilter;
use codeinfo_lang::references::list_possible_names;
use serde::Serialize;

use super::{
    Evidence, EvidenceError,
    classify::{self, FileOccurrences, KindOccurrences, MAX_SHOWN, OccurrenceKind},
    resolve::{IndexedFile, describe_unsearched_roots},
    scan::ScanBudget,
    searched::{SearchedRepository, list_searched_repositories},
    snapshot::FileSnapshot,
    symbols::{DefinitionUses, UseExplanation},
    word::WordMatcher,
};

/// Uses of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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
    #[serde(skip)]
    pub searched: Vec<SearchedRepository>,
    /// Names of unsearched repositories, whose folder is gone.
    #[serde(skip)]
    pub gone: Vec<String>,
    /// Number of possible files not read in time or being indexed; the counts are exact if it is 0.
    pub unread: usize,
    /// Uses of each definition with the name, by the symbol graph; empty where it does not know any.
    pub definitions: Vec<DefinitionUses>,
    /// If there are no occurrences: names that differ only by case and underscores.
    pub spellings: Vec<String>,
    /// If there are no occurrences: description of the paths left out of the index.
    pub unsearched: Option<String>,
}

impl NameUses {
    /// Number of occurrences that the graph does not count as uses of the `definitions`.
    pub fn other(&self) -> usize {
        let used: usize =
            self.definitions.iter().map(|uses| uses.by_certainty.iter().sum::<usize>()).sum();
        self.count.saturating_sub(used)
    }
}

impl Evidence {
    /// Finds the uses of a name: as written, without call arguments, or, if neither occurs, of its
    /// last part. For a definition named with its type or file, shows only possible uses.
    pub async fn find_uses(
        &self,
        name: &str,
        within: RootFilter,
    ) -> Result<NameUses, EvidenceError> {
        WordMatcher::new(name)?;
        let asked = || Some(name.trim().to_owned());
        let explained = self.explain_qualified_uses(name, within).await.or_else(without_stall)?;
        if let Some((word, explanation)) = explained {
            let mut uses = self.count_uses(word, within, Some(explanation)).await?;
            uses.asked = asked().filter(|asked| *asked != uses.name);
            return Ok(uses);
        }
        let readings = list_possible_names(name);
        let mut counts = None;
        for reading in &readings {
            let counted = self.count_uses(WordMatcher::new(reading)?, within, None).await?;
            if counted.count > 0 {
                counts = Some(counted);
                break;
            }
            counts.get_or_insert(counted);
        }
        let mut uses = counts.ok_or(EvidenceError::Name("is blank"))?;
        let bare = readings.last().filter(|bare| **bare != uses.name);
        uses.bare = bare.map(|bare| (*bare).to_owned());
        uses.asked = asked().filter(|asked| *asked != uses.name);
        Ok(uses)
    }

    /// Counts a word. With an explanation, shows only the lines of the explained uses.
    async fn count_uses(
        &self,
        word: WordMatcher,
        within: RootFilter,
        explained: Option<UseExplanation>,
    ) -> Result<NameUses, EvidenceError> {
        let (roots, gone) = self.list_present_roots(within).await?;
        let candidates = self.find_candidate_files(&word, &roots).await?;
        let needle = word.clone();
        let count = move |found: &mut Vec<FileOccurrences>,
                          root,
                          snapshot: &FileSnapshot,
                          budget: &mut ScanBudget| {
            found.extend(classify::count_occurrences(root, snapshot, &needle, budget));
            true
        };
        let (mut found, unread) = self.scan_files(candidates.files, Vec::new(), count).await?;
        let files = found.len();
        if let Some(explained) = &explained {
            for file in &mut found {
                let (root, path) = (file.root, file.path.clone());
                for group in &mut file.groups {
                    group.lines.retain(|line| explained.has_line(&roots, root, &path, line.number));
                }
            }
        }
        let shown = |file: &FileOccurrences| {
            let root = roots.get(file.root);
            root.map(|root| self.to_indexed_file(root, &file.path)).unwrap_or_default()
        };
        let mut groups = pick_lines(found, shown);
        let explained = if let Some(explained) = explained {
            explained
        } else {
            let lines = list_code_lines(&groups);
            self.explain_uses(&word, &roots, lines, files).await.or_else(without_stall)?
        };
        for used in groups.iter_mut().flat_map(|group| &mut group.files) {
            for line in &mut used.lines {
                line.enclosing = explained.enclosing(&used.file, line.number);
            }
        }
        let count: usize = groups.iter().map(|group| group.count).sum();
        let unsearched =
            if count == 0 { describe_unsearched_roots(&roots, &[word.as_str()]) } else { None };
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
            definitions: explained.definitions,
            spellings: candidates.spellings,
            unsearched,
        })
    }
}

/// Returns nothing if a graph could not be read in time: the counts do not need it.
fn without_stall<T: Default>(error: EvidenceError) -> Result<T, EvidenceError> {
    if matches!(error, EvidenceError::Stalled) { Ok(T::default()) } else { Err(error) }
}

/// Returns the shown lines with code, by repository: path and number.
fn list_code_lines(groups: &[OccurrenceGroup]) -> HashMap<String, Vec<(String, u32)>> {
    let is_code = |group: &&OccurrenceGroup| {
        matches!(group.group, OccurrenceKind::Uses | OccurrenceKind::Tests)
    };
    let mut lines: HashMap<String, Vec<(String, u32)>> = HashMap::new();
    for used in groups.iter().filter(is_code).flat_map(|group| &group.files) {
        let places = used.lines.iter().map(|line| (used.file.rel_path.clone(), line.number));
        lines.entry(used.file.repo.clone()).or_default().extend(places);
    }
    lines
}

/// Occurrences of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OccurrenceGroup {
    /// The kind.
    pub group: OccurrenceKind,
    /// Number of occurrences, shown or not.
    pub count: usize,
    /// Files with lines to show, most important first.
    pub files: Vec<UsedFile>,
}

/// Lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsedFile {
    /// The file as clients see it.
    pub file: IndexedFile,
    /// Lines with occurrences.
    pub lines: Vec<UsedLine>,
}

/// A line with occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsedLine {
    /// Line number.
    pub number: u32,
    /// Text of the line, cut if it is long.
    pub text: String,
    /// Number of occurrences.
    pub count: usize,
    /// Name of the definition around a use, where the symbol graph knows it.
    pub enclosing: Option<String>,
}

/// Lines that each kind gets per round while there is room, ordered as [`OccurrenceKind::ALL`].
const SHARES: [usize; 5] = [8, 4, 2, 1, 1];

/// Selects the lines to show. `files` are ordered by path; `shown` converts one for clients.
fn pick_lines(
    mut files: Vec<FileOccurrences>,
    shown: impl Fn(&FileOccurrences) -> IndexedFile,
) -> Vec<OccurrenceGroup> {
    files.sort_by_key(|file| file.rank);
    let available = |group: OccurrenceKind| -> usize {
        files.iter().map(|file| occurrences_of_kind(file, group).lines.len()).sum()
    };
    let room = share_lines(OccurrenceKind::ALL.map(available));
    let groups = OccurrenceKind::ALL.iter().zip(room).map(|(group, room)| OccurrenceGroup {
        group: *group,
        count: files.iter().map(|file| occurrences_of_kind(file, *group).count).sum(),
        files: select_files(&files, *group, room, &shown),
    });
    groups.filter(|group| group.count > 0).collect()
}

/// Distributes the lines that may be shown over kinds with `available` lines.
fn share_lines(available: [usize; 5]) -> [usize; 5] {
    let mut shares = [0; 5];
    let mut room = MAX_SHOWN;
    while room > 0 && shares.iter().zip(&available).any(|(share, all)| share < all) {
        for ((share, all), per_round) in shares.iter_mut().zip(&available).zip(SHARES) {
            let more = per_round.min(all - *share).min(room);
            *share += more;
            room -= more;
        }
    }
    shares
}

/// Takes lines of one kind, in turn one from each file.
fn select_files(
    files: &[FileOccurrences],
    group: OccurrenceKind,
    room: usize,
    shown: impl Fn(&FileOccurrences) -> IndexedFile,
) -> Vec<UsedFile> {
    let mut taken: Vec<usize> = vec![0; files.len()];
    let mut left = room;
    while left > 0 {
        let before = left;
        for (file, taken) in files.iter().zip(&mut taken) {
            if left > 0 && *taken < occurrences_of_kind(file, group).lines.len() {
                *taken += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    let with_lines = files.iter().zip(taken).filter(|(_, taken)| *taken > 0);
    let used = with_lines.map(|(file, taken)| UsedFile {
        file: shown(file),
        lines: (occurrences_of_kind(file, group).lines.iter().take(taken))
            .map(|line| UsedLine {
                number: line.number,
                text: line.text.clone(),
                count: line.count,
                enclosing: None,
            })
            .collect(),
    });
    used.collect()
}

fn occurrences_of_kind(file: &FileOccurrences, group: OccurrenceKind) -> &KindOccurrences {
    let [definitions, uses, tests, documents, asides] = &file.groups;
    match group {
        OccurrenceKind::Definitions => definitions,
        OccurrenceKind::Uses => uses,
        OccurrenceKind::Tests => tests,
        OccurrenceKind::Documents => documents,
        OccurrenceKind::Asides => asides,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shared_among_kinds() {
        assert_eq!(share_lines([1, 2, 0, 1, 0]), [1, 2, 0, 1, 0]);
        assert_eq!(share_lines([1, 1000, 1000, 1000, 1000]), [1, 20, 10, 5, 4]);
        assert_eq!(share_lines([0, 1000, 0, 0, 0]), [0, 40, 0, 0, 0]);
        assert_eq!(share_lines([23, 500, 0, 0, 2]), [23, 15, 0, 0, 2]);
    }
}
