//! Texts that try to take too long or too much.

use std::fmt::Write;

use super::{TestRepository, check_file, check_resolved};

#[test]
fn star_imports_of_all_by_all_end() {
    let names: Vec<String> = (0..40).map(|number| format!("m{number}.py")).collect();
    let mut text = String::new();
    for number in 0..40 {
        writeln!(text, "from m{number} import *").unwrap();
    }
    text.push_str("missing\n");
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    check_resolved(&files, &[("m3.py", "missing", "External")]);
}

#[test]
fn types_that_inherit_twice_at_each_level_end() {
    let mut text = "class C0: \n    def run(self): pass\n".to_owned();
    for level in 1..60 {
        let before = level - 1;
        write!(
            text,
            "class A{level}(C{before}): pass\nclass B{level}(C{before}): pass\nclass C{level}(A{level}, B{level}): pass\n"
        )
        .unwrap();
    }
    text.push_str("C20().run\nC59().missing\n");
    check_file("a.py", &text, &[("C20().run", "a.py:2 run (Own)"), ("C59().missing", "Unknown")]);
}

#[test]
fn types_below_thousands_of_types_end() {
    let mut text = "class C0: \n    def run(self): pass\n".to_owned();
    for level in 1..50_000 {
        writeln!(text, "class C{level}(C{}): pass", level - 1).unwrap();
    }
    text.push_str("C50().run\nC49999().run\n");
    check_file("a.py", &text, &[("C49999().run", "Unknown"), ("C50().run", "a.py:2 run (Own)")]);
}

#[test]
fn values_that_lead_to_one_another_end() {
    let mut text = String::new();
    for number in 0..300 {
        let next = (number + 1) % 300;
        write!(
            text,
            "def f{number}(x):\n    return f{next}(x) if x else g{next}(x)\ndef g{number}(x):\n    return g{next}(x) or f{next}(x)\n"
        )
        .unwrap();
    }
    text.push_str("f0(1).run\n");
    check_file("a.py", &text, &[("f0(1).run", "Unknown")]);
}

#[test]
fn exports_that_are_one_another_end() {
    check_resolved(
        &[
            (
                "a.ts",
                "export { one as two, two as one }\nexports.three = four\nexports.four = three\n",
            ),
            ("b.ts", "import { one, three } from './a'\none()\nthree()\n"),
        ],
        &[("b.ts", "\none", "Unknown"), ("b.ts", "\nthree", "Unknown")],
    );
}

#[test]
fn deep_and_long_texts_are_read_in_part() {
    let texts = [
        format!("x = {}1{}\nend\n", "(".repeat(20_000), ")".repeat(20_000)),
        format!("for {}x{} in y: pass\n", "(".repeat(20_000), ")".repeat(20_000)),
        format!("const {}x{} = y\n", "[".repeat(20_000), "]".repeat(20_000)),
        format!("const x = {}1{}\n", "{a: ".repeat(20_000), "}".repeat(20_000)),
        format!("{} = 1\n{}\n", "a".repeat(70_000), "a".repeat(70_000)),
        format!("x{}\n", ".y".repeat(20_000)),
        format!("x: 'y{}' = 1\n", ".y".repeat(200_000)),
        format!("x.{}\n", "a".repeat(70_000)),
        "f(a.b)\n".repeat(70_000),
    ];
    for text in &texts {
        for path in ["a.py", "a.ts"] {
            let repository = TestRepository::new(&[(path, text)]);
            let Some(facts) = repository.graph.file_facts(0) else { continue };
            assert!(facts.references.len() <= 200_000);
            assert!(facts.definitions.iter().all(|definition| definition.name.len() <= 200));
        }
    }
}

#[test]
fn a_file_of_many_names_is_read_in_linear_time() {
    let mut text = String::new();
    for number in 0..100_000 {
        writeln!(text, "a{number} = 1").unwrap();
    }
    text.push_str("end(a99999)\n");
    check_file("a.py", &text, &[("end(a99999", "a.py:100000 a99999 (Scope)")]);
}

/// Resolves every reference in an order, and returns the results in that of the files.
fn resolve_all(files: &[(&str, &str)], step: usize) -> Vec<String> {
    let repository = TestRepository::new(files);
    let mut references = Vec::new();
    for file in 0..u32::try_from(files.len()).unwrap() {
        let facts = repository.graph.file_facts(file).unwrap();
        references.extend(facts.references.iter().map(|reference| (file, reference)));
    }
    let count = references.len();
    let mut results = vec![String::new(); count];
    for turn in 0..count {
        let place = turn * step % count;
        let (file, reference) = references[place];
        results[place] = format!("{:?}", repository.graph.resolve(file, reference));
    }
    results
}

#[test]
fn results_do_not_depend_on_what_was_resolved_before() {
    let files = [
        (
            "a.py",
            "from b import *\nfrom c import Base\nclass A(Base):\n    def go(self): return self.next().go()\n    def next(self): return B().next()\nx = y\ny = x\nx.go()\nmake().go()\n",
        ),
        (
            "b.py",
            "from a import *\nclass B(A):\n    def next(self): return A() if self else make()\ndef make(): return B().next() or A().go()\nA().next().go()\n",
        ),
        (
            "c.py",
            "from b import B\nclass Base(B):\n    def base(self): return self.go()\n    def go(self): return self\nBase().base().go().next()\n",
        ),
    ];
    let expected = resolve_all(&files, 1);
    for step in [3, 5, 7, 11, 13, 17, 19, 23] {
        if !expected.len().is_multiple_of(step) {
            assert_eq!(resolve_all(&files, step), expected, "step {step}");
        }
    }
}
