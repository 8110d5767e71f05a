//! Lines of a file as people look at them: with what is a keyword, a string or a comment, and where the file is on
//! the web.

use codeinfo_chunk::{Mark, highlight};
use codeinfo_core::Within;
use codeinfo_lang::detect;

use super::{
    Evidence, EvidenceError,
    forge::{Forge, Permalink},
    lines::{Asked, FileLines, State, Whole},
};

/// The most lines of one reply, and how many there are unless a last one is named.
const MAX_LINES: u32 = 2000;
/// In larger files nothing is marked.
const MAX_MARKED_BYTES: usize = 1 << 20;
/// Of longer lines the start is shown.
const MAX_LINE_BYTES: usize = 10_000;

/// Lines to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The lines.
    pub lines: FileLines,
    /// What is marked in each of them, in their order.
    pub marks: Vec<Vec<Mark>>,
    /// Lower-case name of the language.
    pub language: Option<&'static str>,
    /// Whether there is a file at its path: not one of a commit, nor one that is gone.
    pub on_disk: bool,
    /// Where the file is on the web, in the commit that is checked out.
    pub permalink: Option<Permalink>,
}

impl Evidence {
    /// Reads lines of a file to look at. Bounds that the file does not have are moved into it.
    pub async fn source(
        &self,
        path: &str,
        Asked { first, last }: Asked,
        within: Within,
    ) -> Result<Source, EvidenceError> {
        let last = last.or(Some(first.unwrap_or(1).saturating_add(MAX_LINES - 1)));
        let whole = self.whole(path, (Asked { first, last }, MAX_LINES), within).await?;
        self.blocking(move || look(whole)).await
    }
}

fn look(Whole { mut lines, text, root }: Whole) -> Source {
    let language = detect::language(&lines.file.rel_path, &text);
    let range = lines.lines.first().zip(lines.lines.last());
    let range = range.map_or(0..0, |((first, _), (last, _))| *first as usize - 1..*last as usize);
    let mut marks = Vec::new();
    if text.len() <= MAX_MARKED_BYTES {
        marks = highlight(language, &text, range);
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
    let permalink = Forge::of(&root).and_then(|forge| forge.permalink(&lines.file.rel_path));
    let on_disk = root.folder().is_some() && lines.state != State::Gone;
    Source { lines, marks, language: language.map(|language| language.name), on_disk, permalink }
}
