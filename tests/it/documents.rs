//! What the documents promise: short entry pages, and every route, code and field of the HTTP API described.
//! Where they lead is checked with the product's own command, in `check.rs`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Pages that must stay short, with the most lines of each.
const SHORT: [(&str, usize); 2] = [("README.md", 120), ("design.md", 200)];
/// The longest line of a page, tables apart: length is not to be had by wide lines.
const MAX_COLUMNS: usize = 130;
/// Tests whose snapshots hold whole replies.
const CONTRACTS: [&str; 6] = [
    "contract_api",
    "contract_chat",
    "contract_mcp",
    "contract_question",
    "contract_search",
    "contract_tokens",
];

#[test]
fn the_entry_pages_stay_short() {
    for (page, most) in SHORT {
        let text = text(page);
        let lines = text.lines().count();
        assert!(lines <= most, "{page} has {lines} lines; at most {most}");
        let wide = text.lines().find(|line| {
            !line.starts_with('|') && !line.contains("](") && line.chars().count() > MAX_COLUMNS
        });
        assert_eq!(wide, None, "{page}: a line of more than {MAX_COLUMNS} characters");
    }
}

#[test]
fn the_test_command_of_the_readme_is_what_the_checks_run() {
    let checks = text(".ci/run");
    let command = checks.lines().find_map(|line| line.strip_prefix("exec ")).unwrap();
    let is_it = |line: &str| line.split('#').next().unwrap().trim() == command;
    assert!(text("README.md").lines().any(is_it), "README.md lacks `{command}`");
}

#[test]
fn every_page_below_docs_is_linked_from_the_readme() {
    let readme = text("README.md");
    for page in pages() {
        let Ok(below) = page.strip_prefix(root().join("docs")) else { continue };
        let link = format!("](docs/{}", below.display());
        assert!(readme.contains(&link), "README.md does not link to {}", below.display());
    }
}

#[test]
fn each_failure_names_its_code_and_the_test_that_shows_it() {
    let page = text("docs/failures.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, _, code, test] = cells[..] else { panic!("{row}") };
        assert!(root().join(code.trim_matches('`')).is_file(), "{row}");
        let (file, name) = test.trim_matches('`').split_once("::").unwrap();
        let test = text(&format!("tests/it/{file}.rs"));
        assert!(test.contains(&format!("fn {name}()")), "{row}");
        count += 1;
    }
    assert!(20 < count, "{count}");
}

#[test]
fn every_route_is_described() {
    let routes = ["crates/server/src/api/route.rs", "crates/server/src/api/route/for_page.rs"]
        .map(text)
        .concat();
    let described = without_names(&text("docs/http-api.md"));
    let arms = routes.lines().map(str::trim).filter(|line| line.starts_with("(&Method::"));
    let mut count = 0;
    for arm in arms.filter(|line| {
        ["=> Route::", "=> Self::"].iter().any(|to| line.contains(to)) || line.ends_with("=> {")
    }) {
        let methods = ["GET", "POST", "DELETE"];
        let is_of = |method: &&str| arm.contains(&format!("Method::{method}"));
        let method = methods.into_iter().find(is_of).unwrap();
        let parts = arm.split_once(", [").unwrap().1.split(']').next().unwrap();
        // A part without quotes is a parameter, which the page names in braces.
        let path = parts.split(", ").map(|part| match part.trim_matches('"') {
            "" => "/".to_owned(),
            name if name.len() < part.len() => format!("/{name}"),
            _ => "/{}".to_owned(),
        });
        let route = format!("`{method} {}", path.collect::<String>());
        assert!(described.contains(&route), "docs/http-api.md lacks {route}");
        count += 1;
    }
    assert!(count > 10, "{count} routes were found in src/api/route.rs");
}

/// Returns a text with nothing in its braces.
fn without_names(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let after = part.split_once('}').map_or(part, |(_, after)| after);
        text + "{}" + after
    })
}

#[test]
fn every_error_code_is_described() {
    let described = text("docs/http-api.md");
    for file in ["crates/core/src/error.rs", "crates/http/src/error.rs"] {
        let source = text(file);
        let words = source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next());
        let is_code = |word: &&str| word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let codes: Vec<&str> = words.filter(is_code).collect();
        assert!(codes.len() > 5, "{file}: {codes:?}");
        for code in codes {
            assert!(described.contains(&format!("`{code}`")), "docs/http-api.md lacks {code}");
        }
    }
}

#[test]
fn every_field_of_the_snapshots_is_described() {
    let described = text("docs/http-api.md");
    let mut fields = BTreeSet::new();
    for name in CONTRACTS {
        let source = text(&format!("tests/it/{name}.rs"));
        // A line of indented JSON, or the payload of a frame of `/chat`.
        for line in source.lines().map(str::trim).filter(|line| line.contains("\":")) {
            let named = line.strip_prefix('"').and_then(|rest| rest.split_once("\":"));
            let named = named.map(|(name, _)| name).filter(|name| !name.contains(['"', '\\']));
            fields.extend(named.map(str::to_owned));
            if line.split_once(" {\"").is_some_and(|(frame, _)| !frame.contains(' ')) {
                let before = line.split("\":").filter_map(|text| text.rsplit('"').next());
                let is_name =
                    |name: &&str| !name.is_empty() && name.chars().all(char::is_alphanumeric);
                fields.extend(before.filter(is_name).map(str::to_owned));
            }
        }
    }
    assert!(fields.len() > 60, "{fields:?}");
    // Words in backticks, single or fenced; prose does not count.
    let code = described.split('`').skip(1).step_by(2);
    let is_part = |c: char| c.is_alphanumeric() || "_/.".contains(c);
    let words: BTreeSet<&str> = code
        .flat_map(|text| text.split(|c| !is_part(c)))
        .flat_map(|word| word.split('.'))
        .collect();
    let lacks: Vec<&String> =
        fields.iter().filter(|field| !field.split('.').all(|part| words.contains(part))).collect();
    assert!(lacks.is_empty(), "docs/http-api.md lacks {lacks:?}");
}

fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages: Vec<PathBuf> =
        ["README.md", "design.md", "projectStructure.md", "CHANGELOG.md", "benches/README.md"]
            .map(|page| root.join(page))
            .to_vec();
    let docs = fs::read_dir(root.join("docs")).unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    pages
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
