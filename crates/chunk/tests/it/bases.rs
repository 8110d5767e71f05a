//! Base types: the types that a type extends or implements, in each parsed language that has them.

use std::time::{Duration, Instant};

use codeinfo_chunk::{Chunk, chunk_text};
use codeinfo_lang::detect::detect_language;

/// Returns the symbol and bases of each chunk of a file in which every definition is cut.
fn render_bases(name: &str, text: &str) -> String {
    let line = |chunk: Chunk<'_>| {
        let symbol = chunk.symbol.unwrap_or_default();
        format!("{symbol}: {}", chunk.bases.join(" "))
    };
    let chunked = chunk_text(detect_language(name, text), text);
    chunked.chunks.into_iter().map(line).collect::<Vec<_>>().join("; ")
}

#[test]
fn chunks_have_the_bases_of_the_enclosing_types() {
    for (file, text, wanted) in [
        ("a.py", "class A(m.B, C[T], metaclass=D):\n    def f(self): pass\n", "A: B C"),
        ("a.rs", "impl<T> fmt::B<T> for A {\n    fn f(&self) {}\n}\n", "A: B"),
        ("a.rs", "trait A: B + m::C<T> + 'static {\n    fn f(&self);\n}\n", "A: B C"),
        (
            "A.java",
            "class A<T> extends m.B<T> implements C, D<E> {\n  void f() {}\n}\n",
            "A: B C D",
        ),
        ("A.java", "interface A extends B, C {\n  void f();\n}\n", "A: B C"),
        ("A.java", "record A(int b) implements C {\n  void f() {}\n}\n", "A: C"),
        ("a.cs", "class A<T> : m.B<T>, C where T : D {\n  void F() {}\n}\n", "A: B C"),
        ("a.cs", "record A(int b) : C(b), D {\n  void F() {}\n}\n", "A: C D"),
        ("a.js", "class A extends m.B {\n  f() {}\n}\n", "A: B"),
        ("a.ts", "abstract class A<T> extends B<T> implements C, m.D {\n  f() {}\n}\n", "A: B C D"),
        ("a.ts", "export interface A extends B, m.C<T> {\n  f(): void;\n}\n", "A: B C"),
        ("a.tsx", "class A extends B {\n  f() {}\n}\n", "A: B"),
        (
            "a.php",
            "<?php\nclass A extends \\m\\B implements C, D {\n  function f() {}\n}\n",
            "A: B C D",
        ),
        ("a.php", "<?php\ninterface A extends B {\n  function f();\n}\n", "A: B"),
        ("a.rb", "class A < M::B\n  def f\n  end\nend\n", "A: B"),
        ("a.cpp", "class A : public m::B<T>, virtual private C {\n  void f() {}\n};\n", "A: B C"),
        ("a.cpp", "class A :\n  B,\n  C\n{\n  void f() {}\n};\n", "A: B C"),
    ] {
        let found = render_bases(file, text);
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
fn bases_do_not_apply_after_a_type_or_in_nested_types() {
    let long = "        step(one, two, three)\n".repeat(40);
    let method = |name: &str| format!("    def {name}(self):\n{long}\n");
    let inner = format!("    class D:\n        def e(self):\n{long}\n");
    let text = format!(
        "class A(B):\n{}{inner}{}\ndef g():\n{long}\nclass H(I): pass\n",
        method("c"),
        method("f")
    );
    assert_eq!(render_bases("a.py", &text), "A.c: B; A.D.e: ; A.f: B; g: ; H: I");
}

#[test]
fn bases_of_bases_in_the_file_are_included_even_in_a_cycle() {
    let long = "        step(one, two, three)\n".repeat(40);
    let class = |head: &str| format!("class {head}:\n    def f(self):\n{long}\n");
    let text = ["A(B, C)", "B(m.D)", "D(A, E)", "E(Outside)"].map(class).concat();
    assert_eq!(
        render_bases("a.py", &text),
        "A.f: B C D E Outside; B.f: D A E C Outside; D.f: A E B C Outside; E.f: Outside"
    );
}

#[test]
fn a_chunk_of_several_types_has_all_bases_without_duplicates() {
    let text = "class A(B):\n    pass\n\nclass C(D, B):\n    pass\n";
    assert_eq!(render_bases("a.py", text), "C: B D");
}

#[test]
fn bases_are_bounded_in_number_and_length() {
    let many: Vec<String> = (0..100).map(|at| format!("B{at}")).collect();
    let text = format!("class A({}):\n    pass\n", many.join(", "));
    assert_eq!(render_bases("a.py", &text), format!("A: {}", many[..16].join(" ")));
    let classes: Vec<String> = (0..30).map(|at| format!("class A{at}(B{at}): pass\n")).collect();
    let first = render_bases("a.py", &classes.concat());
    assert_eq!(first.split(';').next().map(|chunk| chunk.matches('B').count()), Some(16));
    let text = format!("class A({}, B):\n    pass\n", "b".repeat(100));
    assert_eq!(render_bases("a.py", &text), "A: B");
}

#[test]
fn types_with_hostile_numbers_of_bases_take_linear_time() {
    // Each would take minutes if all bases were followed.
    let all = |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>();
    let chain = all(10_000, |at| format!("class A{at}(A{}): pass\n", at + 1)).concat();
    let wide = all(50_000, |at| format!("A{at}"));
    let children = all(50_000, |at| format!("class C{at}(A): pass\n")).concat();
    for text in [chain, format!("class A({}): pass\n{children}", wide.join(", "))] {
        let start = Instant::now();
        assert!(render_bases("a.py", &text).contains(" A14"));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
