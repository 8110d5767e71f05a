//! Promises of the documents: short entry pages, and every route, code and field of the HTTP API described.
//! Their links and citations are checked with the product's own command, in `check.rs`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Pages that must stay short, with the most lines of each.
const SHORT: [(&str, usize); 2] = [("README.md", 120), ("design.md", 200)];
/// The longest line of a page, tables apart: length is not to be had by wide lines.
const MAX_COLUMNS: usize = 130;
/// Routes for programs, conventions and error codes.
const HTTP_API: &str = "docs/http-api.md";
/// Routes for the page.
const PAGE_API: &str = "docs/page-api.md";
/// The MCP endpoints.
const MCP: &str = "docs/mcp.md";
/// Tests whose snapshots hold whole replies, each with the pages that describe their fields.
const CONTRACTS: [(&str, &[&str]); 7] = [
    ("contract_api", &[HTTP_API]),
    ("contract_chat", &[HTTP_API]),
    ("contract_mcp", &[MCP]),
    ("contract_question", &[MCP, HTTP_API]),
    ("contract_search", &[HTTP_API, MCP]),
    ("contract_tokens", &[HTTP_API]),
    ("page_symbols", &[PAGE_API]),
];

#[test]
fn the_entry_pages_stay_short() {
    for (page, most) in SHORT {
        let text = read_file(page);
        let lines = text.lines().count();
        assert!(lines <= most, "{page} has {lines} lines; at most {most}");
        let wide = text.lines().find(|line| {
            !line.starts_with('|') && !line.contains("](") && line.chars().count() > MAX_COLUMNS
        });
        assert_eq!(wide, None, "{page}: a line of more than {MAX_COLUMNS} characters");
    }
}

#[test]
fn the_checks_run_every_target_of_tests() {
    let checks = read_file(".ci/run");
    for target in list_test_targets() {
        assert!(checks.contains(&format!(" --test {target}")), ".ci/run does not run `{target}`");
    }
    let readme = read_file("README.md");
    let is_command = |line: &str| line.split('#').next().unwrap().trim() == "./test.sh";
    assert!(readme.lines().any(is_command), "README.md lacks `./test.sh`");
}

