//! Texts that try to take too long or too much.

use std::fmt::Write;

use super::{ResolvedFiles, check_file, check_resolved};

#[test]
fn star_imports_of_every_file_by_every_file_terminate() {
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
fn types_that_inherit_twice_at_each_level_terminate() {
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
fn types_below_thousands_of_types_terminate() {
    let mut text = "class C0: \n    def run(self): pass\n".to_owned();
    for level in 1..50_000 {
        writeln!(text, "class C{level}(C{}): pass", level - 1).unwrap();
    }
    text.push_str("C50().run\nC49999().run\n");
    check_file("a.py", &text, &[("C49999().run", "Unknown"), ("C50().run", "a.py:2 run (Own)")]);
}

#[test]
fn functions_of_functions_stay_small() {
    let mut text = "class B0 {}\ntype A0 = B0\n".to_owned();
    for level in 1..16 {
        let before = level - 1;
        writeln!(
            text,
            "type A{level} = (a: A{before}, b: A{before}, c: A{before}, d: A{before}) => A{before}"
        )
        .unwrap();
    }
    text.push_str("function f(b: A15) { b.missing() }\n");
    check_file("a.ts", &text, &[("b.missing", "External")]);
}

#[test]
fn attributes_of_one_item_are_read_once() {
    let text = format!("{}fn f() {{ g(1) }}\nfn g(_: u8) {{}}\n", "#[test]\n".repeat(20_000));
    check_file("a.rs", &text, &[("{ g", "a.rs:20002 g (Scope)")]);
}

#[test]
fn values_that_lead_to_each_other_terminate() {
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
fn exports_that_name_each_other_terminate() {
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
            let repository = ResolvedFiles::new(&[(path, text)]);
            let Some(facts) = repository.graph.file_facts(0) else { continue };
            assert!(facts.references.len() <= 200_000);
            assert!(facts.definitions.iter().all(|definition| definition.name.len() <= 200));
        }
    }
}

#[test]
fn deep_and_long_texts_of_typed_languages_are_read_in_part() {
    let calls = "f(a.b);\n".repeat(80_000);
    let name = "a".repeat(70_000);
    let named = format!("struct {name} {{ int {name}; }}; class {name} {{ void {name}() {{}} }}\n");
    let texts = [
        ("a.rs", format!("fn f() {{\n{calls}}}\n")),
        ("A.java", format!("class A {{ void f() {{\n{calls}}} }}\n")),
        ("a.go", format!("package a\nfunc {name}() {{}}\n")),
        ("a.rs", format!("fn f() {{ {}1{} }}\n", "a!{\n".repeat(2_000), "}\n".repeat(2_000))),
        ("a.rs", format!("{}{}\n", "a!{\nfn f() {}\n".repeat(2_000), "}\n".repeat(2_000))),
        ("a.rs", format!("fn f() {{ {} }}\n", "let x = x.y();\n".repeat(20_000))),
        ("a.rs", format!("use a::{}b{};\n", "{c::".repeat(2_000), "}".repeat(2_000))),
        ("a.rs", format!("struct {name};\nfn {name}() {{}}\n")),
        ("a.c", format!("int {}x{};\n", "(*".repeat(2_000), ")(int)".repeat(2_000))),
        ("a.c", format!("{}\n", "struct A { ".repeat(2_000))),
        ("a.c", named.clone()),
        ("a.cpp", format!("{}x\n", "a::".repeat(20_000))),
        ("a.cpp", named.clone()),
        ("A.cs", format!("class A {{ int x = {}1{}; }}\n", "f(".repeat(2_000), ")".repeat(2_000))),
        ("A.cs", named.clone()),
        ("A.java", named),
        ("A.java", format!("import a{};\n", ".b".repeat(20_000))),
        ("a.go", format!("package a\nvar x = T{}{}\n", "{".repeat(2_000), "}".repeat(2_000))),
        ("a.php", format!("<?php\nclass {name} extends {name} {{ function {name}() {{}} }}\n")),
        (
            "a.php",
            format!("<?php\nuse a{};\nnew a{}\\{name};\n", "\\b".repeat(20_000), "\\b".repeat(40)),
        ),
        ("a.php", format!("<?php\n{}$x{};\n", "(".repeat(5_000), ")".repeat(5_000))),
        ("a.php", format!("<?php\n{}\n", "$a->f($b);\n".repeat(110_000))),
        ("a.php", format!("<?php\n$x{};\n", "->y()".repeat(5_000))),
        ("a.rb", format!("class {name}::B\n def {name}; {name} = 1; {name}; end\nend\n")),
        ("a.rb", format!("{}def f; x; end\n{}", "module A\n".repeat(2_000), "end\n".repeat(2_000))),
        ("a.rb", "a b, c, d\n".repeat(70_000)),
        ("a.rb", format!("x{}\n", ".y".repeat(20_000))),
        ("a.rb", format!("def f\n{}end\n", "x = x.y\n".repeat(20_000))),
        ("a.rb", format!("{}1{}\n", "x [".repeat(3_000), "]".repeat(3_000))),
        ("a.sh", format!("{name}() {{ {name}; }}\n{}", "a \"$(b)\"\n".repeat(110_000))),
        ("a.sh", format!("a \"{}{}\"\n", "$(a ".repeat(2_000), ")".repeat(2_000))),
        ("a.sh", format!("source {}\n", "../".repeat(30_000))),
        ("a.lua", format!("function {name}()\nend\n{}", "a(b(c(\n".repeat(70_000))),
        ("a.lua", "(".repeat(100_000)),
        ("a.kt", format!("{}fun f() = g()\n", "class A {\n".repeat(5_000))),
    ];
    for (path, text) in &texts {
        let repository = ResolvedFiles::new(&[(path, text)]);
        let Some(facts) = repository.graph.file_facts(0) else { continue };
        assert!(facts.references.len() <= 200_000);
        assert!(facts.definitions.iter().all(|definition| definition.name.len() <= 200));
        for reference in facts.references.iter().step_by(997) {
            repository.graph.resolve(0, reference);
        }
    }
}

#[test]
fn a_file_of_many_names_is_read_in_linear_time() {
    let mut text = String::new();
    for number in 0..30_000 {
        writeln!(text, "a{number} = 1").unwrap();
    }
    text.push_str("end(a29999)\n");
    check_file("a.py", &text, &[("end(a29999", "a.py:30000 a29999 (Scope)")]);
}

#[test]
fn files_that_include_and_types_that_extend_each_other_terminate() {
    let names: Vec<String> = (0..60).map(|number| format!("m{number}.h")).collect();
    let mut text = String::new();
    for number in 0..60 {
        writeln!(text, "#include \"m{number}.h\"").unwrap();
    }
    text.push_str("class A : public A, public B { void run() { missing(); } };\nvoid A::go() { run(); lost(); }\nvoid B::go() { missing(); }\n");
    let mut files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    files.push(("a.cc", "#include \"m0.h\"\nint main() { missing(); A a; a.lost(); }\n"));
    check_resolved(&files, &[("a.cc", "{ missing", "External"), ("a.cc", "a.lost", "External")]);
    let rust = "struct A;\nimpl<T: B> C for T {}\nimpl B for <A as C>::D { fn b(&self) { self.c() } }\ntrait B: C { type D; }\ntrait C: B { fn c(&self); }\ntype X = Y;\ntype Y = X;\nfn f(x: X) { x.c() }\n";
    check_file("a.rs", rust, &[("{ x.c", "Unknown")]);
}

#[test]
fn scripts_that_source_and_types_that_include_one_another_end() {
    let names: Vec<String> = (0..60).map(|number| format!("m{number}.sh")).collect();
    let mut text = String::new();
    for number in 0..60 {
        writeln!(text, ". m{number}.sh").unwrap();
    }
    text.push_str("missing\n");
    let files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    check_resolved(&files, &[("m7.sh", "missing", "External")]);
    let ruby = "module A\n  include B\n  extend A\n  def go; lost; stay; end\nend\nmodule B\n  include A\n  extend C::D\n  def stay; A.lost; end\nend\nclass X < Y; end\nclass Y < X; end\nX.new.lost\n";
    check_file(
        "a.rb",
        ruby,
        &[("go; lost", "Unknown"), ("lost; stay", "a.rb:9 stay (Own)"), ("new.lost", "Unknown")],
    );
    let php = "<?php\nclass A extends B { use T; function go() { $this->lost(); } }\nclass B extends A {}\ntrait T { use T; }\n";
    check_file("a.php", php, &[("this->lost", "Unknown")]);
}

#[test]
fn a_type_of_many_parts_is_read_in_linear_time() {
    let mut text = String::new();
    for number in 0..5_000 {
        write!(
            text,
            "module A\n  class B{number}\n    def go; B{number}.new.go; end\n  end\nend\n"
        )
        .unwrap();
    }
    let repository = ResolvedFiles::new(&[("a.rb", &text)]);
    for reference in &repository.graph.file_facts(0).unwrap().references {
        let result = format!("{:?}", repository.graph.resolve(0, reference));
        assert!(result.starts_with("Found"), "{result}");
    }
}

/// Resolves every reference in an order, and returns the results in that of the files.
fn resolve_all(files: &[(&str, &str)], step: usize) -> Vec<String> {
    let repository = ResolvedFiles::new(files);
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
    check_orders(&files);
    let ruby = "module A\n  class B < C\n    include D\n    def go; @x = next_one.go; late.go; end\n    def next_one; B.new.go; end\n  end\n  class C\n    include D\n    def late; B.make.next_one; end\n    def self.make; A::B.new; end\n  end\n  module D\n    def go; late.next_one; end\n  end\nend\nA::B.make.go.go\n";
    check_orders(&[("a.rb", ruby), ("b.rb", "module A::D\n  def late; C.make.late; end\nend\n")]);
}

/// Checks that results are the same in several orders.
fn check_orders(files: &[(&str, &str)]) {
    let expected = resolve_all(files, 1);
    for step in [3, 5, 7, 11, 13, 17, 19, 23] {
        if !expected.len().is_multiple_of(step) {
            assert_eq!(resolve_all(files, step), expected, "step {step}");
        }
    }
}

#[test]
fn tuples_of_tuples_are_bounded() {
    let mut text = "from typing import TypeVar\nT = TypeVar('T')\nclass A:\n    def run(self): pass\ndef twice(x: T) -> tuple[T, T, T]: ...\na0 = A()\nb0 = A()\n".to_owned();
    for level in 1..80 {
        let before = level - 1;
        write!(
            text,
            "a{level} = (a{before}, a{before}, a{before}, a{before}, a{before}, a{before})\nb{level} = twice(b{before})\n"
        )
        .unwrap();
    }
    text.push_str("a2[0][0].run()\nb2[0][0].run()\na79[0][0].run()\nb79[0][0].run()\n");
    check_file(
        "a.py",
        &text,
        &[
            ("a2[0][0].run", "a.py:4 run (Receiver)"),
            ("b2[0][0].run", "a.py:4 run (Result)"),
            ("a79[0][0].run", "External"),
            ("b79[0][0].run", "External"),
        ],
    );
}
