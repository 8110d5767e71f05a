//! Removes data from very long lines, so that their words are indexed and their numbers are not.

use std::borrow::Cow;

use memchr::{memchr, memrchr};

/// Maximum bytes of a line that is not shortened.
const LONG_LINE: usize = 4000;
/// Size in bytes of the blocks in which longer lines are judged.
const BLOCK: usize = 500;
/// Bytes at the start of a line that are always preserved.
const MIN_KEPT: usize = 2000;
/// Maximum bytes of a line after shortening.
const MAX_KEPT: usize = 256 * 1024;
/// Minimum bytes of a word: a run of letters.
const MIN_WORD: usize = 3;
const MARK: char = '…';

/// Replaces the parts of very long lines that contain no words, such as coordinates, numbers and
/// encoded images, with `…`. The number of lines does not change. The time is linear in the length.
pub fn shorten_lines(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some(mut line) = next_long_line(&text, 0) else { return text };
    let mut shortened = String::with_capacity(text.len());
    let mut done = 0;
    loop {
        shortened.push_str(text.get(done..line.start).unwrap_or_default());
        push_words(text.get(line.clone()).unwrap_or_default(), &mut shortened);
        done = line.end;
        match next_long_line(&text, done) {
            Some(next) => line = next,
            None => break,
        }
    }
    shortened.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(shortened)
}

/// Returns the first line from `start` on that is too long, without its line end.
fn next_long_line(text: &str, start: usize) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let mut first = start;
    loop {
        let window = bytes.get(first..first + LONG_LINE + 1)?;
        if let Some(at) = memrchr(b'\n', window) {
            first += at + 1;
        } else {
            let rest = bytes.get(first..)?;
            let end = memchr(b'\n', rest).map_or(bytes.len(), |at| first + at);
            return Some(first..end);
        }
    }
}

/// Appends the start of a line and its blocks with words.
fn push_words(line: &str, into: &mut String) {
    let (start, mut rest) = line.split_at(line.floor_char_boundary(MIN_KEPT));
    into.push_str(start);
    let mut room = MAX_KEPT - MIN_KEPT;
    let mut was_left_out = false;
    while !rest.is_empty() {
        let (block, after) = rest.split_at(rest.floor_char_boundary(BLOCK));
        if block.len() <= room && holds_words(block) {
            into.push_str(block);
            room -= block.len();
            was_left_out = false;
        } else if !was_left_out {
            into.push(MARK);
            was_left_out = true;
        }
        rest = after;
    }
}

/// Returns whether over a third of a block is words and a separator occurs at least every forty
/// bytes. Base64 has no separators, and tables of numbers have no words.
fn holds_words(block: &str) -> bool {
    let mut in_words = 0;
    let mut run = 0;
    let mut between = 0;
    for character in block.chars().chain(['\n']) {
        if character.is_alphabetic() {
            run += character.len_utf8();
            continue;
        }
        in_words += if run >= MIN_WORD { run } else { 0 };
        run = 0;
        between += usize::from(!character.is_ascii_digit() && !"+/=".contains(character));
    }
    in_words * 3 > block.len() && between * 40 > block.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(count: usize, part: impl Fn(usize) -> String) -> String {
        (0..count).map(part).collect::<Vec<_>>().concat()
    }

    fn shortened(text: &str) -> Cow<'_, str> {
        shorten_lines(Cow::Borrowed(text))
    }

    #[test]
    fn usual_lines_and_long_ones_of_words_stay() {
        let usual = "fn main() {}\n".repeat(2000);
        assert!(matches!(shortened(&usual), Cow::Borrowed(_)));
        let words = repeat(2000, |n| format!(r#"{{"operation":"createOrder{n}"}},"#));
        assert_eq!(shortened(&words), words);
        assert_eq!(
            shortened("größe und länge ".repeat(500).as_str()),
            "größe und länge ".repeat(500)
        );
        let japanese = "注文を作成する。".repeat(500);
        assert_eq!(shortened(&japanese), japanese);
    }

    #[test]
    fn numbers_and_encoded_images_are_shortened() {
        let numbers = repeat(4000, |n| format!("{n}.25,"));
        let image = "iVBORw0KGgoAAAANSUhEUgAAB9kAAAxaCAYAAAA5".repeat(300);
        for data in [numbers, image] {
            let text = format!(
                "head\nlet a = \"{data}\"; export function afterwards() {{}}{}\nnext\r\n",
                " // explains why".repeat(80)
            );
            let short = shortened(&text);
            assert!(short.len() < 5000 && short.starts_with("head\nlet a = "), "{short}");
            assert!(short.contains("…") && short.ends_with("// explains why\nnext\r\n"), "{short}");
            assert_eq!(short.lines().count(), 3);
            assert_eq!(shortened(&short), short);
        }
    }

    #[test]
    fn the_remaining_part_of_a_huge_line_is_bounded() {
        let huge = "some words of a line ".repeat(2_000_000);
        let short = shortened(&huge);
        assert!(short.len() <= MAX_KEPT + MARK.len_utf8() && short.ends_with(MARK));
    }
}
