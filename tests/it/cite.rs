//! Answers with planted faults: each is found, and what is right is never called wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use codeinfo::{
    cite::{Checked, Checker, CitationState, Fault, LookupScope, Report, faults},
    config::PathMap,
    domain::{LineRange, Within},
};
use insta::assert_snapshot;
use serde_json::Value;

use crate::{
    ingest_bench::{Bench, Repo},
    real_source::copy,
};

/// A function of a source file, by its first and last line.
#[derive(Debug, Clone)]
struct Function {
    path: String,
    name: String,
    first: u32,
    last: u32,
}

/// An indexed copy of this product's own sources, some files of which changed afterwards.
struct Library {
    bench: Bench,
    repo: Repo,
    /// As they were indexed.
    functions: Vec<Function>,
    lines: BTreeMap<String, u32>,
    /// Files of several functions that change.
    odd: Vec<String>,
}

/// What happens to files after they were indexed, by their place in [`Library::odd`].
const RENAMED: usize = 0;
const LINKED: usize = 1;
const CHANGED: usize = 2;
const SHIFTED: usize = 3;
const GROWN: usize = 4;

impl Library {
    async fn new() -> Self {
        let bench = Bench::new().await;
        let repo = bench.repo("product", &[(".env", "TOKEN=a\nKEY=b\n")]);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for part in ["src", "crates/lang/src", "crates/chunk/src"] {
            copy(&root.join(part), &repo.at(part));
        }
        bench.ingest(&repo).await;
        let (mut functions, mut lines) = (Vec::new(), BTreeMap::new());
        for path in bench.files().await {
            let text = fs::read_to_string(repo.at(&path)).unwrap();
            lines.insert(path.clone(), u32::try_from(text.lines().count()).unwrap());
            functions.extend(functions_of(&path, &text));
        }
        let several =
            |path: &&String| functions.iter().filter(|one| one.path == **path).count() > 2;
        let odd: Vec<String> = lines.keys().filter(several).take(5).cloned().collect();
        assert_eq!(odd.len(), 5);
        Self { bench, repo, functions, lines, odd }
    }

    /// Changes files after they were indexed.
    fn change(&self) {
        let at = |odd: usize| self.repo.at(&self.odd[odd]);
        fs::rename(at(RENAMED), self.repo.at("src/renamed_since.rs")).unwrap();
        let outside = self.repo.at("../linked.rs");
        fs::rename(at(LINKED), &outside).unwrap();
        std::os::unix::fs::symlink(&outside, at(LINKED)).unwrap();
        let edit = |odd, edit: &dyn Fn(&str) -> String| {
            let text = fs::read_to_string(at(odd)).unwrap();
            fs::write(at(odd), edit(&text)).unwrap();
        };
        edit(CHANGED, &|text| text.replace(';', "; // changed").replace('{', "{ // changed"));
        edit(SHIFTED, &|text| "// One more line.\n".repeat(300) + text);
        edit(GROWN, &|text| text.to_owned() + "\nfn grown() {}\n");
    }

    async fn check(&self, text: &str) -> Report {
        let checker = checker(&self.bench, PathMap::default());
        checker.check(text, &LookupScope::default()).await.unwrap()
    }

    /// Functions of `path` whose names stand in no other function there.
    fn of(&self, path: &str) -> Vec<&Function> {
        self.functions.iter().filter(|one| one.path == path).collect()
    }

    /// Functions to cite rightly.
    fn sound(&self) -> Vec<&Function> {
        let odd = &self.odd[..GROWN];
        self.functions.iter().filter(|one| !odd.contains(&one.path)).collect()
    }
}

fn checker(bench: &Bench, paths: PathMap) -> Checker {
    Checker::new(Arc::clone(&bench.store), paths)
}

