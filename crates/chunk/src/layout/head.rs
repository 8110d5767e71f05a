//! Recognises the first line of a definition by its words.

use codeinfo_lang::{
    grammar::ConstructKind,
    layout::{CONTROL, DefinitionStyle, KeywordNaming, LayoutRules},
};

use crate::symbol::tidy_name;

const MAX_BYTES: usize = 400;
/// Maximum modifiers and attributes that are skipped before the keyword of a definition.
const MAX_WORDS: usize = 12;

/// Kind of the definition around a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnclosingScope {
    Outside,
    /// Among the members of a type or section.
    Type,
    /// Among the statements of a function.
    Code,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DefinitionHead {
    pub(super) construct: ConstructKind,
    pub(super) name: String,
    /// The defined name without the words around it; `None` if the line defines nothing.
    pub(super) defines: Option<String>,
}

/// Parses a line, without its indentation, as the first line of a definition.
pub(super) fn parse_head(
    layout: &LayoutRules,
    line: &str,
    place: EnclosingScope,
    has_body: bool,
) -> Option<DefinitionHead> {
    let line = line.get(..line.floor_char_boundary(MAX_BYTES))?.trim_end();
    if let Some(head) = parse_worded_head(layout, line, place, has_body) {
        return Some(head);
    }
    let is_member = place != EnclosingScope::Code;
    let name = match layout.shows {
        DefinitionStyle::Calls if is_member && has_body => parse_method_name(line),
        DefinitionStyle::Assigned if has_body => parse_assigned_name(line),
        DefinitionStyle::Equations if is_member => parse_equation_name(line, has_body),
        DefinitionStyle::Keys if has_body => parse_key(line),
        DefinitionStyle::Selectors if is_member && has_body => parse_selector(line),
        DefinitionStyle::Targets if is_member && has_body => parse_target(line),
        DefinitionStyle::Lists(words) => parse_lisp_name(line, words),
        _ => None,
    };
    let name = tidy_name(&name?)?;
    let construct = match layout.shows {
        DefinitionStyle::Keys | DefinitionStyle::Selectors => ConstructKind::Container,
        _ => ConstructKind::Definition,
    };
    Some(DefinitionHead { construct, defines: Some(name.clone()), name })
}

/// Parses a definition that a keyword starts, after attributes and modifiers.
fn parse_worded_head(
    layout: &LayoutRules,
    line: &str,
    place: EnclosingScope,
    has_body: bool,
) -> Option<DefinitionHead> {
    if layout.words.is_empty() {
        return None;
    }
    let mut rest = line;
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start();
        if let Some(after) = skip_attribute(rest) {
            rest = after;
            continue;
        }
        let (word, after) = split_word(rest);
        if let Some(found) = layout.words.iter().find(|known| known.text == word) {
            if is_chained(layout, after) {
                rest = after;
                continue;
            }
            let is_empty =
                found.construct == ConstructKind::Container && !has_body && line.ends_with(';');
            let is_local = found.construct == ConstructKind::Value && place == EnclosingScope::Code;
            if is_empty || is_local {
                return None;
            }
            let name = match found.naming {
                KeywordNaming::Next => parse_next_name(layout, after),
                KeywordNaming::Itself => Some(word.to_owned()),
                KeywordNaming::Rest => parse_rest_of_line(after),
            };
            let name = tidy_name(&name?)?;
            let defines = match found.naming {
                _ if !found.defines => None,
                KeywordNaming::Next | KeywordNaming::Itself => Some(name.clone()),
                KeywordNaming::Rest => name.split_whitespace().next().map(str::to_owned),
            };
            return Some(DefinitionHead { construct: found.construct, name, defines });
        }
        if word.is_empty() || !layout.modifiers.contains(&word) {
            return None;
        }
        rest = skip_group(after);
    }
    None
}

/// Skips `@Name.part(arguments)`, or `#[name]` if it ends on the line.
fn skip_attribute(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("#[") {
        return rest.split_once(']').map(|(_, after)| after);
    }
    let rest = text.strip_prefix('@')?;
    let rest =
        rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':'));
    Some(skip_group(rest))
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// Returns true if the next word also starts the definition, as in `enum class Side`.
fn is_chained(layout: &LayoutRules, after: &str) -> bool {
    let Some(after) = after.strip_prefix(' ') else { return false };
    let (word, after) = split_word(after);
    let is_named = after.strip_prefix(' ').is_some_and(|rest| rest.starts_with(is_part));
    is_named && layout.words.iter().any(|known| known.text == word)
}

