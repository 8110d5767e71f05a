//! Tests of detecting text and its encoding.

use encoding_rs::{EUC_KR, GBK, KOI8_U, SHIFT_JIS};

use super::*;

fn read(content: &[u8]) -> (String, &'static str, bool) {
    let DecodedText { text, encoding } = decode_text(content).unwrap();
    (text.into_owned(), encoding.name, encoding.is_lossy)
}

#[test]
fn text_is_told_from_other_content_by_its_first_bytes() {
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
fn what_cannot_be_decoded_is_replaced_and_said() {
    let mixed = ["größe = 1\n".as_bytes(), b"caf\xe9\n"].concat();
    assert_eq!(read(&mixed), ("größe = 1\ncaf\u{fffd}\n".to_owned(), "UTF-8", true));
    let nul = b"int before(void) { return 1; }\n/* \0 */\nint after(void);\n";
    let text = "int before(void) { return 1; }\n/* \u{fffd} */\nint after(void);\n";
    assert_eq!(read(nul), (text.to_owned(), "UTF-8", true));
    let padded = [&b"text\n".repeat(2000)[..], &[0; 9000]].concat();
    assert_eq!(decode_text(&padded), None);
}

#[test]
fn every_end_of_line_of_editors_counts() {
    for (content, text) in
        [("a\rb\r", "a\nb\n"), ("a\r\nb\rc\nd", "a\r\nb\nc\nd"), ("a\r\r\nb", "a\n\r\nb")]
    {
        assert_eq!(read(content.as_bytes()).0, text);
    }
}
