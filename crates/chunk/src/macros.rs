//! Blanks out macros of C and C++ that no grammar knows.
//!
//! A parser takes `NS_BEGIN` or `FOO(bar)` alone on a line for the type of the text after it, and
//! `MY_API` before the name of a class for that name.

use codeinfo_lang::grammar::ParserId;

use super::lines::blank_out;

/// Maximum bytes of a macro call, so that texts are read in linear time; longer ones are ignored.
const MAX_CALL_BYTES: usize = 4096;
/// Keywords before the name of a type.
const TYPES: [&str; 3] = ["class", "struct", "union"];

/// Returns the text with such macros blanked out; `None` if there are none.
pub(super) fn blank_macros(parser: ParserId, text: &str) -> Option<String> {
    if !matches!(parser, ParserId::C | ParserId::Cpp) {
        return None;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_statement_next = true;
    let mut is_changed = false;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line_bytes = rest.len() - after.len();
        let word = line.trim_ascii();
        let is_alone = is_macro(word) && (parser == ParserId::Cpp || is_bracket(word));
        let call_bytes = if is_statement_next { find_call_end(rest) } else { None };
        if let Some((left_out, after)) =
            is_alone.then_some(line_bytes).or(call_bytes).and_then(|end| rest.split_at_checked(end))
        {
            kept.extend(blank_out(left_out));
            (rest, is_changed) = (after, true);
            continue;
        }
        let (line, line_end) = rest.split_at_checked(line.len()).unwrap_or((rest, ""));
        match find_type_macros(line, after) {
            Some((before, name)) => {
                let macros = line.get(before.len()..line.len() - name.len()).unwrap_or_default();
                kept.push_str(before);
                kept.extend(blank_out(macros));
                kept.push_str(name);
                is_changed = true;
            }
            None => kept.push_str(line),
        }
        if line_end.starts_with('\n') {
            kept.push('\n');
        }
        is_statement_next = ends_statement(line).unwrap_or(is_statement_next);
        rest = after;
    }
    is_changed.then_some(kept)
}

/// Returns true if a word is in capitals with an underscore; without one, it may be a type.
fn is_macro(word: &str) -> bool {
    word.contains('_') && is_in_capitals(word)
}

/// Returns true if a macro begins or ends a block. Others may be the type of the function below.
fn is_bracket(word: &str) -> bool {
    word.split('_').any(|part| matches!(part, "BEGIN" | "END"))
}

fn is_in_capitals(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.len() > 1 && word.bytes().all(is_part)
}

/// Returns true if a statement may begin after a line; `None` if the line does not change that.
fn ends_statement(line: &str) -> Option<bool> {
    let code = line.split_once("//").map_or(line, |(code, _)| code).trim_ascii();
    let is_other = code.is_empty() || code.starts_with(['#', '*']) || code.starts_with("/*");
    (!is_other).then(|| code.ends_with([';', '{', '}', ':']))
}

/// Returns the offset of the line after `FOO(bar)`. The call must be alone on its lines, and
/// neither a body nor the rest of an expression may follow.
fn find_call_end(text: &str) -> Option<usize> {
    let call = text.trim_start_matches([' ', '\t']);
    let (name, arguments) = call.split_once('(')?;
    let end = find_arguments_end(arguments)?;
    let (line_end, after) = arguments.get(end..)?.split_once('\n').unwrap_or_default();
    let is_alone = line_end.trim_ascii().is_empty() || line_end.trim_ascii().starts_with("//");
    let is_continued = after.trim_ascii_start().starts_with(|c| "{;,.=:?)]+*/%<>&|^-(".contains(c));
    (is_in_capitals(name) && is_alone && !is_continued).then(|| text.len() - after.len())
}

fn find_arguments_end(arguments: &str) -> Option<usize> {
    let mut depth = 1;
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, byte) in arguments.bytes().enumerate().take(MAX_CALL_BYTES) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'(' if !in_string => depth += 1,
            b')' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Returns the text before the macros between `class` and its name, and the text from the name on.
