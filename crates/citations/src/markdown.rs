//! Reads the links, anchors and unchecked parts of Markdown, and the pieces of a text. Does no I/O.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Comment that excludes its line, or the block after it, from checks.
const IGNORE_MARK: &str = "<!-- codeinfo: ignore -->";
/// Comment that excludes the whole document from checks.
const IGNORE_ALL_MARK: &str = "<!-- codeinfo: ignore all -->";

#[derive(Debug, Default)]
pub(super) struct MarkdownPage {
    /// Links in the order of the text.
    pub(super) links: Vec<MarkdownLink>,
    /// Fragments that can follow `#` in a link to the document.
    pub(super) anchors: HashSet<String>,
    /// Ranges of code blocks and excluded parts, in order and without overlap.
    excluded: Vec<Range<usize>>,
}

/// A link, an image or the definition of one.
#[derive(Debug)]
pub(super) struct MarkdownLink {
    pub(super) range: Range<usize>,
    /// Target without escapes.
    pub(super) target: String,
}

impl MarkdownPage {
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut headings = HeadingAnchors::default();
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_GFM
            | Options::ENABLE_HEADING_ATTRIBUTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            headings.process_event(&event, &mut page.anchors);
            match event {
                Event::Start(Tag::CodeBlock(_)) => page.excluded.push(range),
                Event::Start(Tag::Link { link_type: LinkType::Email, .. }) => {}
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(MarkdownLink { range, target: dest_url.into_string() });
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    page.add_html_attributes(&html, &range);
                }
                _ => {}
            }
        }
        let marked = page.find_ignored_ranges(text);
        page.excluded = merge_ranges(page.excluded, marked);
        page
    }

    pub(super) fn is_excluded(&self, at: usize) -> bool {
        let next = self.excluded.partition_point(|range| range.end <= at);
        self.excluded.get(next).is_some_and(|range| range.contains(&at))
    }

    /// Adds the links and the anchors of HTML tags.
    fn add_html_attributes(&mut self, html: &str, range: &Range<usize>) {
        for (name, is_link) in [("href", true), ("src", true), ("id", false), ("name", false)] {
            for (at, _) in html.match_indices(&format!(" {name}=\"")) {
                let rest = html.get(at + name.len() + 3..).unwrap_or_default();
                let value = rest.split('"').next().unwrap_or_default().to_owned();
                if is_link {
                    let start = range.start + at + 1;
                    self.links.push(MarkdownLink { range: start..range.end, target: value });
                } else {
                    self.anchors.insert(value);
                }
            }
        }
    }

    /// Returns the lines with the mark. If a line has nothing else, the block after it is included.
    fn find_ignored_ranges(&self, text: &str) -> Vec<Range<usize>> {
        if self.is_marked(text, IGNORE_ALL_MARK) {
            return std::iter::once(0..text.len()).collect();
        }
        let mut marked: Vec<Range<usize>> = Vec::new();
        for (at, _) in text.match_indices(IGNORE_MARK) {
            let is_marked = marked.last().is_some_and(|last| at < last.end);
            if is_marked || self.is_excluded(at) {
                continue;
            }
            let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
            let rest = text.get(start..).unwrap_or_default();
            let mut lines = rest.split_inclusive('\n');
            let mut end = start + lines.next().map_or(0, str::len);
            if text.get(start..end).is_some_and(|line| line.trim() == IGNORE_MARK) {
                let mut block = lines.skip_while(|line| {
                    let is_blank = line.trim().is_empty();
                    end += if is_blank { line.len() } else { 0 };
                    is_blank
                });
                end += block
                    .by_ref()
                    .take_while(|line| !line.trim().is_empty())
                    .map(str::len)
                    .sum::<usize>();
            }
            marked.push(start..end);
        }
        marked
    }

    fn is_marked(&self, text: &str, mark: &str) -> bool {
        let mut marks = text.match_indices(mark);
        marks.any(|(at, _)| {
            !self.is_excluded(at) && !text.get(..at).unwrap_or_default().ends_with('`')
        })
    }
}

