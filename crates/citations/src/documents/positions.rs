//! Converts byte offsets into lines and columns in constant time, apart from a search for the line.
//! Does no I/O.

/// Distance in bytes between precomputed character counts.
const STEP: usize = 1024;

pub(super) struct LineColumnIndex {
    /// Offsets of all lines but the first.
    starts: Vec<usize>,
    /// Number of characters before each multiple of [`STEP`].
    counts: Vec<usize>,
}

impl LineColumnIndex {
    pub(super) fn new(text: &str) -> Self {
        let starts = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).collect();
        let mut counts = vec![0];
        let mut count = 0;
        for step in text.as_bytes().chunks(STEP) {
            count += count_characters(step);
            counts.push(count);
        }
        Self { starts, counts }
    }

    /// Returns line and column of a byte offset, counted from 1; the column in characters.
    pub(super) fn line_and_column(&self, text: &str, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).and_then(|line| self.starts.get(line)).copied();
        let before = self.count_characters_before(text, start.unwrap_or_default());
        (line + 1, self.count_characters_before(text, at).saturating_sub(before) + 1)
    }

    fn count_characters_before(&self, text: &str, at: usize) -> usize {
        let step = at / STEP;
        let rest = text.as_bytes().get(step * STEP..at).unwrap_or_default();
        self.counts.get(step).copied().unwrap_or_default() + count_characters(rest)
    }
}

/// Counts the bytes that start a character.
fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_editors_do() {
        let text = format!("a\n{}\u{e9}b\n\nc", "\u{4e00}".repeat(2000));
        let places = LineColumnIndex::new(&text);
        for (at, c) in text.char_indices().filter(|(_, c)| *c != '\n') {
            let before = text.get(..at).unwrap();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            assert_eq!(places.line_and_column(&text, at), (line, column), "{c} at {at}");
        }
    }
}
