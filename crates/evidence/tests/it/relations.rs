//! Relations of definitions, by the graph of an indexed repository.

use codeinfo_core::{LineRange, PathMap, RootFilter};
use codeinfo_evidence::{
    Certainty, Evidence, FoundPiece, RelationKind, TraceDirection, TraceRequest, render,
};
use codeinfo_test_support::ingest::{TestIndex, TestRepository};

const STORE: &str = "\
class Base:
    def close(self): ...

class Store(Base):
    def __init__(self, path):
        self.path = path

    def open(self):
        return self.load()

    def load(self):
        return read(self.path)

    def close(self):
        self.path = None

def read(path):
    return path
";
pub(crate) const APP: &str = "\
from store import Store, read as read_file
import door as doors
def run(door):
    store = Store('a')
    store.open()
    door.open()
    return read_file('b')

def stop(base):
    base.close()

run(None)
";
const SHUT: &str = "\
from store import Base

def shut(base: Base):
    base.close()

class Late(Base):
    pass
";
const DOOR: &str = "\
class Door:
    def open(self):
        return self

def enter():
    return Door().open()
";
const TEST: &str = "\
from store import Store

def test_open():
    assert Store('c').open()
";

pub(crate) async fn index_shop(index: &TestIndex) -> (TestRepository, Evidence) {
    let files = [
        ("store.py", STORE),
        ("app.py", APP),
        ("door.py", DOOR),
        ("shut.py", SHUT),
        ("tests/test_store.py", TEST),
    ];
    let repository = index.create_repository("shop", &files);
    index.ingest(&repository).await;
    (repository, Evidence::new(index.store.clone(), PathMap::default()))
}

/// Returns each related definition as `path:line name certainty lines`.
pub(crate) async fn relate(evidence: &Evidence, name: &str, kind: RelationKind) -> Vec<String> {
    let found = evidence.find_relations(name, kind, RootFilter::Everything).await.unwrap();
    assert!(!found.is_incomplete);
    let describe = |symbol: &codeinfo_evidence::RelatedSymbol| {
        let lines: Vec<String> = symbol.lines.iter().map(|line| line.number.to_string()).collect();
        let place = &symbol.place;
        format!(
            "{}:{} {} {:?} {}",
            place.file.rel_path,
            place.line,
            place.name,
            symbol.certainty,
            lines.join(" ")
        )
    };
    found.related.iter().map(describe).collect()
}

#[tokio::test]
async fn relations_are_those_of_one_definition() {
    let index = TestIndex::new().await;
    let (repository, evidence) = index_shop(&index).await;
    let cases: &[(&str, RelationKind, &[&str])] = &[
        (
            "Store.open",
            RelationKind::Callers,
            &["app.py:3 run Certain 5 6", "tests/test_store.py:3 test_open Certain 4"],
        ),
        (
            "Door.open",
            RelationKind::Callers,
            &["door.py:5 enter Certain 6", "app.py:3 run Possible 6"],
        ),
        (
            "store.read",
            RelationKind::Callers,
            &["app.py:3 run Certain 7", "store.py:11 Store.load Certain 12"],
        ),
        ("app.py:5", RelationKind::Callers, &["app.py:12  Certain 12"]),
        (
            "Store.__init__",
            RelationKind::Callers,
            &["app.py:3 run Certain 4", "tests/test_store.py:3 test_open Certain 4"],
        ),
        (
            "run",
            RelationKind::Callees,
            &[
                "store.py:4 Store Certain 4",
                "store.py:8 Store.open Certain 5",
                "store.py:17 read Certain 7",
            ],
        ),
        // `Late` inherits it.
        (
            "Late.close",
            RelationKind::Callers,
            &["shut.py:3 shut Certain 4", "app.py:9 stop Possible 10"],
        ),
        (
            "Base",
            RelationKind::Implementations,
            &["shut.py:6 Late Certain 6", "store.py:4 Store Certain 4"],
        ),
        ("Base.close", RelationKind::Overrides, &["store.py:14 Store.close Certain 4"]),
        (
            "Store.close",
            RelationKind::Callers,
            &["app.py:9 stop Possible 10", "shut.py:3 shut Possible 4"],
        ),
        ("read", RelationKind::Importers, &["app.py:1  Certain 1"]),
    ];
    for (name, kind, expected) in cases {
        assert_eq!(relate(&evidence, name, *kind).await, *expected, "{kind:?} of {name}");
    }
    // A changed file is read again, the others are not.
    repository.write("door.py", &DOOR.replace("def enter", "def leave"));
    index.ingest(&repository).await;
    let callers = relate(&evidence, "Door.open", RelationKind::Callers).await;
    assert_eq!(callers, ["door.py:5 leave Certain 6", "app.py:3 run Possible 6"]);
}

