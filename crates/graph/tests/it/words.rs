//! Rules of languages that are read by their layout.

use super::{ResolvedFiles, check_resolved};

const MAIN: &str = r#"-- open(1) in a comment
local M = {}
function M.open(path)
  local text = read(path)
  print("open(path)", [[ close(1) ]]) --[[ close(2) ]]
  return M.close(text, twice(1))
end
local function read(path)
  if (path) then return M.open (path) end
  return valid(path) or missing(path)
end
function M.close() end
return M
"#;

const FILES: [(&str, &str); 4] = [
    ("main.lua", MAIN),
    ("other.lua", "function valid(x) return x end\nfunction twice() end\nfunction read() end\n"),
    ("third.lua", "function twice() end\nread()\n"),
    (
        "Main.kt",
        "class Main {\n    fun missing(a: Int): Int {\n        return helper(a)\n    }\n}\n\nfun helper(a: Int) = a\n",
    ),
];

#[test]
fn names_before_parentheses_are_possible_calls() {
    check_resolved(
        &FILES,
        &[
            ("main.lua", "text = read", "main.lua:8 read (Word)"),
            ("main.lua", "return M.close", "main.lua:12 close (Word)"),
            ("main.lua", "return valid", "other.lua:1 valid (Word)"),
            ("main.lua", ", twice", "External"),
            ("main.lua", "or missing", "External"),
            ("third.lua", "\nread", "External"),
            ("Main.kt", "return helper", "Main.kt:7 helper (Word)"),
        ],
    );
}

#[test]
fn comments_strings_keywords_and_definitions_are_no_calls() {
    let none = ["-- open", "function M.open", "(\"open", "  if ", "--[[ close", "return M.open"];
    check_resolved(&FILES, &none.map(|marked| ("main.lua", marked, "no reference")));
}

#[test]
fn a_definition_has_its_lines_and_the_calls_in_it() {
    let repository = ResolvedFiles::new(&FILES);
    let graph = &repository.graph;
    let facts = graph.file_facts(graph.find_file("Main.kt").unwrap()).unwrap();
    assert_eq!(facts.definition_at(3), Some(1));
    assert_eq!(facts.qualified_name(1), ["Main", "missing"]);
    assert_eq!(facts.definitions[1].lines, (2, 4));
    assert_eq!(facts.definitions[1].name_at, (2, 8));
    assert_eq!(facts.references_in(1).count(), 1);
}
