//! Definitions of which a compiler reads one at a time.

use codeinfo_graph::resolve::ResolutionResult;

use super::{ResolvedFiles, check_file, check_resolved};

/// Returns whether what a marked reference leads to are alternatives.
#[track_caller]
fn leads_to_alternatives(files: &[(&str, &str)], marked: &str, count: usize) -> bool {
    let repository = ResolvedFiles::new(files);
    let (path, text) = files[0];
    let line = u32::try_from(text.split(marked).next().unwrap().matches('\n').count() + 1).unwrap();
    let file = repository.graph.find_file(path).unwrap();
    let references = &repository.graph.file_facts(file).unwrap().references;
    let reference = references.iter().find(|reference| reference.at.0 == line).unwrap();
    let ResolutionResult::Found(found, _) = repository.graph.resolve(file, reference) else {
        panic!("`{marked}` leads nowhere")
    };
    assert_eq!(found.len(), count, "{found:?}");
    repository.graph.are_alternatives(&found)
}

#[test]
fn definitions_of_one_name_in_a_file_of_c_are_alternatives() {
    let text = "\
#if A
static int size(int one) { return one; }
#elif B
#define size(one) one
#else
static int size(void) { return 0; }
#endif
int run(void) {
  return size(1); }
";
    assert!(leads_to_alternatives(&[("a.c", text)], "  return size", 3));
    let twice = "int count = 1;\nint count = 2;\nint run(void) {\n  return count; }\n";
    assert!(!leads_to_alternatives(&[("a.c", twice)], "  return count", 2));
}

#[test]
fn overloads_of_cpp_are_no_alternatives_unless_in_different_branches() {
    let overloads =
        "int f(int a) { return a; }\nint f(char a) { return a; }\nint go() {\n  return f(1); }\n";
    assert!(!leads_to_alternatives(&[("a.cc", overloads)], "  return f", 2));
    let same_branch = format!("#if A\n{overloads}#endif\n");
    assert!(!leads_to_alternatives(&[("a.cc", &same_branch)], "  return f", 2));
    let branches = "#if A\nint f(int a) { return a; }\n#else\nint f(char a) { return a; }\n#endif\nint go() {\n  return f(1); }\n";
    assert!(leads_to_alternatives(&[("a.cc", branches)], "  return f", 2));
}

#[test]
fn definitions_of_one_name_in_a_module_of_rust_or_package_of_go_are_alternatives() {
    let rust =
        "#[cfg(unix)]\nfn open() {}\n#[cfg(not(unix))]\nfn open() {}\nfn go() {\n  open(); }\n";
    assert!(leads_to_alternatives(&[("src/lib.rs", rust)], "  open", 2));
    let go = [
        ("a/a.go", "package a\nfunc run() {\n  open() }\n"),
        ("a/a_linux.go", "package a\nfunc open() {}\n"),
        ("a/a_windows.go", "package a\nfunc open() {}\n"),
    ];
    assert!(leads_to_alternatives(&go, "  open", 2));
    let types = "package a\ntype A struct{}\nfunc (a A) run() {}\ntype B struct{}\nfunc (b B) run() {}\nfunc go(x A) {\n  x.run() }\n";
    check_file("a.go", types, &[("  x.run", "a.go:3 run (Receiver)")]);
}

#[test]
fn the_type_after_a_macro_is_that_of_a_function() {
    let files = [
        ("a.c", "#include \"a.h\"\nvoid run(void) { make(1)->size = 1; }\n"),
        (
            "a.h",
            "#define API static\nstruct part { int size; };\nAPI part_t *make(int sizes[LIMIT]) {}\n#define LIMIT 2\ntypedef struct part part_t;\n",
        ),
    ];
    check_resolved(
        &files,
        &[
            ("a.c", "make(1)->size", "a.h:2 size (Result)"),
            ("a.h", "\nAPI", "a.h:1 API (Scope)"),
            ("a.h", "API part_t", "a.h:5 part_t (Scope)"),
            ("a.h", "[LIMIT", "no reference"),
        ],
    );
}
