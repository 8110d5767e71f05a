//! Writes what a model said as HTML: its Markdown, and in a final answer the places that it cites as links with
//! what became of them. Pure.
//!
//! Nothing of the text becomes a tag: HTML in it is shown as it stands, links lead to the web alone, and an
//! image is a link, so that showing an answer asks nobody for anything.

mod found;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, ops::Range};

use codeinfo_chunk::{Mark, highlight};
use codeinfo_lang::detect;
use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};
use url::form_urlencoded::Serializer;

use super::{Checked, Citation, parse, pieces::Pieces};

pub use self::found::found_html;

/// Schemes that links may have. A path of a repository is a citation, or leads nowhere.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];
/// Headings of an answer stand below those of a page.
const DEEPER: usize = 2;
/// Longer words after a fence are no language.
const MAX_LANGUAGE_BYTES: usize = 40;
/// So much code of one text is marked.
const MAX_MARKED_BYTES: usize = 256 << 10;
/// A text whose tags take more than so many times its bytes is shown as it stands: quotes within quotes would make
/// hundreds of tags of each line.
const MOST_TIMES: usize = 4;
/// About how long a tag is, and how much of them any text may have.
const TAG_BYTES: usize = 12;
const MAX_TAGS: usize = 16 << 10;
/// Where the link of a citation ends that has the place of one which is written as such: with it.
const WHOLE: usize = usize::MAX;

/// Writes a text without links to places, such as what a model thought.
pub fn html(text: &str) -> String {
    written(text, VecDeque::new())
}

/// Writes a final answer, whose `citations` were checked, with a link for each of them that is found in it.
pub fn cited_html(text: &str, citations: &[Checked]) -> String {
    let found = parse::found_in(text, &Pieces::of(text), super::MAX_FOUND);
    written(text, placed(found, citations))
}

/// A citation in a text: its bytes, and the tag that begins its link.
struct Link {
    range: Range<usize>,
    tag: String,
}

/// Finds the citations that were checked among those of a text, in its order. What was struck out since moved
/// those that follow.
fn placed(found: Vec<Citation>, checked: &[Checked]) -> VecDeque<Link> {
    let mut rest = checked;
    let place = |citation: Citation| {
        let at = rest.iter().position(|one| is_of(one, &citation))?;
        let one = rest.get(at)?;
        rest = rest.get(at + 1..).unwrap_or_default();
        Some(Link { range: citation.range, tag: anchor(one) })
    };
    found.into_iter().filter_map(place).collect()
}

/// Whether a citation was checked as that one: it has the same lines, and its path the same end.
fn is_of(checked: &Checked, citation: &Citation) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let written = citation.path.trim_start_matches("./");
    let below_root = checked.rel_path.as_deref();
    checked.lines == citation.lines
        && (ends(&checked.path, written)
            || below_root.is_some_and(|path| ends(written, path) || ends(path, written)))
}

/// Returns the tag of a link to what a citation means: to where it moved, if it did.
fn anchor(one: &Checked) -> String {
    let state = one.state.as_str();
    let ranges = if one.moved_to.is_empty() { &one.lines } else { &one.moved_to };
    let mut tag = format!("<a class=\"cite\" data-state=\"{state}\"");
    let mut add = |name: &str, value: &str| {
        tag.extend([" ", name, "=\"", &escaped(value), "\""]);
    };
    add("data-path", &one.path);
    let mut query = Serializer::new(String::new());
    query.append_pair("path", &one.path);
    if let Some(lines) = ranges.first() {
        let (first, last) = (lines.first.to_string(), lines.last.to_string());
        add("data-first", &first);
        add("data-last", &last);
        query.append_pair("first", &first).append_pair("last", &last);
    }
    if ranges.len() > 1 {
        let all = ranges.iter().map(|lines| format!("{}-{}", lines.first, lines.last));
        let all = all.collect::<Vec<_>>().join(",");
        add("data-ranges", &all);
        query.append_pair("ranges", &all);
    }
    // Without a repository there is nothing to open.
    if let Some(repo) = &one.repo {
        add("data-repo", repo);
        add("href", &format!("#/source?{}", query.finish()));
    }
    tag.push('>');
    tag
}

fn written(text: &str, links: VecDeque<Link>) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::new(text, links);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        writer.take(event, range);
        if text.len() + MAX_TAGS < writer.events.len() * TAG_BYTES / MOST_TIMES {
            return format!("<pre><code>{}</code></pre>\n", escaped(text));
        }
    }
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    html::push_html(&mut out, writer.events.into_iter());
    out
}

