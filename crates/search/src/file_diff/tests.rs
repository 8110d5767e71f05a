//! Diffs of small files, case by case.

use std::time::Duration;

use super::{super::fixture::record, *};

/// Returns the hunks that matching lines touch, joined.
fn render_diff(texts: [&str; 2], matched: [&[(u32, u32)]; 2]) -> String {
    let hunks = find_hunks(texts, matched);
    hunks.iter().map(|hunk| hunk.text.as_str()).collect()
}

fn find_hunks(texts: [&str; 2], matched: [&[(u32, u32)]; 2]) -> Vec<DiffHunk> {
    let chunks = texts.map(|text| {
        let lines = (1_u32..).zip(text.lines());
        let heads: Vec<(u32, &str)> = lines.filter(|(_, line)| line.starts_with("fn ")).collect();
        let ends = heads.iter().skip(1).map(|(line, _)| line - 1).chain([u32::MAX]);
        let chunk = |((first, head), last): (&(u32, &str), u32)| ChunkRecord {
            start_line: *first,
            end_line: last,
            ..record("a.rs", head.strip_prefix("fn ").and_then(|head| head.split('(').next()), "")
        };
        heads.iter().zip(ends).map(chunk).collect::<Vec<ChunkRecord>>()
    });
    let [before, after] = [0, 1].map(|side| FileVersion::new(texts[side], &chunks[side]));
    let [before_lines, after_lines] = matched.map(|ranges| {
        ranges.iter().map(|(first, last)| LineRange { first: *first, last: *last }).collect()
    });
    let comparison = FileComparison::new(before, after, Instant::now() + Duration::from_mins(1));
    comparison.find_hunks(&MatchedLines { before: before_lines, after: after_lines })
}

const OLD: &str = "\
use std::fs;

fn open(path: &Path) {
    let file = fs::open(path);
    check(file);
    lock(file);
    repeat(3);
    file
}

fn close(file: File) {
    unlock(file);
    drop(file);
}
";
const NEW: &str = "\
use std::fs;
use std::time;

fn open(path: &Path) {
    let file = fs::open(path);
    check(file);
    lock(file);
    back_off(3);
    wait();
    file
}

fn close(file: File) {
    unlock(file);
}
";