#[tokio::test]
async fn relations_are_rendered_with_their_places() {
    let index = TestIndex::new().await;
    let (_repo, evidence) = index_shop(&index).await;
    let within = RootFilter::Everything;
    let render = async |name: &str, kind| {
        let found = evidence.find_relations(name, kind, within).await.unwrap();
        let (text, files) = render::render_relations(&found);
        assert!(files.iter().all(|file| text.contains(&file.path)));
        let folder = found.definitions.first().map_or_else(String::new, |place| {
            place.file.path.strip_suffix(&place.file.rel_path).unwrap().to_owned()
        });
        if folder.is_empty() { text } else { text.replace(&folder, "/") }
    };
    insta::assert_snapshot!(render("Store.open", RelationKind::Callers).await);
    insta::assert_snapshot!(render("run", RelationKind::Callees).await);
    insta::assert_snapshot!(render("open", RelationKind::Callers).await);
    insta::assert_snapshot!(render("nothing_such", RelationKind::Callers).await);
}

#[tokio::test]
async fn uses_of_one_definition_are_separated_and_add_up_to_all() {
    let index = TestIndex::new().await;
    let (_repo, evidence) = index_shop(&index).await;
    for name in ["open", "Store.open", "Door.open", "read", "store.py:read", "door.py:2", "close"] {
        let uses = evidence.find_uses(name, RootFilter::Everything).await.unwrap();
        let grouped: usize = uses.groups.iter().map(|group| group.count).sum();
        assert_eq!(grouped, uses.count, "{name}");
        let explained = uses.definitions.iter().flat_map(|uses| uses.by_certainty);
        assert_eq!(explained.sum::<usize>() + uses.other(), uses.count, "{name}");
        let folder = uses.groups[0].files[0].file.path.clone();
        let folder = folder.strip_suffix(&uses.groups[0].files[0].file.rel_path).unwrap();
        let (text, _) = render::render_uses(&uses);
        insta::assert_snapshot!(name, text.replace(folder, "/"));
    }
}

#[tokio::test]
async fn calls_are_followed_as_a_tree_or_to_an_end() {
    let index = TestIndex::new().await;
    let (_repo, evidence) = index_shop(&index).await;
    let trace = async |from: &str, to: Option<&str>, direction, depth| {
        let (from, to) = (from.to_owned(), to.map(str::to_owned));
        let request = TraceRequest { from, to, direction, depth };
        let traced = evidence.trace_calls(request.clone(), RootFilter::Everything).await.unwrap();
        let folder = traced
            .starts
            .first()
            .map(|start| start.file.path.strip_suffix(&start.file.rel_path).unwrap().to_owned());
        render::render_trace(&traced, &request).0.replace(&folder.unwrap_or("none".to_owned()), "/")
    };
    let (up, down) = (TraceDirection::Callers, TraceDirection::Callees);
    insta::assert_snapshot!("tree_of_callees", trace("run", None, down, 3).await);
    insta::assert_snapshot!("tree_of_one_step", trace("run", None, down, 1).await);
    insta::assert_snapshot!("tree_of_callers", trace("store.read", None, up, 3).await);
    insta::assert_snapshot!("path", trace("run", Some("Store.load"), down, 5).await);
    insta::assert_snapshot!("path_of_callers", trace("read", Some("test_open"), up, 5).await);
    insta::assert_snapshot!(
        "path_through_a_base",
        trace("shut", Some("Store.close"), down, 5).await
    );
    insta::assert_snapshot!("no_path", trace("run", Some("stop"), down, 5).await);
    insta::assert_snapshot!("no_start", trace("nowhere_at_all", None, down, 5).await);
}

