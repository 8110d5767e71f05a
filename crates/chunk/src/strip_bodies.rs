//! Removes function bodies that no chunk begins or ends in, so that a parser has little to read.
//!
//! The outline does not open a function that fits into one chunk, so its body, and with it most of
//! a text, does not matter. If brackets or quotes do not match, the text is parsed as it is.
//!
//! This at least halves the time of chunking, and a parser that would fail inside a body recognises
//! the classes around it. Ruby, shell scripts and PHP between other text are parsed whole.

mod braces;
mod indentation;

use std::ops::Range;

use codeinfo_lang::grammar::{BodySyntax, GrammarRules};

pub(super) use self::braces::skip_text;

use super::lines::{SizeLimit, WHOLE};

/// Maximum size of a definition inside no opened node, below [`WHOLE`] for annotations around it.
const DEFINITION: SizeLimit = SizeLimit { lines: WHOLE.lines - 5, bytes: WHOLE.bytes - 300 };

/// Returns the text with only the line ends of bodies; `None` if it cannot be read this way.
pub(super) fn strip_function_bodies(grammar: &GrammarRules, text: &str) -> Option<String> {
    // Without braces, a pair of parentheses extends the function to its last line.
    let (bodies, [opening, closing]) = match grammar.bodies? {
        BodySyntax::Indentation => (indentation::find_bodies(text.as_bytes())?, ["(", ")"]),
        BodySyntax::Braces { lexis, containers } => {
            (braces::find_bodies(lexis, containers, text)?, ["", ""])
        }
    };
    let mut stripped = String::with_capacity(text.len());
    let mut kept = 0;
    for body in bodies {
        stripped.push_str(text.get(kept..body.start)?);
        kept = body.end;
        stripped.push_str(opening);
        stripped.extend(text.get(body)?.matches('\n'));
        stripped.push_str(closing);
    }
    stripped.push_str(text.get(kept..)?);
    Some(stripped)
}

fn is_small_definition(definition: &[u8]) -> bool {
    let trimmed = definition.trim_ascii_start();
    let lines = || trimmed.split(|byte| *byte == b'\n').count();
    trimmed.len() <= DEFINITION.bytes && lines() <= DEFINITION.lines
}

