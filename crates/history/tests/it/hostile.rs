//! Damaged, absurd and huge repositories.

use std::{fmt::Write as _, fs, path::PathBuf, time::Instant};

use codeinfo_history::{CommitId, StopReason};
use codeinfo_worktree::git::GitRepository;

use crate::support::{GitFolder, budget, numbered_lines, run_git_at};

/// Writes a commit that git itself would not make.
fn write_commit(made: &GitFolder, tree: &str, headers: &str, message: &str) -> CommitId {
    let text = format!("tree {tree}\n{headers}\n\n{message}");
    let arguments = ["hash-object", "-t", "commit", "-w", "--literally", "--stdin"];
    let id = run_git_at(&made.path, &arguments, "0 +0000", Some(text.as_bytes()));
    id.parse().unwrap()
}

fn find_loose_file(made: &GitFolder, id: &CommitId) -> PathBuf {
    let hex = id.to_string();
    let (folder, name) = hex.split_at(2);
    made.path.join(".git/objects").join(folder).join(name)
}

#[test]
fn an_empty_repository_has_no_commit_to_ask_about() {
    let made = GitFolder::create(&[]);
    let repository = GitRepository::open(&made.path).unwrap().unwrap();
    assert_eq!(repository.head_commit(), None);
    made.write("a.rs", "");
    let head = made.commit(0, "empty file");
    assert!(made.reader().blame_lines(&head, "a.rs", 1, 1, &budget()).is_err());
    assert_eq!(made.reader().file_history(&head, "a.rs", &budget()).unwrap().changes.len(), 1);
}

#[test]
fn absurd_dates_names_and_messages_are_shown() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    made.commit(0, "add");
    let tree = made.git(&["rev-parse", "HEAD^{tree}"]);
    let dates = [
        ("253402300800 +0000", "@253402300800 +0000"),
        ("-62135596800 -0130", "0000-12-31 22:30:00 -0130"),
        ("9223372036854775807 +9999", "@9223372036854775807 +10039"),
        ("99999999999999999999 +99999999999", "1970-01-01 00:00:00 +0000"),
        ("", "1970-01-01 00:00:00 +0000"),
    ];
    for (date, shown) in dates {
        let headers = format!("author A <a@b> {date}\ncommitter A <a@b> {date}");
        let id = write_commit(&made, &tree, &headers, "absurd");
        let list = made.reader().list_commits(&id, &[], &budget());
        assert_eq!(list.commits[0].author_time.to_string(), shown);
        assert_eq!(made.reader().file_history(&id, "a.rs", &budget()).unwrap().changes.len(), 1);
    }
    let id = write_commit(&made, &tree, "nonsense", &"x".repeat(3 << 20));
    let list = made.reader().list_commits(&id, &[], &budget());
    let commit = &list.commits[0];
    assert!(
        commit.is_truncated && commit.subject.len() == 16 << 10 && commit.author_name.is_empty()
    );
}

#[test]
fn missing_and_damaged_objects_end_the_walk() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    let first = made.commit(0, "first");
    made.write("a.rs", "two\n");
    let second = made.commit(1, "second");
    let file = find_loose_file(&made, &first);
    let content = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let mut reader = made.reader();
    let list = reader.list_commits(&second, &[], &budget());
    assert_eq!(list.commits.len(), 1);
    assert_eq!(list.stop.unwrap().reason, StopReason::Missing(first));
    let lines = made.reader().line_history(&second, "a.rs", 1, 1, &budget()).unwrap();
    assert_eq!(lines.stop.unwrap().reason, StopReason::Missing(first));
    fs::write(&file, &content[..content.len() / 2]).unwrap();
    let list = made.reader().list_commits(&second, &[], &budget());
    assert_eq!(list.stop.unwrap().reason, StopReason::Unreadable(first));
}