/// Returns the functions at the top of a file that have three lines or more and a name of two words, which
/// no other such function has.
fn functions_of(path: &str, text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<(Function, String)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(head) = line.split_once("fn ").filter(|(before, _)| {
            ["", "pub ", "pub(super) ", "pub(crate) ", "async ", "pub async "].contains(before)
        }) else {
            continue;
        };
        let name: String =
            head.1.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(length) = lines[at..].iter().position(|line| *line == "}") else { continue };
        if length >= 2 {
            let number = |at: usize| u32::try_from(at + 1).unwrap();
            let (first, last) = (number(at), number(at + length));
            let body = lines[at..=at + length].join("\n");
            found.push((Function { path: path.to_owned(), name, first, last }, body));
        }
    }
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let bodies: Vec<BTreeSet<String>> = found.iter().map(|(_, body)| words(body)).collect();
    let is_sole = |name: &str| bodies.iter().filter(|body| body.contains(name)).count() == 1;
    let named = found.iter().filter(|(one, _)| one.name.contains('_') && is_sole(&one.name));
    named.map(|(one, _)| one.clone()).collect()
}

/// Cites a function in one of the ways in which models do.
fn sentence(way: usize, root: &Path, name: &str, path: &str, lines: (u32, u32)) -> String {
    let (first, last) = lines;
    let absolute = root.join(path).display().to_string();
    match way % 11 {
        0 => format!("`{name}` does this first ({path}:{first}-{last})."),
        1 => format!("- `{path}:{first}-{last}`: `{name}` decides what comes next."),
        2 => format!("The work of `{name}` is in [the source]({path}#L{first}-L{last})."),
        3 => format!("Then `crate::{name}()` is called (`{absolute}:{first}-{last}`)."),
        4 => format!("It ends in {name}(), see ./{path}:{first}-{last}."),
        5 => format!("| `{name}` | `{path}` (lines {first}–{last}) |"),
        6 => format!("What `{name}` returns is kept, as {absolute}:{first}:5-{last}:1 shows."),
        7 => format!("Look at {path}:{first}-{last} (`{name}`) first, before anything else."),
        8 => format!("Is `{name}` in `{path}:{first}-{last}` what goes on where others stop?"),
        9 => format!("其中`{name}`（{path}:{first}-{last}）就是这样。"),
        _ => format!(
            "**`{name}`** waits, e.g. for a client at 12:30 (`product/{path}`:{first}-{last})."
        ),
    }
}

/// What is no citation, between those that are.
const NOISE: [&str; 6] = [
    "See https://example.com/src/chat.rs:900-999 for `std::fmt` and v1.2.3.",
    "The ratio is 3:4, and `localhost:8080` answers at 12:30.",
    "Such names end in `*.rs`; `Node.js` and `config/local.toml` are others.",
    "```rust\nlet path = src/nowhere.rs;\n```",
    "It writes `output.json` and reads C:\\Windows\\system.ini:3.",
    "Every `mod.rs` and `lib.rs` is left out, and/or renamed.",
];

/// A fault in words, and whether a verdict is that.
type Planted = (String, fn(&Checked, &Function) -> bool);

const KINDS: usize = 20;

const ANSWERS: usize = 320;

/// Whether the lines were not taken for those that the sentence means, and no other name was accused.
fn is_doubted(one: &Checked, function: &Function) -> bool {
    match (one.state, &one.fault) {
        (CitationState::Unconfirmed, fault) => fault.is_none(),
        // It names the nearest occurrence, which may be a call.
        (CitationState::Wrong, Some(Fault::Elsewhere { name, .. })) => {
            name.ends_with(&function.name)
        }
        _ => false,
    }
}

/// A function to plant a fault about.
struct Case<'a> {
    library: &'a Library,
    turn: usize,
    own: Function,
}

/// Plants a fault of a kind.
fn planted(library: &Library, kind: usize, turn: usize) -> (Planted, Function) {
    let odd = match kind {
        0 => Some(RENAMED),
        1 => Some(CHANGED),
        2 => Some(LINKED),
        3 => Some(SHIFTED),
        _ => None,
    };
    let from = odd.map_or_else(|| library.sound(), |odd| library.of(&library.odd[odd]));
    let case = Case { library, turn, own: pick(&from, turn) };
    let fault = match kind {
        0..4 => Some(case.of_file(kind)),
        4..9 => case.of_lines(kind),
        9..16 => Some(case.of_path(kind)),
        _ => case.of_place(kind),
    };
    match fault {
        Some(fault) => (fault, case.own),
        None => planted(library, kind, turn + 1),
    }
}

fn pick(from: &[&Function], turn: usize) -> Function {
    from[turn * 7 % from.len()].clone()
}

