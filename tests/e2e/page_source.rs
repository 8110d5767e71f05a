//! `GET /source`: lines of indexed files to look at.

use std::{fs, os::unix::fs::symlink};

use codeinfo_test_support::wire::send_get;
use serde_json::{Value, json};

use crate::listeners::InProcessServer;

async fn get_source(server: &InProcessServer, query: &str) -> Value {
    send_get(server.main, &format!("/source?{query}")).await.json()
}

/// Returns the texts of lines.
fn line_texts(shown: &Value) -> Vec<&str> {
    shown["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn lines_are_shown_with_their_marks_and_what_changed_since_they_were_indexed() {
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    let shown = get_source(&server, "path=demo/src/parse.rs&first=1&last=3").await;
    let path = server.folder.path().canonicalize().unwrap().join("demo/src/parse.rs");
    assert_eq!(shown["path"], path.to_str().unwrap());
    let about = ["relPath", "repo", "language", "total", "first", "last", "state"];
    assert_eq!(
        about.map(|name| shown[name].clone()),
        [
            json!("src/parse.rs"),
            json!("demo"),
            json!("rust"),
            json!(4),
            json!(1),
            json!(3),
            json!("same")
        ]
    );
    assert_eq!(line_texts(&shown)[0], "/// Reads a configuration file line by line.");
    assert_eq!(shown["lines"][0]["marks"], json!([[0, 44, "c"]]));
    assert_eq!(shown["lines"][1]["marks"][1], json!([4, 6, "k"]));
    assert_eq!(shown.get("permalink"), None);
    // By its absolute path, and by the repository alone.
    let encoded = path.to_str().unwrap().replace('/', "%2F");
    for query in [format!("path={encoded}"), "path=src/parse.rs&repository=demo".to_owned()] {
        assert_eq!(line_texts(&get_source(&server, &query).await).len(), 4, "{query}");
    }
    // On a forge, once the origin of the repository is known.
    let git = server.folder.path().join("demo/.git");
    fs::create_dir_all(&git).unwrap();
    fs::write(git.join("HEAD"), "0123456789abcdef0123456789abcdef01234567\n").unwrap();
    let config = "[remote \"origin\"]\n\turl = https://me:secret@git.example/o/r.git\n";
    fs::write(git.join("config"), config).unwrap();
    // Changed since.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("const KEY: &str = \"{}\";\n{text}", "AKIAIOSFODNN7EXAMPLF")).unwrap();
    let shown = get_source(&server, "path=src/parse.rs").await;
    assert_eq!((&shown["state"], &shown["total"]), (&json!("changed"), &json!(5)));
    assert_eq!(shown["onDisk"], true);
    assert_eq!(shown["lines"][0]["changed"], true);
    assert_eq!(shown["lines"][1].get("changed"), None);
    assert!(!shown.to_string().contains("AKIAIOSFODNN7EXAMPLF"), "{shown}");
    assert_eq!(
        shown["permalink"],
        "https://git.example/o/r/blob/0123456789abcdef0123456789abcdef01234567/src/parse.rs"
    );
    assert_eq!(shown["lineAnchor"], "#L{first}-L{last}");
    fs::remove_file(&path).unwrap();
    let shown = get_source(&server, "path=src/parse.rs").await;
    assert_eq!((&shown["state"], line_texts(&shown).len()), (&json!("gone"), 4));
    assert_eq!(shown["onDisk"], false);
}

#[tokio::test]
async fn a_long_file_is_shown_in_parts_each_marked_as_in_the_whole() {
    let server = InProcessServer::start().await;
    let lines: Vec<String> = (1..=4999).map(|number| format!("let line_{number} = 1;")).collect();
    server.write("demo/src/long.rs", &format!("/*\n{}", lines.join("\n")));
    server.ingest("demo", "one long file").await;
    let first = get_source(&server, "path=src/long.rs").await;
    assert_eq!(
        ["total", "first", "last"].map(|name| first[name].as_u64().unwrap()),
        [5000, 1, 2000]
    );
    let second = get_source(&server, "path=src/long.rs&first=2001&last=9999").await;
    assert_eq!(
        ["total", "first", "last"].map(|name| second[name].as_u64().unwrap()),
        [5000, 2001, 4000]
    );
    assert_eq!(line_texts(&second)[0], "let line_2000 = 1;");
    // The comment begins in the first part.
    assert_eq!(second["lines"][0]["marks"], json!([[0, 18, "c"]]));
    let last = get_source(&server, "path=src/long.rs&first=5000").await;
    assert_eq!(line_texts(&last), ["let line_4999 = 1;"]);
    // Only the start of a line that became very long appears.
    let wide = format!("let wide = \"{}\"; 5\n", "ärger ".repeat(3000));
    server.write("demo/src/long.rs", &wide);
    let shown = get_source(&server, "path=src/long.rs").await;
    let line = line_texts(&shown)[0];
    assert!(line.len() < 10_010 && line.ends_with('…'), "{}", line.len());
    assert_eq!(shown["lines"][0]["marks"], json!([[0, 3, "k"]]));
}

#[tokio::test]
async fn nothing_but_indexed_files_is_shown() {
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    let folder = server.folder.path();
    fs::write(folder.join("outside.rs"), "fn secret() {}\n").unwrap();
    fs::write(folder.join("demo/.env"), "TOKEN=abc\n").unwrap();
    symlink(folder.join("outside.rs"), folder.join("demo/src/link.rs")).unwrap();
    let outside = folder.join("outside.rs").display().to_string();
    for path in [outside.as_str(), "demo/../outside.rs", "demo/.env", "src/link.rs", "none.rs"] {
        let refused = send_get(server.main, &format!("/source?path={path}")).await;
        assert_eq!(
            (refused.status, &refused.json()["error"]),
            (404, &json!("FILE_NOT_FOUND")),
            "{path}"
        );
    }
    // A file that became a link is not followed.
    let parse = folder.join("demo/src/parse.rs");
    fs::remove_file(&parse).unwrap();
    symlink(folder.join("outside.rs"), &parse).unwrap();
    let shown = get_source(&server, "path=src/parse.rs").await;
    assert_eq!(shown["state"], "unreadable");
    assert!(!shown.to_string().contains("secret"), "{shown}");
    for (query, fault) in [
        ("", "`path` is missing"),
        ("path=a&first=0", "`first` must be"),
        ("path=a&last=x", "`last` must be"),
        ("path=a&lines=1", "`lines` is no parameter"),
        ("path=demo/src", "is a folder"),
    ] {
        let refused = send_get(server.main, &format!("/source?{query}")).await;
        assert_eq!((refused.status, refused.body.contains(fault)), (400, true), "{refused:?}");
    }
    let unknown = send_get(server.main, "/source?path=a&repository=other").await;
    assert_eq!(unknown.json()["error"], "REPO_NOT_FOUND");
}
