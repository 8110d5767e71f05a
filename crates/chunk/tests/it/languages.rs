//! Chunks of a file in each language: their lines and names.

use insta::assert_snapshot;

use crate::render_fixture;

#[test]
fn bash_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.sh"), @"
    1-15 used
    17-36 put
    38-47 usage
    ");
}

#[test]
fn c_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.c"), @"
    1-20 entry_t
    22-38 find
    40-47 used
    49-72 shelf_put
    74-79 shelf_callback
    ");
}

#[test]
fn cpp_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.cpp"), @"
    1-14 inventory::Shortage
    16-33 inventory::Shelf
    35-49 inventory::Shelf::put
    51-70 inventory::describe
    72-74 inventory_version
    ");
}

#[test]
fn csharp_follows_its_definitions() {
    assert_snapshot!(render_fixture("Inventory.cs"), @"
    1-15 Example.Inventory.ICounter
    17-31 Example.Inventory.Shelf
    33-47 Example.Inventory.Shelf.Put
    49-70 Example.Inventory.Shelf.Take
    ");
}

#[test]
fn go_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.go"), @"
    1-23 Shelf
    25-33 New
    35-54 Shelf.Put
    56-70 Shelf.Take
    72-83 Pair.String
    ");
}

#[test]
fn java_follows_its_definitions() {
    assert_snapshot!(render_fixture("Inventory.java"), @"
    1-22 Inventory
    24-40 Inventory.put
    42-58 Inventory.take
    60-77 Inventory.ShortageException
    79-85 Order
    ");
}

#[test]
fn javascript_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.js"), @"
    1-17 EMPTY
    19-29 put
    31-40 exports.take
    42-61 Store
    ");
}

#[test]
fn markdown_follows_its_headings() {
    assert_snapshot!(render_fixture("inventory.md"), @"
    1-20 Inventory > Install
    22-46 Inventory > Usage
    48-60 Inventory > Why is the capacity 500?
    ");
}

#[test]
fn php_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.php"), @"
    1-19 Counter
    21-40 Shelf::__construct
    42-56 Shelf::put
    58-75 Shelf::take
    77-90 total
    ");
}

#[test]
fn python_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.py"), @"
    1-11 Shortage
    14-27 Shelf
    29-52 Shelf.take
    54-68 Shelf.load
    71-77 main
    ");
}

#[test]
fn ruby_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.rb"), @"
    1-11 Inventory::Shortage
    13-33 Inventory::Shelf::load
    35-57 Inventory::Shelf::put
    59-67 Inventory::Shelf::empty
    ");
}

#[test]
fn rust_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.rs"), @"
    1-24 Shelf
    26-46 Shelf::put
    48-68 Shelf::take
    70-74 Vec
    76-86 tests::a_full_shelf_takes_nothing
    ");
}

#[test]
fn tsx_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.tsx"), @"
    1-7 Props
    9-26 ShelfView
    28-36 ShelfList
    ");
}

#[test]
fn typescript_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.ts"), @"
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
    assert_snapshot!(render_fixture("inventory.css"), @"
    1-20 .shelf
    22-43 .button
    45-54 @media (max-width: 40em)
    ");
}

#[test]
fn dart_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.dart"), @"
    1-12 Shortage
    14-21 Shelf
    23-30 Shelf.Shelf.of
    32-46 Shelf.put
    48-62 Shelf.take
    64-68 total
    ");
}

#[test]
fn dockerfiles_follow_their_stages() {
    assert_snapshot!(render_fixture("Dockerfile"), @"
    1-15 build
    16-28 debian:bookworm-slim
    ");
}

#[test]
fn elixir_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.ex"), @"
    1-19 Example.Inventory.used
    21-38 Example.Inventory.put
    40-62 Example.Inventory.take
    64-66 String.Chars, for: Example.Inventory
    ");
}

