//! Leaves out macros of C++ that stand alone on a line: a parser takes `NS_BEGIN` for the type of what
//! follows, and the class there for something else.

use codeinfo_lang::grammar::Parser;

/// Returns the text without such lines, of which the line ends stay; `None` where it has none.
pub(super) fn left_out(parser: Parser, text: &str) -> Option<String> {
    if parser != Parser::Cpp || !text.lines().any(is_macro) {
        return None;
    }
    let kept = text.split_inclusive('\n').map(|line| if is_macro(line) { "\n" } else { line });
    Some(kept.collect())
}

/// Capitals with an underscore among them; names without one may be types.
fn is_macro(line: &str) -> bool {
    let name = line.trim_ascii();
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.contains('_')
        && name.bytes().all(is_part)
}
