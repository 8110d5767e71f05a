//! Tests of the sentences that become claims, and of their lines.

use super::*;
use crate::parse::find_citations_in_pieces;

const FILE: &str = "\
//! Slots.

pub const MAX: usize = 4;

pub fn open(slots: &Slots) {
    wait_for(slots);
    count(slots);
}
";

fn claims_of(text: &str, file: &str) -> Vec<Claim> {
    let whole = MarkdownPieces::parse(text);
    let citations = find_citations_in_pieces(text, &whole, 100);
    let content = CitedFileText::new("a.rs".to_owned(), file.to_owned());
    let is_there = |at: usize| citations.get(at).is_some_and(|citation| citation.path == "a.rs");
    find_claims(text, &whole, &citations, |at| is_there(at).then_some(&content))
}

fn show(claims: &[Claim]) -> Vec<String> {
    let lines = |excerpt: &CitedExcerpt| {
        let lines: Vec<String> =
            excerpt.lines.iter().map(|(number, _)| number.to_string()).collect();
        format!("{}: {}", excerpt.range, lines.join(" "))
    };
    let show = |claim: &Claim| {
        let excerpts: Vec<String> = claim.excerpts.iter().map(lines).collect();
        format!("{} [{}]", claim.sentence, excerpts.join("; "))
    };
    claims.iter().map(show).collect()
}

#[test]
fn a_sentence_with_citations_is_a_claim_with_the_lines_that_it_cites() {
    for (text, expected) in [
        ("It waits. `MAX` is four (a.rs:3).", &["`MAX` is four (a.rs:3). [3-3: 3]"][..]),
        (
            "It waits (a.rs:6), then counts (a.rs:7).",
            &["It waits (a.rs:6), then counts (a.rs:7). [6-6: 6; 7-7: 7]"],
        ),
        // A sentence without words of its own continues the one before it.
        ("It waits for slots. (a.rs:5-6)", &["It waits for slots. (a.rs:5-6) [5-6: 5 6]"]),
        ("It waits for slots.\n\na.rs:5-6", &[]),
        (
            "- `open` waits\n  (a.rs:6)\n- a.rs:7: it counts",
            &["- `open` waits (a.rs:6) [6-6: 6]", "- a.rs:7: it counts [7-7: 7]"],
        ),
        // An unreadable file leaves a claim without lines.
        ("Tokens are checked in b.rs:3.", &["Tokens are checked in b.rs:3. []"]),
        (
            "It has eight lines (a.rs:7-99, 12).",
            &["It has eight lines (a.rs:7-99, 12). [7-8: 7 8]"],
        ),
        ("Nothing is cited.", &[]),
    ] {
        assert_eq!(show(&claims_of(text, FILE)), expected, "{text}");
    }
}

#[test]
fn a_long_range_keeps_the_lines_that_have_the_words_of_the_sentence() {
    let line = |at: usize| match at {
        777 => "    let retries = limit.retries();\n".to_owned(),
        at => format!("    let value_{at} = compute(input, {at});\n"),
    };
    let file: String = (1..=1500).map(line).collect();
    let claims = claims_of("There are at most three retries (a.rs:1-1500).", &file);
    let excerpt = &claims[0].excerpts[0];
    assert!(excerpt.byte_len() <= MAX_EXCERPT_BYTES, "{} bytes", excerpt.byte_len());
    let short = excerpt.shorten_to_fit(&claims[0].sentence, 300);
    let numbers: Vec<u32> = short.lines.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 776, 777, 778]);
    assert!(short.byte_len() <= 300);
    assert_eq!(short.range, LineRange { first: 1, last: 1500 });
}

#[test]
fn sentences_and_lines_are_bounded_and_one_line_each() {
    let file = format!("{}\nlast\u{2028}answer supported\r\n", "x".repeat(5000));
    let text = format!("It {} (a.rs:1-2).", "says so ".repeat(1000));
    let claims = claims_of(&text, &file);
    assert!(claims[0].sentence.len() <= MAX_SENTENCE_BYTES + '…'.len_utf8());
    let lines = &claims[0].excerpts[0].lines;
    assert!(lines[0].1.len() <= MAX_LINE_BYTES + '…'.len_utf8());
    assert_eq!(lines[1].1, "last answer supported");
}

#[test]
fn what_is_left_out_or_shortened_is_no_whole_excerpt() {
    let file = format!("{FILE}{}\n", "x".repeat(300));
    let many: Vec<String> = (1..=9).map(|line| format!("a.rs:{line}")).collect();
    for (text, expected) in [
        ("`MAX` is four (a.rs:3).".to_owned(), true),
        ("It waits (a.rs:6), then counts (a.rs:7).".to_owned(), true),
        // A line of 300 bytes, an unreadable file, a long sentence, nine ranges.
        ("It is long (a.rs:8-9).".to_owned(), false),
        ("It waits (a.rs:6), as there (b.rs:6).".to_owned(), false),
        (format!("It waits {} (a.rs:6).", "and waits ".repeat(100)), false),
        (format!("It is here ({}).", many.join(", ")), false),
    ] {
        let claims = claims_of(&text, &file);
        let is_whole = claims[0].excerpts.iter().all(|excerpt| excerpt.is_whole);
        assert_eq!(is_whole, expected, "{text}");
    }
}
