//! Operators as terms, for finding code without words, such as `<=>`, `?.` or `#[`.

use codeinfo_lang::comment;

/// Minimum and maximum characters of an operator. Single characters occur everywhere, and longer
/// runs are lines drawn in comments.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=4;

/// Returns the operators of a text in order, without comment marks, which are never searched for.
pub(super) fn find_operators(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes()
        .chunk_by(|a, b| is_operator(*a) == is_operator(*b))
        .filter(|run| LENGTHS.contains(&run.len()) && run.first().copied().is_some_and(is_operator))
        .filter(|run| !comment::is_comment_mark(run))
}

fn is_operator(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'*' | b'+' | b'-' | b'.' | b'/' | b':' | b'<'
            ..=b'@' | b'[' | b'\\' | b']' | b'^' | b'|' | b'~'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_and_comments_and_single_marks_are_not() {
        let found = |text| -> Vec<&str> {
            find_operators(text).map(|run| str::from_utf8(run).unwrap()).collect()
        };
        assert_eq!(found("a <=> b?.c !== d; // e"), ["<=>", "?.", "!=="]);
        assert_eq!(found("#[x] fn f(a: &[u8]) -> b::c"), ["#[", "&[", "->", "::"]);
        assert_eq!(found("a + b = c ------ /* d */ é——"), [""; 0]);
    }
}
