//! Distinguishes minified bundles from files with a few long lines.

use codeinfo_lang::{Language, LanguageKind};

/// Bytes above which a line is machine-made.
const LONG_LINE: usize = 2000;
/// Number of other non-blank lines from which a file counts as written by people.
const ORDINARY_LINES: usize = 48;
/// Minimum bytes of a minified file.
const MIN_BYTES: usize = 4096;
/// Minified code has less than one white-space byte in this number of bytes.
const BYTES_PER_SPACE: usize = 12;
/// Code has at least one bracket or semicolon in this number of bytes.
const BYTES_PER_MARK: usize = 25;

/// Returns true if most of the text is code in machine-made lines and few other lines exist.
///
/// Such lines are statements with little white space, as in bundles; long lines of words, numbers
/// or encoded images do not count.
pub(super) fn is_minified(language: &Language, text: &str) -> bool {
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

    fn repeat(count: usize, part: impl Fn(usize) -> String) -> String {
        (0..count).map(part).collect::<Vec<_>>().concat()
    }

    fn is_left_out(path: &str, text: &str) -> bool {
        detect::detect_by_path(path).is_some_and(|language| is_minified(language, text))
    }

    #[test]
    fn files_of_a_few_lines_are_kept_with_one_that_is_long() {
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
    fn bundles_are_left_out() {
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