/// Which link of the text is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    /// One that is written as such.
    Link,
    /// One that leads nowhere, or whose place a citation has.
    Plain,
}

struct Writer<'a> {
    text: &'a str,
    /// In order of the text, and apart.
    links: VecDeque<Link>,
    /// Where the link of a citation that has begun ends.
    open: Option<usize>,
    around: Around,
    /// For each image that is around, whether it is written as a link.
    images: Vec<bool>,
    is_struck_out: bool,
    /// The language and the text of the block of code that is open.
    block: Option<(String, String)>,
    /// How many bytes of code may still be marked.
    may_mark: usize,
    events: Vec<Event<'a>>,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, links: VecDeque<Link>) -> Self {
        let (open, around, images, is_struck_out) = (None, Around::Nothing, Vec::new(), false);
        let (block, may_mark, events) = (None, MAX_MARKED_BYTES, Vec::new());
        Self { text, links, open, around, images, is_struck_out, block, may_mark, events }
    }

    fn take(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Text(text) => match &mut self.block {
                Some((_, code)) => code.push_str(&text),
                None => self.text(text, range),
            },
            Event::Code(_) => self.leaf(event, &range),
            Event::Html(html) | Event::InlineHtml(html) => self.tag(html, &range),
            Event::Start(Tag::Link { dest_url, .. }) => self.start_link(&dest_url, &range),
            Event::End(TagEnd::Link) => self.end_link(),
            Event::Start(Tag::Image { dest_url, .. }) => {
                let is_link = self.around == Around::Nothing;
                self.images.push(is_link);
                if is_link {
                    self.start_link(&dest_url, &range);
                }
            }
            Event::End(TagEnd::Image) => {
                if self.images.pop() == Some(true) {
                    self.end_link();
                }
            }
            // Shown as they stand, as paragraphs.
            Event::Start(Tag::HtmlBlock) => self.events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => self.end(TagEnd::Paragraph),
            Event::Start(Tag::CodeBlock(kind)) => {
                self.close_around_a_place();
                let word = match &kind {
                    CodeBlockKind::Fenced(info) => language(info),
                    CodeBlockKind::Indented => String::new(),
                };
                let kind = CodeBlockKind::Fenced(word.clone().into());
                self.events.push(Event::Start(Tag::CodeBlock(kind)));
                self.block = Some((word, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let (word, code) = self.block.take().unwrap_or_default();
                let code = if code.len() <= self.may_mark {
                    self.may_mark -= code.len();
                    marked(&word, &code)
                } else {
                    escaped(&code)
                };
                self.events.push(Event::Html(code.into()));
                self.events.push(Event::End(TagEnd::CodeBlock));
            }
            Event::Start(tag) => {
                self.close_around_a_place();
                self.events.push(Event::Start(plain(tag)));
            }
            Event::End(TagEnd::Heading(level)) => self.end(TagEnd::Heading(deeper(level))),
            Event::End(end) => self.end(end),
            Event::SoftBreak | Event::HardBreak | Event::Rule | Event::TaskListMarker(_) => {
                self.events.push(event);
            }
            // Not asked for above.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        self.close_around_a_place();
        if !matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) {
            self.strike_out(false);
        }
        self.events.push(Event::End(end));
    }

    /// Takes a piece of text, which may hold citations.
    fn text(&mut self, text: CowStr<'a>, range: Range<usize>) {
        // What does not stand in the source as it is, such as an entity, is not cut.
        if self.text.get(range.clone()) != Some(&*text) {
            self.leaf(Event::Text(text), &range);
            return;
        }
        let mut at = range.start;
        while at < range.end {
            let first = self.links.front().map(|link| link.range.start);
            let next = self.open.or(first).unwrap_or(range.end);
            let until = next.clamp(at, range.end);
            if let Some(piece) = self.text.get(at..until).filter(|piece| !piece.is_empty()) {
                self.events.push(Event::Text(piece.into()));
            }
            at = until;
            if self.open.is_some_and(|end| end <= at) {
                self.close();
            } else if self.open.is_none() && at < range.end {
                self.begin(at..at + 1);
            }
        }
        if self.open.is_some_and(|end| end <= at) {
            self.close();
        }
    }

    /// Takes what is not cut: with a link around it, if one begins in it.
    fn leaf(&mut self, event: Event<'a>, range: &Range<usize>) {
        if self.open.is_none() {
            self.begin(range.clone());
        }
        self.events.push(event);
        if self.open.is_some_and(|end| end <= range.end) {
            self.close();
        }
    }

    /// Begins the link of the next citation that begins before the end of `range` and ends in or after it.
    /// Those that were passed are left out.
    fn begin(&mut self, range: Range<usize>) {
        while let Some(link) = self.links.pop_front_if(|link| link.range.start < range.end) {
            if self.around == Around::Nothing && range.start < link.range.end {
                self.events.push(Event::InlineHtml(link.tag.into()));
                self.open = Some(link.range.end);
                break;
            }
        }
    }

    /// Ends a link before a tag that may end after it. What is written as a link has its tags within.
    fn close_around_a_place(&mut self) {
        if self.open != Some(WHOLE) {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.events.push(Event::InlineHtml("</a>".into()));
        }
    }

    /// Shows a tag as it stands, but for those by which wrong citations are struck out beside a tilde.
    fn tag(&mut self, html: CowStr<'a>, range: &Range<usize>) {
        match &*html {
            "<del>" => self.strike_out(true),
            "</del>" => self.strike_out(false),
            _ => self.leaf(Event::Text(html), range),
        }
    }

    fn strike_out(&mut self, begins: bool) {
        if self.is_struck_out != begins {
            self.close();
            self.is_struck_out = begins;
            self.events.push(if begins {
                Event::Start(Tag::Strikethrough)
            } else {
                Event::End(TagEnd::Strikethrough)
            });
        }
    }

    fn start_link(&mut self, target: &str, range: &Range<usize>) {
        self.close();
        let has = |scheme: &str| {
            target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if SCHEMES.into_iter().any(has) {
            let href = escaped(target);
            let rel = "rel=\"noopener noreferrer nofollow\" target=\"_blank\"";
            self.events.push(Event::InlineHtml(format!("<a href=\"{href}\" {rel}>").into()));
            self.around = Around::Link;
            return;
        }
        self.begin(range.clone());
        if self.open.is_some() {
            // All of its text, which may be another than the place.
            self.open = Some(WHOLE);
        }
        self.around = Around::Plain;
    }

    fn end_link(&mut self) {
        if self.around == Around::Link {
            self.events.push(Event::InlineHtml("</a>".into()));
        }
        self.close();
        self.around = Around::Nothing;
    }
}

/// Takes from a tag what would be an attribute that a page has no use for.
fn plain(tag: Tag<'_>) -> Tag<'_> {
    match tag {
        Tag::Heading { level, .. } => {
            Tag::Heading { level: deeper(level), id: None, classes: vec![], attrs: vec![] }
        }
        // Would be written as styles, which the page does not take from texts.
        Tag::Table(columns) => Tag::Table(vec![Alignment::None; columns.len()]),
        tag => tag,
    }
}

/// Writes the code of a block, its parts in spans of the classes that lines of files have.
fn marked(word: &str, code: &str) -> String {
    let language = detect::named(word).or_else(|| detect::language(&format!("a.{word}"), ""));
    let language = language.filter(|_| !word.is_empty());
    let lines = code.split_inclusive('\n');
    let marks = highlight(language, code, 0..lines.clone().count());
    lines.zip(marks).map(|(line, marks)| spans(line, marks)).collect()
}

/// Writes a line of code with its marks.
fn spans(line: &str, marks: Vec<Mark>) -> String {
    let mut marks = marks.into_iter().peekable();
    let mut out = String::with_capacity(line.len() * 2);
    let mut units = 0;
    for c in line.chars() {
        if let Some(mark) = marks.peek().filter(|mark| mark.start == units) {
            out.extend(["<span class=\"m-", &mark.class.letter().to_string(), "\">"]);
        }
        out.push_str(&escaped(c.encode_utf8(&mut [0; 4])));
        units += u32::from(c.len_utf16() == 2) + 1;
        if marks.next_if(|mark| mark.end <= units).is_some() {
            out.push_str("</span>");
        }
    }
    out
}

/// Returns the language that a fence names; nothing if it is not a plain word.
fn language(info: &str) -> String {
    let word = info.split([',', ' ', '\t', '{']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-#_.".contains(c);
    if word.len() <= MAX_LANGUAGE_BYTES && word.chars().all(is_plain) {
        word.to_lowercase()
    } else {
        String::new()
    }
}

fn deeper(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + DEEPER).unwrap_or(HeadingLevel::H6)
}

/// Writes what stands between the quotation marks of an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
