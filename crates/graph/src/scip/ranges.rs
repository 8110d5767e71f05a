//! Finds the ranges of an index in a text, and compares what they hold with symbols.

use std::ops::Range;

use super::{Occurrence, TextPosition};

/// Unit of columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PositionEncoding {
    /// Not given, as by older indexers. Most of them counted in UTF-16.
    #[default]
    Unspecified,
    Utf8,
    Utf16,
    Utf32,
}

impl PositionEncoding {
    pub(super) fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Unspecified),
            1 => Some(Self::Utf8),
            2 => Some(Self::Utf16),
            3 => Some(Self::Utf32),
            _ => None,
        }
    }

    /// Returns the units that columns may have, the likeliest first.
    pub(super) fn list_candidates(self) -> &'static [Self] {
        match self {
            Self::Unspecified => &[Self::Utf16, Self::Utf8, Self::Utf32],
            Self::Utf8 => &[Self::Utf8],
            Self::Utf16 => &[Self::Utf16],
            Self::Utf32 => &[Self::Utf32],
        }
    }

    fn count_units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 | Self::Unspecified => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextPoint {
    /// Bytes from the beginning of the text.
    pub(super) offset: usize,
    /// Bytes from the beginning of the line.
    pub(super) column: u32,
}

/// Returns the start and end of each occurrence, in one pass; `None` if one is not in the text.
pub(super) fn locate_ranges(
    occurrences: &[Occurrence],
    text: &str,
    encoding: PositionEncoding,
) -> Option<Vec<[TextPoint; 2]>> {
    let ends = occurrences.iter().flat_map(|occurrence| [occurrence.start, occurrence.end]);
    let mut positions: Vec<(TextPosition, usize)> = ends.zip(0..).collect();
    positions.sort_unstable();
    let mut points = vec![TextPoint::default(); positions.len()];
    let mut lines = (0_u32..).zip(text.split('\n'));
    let (mut number, mut line) = lines.next()?;
    let (mut line_start, mut column, mut units) = (0, 0, 0);
    for (position, place) in positions {
        while number < position.line {
            line_start += line.len() + 1;
            (number, line) = lines.next()?;
            (column, units) = (0, 0);
        }
        let wanted = usize::try_from(position.column).ok()?;
        let mut following = line.get(column..)?.chars();
        while units < wanted {
            let character = following.next()?;
            column += character.len_utf8();
            units += encoding.count_units(character);
        }
        if units != wanted {
            return None;
        }
        let point = TextPoint { offset: line_start + column, column: u32::try_from(column).ok()? };
        *points.get_mut(place)? = point;
    }
    Some(points.as_chunks::<2>().0.to_vec())
}

/// Returns true if a range neither begins nor ends within a word.
pub(super) fn is_at_borders(text: &str, range: Range<usize>) -> bool {
    let is_border = |at: usize| {
        let (before, after) = text.split_at_checked(at)?;
        Some(!before.ends_with(is_word_char) || !after.starts_with(is_word_char))
    };
    is_border(range.start) == Some(true) && is_border(range.end) == Some(true)
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// Returns true if a range holds the name of a symbol, or is empty, as that of a whole file. The
/// text may have quotes, and the name a part in angle brackets (`<get>size`, `<constructor>`) or a
/// number that the indexer counts up (`next0:`).
pub(super) fn has_name(text: &str, range: Range<usize>, name: &str) -> bool {
    let Some(held) = text.get(range) else { return false };
    if held.is_empty() {
        return true;
    }
    let plain = held.trim_matches(['"', '\'', '`']);
    let marked = name.strip_prefix('<').and_then(|marked| marked.split_once('>'));
    let number = name.strip_suffix(':').and_then(|counted| counted.strip_prefix(plain));
    [held, plain].contains(&name)
        || marked.is_some_and(|(mark, rest)| rest == plain || (rest.is_empty() && mark == plain))
        || number.is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_digit()))
}

/// Returns the name in the last descriptor of a global symbol, with its `:` if it has one.
pub(super) fn read_symbol_name(symbol: &str) -> Option<String> {
    if let Some(counted) = symbol.strip_suffix(':') {
        return Some(read_last_name(counted)? + ":");
    }
    if let Some(method) = symbol.strip_suffix(").") {
        return read_last_name(method.rsplit_once('(')?.0);
    }
    read_last_name(symbol.strip_suffix(['.', '#', '/', '!', ')', ']'])?)
}

/// Returns the name, simple or in backticks, at the end of a text.
fn read_last_name(named: &str) -> Option<String> {
    let Some(escaped) = named.strip_suffix('`') else {
        let is_simple = |c: char| is_word_char(c) || matches!(c, '+' | '-');
        let name = named.rsplit(|c| !is_simple(c)).next()?;
        return (!name.is_empty()).then(|| name.to_owned());
    };
    // Backticks within a name are doubled, so the first of an odd number begins the name.
    let mut rest = escaped;
    loop {
        let before = rest.rfind('`')?;
        let trimmed = rest.get(..before + 1)?.trim_end_matches('`');
        if (before + 1 - trimmed.len()) % 2 == 1 {
            return Some(escaped.get(trimmed.len() + 1..)?.replace("``", "`"));
        }
        rest = trimmed;
    }
}
