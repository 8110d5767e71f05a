//! Decides by content whether a file is indexed.

mod generated;

use std::borrow::Cow;

use codeinfo_core::OmissionRule;
use codeinfo_lang::{Language, LanguageKind, detect};
use codeinfo_secrets::CensoredText;
use codeinfo_worktree::decode::{self, DecodedText};

use super::skip::SkipReason;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileVerdict<'a> {
    Text(IndexedText<'a>),
    /// Excluded: binary, generated or minified.
    LeftOut(OmissionRule),
    /// Contains secrets that must not be shown.
    Skipped(SkipReason),
}

/// Bytes at the start of a file that identify a drawing.
const HEAD_BYTES: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexedText<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) language: Option<&'static Language>,
    /// True if `�` replaces bytes that could not be decoded.
    pub(super) is_lossy: bool,
    pub(super) secrets: u64,
    /// True if the file must still be hidden from the model's shell.
    pub(super) is_private: bool,
}

/// Inspects the content of a file. A requested file may be generated or minified.
pub(super) fn inspect_content<'a>(
    path: &str,
    content: &'a [u8],
    is_requested: bool,
) -> FileVerdict<'a> {
    let Some(DecodedText { text, encoding }) = decode::decode_text(content) else {
        return if codeinfo_secrets::is_secret_path(path) {
            FileVerdict::Skipped(SkipReason::HoldsSecret)
        } else {
            FileVerdict::LeftOut(OmissionRule::Binary)
        };
    };
    let language = detect::detect_language(path, &text);
    // Only the version is computed from the original content; all further steps see no secrets.
    let Some(censored) = codeinfo_secrets::censor_text(path, language, &text) else {
        return FileVerdict::Skipped(SkipReason::HoldsSecret);
    };
    let rule = find_rule(path, language, &text).filter(|_| !is_requested);
    if let Some(rule) = rule {
        // A file with secrets must be hidden from the model's shell.
        return if censored.is_private {
            FileVerdict::Skipped(SkipReason::HoldsSecret)
        } else {
            FileVerdict::LeftOut(rule)
        };
    }
    let CensoredText { text: censored, count: secrets, is_private } = censored;
    let text = match censored {
        Cow::Owned(censored) => Cow::Owned(censored),
        Cow::Borrowed(_) => text,
    };
    FileVerdict::Text(IndexedText {
        text,
        language,
        is_lossy: encoding.is_lossy,
        secrets,
        is_private,
    })
}

/// Returns the rule that excludes a machine-made text: generated, minified, drawing or source map.
fn find_rule(path: &str, language: Option<&Language>, text: &str) -> Option<OmissionRule> {
    if generated::is_generated(text) {
        return Some(OmissionRule::Generated);
    }
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let head = text.get(..text.floor_char_boundary(HEAD_BYTES)).unwrap_or(text);
    let is_map = || head.starts_with('{') && text.contains("\"mappings\"");
    match extension.as_deref() {
        Some("svg") if head.contains("<svg") => return Some(OmissionRule::Drawing),
        Some("map") if is_map() => return Some(OmissionRule::Generated),
        _ => {}
    }
    let is_minified = language.is_some_and(|language| is_minified(language, text));
    is_minified.then_some(OmissionRule::Minified)
}

/// Bytes above which a line is machine-made.
const LONG_LINE: usize = 2000;
/// Number of other non-blank lines from which a file counts as written by people.
const ORDINARY_LINES: usize = 48;
const MIN_BYTES: usize = 4096;
/// Minified code has less than one white-space byte in this number of bytes.
const BYTES_PER_SPACE: usize = 12;
/// Code has at least one bracket or semicolon in this number of bytes.
const BYTES_PER_MARK: usize = 25;

