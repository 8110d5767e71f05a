//! Changes of lines and blame, compared with `git log -L` and `git blame`.

use codeinfo_history::{CommitId, HistoryBudget, HistoryError, StopReason};

use crate::support::{GitFolder, budget, numbered_lines};

/// A file that two branches edit, that is renamed, and whose middle is edited again.
fn edited_repository() -> GitFolder {
    let made = GitFolder::create(&[]);
    made.write("a.rs", &numbered_lines(0..40));
    made.commit(0, "add");
    made.git(&["checkout", "--quiet", "-b", "side"]);
    made.write("a.rs", &numbered_lines(0..40).replace("compute(5)", "side(5)"));
    made.commit(1, "side");
    made.git(&["checkout", "--quiet", "main"]);
    made.write("a.rs", &numbered_lines(0..40).replace("compute(30)", "trunk(30)"));
    made.commit(2, "trunk");
    made.git(&["merge", "--quiet", "-m", "merge", "side"]);
    made.git(&["mv", "a.rs", "b.rs"]);
    made.commit(4, "move");
    let text = std::fs::read_to_string(made.path.join("b.rs")).unwrap();
    made.write("b.rs", &text.replace("let value_20 = compute(20);\n", "new 20\nnew 21\n"));
    made.commit(5, "middle");
    made
}

#[test]
fn a_reader_can_be_moved_to_a_blocking_thread() {
    let made = edited_repository();
    let mut reader = made.reader();
    let head = made.head();
    let asked = std::thread::spawn(move || reader.blame_lines(&head, "b.rs", 1, 1, &budget()));
    assert_eq!(asked.join().unwrap().unwrap().lines.len(), 1);
}

#[test]
fn the_commits_of_lines_are_those_of_git() {
    let made = edited_repository();
    let mut reader = made.reader();
    for (first, last) in [(1, 41), (6, 6), (6, 7), (20, 22), (21, 21), (30, 33), (41, 41)] {
        let history = reader.line_history(&made.head(), "b.rs", first, last, &budget()).unwrap();
        let mut found: Vec<_> = history.changes.iter().map(|change| change.commit.id).collect();
        let range = format!("-L{first},{last}:b.rs");
        let mut expected = made.ids(&["log", "-s", "--format=%H", &range]);
        assert_eq!(found.last(), expected.last(), "{range}");
        found.sort();
        expected.sort();
        assert_eq!((found, history.stop), (expected, None), "{range}");
    }
}

/// A file of lines that occur several times, edited at places that a generator chooses.
fn repetitive_repository() -> (GitFolder, u32) {
    let made = GitFolder::create(&[]);
    let mut state = 7_u32;
    let mut choose = |count: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % count
    };
    let kinds =
        ["", "    }", "    if ready {", "fn step() {", "}", "        run(first, second, third);"];
    let mut lines: Vec<String> = (0..120).map(|_| kinds[choose(kinds.len())].to_owned()).collect();
    for minute in 0..30 {
        for _ in 0..=choose(4) {
            let place = choose(lines.len() - 4);
            match choose(3) {
                0 => drop(lines.drain(place..place + 1 + choose(3))),
                1 => lines.insert(place, kinds[choose(kinds.len())].to_owned()),
                _ => lines[place] = format!("    let value = {minute};"),
            }
        }
        made.write("a.rs", &(lines.join("\n") + "\n"));
        made.commit(minute, "edit");
    }
    (made, u32::try_from(lines.len()).unwrap())
}

#[test]
fn lines_that_occur_several_times_are_followed_as_by_git() {
    let (made, count) = repetitive_repository();
    let mut reader = made.reader();
    for first in (1..count - 8).step_by(3) {
        let last = first + first % 8;
        let history = reader.line_history(&made.head(), "a.rs", first, last, &budget()).unwrap();
        let found: Vec<_> = history.changes.iter().map(|change| change.commit.id).collect();
        let range = format!("-L{first},{last}:a.rs");
        assert_eq!(found, made.ids(&["log", "-s", "--format=%H", &range]), "{range}");
    }
    assert_blame(&made, "a.rs", 1, count);
}

