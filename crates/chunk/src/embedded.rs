//! Reads texts with code of other languages in them: pages and notebooks.

use std::ops::Range;

use codeinfo_lang::{
    Language, detect,
    languages::{data::JSON, javascript, pages::CSS, scripts::PYTHON},
};

use super::lines::LineIndex;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PagePiece {
    pub(super) lines: Range<usize>,
    pub(super) content: PagePieceContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagePieceContent {
    Markup,
    /// The line of the tag before a script or style.
    OpeningTag,
    ClosingTag,
    Inner(&'static Language),
}

/// Returns the pieces, in order. Every line is in exactly one.
pub(super) fn split_page(lines: &LineIndex<'_>) -> Vec<PagePiece> {
    let mut pieces = Vec::new();
    let mut markup = 0;
    let mut at = 0;
    // Per tag: true once no closing tag follows a line, because none follows later lines either.
    let mut unclosed: [bool; 2] = [false; 2];
    while at < lines.count() {
        let text = lines.text(at..at + 1).trim();
        let Some((tag, language)) = parse_opening_tag(text) else {
            at += 1;
            continue;
        };
        let closing = if tag == 0 { "</script" } else { "</style" };
        let is_known_unclosed = unclosed.get(tag).copied().unwrap_or(true);
        let end = (!is_known_unclosed && !text.contains(closing))
            .then(|| (at + 1..lines.count()).find(|line| is_tag(lines, *line, closing)))
            .flatten();
        match (end, language) {
            (Some(end), Some(language)) if at + 1 < end => {
                let piece = |lines, content| PagePiece { lines, content };
                pieces.push(piece(markup..at, PagePieceContent::Markup));
                pieces.push(piece(at..at + 1, PagePieceContent::OpeningTag));
                pieces.push(piece(at + 1..end, PagePieceContent::Inner(language)));
                pieces.push(piece(end..end + 1, PagePieceContent::ClosingTag));
                markup = end + 1;
                at = end + 1;
            }
            (Some(end), _) => at = end + 1,
            (None, _) => {
                if let Some(unclosed) = unclosed.get_mut(tag)
                    && !text.contains(closing)
                {
                    *unclosed = true;
                }
                at += 1;
            }
        }
    }
    pieces.push(PagePiece { lines: markup..lines.count(), content: PagePieceContent::Markup });
    pieces.retain(|piece| !piece.lines.is_empty());
    pieces
}

fn is_tag(lines: &LineIndex<'_>, line: usize, tag: &str) -> bool {
    lines.text(line..line + 1).trim_start().starts_with(tag)
}

/// Parses an opening tag: 0 for a script or 1 for a style, and the language of its content.
fn parse_opening_tag(text: &str) -> Option<(usize, Option<&'static Language>)> {
    let has = |what: &str| text.contains(what);
    if text.starts_with("<style") && text.ends_with('>') {
        return Some((1, Some(&CSS)));
    }
    if !text.starts_with("<script") || !text.ends_with('>') {
        return None;
    }
    let language = if has("json") {
        Some(&JSON)
    } else if has("lang=\"tsx\"") {
        Some(&javascript::TSX)
    } else if has("lang=\"ts\"") || has("lang='ts'") {
        Some(&javascript::TYPESCRIPT)
    } else if has("type=") && !has("javascript") && !has("module") {
        None
    } else {
        Some(&javascript::JAVASCRIPT)
    };
    Some((0, language))
}

/// Maximum lines at the end of a notebook that are searched for its language.
const MAX_METADATA_LINES: usize = 200;

/// Returns the language of a notebook's code and the code itself, with all other lines blank. In
/// the JSON of a notebook, each line of a cell is a string on its own line.
pub(super) fn read_notebook_code(lines: &LineIndex<'_>) -> (&'static Language, String) {
    let mut code = String::new();
    // Indentation of the code cell whose source follows.
    let mut cell = None;
    let mut in_source = false;
    for line in 0..lines.count() {
        let text = lines.text(line..line + 1);
        let trimmed = text.trim();
        let indentation = text.len() - text.trim_start().len();
        if in_source {
            let read = read_string(trimmed);
            in_source = read.is_some();
            code.push_str(&read.unwrap_or_default());
        } else if let Some(kind) = read_member(trimmed, "cell_type") {
            cell = (read_string(kind).as_deref() == Some("code")).then_some(indentation);
        } else if cell == Some(indentation) {
            in_source = read_member(trimmed, "source") == Some("[");
        }
        code.push('\n');
    }
    (find_language(lines).unwrap_or(&PYTHON), code)
}

/// Returns the language from the metadata, which follows the cells.
fn find_language(lines: &LineIndex<'_>) -> Option<&'static Language> {
    let first = lines.count().saturating_sub(MAX_METADATA_LINES);
    (first..lines.count()).rev().find_map(|line| {
        let name = read_member(lines.text(line..line + 1).trim(), "language")?;
        detect::find_language(&read_string(name)?.to_lowercase())
    })
}

fn read_member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Decodes a JSON string without its line end; empty for commands to the notebook itself.
fn read_string(text: &str) -> Option<String> {
    let line: String = serde_json::from_str(text.strip_suffix(',').unwrap_or(text)).ok()?;
    let is_command = line.trim_start().starts_with(['%', '!']);
    let code = line.trim_end_matches(['\n', '\r']).replace(['\n', '\r'], " ");
    Some(if is_command { String::new() } else { code })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (&'static str, String) {
        let (language, code) = read_notebook_code(&LineIndex::new(text));
        (language.name, code)
    }

    #[test]
    fn lines_of_code_cells_keep_their_numbers() {
        let text = r#"{
 "cells": [
  {
   "cell_type": "markdown",
   "source": [
    "def none():\n"
   ]
  },
  {
   "cell_type": "code",
   "outputs": [
    {
     "source": [
      "def none():\n"
     ]
    }
   ],
   "source": [
    "%matplotlib inline\n",
    "def a(\"x\"):\n",
    "    return \"\\n\"" 
   ]
  },
  {"cell_type": "code", "source": ["def one_line(): pass"]}
 ],
 "metadata": {}
}
"#;
        let (language, code) = read(text);
        assert_eq!(language, "python");
        let seen: Vec<(usize, &str)> =
            code.lines().enumerate().filter(|(_, line)| !line.is_empty()).collect();
        assert_eq!(seen, [(19, "def a(\"x\"):"), (20, "    return \"\\n\"")]);
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn the_metadata_names_the_language() {
        for (metadata, name) in [
            (r#""language": "julia","#, "julia"),
            (r#""language": "R""#, "r"),
            (r#""language": "nothing""#, "python"),
            ("", "python"),
        ] {
            assert_eq!(read(&format!("{{\n {metadata}\n}}")).0, name);
        }
    }
}
