//! Blanks out all but one of the `#if` branches that have unbalanced braces.
//!
//! A parser takes two heads of a function before one body for two functions, one without an end.

use std::{mem::take, ops::Range};

use codeinfo_lang::grammar::{BodySyntax, GrammarRules, LexicalSyntax};

use super::{lines::blank_out, strip_bodies::skip_text};

/// Number of open braces and of open parentheses.
type NestingDepth = (i64, i64);

/// Branch to keep in a group with unbalanced braces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchChoice {
    First,
    /// The `#else` branch, or no branch without `#else`.
    Last,
}

/// An `#if` and its branches up to the current position.
#[derive(Default)]
struct ConditionalGroup {
    before: NestingDepth,
    /// Byte range of each branch, and its change of the depth.
    branches: Vec<(Range<usize>, NestingDepth)>,
    directives: Vec<Range<usize>>,
    has_else: bool,
    /// True for `#if 0` and `#if false`.
    is_first_dead: bool,
}

/// Returns the text with such branches and directives blanked out; `None` if there are none, or if
/// the braces match with neither choice.
pub(super) fn blank_unbalanced_branches(grammar: &GrammarRules, text: &str) -> Option<String> {
    let Some(BodySyntax::Braces { lexis, .. }) = grammar.bodies else { return None };
    if !matches!(lexis, LexicalSyntax::C | LexicalSyntax::Csharp) || !text.contains("#if") {
        return None;
    }
    let find = |choice| find_unmatched(lexis, text, choice);
    let mut ranges = find(BranchChoice::First).or_else(|| find(BranchChoice::Last))?;
    if ranges.is_empty() {
        return None;
    }
    ranges.sort_by_key(|range| range.start);
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for Range { start, end } in ranges {
        let unblanked = start.max(at);
        if unblanked < end {
            kept.push_str(text.get(at..unblanked)?);
            kept.extend(blank_out(text.get(unblanked..end)?));
            at = end;
        }
    }
    kept.push_str(text.get(at..)?);
    Some(kept)
}

/// Finds the byte ranges to blank out; `None` if the braces of the remaining text do not match.
fn find_unmatched(
    lexis: LexicalSyntax,
    text: &str,
    choice: BranchChoice,
) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let mut left_out = Vec::new();
    let mut groups: Vec<ConditionalGroup> = Vec::new();
    let mut depth = (0, 0);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = match byte {
            b'/' | b'"' | b'\'' | b'#' => skip_text(lexis, bytes, at)?,
            _ => at + 1,
        };
        match byte {
            b'{' => depth.0 += 1,
            b'}' => depth.0 -= 1,
            b'(' => depth.1 += 1,
            b')' => depth.1 -= 1,
            b'#' if at + 1 < next => {
                let directive = text.get(at + 1..next)?.trim_ascii();
                depth =
                    read_directive(directive, at..next, depth, choice, &mut groups, &mut left_out);
            }
            _ => {}
        }
        at = next;
    }
    (depth.0 == 0 && groups.is_empty()).then_some(left_out)
}