#[test]
fn only_changes_in_matching_lines_are_kept_with_their_context_and_definition() {
    insta::assert_snapshot!(render_diff([OLD, NEW], [&[(3, 9)], &[]]), @r"
    @@ -4,7 +5,8 @@ open
         let file = fs::open(path);
         check(file);
         lock(file);
    -    repeat(3);
    +    back_off(3);
    +    wait();
         file
     }
    ");
    insta::assert_snapshot!(render_diff([OLD, NEW], [&[], &[(13, 15)]]), @r"
    @@ -10,5 +12,4 @@ close
     
     fn close(file: File) {
         unlock(file);
    -    drop(file);
     }
    ");
    assert_eq!(render_diff([OLD, NEW], [&[], &[(5, 6)]]), "");
    let all: &[(u32, u32)] = &[(1, 20)];
    insta::assert_snapshot!(render_diff([OLD, NEW], [all, all]), @r"
    @@ -1,14 +1,15 @@ open
     use std::fs;
    +use std::time;
     
     fn open(path: &Path) {
         let file = fs::open(path);
         check(file);
         lock(file);
    -    repeat(3);
    +    back_off(3);
    +    wait();
         file
     }
     
     fn close(file: File) {
         unlock(file);
    -    drop(file);
     }
    ");
}

#[test]
fn ranges_of_hunks_are_those_of_both_versions() {
    let [hunk] = &*find_hunks([OLD, NEW], [&[(3, 9)], &[]]) else { panic!() };
    let ranges = [hunk.before, hunk.after].map(|range| range.unwrap().to_string());
    assert_eq!(ranges, ["4-10", "5-12"]);
    let [hunk] = &*find_hunks(["", "a\nb\n"], [&[], &[(1, 2)]]) else { panic!() };
    assert_eq!((hunk.before, hunk.text.as_str()), (None, "@@ -0,0 +1,2 @@\n+a\n+b\n"));
}

#[test]
fn of_a_long_change_only_the_matching_lines_are_kept() {
    let long = (1..=200).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    insta::assert_snapshot!(render_diff(["", &long], [&[], &[(3, 4), (150, 151)]]), @r"
    @@ -0,0 +3,2 @@
    +line 3
    +line 4
    @@ -0,0 +150,2 @@
    +line 150
    +line 151
    ");
    let other = long.replace("line", "row");
    insta::assert_snapshot!(render_diff([&long, &other], [&[(1, 1)], &[(200, 200)]]), @r"
    @@ -1,1 +0,0 @@
    -line 1
    @@ -200,0 +200,1 @@
    +row 200
    ");
    // A chunk from whose middle much was removed.
    let cut = "line 1\nline 200\n";
    let removed = render_diff([&long, cut], [&[], &[(1, 2)]]);
    assert!(removed.starts_with("@@ -1,61 +1,1 @@\n line 1\n-line 2\n"), "{removed}");
}

#[test]
fn blank_lines_and_ends_of_lines_are_no_change() {
    let (old, new) = ("fn a() {\n\n    b();\n}\n", "fn a() { \r\n    b();\t\n\n\n}\n");
    assert_eq!(render_diff([old, new], [&[(1, 9)], &[(1, 9)]]), "");
}

#[test]
fn every_diff_applies_to_the_first_version() {
    let mut random = 7_u32;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    for _ in 0..500 {
        let [old, new] = [(); 2].map(|()| {
            { (0..next(90)).map(|_| format!("{}\n", "abcdefgh".get(..next(8) as usize).unwrap())) }
                .collect::<String>()
        });
        let hunks = find_hunks([&old, &new], [&[(1, 99)], &[(1, 99)]]);
        let mut lines: Vec<&str> = old.lines().collect();
        for DiffHunk { before, after, text } in hunks.iter().rev() {
            let mut body = text.lines();
            let head = body.next().unwrap();
            let at = head.strip_prefix("@@ -").and_then(|head| head.split(',').next()).unwrap();
            let at: usize = at.parse().unwrap();
            let body: Vec<&str> = body.collect();
            let side = |sign: char| {
                body.iter()
                    .filter(move |line| !line.starts_with(sign))
                    .map(|line| line.get(1..).unwrap())
            };
            let count = side('+').count();
            let first = if count == 0 { at } else { at - 1 };
            assert_eq!(
                lines[first..first + count],
                side('+').collect::<Vec<_>>(),
                "{text}\n{old}\n{new}"
            );
            assert_eq!(before.map_or(0, |range| range.last - range.first + 1) as usize, count);
            assert_eq!(
                after.map_or(0, |range| range.last - range.first + 1) as usize,
                side('-').count()
            );
            lines.splice(first..first + count, side('-'));
        }
        let is_same = |line: &&&str| !line.is_empty();
        let expected: Vec<&str> = new.lines().collect();
        assert!(lines.iter().filter(is_same).eq(expected.iter().filter(is_same)));
    }
}

#[test]
fn hostile_texts_are_compared_in_bounded_time() {
    let numbers = |numbers: &mut dyn Iterator<Item = u32>| -> String {
        numbers.map(|number| format!("{}\n", number % 1000)).collect::<Vec<_>>().concat()
    };
    let old = numbers(&mut (0..200_000));
    let new = numbers(&mut (0..200_000).rev());
    let began = Instant::now();
    let deadline = began + Duration::from_millis(500);
    let versions = [&old, &new].map(|text| FileVersion::new(text, &[]));
    let [before, after] = versions;
    let comparison = FileComparison::new(before, after, deadline);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let matched =
        MatchedLines { before: vec![LineRange { first: 1, last: 60 }], after: Vec::new() };
    assert!(!comparison.find_hunks(&matched).is_empty());
    let long = "x".repeat(1 << 20);
    let [hunk] = &*find_hunks([&long, "y"], [&[(1, 1)], &[]]) else { panic!() };
    assert!(hunk.text.len() < 2 * MAX_LINE_BYTES, "{} bytes", hunk.text.len());
}
