//! Reads the content of a file as text: tells it from other content, finds its encoding, and gives lines one kind
//! of end, so that every part of the program counts the same lines.

mod long_lines;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr, memchr_iter};

pub use self::long_lines::shorten_lines;

/// Number of bytes at the start of a file that show whether it is text.
pub const HEAD_BYTES: usize = 8 * 1024;
/// Stands where bytes could not be decoded.
const REPLACEMENT: char = '\u{fffd}';

/// Starts of formats whose first bytes may all be those of text.
const MAGIC: &[&[u8]] = &[
    b"%PDF-",
    b"%!PS-AdobeFont",
    b"!<arch>\n",
    // Pickled objects of Python, in the protocol that is made of lines.
    b"(dp0\n",
    b"(lp0\n",
    b"(dp1\n",
    b"(lp1\n",
    b"ccopy_reg\n",
];

/// One control character among so many bytes is one too many. Random bytes have one among nine.
const BYTES_PER_CONTROL: usize = 16;
/// One NUL among so many is.
const BYTES_PER_NUL: usize = 32;
/// The fewest units of UTF-16 without a byte order mark by which it is known.
const MIN_UTF16_UNITS: usize = 8;
/// How many bytes, from the first that is not ASCII, show which legacy encoding they are in.
const DETECTION_BYTES: usize = 128 * 1024;
/// Longer lines have no legacy encoding that is guessed: they are no text.
const MAX_LEGACY_LINE: usize = 4096;

/// Text of a file. Every `\n`, and `\r\n`, ends a line; nothing else does.
#[derive(Debug, PartialEq, Eq)]
pub struct DecodedText<'a> {
    /// Without a byte order mark. Borrowed where the content is UTF-8 with usual line ends.
    pub text: Cow<'a, str>,
    pub encoding: TextEncoding,
}

/// Encoding that a text was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding {
    /// Name by the Encoding Standard, such as `UTF-8` and `Shift_JIS`.
    pub name: &'static str,
    /// Whether `�` stands for bytes that mean nothing in it.
    pub is_lossy: bool,
}

impl TextEncoding {
    /// UTF-8 without a fault.
    pub const UTF_8: Self = Self { name: "UTF-8", is_lossy: false };
}

/// Decodes the content of a file; `None` if it is no text. Takes time that grows with the content only.
pub fn decode_text(content: &[u8]) -> Option<DecodedText<'_>> {
    if is_binary(content) {
        return None;
    }
    let (encoding, content) = match Encoding::for_bom(content) {
        Some((encoding, mark_bytes)) => (encoding, content.get(mark_bytes..)?),
        None => (find_utf16(content).unwrap_or(UTF_8), content),
    };
    let (encoding, text, is_lossy) = match str::from_utf8(content) {
        Ok(text) if encoding == UTF_8 => (encoding, Cow::Borrowed(text), false),
        _ => decode_other(encoding, content)?,
    };
    let has_nul = memchr(0, text.as_bytes()).is_some();
    let text = if has_nul { Cow::Owned(replace_nuls(&text)?) } else { text };
    let encoding = TextEncoding { name: encoding.name(), is_lossy: is_lossy || has_nul };
    Some(DecodedText { text: end_lines(text), encoding })
}

/// Decodes what is not UTF-8, or not all of it; `None` if no encoding makes text of it.
fn decode_other<'a>(
    encoding: &'static Encoding,
    content: &'a [u8],
) -> Option<(&'static Encoding, Cow<'a, str>, bool)> {
    let encoding = match encoding {
        encoding if encoding == UTF_8 && !is_mostly_utf8(content) => detect_legacy(content)?,
        encoding => encoding,
    };
    let (text, is_lossy) = encoding.decode_without_bom_handling(content);
    let (mut odd, mut all) = (0, 0);
    for character in text.chars() {
        all += 1;
        // Characters of private use are what random bytes become.
        let is_odd = character == REPLACEMENT
            || ('\u{e000}'..='\u{f8ff}').contains(&character)
            || (character.is_control() && !character.is_whitespace() && character != '\u{1b}');
        odd += usize::from(is_odd);
    }
    (odd * BYTES_PER_CONTROL <= all + BYTES_PER_CONTROL / 2).then_some((encoding, text, is_lossy))
}