/// Reads a directive and returns the depth after it.
fn read_directive(
    directive: &str,
    range: Range<usize>,
    depth: NestingDepth,
    choice: BranchChoice,
    groups: &mut Vec<ConditionalGroup>,
    left_out: &mut Vec<Range<usize>>,
) -> NestingDepth {
    let word_end = directive.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(directive.len());
    let (word, rest) = directive.split_at(word_end);
    if word.starts_with("if") {
        let is_first_dead = word == "if" && matches!(rest.trim_ascii(), "0" | "false");
        let directives = vec![range];
        groups.push(ConditionalGroup {
            before: depth,
            directives,
            is_first_dead,
            ..ConditionalGroup::default()
        });
        return depth;
    }
    let is_end = word == "endif";
    let Some(group) = groups.last_mut().filter(|_| is_end || word.starts_with("el")) else {
        return depth;
    };
    let added = (depth.0 - group.before.0, depth.1 - group.before.1);
    let start = group.directives.last().map_or(range.start, |directive| directive.end);
    group.branches.push((start..range.start, added));
    group.directives.push(range);
    group.has_else |= word == "else";
    if !is_end {
        return group.before;
    }
    let ConditionalGroup { before, mut branches, directives, has_else, is_first_dead } =
        take(group);
    groups.pop();
    if branches.iter().all(|(_, added)| *added == (0, 0)) {
        return before;
    }
    let index = match choice {
        BranchChoice::First => usize::from(is_first_dead),
        BranchChoice::Last if has_else => branches.len() - 1,
        BranchChoice::Last => branches.len(),
    };
    let kept = (index < branches.len()).then(|| branches.remove(index));
    left_out.extend(branches.into_iter().map(|(branch, _)| branch).chain(directives));
    let (_, added) = kept.unwrap_or_default();
    (before.0 + added.0, before.1 + added.1)
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::{StructureReader, detect};

    use super::*;

    /// Returns the remaining text without blanks.
    fn blank_out_in(language: &str, text: &str) -> Option<String> {
        match detect::find_language(language).unwrap().reader {
            StructureReader::Grammar(grammar) => blank_unbalanced_branches(grammar, text),
            _ => None,
        }
        .map(|kept| kept.replace(' ', ""))
    }

    #[test]
    fn one_of_several_unbalanced_branches_stays() {
        for (text, kept) in [
            ("#if A\nf() {\n#else\ng() {\n#endif\n}\n", "\nf() {\n\n\n\n}\n"),
            (
                "#ifdef A\nf() {\n#elif B\ng() {\n#else\nh() {\n#endif\n}\n",
                "\nf() {\n\n\n\n\n\n}\n",
            ),
            ("#if 0\nf() {\n#else\ng() {\n#endif\n}\n", "\n\n\ng() {\n\n}\n"),
            ("#ifdef A\nextern {\n#endif\na;\n#ifdef A\n}\n#endif\n", "\nextern {\n\na;\n\n}\n\n"),
            // The braces match only if the branch is removed.
            ("#if A\nf() {\n#endif\na;\n", "\n\n\na;\n"),
            // Nested groups.
            (
                "#if A\n#if B\nf() {\n#else\ng() {\n#endif\n#else\nh() {\n#endif\n}\n",
                "\n\nf() {\n\n\n\n\n\n\n}\n",
            ),
            ("f(\n#if A\na) {\n#else\nb) {\n#endif\n}\n", "f(\n\na) {\n\n\n\n}\n"),
        ] {
            let kept = kept.replace(' ', "");
            assert_eq!(blank_out_in("c", text).as_ref(), Some(&kept), "{text}");
            assert_eq!(blank_out_in("csharp", text).as_ref(), Some(&kept), "{text}");
        }
    }

    #[test]
    fn balanced_and_hopeless_branches_stay() {
        for text in [
            "#ifndef A_H\n#define A_H\nf() { }\n#endif\n",
            "#if A\n'{' \"{\" /* { */ // {\n#endif\n",
            "#if A\n#define B {\n#endif\n",
            "#if A\nf() {\n}\n",
            "#endif\n#else\n}\n",
            "f() {}\n",
        ] {
            assert_eq!(blank_out_in("c", text), None, "{text}");
        }
        assert_eq!(blank_out_in("java", "#if A\nf() {\n#else\ng() {\n#endif\n}\n"), None);
    }

    #[test]
    fn unterminated_text_takes_linear_time() {
        for part in [
            "#if A\n{\n",
            "#if A\n{\n#else\n",
            "#if A\n{\n#endif\n",
            "#if A\n{\n#else\n#endif\n}\n",
        ] {
            let text = part.repeat(1 << 17);
            let lines = |text: &str| text.matches('\n').count();
            assert!(blank_out_in("c", &text).is_none_or(|kept| lines(&kept) == lines(&text)));
        }
    }
}