impl Case<'_> {
    fn say(&self, name: &str, path: &str, lines: (u32, u32)) -> String {
        sentence(self.turn, &self.library.repo.0, name, path, lines)
    }

    /// The file is another than it was.
    fn of_file(&self, kind: usize) -> Planted {
        let Function { path, name, first, last } = &self.own;
        let fault = self.say(name, path, (*first, *last));
        match kind {
            1 => (fault, |one, _| one.state == CitationState::Unconfirmed),
            3 => (fault, |one, own| {
                let first = own.first + 300;
                one.state == CitationState::Unconfirmed
                    && one.moved_to.iter().any(|at| at.first == first)
            }),
            _ => (fault, |one, _| one.fault == Some(Fault::Gone)),
        }
    }

    /// The lines are wrong, or what is said of them.
    fn of_lines(&self, kind: usize) -> Option<Planted> {
        let Function { path, name, first, last } = &self.own;
        let count = self.library.lines[path];
        let lines = match kind {
            4 => (count + 5, count + 9),
            5 => {
                let mut others = self.library.of(path);
                others.retain(|one| one.name != *name);
                let other = (!others.is_empty()).then(|| pick(&others, self.turn))?;
                (other.first, other.last)
            }
            6 => (*last, *first),
            7 => (*first, count + 40),
            _ => {
                let fault = self.say("frobnicate_twice", path, (*first, *last));
                return Some((fault, |one, _| match one.fault {
                    Some(Fault::Absent { .. }) => one.state == CitationState::Wrong,
                    _ => one.state == CitationState::Unconfirmed,
                }));
            }
        };
        let fault = self.say(name, path, lines);
        Some(match kind {
            4 => (fault, |one, _| {
                one.state == CitationState::Wrong
                    && matches!(one.fault, Some(Fault::NoSuchLines { .. }))
            }),
            5 => (fault, is_doubted),
            // What is meant is plain.
            6 => (fault, |one, _| one.state == CitationState::Confirmed),
            _ => (fault, |one, _| one.state != CitationState::Wrong),
        })
    }

    /// The sentence is right, and the lines are others of the same file.
    fn of_place(&self, kind: usize) -> Option<Planted> {
        let Function { path, name, first, last } = &self.own;
        let count = self.library.lines[path];
        let place = match kind {
            16 => (first + 40, last + 40),
            17 if *first > 60 => (first - 60, last - 60),
            18 => {
                let at = u32::try_from(self.turn * 97).unwrap() % count + 1;
                (at.abs_diff(*first) > 30).then_some((at, at + last - first))?
            }
            19 if count > 2 * (last - first) + 40 => (1, count),
            _ => return None,
        };
        let planted =
            || (self.say(name, path, place), is_doubted as fn(&Checked, &Function) -> bool);
        (place.1 <= count).then(planted)
    }

    /// The path is wrong.
    fn of_path(&self, kind: usize) -> Planted {
        let Function { path, name, first, last } = &self.own;
        let base = path.rsplit('/').next().unwrap();
        let lines = (*first, *last);
        let is_unknown = |one: &Checked, _: &Function| {
            matches!(one.fault, Some(Fault::NotFound { .. })) && one.hash.is_none()
        };
        let is_outside = |one: &Checked, _: &Function| one.fault == Some(Fault::Outside);
        match kind {
            9 => {
                let text = |one: &Function| fs::read_to_string(self.library.repo.at(&one.path));
                let mut lacking = self.library.sound();
                lacking.retain(|one| !text(one).unwrap().contains(name));
                let other = pick(&lacking, self.turn);
                let fault = self.say(name, &other.path, (other.first, other.last));
                (fault, |one, _| match one.fault {
                    Some(Fault::Absent { .. }) => one.state == CitationState::Wrong,
                    _ => one.state == CitationState::Unconfirmed,
                })
            }
            10 => (self.say(name, &format!("src/nowhere/{base}"), lines), |one, own| {
                matches!(&one.fault, Some(Fault::NotFound { similar }) if
                    similar.len() == 3 || similar.contains(&own.path))
            }),
            11 => (
                // One of them may be meant, by what else the answer cites; the name is not in it.
                format!("`{name}` fails (error.rs:{first}-{last})."),
                |one, _| match one.fault {
                    Some(Fault::Ambiguous { count, .. }) => count > 3,
                    Some(Fault::Absent { .. }) => true,
                    _ => one.state == CitationState::Unconfirmed,
                },
            ),
            12 => (format!("`{name}` is in /etc/{base}:{first}-{last}."), is_outside),
            13 => (format!("`{name}` is there (../../{path}:{first}-{last})."), is_outside),
            14 => ("The `TOKEN_OF` is in `.env.local:1-2`.".to_owned(), is_unknown),
            _ => (self.say(name, &path.replace(".rs", "_old.rs"), lines), is_unknown),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_fault_is_found_and_nothing_right_is_called_wrong() {
    let library = Library::new().await;
    let sound = library.sound().len();
    assert!(sound > 100, "{sound}");
    library.change();
    let mut wrong = Vec::new();
    let (mut found, mut right, mut missed) = (0, 0, 0);
    for turn in 0..ANSWERS {
        let ((fault, is), own) = planted(&library, turn % KINDS, turn);
        let mut lines: Vec<String> = Vec::new();
        let sound = library.sound();
        for at in 0..4 {
            let one = sound[(turn * 31 + at * 17) % sound.len()];
            let lines_of = (one.first, one.last);
            lines.push(sentence(turn + at, &library.repo.0, &one.name, &one.path, lines_of));
            lines.push(NOISE[(turn + at) % NOISE.len()].to_owned());
        }
        lines.insert(turn % 7, fault.clone());
        let text = lines.join("\n\n");
        let at = text.find(&fault).unwrap();
        let report = library.check(&text).await;
        assert_eq!(report.unchecked, 0);
        if report.citations.len() != 5 {
            wrong.push(format!("{} citations in\n{text}", report.citations.len()));
        }
        for one in &report.citations {
            let is_planted = (at..at + fault.len()).contains(&one.range.start);
            let said = text.get(one.range.clone()).unwrap();
            if is_planted && is(one, &own) {
                found += 1;
            } else if is_planted && one.state == CitationState::Confirmed {
                missed += 1;
            } else if !is_planted && one.state == CitationState::Confirmed && one.fault.is_none() {
                right += 1;
            } else {
                wrong.push(format!("kind {}: {said}: {one:?}\n{own:?}\n{fault}", turn % KINDS));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
    // Of the 64 answers with lines of another place, some fit these by chance, more or fewer as the sources change.
    assert!(missed <= 12, "{missed} planted faults are confirmed");
    assert_eq!((found + missed, right), (ANSWERS, ANSWERS * 4));
}

const SERVER: &str = "\
use std::io;

/// Opens.
pub fn open_door(key: u32) -> io::Result<u32> {
    if key == 0 {
        return Err(io::Error::other(\"no key\"));
    }
    Ok(key)
}

pub fn close_door(key: u32) {
    lock(key);
    open_door(key).ok();
}

pub struct Door {
    key: u32,
}

impl Door {
    pub fn knock_twice(&self) -> u32 {
        // Knocks once.
        let once = self.key;
        // And again.
        once + 1
    }
}
";

async fn door() -> (Bench, Repo) {
    let bench = Bench::new().await;
    let repo = bench
        .repo("door", &[("src/door.rs", SERVER), ("src/a/mod.rs", "a\n"), ("src/b/mod.rs", "b\n")]);
    bench.ingest(&repo).await;
    (bench, repo)
}

async fn messages(bench: &Bench, text: &str) -> Vec<String> {
    let checker = checker(bench, PathMap::default());
    faults(text, &checker.check(text, &LookupScope::default()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_said_in_a_line_that_a_model_can_follow() {
    let (bench, _repo) = door().await;
    let text = "\
`close_door` locks (`src/door.rs:4-8`). `Door::knock_twice` adds one (door.rs:1-2).

Only `Door` has it (src/door.rs:90-95), and `bang_door` has not (src/door.rs:4-9).

`open_door` fails without a key (src/door.rs:9-4), also in `mod.rs:1`, `src/dor.rs:3`, \
`lib/door.rs:3` and /etc/door.rs:3.";
    assert_snapshot!(messages(&bench, text).await.join("\n"), @r"
    `door.rs:1-2`: `Door::knock_twice` is at 21-26
    `src/door.rs:90-95`: the file has 27 lines, counted from 1
    `src/door.rs:4-9`: `bang_door` does not occur in this file
    `mod.rs:1`: 2 indexed files have this path, such as `src/a/mod.rs`, `src/b/mod.rs`
    `src/dor.rs:3`: no indexed file has this path
    `lib/door.rs:3`: no indexed file has this path; `src/door.rs` has the name
    `/etc/door.rs:3`: this is outside of the indexed repositories
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_right_in_its_way_has_no_fault() {
    let (bench, _repo) = door().await;
    for text in [
        // Within a definition, whose name stands above.
        "`knock_twice` adds one (src/door.rs:22-24).",
        "`Door` has its key (src/door.rs:20-21).",
        // One of several names, and one of several places.
        "`close_door` asks `open_door` for its `key` (src/door.rs:11-14).",
        "`open_door` and `close_door` (src/door.rs:4-9, 11-14).",
        "`open_door` is there (src/door.rs:4-9; src/a/mod.rs:1).",
        // A name alone, and one of several that the answer cites elsewhere.
        "`door.rs` and `mod.rs` are files.",
        "The first is src/a/mod.rs:1, that is mod.rs:1.",
        // Words that are no names, and names of other things.
        "GitHub has `keys` of `DOORS` here, or `null` (src/door.rs:1-3).",
        "`door/src/door.rs` has it, also in ~/door/src/door.rs:4.",
        "The folder `src/a/` and the file `assets/new.toml` are others.",
    ] {
        assert_eq!(messages(&bench, text).await, Vec::<String>::new(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checked_citation_is_a_promise() {
    let (bench, repo) = door().await;
    let checker = checker(&bench, PathMap::new(repo.0.clone(), "/me/door".into()));
    let text = "`close_door` locks (`/me/door/src/door.rs:4-8`), as `open_door` does not \
        ([it](src/door.rs#L4-L9)); `gone_door` is in src/gone.rs:3.";
    let report = checker.check(text, &LookupScope::default()).await.unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&report.citations).unwrap(), @r#"
    [
      {
        "path": "/me/door/src/door.rs",
        "relPath": "src/door.rs",
        "repo": "door",
        "lines": [
          "4-8"
        ],
        "state": "unconfirmed",
        "hash": "a0ab9cbf2ee68412"
      },
      {
        "path": "/me/door/src/door.rs",
        "relPath": "src/door.rs",
        "repo": "door",
        "lines": [
          "4-9"
        ],
        "state": "confirmed",
        "hash": "63d18e9b259a4cea"
      },
      {
        "path": "src/gone.rs",
        "lines": [
          "3-3"
        ],
        "state": "wrong"
      }
    ]
    "#);
    let whole: Vec<&str> =
        report.citations.iter().map(|one| text.get(one.whole.clone()).unwrap()).collect();
    assert_eq!(whole, ["`/me/door/src/door.rs:4-8`", "[it](src/door.rs#L4-L9)", "src/gone.rs:3"]);
    // The hash is of the lines that are cited, wherever they stand.
    repo.write("src/door.rs", &format!("\n\n{SERVER}"));
    let moved = checker.check("(src/door.rs:6-11)", &LookupScope::default()).await.unwrap();
    let hash = |report: &Report, at: usize| {
        serde_json::to_value(&report.citations[at]).unwrap()["hash"].clone()
    };
    assert_eq!(hash(&moved, 0), hash(&report, 1));
    assert_ne!(hash(&moved, 0), Value::Null);
    // What was indexed is found where it stands now.
    let old = checker.check("(src/door.rs:4-9)", &LookupScope::default()).await.unwrap();
    assert_eq!(old.citations[0].state, CitationState::Unconfirmed);
    assert_eq!(old.citations[0].moved_to, [LineRange { first: 6, last: 11 }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_repository_that_was_asked_about_counts() {
    let (bench, repo) = door().await;
    let other = bench.repo("other", &[("src/door.rs", "fn open_door() {}\n")]);
    bench.ingest(&other).await;
    let checker = checker(&bench, PathMap::default());
    let text = "`open_door` (src/door.rs:1-1)";
    let both = checker.check(text, &LookupScope::default()).await.unwrap();
    assert!(matches!(both.citations[0].fault, Some(Fault::Ambiguous { count: 2, .. })));
    let roots = bench.store.roots().await.unwrap();
    let of = |path: &Path| roots.iter().find(|root| root.path == path).unwrap().id;
    let states = [(&other, CitationState::Confirmed), (&repo, CitationState::Unconfirmed)];
    for (repo, state) in states {
        let one = checker
            .check(
                text,
                &LookupScope { within: Within::Only(of(&repo.0)), ..LookupScope::default() },
            )
            .await
            .unwrap();
        assert_eq!(one.citations[0].state, state, "{}", repo.0.display());
    }
    // An absolute path says which; the others of the answer follow it.
    let text = format!("{}:1 and src/door.rs:1", other.at("src/door.rs").display());
    let known = checker.check(&text, &LookupScope::default()).await.unwrap();
    let repos: Vec<_> = known.citations.iter().map(|one| one.repo.as_deref()).collect();
    assert_eq!(repos, [Some("other"), Some("other")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_means_first_what_was_shown_and_then_where_the_client_stands() {
    let bench = Bench::new().await;
    let text = |name: &str| format!("fn {name}() {{}}\n");
    let files = |name: &str| [("src/lib.rs", text(name)), ("src/net/lib.rs", text(name))];
    let (mut repos, names) = (Vec::new(), ["here", "there"]);
    for name in names {
        let files = files(name);
        let files: Vec<(&str, &str)> = files.iter().map(|(at, text)| (*at, &**text)).collect();
        repos.push(bench.repo(name, &files));
    }
    let [here, there] = &repos[..] else { panic!() };
    here.write("lib.rs", "fn here() {}\n");
    for repo in &repos {
        bench.ingest(repo).await;
    }
    let roots = bench.store.roots().await.unwrap();
    let of = |path: &Path| roots.iter().find(|root| root.path == path).unwrap().id;
    let checker = checker(&bench, PathMap::default());
    let meant = async |within, shown: &[(&Repo, &str)], text: &str| {
        let shown = shown.iter().map(|(repo, path)| repo.at(path).display().to_string()).collect();
        let report = checker.check(text, &LookupScope { within, shown }).await.unwrap();
        let meant = report.citations.iter().map(|one| {
            let path = one.rel_path.as_deref().unwrap_or_default();
            format!("{} {path}", one.repo.as_deref().unwrap_or("-"))
        });
        meant.collect::<Vec<String>>().join(", ")
    };
    let anywhere = Within::Everything;
    let tree = Within::Tree(of(&there.0));
    assert_eq!(meant(anywhere, &[], "src/lib.rs:1").await, "- ");
    assert_eq!(meant(tree, &[], "src/lib.rs:1").await, "there src/lib.rs");
    // What was shown counts before where the client stands.
    let shown = [(here, "src/net/lib.rs")];
    assert_eq!(meant(tree, &shown, "src/lib.rs:1").await, "here src/lib.rs");
    // The end of a path that was shown counts before a whole path that was not.
    assert_eq!(meant(anywhere, &[], "lib.rs:1").await, "here lib.rs");
    assert_eq!(
        meant(anywhere, &[(there, "src/net/lib.rs")], "lib.rs:1").await,
        "there src/net/lib.rs"
    );
    // In a tree of which another file was shown, the end of a path counts before another tree, too.
    assert_eq!(
        meant(anywhere, &[(there, "src/lib.rs")], "net/lib.rs:1").await,
        "there src/net/lib.rs"
    );
    // Of two that were shown, neither is meant in particular.
    let both = [(here, "src/lib.rs"), (there, "src/lib.rs")];
    assert_eq!(meant(anywhere, &both, "src/lib.rs:1").await, "- ");
    assert_eq!(meant(tree, &both, "src/lib.rs:1").await, "there src/lib.rs");
    // Names of trees and absolute paths say which, whatever was shown.
    let absolute = format!("{}:1", there.at("src/lib.rs").display());
    assert_eq!(meant(anywhere, &shown, &absolute).await, "there src/lib.rs");
    assert_eq!(meant(anywhere, &shown, "there/src/lib.rs:1").await, "there src/lib.rs");
    // What is in none of them is looked for everywhere; what is outside is never taken.
    assert_eq!(
        meant(tree, &[(there, "src/lib.rs")], "./lib.rs:1, src/gone.rs:1").await,
        "there src/lib.rs, - "
    );
    let odd = LookupScope {
        within: tree,
        shown: ["", "/", "/etc/passwd.toml", "~"].map(str::to_owned).into(),
    };
    let report = checker.check("/etc/passwd.toml:1 and src/lib.rs:1", &odd).await.unwrap();
    let states: Vec<Option<&str>> =
        report.citations.iter().map(|one| one.rel_path.as_deref()).collect();
    assert_eq!(states, [None, Some("src/lib.rs")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_to_be_read_is_not_read() {
    let settings = "database:\n  password: hunter2-and-more\n  host: db.example.com\n";
    let bench = Bench::new().await;
    let repo = bench.repo("demo", &[("settings.yaml", settings), ("key.yaml", "a: 1\n")]);
    bench.ingest(&repo).await;
    let text = "The `password` is there (settings.yaml:1-3), not in key.yaml:1.";
    let checker = checker(&bench, PathMap::default());
    let states = async || -> Vec<CitationState> {
        let report = checker.check(text, &LookupScope::default()).await.unwrap();
        report.citations.iter().map(|one| one.state).collect()
    };
    // Another time alone is no change of a file.
    let touched = fs::File::options().write(true).open(repo.at("settings.yaml")).unwrap();
    touched.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(states().await, [CitationState::Confirmed, CitationState::Confirmed]);
    // It has a record, but is known to be secret now.
    let mut root = bench.root().await;
    root.private_files = Some(vec!["key.yaml".to_owned()]);
    bench.store.put_root(root).await.unwrap();
    assert_eq!(states().await, [CitationState::Confirmed]);
    // What grew too large is not read to its end, and not called gone.
    let large = fs::File::options().write(true).open(repo.at("settings.yaml")).unwrap();
    large.set_len(1 << 40).unwrap();
    assert_eq!(states().await, []);
    // Nor is what cannot be read, since the folder of all is away.
    fs::rename(&repo.0, repo.0.with_extension("away")).unwrap();
    let away = checker.check("It is in settings.yaml:1-3.", &LookupScope::default()).await.unwrap();
    assert_eq!(away, Report { citations: Vec::new(), unchecked: 1 });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_index_leaves_out_is_neither_read_nor_a_fault() {
    let (bench, repo) = door().await;
    for (path, text) in [
        (".env", "TOKEN=a\n"),
        (".github/ci.yml", "on: push\n"),
        (".gitignore", "made/\n"),
        ("made/door.rs", "fn made() {}\n"),
        ("node_modules/lib.js", "x\n"),
    ] {
        repo.write(path, text);
    }
    std::os::unix::fs::symlink("src", repo.at("now")).unwrap();
    bench.ingest(&repo).await;
    let absolute = repo.at("made/door.rs").display().to_string();
    // Whatever is said of them, and wherever their lines are.
    let text = format!(
        "`gone_token` is in .env:1-900, the job in `.github/ci.yml:3`, `made_up` in {absolute}:77, \
         `x_y` in [a file](./node_modules/lib.js#L1-L2), `door/node_modules/lib.js:3` and now/door.rs:4; \
         also `made/door.rs`."
    );
    let report =
        checker(&bench, PathMap::default()).check(&text, &LookupScope::default()).await.unwrap();
    assert_eq!(report, Report { citations: Vec::new(), unchecked: 7 });
    for gone in [".env.local:1", ".github/cd.yml:3", "made/gone.rs:4", "gone/door.rs:4"] {
        let text = format!("It is in {gone}.");
        let report = checker(&bench, PathMap::default())
            .check(&text, &LookupScope::default())
            .await
            .unwrap();
        let faults: Vec<&Option<Fault>> = report.citations.iter().map(|one| &one.fault).collect();
        assert!(matches!(faults[..], [Some(Fault::NotFound { .. })]), "{gone}: {faults:?}");
        assert_eq!(report.unchecked, 0, "{gone}");
    }
}
