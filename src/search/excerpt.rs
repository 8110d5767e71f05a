//! The text that a language model is shown of what was found.

use std::fmt::Write;

use super::{Found, group::by_file};
use crate::domain::{FileSummary, Hit};

/// What to say when nothing was found.
const NOTHING: &str = "No indexed code matches this query. Try other words: names that the code \
                       itself might use, or fewer of them.";

/// A text for a language model, and what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// Whole chunks, best first, each under a line that says where it is from.
    pub text: String,
    /// The files of the chunks shown, each once, best first.
    pub files: Vec<FileSummary>,
    /// Number of chunks found that are not shown.
    pub left_out: usize,
}

/// Renders what was found in at most `max_bytes` bytes. A chunk that does not fit is left out, and
/// the last line says how many were and how to get them. Only when not even the best one fits is
/// it cut, behind a whole line.
pub fn excerpt(found: &Found, max_bytes: usize) -> Excerpt {
    if found.hits.is_empty() {
        return Excerpt { text: cut(NOTHING, max_bytes).to_owned(), files: vec![], left_out: 0 };
    }
    let mut text = String::new();
    let mut shown: Vec<Hit> = Vec::new();
    for (place, hit) in found.hits.iter().enumerate() {
        let block = block(hit);
        // What is behind this chunk may all have to be left out, and then the note must fit, too.
        let left_out = place - shown.len() + (found.hits.len() - place - 1);
        if text.len() + block.len() + note(left_out).len() <= max_bytes {
            text.push_str(&block);
            shown.push(hit.clone());
        }
    }
    if shown.is_empty()
        && let Some(best) = found.hits.first()
    {
        return beginning(best, found.hits.len() - 1, max_bytes);
    }
    let left_out = found.hits.len() - shown.len();
    text.push_str(&note(left_out));
    Excerpt { text: text.trim_end().to_owned(), files: by_file(&shown), left_out }
}