/// Lists the names of all targets of tests in the workspace.
fn list_test_targets() -> BTreeSet<String> {
    let mut targets = BTreeSet::from(["house".to_owned()]);
    let crates = fs::read_dir(repository_root().join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path()).chain([repository_root()]);
    for entry in crates.filter_map(|folder| fs::read_dir(folder.join("tests")).ok()).flatten() {
        let path = entry.unwrap().path();
        let is_target = path.extension().is_some_and(|extension| extension == "rs")
            || path.join("main.rs").is_file();
        if is_target {
            targets.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    targets
}

#[test]
fn every_page_below_docs_is_linked_from_the_readme() {
    let readme = read_file("README.md");
    for page in list_pages() {
        let Ok(below) = page.strip_prefix(repository_root().join("docs")) else { continue };
        let link = format!("](docs/{}", below.display());
        assert!(readme.contains(&link), "README.md does not link to {}", below.display());
    }
}

#[test]
fn each_failure_names_its_code_and_the_test_that_shows_it() {
    let page = read_file("docs/failures.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, _, code, test] = cells[..] else { panic!("{row}") };
        assert!(repository_root().join(code.trim_matches('`')).is_file(), "{row}");
        let (file, name) = test.trim_matches('`').split_once("::").unwrap();
        assert!(read_file(&find_test_file(file)).contains(&format!("fn {name}()")), "{row}");
        count += 1;
    }
    assert!(20 < count, "{count}");
}

/// Returns the path of a file of tests: a module of `tests/e2e`, unless it is a path.
fn find_test_file(file: &str) -> String {
    let is_rust = Path::new(file).extension().is_some_and(|end| end == "rs");
    if is_rust { file.to_owned() } else { format!("tests/e2e/{file}.rs") }
}

#[test]
fn each_noun_of_the_glossary_is_in_a_file() {
    let page = read_file("docs/glossary.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 40, "{rows:#?}");
    let mut nouns = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [noun, meaning, file] = cells[..] else { panic!("{row}") };
        assert!(meaning.ends_with('.') && !meaning.contains(". "), "one sentence: {row}");
        assert!(repository_root().join(file.trim_matches('`')).is_file(), "{row}");
        nouns.push(noun.to_lowercase());
    }
    assert!(nouns.is_sorted_by(|one, next| one < next), "{nouns:?}");
}

#[test]
fn each_decision_is_dated_short_listed_and_linked_from_the_design() {
    let (list, design) = (read_file("docs/decisions/README.md"), read_file("design.md"));
    let entries = fs::read_dir(repository_root().join("docs/decisions")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages: Vec<String> = names.filter(|name| name != "README.md").collect();
    assert!((1..=99).contains(&pages.len()));
    for name in pages {
        let page = read_file(&format!("docs/decisions/{name}"));
        assert!(page.lines().count() < 60, "{name}: {} lines", page.lines().count());
        let number: u32 = name.split('-').next().unwrap().parse().unwrap();
        assert!(page.starts_with(&format!("# {number}. ")), "{name}");
        let date = page.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap();
        let date = date.get(..10).unwrap();
        assert!(date.chars().all(|c| c.is_ascii_digit() || c == '-'), "{name}: {date}");
        let row = list.lines().find(|line| line.contains(&format!("({name})"))).unwrap();
        assert!(row.contains(date), "{row}");
        assert!(design.contains(&format!("(docs/decisions/{name})")), "{name}");
    }
}

#[test]
fn each_threat_names_tests_that_exist() {
    let page = read_file("SECURITY.md");
    let (_, table) = page.split_once("## Threats").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(15 < rows.len(), "{rows:#?}");
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, _, _, tests] = cells[..] else { panic!("{row}") };
        assert!(tests.contains("::"), "{row}");
        for test in tests.split(", ") {
            let (file, name) = test.trim_matches('`').split_once("::").unwrap();
            assert!(read_file(&find_test_file(file)).contains(&format!("fn {name}()")), "{test}");
        }
    }
}

#[test]
fn every_route_is_described_on_its_page_alone() {
    let pages = [HTTP_API, PAGE_API, MCP].map(|page| (page, blank_braces(&read_file(page))));
    let source = read_file("crates/server/src/api/route.rs");
    let (for_programs, for_page) = source.split_once("impl<'a> PageRoute").unwrap();
    let [for_programs, for_page] = [for_programs, for_page].map(list_routes);
    let count = for_programs.len() + for_page.len();
    assert!(for_programs.len() > 20 && for_page.len() > 10, "{count} routes were found");
    let for_programs = for_programs.into_iter().map(|route| (find_api_page(&route), route));
    for (home, route) in for_programs.chain(for_page.into_iter().map(|route| (PAGE_API, route))) {
        for (page, text) in &pages {
            if *page == home {
                assert!(has_route(text, &route), "{page} lacks {route}");
                continue;
            }
            // Another page may link to a route, but not describe it.
            let mut headings = text.lines().filter(|line| line.starts_with("### "));
            assert!(!headings.any(|line| has_route(line, &route)), "{page}: {route}");
        }
    }
}

/// Tells whether a text names a route, as a whole and in backticks.
fn has_route(text: &str, route: &str) -> bool {
    ["`", "?"].iter().any(|end| text.contains(&format!("`{route}{end}")))
}

/// Returns the page that describes a route which is not made for the page alone.
fn find_api_page(route: &str) -> &'static str {
    let (_, path) = route.split_once(' ').unwrap();
    match path {
        "/mcp" | "/mcp/relay" | "/mcp/toolkits" | "/mcp/toolkits/{}" => MCP,
        "/" | "/page/{}" | "/auth/page-codes" | "/auth/page-sessions" => PAGE_API,
        _ => HTTP_API,
    }
}

/// Returns the routes in the arms of a match, as `GET /path/{}`.
fn list_routes(source: &str) -> Vec<String> {
    let arms = source.lines().map(str::trim).filter(|line| line.starts_with("(&Method::"));
    let arms = arms.filter(|line| {
        ["=> ApiRoute::", "=> PageRoute::", "=> Self::"].iter().any(|to| line.contains(to))
            || line.ends_with("=> {")
    });
    let methods = ["GET", "POST", "PUT", "DELETE"];
    arms.map(|arm| {
        let is_method = |method: &&str| arm.contains(&format!("Method::{method}"));
        let method = methods.into_iter().find(is_method).unwrap();
        let parts = arm.split_once(", [").unwrap().1.split(']').next().unwrap();
        // A part without quotes is a parameter, which the page names in braces.
        let path = parts.split(", ").map(|part| match part.trim_matches('"') {
            "" => "/".to_owned(),
            "PAGE_CONFIG" => "/config".to_owned(),
            name if name.len() < part.len() => format!("/{name}"),
            _ => "/{}".to_owned(),
        });
        format!("{method} {}", path.collect::<String>())
    })
    .collect()
}

/// Returns a text with nothing in its braces.
fn blank_braces(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let after = part.split_once('}').map_or(part, |(_, after)| after);
        text + "{}" + after
    })
}

