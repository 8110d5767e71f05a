//! Classifies words of a text as the name of a definition, code, or part of a comment or string.
//!
//! Languages with a parser are classified by their syntax tree. Others are scanned for comment
//! marks and quotes, and the layout rules find the lines that define something.

use std::{cell::OnceCell, iter, ops::Range};

use codeinfo_lang::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    grammar::{ConstructKind, GrammarRules, NodeRule},
};
use tree_sitter::{Node, Tree, TreeCursor};

use super::{
    Definition,
    lines::{LineIndex, MAX_QUOTED, quoted_length},
    list_definitions,
    outline::blank_unparsable_text,
    parser,
    symbol::{self, NodeScope},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxContext {
    Definition,
    Code,
    Aside,
}

/// Maximum nodes around a name that are searched for its definition.
const MAX_STEPS: usize = 8;
/// Maximum lines of a definition that are searched for its name.
const MAX_HEAD_LINES: usize = 3;

/// Classifies the words at `words`, ascending byte ranges. Takes as long as chunking the text.
pub fn classify_words(
    language: Option<&Language>,
    text: &str,
    words: &[Range<usize>],
) -> Vec<SyntaxContext> {
    if let Some(StructureReader::Grammar(grammar)) = language.map(|language| language.reader)
        && let text = blank_unparsable_text(grammar, text)
        && let Some(tree) = parser::parse_tree(grammar, &text)
    {
        let mut walk = TreeWalker::new(grammar, &text, &tree);
        return words.iter().map(|word| walk.classify_word(word)).collect();
    }
    classify_words_quickly(language, text, words)
}

/// Classifies words without a parser: less reliable, in time linear in the text.
pub fn classify_words_quickly(
    language: Option<&Language>,
    text: &str,
    words: &[Range<usize>],
) -> Vec<SyntaxContext> {
    let mut marks = CommentScanner::new(language, text);
    let is_parsed =
        language.is_some_and(|language| matches!(language.reader, StructureReader::Grammar(_)));
    let heads = if is_parsed { Vec::new() } else { list_definitions(language, text) };
    let mut places: Vec<SyntaxContext> =
        words.iter().map(|word| marks.classify_word(word)).collect();
    let lines = LineIndex::new(text);
    for head in heads {
        if let Some(at) = find_defined_word(&head, text, &lines, words, &places)
            && let Some(place) = places.get_mut(at)
        {
            *place = SyntaxContext::Definition;
        }
    }
    places
}

/// Walks a tree from word to word and enters each node at most once.
struct TreeWalker<'a> {
    grammar: &'a GrammarRules,
    text: &'a str,
    cursor: TreeCursor<'a>,
    /// Nodes around the cursor, innermost last.
    open: Vec<EnteredNode<'a>>,
}

struct EnteredNode<'a> {
    node: Node<'a>,
    rule: Option<&'static NodeRule>,
    scope: NodeScope,
    /// Byte range of the name that the node defines; read on first use.
    name: OnceCell<Option<Range<usize>>>,
}

impl<'a> TreeWalker<'a> {
    fn new(grammar: &'a GrammarRules, text: &'a str, tree: &'a Tree) -> Self {
        Self { grammar, text, cursor: tree.walk(), open: Vec::new() }
    }

    fn classify_word(&mut self, word: &Range<usize>) -> SyntaxContext {
        while self.open.last().is_some_and(|open| !contains_word(open.node, word)) {
            self.open.pop();
            self.cursor.goto_parent();
        }
        loop {
            let node = self.cursor.node();
            if contains_word(node, word) {
                let open = self.enter_node(node);
                if !self.cursor.goto_first_child() {
                    return classify_by_ancestors(
                        self.text,
                        iter::once(&open).chain(self.open.iter().rev()),
                        word,
                    );
                }
                self.open.push(open);
            } else if word.start < node.start_byte() || !self.cursor.goto_next_sibling() {
                return classify_by_ancestors(self.text, self.open.iter().rev(), word);
            }
        }
    }

    fn enter_node(&self, node: Node<'a>) -> EnteredNode<'a> {
        let file_scope = NodeScope { is_top: true, is_code: false };
        let scope = self.open.last().map_or(file_scope, |outer| {
            match outer.rule.map(|rule| rule.construct) {
                Some(ConstructKind::Definition) => NodeScope { is_top: false, is_code: true },
                Some(ConstructKind::Container | ConstructKind::Value) => {
                    NodeScope { is_top: false, is_code: outer.scope.is_code }
                }
                _ => outer.scope,
            }
        });
        EnteredNode {
            node,
            rule: parser::find_rule(self.grammar, node),
            scope,
            name: OnceCell::new(),
        }
    }
}

fn contains_word(node: Node<'_>, word: &Range<usize>) -> bool {
    node.start_byte() <= word.start && word.end <= node.end_byte()
}

fn is_name(text: &str, node: &EnteredNode<'_>, rule: &NodeRule, word: &Range<usize>) -> bool {
    let read =
        || symbol::find_name_node(rule, node.node, text, node.scope).map(|name| name.byte_range());
    // A path may qualify the name. Its last part is the defined one.
    let name = node.name.get_or_init(read).as_ref();
    name.is_some_and(|name| name.end == word.end && name.start <= word.start)
}

/// Classifies a word by the nodes around it, innermost first.
fn classify_by_ancestors<'a, 'b: 'a>(
    text: &str,
    around: impl Iterator<Item = &'a EnteredNode<'b>>,
    word: &Range<usize>,
) -> SyntaxContext {
    let mut named = around.skip_while(|open| !open.node.is_named()).peekable();
    if named.peek().is_some_and(|leaf| is_aside(leaf.node)) {
        return SyntaxContext::Aside;
    }
    for open in named.take(MAX_STEPS) {
        if let Some(rule) = open.rule.filter(|rule| rule.construct != ConstructKind::Lead) {
            return if is_name(text, open, rule, word) {
                SyntaxContext::Definition
            } else {
                SyntaxContext::Code
            };
        }
    }
    SyntaxContext::Code
}

