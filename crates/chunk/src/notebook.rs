//! Reads the code of a notebook, with its line numbers unchanged.
//!
//! A notebook is JSON in which each line of a cell is a string on its own line, as notebook
//! programs write it.

use codeinfo_lang::{Language, detect, languages::python::PYTHON};

use super::lines::LineIndex;

/// Maximum lines at the end of a notebook that are searched for its language.
const MAX_METADATA_LINES: usize = 200;

/// Returns the language of the code and the code itself, with all other lines blank.
pub(super) fn read_code(lines: &LineIndex<'_>) -> (&'static Language, String) {
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

/// Returns the value of the member `name`.
fn read_member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Decodes a JSON string without its line end. Commands to the notebook itself become an empty
/// string.
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
        let (language, code) = read_code(&LineIndex::new(text));
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
