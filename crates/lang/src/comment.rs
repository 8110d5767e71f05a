//! Syntax of comments, in one language and in any.

/// Delimiters of a language's comments.
#[derive(Debug, Clone, Copy)]
pub struct CommentSyntax {
    /// Starts of comments that end with their line.
    pub line: &'static [&'static str],
    /// Starts and ends of comments that may span lines.
    pub block: &'static [(&'static str, &'static str)],
}

impl CommentSyntax {
    /// No comment syntax, or an unknown one.
    pub const NONE: Self = Self { line: &[], block: &[] };
    /// Comments of C and of the many languages that adopted its syntax.
    pub(crate) const SLASHES: Self = Self { line: &["//"], block: &[("/*", "*/")] };
    pub(crate) const HASH: Self = Self { line: &["#"], block: &[] };
    /// Comments in text of an unknown language.
    pub const ANY: Self = Self { line: &["//", "# ", "--", ";;", "%%"], block: &[("/*", "*/")] };

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.block.is_empty()
    }

    /// Returns this syntax, or [`Self::ANY`] if it is unknown.
    pub fn or_any(&self) -> &Self {
        if self.is_empty() { &Self::ANY } else { self }
    }

    /// Returns whether a line, without its indentation, starts or ends a comment.
    pub fn starts_with_delimiter(&self, line: &str) -> bool {
        self.line.iter().any(|mark| line.starts_with(mark))
            || self
                .block
                .iter()
                .any(|(start, end)| line.starts_with(start) || line.starts_with(end))
    }

    /// Returns whether a line starts or continues a comment, such as a line in `/* */` with a star.
    pub(crate) fn is_comment_line(&self, line: &str) -> bool {
        let text = line.trim_start();
        let has_stars = || self.block.iter().any(|(start, _)| *start == "/*");
        self.starts_with_delimiter(text) || text.starts_with('*') && has_stars()
    }
}

/// Starts of comment lines in any language, including lines within comments.
const COMMENTS: &[&str] = &["//", "/*", "*", "#", "--", ";", "<!--", "%", "\"\"\"", "'''", "{-"];

/// Starts of comments in any language, with ends of those that may span lines; longer marks first.
pub const ANY_DELIMITERS: &[(&str, &str)] = &[
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

/// Starts of attributes, which precede a definition like comments.
const ATTRIBUTES: &[&str] = &["@", "[["];

/// Starts of lines of comments, documentation or headings. `#` alone would match `#define`.
const DESCRIPTIONS: &[&str] = &["//", "/*", "* ", "# ", "--", ";;", "\"\"\"", "{-", "|"];

/// Starts of comment lines that no line of code or of a command has: not `#define` and `--option`.
const CERTAIN_COMMENTS: &[&str] = &["//", "# ", "/*", "* ", "-- ", ";; "];

/// Runs of characters that start or end comments.
const MARKS: &[&[u8]] = &[b"//", b"///", b"//!", b"/*", b"/**", b"*/", b"**/", b"--", b"----"];

pub fn is_comment(line: &str) -> bool {
    starts_with_any(line, COMMENTS)
}

/// Returns whether a line can only be a comment, in any language.
pub fn is_certain_comment(line: &str) -> bool {
    starts_with_any(line, CERTAIN_COMMENTS)
}

/// Returns whether a line may precede a definition in any language: a comment or an attribute.
pub fn is_lead(line: &str) -> bool {
    starts_with_any(line, COMMENTS) || starts_with_any(line, ATTRIBUTES)
}

/// Returns whether a line begins like a comment, documentation or a heading. Never matches code.
pub fn is_description(line: &str) -> bool {
    starts_with_any(line, DESCRIPTIONS)
}

/// Returns whether a run of characters starts or ends comments and is not an operator.
pub fn is_comment_mark(run: &[u8]) -> bool {
    MARKS.contains(&run)
}

/// Returns false if a single quote after `before` belongs to a name or number: `clk'event`, `8'hFF`.
/// `r` is the prefix of a raw string.
pub fn may_open_string(before: &str) -> bool {
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
    word.is_none_or(|word| word.is_empty() || word == "r")
}

fn starts_with_any(line: &str, marks: &[&str]) -> bool {
    let text = line.trim_start();
    marks.iter().any(|mark| text.starts_with(mark))
}
