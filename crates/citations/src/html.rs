//! Renders the Markdown of a model as HTML, with links for checked citations. Does no I/O.
//!
//! No part of the text becomes a tag: HTML in it is displayed as text, links lead only to the web,
//! and an image becomes a link. Displaying an answer therefore sends no request.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, iter, ops::Range};

use codeinfo_chunk::{HighlightMark, highlight_lines};
use codeinfo_lang::{Language, detect};
use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};
use url::form_urlencoded::{self, Serializer};

use super::{CheckedCitation, Citation, markdown::MarkdownPieces, parse};

/// Schemes allowed in links. A path of a repository is a citation or no link.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];
/// Levels by which headings of an answer are lowered, below those of the page.
const HEADING_OFFSET: usize = 2;
/// Maximum bytes of a language name after a fence.
const MAX_LANGUAGE_BYTES: usize = 40;
/// Maximum bytes of code highlighted in one text.
const MAX_HIGHLIGHTED_BYTES: usize = 256 << 10;
/// Maximum size of the tags as a multiple of the text; a text with more is displayed as plain text.
/// Nested quotes would make hundreds of tags per line.
const MAX_TAG_FACTOR: usize = 4;
/// Approximate bytes of a tag, and bytes of tags allowed in any text.
const TAG_BYTES: usize = 12;
const MAX_TAGS: usize = 16 << 10;
/// End of the link of a citation inside a Markdown link: it ends with that link.
const UNTIL_LINK_END: usize = usize::MAX;

/// Renders a text without links to citations, such as the reasoning of a model.
pub fn render_html(text: &str) -> String {
    render_markdown(text, VecDeque::new())
}

/// Renders a final answer with a link for each of the checked `citations` that is found in it.
pub fn render_cited_html(text: &str, citations: &[CheckedCitation]) -> String {
    let found =
        parse::find_citations_in_pieces(text, &MarkdownPieces::parse(text), super::MAX_COUNTED);
    render_markdown(text, match_checked_citations(found, citations))
}

/// Renders lines such as `12|fn open() {` below a line that begins with the path of their file;
/// `None` for a text without numbered lines.
pub fn render_code_listing(text: &str) -> Option<String> {
    let mut listing =
        CodeListing { html: "<pre><code>".to_owned(), language: None, block: Vec::new() };
    let mut has_code = false;
    for line in text.lines() {
        if let Some(numbered) = split_line_number(line) {
            listing.block.push(numbered);
            has_code = true;
        } else {
            listing.end_block();
            listing.language =
                parse_listed_path(line).and_then(|path| detect::detect_language(path, ""));
            listing.html.extend([&escape_html(line), "\n"]);
        }
    }
    listing.end_block();
    listing.html.push_str("</code></pre>\n");
    has_code.then_some(listing.html)
}

/// A citation in a text: its byte range, and the start tag of its link.
struct CitationLink {
    range: Range<usize>,
    tag: String,
}

/// Matches the citations found in a text with the checked ones, in order; not by byte ranges,
/// because striking out moves the citations that follow.
fn match_checked_citations(
    found: Vec<Citation>,
    checked: &[CheckedCitation],
) -> VecDeque<CitationLink> {
    let mut rest = checked;
    let place = |citation: Citation| {
        let at = rest.iter().position(|checked| is_same_citation(checked, &citation))?;
        let checked = rest.get(at)?;
        rest = rest.get(at + 1..).unwrap_or_default();
        Some(CitationLink { range: citation.range, tag: build_link_tag(checked) })
    };
    found.into_iter().filter_map(place).collect()
}

/// Returns whether a citation and a checked one have the same lines and the same end of the path.
fn is_same_citation(checked: &CheckedCitation, citation: &Citation) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let written = citation.path.trim_start_matches("./");
    let below_root = checked.rel_path.as_deref();
    if checked.commit.is_some() || citation.commit.is_some() {
        return checked.lines == citation.lines && checked.path == citation.path;
    }
    checked.lines == citation.lines
        && (ends(&checked.path, written)
            || below_root.is_some_and(|path| ends(written, path) || ends(path, written)))
}

