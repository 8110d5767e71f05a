//! Flattens the Markdown of a model into one line for a person who waits.

use codeinfo_core::plain_name;
use pulldown_cmark::{Event, Parser};

/// Maximum characters of a line; the result has the whole text.
pub(super) const MAX_CHARS: usize = 200;
/// Maximum bytes that are parsed for a line.
const MAX_BYTES: usize = 4096;

/// Returns the first words of a Markdown text on one line.
pub(super) fn flatten_markdown(text: &str) -> String {
    let (start, _) = text.split_at(text.floor_char_boundary(MAX_BYTES));
    let mut words = String::new();
    for event in Parser::new(start) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                words.push_str(&text);
            }
            Event::End(tag) if tag_is_block(tag) => words.push(' '),
            Event::SoftBreak | Event::HardBreak | Event::Rule => words.push(' '),
            _ => {}
        }
    }
    let line = words.split_whitespace().collect::<Vec<&str>>().join(" ");
    plain_name(&line, MAX_CHARS)
}

fn tag_is_block(tag: pulldown_cmark::TagEnd) -> bool {
    use pulldown_cmark::TagEnd;
    !matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHARS, flatten_markdown};

    #[test]
    fn words_of_markdown_stand_on_one_line() {
        for (text, expected) in [
            ("**Reading the parser**", "Reading the parser"),
            ("# A\n\n* one\n* `two<T>`\n\n> three", "A one two<T> three"),
            (
                "see [the docs](http://x) of Vec<String>, *half*way",
                "see the docs of Vec<String>, halfway",
            ),
            ("```rust\nfn a() {}\n```", "fn a() {}"),
            ("a\u{1b}[31m b\u{202e}c", "a [31m bc"),
            ("", ""),
        ] {
            assert_eq!(flatten_markdown(text), expected, "{text:?}");
        }
        let long = flatten_markdown(&"word ".repeat(5000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (MAX_CHARS, true));
    }
}
