//! Chunks follow the structure of each language and contain every line.
#![cfg(test)]

mod bases;
mod cut;
mod heads;
mod highlight;
mod languages;
mod word_context;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use codeinfo_chunk::{Chunk, chunk_text};
use codeinfo_lang::detect::detect_language;
use insta::assert_snapshot;

use crate::cut::check_chunks;

#[test]
fn long_functions_are_cut_at_statements_and_keep_their_name() {
    let statements = |from: usize| {
        let one = |at| format!("    let value_{at} = compute({at});\n");
        (from..from + 50).map(one).collect::<Vec<_>>().concat()
    };
    let body = format!("{}\n    if done {{\n{}    }}\n", statements(0), statements(50));
    let text = format!("/// Does a lot.\nfn long() {{\n{body}}}\n\nfn short() {{}}\n");
    assert_snapshot!(render_chunks("long.rs", &text), @"
    1-52 long
    54-106 long
    108-108 short
    ");
}

#[test]
fn runs_of_short_definitions_and_clauses_of_one_function_are_joined() {
    let types = "struct a;\nstruct b;\ntypedef struct c c_t;\n\nstruct d;\n\nint f(void) {\n    return 1;\n}\n";
    assert_snapshot!(render_chunks("types.h", types), @"1-9 f");
    let clauses = "defmodule A do\n  def b(0), do: 1\n\n  def b(1) do\n    2\n  end\nend\n";
    let many = "    # and more, so that the module is opened\n".repeat(40);
    let text = format!(
        "{clauses}\ndefmodule C do\n  def d(0), do: 1\n\n  def d(1) do\n    2\n  end\n\n{many}end\n"
    );
    assert_snapshot!(render_chunks("a.ex", &text), @"
    1-7 A
    9-10 C.d
    12-56 C.d
    ");
}

#[test]
fn later_pieces_of_a_definition_have_its_signature() {
    let rows = (0..200)
        .map(|at| format!("| {at} | what stands there at length |\n"))
        .collect::<Vec<_>>()
        .concat();
    let table = format!("# Table\n\n| Name | What |\n|---|---|\n{rows}");
    let body = "    step(one, two, three);\n".repeat(100);
    let code = format!("/// Does a lot.\nfn long(\n    one: One,\n) -> Two {{\n{body}}}\n");
    let method = format!("class A {{\n  @Override\n  // Why.\n  void f() {{\n{body}  }}\n}}\n");
    let signatures: Vec<Option<String>> = [("a.md", table), ("a.rs", code), ("A.java", method)]
        .iter()
        .flat_map(|(name, text)| chunk_text(detect_language(name, text), text).chunks)
        .map(|chunk| chunk.signature)
        .collect();
    insta::assert_debug_snapshot!(signatures, @r#"
    [
        None,
        None,
        Some(
            "| Name | What |",
        ),
        Some(
            "| Name | What |",
        ),
        Some(
            "| Name | What |",
        ),
        None,
        Some(
            "fn long( one: One, ) -> Two {",
        ),
        None,
        Some(
            "void f() {",
        ),
    ]
    "#);
}

#[test]
fn statements_of_a_routine_are_part_of_it() {
    let routine = "CREATE FUNCTION used()\nBEGIN\n  UPDATE a SET b = 1;\n  IF c THEN\n    SELECT 1;\n  END IF;\nEND;\n";
    let table = "CREATE TABLE shelves (\n  id INT,\n  room TEXT\n);\n";
    let text = [routine, table].map(|one| format!("{one}{}", "-- More.\n".repeat(30))).concat();
    assert_snapshot!(render_chunks("a.sql", &text), @"
    1-7 used
    8-41 shelves
    42-71
    ");
}

#[test]
fn comments_lead_to_definitions_in_languages_without_a_layout_of_their_own() {
    let lines = "    x := 1;\n".repeat(30);
    for (name, mark) in [("a.adb", "--"), ("a.cr", "#"), ("a.d", "//")] {
        let why = format!("{mark} Says why.\n").repeat(8);
        let one = |name: &str| format!("{why}function {name} is\n{lines}end;\n\n");
        let text = [one("first"), one("second")].concat();
        assert_eq!(render_chunks(name, &text), "1-40 first\n42-81 second", "{name}");
    }
}

#[test]
fn hostile_layouts_take_linear_time() {
    let nested = |depth| format!("{}class A {{\n", " ".repeat(depth));
    let deep = (0..1500).map(nested).collect::<Vec<_>>().concat();
    let texts = [
        deep,
        "x".repeat(5_000_000),
        "\"\"\" /* [[ {- ".repeat(100_000),
        "a /* b\n".repeat(100_000),
        "@a(\n".repeat(100_000),
        "| a |\n".repeat(100_000),
        "<script>\n".repeat(100_000),
        "## a\n".repeat(100_000),
        "CREATE FUNCTION f $a$\n".repeat(30_000),
    ];
    let names = [
        "a.kt", "a.lua", "a.hs", "a.css", "a.yaml", "a.json", "a.md", "a.rst", "a.html", "a.sql",
        "a.tf",
    ];
    for (at, text) in texts.iter().enumerate() {
        for name in names {
            let started = Instant::now();
            let chunks = chunk_text(detect_language(name, text), text).chunks.len();
            let elapsed = started.elapsed();
            assert!(
                elapsed < Duration::from_secs(20),
                "{name}, text {at}: {chunks} in {elapsed:?}"
            );
        }
    }
}

#[test]
fn long_comments_belong_to_the_following_definition() {
    let text = format!("{}fn described() {{}}\n", "/// A line of documentation.\n".repeat(100));
    assert_snapshot!(render_chunks("described.rs", &text), @"
    1-60 described
    61-101 described
    ");
}

#[test]
fn nothing_is_lost_and_nothing_overlaps() {
    for (name, text) in read_fixtures() {
        check_chunks(&name, &text);
        check_chunks(&name, &text.replace('\n', "\r\n"));
        check_chunks(&name, &text.repeat(8));
    }
}

#[test]
fn damaged_files_are_cut_too() {
    for (name, text) in read_fixtures() {
        for part in 1..10 {
            let at = text.floor_char_boundary(text.len() * part / 10);
            let (before, after) = text.split_at(at);
            check_chunks(&name, before);
            check_chunks(&name, after);
            check_chunks(&name, &format!("{after}{before}"));
        }
        check_chunks(&name, &text.replace(['}', ')'], ""));
        check_chunks(&name, &text.replace('\n', " "));
        check_chunks(&name, &text.chars().rev().collect::<String>());
    }
}

#[test]
fn hostile_texts_are_cut_in_every_language() {
    let odd = [
        String::new(),
        "\n\n \n\t\n".to_owned(),
        "x".to_owned(),
        "\r".to_owned(),
        "é".repeat(20_000),
        "(".repeat(20_000),
        "{\n".repeat(5_000),
        "fn f() {\n".repeat(2_000),
        "class A {\n".repeat(2_000),
        "- ".repeat(400),
        "# ".repeat(2_000),
        "if x then\n".repeat(2_000),
        "\u{1f980}\u{0}\u{200b}\n".repeat(500),
        "12345, ".repeat(3_000),
    ];
    for (name, _) in read_fixtures() {
        for text in &odd {
            check_chunks(&name, text);
        }
    }
}

#[test]
fn noise_is_cut_in_every_language() {
    let pieces: Vec<&str> = "fn |class |def |{|}|(|)|\n|\n\n|    |\"|'|`|#|//|/*|*/|<<EOF\n|=> |= |; |x|é|<|>|\t|end\n|---\n"
        .split('|')
        .collect();
    // A linear congruential generator (Knuth's MMIX constants), so that the noise is always the
    // same.
    let mut state = 7_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]
    };
    for (name, _) in read_fixtures() {
        for _ in 0..4 {
            check_chunks(&name, &(0..2000).map(|_| next()).collect::<String>());
        }
    }
}

fn render_fixture(fixture: &str) -> String {
    render_chunks(fixture, &fs::read_to_string(fixture_folder().join(fixture)).unwrap())
}

fn render_chunks(name: &str, text: &str) -> String {
    let line = |chunk: Chunk<'_>| {
        let symbol = chunk.symbol.unwrap_or_default();
        format!("{}-{} {symbol}", chunk.start_line, chunk.end_line).trim_end().to_owned()
    };
    let lines: Vec<String> =
        chunk_text(detect_language(name, text), text).chunks.into_iter().map(line).collect();
    lines.join("\n")
}

fn read_fixtures() -> Vec<(String, String)> {
    let mut fixtures: Vec<(String, String)> = fs::read_dir(fixture_folder())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    fixtures.sort();
    assert_eq!(fixtures.len(), 40);
    fixtures
}

fn fixture_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}
