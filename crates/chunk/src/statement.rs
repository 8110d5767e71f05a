//! Turns SQL into units: one for each statement, named by the object that it creates or changes.

use std::rc::Rc;

use codeinfo_lang::language::SqlKeywords;

use super::{
    lines::LineIndex,
    symbol::tidy_name,
    unit::{TextUnit, UnitRole},
};

/// Maximum bytes and words of a statement that are searched for its subject.
const MAX_BYTES: usize = 400;
const MAX_WORDS: usize = 16;

struct OpenStatement<'a> {
    words: &'a SqlKeywords,
    first: usize,
    subject: StatementSubject,
    /// Mark of the open dollar-quoted string: `$$` or `$body$`.
    quote: Option<&'a str>,
}

#[derive(Debug, Default)]
struct StatementSubject {
    name: Option<String>,
    creates: bool,
    is_routine: bool,
}

/// Returns the units of a text, in order, at most one on each line.
pub(super) fn split_statements(words: &SqlKeywords, lines: &LineIndex<'_>) -> Vec<TextUnit> {
    let mut units: Vec<TextUnit> = Vec::new();
    let mut open: Option<OpenStatement<'_>> = None;
    let mut in_comment = false;
    let mut delimiter = ";";
    for line in 0..lines.count() {
        let text = lines.text(line..line + 1);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            continue;
        }
        let starts = starts_statement(words, text);
        if let Some(ended) =
            open.take_if(|statement| starts && statement.quote.is_none() && statement.may_end())
        {
            units.push(ended.into_unit(line - 1));
        }
        let leads = in_comment || trimmed.starts_with("--") || trimmed.starts_with("/*");
        if open.is_none() && leads {
            in_comment = (in_comment || trimmed.starts_with("/*")) && !trimmed.contains("*/");
            units.push(TextUnit { first: line, last: line, part: UnitRole::Lead, symbol: None });
            continue;
        }
        if let Some(mark) = trimmed.strip_prefix("DELIMITER ") {
            delimiter = mark.trim();
        }
        let statement = open.get_or_insert_with(|| OpenStatement {
            first: line,
            subject: parse_subject(words, lines, line),
            words,
            quote: None,
        });
        statement.follow_quotes(trimmed, delimiter);
        if statement.ends_with(trimmed, delimiter)
            && let Some(statement) = open.take()
        {
            units.push(statement.into_unit(line));
        }
    }
    if let Some(statement) = open {
        units.push(statement.into_unit(lines.count() - 1));
    }
    units
}

impl<'a> OpenStatement<'a> {
    fn follow_quotes(&mut self, text: &'a str, delimiter: &str) {
        let mut rest = text;
        while let Some((mark, after)) = find_dollar_mark(rest) {
            rest = after;
            match self.quote {
                None if mark != delimiter => self.quote = Some(mark),
                Some(open) if open == mark => self.quote = None,
                _ => {}
            }
        }
    }

    fn ends_with(&self, text: &str, delimiter: &str) -> bool {
        if self.quote.is_some() {
            return false;
        }
        let code = text.split(" --").next().unwrap_or(text).trim_end();
        let is_end = code.ends_with(delimiter) || is_word(code, "GO") || code == "/";
        let is_last = !self.subject.is_routine
            || delimiter != ";"
            || code.contains('$')
            || is_word(code.get(..3).unwrap_or_default(), "END") && !is_inner_end(self.words, code);
        code.starts_with("DELIMITER ") || (is_end && is_last)
    }

    /// Returns true if a line that starts a statement ends this one. A routine contains statements.
    fn may_end(&self) -> bool {
        self.subject.is_routine
    }

    fn into_unit(self, last: usize) -> TextUnit {
        let part = if self.subject.creates { UnitRole::Definition } else { UnitRole::Glue };
        let symbol = self.subject.name.map(Rc::from);
        TextUnit { first: self.first, last, part, symbol }
    }
}

/// Returns true for `END IF;` and the like, which do not end a routine.
fn is_inner_end(words: &SqlKeywords, code: &str) -> bool {
    let second = code.split_whitespace().nth(1).unwrap_or_default().trim_end_matches(';');
    words.inner_ends.iter().any(|word| is_word(second, word))
}

fn is_word(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

/// Returns true if a line starts, at the left edge, a statement that creates something.
fn starts_statement(words: &SqlKeywords, text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    words.edge_verbs.iter().any(|verb| is_word(word, verb))
}

/// Returns the first `$$` or `$name$`, and the text after it.
fn find_dollar_mark(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(start) = text.get(from..)?.find('$') {
        let start = from + start;
        let rest = text.get(start + 1..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if rest.get(end..)?.starts_with('$') {
            let after = start + end + 2;
            return Some((text.get(start..after)?, text.get(after..)?));
        }
        from = start + 1;
    }
    None
}

fn parse_subject(known: &SqlKeywords, lines: &LineIndex<'_>, line: usize) -> StatementSubject {
    let range = line..(line + 3).min(lines.count());
    let whole = lines.text(range);
    let text = whole.get(..whole.floor_char_boundary(MAX_BYTES)).unwrap_or(whole);
    let mut words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ';'))
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .peekable();
    let Some(verb) = words.next().map(str::to_uppercase) else {
        return StatementSubject::default();
    };
    if !known.verbs.contains(&verb.as_str()) || known.nameless_verbs.contains(&verb.as_str()) {
        return StatementSubject::default();
    }
    let kind = match verb.as_str() {
        "UPDATE" | "COPY" => String::new(),
        "DELETE" => words.next().unwrap_or_default().to_uppercase(),
        _ => {
            match words
                .by_ref()
                .map(str::to_uppercase)
                .find(|word| known.kinds.contains(&word.as_str()))
            {
                Some(kind) => kind,
                None => return StatementSubject::default(),
            }
        }
    };
    let is_between = |word: &&str| known.between.iter().any(|between| is_word(word, between));
    let name = words.find(|word| !is_between(word)).and_then(|name| {
        tidy_name(&name.replace(['"', '`', '[', ']', ','], "")).filter(|name| name != "ON")
    });
    let is_create = verb == "CREATE";
    let is_routine = is_create && known.routines.contains(&kind.as_str());
    StatementSubject { creates: is_create && name.is_some(), name, is_routine }
}
