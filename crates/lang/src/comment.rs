//! What comments look like, in one language and in any.

/// How the comments of a language begin and end.
#[derive(Debug, Clone, Copy)]
pub struct CommentSyntax {
    /// Starts of comments that end with their line.
    pub line: &'static [&'static str],
    /// Starts and ends of comments that may go on over lines.
    pub block: &'static [(&'static str, &'static str)],
}

impl CommentSyntax {
    /// None, or none that are known.
    pub const NONE: Self = Self { line: &[], block: &[] };
    /// Those of C and of the many languages that took them over.
    pub const SLASHES: Self = Self { line: &["//"], block: &[("/*", "*/")] };
    /// Those of shells.
    pub const HASH: Self = Self { line: &["#"], block: &[] };
    /// Those of text in no known language.
    pub const ANY: Self = Self { line: &["//", "# ", "--", ";;", "%%"], block: &[("/*", "*/")] };

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.block.is_empty()
    }

    /// Whether a line, without its indentation, starts or ends a comment.
    pub fn starts_with_delimiter(&self, line: &str) -> bool {
        self.line.iter().any(|mark| line.starts_with(mark))
            || self
                .block
                .iter()
                .any(|(start, end)| line.starts_with(start) || line.starts_with(end))
    }

    /// Returns whether a line starts or continues a comment: those in `/* */` often have a star each.
    pub(crate) fn is_comment_line(&self, line: &str) -> bool {
        let line = line.trim_start();
        let has_stars = || self.block.iter().any(|(start, _)| *start == "/*");
        self.starts_with_delimiter(line) || line.starts_with('*') && has_stars()
    }
}

/// How comments begin, or go on, in one language or another.
const COMMENTS: &[&str] = &["//", "/*", "*", "#", "--", ";", "<!--", "%", "\"\"\"", "'''", "{-"];

/// How comments begin in one language or another, and with what those end that go on over lines. Longer marks come
/// before those that they begin with.
pub const MARKS_OF_ANY: &[(&str, &str)] = &[
    ("<!--", "-->"),
    ("<%--", "--%>"),
    ("\"\"\"", "\"\"\""),
    ("/*", "*/"),
    ("(*", "*)"),
    ("{-", "-}"),
    ("//", ""),
    ("--", ""),
    ("..", ""),
    ("#", ""),
    (";", ""),
    ("%", ""),
    ("'", ""),
    ("dnl", ""),
];

/// How attributes begin, which stand before a definition as comments do.
const ATTRIBUTES: &[&str] = &["@", "[["];

/// How a line of a comment, of documentation or a heading begins. `#` alone would be `#define`, too.
const DESCRIPTIONS: &[&str] = &["//", "/*", "* ", "# ", "--", ";;", "\"\"\"", "{-", "|"];

/// Comments begin and end with these runs of characters.
const MARKS: &[&[u8]] = &[b"//", b"///", b"//!", b"/*", b"/**", b"*/", b"**/", b"--", b"----"];

/// Whether a line begins as comments do in some language.
pub fn is_comment(line: &str) -> bool {
    starts_with_any(line, COMMENTS)
}

/// Whether a line comes before the signature of a definition in some language: a comment or an
/// attribute.
pub fn is_lead(line: &str) -> bool {
    starts_with_any(line, COMMENTS) || starts_with_any(line, ATTRIBUTES)
}

/// Whether a line begins as those do that describe code: a comment, documentation or a heading. Unlike
/// [`is_comment`], it takes no line of code for one.
pub fn is_description(line: &str) -> bool {
    starts_with_any(line, DESCRIPTIONS)
}

/// Whether a run of characters begins or ends comments, and is no operator.
pub fn is_mark(run: &[u8]) -> bool {
    MARKS.contains(&run)
}

fn starts_with_any(line: &str, marks: &[&str]) -> bool {
    let line = line.trim_start();
    marks.iter().any(|mark| line.starts_with(mark))
}