#[test]
fn commits_that_are_their_own_ancestors_end() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    made.commit(0, "add");
    let tree = made.git(&["rev-parse", "HEAD^{tree}"]);
    // Stores the content of a commit under the id of its parent.
    let parent = CommitId::from_hex(&[b'a'; 40]).unwrap();
    let child = write_commit(
        &made,
        &tree,
        &format!("parent {parent}\nauthor A <a> 1 +0\ncommitter A <a> 1 +0"),
        "cycle",
    );
    let objects = made.path.join(".git/objects");
    fs::create_dir_all(objects.join("aa")).unwrap();
    fs::copy(find_loose_file(&made, &child), objects.join("aa").join("a".repeat(38))).unwrap();
    let mut reader = made.reader();
    let start = Instant::now();
    let limit = codeinfo_history::HistoryBudget { max_commits: 10_000, ..budget() };
    assert_eq!(reader.list_commits(&child, &[], &limit).commits.len(), 2);
    assert!(reader.file_history(&child, "a.rs", &limit).is_err());
    let blame = reader.blame_lines(&child, "a.rs", 1, 1, &limit).unwrap();
    assert_eq!(blame.stop.unwrap().reason, StopReason::CommitLimit(10_000));
    assert!(reader.line_history(&child, "a.rs", 1, 1, &limit).unwrap().stop.is_some());
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn texts_that_are_slow_to_compare_take_bounded_time() {
    let made = GitFolder::create(&[]);
    let mut state = 1_u32;
    let mut shuffle = |kinds: u32| {
        (0..20_000).fold(String::new(), |mut text, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            writeln!(text, "{}", (state >> 8) % kinds).unwrap();
            text
        })
    };
    let texts =
        [shuffle(300), shuffle(300), shuffle(1_000_000), shuffle(1_000_000), "\n".repeat(300_000)];
    let ids: Vec<_> = (0..)
        .zip(texts)
        .map(|(minute, text)| {
            made.write("a.txt", &text);
            made.commit(minute, "shuffle")
        })
        .collect();
    let mut reader = made.reader();
    let start = Instant::now();
    assert!(reader.blame_lines(&ids[1], "a.txt", 1, 20_000, &budget()).unwrap().stop.is_none());
    reader.line_history(&ids[3], "a.txt", 1, 20_000, &budget()).unwrap();
    assert!(start.elapsed().as_secs() < 600, "{:?}", start.elapsed());
    // More lines than are compared.
    assert!(reader.blame_lines(&ids[4], "a.txt", 1, 1, &budget()).is_err());
    assert_eq!(reader.commit_diff(&ids[4], &budget()).unwrap().files[0].lines, None);
}

#[test]
fn folders_within_themselves_many_times_are_bounded() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    let base = made.commit(0, "base");
    let blob = made.git(&["rev-parse", "HEAD:a.rs"]);
    let mut tree = format!("100644 blob {blob}\tfile");
    for _ in 0..20 {
        let id = run_git_at(&made.path, &["mktree"], "0 +0000", Some(tree.as_bytes()));
        tree = (0..10).fold(String::new(), |mut text, number| {
            writeln!(text, "040000 tree {id}\tfolder{number}").unwrap();
            text
        });
    }
    let id = run_git_at(&made.path, &["mktree"], "0 +0000", Some(tree.as_bytes()));
    let bomb = write_commit(&made, &id, &format!("parent {base}"), "bomb");
    let diff = made.reader().commit_diff(&bomb, &budget()).unwrap();
    assert_eq!(diff.stop.unwrap().reason, StopReason::TooManyFiles);
}

#[test]
fn grafts_and_replacements_are_not_followed() {
    let made = GitFolder::create(&[]);
    let ids: Vec<_> = (0..3)
        .map(|minute| {
            made.write("a.rs", &format!("{minute}\n"));
            made.commit(minute, "change")
        })
        .collect();
    // Both say that the second commit has no parent.
    fs::create_dir_all(made.path.join(".git/info")).unwrap();
    fs::write(made.path.join(".git/info/grafts"), format!("{}\n", ids[1])).unwrap();
    made.git(&["replace", "--graft", &ids[1].to_string()]);
    assert_eq!(made.ids(&["log", "--format=%H"]).len(), 2);
    let found = made.reader().file_history(&ids[2], "a.rs", &budget()).unwrap();
    let changed: Vec<_> = found.changes.iter().rev().map(|change| change.commit.id).collect();
    assert_eq!((changed, found.stop), (ids, None));
}