#[test]
fn every_error_code_is_described() {
    let described = read_file(HTTP_API);
    for file in ["crates/core/src/error.rs", "crates/http/src/error.rs"] {
        let source = read_file(file);
        let words = source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next());
        let is_code = |word: &&str| word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let codes: Vec<&str> = words.filter(is_code).collect();
        assert!(codes.len() > 5, "{file}: {codes:?}");
        for code in codes {
            assert!(described.contains(&format!("`{code}`")), "{HTTP_API} lacks {code}");
        }
    }
}

#[test]
fn every_field_of_the_snapshots_is_described() {
    let mut count = 0;
    for (name, pages) in CONTRACTS {
        let fields = list_snapshot_fields(&read_file(&format!("tests/e2e/{name}.rs")));
        count += fields.len();
        let described: Vec<String> = pages.iter().map(|page| read_file(page)).collect();
        let words: BTreeSet<&str> =
            described.iter().flat_map(|page| list_code_words(page)).collect();
        let is_described = |field: &&String| field.split('.').all(|part| words.contains(part));
        let lacks: Vec<&String> = fields.iter().filter(|field| !is_described(field)).collect();
        assert!(lacks.is_empty(), "{pages:?} lack {lacks:?} of {name}");
    }
    assert!(count > 100, "{count} fields were found");
}

/// Returns the names of members in the snapshots of a test.
fn list_snapshot_fields(source: &str) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    // A line of indented JSON, or the payload of a frame of `/chat`.
    for line in source.lines().map(str::trim).filter(|line| line.contains("\":")) {
        let named = line.strip_prefix('"').and_then(|rest| rest.split_once("\":"));
        let named = named.map(|(name, _)| name).filter(|name| !name.contains(['"', '\\']));
        fields.extend(named.map(str::to_owned));
        if line.split_once(" {\"").is_some_and(|(frame, _)| !frame.contains(' ')) {
            let before = line.split("\":").filter_map(|text| text.rsplit('"').next());
            let is_name = |name: &&str| !name.is_empty() && name.chars().all(char::is_alphanumeric);
            fields.extend(before.filter(is_name).map(str::to_owned));
        }
    }
    fields
}

/// Returns the words in backticks, single or fenced; prose does not count.
fn list_code_words(page: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_/.".contains(c);
    let code = page.split('`').skip(1).step_by(2);
    code.flat_map(move |text| text.split(move |c| !is_part(c))).flat_map(|word| word.split('.'))
}

fn list_pages() -> Vec<PathBuf> {
    let root = repository_root();
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "design.md",
        "projectStructure.md",
        "CHANGELOG.md",
        "benches/README.md",
        "benches/measurements.md",
    ]
    .map(|page| root.join(page))
    .to_vec();
    let docs = fs::read_dir(root.join("docs")).unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    pages
}

fn read_file(path: &str) -> String {
    fs::read_to_string(repository_root().join(path)).unwrap()
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
