//! Lists of commits, and what single commits changed.

use std::{fs, path::Path};

use codeinfo_history::{ChangeKind, CommitId, HistoryBudget, LineCounts, StopReason};

use crate::support::{GitFolder, budget, numbered_lines, open_reader};

fn listed_ids(list: &codeinfo_history::CommitList) -> Vec<CommitId> {
    list.commits.iter().map(|commit| commit.id).collect()
}

/// A repository with a branch of two commits, a merge and an octopus merge.
fn branched_repository(arguments: &[&str]) -> GitFolder {
    let made = GitFolder::create(arguments);
    made.write("a.rs", "one\n");
    made.commit(0, "First commit\nof two lines\n\nThe body.\n\nMore.");
    for (minute, name) in [(3, "left"), (2, "middle"), (4, "right")] {
        made.git(&["checkout", "--quiet", "-b", name, "main"]);
        made.write(&format!("{name}.rs"), name);
        made.commit(minute, name);
    }
    made.git(&["checkout", "--quiet", "main"]);
    made.write("a.rs", "one\ntwo\n");
    made.commit(5, "two");
    made.git(&["merge", "--quiet", "--no-ff", "-m", "octopus", "left", "middle", "right"]);
    made
}

#[test]
fn commits_come_in_the_order_of_git_with_their_details() {
    for format in ["sha1", "sha256"] {
        let made = branched_repository(&["--object-format", format]);
        let list = made.reader().list_commits(&made.head(), &[], &budget());
        assert_eq!(list.stop, None);
        assert_eq!(listed_ids(&list), made.ids(&["log", "--format=%H"]));
        let octopus = list.commits.iter().find(|commit| commit.subject == "octopus").unwrap();
        assert_eq!(octopus.parents.len(), 4);
        let first = list.commits.last().unwrap();
        assert_eq!(first.subject, "First commit of two lines");
        assert_eq!(first.body, "The body.\n\nMore.");
        assert_eq!(
            (first.author_name.as_str(), first.author_email.as_str()),
            ("Ada", "ada@example.com")
        );
        assert_eq!(first.author_time.to_string(), "2023-11-15 00:13:20 +0200");
    }
}

#[test]
fn known_commits_are_left_out_even_if_their_times_are_wrong() {
    let made = branched_repository(&[]);
    let head = made.head();
    let mut reader = made.reader();
    for known in [&["left"][..], &["main~1"], &["left", "right"], &["main"]] {
        let ids: Vec<CommitId> =
            known.iter().map(|name| made.git(&["rev-parse", name]).parse().unwrap()).collect();
        let excluded: Vec<String> = known.iter().map(|name| format!("^{name}")).collect();
        let mut arguments = vec!["rev-list", "main"];
        arguments.extend(excluded.iter().map(String::as_str));
        let list = reader.list_commits(&head, &ids, &budget());
        assert_eq!(listed_ids(&list), made.ids(&arguments), "{known:?}");
    }
    // The parent of a known commit is newer than all others.
    made.git(&["checkout", "--quiet", "--orphan", "other"]);
    made.commit(900, "newer");
    let known = made.commit(1, "known");
    made.git(&["checkout", "--quiet", "-b", "fork", &format!("{known}~1")]);
    let fork = made.commit(2, "fork");
    let list = made.reader().list_commits(&fork, &[known], &budget());
    assert_eq!(listed_ids(&list), [fork]);
    // A commit that is gone, as after a rebase, excludes nothing.
    let gone = CommitId::from_hex(&[b'1'; 40]).unwrap();
    assert_eq!(made.reader().list_commits(&fork, &[gone], &budget()).commits.len(), 2);
}

#[test]
fn a_list_says_which_limit_ended_it() {
    let made = branched_repository(&[]);
    let head = made.head();
    let limits: [(HistoryBudget, StopReason); 4] = [
        (HistoryBudget { max_commits: 2, ..budget() }, StopReason::CommitLimit(2)),
        (HistoryBudget { max_results: 2, ..budget() }, StopReason::ResultLimit(2)),
        (HistoryBudget { max_bytes: 600, ..budget() }, StopReason::ByteLimit(600)),
        (HistoryBudget::until(std::time::Instant::now()), StopReason::TimeLimit),
    ];
    for (limit, reason) in limits {
        let list = made.reader().list_commits(&head, &[], &limit);
        let stop = list.stop.unwrap();
        assert_eq!(stop.reason, reason);
        assert!(list.commits.len() <= 2, "{reason:?}");
    }
    let limit = HistoryBudget { max_commits: 1, ..budget() };
    let stop = made.reader().list_commits(&head, &[], &limit).stop.unwrap();
    assert_eq!(
        stop.to_string(),
        format!("not looked further than `{head}`: the limit of 1 commits")
    );
}