/// Whether more characters are valid UTF-8 beyond ASCII than runs of bytes are not.
fn is_mostly_utf8(content: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    for chunk in content.utf8_chunks() {
        let is_lead = |byte: &&u8| 0xc0 <= **byte;
        valid += chunk.valid().as_bytes().iter().filter(is_lead).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    invalid <= valid
}

/// Guesses the encoding of text that is no Unicode; `None` if its lines are too long for text.
fn detect_legacy(content: &[u8]) -> Option<&'static Encoding> {
    let ends = memchr_iter(b'\n', content).count() + memchr_iter(b'\r', content).count();
    if (ends + 1) * MAX_LEGACY_LINE < content.len() {
        return None;
    }
    let first = content.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let telling = content.get(first.saturating_sub(1)..).unwrap_or(content);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(telling.get(..DETECTION_BYTES).unwrap_or(telling), true);
    Some(detector.guess(None, Utf8Detection::Deny))
}

/// Whether a file that starts with these bytes is no text, whatever it is called.
pub fn is_binary(content: &[u8]) -> bool {
    let head = content.get(..HEAD_BYTES).unwrap_or(content);
    if MAGIC.iter().any(|magic| head.starts_with(magic)) {
        return true;
    }
    let controls = head.iter().filter(|byte| is_control(**byte)).count();
    if controls == 0 {
        return false;
    }
    let nuls = memchr_iter(0, head).count();
    let is_utf16 = [&[0xff, 0xfe][..], &[0xfe, 0xff]].iter().any(|mark| head.starts_with(mark))
        || find_utf16(head).is_some();
    !is_utf16 && (head.len() < controls * BYTES_PER_CONTROL || head.len() < nuls * BYTES_PER_NUL)
}

/// Whether text has such a byte by mistake alone: no white space, backspace or escape sequence.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 14..=26 | 28..=31 | 127)
}

/// Returns which kind of UTF-16 content without a byte order mark is: where every other byte is mostly a NUL, and
/// none between these.
fn find_utf16(content: &[u8]) -> Option<&'static Encoding> {
    let head = content.get(..HEAD_BYTES).unwrap_or(content);
    memchr(0, head)?;
    let units = head.len() / 2;
    let nuls_from = |first: usize| head.iter().skip(first).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (nuls_from(0), nuls_from(1));
    let is_most = |nuls: usize| MIN_UTF16_UNITS <= units && units < nuls * 2;
    match (even, odd) {
        (0, odd) if is_most(odd) => Some(UTF_16LE),
        (even, 0) if is_most(even) => Some(UTF_16BE),
        _ => None,
    }
}

/// Replaces each NUL; `None` if there are too many for text.
fn replace_nuls(text: &str) -> Option<String> {
    let count = memchr_iter(0, text.as_bytes()).count();
    (count * BYTES_PER_NUL <= text.len()).then(|| text.replace('\0', "\u{fffd}"))
}

/// Puts `\n` in place of each `\r` that is not followed by one: editors end a line there.
fn end_lines(text: Cow<'_, str>) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_bare = |at: usize| bytes.get(at + 1) != Some(&b'\n');
    if !memchr_iter(b'\r', bytes).any(is_bare) {
        return text;
    }
    let mut ended = String::with_capacity(text.len());
    for (place, part) in text.split('\r').enumerate() {
        if 0 < place {
            ended.push(if part.starts_with('\n') { '\r' } else { '\n' });
        }
        ended.push_str(part);
    }
    Cow::Owned(ended)
}

#[cfg(test)]
mod tests;