#[tokio::test]
async fn neighbours_of_a_piece_are_what_it_calls_and_what_calls_it() {
    let index = TestIndex::new().await;
    let (_repo, evidence) = index_shop(&index).await;
    let neighbours = async |rel_path: &str, first, last, query: &str, max_bytes| {
        let (repository, rel_path) = ("shop".to_owned(), rel_path.to_owned());
        let piece = FoundPiece { repo: repository, rel_path, lines: LineRange { first, last } };
        let found = evidence.find_neighbours(&[piece], query).await.unwrap();
        render::render_neighbours(&found, max_bytes)
    };
    let head = "\n\none call away (> these pieces call it, < it calls them):";
    // `read` shares a word with the query; `door.open()` in line 6 is only possible.
    assert_eq!(
        neighbours("app.py", 3, 7, "who reads the path", 1_000).await,
        format!("{head}\n> store.py:17 read\n> store.py:4 Store\n> store.py:8 Store.open")
    );
    assert_eq!(
        neighbours("store.py", 8, 9, "open", 1_000).await,
        format!(
            "{head}\n< app.py:3 run\n> store.py:11 Store.load\n< tests/test_store.py:3 test_open"
        )
    );
    assert_eq!(neighbours("store.py", 8, 9, "open", 80).await, format!("{head}\n< app.py:3 run"));
    assert_eq!(neighbours("store.py", 8, 9, "open", 60).await, "");
    assert_eq!(neighbours("none.py", 8, 9, "open", 1_000).await, "");
}

#[tokio::test]
async fn a_name_leads_to_its_definitions() {
    let index = TestIndex::new().await;
    let (_repo, evidence) = index_shop(&index).await;
    for (path, at, expected) in [
        ("app.py", (5, 10), "store.py:8 Store.open"),
        ("app.py", (5, 4), ""),
        // The receiver is not known.
        ("app.py", (6, 10), "store.py:8 Store.open, possible door.py:2 Door.open, possible"),
        ("shut.py", (4, 9), "store.py:2 Base.close"),
        ("app.py", (7, 11), "store.py:17 read"),
        ("app.py", (1, 18), "store.py:4 Store"),
        ("store.py", (8, 8), "store.py:8 Store.open"),
        ("store.py", (8, 12), ""),
        ("app.py", (99, 0), ""),
    ] {
        let found = evidence.find_definitions_at(path, at, RootFilter::Everything).await.unwrap();
        let places: Vec<String> = found
            .iter()
            .map(|found| {
                let mark = if found.certainty == Certainty::Possible { ", possible" } else { "" };
                let place = &found.place;
                format!("{}:{} {}{mark}", place.file.rel_path, place.line, place.name)
            })
            .collect();
        assert_eq!(places.join(" "), expected, "{path} {at:?}");
    }
}

#[tokio::test]
async fn a_member_of_php_leads_to_those_of_its_name() {
    let index = TestIndex::new().await;
    let files = [
        ("a.php", "<?php\nclass A {\n    function save() {}\n}\n"),
        ("b.php", "<?php\nfunction f($x) {\n    $x->save();\n}\n"),
    ];
    let repository = index.create_repository("php", &files);
    index.ingest(&repository).await;
    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    let found = evidence.find_definitions_at("b.php", (3, 8), RootFilter::Everything);
    let found = found.await.unwrap();
    let names = found.iter().map(|found| (&*found.place.name, found.certainty));
    assert_eq!(names.collect::<Vec<_>>(), [("A::save", Certainty::Possible)]);
}

