//! Verdicts on citations: right and wrong ones, and those of files that may not be read.

use std::{fs, path::Path};

use codeinfo_citations::{
    CitationChecker, CitationFault, CitationReport, CitationState, LookupScope, describe_faults,
};
use codeinfo_core::{LineRange, PathMap, RootFilter};
use codeinfo_test_support::ingest::{TestIndex, TestRepository};
use insta::assert_snapshot;
use serde_json::Value;

fn build_checker(index: &TestIndex, paths: PathMap) -> CitationChecker {
    CitationChecker::new(index.store.clone(), paths)
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

async fn index_door() -> (TestIndex, TestRepository) {
    let index = TestIndex::new().await;
    let repository = index.create_repository(
        "door",
        &[("src/door.rs", SERVER), ("src/a/mod.rs", "a\n"), ("src/b/mod.rs", "b\n")],
    );
    index.ingest(&repository).await;
    (index, repository)
}

async fn list_messages(index: &TestIndex, text: &str) -> Vec<String> {
    let checker = build_checker(index, PathMap::default());
    describe_faults(text, &checker.check_text(text, &LookupScope::default()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_reported_in_a_line_that_a_model_can_follow() {
    let (index, _repo) = index_door().await;
    let text = "\
`close_door` locks (`src/door.rs:4-8`). `Door::knock_twice` adds one (door.rs:1-2).

Only `Door` has it (src/door.rs:90-95), and `bang_door` has not (src/door.rs:4-9).

`open_door` fails without a key (src/door.rs:9-4), also in `mod.rs:1`, `src/dor.rs:3`, \
`lib/door.rs:3` and /etc/door.rs:3.";
    assert_snapshot!(list_messages(&index, text).await.join("\n"), @r"
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
async fn right_citations_of_unusual_forms_have_no_fault() {
    let (index, _repo) = index_door().await;
    for text in [
        // Within a definition whose name is above the lines.
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
        assert_eq!(list_messages(&index, text).await, Vec::<String>::new(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checked_citation_is_a_promise() {
    let (index, repository) = index_door().await;
    let checker = build_checker(&index, PathMap::new(repository.0.clone(), "/me/door".into()));
    let text = "`close_door` locks (`/me/door/src/door.rs:4-8`), as `open_door` does not \
        ([it](src/door.rs#L4-L9)); `gone_door` is in src/gone.rs:3.";
    let report = checker.check_text(text, &LookupScope::default()).await.unwrap();
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
    // The hash is of the cited lines, wherever they are now.
    repository.write("src/door.rs", &format!("\n\n{SERVER}"));
    let moved = checker.check_text("(src/door.rs:6-11)", &LookupScope::default()).await.unwrap();
    let hash = |report: &CitationReport, at: usize| {
        serde_json::to_value(&report.citations[at]).unwrap()["hash"].clone()
    };
    assert_eq!(hash(&moved, 0), hash(&report, 1));
    assert_ne!(hash(&moved, 0), Value::Null);
    // Indexed lines are found at their present place.
    let old = checker.check_text("(src/door.rs:4-9)", &LookupScope::default()).await.unwrap();
    assert_eq!(old.citations[0].state, CitationState::Unconfirmed);
    assert_eq!(old.citations[0].moved_to, [LineRange { first: 6, last: 11 }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_repository_that_was_asked_about_counts() {
    let (index, repository) = index_door().await;
    let other = index.create_repository("other", &[("src/door.rs", "fn open_door() {}\n")]);
    index.ingest(&other).await;
    let checker = build_checker(&index, PathMap::default());
    let text = "`open_door` (src/door.rs:1-1)";
    let both = checker.check_text(text, &LookupScope::default()).await.unwrap();
    assert!(matches!(both.citations[0].fault, Some(CitationFault::Ambiguous { count: 2, .. })));
    let roots = index.store.roots().await.unwrap();
    let of = |path: &Path| roots.iter().find(|root| root.path == path).unwrap().id;
    let states = [(&other, CitationState::Confirmed), (&repository, CitationState::Unconfirmed)];
    for (repository, state) in states {
        let one = checker
            .check_text(
                text,
                &LookupScope {
                    within: RootFilter::Only(of(&repository.0)),
                    ..LookupScope::default()
                },
            )
            .await
            .unwrap();
        assert_eq!(one.citations[0].state, state, "{}", repository.0.display());
    }
    // An absolute path names the repository; the other citations of the answer follow it.
    let text = format!("{}:1 and src/door.rs:1", other.join("src/door.rs").display());
    let known = checker.check_text(&text, &LookupScope::default()).await.unwrap();
    let repos: Vec<_> = known.citations.iter().map(|one| one.repo.as_deref()).collect();
    assert_eq!(repos, [Some("other"), Some("other")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_refers_first_to_shown_files_and_then_to_the_clients_tree() {
    let index = TestIndex::new().await;
    let text = |name: &str| format!("fn {name}() {{}}\n");
    let files = |name: &str| [("src/lib.rs", text(name)), ("src/net/lib.rs", text(name))];
    let (mut repos, names) = (Vec::new(), ["here", "there"]);
    for name in names {
        let files = files(name);
        let files: Vec<(&str, &str)> = files.iter().map(|(at, text)| (*at, &**text)).collect();
        repos.push(index.create_repository(name, &files));
    }
    let [here, embeddings] = &repos[..] else { panic!() };
    here.write("lib.rs", "fn here() {}\n");
    for repository in &repos {
        index.ingest(repository).await;
    }
    let roots = index.store.roots().await.unwrap();
    let of = |path: &Path| roots.iter().find(|root| root.path == path).unwrap().id;
    let checker = build_checker(&index, PathMap::default());
    let meant = async |within, shown: &[(&TestRepository, &str)], text: &str| {
        let shown = shown
            .iter()
            .map(|(repository, path)| repository.join(path).display().to_string())
            .collect();
        let report =
            checker.check_text(text, &LookupScope { within, read_paths: shown }).await.unwrap();
        let meant = report.citations.iter().map(|one| {
            let path = one.rel_path.as_deref().unwrap_or_default();
            format!("{} {path}", one.repo.as_deref().unwrap_or("-"))
        });
        meant.collect::<Vec<String>>().join(", ")
    };
    let anywhere = RootFilter::Everything;
    let tree = RootFilter::Tree(of(&embeddings.0));
    assert_eq!(meant(anywhere, &[], "src/lib.rs:1").await, "- ");
    assert_eq!(meant(tree, &[], "src/lib.rs:1").await, "there src/lib.rs");
    // Shown files come before the client's tree.
    let shown = [(here, "src/net/lib.rs")];
    assert_eq!(meant(tree, &shown, "src/lib.rs:1").await, "here src/lib.rs");
    // The end of a shown path comes before a whole path that was not shown.
    assert_eq!(meant(anywhere, &[], "lib.rs:1").await, "here lib.rs");
    assert_eq!(
        meant(anywhere, &[(embeddings, "src/net/lib.rs")], "lib.rs:1").await,
        "there src/net/lib.rs"
    );
    // In a tree of which another file was shown, the end of a path also comes before another tree.
    assert_eq!(
        meant(anywhere, &[(embeddings, "src/lib.rs")], "net/lib.rs:1").await,
        "there src/net/lib.rs"
    );
    // Two shown files have the same rank.
    let both = [(here, "src/lib.rs"), (embeddings, "src/lib.rs")];
    assert_eq!(meant(anywhere, &both, "src/lib.rs:1").await, "- ");
    assert_eq!(meant(tree, &both, "src/lib.rs:1").await, "there src/lib.rs");
    // Names of trees and absolute paths decide, whatever was shown.
    let absolute = format!("{}:1", embeddings.join("src/lib.rs").display());
    assert_eq!(meant(anywhere, &shown, &absolute).await, "there src/lib.rs");
    assert_eq!(meant(anywhere, &shown, "there/src/lib.rs:1").await, "there src/lib.rs");
    // A path in none of them is searched everywhere; a path outside is never taken.
    assert_eq!(
        meant(tree, &[(embeddings, "src/lib.rs")], "./lib.rs:1, src/gone.rs:1").await,
        "there src/lib.rs, - "
    );
    let odd = LookupScope {
        within: tree,
        read_paths: ["", "/", "/etc/passwd.toml", "~"].map(str::to_owned).into(),
    };
    let report = checker.check_text("/etc/passwd.toml:1 and src/lib.rs:1", &odd).await.unwrap();
    let states: Vec<Option<&str>> =
        report.citations.iter().map(|one| one.rel_path.as_deref()).collect();
    assert_eq!(states, [None, Some("src/lib.rs")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_must_not_be_read_are_not_read() {
    let settings = "database:\n  password: hunter2-and-more\n  host: db.example.com\n";
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[("settings.yaml", settings), ("key.yaml", "a: 1\n")]);
    index.ingest(&repository).await;
    let text = "The `password` is there (settings.yaml:1-3), not in key.yaml:1.";
    let checker = build_checker(&index, PathMap::default());
    let states = async || -> Vec<CitationState> {
        let report = checker.check_text(text, &LookupScope::default()).await.unwrap();
        report.citations.iter().map(|one| one.state).collect()
    };
    // Another time alone is no change of a file.
    let touched = fs::File::options().write(true).open(repository.join("settings.yaml")).unwrap();
    touched.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(states().await, [CitationState::Confirmed, CitationState::Confirmed]);
    // It has a record, but is known to be secret now.
    let mut root = index.load_root().await;
    root.private_files = Some(vec!["key.yaml".to_owned()]);
    index.store.put_root(root).await.unwrap();
    assert_eq!(states().await, [CitationState::Confirmed]);
    // A file that grew too large is not read to its end, and not called deleted.
    let large = fs::File::options().write(true).open(repository.join("settings.yaml")).unwrap();
    large.set_len(1 << 40).unwrap();
    assert_eq!(states().await, []);
    // Unreadable files are not called deleted either, since the folder of all is missing.
    fs::rename(&repository.0, repository.0.with_extension("away")).unwrap();
    let away =
        checker.check_text("It is in settings.yaml:1-3.", &LookupScope::default()).await.unwrap();
    assert_eq!(away, CitationReport { citations: Vec::new(), unchecked: 1 });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_index_leaves_out_is_neither_read_nor_a_fault() {
    let (index, repository) = index_door().await;
    for (path, text) in [
        (".env", "TOKEN=a\n"),
        (".github/ci.yml", "on: push\n"),
        (".gitignore", "made/\n"),
        ("made/door.rs", "fn made() {}\n"),
        ("node_modules/lib/package.json", "{}\n"),
        ("node_modules/lib/a.js", "x\n"),
    ] {
        repository.write(path, text);
    }
    std::os::unix::fs::symlink("src", repository.join("now")).unwrap();
    index.ingest(&repository).await;
    let absolute = repository.join("made/door.rs").display().to_string();
    // Whatever the answer states about them, and wherever their lines are.
    let text = format!(
        "`gone_token` is in .env:1-900, the job in `.github/ci.yml:3`, `made_up` in {absolute}:77, \
         `x_y` in [a file](./node_modules/lib/a.js#L1-L2), `door/node_modules/lib/a.js:3` and now/door.rs:4; \
         also `made/door.rs`."
    );
    let report = build_checker(&index, PathMap::default())
        .check_text(&text, &LookupScope::default())
        .await
        .unwrap();
    assert_eq!(report, CitationReport { citations: Vec::new(), unchecked: 7 });
    for gone in [".env.local:1", ".github/cd.yml:3", "made/gone.rs:4", "gone/door.rs:4"] {
        let text = format!("It is in {gone}.");
        let report = build_checker(&index, PathMap::default())
            .check_text(&text, &LookupScope::default())
            .await
            .unwrap();
        let faults: Vec<&Option<CitationFault>> =
            report.citations.iter().map(|one| &one.fault).collect();
        assert!(matches!(faults[..], [Some(CitationFault::NotFound { .. })]), "{gone}: {faults:?}");
        assert_eq!(report.unchecked, 0, "{gone}");
    }
}