/// Drops a bracketed group at the start of a text: `(set)`, `<T: Ord>`, `<F : (A) -> B>`, `[this]`.
fn skip_group(text: &str) -> &str {
    let closing = match text.bytes().next() {
        Some(b'(') => ')',
        Some(b'<') => '>',
        Some(b'[') => ']',
        _ => return text,
    };
    let opening = text.chars().next().unwrap_or(closing);
    let mut depth = 0_usize;
    let mut before = opening;
    for (at, character) in text.char_indices() {
        let is_arrow = character == '>' && matches!(before, '-' | '=');
        if character == opening {
            depth += 1;
        } else if character == closing && !is_arrow {
            depth -= 1;
            if depth == 0 {
                return text.get(at + closing.len_utf8()..).unwrap_or_default();
            }
        }
        before = character;
    }
    ""
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$' | '"' | '\'' | '`')
}

/// Parses the name after a keyword: an identifier with dots, strings, or an operator.
fn parse_next_name(layout: &LayoutRules, text: &str) -> Option<String> {
    let text = skip_receiver(text.trim_start());
    if text.starts_with(['"', '\'']) {
        return join_quoted_names(text);
    }
    if let Some(rest) = text.strip_prefix('`') {
        return rest.split_once('`').map(|(name, _)| name.to_owned());
    }
    let mut name = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            '<' | '[' | '?' if skip_group(rest).trim_start_matches('?').starts_with('.') => {
                rest = skip_group(rest).trim_start_matches('?');
                continue;
            }
            '?' | '!' if after.starts_with('.') => {}
            ':' if after.starts_with(':') && !name.is_empty() => {
                name.push_str("::");
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            ':' if layout.shows == DefinitionStyle::Assigned && after.starts_with(is_part) => {
                name.push(character);
            }
            '.' | '\'' | '!' | '-' if !name.is_empty() && after.starts_with(is_part) => {
                name.push(character);
            }
            '?' | '!' if !name.is_empty() => {
                name.push(character);
                break;
            }
            _ if character.is_alphanumeric() || matches!(character, '_' | '$') => {
                name.push(character);
            }
            _ => break,
        }
        rest = after;
    }
    if name.is_empty() {
        let is_operator =
            |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !"({[".contains(c);
        let end = text.find(|c| !is_operator(c)).unwrap_or(text.len());
        name.push_str(text.get(..end).unwrap_or_default().trim_end_matches([':', ';']));
    }
    (!name.is_empty()).then_some(name)
}

/// Drops type parameters and a function type before a name: `<T> ((A) -> T)?.apply` is `apply`.
/// Leaves operators of Swift such as `< (a: A, b: A)`.
fn skip_receiver(text: &str) -> &str {
    if ["< ", "<(", "<=", "<<"].iter().any(|operator| text.starts_with(operator)) {
        return text;
    }
    let text = skip_group(text).trim_start();
    let method = skip_group(text).trim_start_matches('?').strip_prefix('.');
    method.filter(|method| method.starts_with(is_part)).unwrap_or(text)
}

/// Joins `"a" "b"` to `a.b`.
fn join_quoted_names(text: &str) -> Option<String> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    while let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (name, after) = rest.get(1..)?.split_once(quote)?;
        names.push(name);
        rest = after.trim_start();
    }
    Some(names.join("."))
}

/// Reduces `(Show a) => Pretty (Tree a) where` to `Pretty (Tree a)`.
fn parse_rest_of_line(text: &str) -> Option<String> {
    let head = text.split_once("=>").map_or(text, |(_, after)| after);
    let end = [" where", " =", " {", " with", " do", "::"].iter().filter_map(|end| head.find(end));
    Some(head.get(..end.min().unwrap_or(head.len()))?.trim_end_matches(['{', ':']).to_owned())
}

/// Reads `open` from `Future<void> open(String path) async {`.
fn parse_method_name(line: &str) -> Option<String> {
    let (before, _) = line.split_once('(')?;
    let is_statement = before.contains(['=', ';', '"', '\'']) || line.ends_with([';', ',']);
    let first = split_word(line).0;
    if is_statement || CONTROL.contains(&first) {
        return None;
    }
    let declaration = before.trim_end();
    let start = declaration
        .rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '.' | '~'))
        .map_or(0, |at| {
            at + declaration
                .get(at..)
                .map_or(1, |rest| rest.chars().next().map_or(1, char::len_utf8))
        });
    let name = declaration.get(start..)?;
    (!CONTROL.contains(&name)
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '~'))
    .then(|| name.to_owned())
}

