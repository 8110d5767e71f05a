//! `codeinfo check`: documents against the files of their repository, as people and CI run it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

const APP: &str = "\
//! App.

/// Opens the door with a key.
fn open_door(key: u32) -> bool {
    let right = key == 42;
    right && key > 0
}

fn close_door() {
    println!(\"closed for the night\");
    println!(\"and locked\");
}
";
const LOCK: &str = "citations.lock";

struct CheckedFolder(TempDir);

impl CheckedFolder {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(TempDir::new().unwrap());
        fs::create_dir(tree.0.path().join(".git")).unwrap();
        tree.write("src/app.rs", APP);
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read_file(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap()
    }

    fn has_file(&self, path: &str) -> bool {
        self.0.path().join(path).try_exists().unwrap()
    }

    fn run_check(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        run_check(self.0.path(), arguments)
    }
}

fn run_check(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_codeinfo"));
    // It needs no server, no store and no setting.
    program.arg("check").args(arguments).current_dir(folder).env_clear().env("PORT", "none");
    let output = program.output().unwrap();
    let utf8 = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), utf8(output.stdout), utf8(output.stderr))
}

#[test]
fn the_documents_of_this_repository_cite_what_is_there() {
    let (code, out, output_text) = run_check(Path::new(env!("CARGO_MANIFEST_DIR")), &[]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{output_text}");
    // The result is more than that no fault was found.
    let count: u32 =
        output_text.split(", ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(count > 300, "{output_text}");
}

#[test]
fn every_fault_is_a_line_that_editors_understand() {
    let tree = CheckedFolder::new(&[
        (
            "README.md",
            "# Door *house*\n\n\
             `open_door` opens (src/app.rs:4-7), see [it](src/app.rs#L9-L12), \
             [docs](docs/more.md#two-words-1) and `app.rs`.\n\
             é `src/gone.rs`, [x](docs/none.md), [y](#nowhere), [z](docs/more.md#nope), \
             `src/app.rs:90-99`,\n[a](src/gone.rs#L3) and <img src=\"app.png\">.\n\n\
             `close_door` is in src/app.rs:4-7, and `night_watch` in `src/app.rs` (lines 9-12).\n",
        ),
        (
            "docs/more.md",
            "# More\n\n## Two words\n## Two words\n\nSee ../src/app.rs:9, [h](../README.md#door-house), \
             [top](/README.md), [own](#two-words) and\n`more.md`, but not ../src/app.rs:13.\n",
        ),
    ]);
    let (code, out, output_text) = tree.run_check(&[]);
    assert_snapshot!(out, @r"
    README.md:4:4: src/gone.rs: no such file
    README.md:4:18: docs/none.md: no such file
    README.md:4:37: #nowhere: `README.md` has no heading of this name
    README.md:4:52: docs/more.md#nope: `docs/more.md` has no heading of this name
    README.md:4:77: src/app.rs:90-99: the file has 12 lines, counted from 1
    README.md:5:5: src/gone.rs#L3: no such file
    README.md:5:30: app.png: no such file
    README.md:7:20: src/app.rs:4-7: `close_door` is at 9-12
    README.md:7:57: src/app.rs (lines 9-12): `night_watch` does not occur in this file
    docs/more.md:7:20: ../src/app.rs:13: the file has 12 lines, counted from 1
    ");
    assert_snapshot!(output_text, @r"
    2 documents, 18 citations: 8 verified, 1 moved, 9 missing
    4 not in citations.lock yet; `codeinfo check --fix` adds them
    ");
    assert_eq!(code, Some(1));
    // From elsewhere, and of one document.
    let (code, out, _) = run_check(&tree.0.path().join("docs"), &["more.md"]);
    assert_snapshot!(out, @"more.md:7:20: ../src/app.rs:13: the file has 12 lines, counted from 1");
    assert_eq!(code, Some(1));
    assert!(!tree.has_file(LOCK));
}

#[test]
fn a_path_outside_the_repository_is_no_fault() {
    let tree = CheckedFolder::new(&[
        (".gitignore", "made/\n*.log\n/docs/site/\n"),
        ("made/lib.rs", "fn lib() {}\n"),
        (".env", "KEY=1\n"),
        ("a/mod.rs", "a\n"),
        ("b/mod.rs", "b\n"),
        ("docs/other.md", "# Other\n"),
        (
            "README.md",
            "Patterns: `src/*.rs`, `src/{a,b}.rs`, src/<name>.rs, [x]({{ url }}), [y](docs/<a>.md).\n\n\
             Examples: `path/to/a.rs`, `docs/FILE.md`, `src/foo.rs`, `lib/x.rs`, `gone.rs`, gone.rs:3.\n\n\
             Elsewhere: `/etc/passwd`, ~/.config/x.toml:3, https://x.example/src/gone.rs#L3, \
             [m](mailto:a@b.example), /home/me/src/app.rs:99, `C:\\src\\gone.rs`, [i](../../issues).\n\n\
             Made or left out: `made/gone.rs`, `made/lib.rs:77`, docs/site/x.md, src/x.log:3, .env:9-12, \
             `target/x.rs`, [site](docs/site/index.html), [page](docs/other.html).\n\n\
             Words: `std::fs`, `node.js`, 3:4, and/or, `mod.rs:7`, v1.2.3, [z](docs), [w](.).\n\n\
             ```sh\ncat src/gone.rs:3\n```\n\n    src/gone.rs:3\n\n\
             Silent: `src/gone.rs` and [g](gone.md) <!-- codeinfo: ignore -->\n\n\
             <!-- codeinfo: ignore -->\n\n- `src/gone.rs`\n- src/app.rs:99\n\n\
             [Other](docs/other.md)\n",
        ),
        ("HISTORY.md", "<!-- codeinfo: ignore all -->\n\n`src/gone.rs` was [here](src/gone.rs).\n"),
        ("made/x.md", "[x](../gone.md)\n"),
    ]);
    let (code, out, output_text) = tree.run_check(&[]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_snapshot!(output_text, @"3 documents, 5 citations: 3 verified, 2 not read");
    // An ignored document is checked if it is named.
    assert_eq!(tree.run_check(&["made/x.md"]).0, Some(1));
}

#[test]
fn only_moved_citations_are_rewritten() {
    let document = "# App\r\n\r\nIt opens (src/app.rs:4-7), closes ([here](../src/app.rs#L9-L12), \
        `app.rs`, lines 9 to 12),\tand does both at `../src/app.rs:4:1-7:2,9-12`  \r\n\
        Its key is 42: src/app.rs:5.";
    let tree =
        CheckedFolder::new(&[("docs/b.md", document), ("a.md", "`key == 42` at `src/app.rs`:5\n")]);
    let path = tree.0.path().join("docs/b.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let (code, out, _) = tree.run_check(&["--fix"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_eq!(tree.read_file("docs/b.md"), document);
    let lock = tree.read_file(LOCK);
    let places: Vec<&str> =
        lock.lines().skip(1).map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let expected = [
        "a.md src/app.rs:5-5",
        "docs/b.md src/app.rs:4-7",
        "docs/b.md src/app.rs:5-5",
        "docs/b.md src/app.rs:9-12",
    ];
    assert_eq!(places, expected);

    // White space at the ends of lines is no change, and neither are other line ends.
    tree.write("src/app.rs", &APP.replace('\n', " \r\n"));
    assert_eq!(tree.run_check(&[]).0, Some(0));
    tree.write(
        "src/app.rs",
        &APP.replace("fn close", "// Now:\n\nfn close").replace("/// Opens", "//\n/// Opens"),
    );
    let (code, out, _) = tree.run_check(&[]);
    assert_snapshot!(out, @r"
    a.md:1:16: src/app.rs:5: moved to 6
    docs/b.md:3:11: src/app.rs:4-7: moved to 5-8
    docs/b.md:3:43: ../src/app.rs#L9-L12: moved to 12-15
    docs/b.md:3:66: app.rs, lines 9 to 12: moved to 12-15
    docs/b.md:3:110: ../src/app.rs:4:1-7:2,9-12: moved to 5-8, 12-15
    docs/b.md:4:16: src/app.rs:5: moved to 6
    ");
    assert_eq!(code, Some(1));
    let (code, out, output_text) = tree.run_check(&["--fix"]);
    assert!(out.lines().all(|line| line.ends_with("(mended)")), "{out}");
    assert_eq!(code, Some(0), "{output_text}");
    let mended = document
        .replace("4-7", "5-8")
        .replace("L9-L12", "L12-L15")
        .replace("9 to 12", "12 to 15")
        .replace("4:1-7:2,9-12", "5:1-8:2,12-15")
        .replace("app.rs:5.", "app.rs:6.");
    assert_eq!(tree.read_file("docs/b.md"), mended);
    assert_eq!(tree.read_file("a.md"), "`key == 42` at `src/app.rs`:6\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let (code, out, output_text) = tree.run_check(&[]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{output_text}");
    let names: Vec<_> = fs::read_dir(tree.0.path().join("docs")).unwrap().collect();
    assert_eq!(names.len(), 1);
    // Checking one document leaves what others cite as it is.
    let whole = tree.read_file(LOCK);
    assert_eq!(tree.run_check(&["--fix", "a.md"]).0, Some(0));
    assert_eq!(tree.read_file(LOCK), whole);
    // Cited lines are known by their content, so that moving them back gives the same lock file.
    tree.write("src/app.rs", APP);
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    assert_eq!((tree.read_file("docs/b.md"), tree.read_file(LOCK)), (document.to_owned(), lock));
}

/// Returns lines that each occur once, after some others.
fn numbered_lines(before: usize) -> String {
    let lines = (1..=30).map(|line| format!("let line_{line} = {line} * 1_234_567;\n"));
    "// More.\n".repeat(before) + &lines.collect::<String>()
}

/// Both places move by five lines: the second one of the old text is the first of the new one.
const MOVING: &str = "See src/lines.rs:6-10 and src/lines.rs:11-15.\n";
const MOVED: &str = "See src/lines.rs:11-15 and src/lines.rs:16-20.\n";

#[test]
fn a_document_that_cannot_be_written_keeps_its_entries() {
    // Nothing can be written beside it: names have 255 bytes at most.
    let long = format!("{}.md", "x".repeat(250));
    let tree = CheckedFolder::new(&[
        ("a.md", MOVING),
        (&long, MOVING),
        ("src/lines.rs", &numbered_lines(0)),
    ]);
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    let old = tree.read_file(LOCK);
    tree.write("src/lines.rs", &numbered_lines(5));
    for _ in 0..2 {
        let (code, out, output_text) = tree.run_check(&["--fix"]);
        assert_eq!(code, Some(2), "{out}{output_text}");
        assert!(output_text.contains(&format!("cannot write `{long}`")), "{output_text}");
        let mended = out.lines().filter(|line| line.ends_with("(mended)"));
        assert!(mended.into_iter().all(|line| line.starts_with("a.md:")), "{out}");
        assert_eq!(
            (tree.read_file("a.md").as_str(), tree.read_file(&long).as_str()),
            (MOVED, MOVING)
        );
        let lock = tree.read_file(LOCK);
        let of_long = |lock: &str| -> Vec<String> {
            lock.lines().filter(|line| line.starts_with("xxx")).map(str::to_owned).collect()
        };
        assert_eq!((lock.lines().count(), of_long(&lock)), (5, of_long(&old)));
        let (code, out, _) = tree.run_check(&["a.md"]);
        assert_eq!((code, out.as_str()), (Some(0), ""));
    }
    assert_eq!(tree.run_check(&[]).0, Some(1));
}

#[test]
fn documents_are_updated_correctly_at_any_interruption() {
    let names: Vec<String> = (0..300).map(|number| format!("docs/{number:03}.md")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), MOVING)).collect();
    let (before, after) = (numbered_lines(0), numbered_lines(5));
    files.push(("src/lines.rs", &before));
    let tree = CheckedFolder::new(&files);
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    tree.write("src/lines.rs", &after);
    let mut program = Command::new(env!("CARGO_BIN_EXE_codeinfo"));
    program.args(["check", "--fix"]).current_dir(tree.0.path()).env_clear();
    let mut running = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while tree.read_file(&names[3]) == MOVING && running.try_wait().unwrap().is_none() {
        thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    // Unfinished files may be left.
    fs::write(tree.0.path().join("docs/.299.md.codeinfo.tmp"), "half").unwrap();
    fs::write(tree.0.path().join(".citations.lock.codeinfo.tmp"), "half").unwrap();
    let (code, out, output_text) = tree.run_check(&["--fix", "docs/001.md"]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{output_text}");
    for _ in 0..2 {
        let (code, _, output_text) = tree.run_check(&["--fix"]);
        assert_eq!(code, Some(0), "{output_text}");
        assert!(names.iter().all(|name| tree.read_file(name) == MOVED));
    }
    assert_eq!(tree.run_check(&[]).1, "");
    assert_eq!(tree.read_file(LOCK).lines().count(), 601);
    assert_eq!(fs::read_dir(tree.0.path().join("docs")).unwrap().count(), names.len());
    assert!(!tree.has_file(".citations.lock.codeinfo.tmp"));
}

#[test]
fn two_processes_cannot_update_documents_at_once() {
    let tree = CheckedFolder::new(&[("a.md", MOVING), ("src/lines.rs", &numbered_lines(0))]);
    let root = fs::File::open(tree.0.path()).unwrap();
    root.lock().unwrap();
    let (code, out, output_text) = tree.run_check(&["--fix"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(output_text.contains("another `codeinfo check --fix`"), "{output_text}");
    assert!(!tree.has_file(LOCK));
    assert_eq!(tree.run_check(&[]).0, Some(0));
    root.unlock().unwrap();
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
}

#[test]
fn changed_citations_are_left_to_people() {
    let document = "It closes (src/app.rs:9-12).\n";
    let tree = CheckedFolder::new(&[("a.md", document)]);
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    let lock = tree.read_file(LOCK);
    tree.write("src/app.rs", &APP.replace("and locked", "and left open"));
    for arguments in [&[][..], &["--fix"]] {
        let (code, out, _) = tree.run_check(arguments);
        let line = "a.md:1:12: src/app.rs:9-12: these lines have changed since they were cited\n";
        assert_eq!((code, out.as_str()), (Some(1), line));
        assert_eq!(
            (tree.read_file("a.md"), tree.read_file(LOCK)),
            (document.to_owned(), lock.clone())
        );
    }
    // Cited lines may occur twice.
    tree.write("src/app.rs", &format!("\n{APP}\n{APP}"));
    let (_, out, _) = tree.run_check(&["--fix"]);
    assert!(out.contains("stands in several places"), "{out}");
    assert_eq!(tree.run_check(&["--accept"]).0, Some(0));
    assert_eq!(tree.read_file("a.md"), document);
    assert_ne!(tree.read_file(LOCK), lock);
    assert_eq!(tree.run_check(&[]).0, Some(0));
    // Gone from the file, and then from the document.
    tree.write("src/app.rs", "fn x() {}\n");
    let (code, out, _) = tree.run_check(&["--accept"]);
    assert!(code == Some(1) && out.contains("have changed"), "{out}");
    tree.write("a.md", "Nothing.\n");
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    assert_eq!(tree.read_file(LOCK).lines().count(), 1);
}

#[test]
fn changed_citations_stay_wrong_where_other_code_moved_to_their_lines() {
    for document in
        ["See src/app.rs:4-7 and src/app.rs:9-12.\n", "See src/app.rs:9-12, src/app.rs:4-7.\n"]
    {
        let tree = CheckedFolder::new(&[("a.md", document)]);
        assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
        let shifted = format!("{}{APP}", "//! It opens and closes.\n".repeat(5));
        tree.write("src/app.rs", &shifted.replace("and locked", "and left open"));
        let (code, out, _) = tree.run_check(&["--fix"]);
        assert!(code == Some(1) && out.contains("moved to 9-12 (mended)"), "{out}");
        assert_eq!(tree.read_file("a.md"), document.replace("4-7", "9-12"));
        let (code, out, _) = tree.run_check(&[]);
        assert!(code == Some(1) && out.contains("have changed"), "{document}: {out}");
    }
}

#[test]
fn a_renamed_file_is_found_by_what_was_cited() {
    let tree = CheckedFolder::new(&[
        ("docs/a.md", "It closes (src/app.rs:9-12, [x](../src/app.rs#L4-L7), app.rs:4-7).\n"),
        ("docs/b.md", "`close_door` in [it](../src/app.rs#L9-L12 \"title\").\n"),
    ]);
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    fs::create_dir(tree.0.path().join("src/net")).unwrap();
    fs::remove_file(tree.0.path().join("src/app.rs")).unwrap();
    tree.write("src/net/door.rs", &format!("//\n{APP}"));
    let (code, out, _) = tree.run_check(&[]);
    assert_snapshot!(out, @r"
    docs/a.md:1:12: src/app.rs:9-12: moved to src/net/door.rs:10-13
    docs/a.md:1:33: ../src/app.rs#L4-L7: moved to src/net/door.rs:5-8
    docs/a.md:1:55: app.rs:4-7: moved to src/net/door.rs:5-8
    docs/b.md:1:22: ../src/app.rs#L9-L12: moved to src/net/door.rs:10-13
    ");
    assert_eq!(code, Some(1));
    tree.run_check(&["--fix"]);
    assert_snapshot!(tree.read_file("docs/a.md") + &tree.read_file("docs/b.md"), @r#"
    It closes (src/net/door.rs:10-13, [x](../src/net/door.rs#L5-L8), src/net/door.rs:5-8).
    `close_door` in [it](../src/net/door.rs#L10-L13 "title").
    "#);
    let (_, out, _) = tree.run_check(&[]);
    assert_snapshot!(out, @"");
    // None of two files that have it now is selected.
    tree.write("src/net/other.rs", &format!("//\n{APP}"));
    fs::rename(tree.0.path().join("src/net/door.rs"), tree.0.path().join("src/net/gate.rs"))
        .unwrap();
    let (_, out, _) = tree.run_check(&["docs/b.md"]);
    assert_snapshot!(out, @"docs/b.md:1:22: ../src/net/door.rs#L10-L13: no such file");
}

#[test]
fn what_was_cited_is_found_elsewhere_only_if_all_files_can_be_read() {
    let tree = CheckedFolder::new(&[
        ("a.md", "It closes (src/app.rs:9-12).\n"),
        ("b.md", "See z.rs:1.\n"),
    ]);
    tree.write("z.rs", "fn last() {}\n");
    assert_eq!(tree.run_check(&["--fix"]).0, Some(0));
    fs::rename(tree.0.path().join("src/app.rs"), tree.0.path().join("here.rs")).unwrap();
    for place in 0..9 {
        tree.write(&format!("large/{place}.txt"), "");
        let large = tree.0.path().join(format!("large/{place}.txt"));
        fs::File::options().write(true).open(large).unwrap().set_len(8 << 20).unwrap();
    }
    let (code, out, output_text) = tree.run_check(&[]);
    assert_eq!((code, out.as_str()), (Some(1), "a.md:1:12: src/app.rs:9-12: no such file\n"));
    assert_eq!(output_text.lines().next(), Some("2 documents, 2 citations: 1 verified, 1 missing"));
    fs::remove_dir_all(tree.0.path().join("large")).unwrap();
    assert!(tree.run_check(&[]).1.contains("moved to here.rs:9-12"));
}

#[test]
fn the_json_output_is_a_promise() {
    let tree = CheckedFolder::new(&[(
        "a.md",
        "See src/app.rs:9-12 and `src/gone.rs:3`; `open_door` is at src/app.rs:1.\n",
    )]);
    let (code, out, _) = tree.run_check(&["--json"]);
    assert_eq!(code, Some(1));
    let root = tree.0.path().canonicalize().unwrap();
    let list: Value = serde_json::from_str(&out).unwrap();
    let name = root.file_name().unwrap().to_str().unwrap();
    let shown = format!("{list:#}").replace(root.to_str().unwrap(), "/root").replace(name, "root");
    assert_snapshot!(shown, @r#"
    [
      {
        "document": "a.md",
        "line": 1,
        "column": 5,
        "path": "/root/src/app.rs",
        "relPath": "src/app.rs",
        "repo": "root",
        "lines": [
          "9-12"
        ],
        "state": "verified",
        "hash": "c8c169850f96f4fa"
      },
      {
        "document": "a.md",
        "line": 1,
        "column": 26,
        "path": "src/gone.rs",
        "lines": [
          "3-3"
        ],
        "state": "missing",
        "message": "no such file"
      },
      {
        "document": "a.md",
        "line": 1,
        "column": 60,
        "path": "/root/src/app.rs",
        "relPath": "src/app.rs",
        "repo": "root",
        "lines": [
          "1-1"
        ],
        "state": "moved",
        "movedTo": [
          "4-7"
        ],
        "hash": "a3fb003bbb7d478a",
        "message": "`open_door` is at 4-7"
      }
    ]
    "#);
}

#[test]
fn nothing_outside_is_read_and_what_cannot_be_read_exits_with_2() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret.rs"), "fn secret_key() {}\n").unwrap();
    let tree = CheckedFolder::new(&[]);
    symlink(outside.path(), tree.0.path().join("src/out")).unwrap();
    symlink(outside.path().join("secret.rs"), tree.0.path().join("src/link.rs")).unwrap();
    tree.write("a.md", "`no_such` in src/out/secret.rs:99, src/link.rs:99, ../secret.rs:99 and [x](src/link.rs).\n");
    let (code, out, output_text) = tree.run_check(&["--fix"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_snapshot!(output_text, @"1 document, 3 citations: 1 verified, 2 not read");
    assert!(!tree.has_file(LOCK));

    let (code, _, output_text) = tree.run_check(&["gone.md"]);
    assert_eq!((code, output_text.lines().count()), (Some(2), 1), "{output_text}");
    assert_eq!(tree.run_check(&["--nonsense"]).0, Some(2));
    fs::write(tree.0.path().join("b.md"), b"\xff\xfe").unwrap();
    let (code, _, output_text) = tree.run_check(&["b.md"]);
    assert!(code == Some(2) && output_text.contains("b.md"), "{output_text}");
    // The others are checked, and what the lock has of it stays.
    tree.write(LOCK, "b.md src/app.rs:1-2 0123456789abcdef0123\n");
    let (code, out, output_text) = tree.run_check(&["--fix"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert_snapshot!(output_text, @r"
    1 document, 3 citations: 1 verified, 2 not read
    codeinfo: cannot read `b.md`: it is not UTF-8
    ");
    assert!(tree.read_file(LOCK).contains("b.md src/app.rs:1-2 0123456789abcdef0123\n"));
    tree.write(LOCK, "<<<<<<< ours\n");
    let (code, _, output_text) = tree.run_check(&["a.md"]);
    assert!(code == Some(2) && output_text.contains("line 1 of `citations.lock`"), "{output_text}");

    // Without Git the folder of the document is all there is.
    let bare = TempDir::new().unwrap();
    fs::write(bare.path().join("a.md"), "[x](b.md), [y](../c.md)\n").unwrap();
    let (code, out, _) = run_check(bare.path(), &["a.md"]);
    assert_eq!((code, out.as_str()), (Some(1), "a.md:1:1: b.md: no such file\n"));
}

#[test]
fn no_line_of_the_report_is_a_command_of_a_service() {
    let tree = CheckedFolder::new(&[("::warning::a.md", "[x](gone.md)\n")]);
    let (code, out, _) = tree.run_check(&[]);
    assert_eq!((code, out.as_str()), (Some(1), "./::warning::a.md:1:1: gone.md: no such file\n"));
}

#[test]
fn lines_of_any_number_are_compared() {
    let tree = CheckedFolder::new(&[(
        "a.md",
        "See src/app.rs:0-4294967295 and src/gone.rs:0-4294967295.\n",
    )]);
    let entry = |path| format!("a.md {path}:0-4294967295 0123456789abcdef0123\n");
    tree.write(LOCK, &(entry("src/app.rs") + &entry("src/gone.rs")));
    let (code, out, output_text) = tree.run_check(&[]);
    assert_eq!((code, out.lines().count()), (Some(1), 2), "{out}{output_text}");
}

#[test]
fn large_documents_are_checked_in_time_that_grows_with_them() {
    let tree = CheckedFolder::new(&[("a.md", &"[x](#y) ".repeat(40_000))]);
    let large = format!("{}\n", "let a = 1; ".repeat(20)).repeat(20_000);
    tree.write("src/large.rs", &large);
    let cited: Vec<String> =
        (1..3000).map(|line| format!("src/large.rs:{line}-20000 \n")).collect();
    tree.write("b.md", &cited.concat());
    let begun = Instant::now();
    let (code, out, output_text) = tree.run_check(&[]);
    assert_eq!((code, out.lines().count()), (Some(1), 40_000));
    assert!(out.ends_with("a.md:1:319993: #y: `a.md` has no heading of this name\n"));
    // The same lines again and again are compared so often, and not without end.
    assert!(output_text.contains(" not read"), "{output_text}");
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
}
