//! Decodes file contents as text: detects binary content and encodings and normalizes line ends, so
//! that all parts of the program count the same lines.

mod long_lines;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr, memchr_iter};

pub use self::long_lines::shorten_lines;

/// Bytes at the start of a file that decide whether it is text.
pub const HEAD_BYTES: usize = 8 * 1024;
const REPLACEMENT: char = '\u{fffd}';

/// First bytes of binary formats that may begin like text.
const MAGIC: &[&[u8]] = &[
    b"%PDF-", b"%!PS-AdobeFont", b"!<arch>\n",
    // Pickled Python objects in the line-based protocol.
    b"(dp0\n", b"(lp0\n", b"(dp1\n", b"(lp1\n", b"ccopy_reg\n",
];

/// Minimum bytes of text per control character. Random bytes have one control character in nine.
const BYTES_PER_CONTROL: usize = 16;
const BYTES_PER_NUL: usize = 32;
/// UTF-16 without a byte order mark is recognised from this length on.
const MIN_UTF16_UNITS: usize = 8;
/// Number of bytes, from the first non-ASCII byte on, that are used to guess a legacy encoding.
const DETECTION_BYTES: usize = 128 * 1024;
/// Maximum average line length for which a legacy encoding is guessed. Longer lines are not text.
const MAX_LEGACY_LINE: usize = 4096;

/// Text of a file. Lines end with `\n` or `\r\n`, and with nothing else.
#[derive(Debug, PartialEq, Eq)]
pub struct DecodedText<'a> {
    /// The text without a byte order mark. Borrowed if the content is UTF-8 with usual line ends.
    pub text: Cow<'a, str>,
    pub encoding: TextEncoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding {
    /// Name in the Encoding Standard, such as `UTF-8` or `Shift_JIS`.
    pub name: &'static str,
    /// True if `�` replaces bytes that are invalid in the encoding.
    pub is_lossy: bool,
}

impl TextEncoding {
    pub const UTF_8: Self = Self { name: "UTF-8", is_lossy: false };
}

/// Decodes the content of a file, in linear time. Returns `None` if it is not text.
pub fn decode_text(content: &[u8]) -> Option<DecodedText<'_>> {
    if is_binary(content) {
        return None;
    }
    let (encoding, body) = match Encoding::for_bom(content) {
        Some((encoding, mark_bytes)) => (encoding, content.get(mark_bytes..)?),
        None => (find_utf16(content).unwrap_or(UTF_8), content),
    };
    let (encoding, decoded, is_lossy) = match str::from_utf8(body) {
        Ok(text) if encoding == UTF_8 => (encoding, Cow::Borrowed(text), false),
        _ => decode_other(encoding, body)?,
    };
    let has_nul = memchr(0, decoded.as_bytes()).is_some();
    let text = if has_nul { Cow::Owned(replace_nuls(&decoded)?) } else { decoded };
    let encoding = TextEncoding { name: encoding.name(), is_lossy: is_lossy || has_nul };
    Some(DecodedText { text: end_lines(text), encoding })
}

/// Decodes content that is not valid UTF-8. Returns `None` if no encoding gives text.
fn decode_other<'a>(
    encoding: &'static Encoding,
    content: &'a [u8],
) -> Option<(&'static Encoding, Cow<'a, str>, bool)> {
    let encoding = match encoding {
        encoding if encoding == UTF_8 && !is_mostly_utf8(content) => detect_legacy(content)?,
        encoding => encoding,
    };
    let (text, is_lossy) = encoding.decode_without_bom_handling(content);
    let mut odd = 0;
    let mut all = 0;
    for character in text.chars() {
        all += 1;
        // Random bytes often decode to private-use characters.
        let is_odd = character == REPLACEMENT
            || ('\u{e000}'..='\u{f8ff}').contains(&character)
            || (character.is_control() && !character.is_whitespace() && character != '\u{1b}');
        odd += usize::from(is_odd);
    }
    (odd * BYTES_PER_CONTROL <= all + BYTES_PER_CONTROL / 2).then_some((encoding, text, is_lossy))
}

/// Returns whether valid non-ASCII UTF-8 characters are at least as many as invalid runs of bytes.
fn is_mostly_utf8(content: &[u8]) -> bool {
    let mut valid = 0_usize;
    let mut invalid = 0_usize;
    for chunk in content.utf8_chunks() {
        let is_lead = |byte: &&u8| **byte >= 0xc0;
        valid += chunk.valid().as_bytes().iter().filter(is_lead).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    invalid <= valid
}

/// Guesses the legacy encoding of text that is not Unicode; `None` if its lines are too long.
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

/// Returns whether content is binary, judged by its first bytes and not by its file name.
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

/// Returns whether a byte is a control character other than white space, backspace and escape.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 14..=26 | 28..=31 | 127)
}

/// Detects UTF-16 without a byte order mark and returns its byte order. At one of the two byte
/// positions of the units most bytes must be NUL, at the other one none.
fn find_utf16(content: &[u8]) -> Option<&'static Encoding> {
    let head = content.get(..HEAD_BYTES).unwrap_or(content);
    memchr(0, head)?;
    let units = head.len() / 2;
    let nuls_from = |first: usize| head.iter().skip(first).step_by(2).filter(|b| **b == 0).count();
    let even = nuls_from(0);
    let odd = nuls_from(1);
    let is_most = |nuls: usize| units >= MIN_UTF16_UNITS && nuls * 2 > units;
    match (even, odd) {
        (0, odd) if is_most(odd) => Some(UTF_16LE),
        (even, 0) if is_most(even) => Some(UTF_16BE),
        _ => None,
    }
}