#[test]
fn a_change_of_lines_shows_what_touches_them() {
    let made = edited_repository();
    let mut reader = made.reader();
    let history = reader.line_history(&made.head(), "b.rs", 21, 21, &budget()).unwrap();
    let [middle, add] = history.changes.as_slice() else { panic!("{history:?}") };
    assert_eq!(middle.hunks[0].text, "-let value_20 = compute(20);\n+new 20\n");
    assert_eq!((middle.hunks[0].old_first, middle.hunks[0].new_first), (21, 21));
    assert_eq!(add.hunks[0].text, "+let value_20 = compute(20);\n");
    assert_eq!(add.path, "a.rs");
}

#[test]
fn each_line_is_blamed_as_by_git() {
    assert_blame(&edited_repository(), "b.rs", 2, 40);
}

/// Asserts that each line has the commit, the old number and the old path that git finds.
fn assert_blame(made: &GitFolder, path: &str, first: u32, last: u32) {
    let blame = made.reader().blame_lines(&made.head(), path, first, last, &budget()).unwrap();
    let mut found = Vec::new();
    for part in &blame.lines {
        for line in part.first..=part.last {
            let old = part.old_first + line - part.first;
            found.push(format!("{} {old} {line} {}", part.commit.id, part.old_path));
        }
    }
    let mut expected = Vec::new();
    let text = made.git(&["blame", "--line-porcelain", &format!("-L{first},{last}"), path]);
    let mut place = String::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        if words[0].len() == 40 {
            place = words[..3].join(" ");
        } else if let Some(name) = line.strip_prefix("filename ") {
            expected.push(format!("{place} {name}"));
        }
    }
    assert_eq!((found, blame.stop), (expected, None));
}

#[test]
fn lines_that_a_file_lacks_and_binary_files_are_refused() {
    let made = GitFolder::create(&[]);
    made.write("a.rs", "one\ntwo");
    made.write("b.png", "\0");
    let head = made.commit(0, "add");
    let mut reader = made.reader();
    let mut ask = |path, first, last| reader.line_history(&head, path, first, last, &budget());
    assert_eq!(ask("a.rs", 2, 2).unwrap().changes.len(), 1);
    for (first, last) in [(0, 1), (2, 1), (1, 3), (3, u32::MAX)] {
        let error = ask("a.rs", first, last).unwrap_err();
        assert!(matches!(error, HistoryError::UnknownLines { lines: 2, .. }), "{error}");
    }
    assert!(matches!(ask("b.png", 1, 1), Err(HistoryError::NoText(_))));
    assert!(matches!(ask("c.rs", 1, 1), Err(HistoryError::UnknownPath(_))));
    let missing = CommitId::from_hex(&[b'2'; 40]).unwrap();
    let error = reader.blame_lines(&missing, "a.rs", 1, 1, &budget()).unwrap_err();
    assert!(
        matches!(error, HistoryError::Stopped(stop) if stop.reason == StopReason::Missing(missing))
    );
}

#[test]
fn a_budget_ends_lines_and_blame_with_what_was_found() {
    let made = edited_repository();
    let limit = HistoryBudget { max_commits: 1, ..budget() };
    let mut reader = made.reader();
    let history = reader.line_history(&made.head(), "b.rs", 20, 22, &limit).unwrap();
    assert_eq!(history.changes.len(), 1);
    assert_eq!(history.stop.unwrap().reason, StopReason::CommitLimit(1));
    let blame = reader.blame_lines(&made.head(), "b.rs", 20, 22, &limit).unwrap();
    assert_eq!(
        blame.lines.iter().map(|part| (part.first, part.last)).collect::<Vec<_>>(),
        [(21, 22)]
    );
    assert_eq!(blame.stop.unwrap().reason, StopReason::CommitLimit(1));
}
