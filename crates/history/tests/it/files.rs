//! Changes of a file, compared with `git log`.

use codeinfo_history::{ChangeKind, CommitId, FileHistory, HistoryError, LineCounts};

use crate::support::{GitFolder, budget, numbered_lines};

fn changed_ids(history: &FileHistory) -> Vec<CommitId> {
    history.changes.iter().map(|change| change.commit.id).collect()
}

#[test]
fn a_file_is_followed_through_renames_with_and_without_edits() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", &numbered_lines(0..20));
    made.write("noise.rs", &numbered_lines(100..120));
    made.commit(0, "add");
    made.git(&["mv", "a.rs", "b.rs"]);
    made.commit(1, "move");
    made.commit(2, "nothing");
    made.git(&["mv", "b.rs", "c.rs"]);
    made.write("c.rs", &(numbered_lines(0..15) + "other\n"));
    made.commit(3, "move with edit");
    made.write("c.rs", &(numbered_lines(0..15) + "other\nmore\n"));
    made.commit(4, "edit");
    let mut reader = made.reader();
    let history = reader.file_history(&made.head(), "c.rs", &budget()).unwrap();
    assert_eq!(history.stop, None);
    assert_eq!(changed_ids(&history), made.ids(&["log", "--follow", "--format=%H", "--", "c.rs"]));
    let shown: Vec<_> = history
        .changes
        .iter()
        .map(|change| (change.kind, change.old_path.as_deref(), change.lines.unwrap()))
        .collect();
    let lines = |added, removed| LineCounts { added, removed };
    assert_eq!(
        shown,
        [
            (ChangeKind::Modified, None, lines(1, 0)),
            (ChangeKind::Renamed, Some("b.rs"), lines(1, 5)),
            (ChangeKind::Renamed, Some("a.rs"), lines(0, 0)),
            (ChangeKind::Added, None, lines(20, 0)),
        ]
    );
}

#[test]
fn a_copy_is_followed_to_the_file_that_it_was_made_of() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", &numbered_lines(0..20));
    made.commit(0, "add");
    made.write("b.rs", &numbered_lines(0..19));
    made.commit(1, "copy");
    let history = made.reader().file_history(&made.head(), "b.rs", &budget()).unwrap();
    let shown: Vec<_> =
        history.changes.iter().map(|change| (change.kind, change.path.as_str())).collect();
    assert_eq!(shown, [(ChangeKind::Copied, "b.rs"), (ChangeKind::Added, "a.rs")]);
}

#[test]
fn less_than_half_of_the_lines_is_no_rename() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", &numbered_lines(0..20));
    made.commit(0, "add");
    made.git(&["mv", "a.rs", "b.rs"]);
    made.write("b.rs", &(numbered_lines(0..8) + &numbered_lines(50..62)));
    made.commit(1, "replace");
    let history = made.reader().file_history(&made.head(), "b.rs", &budget()).unwrap();
    assert_eq!(history.changes.len(), 1);
    assert_eq!(history.changes[0].kind, ChangeKind::Added);
}

#[test]
fn deleted_files_links_and_merged_branches_are_followed() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\ntwo\nthree\n");
    made.commit(0, "add");
    made.git(&["checkout", "--quiet", "-b", "side"]);
    made.write("a.rs", "ONE\ntwo\nthree\n");
    made.commit(1, "side");
    made.git(&["checkout", "--quiet", "main"]);
    made.write("a.rs", "one\ntwo\nTHREE\n");
    made.commit(2, "main");
    made.git(&["merge", "--quiet", "-m", "merge", "side"]);
    std::fs::remove_file(made.path.join("a.rs")).unwrap();
    made.commit(4, "delete");
    std::os::unix::fs::symlink("b.rs", made.path.join("a.rs")).unwrap();
    made.commit(5, "link");
    std::fs::remove_file(made.path.join("a.rs")).unwrap();
    made.write("a.rs", "again\n");
    made.commit(6, "file");
    let mut reader = made.reader();
    let history = reader.file_history(&made.head(), "a.rs", &budget()).unwrap();
    let mut expected = made.ids(&["log", "--no-merges", "--format=%H", "--", "a.rs"]);
    let mut found = changed_ids(&history);
    assert_eq!(history.changes[0].kind, ChangeKind::TypeChanged);
    assert_eq!(history.changes[2].kind, ChangeKind::Deleted);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let error = reader.file_history(&made.head(), "none.rs", &budget()).unwrap_err();
    assert!(matches!(error, HistoryError::UnknownPath(_)), "{error}");
}