/// Returns the start tag of a link to the cited place, or to the place that it moved to.
fn build_link_tag(citation: &CheckedCitation) -> String {
    let state = citation.state.as_str();
    let ranges = if citation.moved_to.is_empty() { &citation.lines } else { &citation.moved_to };
    let mut tag = format!("<a class=\"cite\" data-state=\"{state}\"");
    let mut add = |name: &str, value: &str| {
        tag.extend([" ", name, "=\"", &escape_html(value), "\""]);
    };
    let mut query = Serializer::new(String::new());
    let path = match &citation.commit {
        None => Some(&citation.path),
        Some(commit) => {
            add("data-commit", &commit.id);
            citation.rel_path.as_ref()
        }
    };
    if let Some(path) = path {
        add("data-path", path);
        query.append_pair("path", path);
    }
    if let Some(lines) = ranges.first() {
        let (first, last) = (lines.first.to_string(), lines.last.to_string());
        add("data-first", &first);
        add("data-last", &last);
        query.append_pair("first", &first).append_pair("last", &last);
    }
    if ranges.len() > 1 {
        let written = ranges.iter().map(|lines| format!("{}-{}", lines.first, lines.last));
        let joined = written.collect::<Vec<_>>().join(",");
        add("data-ranges", &joined);
        query.append_pair("ranges", &joined);
    }
    // A citation without a repository cannot be opened.
    if let Some(repo) = &citation.repo {
        add("data-repo", repo);
        let page = match &citation.commit {
            None => "/source".to_owned(),
            Some(commit) => format!("/commit/{}/{}", encode_part(repo), commit.id),
        };
        let written = query.finish();
        let mark = if written.is_empty() { "" } else { "?" };
        add("href", &format!("#{page}{mark}{written}"));
    }
    tag.push('>');
    tag
}

/// Encodes a part of an address, as the page decodes it.
fn encode_part(part: &str) -> String {
    form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>().replace('+', "%20")
}

fn render_markdown(text: &str, links: VecDeque<CitationLink>) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = AnswerHtmlWriter::new(text, links);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        writer.write_event(event, range);
        if text.len() + MAX_TAGS < writer.events.len() * TAG_BYTES / MAX_TAG_FACTOR {
            return format!("<pre><code>{}</code></pre>\n", escape_html(text));
        }
    }
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    html::push_html(&mut out, writer.events.into_iter());
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenLinkKind {
    Nothing,
    Link,
    /// A link without a target, or replaced by that of a citation.
    Plain,
}

struct AnswerHtmlWriter<'a> {
    text: &'a str,
    /// Links in the order of the text, without overlap.
    links: VecDeque<CitationLink>,
    open: Option<usize>,
    enclosing_link: OpenLinkKind,
    /// For each enclosing image, whether it is rendered as a link.
    images: Vec<bool>,
    is_struck_out: bool,
    /// Language and text of the open code block.
    block: Option<(String, String)>,
    /// Bytes of code that may still be highlighted.
    unhighlighted_bytes: usize,
    events: Vec<Event<'a>>,
}

impl<'a> AnswerHtmlWriter<'a> {
    fn new(text: &'a str, links: VecDeque<CitationLink>) -> Self {
        Self {
            text,
            links,
            open: None,
            enclosing_link: OpenLinkKind::Nothing,
            images: Vec::new(),
            is_struck_out: false,
            block: None,
            unhighlighted_bytes: MAX_HIGHLIGHTED_BYTES,
            events: Vec::new(),
        }
    }