/// Returns as many whole lines of `hit` as fit.
fn beginning(hit: &Hit, left_out: usize, max_bytes: usize) -> Excerpt {
    let header = header(hit);
    let end = format!(
        "(cut here: the chunk is too long; read the file for the rest)\n{}",
        note(left_out)
    );
    let end = end.trim_end();
    let mut room = max_bytes.saturating_sub(header.len() + end.len());
    let mut lines = 0;
    let mut text = header;
    for line in hit.chunk.lines() {
        let Some(rest) = room.checked_sub(line.len() + 1) else { break };
        room = rest;
        lines += 1;
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(end);
    if lines == 0 || max_bytes < text.len() {
        let all = note(left_out + 1);
        let text = cut(all.trim_end(), max_bytes).to_owned();
        return Excerpt { text, files: vec![], left_out: left_out + 1 };
    }
    let end_line = hit.start_line.saturating_add(lines - 1).min(hit.end_line);
    let part = Hit { end_line, ..hit.clone() };
    Excerpt { text, files: by_file(&[part]), left_out }
}

fn block(hit: &Hit) -> String {
    format!("{}{}\n\n", header(hit), hit.chunk.trim_end())
}

/// One line: repository, absolute path with lines, symbol, language and score.
fn header(hit: &Hit) -> String {
    let mut line = format!("[{}] {}:{}-{}", hit.repo, hit.path, hit.start_line, hit.end_line);
    if let Some(symbol) = &hit.symbol {
        let _ = write!(line, " `{symbol}`");
    }
    if let Some(language) = &hit.language {
        let _ = write!(line, " {language}");
    }
    let _ = write!(line, " (score {:.2})", hit.score);
    // Names come from repositories; none may start a line of its own.
    let mut line = line.replace(char::is_control, " ");
    line.push('\n');
    line
}

/// One line, or nothing when nothing is left out. More chunks never make it shorter.
fn note(left_out: usize) -> String {
    let (chunks, do_not) = match left_out {
        0 => return String::new(),
        1 => ("chunk was", "does not"),
        _ => ("chunks were", "do not"),
    };
    format!(
        "({left_out} more {chunks} found but {do_not} fit: narrow the query, name a repository, or \
         read the files above)"
    )
}

/// Returns the longest start of `text` that has at most `max_bytes`.
fn cut(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::hit, *};

    fn found(hits: Vec<Hit>) -> Found {
        Found { files: by_file(&hits), hits, model_id: "code-static-0@1".to_owned() }
    }

    #[test]
    fn chunks_stand_under_a_line_that_says_where_they_are_from() {
        let found = found(vec![hit("src/a.rs", 3..=4, 0.91), hit("src/b.rs", 1..=1, 0.5)]);
        let excerpt = excerpt(&found, 12_000);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:3-4 `Store::open` rust (score 0.91)
        line 3
        line 4

        [demo] /repos/demo/src/b.rs:1-1 `Store::open` rust (score 0.50)
        line 1
        ");
        assert_eq!((excerpt.files, excerpt.left_out), (found.files, 0));
    }

    #[test]
    fn a_chunk_that_does_not_fit_is_left_out_and_counted() {
        let found = found(vec![
            hit("src/a.rs", 1..=2, 0.9),
            hit("src/long.rs", 1..=900, 0.8),
            hit("src/b.rs", 7..=7, 0.7),
        ]);
        let excerpt = excerpt(&found, 400);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:1-2 `Store::open` rust (score 0.90)
        line 1
        line 2

        [demo] /repos/demo/src/b.rs:7-7 `Store::open` rust (score 0.70)
        line 7

        (1 more chunk was found but does not fit: narrow the query, name a repository, or read the files above)
        ");
        let shown: Vec<&str> = excerpt.files.iter().map(|file| file.rel_path.as_str()).collect();
        assert_eq!((shown, excerpt.left_out), (vec!["src/a.rs", "src/b.rs"], 1));
    }

    #[test]
    fn the_best_chunk_is_cut_at_a_line_when_nothing_fits() {
        let found = found(vec![hit("src/long.rs", 5..=900, 0.8), hit("src/b.rs", 1..=99, 0.7)]);
        let excerpt = excerpt(&found, 280);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/long.rs:5-900 `Store::open` rust (score 0.80)
        line 5
        line 6
        line 7
        line 8
        line 9
        line 10
        (cut here: the chunk is too long; read the file for the rest)
        (1 more chunk was found but does not fit: narrow the query, name a repository, or read the files above)
        ");
        assert_eq!(excerpt.files[0].ranges[0].to_string(), "5-10");
    }

    #[test]
    fn nothing_found_says_so() {
        let excerpt = excerpt(&found(vec![]), 12_000);
        assert_eq!((excerpt.text.as_str(), excerpt.files, excerpt.left_out), (NOTHING, vec![], 0));
    }

    #[test]
    fn a_name_with_a_line_break_stays_on_its_line() {
        let named = Hit { symbol: Some("a\n[fake] /b".to_owned()), ..hit("src/a.rs", 1..=1, 0.5) };
        let excerpt = excerpt(&found(vec![named]), 12_000);
        assert_eq!(excerpt.text.lines().count(), 2);
    }

    #[test]
    fn no_limit_is_passed_and_nothing_is_lost_from_the_count() {
        let mut random = 7_u32;
        let mut next = |below: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as usize % below
        };
        for _ in 0..2000 {
            let hits: Vec<Hit> = (0..next(7))
                .map(|place| {
                    let lines: Vec<&str> = (0..=next(9))
                        .map(|_| ["", "日本語 = 1;", "x", "naïve()"][next(4)])
                        .collect();
                    Hit { chunk: lines.join("\n"), ..hit(&format!("f{place}.rs"), 1..=9, 0.5) }
                })
                .collect();
            let (count, max_bytes) = (hits.len(), next(900));
            let excerpt = excerpt(&found(hits), max_bytes);
            assert!(excerpt.text.len() <= max_bytes);
            assert_eq!(excerpt.files.len() + excerpt.left_out, count);
        }
    }
}
