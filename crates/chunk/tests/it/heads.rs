//! Starts of definitions: the first line of each is in a chunk that has its name, and a cut
//! definition shares no chunk with the one before it.

use codeinfo_chunk::{Chunk, ChunkKind, chunk_text};
use codeinfo_lang::{
    StructureReader,
    detect::{self, detect_language},
    languages,
};

/// Source patterns of definitions in a language, with `{n}` for a number. Lines are repeated.
struct DefinitionPatterns {
    file: &'static str,
    small: &'static str,
    head: &'static str,
    /// A member or a statement, up to the line that is repeated.
    member: &'static str,
    line: &'static str,
    end_of_member: &'static str,
    end: &'static str,
}

const fn make_style(
    file: &'static str,
    small: &'static str,
    large: [&'static str; 5],
) -> DefinitionPatterns {
    let [head, member, line, end_of_member, end] = large;
    DefinitionPatterns { file, small, head, member, line, end_of_member, end }
}

const STYLES: &[DefinitionPatterns] = &[
    make_style(
        "a.py",
        "def small_{n}():\n    return {n}\n",
        [
            "class Large_{n}(Base):\n    kind = {n}\n",
            "    def step(self):\n",
            "        self.run({n})\n",
            "",
            "",
        ],
    ),
    make_style(
        "a.sh",
        "small_{n}() {\n  echo {n}\n}\n",
        ["Large_{n}() {\n", "  if true; then\n", "    echo some more {n}\n", "  fi\n", "}\n"],
    ),
    make_style(
        "a.c",
        "static int small_{n}(int a) {\n  return a + {n};\n}\n",
        ["int Large_{n}(int a) {\n", "  if (a) {\n", "    a += compute({n});\n", "  }\n", "}\n"],
    ),
    make_style(
        "a.cpp",
        "int small_{n}(int a) {\n  return a + {n};\n}\n",
        [
            "class Large_{n} : Base {\n public:\n",
            "  void step() {\n",
            "    run({n});\n",
            "  }\n",
            "};\n",
        ],
    ),
    make_style(
        "a.cs",
        "class small_{n} {\n  int a = {n};\n}\n",
        [
            "class Large_{n} : Base\n{\n  int kind = {n};\n",
            "  void Step() {\n",
            "    Run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.go",
        "func small_{n}() int {\n\treturn {n}\n}\n",
        ["func Large_{n}() {\n", "\tif ok {\n", "\t\trun({n})\n", "\t}\n", "}\n"],
    ),
    make_style(
        "A.java",
        "class small_{n} {\n  int a = {n};\n}\n",
        [
            "class Large_{n} extends Base {\n  int kind = {n};\n",
            "  void step() {\n",
            "    run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.js",
        "function small_{n}() {\n  return {n};\n}\n",
        [
            "class Large_{n} extends Base {\n  kind = {n};\n",
            "  step() {\n",
            "    run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.ts",
        "function small_{n}(): number {\n  return {n};\n}\n",
        [
            "export class Large_{n} extends Base {\n  kind = {n};\n",
            "  step() {\n",
            "    run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.tsx",
        "const small_{n} = () => {\n  return {n};\n};\n",
        [
            "export class Large_{n} extends Base {\n  kind = {n};\n",
            "  step() {\n",
            "    run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.php",
        "function small_{n}() {\n  return {n};\n}\n",
        [
            "class Large_{n} extends Base {\n  private $kind = {n};\n",
            "  function step() {\n",
            "    run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.rb",
        "def small_{n}\n  {n}\nend\n",
        [
            "class Large_{n} < Base\n  KIND = {n}\n",
            "  def step\n",
            "    run({n})\n",
            "  end\n",
            "end\n",
        ],
    ),
    make_style(
        "a.rs",
        "fn small_{n}() -> u32 {\n    {n}\n}\n",
        [
            "pub trait Large_{n} {\n    const KIND: u32 = {n};\n",
            "    fn step(&self) {\n",
            "        run({n});\n",
            "    }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.kt",
        "fun small_{n}(): Int {\n    return {n}\n}\n",
        [
            "class Large_{n} : Base() {\n    val kind = {n}\n",
            "    fun step() {\n",
            "        run({n})\n",
            "    }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.swift",
        "func small_{n}() -> Int {\n    return {n}\n}\n",
        [
            "class Large_{n}: Base {\n    let kind = {n}\n",
            "    func step() {\n",
            "        run({n})\n",
            "    }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.scala",
        "class small_{n} {\n  val a = {n}\n}\n",
        [
            "class Large_{n} extends Base {\n  val kind = {n}\n",
            "  def step() = {\n",
            "    run({n})\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.dart",
        "int small_{n}() {\n  return {n};\n}\n",
        [
            "class Large_{n} extends Base {\n  final kind = {n};\n",
            "  void step() {\n",
            "    run({n});\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.ex",
        "defmodule Small_{n} do\n  def small_{n}, do: {n}\nend\n",
        [
            "defmodule Large_{n} do\n  use Base\n",
            "  def step do\n",
            "    run({n})\n",
            "  end\n",
            "end\n",
        ],
    ),
    make_style(
        "a.lua",
        "local function small_{n}()\n  return {n}\nend\n",
        ["function Large_{n}(a)\n", "  if a then\n", "    run({n})\n", "  end\n", "end\n"],
    ),
    make_style(
        "a.zig",
        "fn small_{n}() u32 {\n    return {n};\n}\n",
        [
            "pub const Large_{n} = struct {\n    kind: u32,\n",
            "    fn step() void {\n",
            "        run({n});\n",
            "    }\n",
            "};\n",
        ],
    ),
    make_style(
        "a.groovy",
        "class small_{n} {\n  int a = {n}\n}\n",
        [
            "class Large_{n} extends Base {\n  int kind = {n}\n",
            "  def step() {\n",
            "    run({n})\n",
            "  }\n",
            "}\n",
        ],
    ),
    make_style(
        "a.pl",
        "sub small_{n} {\n  return {n};\n}\n",
        ["sub Large_{n} {\n", "  if ($a) {\n", "    run({n});\n", "  }\n", "}\n"],
    ),
    make_style(
        "a.jl",
        "function small_{n}()\n  return {n}\nend\n",
        ["function Large_{n}(a)\n", "  if a\n", "    run({n})\n", "  end\n", "end\n"],
    ),
    make_style(
        "a.proto",
        "message small_{n} {\n  int32 a = {n};\n}\n",
        [
            "message Large_{n} {\n  int32 kind = 1;\n",
            "  message Step {\n",
            "    int32 run = {n};\n",
            "  }\n",
            "}\n",
        ],
    ),
];

/// Generates a file, and returns the first line of each definition with its name.
fn generate_file(
    style: &DefinitionPatterns,
    mut random: impl FnMut(usize) -> usize,
) -> (String, Vec<(u32, String)>) {
    let (mut text, mut starts) = (String::new(), Vec::new());
    if style.file.ends_with("php") {
        text.push_str("<?php\n");
    }
    for at in 0..12 {
        let number = |part: &str| part.replace("{n}", &at.to_string());
        let line = u32::try_from(text.lines().count() + 1).unwrap();
        if random(3) > 0 {
            starts.push((line, format!("small_{at}")));
            text.push_str(&number(style.small));
        } else {
            starts.push((line, format!("Large_{at}")));
            text.push_str(&number(style.head));
            for _ in 0..2 + random(4) {
                text.push_str(&number(style.member));
                text.push_str(&number(style.line).repeat(45 + random(30)));
                text.push_str(&number(style.end_of_member));
            }
            text.push_str(&number(style.end));
        }
        text.push_str(if random(2) > 0 { "\n" } else { "\n\n" });
    }
    (text, starts)
}

fn last_name(symbol: &str) -> &str {
    symbol.rsplit(['.', ':', '#']).next().unwrap_or_default()
}

#[test]
fn every_definition_starts_in_a_chunk_that_defines_it() {
    // A linear congruential generator (Knuth's MMIX constants), so that the files are always the
    // same.
    let mut state = 17_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for style in STYLES {
        for _ in 0..6 {
            let (text, starts) = generate_file(style, &mut random);
            let found = chunk_text(detect_language(style.file, &text), &text).chunks;
            for (line, name) in starts {
                let chunk = found.iter().find(|chunk| line <= chunk.end_line).unwrap();
                let place = format!("{}:{line} {name}: {chunk:#?}", style.file);
                let defines = |symbol: &String| last_name(symbol).eq_ignore_ascii_case(&name);
                assert!(chunk.defines.iter().any(defines), "{place}");
                if name.starts_with("Large") {
                    assert!(defines(&chunk.defines[0]), "shares the chunk of another: {place}");
                    let symbol = chunk.symbol.as_deref().unwrap_or_default();
                    assert!(symbol.starts_with(&name), "{place}");
                }
            }
        }
    }
}

#[test]
fn every_parsed_language_has_a_style() {
    let styled: Vec<_> =
        STYLES.iter().filter_map(|style| detect::detect_by_path(style.file)).collect();
    for language in languages::iter_all() {
        let is_parsed =
            matches!(language.reader, StructureReader::Grammar(_)) && language.name != "cuda";
        assert!(styled.contains(&language) || !is_parsed, "{}", language.name);
    }
}

/// Renders the kind and definitions of each chunk, one line each.
fn render_facts(name: &str, text: &str) -> String {
    let fact = |chunk: Chunk<'_>| {
        let symbol = chunk.symbol.as_deref().unwrap_or("-");
        format!("{:?} {symbol}: {}", chunk.kind, chunk.defines.join(" "))
    };
    let facts: Vec<String> =
        chunk_text(detect_language(name, text), text).chunks.into_iter().map(fact).collect();
    facts.join("\n")
}

#[test]
fn a_chunk_of_several_small_definitions_lists_all() {
    let text = "LIMIT = 3\n\ndef a():\n    pass\n\nclass B:\n    def c(self):\n        def inner():\n            pass\n";
    insta::assert_snapshot!(render_facts("a.py", text), @"Head B: LIMIT a B B.c");
    let text = "struct A;\nimpl A {\n    fn new() -> A {\n        A\n    }\n}\nimpl Drop for A {\n    fn drop(&mut self) {}\n}\n";
    insta::assert_snapshot!(render_facts("a.rs", text), @"Head A: A A::new A::drop");
}

#[test]
fn declarations_and_additions_define_nothing() {
    let text = "struct a;\nextern int b;\nint c(struct a *d);\nstruct e {\n  int f;\n};\ntypedef struct g {\n  int h;\n} i;\n#define J 1\nint k = 2;\n";
    insta::assert_snapshot!(render_facts("a.c", text), @"Head e: e i i::g J k");
    insta::assert_snapshot!(render_facts("a.rs", "impl Drop for A {\n    fn drop(&mut self) {}\n}\n"), @"Glue A: A::drop");
    insta::assert_snapshot!(render_facts("a.swift", "extension A {\n    func b() {\n        c()\n    }\n}\n"), @"Glue A: A.b");
    let text = "class Monad m => A m where\n  b :: m a\n\ninstance A IO where\n  b = pure 1\n";
    insta::assert_snapshot!(render_facts("a.hs", text), @"Glue A m: A A m.b A IO.b");
}

#[test]
fn unparsed_lines_are_read_by_their_words() {
    let text = "pin! {\n    #[derive(Debug)]\n    pub struct A<B> {\n        c: D,\n    }\n}\n";
    insta::assert_snapshot!(render_facts("a.rs", text), @"Glue -: A");
}

#[test]
fn macros_of_cpp_on_their_own_lines_hide_no_type() {
    let class = "template <typename T>\nclass A : B {\n  void c() {}\n};\n";
    let text = format!("NS_BEGIN\n{class}  NS_END\nclass D {{\n  Q_OBJECT\n  int e() {{}}\n}};\n");
    insta::assert_snapshot!(render_facts("a.cpp", &text), @"Head A: A A::c D D::e");
    // In C, a word alone on a line may be the type of the function below.
    insta::assert_snapshot!(render_facts("a.c", "MY_TYPE\nf(void) {\n}\n"), @"Head f: f");
}

#[test]
fn syntax_unknown_to_the_c_grammar_hides_no_definition() {
    let split = "#ifdef A\nint b(int c) {\n#else\nint b(long c) {\n#endif\n  return 1;\n}\nint d(void) { return 2; }\n";
    insta::assert_snapshot!(render_facts("a.c", split), @"Head b: b d");
    let split = "class A\n{\n#if B\n    void C() {\n#else\n    void C(int d) {\n#endif\n    }\n    void E() { }\n}\n";
    insta::assert_snapshot!(render_facts("a.cs", split), @"Head A: A A.C A.E");
    let calls = "#define A(n) void n(void) {}\nA_B(c)\nA_B(d)\nint e(int f)\n{\n  return f;\n}\n";
    insta::assert_snapshot!(render_facts("a.c", calls), @"Head e: A e");
    let class =
        "UCLASS()\nclass MY_API A : public B\n{\n\tGENERATED_BODY()\npublic:\n\tvoid c() {}\n};\n";
    insta::assert_snapshot!(render_facts("a.h", class), @"Head A: A A::c");
}

#[test]
fn functions_of_notebooks_are_defined_on_their_lines() {
    let cell = |code: &str| {
        let lines: Vec<String> =
            code.lines().map(|line| format!("    {:?}", format!("{line}\n"))).collect();
        format!(
            "  {{\n   \"cell_type\": \"code\",\n   \"source\": [\n{}\n   ]\n  }}",
            lines.join(",\n")
        )
    };
    let cells =
        [cell("%time\ndef a(x):\n    return x"), cell("class B:\n    def c(self):\n        pass")];
    let text = format!("{{\n \"cells\": [\n{}\n ]\n}}\n", cells.join(",\n"));
    let known = codeinfo_chunk::list_definitions(detect_language("a.ipynb", ""), &text);
    let known: Vec<_> =
        known.iter().map(|one| (one.first, one.last, one.symbol.as_str())).collect();
    assert_eq!(known, [(7, 8, "a"), (14, 16, "B"), (15, 16, "B.c")]);
    let (at, end) = (text.find("a(x)").unwrap(), text.find("return").unwrap());
    let words = [at..at + 1, end..end + 6];
    let places = codeinfo_chunk::classify_words(detect_language("a.ipynb", ""), &text, &words);
    assert_eq!(
        places,
        [codeinfo_chunk::SyntaxContext::Definition, codeinfo_chunk::SyntaxContext::Code]
    );
    assert!(
        chunk_text(detect_language("a.ipynb", ""), &text)
            .chunks
            .iter()
            .any(|one| one.text.contains("time"))
    );
}

#[test]
fn later_parts_of_a_definition_are_not_heads() {
    let body = "    step(one, two, three);\n".repeat(120);
    let kinds: Vec<ChunkKind> =
        chunk_text(detect_language("a.rs", ""), &format!("fn long() {{\n{body}}}\n"))
            .chunks
            .iter()
            .map(|chunk| chunk.kind)
            .collect();
    assert_eq!(kinds[0], ChunkKind::Head);
    assert!(kinds.len() > 1 && kinds[1..].iter().all(|kind| *kind == ChunkKind::Part), "{kinds:?}");
}

#[test]
fn defined_names_are_bounded_and_only_in_the_first_piece_of_a_line() {
    let one = |at| format!("const a{at} = {at}; ");
    let many = (0..2000).map(one).collect::<Vec<_>>().concat();
    let found = chunk_text(detect_language("a.js", ""), &many).chunks;
    assert!(found.len() > 5);
    let names: Vec<usize> = found.iter().map(|chunk| chunk.defines.len()).collect();
    assert!(names[0] == 64 && names[1..].iter().all(|count| *count == 0), "{names:?}");
    let long = format!("class {} {{\n}}\n", "a".repeat(5000));
    let bytes = |chunk: &Chunk<'_>| chunk.defines.iter().map(String::len).sum::<usize>();
    assert!(
        chunk_text(detect_language("a.js", ""), &long)
            .chunks
            .iter()
            .all(|chunk| bytes(chunk) <= 2400)
    );
}

#[test]
fn marks_in_strings_and_line_comments_start_no_block_comment() {
    for (file, line) in [
        ("a.kt", r#"include("**/*.java", "**/*.kt")"#),
        ("a.kt", r#"val separator = listOf('"', "/*")"#),
        ("a.kt", "run() // all of src/*, and test/*"),
        ("a.kt", r#"val text = """a""" + "/*" + "/*""#),
        ("a.kts", r#"exclude("\"/*", "**/*.kts") // don't /*"#),
        ("build.gradle", "exclude 'a', '**/*.java'"),
        ("build.gradle", "sh '''rm \"a\" build/*'''"),
        ("a.swift", r#"let globs = ["**/*.m", "**/*.swift"]"#),
        ("a.scala", r#"val globs = Seq('"', "**/*.scala")"#),
        ("a.dart", "final glob = RegExp(r'a/*');"),
        ("a.tf", "# see modules/*"),
        ("a.tf", r#"source = join("/*", ["a", "/*"])"#),
        ("a.nix", r#"paths = [ "a/*" "b/*" ]; # c/*"#),
        ("a.jl", r##"glob("#=", "#=") # b #= c"##),
        ("a.fs", "let product = List.reduce (*) numbers"),
        ("a.lua", r#"print("[[", "[[", '--[[')"#),
        ("a.lisp", r##"(list #\" "#|" "b") ; "#|"##),
        ("a.hs", r#"glob = ["{-", "{-"] -- don't {- open"#),
        ("a.fish", "rm build/*"),
    ] {
        let (definition, name) = match file.rsplit('.').next().unwrap() {
            "kt" | "kts" => ("fun after() {\n}\n", "after"),
            "gradle" => ("def after() {\n}\n", "after"),
            "swift" => ("func after() {\n}\n", "after"),
            "scala" => ("def after() = {\n}\n", "after"),
            "tf" => ("variable \"after\" {\n}\n", "after"),
            "dart" | "nix" | "fs" | "hs" => ("class After {\n}\n", "After"),
            "lisp" => ("(defun after ()\n  t)\n", "after"),
            _ => ("function after()\nend\n", "after"),
        };
        let end = "/* a */ #= a =# (* a *) [[ a ]] #| a |# {- a -} */ ]] |# -} =# *)\n";
        let text = format!("{line}\n\n{definition}\n{end}");
        assert!(
            render_facts(file, &text).contains(name),
            "{file}: {line}: {}",
            render_facts(file, &text)
        );
    }
}

#[test]
fn block_comments_after_strings_hide_their_lines() {
    for (file, line) in [
        ("a.kt", r#"val a = "x"; /* said "b""#),
        ("a.kt", r#"val a = "//" /* b"#),
        ("a.kt", r#"val a = '"' /* b"#),
        ("a.scala", "val a = b' /* c's"),
        ("build.gradle", "a 'b' /* c"),
        ("a.nix", "a = 1; /* # b"),
    ] {
        let text = format!("{line}\nclass Hidden {{\n}}\n*/\nclass Shown {{\n}}\n");
        let found = render_facts(file, &text);
        assert!(!found.contains("Hidden"), "{file}: {line}: {found}");
        assert!(found.contains("Shown"), "{file}: {line}: {found}");
    }
}

#[test]
fn arrows_in_type_parameters_and_receivers_end_no_group() {
    for (file, line, name) in [
        ("a.kt", "fun <F : (A) -> B> apply() {", "apply"),
        ("a.kt", "fun <K, F : Map<K, (A) -> List<B>>> apply(f: F) {", "apply"),
        ("a.kt", "fun <T> Map<K, (T) -> B>.apply() {", "Map.apply"),
        ("a.kt", "fun List<(A) -> B>?.apply() {", "List.apply"),
        ("a.kt", "fun ((A) -> B).apply() {", "apply"),
        ("a.kt", "fun <A, B> ((A) -> B)?.apply() {", "apply"),
        ("a.kt", "inline fun <reified T : Any> (() -> T).apply() {", "apply"),
        ("a.swift", "func apply<F: (A) -> B>(_ f: F) -> C {", "apply"),
        ("a.swift", "static func < (a: A, b: A) -> Bool {", "<"),
        ("a.swift", "static func <= <T: A>(a: T, b: T) -> Bool {", "<="),
        ("a.scala", "def apply[F[_], G <: A => B](f: F[A => B]): C = {", "apply"),
        ("a.scala", "private[this] def apply[A](f: A => B) = {", "apply"),
    ] {
        let text = format!("{line}\n    first()\n    second()\n}}\n");
        assert!(
            render_facts(file, &text).ends_with(&format!(": {name}")),
            "{line}: {}",
            render_facts(file, &text)
        );
    }
}