#[test]
fn haskell_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.hs"), @"
    1-22 Shelf
    24-43 put
    45-56 take'
    ");
}

#[test]
fn html_follows_its_headings_and_scripts() {
    assert_snapshot!(render_fixture("inventory.html"), @"
    1-11 .shelf
    12-29 Inventory
    31-41 used
    ");
}

#[test]
fn json_follows_its_keys() {
    assert_snapshot!(render_fixture("inventory.json"), @"1-41");
}

#[test]
fn kotlin_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.kt"), @"
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
    assert_snapshot!(render_fixture("inventory.lua"), @"
    1-8
    10-14 M.new
    16-27 Shelf:used
    29-40 Shelf:put
    42-50 M.take
    ");
}

#[test]
fn makefiles_follow_their_targets() {
    assert_snapshot!(render_fixture("Makefile"), @"
    1-18 build
    20-22 dist/shelf-$(VERSION).tar.gz
    24-25 clean
    ");
}

#[test]
fn protobuf_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.proto"), @"
    1-22 Shelf
    24-32 Shelves
    ");
}

#[test]
fn restructuredtext_follows_its_headings() {
    assert_snapshot!(render_fixture("inventory.rst"), @"1-35 Inventory");
}

#[test]
fn scala_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.scala"), @"
    1-8 Shortage
    10-44 Shelf
    46-54 Shelf
    ");
}

#[test]
fn sql_follows_its_statements() {
    assert_snapshot!(render_fixture("inventory.sql"), @"
    1-23 rooms
    25-47 inventory.put
    ");
}

#[test]
fn swift_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.swift"), @"
    1-9 InventoryError
    11-29 Shelf
    31-47 Shelf.put
    49-64 Shelf.take
    66-68 +
    ");
}

#[test]
fn terraform_follows_its_blocks() {
    assert_snapshot!(render_fixture("inventory.tf"), @"
    1-13 terraform
    15-23 aws_ecs_service.shelf
    25-27 address
    ");
}

#[test]
fn toml_follows_its_tables() {
    assert_snapshot!(render_fixture("inventory.toml"), @"
    1-21 dependencies
    23-25 profile.release
    27-36 bin
    38-40 lints.clippy
    ");
}

#[test]
fn vue_follows_its_script() {
    assert_snapshot!(render_fixture("Inventory.vue"), @"
    1-17 put
    19-29
    31-39 .shelf h2
    ");
}

#[test]
fn yaml_follows_its_keys() {
    assert_snapshot!(render_fixture("inventory.yaml"), @"
    1-9 on
    11-49 jobs
    ");
}

#[test]
fn zig_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.zig"), @"
    1-48 Shelf
    50-54 a full shelf takes nothing
    ");
}

#[test]
fn r_follows_its_functions() {
    assert_snapshot!(render_fixture("inventory.r"), @"
    1-19 new_shelf
    21-34 put
    36-42 print.shelf
    44-52 take
    ");
}

#[test]
fn erlang_follows_its_functions() {
    assert_snapshot!(render_fixture("inventory.erl"), @"
    1-18 new
    20-42 put
    44-47 describe
    ");
}

#[test]
fn clojure_follows_its_definitions() {
    assert_snapshot!(render_fixture("inventory.clj"), @"
    1-18 Shelf
    20-41 put
    43-57 describe
    ");
}

#[test]
fn xml_keeps_small_files_whole() {
    assert_snapshot!(render_fixture("inventory.xml"), @"1-54");
}

#[test]
fn scss_follows_its_rules() {
    assert_snapshot!(render_fixture("inventory.scss"), @"
    1-17 @function width($count)
    19-37 .shelf
    39-57 .count
    59-66 @keyframes arrive
    ");
}

#[test]
fn svelte_follows_its_script() {
    assert_snapshot!(render_fixture("Inventory.svelte"), @"
    1-22 put
    24-30 take
    32-43
    45-54 .shelf
    ");
}
