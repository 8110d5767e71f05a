//! Classes of words, and the lines and depths of definitions.

use codeinfo_chunk::{SyntaxContext, classify_words, classify_words_quickly, list_definitions};
use codeinfo_lang::detect::detect_language;

/// Classifies each `it` in a text: `d`efinition, `c`ode or `a`side.
fn mark_words(path: &str, text: &str) -> String {
    let words: Vec<_> = text.match_indices("it").map(|(at, _)| at..at + 2).collect();
    render_contexts(classify_words(detect_language(path, text), text, &words))
}

fn render_contexts(places: Vec<SyntaxContext>) -> String {
    let letter = |place| match place {
        SyntaxContext::Definition => 'd',
        SyntaxContext::Code => 'c',
        SyntaxContext::Aside => 'a',
    };
    places.into_iter().map(letter).collect()
}

#[test]
fn words_are_classified_by_the_syntax_tree() {
    for (path, text, wanted) in [
        ("a.rs", "/// it\nfn it(it: u8) { it(it); \"it\"; /* it */ }\n", "adcccaa"),
        (
            "a.rs",
            "struct it;\nimpl it { const it: u8 = 1; }\nmod it { macro_rules! it { () => {} } }\n",
            "dcddd",
        ),
        ("a.rs", "fn f<'it>() { let it = r#\"it\"#; m!(it, \"it\"); }\n", "ccaca"),
        (
            "a.py",
            "def it():\n    \"\"\"it\"\"\"\n    it = f'it {it}'\n    return it  # it\n",
            "dacacca",
        ),
        ("a.py", "it = 1\nclass A:\n    it = 2\n    @it\n    def it(self): pass\n", "ddcd"),
        ("a.js", "const it = () => `it ${it}`; function f() { const it = 1; /it/ }\n", "dacca"),
        ("a.js", "class A { it() {} }\nx = { it() {}, it: 1 };\n", "ddc"),
        ("a.ts", "interface it { it(): string }\ntype B = it;\n", "ddc"),
        ("a.go", "// it\ntype it struct{}\nfunc (x *it) it() { f(`it`, it) }\n", "adcdac"),
        (
            "a.c",
            "#include \"it.h\"\nint it(void);\nint *it(void) { return 'it'; }\n#define it it\n",
            "acdadc",
        ),
        ("a.cpp", "struct it { void it(); };\nvoid it::it() { it(); }\n", "dccdc"),
        ("A.java", "class it { void it() { it(\"it\"); } }\n", "ddca"),
        ("a.rb", "# it\ndef it\n  it \"it #{it}\", :it\nend\n", "adcacc"),
        ("a.php", "<?php // it\nfunction it() { return it(\"it\"); }\n", "adca"),
        ("a.sh", "# it\nit() {\n  it 'it' \"$it\"\n}\n", "adcac"),
        ("A.cs", "class it { void it() { it(\"it\"); } }\n", "ddca"),
    ] {
        assert_eq!(mark_words(path, text), wanted, "{path}: {text}");
    }
}

#[test]
fn words_are_classified_by_marks_and_layout_without_a_tree() {
    for (path, text, wanted) in [
        ("a.lua", "-- it\nfunction it()\n  it('it', \"it\\\" it\")\nend\n", "adcaaa"),
        ("a.kt", "/* it\n it */\nfun it() { it() } // it\n", "aadca"),
        ("a.yaml", "# it\nit: 'it'\n", "acc"),
        ("a.unknown", "it // it\nit's it's\n", "cacc"),
    ] {
        assert_eq!(mark_words(path, text), wanted, "{path}: {text}");
    }
    let text = "fn it() { \"it\" } // it\n/* it\n".to_owned() + &"/* it ".repeat(20_000);
    let words: Vec<_> = text.match_indices("it").map(|(at, _)| at..at + 2).collect();
    let places = classify_words_quickly(detect_language("a.rs", &text), &text, &words);
    assert!(render_contexts(places).starts_with("caac"), "what is not closed is no comment");
}

#[test]
fn deep_trees_and_long_lines_are_walked_once() {
    const DEEP: usize = 20_000;
    let read = |path: &str, text: &str| {
        let words: Vec<_> = text.match_indices("it").map(|(at, _)| at..at + 2).collect();
        render_contexts(classify_words(detect_language(path, text), text, &words))
    };
    let functions = "function it(){\n".repeat(DEEP) + &"}\n".repeat(DEEP);
    assert!(read("a.js", &functions) == "d".repeat(DEEP));
    let calls = format!("it(\n{}{};\n", "g(it,\n".repeat(DEEP), ")".repeat(DEEP + 1));
    assert!(read("a.js", &calls) == "c".repeat(DEEP + 1));
    let list = format!("const it = [{}];\n", "it, 'it', ".repeat(100_000));
    assert!(read("a.js", &list) == "d".to_owned() + &"ca".repeat(100_000));
    let line = "it \"it\" ".repeat(100_000);
    assert!(read("a.lua", &line) == "ca".repeat(100_000));
    let escaped = "it \\\" ".repeat(100_000);
    assert!(read("a.lua", &escaped) == "c".repeat(100_000));
}

#[test]
fn definitions_have_their_lines_and_depth() {
    let read = |path: &str, text: &str| -> Vec<String> {
        let line = |definition: codeinfo_chunk::Definition| {
            format!(
                "{}-{} {} {}",
                definition.first, definition.last, definition.depth, definition.symbol
            )
        };
        list_definitions(detect_language(path, text), text).into_iter().map(line).collect()
    };
    let long = "        value = 1\n".repeat(200);
    let python = format!(
        "@x\nclass A(B):\n    y = 1\n\n    def f(self):\n{long}        return\n\ndef g():\n    pass\n"
    );
    assert_eq!(read("a.py", &python), ["2-206 0 A", "3-3 1 A.y", "5-206 1 A.f", "208-209 0 g"]);
    let rust =
        "struct A;\n\nimpl A {\n    /// Is.\n    fn is() {}\n}\n\nmod m {\n    fn f() {}\n}\n";
    assert_eq!(read("a.rs", rust), ["1-1 0 A", "5-5 0 A::is", "8-10 0 m", "9-9 1 m::f"]);
    let markdown = "# A\n\nText.\n\n## B\n\n```\n# no\n```\n\n## C\n\n# D\n";
    assert_eq!(read("a.md", markdown), ["1-11 0 A", "5-9 1 A > B", "11-11 1 A > C", "13-13 0 D"]);
    let kotlin = "class A {\n    fun f() {\n        g()\n    }\n}\n";
    assert_eq!(read("a.kt", kotlin), ["1-5 0 A", "2-4 1 A.f"]);
    assert!(read("a.txt", "text\n").is_empty());
}