fn find_type_macros<'a>(line: &'a str, after: &str) -> Option<(&'a str, &'a str)> {
    let code = line.trim_ascii_start();
    let word = TYPES
        .iter()
        .find(|word| code.strip_prefix(**word).is_some_and(|rest| rest.starts_with(' ')))?;
    let mut rest = code.get(word.len()..)?.trim_ascii_start();
    let before = line.get(..line.len() - rest.len())?.trim_ascii_end();
    let mut name = None;
    loop {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let next = rest.get(..end)?.trim_end_matches(':');
        let mut following = rest.get(next.len()..)?;
        if next.is_empty() || next == "final" {
            break;
        }
        if name.is_some_and(|(macros, _): (&str, &str)| !is_in_capitals(macros)) {
            return None;
        }
        name = Some((next, rest));
        if let Some(arguments) = following.strip_prefix('(').filter(|_| is_in_capitals(next)) {
            following = arguments.get(find_arguments_end(arguments)?..)?;
        }
        rest = following.trim_ascii_start();
    }
    let (_, name) =
        name.filter(|(_, from_name)| before.len() + 1 < line.len() - from_name.len())?;
    let is_type = match rest.as_bytes() {
        [b'{' | b'<' | b':', ..] => true,
        [b';', ..] => *word == "class",
        [] | [b'/', b'/', ..] => after.trim_ascii_start().starts_with(['{', ':']),
        _ => rest.starts_with("final"),
    };
    is_type.then_some((before, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the remaining text, with runs of blanks joined.
    fn blank_out_in(parser: ParserId, text: &str) -> Option<String> {
        let kept = blank_macros(parser, text)?;
        assert_eq!(kept.len(), text.len());
        let lines = kept.split('\n').map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ")
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn macros_on_lines_of_their_own_are_blanked() {
        for (text, kept) in [
            ("FOO(a)\nFOO(b)\nint f(int a)\n{\n}\n", "\n\nint f(int a)\n{\n}\n"),
            ("class A {\n  GENERATED_BODY()\npublic:\n", "class A {\n\npublic:\n"),
            ("UPROPERTY(Edit,\n  Name=\")\") // a\nint a;\n", "\n\nint a;\n"),
            ("__BEGIN_DECLS\nint a;\nG_END_DECLS\n", "\nint a;\n\n"),
            ("/* a\n * b */\n#define A\nMODULE_X(\"a\")\n", "/* a\n* b */\n#define A\n\n"),
        ] {
            assert_eq!(blank_out_in(ParserId::C, text).as_deref(), Some(kept), "{text}");
        }
        for text in [
            "TEST(A, B)\n{\n}\n",
            "int\nFOO(a)\nint b;\n",
            "x = a +\n  FOO(b)\n  + c;\n",
            "FOO(a);\n",
            "FOO(a) int b;\n",
            "FOO(a)\n  .b();\n",
            "foo(a)\nint b;\n",
            "MY_TYPE\nf(void)\n{\n}\n",
            "enum a {\n  B_C,\n  D_E\n};\n",
            "#define A(x) \\\n  FOO(x) \\\n  BAR(x)\n",
            "FOO(",
            "FOO(a",
        ] {
            assert_eq!(blank_macros(ParserId::C, text), None, "{text}");
        }
        assert_eq!(blank_macros(ParserId::Java, "FOO(a)\nint b;\n"), None);
    }

    #[test]
    fn macros_before_type_names_are_blanked() {
        for (line, kept) in [
            ("class MY_API A : public B", "class A : public B"),
            ("  class EXPORT A final : B {", "class A final : B {"),
            ("struct MY_API A_B {", "struct A_B {"),
            ("class MY_API ABC {", "class ABC {"),
            ("class ALIGN(8) MY_API A::B {", "class A::B {"),
            ("class MY_API A;", "class A;"),
            ("class MY_API A\n{", "class A\n{"),
            ("struct MY_API A<int> {", "struct A<int> {"),
        ] {
            assert_eq!(blank_out_in(ParserId::Cpp, line).as_deref(), Some(kept), "{line}");
        }
        for line in [
            "struct FOO_T a;",
            "struct FOO_T a = {",
            "struct FOO_T *a(void) {",
            "struct FOO_T a(void) {",
            "struct FOO_T a\n",
            "class A : public B {",
            "class A final {",
            "class ABC {",
            "class A B {",
            "class A::B {",
            "class",
            "class MY_API",
            "classes MY_API A {",
        ] {
            assert_eq!(blank_macros(ParserId::Cpp, line), None, "{line}");
        }
    }
}