/// Returns true if most of the text is code in machine-made lines and few other lines exist. Such
/// lines have little white space; long lines of words, numbers or encoded images do not count.
fn is_minified(language: &Language, text: &str) -> bool {
    if language.kind != LanguageKind::Code || text.len() < MIN_BYTES {
        return false;
    }
    let (mut long, mut ordinary, mut spaces, mut marks) = (0, 0, 0, 0);
    for line in text.lines() {
        if line.len() <= LONG_LINE {
            ordinary += usize::from(!line.is_empty());
            continue;
        }
        long += line.len();
        for byte in line.bytes() {
            spaces += usize::from(byte.is_ascii_whitespace());
            marks += usize::from(b"(){};".contains(&byte));
        }
    }
    let is_dense = spaces * BYTES_PER_SPACE < long && long < marks * BYTES_PER_MARK;
    text.len() / 2 < long && ordinary < ORDINARY_LINES && is_dense
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::detect;

    use super::*;

    fn inspect<'a>(path: &str, content: &'a [u8]) -> FileVerdict<'a> {
        inspect_content(path, content, false)
    }

    #[test]
    fn text_is_indexed_with_its_language() {
        let language = detect::find_language("rust");
        let text = "fn main() {}\n".into();
        let expected =
            IndexedText { text, language, is_lossy: false, secrets: 0, is_private: false };
        assert_eq!(inspect("a.rs", b"\xef\xbb\xbffn main() {}\n"), FileVerdict::Text(expected));
    }

    #[test]
    fn binary_generated_and_minified_files_are_excluded() {
        const GENERATED: FileVerdict<'_> = FileVerdict::LeftOut(OmissionRule::Generated);
        assert_eq!(inspect("a", b"ELF\0\x01"), FileVerdict::LeftOut(OmissionRule::Binary));
        let generated = b"// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n";
        assert_eq!(inspect("a.go", generated), GENERATED);
        assert_eq!(inspect("a.js", b"/**\n * @generated\n */\nlet a;\n"), GENERATED);
        assert_eq!(
            inspect("a.js", "push(a);".repeat(2000).as_bytes()),
            FileVerdict::LeftOut(OmissionRule::Minified)
        );
        let fixed = b"<!-- Generated; DO NOT EDIT -->\n<a>\n";
        assert_eq!(inspect("a.xml", fixed), GENERATED);
        let unknown = b"; generated, DO NOT EDIT\na\n";
        assert_eq!(inspect("a.unknown", unknown), GENERATED);
        let pragma = b"# Generated by the build.\n# DO NOT EDIT\nA = 1\n";
        assert_eq!(inspect("a.py", pragma), GENERATED);
        assert!(matches!(inspect_content("a.py", pragma, true), FileVerdict::Text { .. }));
    }

    #[test]
    fn content_decides_what_is_text() {
        for (path, content) in [
            ("app.pkl", "module app.config\n"),
            ("stations.dat", "OSLO 59.9\n"),
            ("lib.map", "VERSION { global: open; };\n"),
            ("page.pt", "<html tal:content=\"a\"/>\n"),
            ("words.svg", "no drawing\n"),
            ("tests.snap", "---\nsource: a.rs\n---\n1\n"),
        ] {
            assert!(matches!(inspect(path, content.as_bytes()), FileVerdict::Text(_)), "{path}");
        }
        for (path, content) in [
            ("a.pkl", "(dp0\nS'a'\np1\nI1\ns."),
            ("a.svg", "<?xml version=\"1.0\"?>\n<svg><path/></svg>\n"),
            ("a.js.map", "{\"version\":3,\"mappings\":\"AAAA\"}"),
            ("a.snap", "// Jest Snapshot v1, https://goo.gl/fbAQLP\n"),
            ("a.txt", "%PDF-1.4\n"),
        ] {
            let verdict = inspect(path, content.as_bytes());
            assert!(matches!(verdict, FileVerdict::LeftOut(_)), "{path}: {verdict:?}");
        }
    }

    #[test]
    fn handwritten_files_with_advice_or_images_are_indexed() {
        let advice = b"-- DO NOT MODIFY THIS FILE! Write your own instead.\nmain = run\n";
        assert!(matches!(inspect("a.hs", advice), FileVerdict::Text(_)));
        let macros = b"#define GENERATED \"generated, DO NOT EDIT\"\nint a;\n";
        assert!(matches!(inspect("a.c", macros), FileVerdict::Text(_)));
        let image =
            format!("@logo \"{}\"\n{}", "iVBOR".repeat(8000), "def one, do: 1\n".repeat(60));
        assert!(matches!(inspect("a.ex", image.as_bytes()), FileVerdict::Text(_)));
    }

    #[test]
    fn prose_may_have_long_lines() {
        let prose = "word ".repeat(2000);
        assert!(matches!(inspect("a.md", prose.as_bytes()), FileVerdict::Text(_)));
        let code = b"const MARK: &str = \"@generated DO NOT EDIT\";\n";
        assert!(matches!(inspect("a.rs", code), FileVerdict::Text(_)));
    }

    #[test]
    fn files_with_secrets_are_skipped_or_censored() {
        let key = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n";
        let code = [b"const KEY: &str = \"", &key[..], b"\";\nfn sign() {}\n"].concat();
        let hidden = FileVerdict::Skipped(SkipReason::HoldsSecret);
        assert_eq!(inspect("a.txt", key), hidden);
        // A name that promises secrets suffices if the content is inconclusive.
        assert_eq!(inspect("server.der", b"\x30\x82\0\x01"), hidden);
        assert_eq!(inspect("secrets.txt", b"db: hunter2\nmail: swordfish\n"), hidden);
        assert_eq!(inspect(".env.example", b"K=x7Kq2Lm9Zr4tY8wB1nV5cX3dQ6hJ0sF2\n"), hidden);
        for (path, content, expected, is_private) in [
            ("src/sign.rs", &code[..], "fn sign()", true),
            (
                ".env.example",
                b"PORT=25\nDB_PASSWORD=hunter2pass9\n",
                "PORT=25\nDB_PASSWORD=[secret]",
                true,
            ),
            (".env.example", b"PORT=25\nDB_PASSWORD=\n", "DB_PASSWORD=\n", false),
            ("docs/secrets.mdx", b"# Secrets\n\nRotate them.\n", "Rotate them", false),
            ("sql/credentials.sql", b"CREATE TABLE credentials (id int);\n", "CREATE TABLE", false),
        ] {
            let FileVerdict::Text(text) = inspect(path, content) else { panic!("{path}") };
            assert!(text.text.contains(expected) && !text.text.contains("MIIE"), "{path}");
            assert_eq!(text.is_private, is_private, "{path}");
        }
    }

    fn repeat(count: usize, part: impl Fn(usize) -> String) -> String {
        (0..count).map(part).collect::<Vec<_>>().concat()
    }

    fn is_left_out(path: &str, text: &str) -> bool {
        detect::detect_by_path(path).is_some_and(|language| is_minified(language, text))
    }

    #[test]
    fn one_long_line_does_not_make_a_file_minified() {
        let words = repeat(1500, |n| format!("word{n} "));
        let points = repeat(500, |n| format!("{n}.5 {n}.25 "));
        let rows = repeat(2000, |n| format!("({n}),"));
        let image = "iVBORw0KGgo=".repeat(1000);
        let paths = repeat(900, |n| format!(r#"{{"/v1/orders{n}":{{}}}},"#));
        for (path, text) in [
            (
                "words.py",
                format!("STOP = set(\"{words}\".split())\n\ndef strip(t):\n    return t\n"),
            ),
            (
                "Logo.tsx",
                format!("export function Logo() {{\n  return <path d=\"M{points}\" />;\n}}\n"),
            ),
            ("seed.sql", format!("INSERT INTO seeds VALUES {rows};\n")),
            ("openapi.json", format!("[{paths}]")),
            ("Dockerfile", format!("FROM debian\nRUN apt-get install {words}\n")),
            ("icon.js", format!("export const ICON=\"data:image/png;base64,{image}\";\n")),
            ("table.go", format!("package a\n\nvar Table = []int{{{}}}\n", "1,2,3,".repeat(3000))),
            ("a.md", "word ".repeat(2000)),
        ] {
            assert!(!is_left_out(path, &text), "{path}");
        }
    }

    #[test]
    fn bundles_are_excluded() {
        let rules = ".a{color:red;margin:0}".repeat(500);
        let calls = "a(b,c);".repeat(3000);
        for (path, text) in [("app.css", &rules), ("app.js", &calls)] {
            assert!(is_left_out(path, text), "{path}");
            assert!(is_left_out(path, &format!("/* Licence */\n{text}\n")), "{path}");
            let lines = "function called() { return 1; }\n".repeat(60);
            assert!(!is_left_out(path, &format!("{lines}{text}\n")), "{path}");
        }
    }
}