#[test]
fn long_paths_are_bounded() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    let base = made.commit(0, "base");
    let blob = made.git(&["rev-parse", "HEAD:a.rs"]);
    let write_tree =
        |tree: &str| run_git_at(&made.path, &["mktree"], "0 +0000", Some(tree.as_bytes()));
    let repeat = |count: u32, kind: &str, id: &str| {
        (0..count).fold(String::new(), |mut text, number| {
            writeln!(text, "{kind} {id}\t{number}").unwrap();
            text
        })
    };
    let files = write_tree(&repeat(1000, "100644 blob", &blob));
    let folders = write_tree(&repeat(20, "040000 tree", &files));
    let long_folder = write_tree(&format!("040000 tree {folders}\t{}", "x".repeat(4000)));
    let long_file = write_tree(&format!("100644 blob {blob}\t{}", "x".repeat(5000)));
    for tree in [long_folder, long_file] {
        let commit = write_commit(&made, &tree, &format!("parent {base}"), "long");
        let diff = made.reader().commit_diff(&commit, &budget()).unwrap();
        assert_eq!(diff.stop.unwrap().reason, StopReason::TooManyFiles);
        assert!(diff.files.is_empty());
    }
}

#[test]
fn an_index_of_packs_leads_to_none_elsewhere() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    let head = made.commit(0, "secret");
    made.git(&["repack", "-a", "-d", "--quiet"]);
    made.git(&["multi-pack-index", "write"]);
    let packs = made.path.join(".git/objects/pack");
    let mut index = fs::read(packs.join("multi-pack-index")).unwrap();
    let text = String::from_utf8_lossy(&index).into_owned();
    let after = text.split_once("pack-").unwrap().1.split_once(".idx").unwrap().0;
    let name = format!("pack-{after}");
    // As long as the name, and outside of the repository.
    let other = "o".repeat(name.len() - "../../../../".len());
    for kind in ["pack", "idx"] {
        let from = packs.join(format!("{name}.{kind}"));
        fs::rename(from, made.path.with_file_name(format!("{other}.{kind}"))).unwrap();
    }
    let place = index.windows(5).position(|bytes| bytes == b"pack-").unwrap();
    index[place..place + name.len()].copy_from_slice(format!("../../../../{other}").as_bytes());
    fs::remove_file(packs.join("multi-pack-index")).unwrap();
    fs::write(packs.join("multi-pack-index"), index).unwrap();
    let list = made.reader().list_commits(&head, &[], &budget());
    assert_eq!(list.stop.unwrap().reason, StopReason::Missing(head));
}

#[test]
fn ancestors_behind_large_commits_are_not_looked_for() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\n");
    let mut last = made.commit(0, "first");
    let tree = made.git(&["rev-parse", "HEAD^{tree}"]);
    made.git(&["config", "core.looseCompression", "1"]);
    let message = "x".repeat(63 << 20);
    let mut ids = vec![last];
    for _ in 0..9 {
        last = write_commit(&made, &tree, &format!("parent {last}"), &message);
        ids.push(last);
    }
    let repository = GitRepository::open(&made.path).unwrap().unwrap();
    let find = |generations: u32| repository.resolve_ancestor(&format!("{last}~{generations}"));
    assert_eq!(find(3), Ok(ids[6].to_string()));
    assert!(find(9).is_err());
}

#[test]
fn a_hundred_thousand_commits_are_read() {
    let made = GitFolder::create(&[]);
    let mut script = String::new();
    for number in 1..=100_000_u32 {
        let path = if number % 1000 == 1 { "a.rs" } else { "b.rs" };
        let text =
            if path == "a.rs" { numbered_lines(number..number + 3) } else { number.to_string() };
        let time = 1_000_000_000 + number;
        let message = format!("commit {number}");
        write!(script, "commit refs/heads/main\ncommitter A <a@b> {time} +0000\n").unwrap();
        write!(script, "data {}\n{message}\n", message.len()).unwrap();
        write!(script, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).unwrap();
    }
    run_git_at(
        &made.path,
        &["fast-import", "--quiet"],
        "1700000000 +0000",
        Some(script.as_bytes()),
    );
    let head = made.head();
    let mut reader = made.reader();
    let start = Instant::now();
    assert_eq!(reader.list_commits(&head, &[], &budget()).commits.len(), 100_000);
    let history = reader.file_history(&head, "a.rs", &budget()).unwrap();
    assert_eq!((history.changes.len(), history.stop), (100, None));
    let lines = reader.line_history(&head, "a.rs", 1, 3, &budget()).unwrap();
    assert_eq!((lines.changes.len(), lines.stop), (100, None));
    assert!(start.elapsed().as_secs() < 600, "{:?}", start.elapsed());
}
