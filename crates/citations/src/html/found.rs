//! Renders the results of our tools as HTML: numbered lines of code with syntax highlighting.

use codeinfo_chunk::highlight_lines;
use codeinfo_lang::{Language, detect};

use super::{escape_html, highlight_line};

/// Renders lines such as `12|fn open() {` below a line that begins with the path of their file.
///
/// Returns `None` for a text without numbered lines.
pub fn render_code_listing(text: &str) -> Option<String> {
    let mut found =
        CodeListing { html: "<pre><code>".to_owned(), language: None, block: Vec::new() };
    let mut has_code = false;
    for line in text.lines() {
        if let Some(numbered) = split_line_number(line) {
            found.block.push(numbered);
            has_code = true;
        } else {
            found.end_block();
            found.language =
                parse_listed_path(line).and_then(|path| detect::detect_language(path, ""));
            found.html.extend([&escape_html(line), "\n"]);
        }
    }
    found.end_block();
    found.html.push_str("</code></pre>\n");
    has_code.then_some(found.html)
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
        let padded = highlighted.into_iter().chain(std::iter::repeat(Vec::new()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_by_the_language_of_its_file_and_the_rest_stays_text() {
        let text = "[demo] <b>\n/srv/src/a.rs:1-2 `f`\n1|fn f() {} // \"<i>\"\n2|\nmore\n9|fn g()\na.py:7\n7|def g():\n";
        assert_eq!(
            render_code_listing(text).unwrap(),
            "<pre><code>[demo] &lt;b&gt;\n/srv/src/a.rs:1-2 `f`\n1|<span class=\"m-k\">fn</span> \
             <span class=\"m-f\">f</span>() {} <span class=\"m-c\">// &quot;&lt;i&gt;&quot;</span>\n2|\nmore\n9|fn g()\n\
             a.py:7\n7|<span class=\"m-k\">def</span> <span class=\"m-f\">g</span>():\n</code></pre>\n"
        );
        assert_eq!(render_code_listing("nothing\n|x\na|b\n"), None);
    }
}
