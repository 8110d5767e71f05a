//! Prints pages of the documents, which are built into the program.

use std::path::Path;

use super::{CliError, print};
use crate::documents::{PAGES, find_document, find_title};

/// Prints a page as Markdown, or the names and titles of all pages.
///
/// # Errors
///
/// The name is unknown, or standard output cannot be written.
pub fn print_docs(name: Option<&str>) -> Result<(), CliError> {
    let Some(name) = name else {
        let rows = PAGES.map(|(name, text)| [name.to_owned(), find_title(text).to_owned()]);
        return print::align_columns(&rows).iter().try_for_each(|row| print::print_line(row));
    };
    // Also accepts the name of the file, as in links between pages.
    let stem = Path::new(name).file_stem().unwrap_or_default();
    match stem.to_str().and_then(find_document) {
        Some(text) => print::print_line(text.trim_end()),
        None => Err(CliError::Usage(format!(
            "there is no page `{}`; `codeinfo docs` lists the pages",
            print::single_line(name)
        ))),
    }
}