/// Adds a body and removes the bodies inside it.
fn insert_body(bodies: &mut Vec<Range<usize>>, body: Range<usize>) {
    while bodies.last().is_some_and(|inner| body.start < inner.start) {
        bodies.pop();
    }
    bodies.push(body);
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// Returns the length of a string or character with `\` as escape; `None` if it does not end.
fn quoted_length(rest: &[u8], spans_lines: bool) -> Option<usize> {
    string_length(rest, spans_lines).ok()
}

/// Returns the length as [`quoted_length`], or the bytes read as an error if it does not end.
fn string_length(rest: &[u8], spans_lines: bool) -> Result<usize, usize> {
    let quote = rest.first();
    let mut at = 1;
    loop {
        at += match rest.get(at..).unwrap_or_default() {
            [] => return Err(rest.len()),
            [byte, ..] if Some(byte) == quote => return Ok(at + 1),
            [b'\n', ..] if !spans_lines => return Err(at),
            [b'\\', b'\r', b'\n', ..] => 3,
            [b'\\', _, ..] => 2,
            _ => 1,
        };
    }
}

/// Returns the length of a regular expression, or as an error the bytes read if it does not end.
fn regex_length(rest: &[u8]) -> Result<usize, usize> {
    let mut is_class = false;
    let mut at = 1;
    loop {
        at += match rest.get(at..).unwrap_or_default() {
            [] | [b'\n', ..] | [b'\\', b'\n', ..] => return Err(at),
            [b'\\', _, ..] => 2,
            [b'/', ..] if !is_class => return Ok(at + 1),
            [byte, ..] => {
                is_class = *byte == b'[' || is_class && *byte != b']';
                1
            }
        };
    }
}

/// Returns the length of a token that may be a string or an expression. Without an end, it is all
/// bytes read if these were many, so that they are not read again, and otherwise one byte.
fn guess_length(read: Result<usize, usize>) -> usize {
    const MUCH: usize = 256;
    read.unwrap_or_else(|read| if read <= MUCH { 1 } else { read })
}

/// Returns the length of a template, whose placeholders may contain templates.
fn template_length(rest: &[u8]) -> Option<usize> {
    // Open braces in the placeholder around each template, outermost first.
    let mut around = Vec::new();
    let mut braces: Option<usize> = None;
    let mut at = 1;
    loop {
        let rest = rest.get(at..)?;
        let mut length = 1;
        match (rest, braces) {
            ([], _) => return None,
            ([b'\\', _, ..], None) => length = 2,
            ([b'$', b'{', ..], None) => (braces, length) = (Some(0), 2),
            ([b'`', ..], None) if around.is_empty() => return Some(at + 1),
            ([b'`', ..], None) => braces = around.pop(),
            ([b'`', ..], Some(open)) => {
                around.push(open);
                braces = None;
            }
            ([b'{', ..], Some(open)) => braces = Some(open + 1),
            ([b'}', ..], Some(open)) => braces = open.checked_sub(1),
            ([b'"' | b'\'', ..], Some(_)) => length = quoted_length(rest, false)?,
            _ => {}
        }
        at += length;
    }
}

fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::{StructureReader, detect};

    fn stripped(language: &str, text: &str) -> Option<String> {
        match detect::find_language(language).unwrap().reader {
            StructureReader::Grammar(grammar) => super::strip_function_bodies(grammar, text),
            _ => None,
        }
    }

    #[test]
    fn bodies_are_removed_and_definitions_stay() {
        for (language, text, wanted) in [
            ("c", "int f(struct a *b) {\n  return 1;\n}\n", "int f(struct a *b) {\n\n}\n"),
            (
                "c",
                "struct a { int b; };\nint c[] = { 1 };\n",
                "struct a { int b; };\nint c[] = {};\n",
            ),
            (
                "cpp",
                "namespace n { struct A { int f() { return 1; } }; }",
                "namespace n { struct A { int f() {} }; }",
            ),
            ("cpp", "class A : B { int f() { return 1; } };", "class A : B { int f() {} };"),
            ("java", "record A() { void f() { g(); } }", "record A() { void f() {} }"),
            ("php", "<?php trait A { function f() { g(); } }", "<?php trait A { function f() {} }"),
            ("typescript", "namespace a { f(() => { b }) }", "namespace a { f(() => {}) }"),
            ("csharp", "class A { int B { get; set; } }", "class A { int B {} }"),
            (
                "go",
                "type A struct { b int }\nfunc f() { g() }\n",
                "type A struct { b int }\nfunc f() {}\n",
            ),
            ("java", "@T(A.class) void f() { g(); }", "@T(A.class) void f() {}"),
            ("java", "/** class */ void f() { g(); }", "/** class */ void f() {}"),
            ("javascript", "class A {\n  f() {\n    g()\n  }\n}\n", "class A {\n  f() {\n\n}\n}\n"),
            (
                "php",
                "<?php\nfunction f() {'{\n' \"{\\\"{\" # {\n// {\n/* { */ #[A('{')]\n}\n",
                "<?php\nfunction f() {\n\n\n\n}\n",
            ),
            (
                "rust",
                "impl A { fn f(&self) -> impl B { 1 } }",
                "impl A { fn f(&self) -> impl B {} }",
            ),
        ] {
            assert_eq!(stripped(language, text).as_deref(), Some(wanted));
        }
        assert_eq!(stripped("kotlin", "a = {}"), None);
    }

    #[test]
    fn bodies_with_names_or_too_large_ones_stay() {
        let body = "  a\n".repeat(66);
        for (language, text) in [
            ("typescript", "const {\n a,\n} = b({\n c,\n})\n".to_owned()),
            ("typescript", "class A<B = {}, C = {}> extends D<B, {}> {\n}\n".to_owned()),
            ("typescript", "class A extends b({ c: 1 }) {\n d\n}\n".to_owned()),
            ("rust", "impl<const N: usize> A for [B; N] { c!(); }".to_owned()),
            ("rust", "impl<R> A for fn(B) -> R { c!(); }".to_owned()),
            (
                "java",
                "void f() {\n try {\n".to_owned() + &body + "} catch (E e) {}\n" + &body + "}\n",
            ),
            ("tsx", "function A({\n a,\n}: {\n a: B;\n\n\n\n\n\n}) {\n".to_owned() + &body + "}\n"),
        ] {
            let lost = stripped(language, &text).map(|stripped| text.len() - stripped.len());
            assert!(lost.is_none_or(|lost| lost < 15), "{lost:?} {text}");
        }
    }

    #[test]
    fn only_small_parts_of_large_bodies_are_removed() {
        let text = format!("fn f() {{ if a {{ b(); }} {} }}\n", "c(); ".repeat(600));
        assert_eq!(stripped("rust", &text), Some(text.replace(" b(); ", "")));
    }

    #[test]
    fn braces_in_comments_and_strings_do_not_count() {
        for (language, body) in [
            ("c", "'{' '\\'' \"{\\\"{\" /* { */ // {\n"),
            ("c", "\n#define A { \\\n  {\n#error don't {\n1'000;\n"),
            ("cpp", "R\"x({ )\" { )x\""),
            ("csharp", "@\"{\\\" $@\"{\"\"{\" \"\"\"{ \" {\"\"\" '{'"),
            ("go", "`{\\` '{' \"{\""),
            ("java", "\"\"\"\n { \" \"\"\" '{' '\\''"),
            ("javascript", "\n`{ ${a ? `${'}'}{` : {}} \\``; x = /[/{]\\/{/g; a / b / c; '{'\n"),
            ("tsx", "\n<p title='{'>It's {a}</p>; return /{/\n"),
            ("rust", "'{' '\\'' b'{' 'a: r#\"{\"{\"# r\"{\\\" br\"{\" \"\n{\" /* /* { */ { */ '…'"),
        ] {
            let text = format!("f() {{{body}}}\n");
            let lines = "\n".repeat(body.matches('\n').count());
            assert_eq!(stripped(language, &text), Some(format!("f() {{{lines}}}\n")), "{text}");
        }
    }

    #[test]
    fn a_text_whose_braces_do_not_match_is_left_alone() {
        let branches = "void f() {\n#if A\nif (a) {\n#else\nif (b) {\n#endif\n}\n}\n";
        for text in [branches, "}", "{", "f() { \"", "f() { /* }", "f() { ' }"] {
            assert_eq!(stripped("c", text), None, "{text}");
        }
    }

    #[test]
    fn python_functions_extend_to_their_last_lines() {
        for (text, wanted) in [
            ("def f(a):\n    b\n\n    c\nd\n", "def f(a):(\n\n\n)\nd\n"),
            (
                "class A:\n  async  def f(\n a\n):  # b\n    c\n",
                "class A:\n  async  def f(\n a\n):(\n)\n",
            ),
            ("def f(): pass\ndef g():\n\tx = [\n0]\n", "def f(): pass\ndef g():(\n\n)\n"),
            ("def f():\n  a \\\nb\n\n  # c\n# d\n  # e\n", "def f():(\n\n\n\n)\n# d\n  # e\n"),
            (
                "if a:\n  def f():\n    b\n    def g():\n      c\n  d\n",
                "if a:\n  def f():(\n\n\n)\n  d\n",
            ),
            ("class A:\n  def f():\n      b\n    # c\n", "class A:\n  def f():(\n)\n    # c\n"),
            ("b = a[1:\n]\ndefine(a):\n  b\n", "b = a[1:\n]\ndefine(a):\n  b\n"),
        ] {
            assert_eq!(stripped("python", text).as_deref(), Some(wanted));
        }
        let large = format!("def f():\n  def g():\n    a\n{}", "  b\n".repeat(100));
        assert_eq!(stripped("python", &large), Some(large.replace("\n    a", "(\n)")));
    }

    #[test]
    fn strings_and_brackets_of_python_go_over_lines() {
        for body in
            ["\"\"\"a\n'''\nb\\\"\"\"\"", "'a\\\nb'", "r'\\'' # '''", "f(\na\n)", "{'#': '\\''}"]
        {
            let text = format!("def f():\n  {body}\nb\n");
            let lines = "\n".repeat(1 + body.matches('\n').count());
            let wanted = format!("def f():({lines})\nb\n");
            assert_eq!(stripped("python", &text), Some(wanted), "{text}");
        }
        for text in ["def f():\n  'a\n", "def f():\n  (\n", "a)\n", "'''\n"] {
            assert_eq!(stripped("python", text), None, "{text}");
        }
    }

    #[test]
    fn unterminated_text_takes_linear_time() {
        // Each would take minutes if the scan started again at every byte.
        for (language, part) in [
            ("c", "#define A \\\n\n\n"),
            ("java", "\n\n\n/**/"),
            ("javascript", "=/["),
            ("javascript", "=/[\\\n"),
            ("javascript", "'\\"),
            ("javascript", "\\'\\\n"),
            ("javascript", "{"),
            ("javascript", "`${"),
            ("javascript", "a /"),
            ("php", "\"\\"),
            ("python", "(("),
            ("python", "'''\\"),
            ("python", "def f():\n #\n"),
        ] {
            let (open, closed) = (part.repeat(1 << 20), "}".repeat(1 << 20));
            for text in [open.clone(), open + &closed] {
                let lines = |text: &str| text.matches('\n').count();
                let stripped = stripped(language, &text);
                assert!(stripped.is_none_or(|short| lines(&short) == lines(&text)), "{part}");
            }
        }
    }
}
