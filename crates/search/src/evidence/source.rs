//! Lines of a file as people look at them: with what is a keyword, a string or a comment, and where the file is on
//! the web.

use codeinfo_chunk::{HighlightMark, highlight_lines};
use codeinfo_core::RootFilter;
use codeinfo_lang::detect;

use super::{
    Evidence, EvidenceError,
    forge::{FilePermalink, ForgeCommit},
    lines::{FileLines, IndexedFileState, LoadedFile, RequestedLines},
};

/// The most lines of one reply, and how many there are unless a last one is named.
const MAX_LINES: u32 = 2000;
/// In larger files nothing is marked.
const MAX_MARKED_BYTES: usize = 1 << 20;
/// Of longer lines the start is shown.
const MAX_LINE_BYTES: usize = 10_000;

/// Lines to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightedSource {
    /// The lines.
    pub lines: FileLines,
    /// What is marked in each of them, in their order.
    pub marks: Vec<Vec<HighlightMark>>,
    /// Lower-case name of the language.
    pub language: Option<&'static str>,
    /// Whether there is a file at its path: not one of a commit, nor one that is gone.
    pub on_disk: bool,
    /// Where the file is on the web, in the commit that is checked out.
    pub permalink: Option<FilePermalink>,
}

impl Evidence {
    /// Reads lines of a file to look at. Bounds that the file does not have are moved into it.
    pub async fn read_highlighted_source(
        &self,
        path: &str,
        RequestedLines { first, last }: RequestedLines,
        within: RootFilter,
    ) -> Result<HighlightedSource, EvidenceError> {
        let last = last.or(Some(first.unwrap_or(1).saturating_add(MAX_LINES - 1)));
        let whole =
            self.load_file(path, (RequestedLines { first, last }, MAX_LINES), within).await?;
        self.run_blocking(move || highlight_loaded_file(whole)).await
    }
}

fn highlight_loaded_file(LoadedFile { mut lines, text, root }: LoadedFile) -> HighlightedSource {
    let language = detect::detect_language(&lines.file.rel_path, &text);
    let range = lines.lines.first().zip(lines.lines.last());
    let range = range.map_or(0..0, |((first, _), (last, _))| *first as usize - 1..*last as usize);
    let mut marks = Vec::new();
    if text.len() <= MAX_MARKED_BYTES {
        marks = highlight_lines(language, &text, range);
    }
    marks.resize(lines.lines.len(), Vec::new());
    for ((_, line), marks) in lines.lines.iter_mut().zip(&mut marks) {
        if MAX_LINE_BYTES < line.len() {
            line.truncate(line.floor_char_boundary(MAX_LINE_BYTES));
            let units = line.encode_utf16().count();
            marks.retain(|mark| mark.end as usize <= units);
            line.push('…');
        }
    }
    let permalink =
        ForgeCommit::from_root(&root).and_then(|forge| forge.build_permalink(&lines.file.rel_path));
    let on_disk = root.local_folder().is_some() && lines.state != IndexedFileState::Gone;
    HighlightedSource {
        lines,
        marks,
        language: language.map(|language| language.name),
        on_disk,
        permalink,
    }
}