#[tokio::test]
async fn types_of_rust_implement_traits_in_other_files() {
    let index = TestIndex::new().await;
    let files = [
        ("Cargo.toml", "[package]\nname = \"zoo\"\n"),
        ("src/lib.rs", "pub mod feed;\npub mod okapi;\npub mod keeper;\n"),
        ("src/feed.rs", "pub trait Feed {\n    fn feed(&self);\n}\n"),
        ("src/okapi.rs", "pub struct Okapi;\npub struct Zebra;\n"),
        (
            "src/keeper.rs",
            "use crate::{feed::Feed, okapi::{Okapi, Zebra}};\n\nimpl Feed for Okapi {\n    fn feed(&self) {}\n}\n\nimpl Zebra {\n    fn feed(&self) {}\n}\n\npub fn run(okapi: &Okapi, zebra: &Zebra) {\n    okapi.feed();\n    zebra.feed();\n}\n",
        ),
    ];
    let repository = index.create_repository("zoo", &files);
    index.ingest(&repository).await;
    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    for (name, kind, expected) in [
        ("Feed", RelationKind::Implementations, "src/okapi.rs:1 Okapi Certain 3"),
        ("Feed::feed", RelationKind::Overrides, "src/keeper.rs:4 Okapi::feed Certain 3"),
        ("Okapi::feed", RelationKind::Callers, "src/keeper.rs:11 run Certain 12"),
        ("Zebra::feed", RelationKind::Callers, "src/keeper.rs:11 run Certain 13"),
    ] {
        assert_eq!(relate(&evidence, name, kind).await, [expected], "{kind:?} of {name}");
    }
}

#[tokio::test]
async fn a_question_about_hostile_values_ends_in_time() {
    let index = TestIndex::new().await;
    let text = format!(
        "class A:\n    def y(self):\n        return self\ndef f(x):\n{}",
        "    x = x.y()\n".repeat(3_000)
    );
    let repository = index.create_repository("hostile", &[("a.py", text.as_str())]);
    index.ingest(&repository).await;
    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    let finding = evidence.find_relations("A.y", RelationKind::Callers, RootFilter::Everything);
    assert!(finding.await.unwrap().is_incomplete);
}

#[tokio::test]
async fn alternatives_interfaces_and_tests_inside_a_file_are_told() {
    let index = TestIndex::new().await;
    let files = [
        (
            "a.c",
            "#if FAST\nstatic int size(int a) { return a; }\n#else\nstatic int size(int a) { return 1; }\n#endif\nint run(void) { return size(2); }\n",
        ),
        (
            "src/lib.rs",
            "pub fn open() {}\n\npub fn all() {\n    open();\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    fn check() {\n        open();\n    }\n}\n",
        ),
        (
            "gate/gate.go",
            "package gate\ntype Base struct{}\nfunc (b *Base) Open() {}\ntype Top struct{ Base }\nfunc (t *Top) Open() { t.Base.Open() }\nfunc Use(b *Base) { b.Open() }\n",
        ),
        (
            "door/door.go",
            "package door\n\ntype Closer interface { Close(now bool) }\n\ntype Door struct{}\n\nfunc (d *Door) Close(now bool) {}\n\ntype Gate struct{}\n\nfunc (g *Gate) Close() {}\n\nfunc Shut(c Closer) {\n\tc.Close(true)\n}\n",
        ),
    ];
    let repository = index.create_repository("mixed", &files);
    index.ingest(&repository).await;
    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    for line in [2, 4] {
        let callers = relate(&evidence, &format!("a.c:{line}"), RelationKind::Callers).await;
        assert_eq!(callers, ["a.c:6 run Certain 6"]);
    }
    let found = evidence.find_relations("open", RelationKind::Callers, RootFilter::Everything);
    let found = found.await.unwrap();
    let callers = found.related.iter().map(|symbol| (&*symbol.place.name, symbol.place.is_test));
    assert_eq!(callers.collect::<Vec<_>>(), [("all", false), ("tests::check", true)]);
    assert_eq!(
        relate(&evidence, "Closer", RelationKind::Implementations).await,
        ["door/door.go:5 Door Likely 5"]
    );
    assert_eq!(
        relate(&evidence, "Door.Close", RelationKind::Callers).await,
        ["door/door.go:13 Shut Possible 14"]
    );
    assert_eq!(relate(&evidence, "Gate.Close", RelationKind::Callers).await, [""; 0]);
    // A method of an embedded type never calls the one that hides it.
    assert_eq!(relate(&evidence, "Top.Open", RelationKind::Callers).await, [""; 0]);
    assert_eq!(
        relate(&evidence, "Base.Open", RelationKind::Callers).await,
        ["gate/gate.go:5 Top.Open Certain 5", "gate/gate.go:6 Use Certain 6"]
    );
}
