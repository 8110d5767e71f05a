//! Finds the links, the anchors and the unchecked parts of a Markdown document. Does no I/O.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Comment that excludes its line, or the block after it, from checks.
const IGNORE: &str = "<!-- codeinfo: ignore -->";
/// Comment that excludes the whole document from checks.
const IGNORE_ALL: &str = "<!-- codeinfo: ignore all -->";

#[derive(Debug, Default)]
pub(super) struct MarkdownPage {
    /// Links in the order of the text.
    pub(super) links: Vec<MarkdownLink>,
    /// Fragments that can follow `#` in a link to the document.
    pub(super) anchors: HashSet<String>,
    /// Ranges of code blocks and excluded parts, in order and without overlap.
    left_out: Vec<Range<usize>>,
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
                Event::Start(Tag::CodeBlock(_)) => page.left_out.push(range),
                Event::Start(Tag::Link { link_type: LinkType::Email, .. }) => {}
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(MarkdownLink { range, target: dest_url.into_string() });
                }
                Event::Html(html) | Event::InlineHtml(html) => page.take_html(&html, &range),
                _ => {}
            }
        }
        let marked = page.find_ignored_ranges(text);
        page.left_out = merge_ranges(page.left_out, marked);
        page
    }

    /// Returns whether a position is excluded from checks.
    pub(super) fn leaves_out(&self, at: usize) -> bool {
        let next = self.left_out.partition_point(|range| range.end <= at);
        self.left_out.get(next).is_some_and(|range| range.contains(&at))
    }

    /// Adds the links and the anchors of HTML tags.
    fn take_html(&mut self, html: &str, range: &Range<usize>) {
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
        if self.is_marked(text, IGNORE_ALL) {
            return std::iter::once(0..text.len()).collect();
        }
        let mut marked: Vec<Range<usize>> = Vec::new();
        for (at, _) in text.match_indices(IGNORE) {
            let is_marked = marked.last().is_some_and(|last| at < last.end);
            if is_marked || self.leaves_out(at) {
                continue;
            }
            let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
            let rest = text.get(start..).unwrap_or_default();
            let mut lines = rest.split_inclusive('\n');
            let mut end = start + lines.next().map_or(0, str::len);
            if text.get(start..end).is_some_and(|line| line.trim() == IGNORE) {
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

    /// Returns whether a text has a mark outside of code.
    fn is_marked(&self, text: &str, mark: &str) -> bool {
        let mut marks = text.match_indices(mark);
        marks.any(|(at, _)| {
            !self.leaves_out(at) && !text.get(..at).unwrap_or_default().ends_with('`')
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
    made: HashMap<String, u32>,
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
                let count = self.made.entry(anchor.clone()).or_default();
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
        let checked = all.filter(|link| !page.leaves_out(link.range.start));
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
                .leaves_out(1_000_000)
        );
        assert!(MarkdownPage::parse("a\n<!-- codeinfo: ignore all -->\n[f](f.md)").leaves_out(0));
        assert!(!MarkdownPage::parse("`<!-- codeinfo: ignore all -->`").leaves_out(0));
    }
}
