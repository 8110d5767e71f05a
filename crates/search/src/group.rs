//! Groups hits by file.

use std::collections::HashMap;

use codeinfo_core::{FileSummary, Hit, LineRange};

/// Summarises hits by file. Hits come best first, and files are ordered by their best hit.
pub(super) fn by_file(hits: &[Hit]) -> Vec<FileSummary> {
    let mut files: Vec<(FileSummary, Vec<LineRange>)> = Vec::new();
    let mut places: HashMap<(Option<&str>, &str), usize> = HashMap::new();
    for hit in hits {
        let file = (hit.host.as_deref(), hit.path.as_str());
        let place = *places.entry(file).or_insert(files.len());
        if place == files.len() {
            files.push((first_summary(hit), Vec::new()));
        }
        if let Some((file, ranges)) = files.get_mut(place) {
            file.best = file.best.max(hit.score);
            file.chunks += 1;
            ranges.push(LineRange { first: hit.start_line, last: hit.end_line });
        }
    }
    files.into_iter().map(|(file, ranges)| with_ranges(file, merge_ranges(ranges))).collect()
}

fn first_summary(hit: &Hit) -> FileSummary {
    FileSummary {
        path: hit.path.clone(),
        rel_path: hit.rel_path.clone(),
        repo: hit.repo.clone(),
        best: hit.score,
        chunks: 0,
        lines: 0,
        ranges: Vec::new(),
    }
}

fn with_ranges(mut file: FileSummary, ranges: Vec<LineRange>) -> FileSummary {
    file.lines = ranges.iter().map(|range| range.last - range.first + 1).sum();
    file.ranges = ranges;
    file
}

/// Sorts ranges and joins those that overlap or touch.
fn merge_ranges(mut ranges: Vec<LineRange>) -> Vec<LineRange> {
    ranges.sort_unstable();
    let mut merged: Vec<LineRange> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(before) if range.first <= before.last.saturating_add(1) => {
                before.last = before.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::hit, *};

    #[test]
    fn each_file_stands_once_with_joined_ranges() {
        let hits = [
            hit("src/a.rs", 12..=40, 0.9),
            hit("src/b.rs", 1..=3, 0.8),
            hit("src/a.rs", 88..=115, 0.7),
            hit("src/a.rs", 41..=50, 0.6),
            hit("src/a.rs", 30..=45, 0.5),
        ];
        let shown: Vec<String> = by_file(&hits)
            .iter()
            .map(|file| {
                serde_json::to_string(&(
                    &file.rel_path,
                    file.best,
                    file.chunks,
                    file.lines,
                    &file.ranges,
                ))
                .unwrap()
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        ["src/a.rs",0.9,4,67,["12-50","88-115"]]
        ["src/b.rs",0.8,1,3,["1-3"]]
        "#);
        assert!(by_file(&[]).is_empty());
    }
}