/// Reads `M.open` from `local M.open = function(path)`.
fn parse_assigned_name(line: &str) -> Option<String> {
    let at = ["= function", "<- function", "= async function", ": function", "= class"]
        .iter()
        .find_map(|middle| line.find(middle))?;
    let name = line.get(..at)?.trim().rsplit(char::is_whitespace).next()?;
    Some(name.trim_matches(['[', ']', '"', '\'', '.']).to_owned())
}

/// Reads `open` from `open path mode = …` and from `open :: Path -> …`.
fn parse_equation_name(line: &str, has_body: bool) -> Option<String> {
    if let Some(rest) = line.strip_prefix('(') {
        let (name, after) = rest.split_once(')')?;
        let is_operator = !name.contains(|c: char| c.is_alphanumeric() || c.is_whitespace());
        return (is_operator && after.trim_start().starts_with("::")).then(|| name.to_owned());
    }
    let end = line.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '\''));
    let (name, after) = line.split_at(end.unwrap_or(line.len()));
    if !name.starts_with(|c: char| c.is_lowercase() || c == '_') {
        return None;
    }
    let second = after.split_whitespace().next().unwrap_or_default();
    let is_symbol = |c: char| !c.is_alphanumeric() && !"_'\"()[]{},;`".contains(c);
    let is_reserved = matches!(second, "=" | "::" | "|" | "->" | "<-" | "@" | "~" | "!" | ":");
    if !is_reserved && !second.is_empty() && second.chars().all(is_symbol) {
        return (after.contains('=')).then(|| second.to_owned());
    }
    let starts = after.is_empty() || after.starts_with([' ', '(', ':']);
    // An import or a directive has none of these marks.
    let is_equation = ["=", "::", "->"].iter().any(|mark| after.contains(mark));
    let is_continued = has_body && (after.is_empty() || second.starts_with('|'));
    (starts && (is_equation || is_continued)).then(|| name.to_owned())
}

/// Reads `key` from `"key": {` and `key:`, and `text` from `- name: text`.
fn parse_key(line: &str) -> Option<String> {
    let (is_item, line) = match line.strip_prefix("- ") {
        Some(item) => (true, item.trim_start()),
        None => (false, line),
    };
    let (key, value) = match line.strip_prefix('"') {
        Some(rest) => {
            let (key, after) = rest.split_once('"')?;
            (key, after.trim_start().strip_prefix(':')?)
        }
        None => line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?,
    };
    let key = key.trim_matches(['\'', '"', ' ']);
    if is_item {
        let names =
            matches!(key, "name" | "id" | "key" | "title" | "job_name" | "alert" | "record");
        let text = value.trim().trim_matches(['"', '\'']);
        return (names && !text.is_empty()).then(|| text.to_owned());
    }
    (!key.is_empty() && !key.starts_with(['{', '[', '#'])).then(|| key.to_owned())
}

/// Reads `a:hover, b` from `a:hover, b {`, and `a:hover` from `a:hover,`.
fn parse_selector(line: &str) -> Option<String> {
    let name = line.split('{').next()?.trim().trim_end_matches(',');
    let is_statement = name.is_empty() || name.ends_with(';') || name.starts_with('}');
    (!is_statement).then(|| name.to_owned())
}

/// Reads `build` from `build: src/main.c | out`.
fn parse_target(line: &str) -> Option<String> {
    let (name, after) = line.split_once(':')?;
    let is_variable = after.starts_with('=') || name.contains('=') || after.starts_with(":=");
    (!is_variable && !name.contains('#')).then(|| name.trim().to_owned())
}

/// Reads `name` from `(defn- name [x]`.
fn parse_lisp_name(line: &str, words: &[&str]) -> Option<String> {
    let (word, after) = line.strip_prefix('(')?.split_once(char::is_whitespace)?;
    let defines = word.rsplit('/').next().is_some_and(|word| word.starts_with("def"));
    if !defines && !words.contains(&word) {
        return None;
    }
    let after = after.trim_start();
    let after = after.strip_prefix('^').map_or(after, |rest| {
        rest.split_once(char::is_whitespace).map_or(rest, |(_, after)| after)
    });
    let name = after.trim_start_matches(['(', '\'', '"', '[']);
    let end = name.find(|c: char| c.is_whitespace() || "()[]\"".contains(c));
    name.get(..end.unwrap_or(name.len())).map(str::to_owned)
}
