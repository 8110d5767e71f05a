//! Chunks follow the structure of each language, and whatever the text, nothing is lost.
#![cfg(test)]

mod cut;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use codeinfo_chunk::{Chunk, chunks};
use codeinfo_lang::detect::language;
use insta::assert_snapshot;

use crate::cut::check;

#[test]
fn bash_follows_its_definitions() {
    assert_snapshot!(outline("inventory.sh"), @"
    1-15 used
    17-36 put
    38-47 usage
    ");
}

#[test]
fn c_follows_its_definitions() {
    assert_snapshot!(outline("inventory.c"), @"
    1-20 entry_t
    22-38 find
    40-47 used
    49-72 shelf_put
    74-79 shelf_callback
    ");
}

#[test]
fn cpp_follows_its_definitions() {
    assert_snapshot!(outline("inventory.cpp"), @"
    1-14 inventory::Shortage
    16-33 inventory::Shelf
    35-49 inventory::Shelf::put
    51-70 inventory::describe
    72-74 inventory_version
    ");
}

#[test]
fn csharp_follows_its_definitions() {
    assert_snapshot!(outline("Inventory.cs"), @"
    1-15 Example.Inventory.ICounter
    17-31 Example.Inventory.Shelf
    33-47 Example.Inventory.Shelf.Put
    49-70 Example.Inventory.Shelf.Take
    ");
}

#[test]
fn go_follows_its_definitions() {
    assert_snapshot!(outline("inventory.go"), @"
    1-23 Shelf
    25-33 New
    35-54 Shelf.Put
    56-70 Shelf.Take
    72-83 Pair.String
    ");
}

#[test]
fn java_follows_its_definitions() {
    assert_snapshot!(outline("Inventory.java"), @"
    1-22 Inventory
    24-40 Inventory.put
    42-58 Inventory.take
    60-77 Inventory.ShortageException
    79-85 Order
    ");
}

#[test]
fn javascript_follows_its_definitions() {
    assert_snapshot!(outline("inventory.js"), @"
    1-17 EMPTY
    19-29 put
    31-40 exports.take
    42-61 Store
    ");
}

#[test]
fn markdown_follows_its_headings() {
    assert_snapshot!(outline("inventory.md"), @"
    1-20 Inventory > Install
    22-46 Inventory > Usage
    48-60 Inventory > Why is the capacity 500?
    ");
}

#[test]
fn php_follows_its_definitions() {
    assert_snapshot!(outline("inventory.php"), @"
    1-19 Counter
    21-40 Shelf::__construct
    42-56 Shelf::put
    58-75 Shelf::take
    77-90 total
    ");
}

#[test]
fn python_follows_its_definitions() {
    assert_snapshot!(outline("inventory.py"), @"
    1-11 Shortage
    14-27 Shelf
    29-52 Shelf.take
    54-68 Shelf.load
    71-77 main
    ");
}

#[test]
fn ruby_follows_its_definitions() {
    assert_snapshot!(outline("inventory.rb"), @"
    1-11 Inventory::Shortage
    13-33 Inventory::Shelf::load
    35-57 Inventory::Shelf::put
    59-67 Inventory::Shelf::empty
    ");
}

#[test]
fn rust_follows_its_definitions() {
    assert_snapshot!(outline("inventory.rs"), @"
    1-24 Shelf
    26-46 Shelf::put
    48-68 Shelf::take
    70-74 Vec
    76-86 tests::a_full_shelf_takes_nothing
    ");
}

#[test]
fn tsx_follows_its_definitions() {
    assert_snapshot!(outline("inventory.tsx"), @"
    1-7 Props
    9-26 ShelfView
    28-36 ShelfList
    ");
}

#[test]
fn typescript_follows_its_definitions() {
    assert_snapshot!(outline("inventory.ts"), @"
    1-19 Counter
    21-33 Shelf
    35-49 Shelf.put
    51-63 Shelf.take
    65-76 Shelf.load
    78-94 Reports
    ");
}

#[test]
fn css_follows_its_rules() {
    assert_snapshot!(outline("inventory.css"), @"
    1-20 .shelf
    22-43 .button
    45-54 @media (max-width: 40em)
    ");
}

#[test]
fn dart_follows_its_definitions() {
    assert_snapshot!(outline("inventory.dart"), @"
    1-17 Shortage
    19-30 Shelf.Shelf.of
    32-46 Shelf.put
    48-62 Shelf.take
    64-68 total
    ");
}

#[test]
fn dockerfiles_follow_their_stages() {
    assert_snapshot!(outline("Dockerfile"), @"
    1-15 build
    16-28 debian:bookworm-slim
    ");
}

#[test]
fn elixir_follows_its_definitions() {
    assert_snapshot!(outline("inventory.ex"), @"
    1-19 Example.Inventory.used
    21-38 Example.Inventory.put
    40-62 Example.Inventory.take
    64-66 String.Chars, for: Example.Inventory
    ");
}

#[test]
fn haskell_follows_its_definitions() {
    assert_snapshot!(outline("inventory.hs"), @"
    1-22 Shelf
    24-43 put
    45-56 take'
    ");
}

#[test]
fn html_follows_its_headings_and_scripts() {
    assert_snapshot!(outline("inventory.html"), @"
    1-11 .shelf
    12-29 Inventory
    31-41 used
    ");
}

#[test]
fn json_follows_its_keys() {
    assert_snapshot!(outline("inventory.json"), @"1-41");
}

#[test]
fn kotlin_follows_its_definitions() {
    assert_snapshot!(outline("inventory.kt"), @"
    1-9 Shortage
    11-19 Shelf
    21-36 Shelf.put
    38-56 Shelf.take
    58-58 Side
    60-61 List.smallest
    ");
}

#[test]
fn lua_follows_its_definitions() {
    assert_snapshot!(outline("inventory.lua"), @"
    1-8
    10-14 M.new
    16-27 Shelf:used
    29-40 Shelf:put
    42-50 M.take
    ");
}

#[test]
fn makefiles_follow_their_targets() {
    assert_snapshot!(outline("Makefile"), @"
    1-18 build
    20-22 dist/shelf-$(VERSION).tar.gz
    24-25 clean
    ");
}

#[test]
fn protobuf_follows_its_definitions() {
    assert_snapshot!(outline("inventory.proto"), @"
    1-22 Shelf
    24-32 Shelves
    ");
}

#[test]
fn restructuredtext_follows_its_headings() {
    assert_snapshot!(outline("inventory.rst"), @"1-35 Inventory");
}

#[test]
fn scala_follows_its_definitions() {
    assert_snapshot!(outline("inventory.scala"), @"
    1-8 Shortage
    10-44 Shelf
    46-54 Shelf
    ");
}

#[test]
fn sql_follows_its_statements() {
    assert_snapshot!(outline("inventory.sql"), @"
    1-23 rooms
    25-47 inventory.put
    ");
}

#[test]
fn swift_follows_its_definitions() {
    assert_snapshot!(outline("inventory.swift"), @"
    1-9 InventoryError
    11-29 Shelf
    31-47 Shelf.put
    49-64 Shelf.take
    66-68 +
    ");
}

#[test]
fn terraform_follows_its_blocks() {
    assert_snapshot!(outline("inventory.tf"), @"
    1-13 terraform
    15-23 aws_ecs_service.shelf
    25-27 address
    ");
}

#[test]
fn toml_follows_its_tables() {
    assert_snapshot!(outline("inventory.toml"), @"
    1-21 dependencies
    23-25 profile.release
    27-36 bin
    38-40 lints.clippy
    ");
}

#[test]
fn vue_follows_its_script() {
    assert_snapshot!(outline("Inventory.vue"), @"
    1-17 put
    19-29
    31-39 .shelf h2
    ");
}

#[test]
fn yaml_follows_its_keys() {
    assert_snapshot!(outline("inventory.yaml"), @"
    1-9 on
    11-49 jobs
    ");
}

#[test]
fn zig_follows_its_definitions() {
    assert_snapshot!(outline("inventory.zig"), @"
    1-48 Shelf
    50-54 a full shelf takes nothing
    ");
}

#[test]
fn long_functions_are_cut_at_statements_and_keep_their_name() {
    let statements = |from: usize| {
        let one = |at| format!("    let value_{at} = compute({at});\n");
        (from..from + 50).map(one).collect::<Vec<_>>().concat()
    };
    let body = format!("{}\n    if done {{\n{}    }}\n", statements(0), statements(50));
    let text = format!("/// Does a lot.\nfn long() {{\n{body}}}\n\nfn short() {{}}\n");
    assert_snapshot!(render("long.rs", &text), @"
    1-52 long
    54-106 long
    108-108 short
    ");
}

#[test]
fn runs_of_short_definitions_and_clauses_of_one_function_are_joined() {
    let types = "struct a;\nstruct b;\ntypedef struct c c_t;\n\nstruct d;\n\nint f(void) {\n    return 1;\n}\n";
    assert_snapshot!(render("types.h", types), @"1-9 f");
    let clauses = "defmodule A do\n  def b(0), do: 1\n\n  def b(1) do\n    2\n  end\nend\n";
    let many = "    # and more, so that the module is opened\n".repeat(40);
    let text = format!(
        "{clauses}\ndefmodule C do\n  def d(0), do: 1\n\n  def d(1) do\n    2\n  end\n\n{many}end\n"
    );
    assert_snapshot!(render("a.ex", &text), @"
    1-7 A
    9-10 C.d
    12-56 C.d
    ");
}

#[test]
fn a_piece_of_a_definition_knows_its_signature() {
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
        .flat_map(|(name, text)| chunks(language(name, text), text).chunks)
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
    assert_snapshot!(render("a.sql", &text), @"
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
        assert_eq!(render(name, &text), "1-40 first\n42-81 second", "{name}");
    }
}

#[test]
fn hostile_layouts_take_time_in_proportion() {
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
            let chunks = chunks(language(name, text), text).chunks.len();
            let elapsed = started.elapsed();
            assert!(
                elapsed < Duration::from_secs(20),
                "{name}, text {at}: {chunks} in {elapsed:?}"
            );
        }
    }
}

#[test]
fn long_comments_belong_to_what_they_describe() {
    let text = format!("{}fn described() {{}}\n", "/// A line of documentation.\n".repeat(100));
    assert_snapshot!(render("described.rs", &text), @"
    1-60 described
    61-101 described
    ");
}

#[test]
fn nothing_is_lost_and_nothing_overlaps() {
    for (name, text) in fixtures() {
        check(&name, &text);
        check(&name, &text.replace('\n', "\r\n"));
        check(&name, &text.repeat(8));
    }
}

#[test]
fn damaged_files_are_cut_too() {
    for (name, text) in fixtures() {
        for part in 1..10 {
            let at = text.floor_char_boundary(text.len() * part / 10);
            let (before, after) = text.split_at(at);
            check(&name, before);
            check(&name, after);
            check(&name, &format!("{after}{before}"));
        }
        check(&name, &text.replace(['}', ')'], ""));
        check(&name, &text.replace('\n', " "));
        check(&name, &text.chars().rev().collect::<String>());
    }
}

#[test]
fn odd_texts_are_cut_in_every_language() {
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
    for (name, _) in fixtures() {
        for text in &odd {
            check(&name, text);
        }
    }
}

#[test]
fn noise_is_cut_in_every_language() {
    let pieces: Vec<&str> = "fn |class |def |{|}|(|)|\n|\n\n|    |\"|'|`|#|//|/*|*/|<<EOF\n|=> |= |; |x|é|<|>|\t|end\n|---\n"
        .split('|')
        .collect();
    // A linear congruential generator (Knuth's MMIX constants): the same noise each time.
    let mut state = 7_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]
    };
    for (name, _) in fixtures() {
        for _ in 0..4 {
            check(&name, &(0..2000).map(|_| next()).collect::<String>());
        }
    }
}

fn outline(fixture: &str) -> String {
    render(fixture, &fs::read_to_string(folder().join(fixture)).unwrap())
}

fn render(name: &str, text: &str) -> String {
    let line = |chunk: Chunk<'_>| {
        let symbol = chunk.symbol.unwrap_or_default();
        format!("{}-{} {symbol}", chunk.start_line, chunk.end_line).trim_end().to_owned()
    };
    let lines: Vec<String> =
        chunks(language(name, text), text).chunks.into_iter().map(line).collect();
    lines.join("\n")
}

fn fixtures() -> Vec<(String, String)> {
    let mut fixtures: Vec<(String, String)> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    fixtures.sort();
    assert_eq!(fixtures.len(), 34);
    fixtures
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}
