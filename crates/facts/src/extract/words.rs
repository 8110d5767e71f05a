//! Reads definitions and calls of languages that are read by their layout: names before `(`.

use std::mem;

use codeinfo_chunk::{CommentScanner, SyntaxContext, list_definitions};
use codeinfo_lang::{Language, LanguageKind, StructureReader, layout::CONTROL};

use super::builder::{FILE_SCOPE, MAX_FACTS, MAX_NAME_BYTES};
use crate::{
    BoundValue, DefinitionFact, ModuleSystem, NameBinding, NameScope, ReferenceFact, ReferenceKind,
    ScopeIndex, ScopeKind, ShortExpression, SourceFacts, to_index,
};

/// Returns true for code that is read by its layout. Languages of single files are settings.
pub(super) fn is_read_by_words(language: &Language) -> bool {
    matches!(language.kind, LanguageKind::Code | LanguageKind::Script)
        && !language.extensions.is_empty()
        && matches!(language.reader, StructureReader::Layout(_) | StructureReader::AnyLayout)
}

/// Binds definitions in the file's scope; calls are names before `(` outside comments and strings.
pub(super) fn extract_words(language: &Language, text: &str) -> SourceFacts {
    let mut facts = SourceFacts { module_system: ModuleSystem::Words, ..SourceFacts::default() };
    facts.scopes.push(NameScope::default());
    let definitions = list_definitions(Some(language), text);
    let mut next = definitions.iter().take(MAX_FACTS).peekable();
    let mut open: Vec<(u32, ScopeIndex)> = Vec::new();
    let mut asides = CommentScanner::new(Some(language), text);
    let mut file_bindings = Vec::new();
    let mut line_start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        while open.pop_if(|(last, _)| *last < number).is_some() {}
        let mut defined = None;
        while let Some(definition) = next.next_if(|definition| definition.first <= number) {
            let scope = open.last().map_or(FILE_SCOPE, |(_, scope)| *scope);
            let name = definition.symbol.rsplit(['.', ':', '/', '(', ' ']).next();
            if let Some(name) = name.filter(|name| (1..=MAX_NAME_BYTES).contains(&name.len())) {
                let column = to_index(line.find(name).unwrap_or_default());
                let index = to_index(facts.definitions.len());
                let body = to_index(facts.scopes.len());
                facts.definitions.push(DefinitionFact {
                    name: name.to_owned(),
                    scope,
                    body: Some(body),
                    lines: (definition.first, definition.last),
                    name_at: (number, column),
                    ..DefinitionFact::default()
                });
                facts.scopes.push(NameScope {
                    parent: Some(scope),
                    kind: ScopeKind::Function,
                    definition: Some(index),
                    ..NameScope::default()
                });
                let value = BoundValue::Definition(index);
                file_bindings.push(NameBinding { name: name.to_owned(), value });
                open.push((definition.last, body));
                defined = Some((number, column));
            }
        }
        let scope = open.last().map_or(FILE_SCOPE, |(_, scope)| *scope);
        for (place, _) in line.match_indices('(') {
            let name = find_called_name(line.get(..place).unwrap_or_default());
            let (start, at) = (place - name.len(), (number, to_index(place - name.len())));
            if facts.references.len() < MAX_FACTS
                && !name.is_empty()
                && Some(at) != defined
                && asides.classify_word(&(line_start + start..line_start + place))
                    == SyntaxContext::Code
            {
                let target = ShortExpression::Name(name.to_owned());
                let kind = ReferenceKind::Call;
                let argument_count = None;
                facts.references.push(ReferenceFact { kind, target, scope, at, argument_count });
            }
        }
        line_start += line.len();
    }
    facts
        .scopes
        .iter_mut()
        .take(1)
        .for_each(|file| mem::swap(&mut file.bindings, &mut file_bindings));
    facts
}

/// Returns the name at the end of what is before `(`; blank for a keyword or anything else.
fn find_called_name(before: &str) -> &str {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let stem = before.strip_suffix(['?', '!']).unwrap_or(before).trim_end_matches(is_part);
    let name = before.get(stem.len()..).unwrap_or_default();
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let is_word = is_name && name.len() <= MAX_NAME_BYTES && !CONTROL.contains(&name);
    if is_word { name } else { "" }
}