/// Returns the ranges in order, with touching ones merged.
fn merge_ranges(mut ranges: Vec<Range<usize>>, more: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.extend(more);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Builds the anchors of headings as GitHub does.
#[derive(Debug, Default)]
struct HeadingAnchors {
    /// Text of the heading being read.
    title: Option<String>,
    /// Number of headings per anchor.
    counts: HashMap<String, u32>,
}

impl HeadingAnchors {
    fn process_event(&mut self, event: &Event<'_>, anchors: &mut HashSet<String>) {
        match (event, &mut self.title) {
            (Event::Start(Tag::Heading { id, .. }), _) => {
                self.title = Some(String::new());
                anchors.extend(id.as_ref().map(ToString::to_string));
            }
            (Event::Text(text) | Event::Code(text), Some(title)) => title.push_str(text),
            (Event::SoftBreak | Event::HardBreak, Some(title)) => title.push(' '),
            (Event::End(TagEnd::Heading(_)), title) => {
                let Some(title) = title.take() else { return };
                let anchor = make_heading_anchor(&title);
                let count = self.counts.entry(anchor.clone()).or_default();
                *count += 1;
                anchors.insert(match *count {
                    1 => anchor,
                    several => format!("{anchor}-{}", several - 1),
                });
            }
            _ => {}
        }
    }
}

fn make_heading_anchor(title: &str) -> String {
    let lower = title.trim().to_lowercase().replace(' ', "-");
    lower.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkdownPieceKind {
    Prose,
    /// Text between backticks.
    Code,
    Fenced,
}

/// A run of text within one line, without backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkdownPiece {
    pub(super) range: Range<usize>,
    pub(super) kind: MarkdownPieceKind,
    /// Number of backticks on either side.
    pub(super) ticks: usize,
}

/// The pieces of a text, found in linear time.
#[derive(Debug, Default)]
pub(super) struct MarkdownPieces {
    /// Non-empty pieces in order.
    pub(super) pieces: Vec<MarkdownPiece>,
    /// Start offsets of paragraphs, list items, headings and table rows, in order.
    pub(super) blocks: Vec<usize>,
}

impl MarkdownPieces {
    pub(super) fn parse(text: &str) -> Self {
        let mut parsed = Self::default();
        let mut at = 0;
        let mut fence = None;
        let mut was_blank = true;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']);
            let mark = fence_mark(content);
            let starts = was_blank || starts_block(content) || mark.is_some();
            if starts {
                parsed.blocks.push(at);
            }
            was_blank = content.trim().is_empty() || mark.is_some() || content.starts_with('#');
            match (fence, mark) {
                (None, Some(opening)) => fence = Some(opening),
                (Some(opening), Some(closing)) if closes_fence(content, opening, closing) => {
                    fence = None;
                }
                (Some(_), _) => parsed.push(at..at + content.len(), MarkdownPieceKind::Fenced, 0),
                (None, None) => parsed.push_line(content, at),
            }
            at += line.len();
        }
        parsed
    }

    /// Returns the pieces of prose and code that overlap a range.
    pub(super) fn pieces_within(
        &self,
        range: &Range<usize>,
    ) -> impl Iterator<Item = &MarkdownPiece> {
        let first = self.pieces.partition_point(|piece| piece.range.end <= range.start);
        let end = range.end;
        let meeting =
            self.pieces.iter().skip(first).take_while(move |piece| piece.range.start < end);
        meeting.filter(|piece| piece.kind != MarkdownPieceKind::Fenced)
    }

    fn push(&mut self, range: Range<usize>, kind: MarkdownPieceKind, ticks: usize) {
        if !range.is_empty() {
            self.pieces.push(MarkdownPiece { range, kind, ticks });
        }
    }

    fn push_line(&mut self, line: &str, start: usize) {
        let runs = tick_runs(line);
        let closing = closing_runs(&runs);
        let (mut done, mut next) = (0, 0);
        while let (Some(run), Some(close)) = (runs.get(next), closing.get(next)) {
            let Some((close_at, close_run)) = close.and_then(|at| Some((at, runs.get(at)?))) else {
                next += 1;
                continue;
            };
            self.push(start + done..start + run.start, MarkdownPieceKind::Prose, 0);
            self.push(start + run.end..start + close_run.start, MarkdownPieceKind::Code, run.len());
            done = close_run.end;
            next = close_at + 1;
        }
        self.push(start + done..start + line.len(), MarkdownPieceKind::Prose, 0);
    }
}

fn tick_runs(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Returns for each run the index of the next one of the same length.
fn closing_runs(runs: &[Range<usize>]) -> Vec<Option<usize>> {
    let mut later = HashMap::new();
    let mut closing: Vec<Option<usize>> =
        runs.iter().enumerate().rev().map(|(at, run)| later.insert(run.len(), at)).collect();
    closing.reverse();
    closing
}

/// Returns the character and the length of the fence that a line opens or closes.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let content = line.trim_start();
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = content.chars().take_while(|c| *c == mark).count();
    let info = content.get(length..)?;
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

fn closes_fence(line: &str, opening: (char, usize), closing: (char, usize)) -> bool {
    opening.0 == closing.0 && closing.1 >= opening.1 && line.trim().len() == closing.1
}

/// Returns whether a line starts a block without a blank line before it.
fn starts_block(line: &str) -> bool {
    let content = line.trim_start();
    let after_number = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < content.len()
        && (after_number.starts_with(". ") || after_number.starts_with(") "));
    let is_item = ["- ", "* ", "+ "].iter().any(|mark| content.starts_with(mark)) || is_numbered;
    is_item || content.starts_with(['#', '|', '>']) || content.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_anchors_and_marks_are_read() {
        let text = "\
# One `two`: *three*, [four](a.md)!
## Again
Title é
-------
## Again
## Own {#mine}
<a id=\"own\"></a> <img src=\"b.png\"> ![c](<c d.png> \"title\") [e][] <https://x.example>

[e]: e.md#x

```md
[no](no.md)
```

[f](f.md) <!-- codeinfo: ignore --> and [g](g.md)

<!-- codeinfo: ignore -->

| [h](h.md) |
|---|
| [i](i.md) |

[j](j.md)
";
        let page = MarkdownPage::parse(text);
        let all = page.links.iter();
        let checked = all.filter(|link| !page.is_excluded(link.range.start));
        let mut targets: Vec<&str> = checked.map(|link| link.target.as_str()).collect();
        targets.sort_unstable();
        let expected = ["a.md", "b.png", "c d.png", "e.md#x", "https://x.example", "j.md"];
        assert_eq!(targets, expected);
        let mut anchors: Vec<&String> = page.anchors.iter().collect();
        anchors.sort();
        assert_eq!(anchors, ["again", "again-1", "mine", "one-two-three-four", "own", "title-é"]);
        // Takes linear time.
        assert!(
            MarkdownPage::parse(&"<!-- codeinfo: ignore -->\n".repeat(40_000))
                .is_excluded(1_000_000)
        );
        assert!(MarkdownPage::parse("a\n<!-- codeinfo: ignore all -->\n[f](f.md)").is_excluded(0));
        assert!(!MarkdownPage::parse("`<!-- codeinfo: ignore all -->`").is_excluded(0));
    }
}