/// Returns true for a comment, string or text; all grammars name such kinds by these words.
fn is_aside(node: Node<'_>) -> bool {
    let kind = node.kind();
    ["comment", "string", "heredoc", "char_literal", "character_literal", "regex"]
        .iter()
        .any(|part| kind.contains(part))
        || kind == "text"
        || kind.ends_with("_text")
}

fn find_defined_word(
    head: &Definition,
    text: &str,
    lines: &LineIndex<'_>,
    words: &[Range<usize>],
    places: &[SyntaxContext],
) -> Option<usize> {
    let first = usize::try_from(head.first).ok()?.checked_sub(1)?;
    let last = usize::try_from(head.last).ok()?.min(first + MAX_HEAD_LINES);
    let from = lines.line_start(first);
    let to = lines.line_start(last);
    let next = words.partition_point(|word| word.start < from);
    let near = words.iter().enumerate().skip(next).take_while(|(_, word)| word.end <= to);
    let mut fits = near.filter(|(at, word)| {
        let is_code = places.get(*at) == Some(&SyntaxContext::Code);
        let is_name = text.get((*word).clone()).is_some_and(|word| ends_with(&head.symbol, word));
        is_code && is_name
    });
    fits.next().map(|(at, _)| at)
}

fn ends_with(symbol: &str, name: &str) -> bool {
    symbol
        .strip_suffix(name)
        .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Finds comments and strings by their marks, word by word. Strings in data files count as code.
pub struct CommentScanner<'a> {
    comments: &'a CommentSyntax,
    has_strings: bool,
    text: &'a str,
    at: usize,
    before: u8,
    /// Closing marks known to be missing from the rest of the text.
    unclosed: Vec<&'a str>,
    /// End of a line with an unclosed quote; no quote is searched before it.
    unquoted_to: usize,
    /// Byte range of the last comment or string.
    aside: Range<usize>,
}

impl<'a> CommentScanner<'a> {
    pub fn new(language: Option<&'a Language>, text: &'a str) -> Self {
        let comments = language.map_or(&CommentSyntax::ANY, |language| &language.comments);
        let kind = language.map_or(LanguageKind::Code, |language| language.kind);
        // In a notebook, each line of code is a JSON string.
        let is_notebook =
            language.is_some_and(|language| matches!(language.reader, StructureReader::Notebook));
        let has_strings = matches!(kind, LanguageKind::Code | LanguageKind::Script) && !is_notebook;
        let unclosed = Vec::new();
        Self {
            comments,
            has_strings,
            text,
            at: 0,
            before: b'\n',
            unclosed,
            unquoted_to: 0,
            aside: 0..0,
        }
    }

    /// Classifies a word that follows the words before as code or aside.
    pub fn classify_word(&mut self, word: &Range<usize>) -> SyntaxContext {
        while self.at <= word.start && self.at < self.text.len() {
            self.read_next_token();
        }
        if self.aside.contains(&word.start) { SyntaxContext::Aside } else { SyntaxContext::Code }
    }

    fn read_next_token(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let length = self.comment_or_string_length(rest);
        let mut end = self.at + length.unwrap_or(first).max(first);
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        if length.is_some() {
            self.aside = self.at..end;
        }
        self.before = self.text.as_bytes().get(end - 1).copied().unwrap_or(b'\n');
        self.at = end;
    }

    fn comment_or_string_length(&mut self, rest: &str) -> Option<usize> {
        let CommentSyntax { block, line: marks } = self.comments;
        let mut blocks = block.iter();
        let block =
            blocks.find(|(start, end)| rest.starts_with(start) && !self.unclosed.contains(end));
        if let Some((start, end)) = block {
            let inner = rest.get(start.len()..).unwrap_or_default();
            let length = inner.find(end).map(|to| start.len() + to + end.len());
            if length.is_none() {
                self.unclosed.push(end);
            }
            return length;
        }
        let is_part = self.before.is_ascii_alphanumeric();
        let line = || rest.find('\n').unwrap_or(rest.len());
        if !is_part && marks.iter().any(|mark| rest.starts_with(mark)) {
            return Some(line());
        }
        let bytes = rest.as_bytes();
        match bytes.first() {
            Some(b'"') if self.has_strings && self.unquoted_to <= self.at => {
                let length = quoted_length(bytes);
                if length.is_none() {
                    self.unquoted_to = self.at + line();
                }
                length
            }
            Some(b'\'') if self.has_strings && !is_part => {
                quoted_length(bytes.get(..MAX_QUOTED).unwrap_or(bytes))
            }
            _ => None,
        }
    }
}