    fn write_event(&mut self, event: Event<'a>, range: Range<usize>) {
        match event {
            Event::Text(text) => match &mut self.block {
                Some((_, code)) => code.push_str(&text),
                None => self.write_text(text, range),
            },
            Event::Code(_) => self.write_leaf(event, &range),
            Event::Html(html) | Event::InlineHtml(html) => self.write_html_tag(html, &range),
            Event::Start(Tag::Link { dest_url, .. }) => self.start_link(&dest_url, &range),
            Event::End(TagEnd::Link) => self.end_link(),
            Event::Start(Tag::Image { dest_url, .. }) => {
                let is_link = self.enclosing_link == OpenLinkKind::Nothing;
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
            // HTML blocks are displayed as text in paragraphs.
            Event::Start(Tag::HtmlBlock) => self.events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => self.write_end_tag(TagEnd::Paragraph),
            Event::Start(Tag::CodeBlock(kind)) => {
                self.close_link_before_tag();
                let word = match &kind {
                    CodeBlockKind::Fenced(info) => parse_fence_language(info),
                    CodeBlockKind::Indented => String::new(),
                };
                let kind = CodeBlockKind::Fenced(word.clone().into());
                self.events.push(Event::Start(Tag::CodeBlock(kind)));
                self.block = Some((word, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let (word, code) = self.block.take().unwrap_or_default();
                let code = if code.len() <= self.unhighlighted_bytes {
                    self.unhighlighted_bytes -= code.len();
                    highlight_code(&word, &code)
                } else {
                    escape_html(&code)
                };
                self.events.push(Event::Html(code.into()));
                self.events.push(Event::End(TagEnd::CodeBlock));
            }
            Event::Start(tag) => {
                self.close_link_before_tag();
                self.events.push(Event::Start(strip_attributes(tag)));
            }
            Event::End(TagEnd::Heading(level)) => {
                self.write_end_tag(TagEnd::Heading(deepen_heading(level)));
            }
            Event::End(end) => self.write_end_tag(end),
            Event::SoftBreak | Event::HardBreak | Event::Rule | Event::TaskListMarker(_) => {
                self.events.push(event);
            }
            // These extensions are not enabled.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn write_end_tag(&mut self, end: TagEnd) {
        self.close_link_before_tag();
        if !matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) {
            self.strike_out(false);
        }
        self.events.push(Event::End(end));
    }

    fn write_text(&mut self, text: CowStr<'a>, range: Range<usize>) {
        // Text that differs from the source, such as an entity, is not split.
        if self.text.get(range.clone()) != Some(&*text) {
            self.write_leaf(Event::Text(text), &range);
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
                self.close_citation_link();
            } else if self.open.is_none() && at < range.end {
                self.open_citation_link(at..at + 1);
            }
        }
        if self.open.is_some_and(|end| end <= at) {
            self.close_citation_link();
        }
    }

    /// Writes an unsplit event, with a link around it if a citation begins in it.
    fn write_leaf(&mut self, event: Event<'a>, range: &Range<usize>) {
        if self.open.is_none() {
            self.open_citation_link(range.clone());
        }
        self.events.push(event);
        if self.open.is_some_and(|end| end <= range.end) {
            self.close_citation_link();
        }
    }

    /// Opens the link of the next citation that begins before the end of `range` and ends in or
    /// after it. Skips citations before it.
    fn open_citation_link(&mut self, range: Range<usize>) {
        while let Some(link) = self.links.pop_front_if(|link| link.range.start < range.end) {
            if self.enclosing_link == OpenLinkKind::Nothing && range.start < link.range.end {
                self.events.push(Event::InlineHtml(link.tag.into()));
                self.open = Some(link.range.end);
                break;
            }
        }
    }

    /// Closes a citation link before a tag that may end after it; a Markdown link stays open.
    fn close_link_before_tag(&mut self) {
        if self.open != Some(UNTIL_LINK_END) {
            self.close_citation_link();
        }
    }

    fn close_citation_link(&mut self) {
        if self.open.take().is_some() {
            self.events.push(Event::InlineHtml("</a>".into()));
        }
    }

    /// Writes a tag as text, except for `<del>`, which strikes out wrong citations next to a tilde.
    fn write_html_tag(&mut self, html: CowStr<'a>, range: &Range<usize>) {
        match &*html {
            "<del>" => self.strike_out(true),
            "</del>" => self.strike_out(false),
            _ => self.write_leaf(Event::Text(html), range),
        }
    }

    fn strike_out(&mut self, begins: bool) {
        if self.is_struck_out != begins {
            self.close_citation_link();
            self.is_struck_out = begins;
            self.events.push(if begins {
                Event::Start(Tag::Strikethrough)
            } else {
                Event::End(TagEnd::Strikethrough)
            });
        }
    }

    fn start_link(&mut self, target: &str, range: &Range<usize>) {
        self.close_citation_link();
        let has = |scheme: &str| {
            target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if SCHEMES.into_iter().any(has) {
            let href = escape_html(target);
            let rel = "rel=\"noopener noreferrer nofollow\" target=\"_blank\"";
            self.events.push(Event::InlineHtml(format!("<a href=\"{href}\" {rel}>").into()));
            self.enclosing_link = OpenLinkKind::Link;
            return;
        }
        self.open_citation_link(range.clone());
        if self.open.is_some() {
            // The whole text of the link, which may differ from the place.
            self.open = Some(UNTIL_LINK_END);
        }
        self.enclosing_link = OpenLinkKind::Plain;
    }

    fn end_link(&mut self) {
        if self.enclosing_link == OpenLinkKind::Link {
            self.events.push(Event::InlineHtml("</a>".into()));
        }
        self.close_citation_link();
        self.enclosing_link = OpenLinkKind::Nothing;
    }
}

/// Removes the attributes of a tag that the page does not use.
fn strip_attributes(tag: Tag<'_>) -> Tag<'_> {
    match tag {
        Tag::Heading { level, .. } => {
            Tag::Heading { level: deepen_heading(level), id: None, classes: vec![], attrs: vec![] }
        }
        // Alignment would become a `style` attribute, which the page forbids in texts.
        Tag::Table(columns) => Tag::Table(vec![Alignment::None; columns.len()]),
        tag => tag,
    }
}

/// Renders the code of a block with spans of the highlighting classes that source files have.
fn highlight_code(word: &str, code: &str) -> String {
    let named =
        detect::find_language(word).or_else(|| detect::detect_language(&format!("a.{word}"), ""));
    let language = named.filter(|_| !word.is_empty());
    let lines = code.split_inclusive('\n');
    let marks = highlight_lines(language, code, 0..lines.clone().count());
    lines.zip(marks).map(|(line, marks)| highlight_line(line, marks)).collect()
}

fn highlight_line(line: &str, marks: Vec<HighlightMark>) -> String {
    let mut pending = marks.into_iter().peekable();
    let mut out = String::with_capacity(line.len() * 2);
    let mut units = 0;
    for c in line.chars() {
        if let Some(mark) = pending.peek().filter(|mark| mark.start == units) {
            out.extend(["<span class=\"m-", &mark.class.letter().to_string(), "\">"]);
        }
        out.push_str(&escape_html(c.encode_utf8(&mut [0; 4])));
        units += u32::from(c.len_utf16() == 2) + 1;
        if pending.next_if(|mark| mark.end <= units).is_some() {
            out.push_str("</span>");
        }
    }
    out
}

/// Returns the language of a fence; empty if it is not a plain word.
fn parse_fence_language(info: &str) -> String {
    let word = info.split([',', ' ', '\t', '{']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-#_.".contains(c);
    if word.len() <= MAX_LANGUAGE_BYTES && word.chars().all(is_plain) {
        word.to_lowercase()
    } else {
        String::new()
    }
}

fn deepen_heading(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + HEADING_OFFSET).unwrap_or(HeadingLevel::H6)
}

fn escape_html(text: &str) -> String {
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

struct CodeListing<'a> {
    html: String,
    /// Language of the file of the lines that follow.
    language: Option<&'static Language>,
    /// Numbers and text of consecutive lines.
    block: Vec<(&'a str, &'a str)>,
}

impl CodeListing<'_> {
    fn end_block(&mut self) {
        let code: Vec<&str> = self.block.iter().map(|(_, line)| *line).collect();
        let highlighted = highlight_lines(self.language, &code.join("\n"), 0..code.len());
        let padded = highlighted.into_iter().chain(iter::repeat(Vec::new()));
        for ((number, line), marks) in self.block.drain(..).zip(padded) {
            self.html.extend([number, "|", &highlight_line(line, marks), "\n"]);
        }
    }
}

fn split_line_number(line: &str) -> Option<(&str, &str)> {
    let (number, code) = line.split_once('|')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((number, code))
}

/// Returns the path at the start of a line such as `src/a.rs:1-4 …`.
fn parse_listed_path(line: &str) -> Option<&str> {
    let (path, lines) = line.rsplit_once(':')?;
    lines.starts_with(|c: char| c.is_ascii_digit()).then_some(path)
}
