//! Texts that try to take too long or too much.

use super::{TestRepository, check};

#[test]
fn star_imports_of_all_by_all_end() {
    let names: Vec<String> = (0..40).map(|at| format!("m{at}.py")).collect();
    let stars: String = (0..40).map(|at| format!("from m{at} import *\n")).collect();
    let text = stars + "missing\n";
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    check(&files, &[("m3.py", "missing", "External")]);
}

#[test]
fn types_that_inherit_twice_at_each_level_end() {
    let mut text = "class C0: \n    def run(self): pass\n".to_owned();
    for at in 1..60 {
        let before = at - 1;
        text += &format!(
            "class A{at}(C{before}): pass\nclass B{at}(C{before}): pass\nclass C{at}(A{at}, B{at}): pass\n"
        );
    }
    text += "C20().run\nC59().missing\n";
    check(
        &[("a.py", &text)],
        &[("a.py", "C20().run", "a.py:2 run (Own)"), ("a.py", "C59().missing", "Unknown")],
    );
}

#[test]
fn values_that_lead_to_one_another_end() {
    let mut text = String::new();
    for at in 0..300 {
        let next = (at + 1) % 300;
        text += &format!(
            "def f{at}(x):\n    return f{next}(x) if x else g{next}(x)\ndef g{at}(x):\n    return g{next}(x) or f{next}(x)\n"
        );
    }
    text += "f0(1).run\n";
    check(&[("a.py", &text)], &[("a.py", "f0(1).run", "Unknown")]);
}

#[test]
fn deep_and_long_texts_are_read_in_part() {
    let deep = format!("x = {}1{}\nend\n", "(".repeat(20_000), ")".repeat(20_000));
    let long = format!("{} = 1\n{}\n", "a".repeat(70_000), "a".repeat(70_000));
    let chain = format!("x{}\n", ".y".repeat(20_000));
    let many = "f(a.b)\n".repeat(150_000);
    for text in [&deep, &long, &chain, &many] {
        for path in ["a.py", "a.ts"] {
            let repository = TestRepository::new(&[(path, text)]);
            for (_, facts) in repository.graph.files() {
                assert!(facts.references.len() <= 200_000);
                assert!(facts.definitions.iter().all(|definition| definition.name.len() <= 200));
            }
        }
    }
}

/// Resolves every reference in an order, and returns the results in that of the files.
fn resolve_all(files: &[(&str, &str)], step: usize) -> Vec<String> {
    let repository = TestRepository::new(files);
    let mut all = Vec::new();
    for (file, (_, facts)) in repository.graph.files().enumerate() {
        for (at, reference) in facts.references.iter().enumerate() {
            all.push((file, at, reference));
        }
    }
    let count = all.len();
    let mut results = vec![String::new(); count];
    for turn in 0..count {
        let place = turn * step % count;
        let (file, _, reference) = all[place];
        results[place] =
            format!("{:?}", repository.graph.resolve(u32::try_from(file).unwrap(), reference));
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
        if expected.len() % step != 0 {
            assert_eq!(resolve_all(&files, step), expected, "step {step}");
        }
    }
}