/// Replaces each NUL with `�`. Returns `None` if there are too many for text.
fn replace_nuls(text: &str) -> Option<String> {
    let count = memchr_iter(0, text.as_bytes()).count();
    (count * BYTES_PER_NUL <= text.len()).then(|| text.replace('\0', "\u{fffd}"))
}

/// Replaces each `\r` that is not followed by `\n` with `\n`, because editors end a line there.
fn end_lines(text: Cow<'_, str>) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_bare = |at: usize| bytes.get(at + 1) != Some(&b'\n');
    if !memchr_iter(b'\r', bytes).any(is_bare) {
        return text;
    }
    let mut ended = String::with_capacity(text.len());
    for (place, part) in text.split('\r').enumerate() {
        if place > 0 {
            ended.push(if part.starts_with('\n') { '\r' } else { '\n' });
        }
        ended.push_str(part);
    }
    Cow::Owned(ended)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{EUC_KR, GBK, KOI8_U, SHIFT_JIS};

    use super::*;

    fn read(content: &[u8]) -> (String, &'static str, bool) {
        let DecodedText { text, encoding } = decode_text(content).unwrap();
        (text.into_owned(), encoding.name, encoding.is_lossy)
    }

    #[test]
    fn binary_content_is_detected_by_its_first_bytes() {
        for text in [
            &b"module app.config\n"[..],
            b"",
            b"\x1b[31mred\x1b[0m\r\n\x0cpage\n",
            b"caf\xe9 au lait\n",
            "größe: 日本語\n".as_bytes(),
            b"a single \x01 in a line of text\n",
            b"%!PS-Adobe-3.0\n/box { newpath } def\n",
        ] {
            assert!(!is_binary(text), "{text:?}");
        }
        let random_bytes = |n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes();
        let random: Vec<u8> = (1..1000).flat_map(random_bytes).filter(|byte| *byte != 0).collect();
        for other in [
            &b"ELF\0\x01"[..],
            b"%PDF-1.4\n1 0 obj\n",
            b"!<arch>\nlib.o/          0\n",
            b"(dp0\nS'a'\np1\nI1\ns.",
            b"\x80\x04\x95\x10\x8c\x01a\x94.",
            &random,
        ] {
            assert!(is_binary(other) && decode_text(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn utf_8_is_not_copied() {
        for text in ["fn main() {}\r\n", "\u{feff}größe\n"] {
            let decoded = decode_text(text.as_bytes()).unwrap();
            assert!(matches!(decoded.text, Cow::Borrowed(_)), "{text:?}");
            assert_eq!(decoded.text, text.trim_start_matches('\u{feff}'));
            assert_eq!(decoded.encoding, TextEncoding::UTF_8);
        }
    }

    #[test]
    fn utf_16_is_read_with_and_without_its_mark() {
        let text = "public class Größe { /* 日本 */ }\r\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for (mark, bytes, name) in [
            (&[0xff, 0xfe][..], &little, "UTF-16LE"),
            (&[], &little, "UTF-16LE"),
            (&[0xfe, 0xff], &big, "UTF-16BE"),
            (&[], &big, "UTF-16BE"),
        ] {
            let content = [mark, bytes].concat();
            assert_eq!(read(&content), (text.to_owned(), name, false));
        }
        // Content that only starts like UTF-16 is not text.
        let noise_bytes = |n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes();
        let noise: Vec<u8> = (0..1000).flat_map(noise_bytes).collect();
        assert_eq!(decode_text(&[&[0xff, 0xfe][..], &noise].concat()), None);
    }

    #[test]
    fn legacy_encodings_are_guessed() {
        let stray = read(b"/* by J\xfcrgen */\nint add(int a);\n");
        assert_eq!(stray, ("/* by Jürgen */\nint add(int a);\n".to_owned(), "windows-1252", false));
        for (encoding, text) in [
            (SHIFT_JIS, "# 設定ファイルを読み込みます。\nretry_count = 3  # 再試行の回数\n"),
            (GBK, "// 读取配置文件，并计算购物车的总价。\nint total = 0; // 总价\n"),
            (EUC_KR, "# 설정 파일을 읽고 총액을 계산합니다.\ntotal = 0  # 총액\n"),
            (KOI8_U, "# Читает файл настроек и считает сумму заказа.\ntotal = 0  # сумма\n"),
        ] {
            let (content, ..) = encoding.encode(text);
            assert_eq!(read(&content), (text.to_owned(), encoding.name(), false));
        }
    }

    #[test]
    fn undecodable_bytes_are_replaced_and_reported() {
        let mixed = ["größe = 1\n".as_bytes(), b"caf\xe9\n"].concat();
        assert_eq!(read(&mixed), ("größe = 1\ncaf\u{fffd}\n".to_owned(), "UTF-8", true));
        let nul = b"int before(void) { return 1; }\n/* \0 */\nint after(void);\n";
        let text = "int before(void) { return 1; }\n/* \u{fffd} */\nint after(void);\n";
        assert_eq!(read(nul), (text.to_owned(), "UTF-8", true));
        let padded = [&b"text\n".repeat(2000)[..], &[0; 9000]].concat();
        assert_eq!(decode_text(&padded), None);
    }

    #[test]
    fn all_line_ends_of_editors_count() {
        for (content, text) in
            [("a\rb\r", "a\nb\n"), ("a\r\nb\rc\nd", "a\r\nb\nc\nd"), ("a\r\r\nb", "a\n\r\nb")]
        {
            assert_eq!(read(content.as_bytes()).0, text);
        }
    }
}