#[test]
fn a_shallow_clone_says_that_it_is_cut() {
    let made = GitFolder::create(&[]);
    for minute in 0..4 {
        made.write("a.rs", &numbered_lines(0..minute + 3));
        made.commit(minute, "grow");
    }
    let clone = made.path.with_file_name("clone");
    let url = format!("file://{}", made.path.display());
    made.git(&["clone", "--quiet", "--depth=2", &url, clone.to_str().unwrap()]);
    let mut reader = open_reader(&clone);
    let head = made.head();
    let list = reader.list_commits(&head, &[], &budget());
    assert_eq!((list.commits.len(), list.stop.unwrap().reason), (2, StopReason::Shallow));
    let file = reader.file_history(&head, "a.rs", &budget()).unwrap();
    assert_eq!((file.changes.len(), file.stop.unwrap().reason), (1, StopReason::Shallow));
    let lines = reader.line_history(&head, "a.rs", 1, 1, &budget()).unwrap();
    assert_eq!((lines.changes.len(), lines.stop.unwrap().reason), (0, StopReason::Shallow));
    let blame = reader.blame_lines(&head, "a.rs", 1, 6, &budget()).unwrap();
    let found: Vec<_> = blame.lines.iter().map(|part| (part.last, part.may_be_older)).collect();
    assert_eq!(found, [(5, true), (6, false)]);
    assert!(reader.commit_diff(&list.commits[1].id, &budget()).unwrap().files.is_empty());
}

#[test]
fn a_commit_lists_its_files_with_renames_and_lines() {
    let made = GitFolder::create(&[]);
    made.write("src/old.rs", &numbered_lines(0..30));
    made.write("src/same.rs", &numbered_lines(50..80));
    made.write("gone.rs", "short\n");
    made.write("picture.png", "\0\u{1}");
    let root = made.commit(0, "root");
    made.git(&["mv", "src/old.rs", "src/new.rs"]);
    made.git(&["mv", "src/same.rs", "same.rs"]);
    made.write("src/new.rs", &(numbered_lines(0..30) + "added\n"));
    made.write("picture.png", "\0\u{2}");
    fs::remove_file(made.path.join("gone.rs")).unwrap();
    let edit = made.commit(1, "edit");
    let mut reader = made.reader();
    let diff = reader.commit_diff(&edit, &budget()).unwrap();
    let files: Vec<_> = diff
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.old_path.as_deref(), file.kind, file.lines))
        .collect();
    let lines = |added, removed| Some(LineCounts { added, removed });
    assert_eq!(
        files,
        [
            ("gone.rs", None, ChangeKind::Deleted, lines(0, 1)),
            ("picture.png", None, ChangeKind::Modified, None),
            ("same.rs", Some("src/same.rs"), ChangeKind::Renamed, lines(0, 0)),
            ("src/new.rs", Some("src/old.rs"), ChangeKind::Renamed, lines(1, 0)),
        ]
    );
    let diff = reader.commit_diff(&root, &budget()).unwrap();
    assert!(diff.files.iter().all(|file| file.kind == ChangeKind::Added) && diff.files.len() == 4);
    let patch = reader.file_patch(&edit, "src/new.rs", 4096, &budget()).unwrap();
    let hunk = &patch.hunks[0];
    let numbers = (hunk.old_first, hunk.old_lines, hunk.new_first, hunk.new_lines);
    assert_eq!(numbers, (28, 3, 28, 4));
    let line = |number| format!(" let value_{number} = compute({number});\n");
    assert_eq!(hunk.text, format!("{}{}{}+added\n", line(27), line(28), line(29)));
    assert!(reader.file_patch(&edit, "picture.png", 4096, &budget()).unwrap().hunks.is_empty());
    let cut = reader.file_patch(&root, "src/old.rs", 100, &budget()).unwrap();
    assert!(cut.hunks[0].is_truncated && cut.hunks[0].text.len() <= 100);
    assert!(reader.file_patch(&edit, "none.rs", 100, &budget()).is_err());
}

#[test]
fn merges_and_reverts_say_so() {
    let made = branched_repository(&[]);
    let mut reader = made.reader();
    let diff = reader.commit_diff(&made.head(), &budget()).unwrap();
    assert_eq!(diff.commit.parents.len(), 4);
    let paths: Vec<_> = diff.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["left.rs", "middle.rs", "right.rs"]);
    let two = made.git(&["rev-parse", "HEAD~1"]);
    made.git(&["revert", "--no-edit", &two]);
    let diff = reader.commit_diff(&made.head(), &budget()).unwrap();
    assert_eq!(diff.commit.reverted_commit(), Some(two.as_str()));
    assert_eq!(diff.files[0].lines, Some(LineCounts { added: 0, removed: 1 }));
}

#[test]
fn commits_are_found_in_a_linked_worktree_and_after_a_repack() {
    let made = branched_repository(&[]);
    let linked = made.path.with_file_name("linked");
    made.git(&["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    let mut reader = open_reader(Path::new(&linked));
    let before = reader.list_commits(&made.head(), &[], &budget());
    made.git(&["gc", "--quiet", "--prune=now"]);
    let later = made.commit(20, "later");
    let after = reader.list_commits(&later, &[], &budget());
    assert_eq!(after.commits[1..], before.commits);
    made.git(&["gc", "--quiet", "--prune=now"]);
    let newest = made.commit(21, "newest");
    assert_eq!(reader.list_commits(&newest, &[], &budget()).commits.len(), after.commits.len() + 1);
}
