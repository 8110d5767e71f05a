//! Reads lines of a file for display: with highlight marks and the web address of the file.

use codeinfo_chunk::{HighlightMark, highlight_lines};
use codeinfo_core::RootFilter;
use codeinfo_lang::detect;

use super::{
    Evidence, EvidenceError,
    forge::{FilePermalink, ForgeCommit},
    lines::{FileLines, IndexedFileState, LoadedFile, RequestedLines},
};

/// Maximum lines of one reply, and their default number.
const MAX_LINES: u32 = 2000;
/// Maximum bytes of a file that is highlighted.
const MAX_MARKED_BYTES: usize = 1 << 20;
/// Maximum bytes of a line; longer ones are cut.
const MAX_LINE_BYTES: usize = 10_000;

/// Lines for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightedSource {
    /// The lines.
    pub lines: FileLines,
    /// Highlight marks of each line, in the same order.
    pub marks: Vec<Vec<HighlightMark>>,
    /// Lower-case name of the language.
    pub language: Option<&'static str>,
    /// True if the file exists at its path: false for files of a commit and deleted ones.
    pub on_disk: bool,
    /// Web address of the file in the checked-out commit.
    pub permalink: Option<FilePermalink>,
}

impl Evidence {
    /// Reads lines of a file for display. Bounds outside the file are clamped.
    pub async fn read_highlighted_source(
        &self,
        path: &str,
        RequestedLines { first, last }: RequestedLines,
        within: RootFilter,
    ) -> Result<HighlightedSource, EvidenceError> {
        let default_last = first.unwrap_or(1).saturating_add(MAX_LINES - 1);
        let asked = RequestedLines { first, last: last.or(Some(default_last)) };
        let whole = self.load_file(path, asked, MAX_LINES, within).await?;
        self.run_blocking(move || highlight_loaded_file(whole)).await
    }
}

fn highlight_loaded_file(LoadedFile { mut lines, text, root }: LoadedFile) -> HighlightedSource {
    let language = detect::detect_language(&lines.file.rel_path, &text);
    let ends = lines.lines.first().zip(lines.lines.last());
    let range = ends.map_or(0..0, |((first, _), (last, _))| *first as usize - 1..*last as usize);
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
