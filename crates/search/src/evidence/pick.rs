//! Selects the lines to show of all occurrences: some of each kind, from as many files as possible.
//! Pure.

use super::{
    classify::{FileOccurrences, KindOccurrences, MAX_SHOWN, OccurrenceKind},
    place::IndexedFile,
};

/// Occurrences of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceGroup {
    /// The kind.
    pub group: OccurrenceKind,
    /// Number of occurrences, shown or not.
    pub count: usize,
    /// Files with lines to show, most important first.
    pub files: Vec<UsedFile>,
}

/// Lines of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// The file as clients see it.
    pub file: IndexedFile,
    /// Number, text and number of occurrences of each line.
    pub lines: Vec<(u32, String, usize)>,
}

/// Lines that each kind gets per round while there is room, in the order of
/// [`OccurrenceKind::ALL`].
const SHARES: [usize; 5] = [8, 4, 2, 1, 1];

/// Selects the lines to show. `files` are ordered by path; `shown` converts one to the form that
/// clients see.
pub(super) fn pick_lines(
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
            .map(|line| (line.number, line.text.clone(), line.count))
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
    fn each_group_gets_some_lines_and_all_get_what_is_left() {
        assert_eq!(share_lines([1, 2, 0, 1, 0]), [1, 2, 0, 1, 0]);
        assert_eq!(share_lines([1, 1000, 1000, 1000, 1000]), [1, 20, 10, 5, 4]);
        assert_eq!(share_lines([0, 1000, 0, 0, 0]), [0, 40, 0, 0, 0]);
        assert_eq!(share_lines([23, 500, 0, 0, 2]), [23, 15, 0, 0, 2]);
    }
}
