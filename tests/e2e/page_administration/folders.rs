//! `GET /folders` and `GET /page/config`.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
};

use codeinfo_test_support::wire::send_get;
use serde_json::{Value, json};

use super::{assert_refused, get_json};
use crate::listeners::InProcessServer;

fn create_folders(folder: &Path, names: &[&str]) {
    for name in names {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
}

/// Starts a server that lists the folders below `allowed`, a folder of the test.
async fn start_with_folders(folder: &Path, pairs: &[(&str, &str)]) -> InProcessServer {
    let roots = folder.display().to_string();
    let mut all = vec![("FOLDER_ROOTS", roots.as_str())];
    all.extend(pairs);
    InProcessServer::start_with(&all).await
}

async fn list_folder(server: &InProcessServer, path: &Path) -> Value {
    get_json(server, &format!("/folders?path={}", path.display())).await
}

fn list_names(listing: &Value) -> Vec<&str> {
    let folders = listing["folders"].as_array().unwrap().iter();
    folders.map(|folder| folder["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn folders_are_listed_level_by_level_if_they_can_be_indexed() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let home = place.join("home");
    create_folders(
        &home,
        &["src/app/.git", "src/app/deep", "src/.hidden", "src/.ssh", "Books", "art"],
    );
    create_folders(&home, &["src/.hidden/inner", "own", "own/.aws/inner"]);
    create_folders(&place, &["outside/secret"]);
    fs::write(home.join("src/worktree.txt"), "").unwrap();
    create_folders(&home, &["src/worktree"]);
    fs::write(home.join("src/worktree/.git"), "gitdir: /elsewhere").unwrap();
    fs::create_dir(home.join("src").join(std::ffi::OsStr::from_bytes(b"bad\xff"))).unwrap();
    symlink(place.join("outside"), home.join("src/link")).unwrap();
    let server =
        start_with_folders(&home, &[("CODEX_HOME", home.join("own").to_str().unwrap())]).await;
    let tops = get_json(&server, "/folders").await;
    let top = json!({ "name": home, "path": home, "isRepository": false });
    let expected = json!({ "path": null, "parent": null, "folders": [top], "truncated": false });
    assert_eq!(tops, expected);
    assert_eq!(get_json(&server, "/folders?path=").await, expected);
    let listed = list_folder(&server, &home).await;
    assert_eq!(list_names(&listed), ["art", "Books", "src"], "neither CODEX_HOME nor hidden ones");
    assert_eq!((&listed["path"], &listed["parent"]), (&json!(home), &Value::Null));
    let listed = list_folder(&server, &home.join("src")).await;
    assert_eq!(list_names(&listed), ["app", "worktree"], "{listed}");
    assert_eq!(listed["parent"], json!(home));
    let is = |at: usize| listed["folders"][at]["isRepository"].as_bool().unwrap();
    assert!(is(0) && is(1));
    assert_eq!(listed["folders"][0]["indexed"], Value::Null);
    // Inside, a folder that cannot be indexed looks like a missing one.
    for below in ["gone", "src/worktree.txt", "src/link", "src/link/secret", "src/.hidden", "own"] {
        let path = format!("/folders?path={}", home.join(below).display());
        assert_refused(
            &send_get(server.main, &path).await,
            (404, "FOLDER_NOT_FOUND"),
            "is no folder",
        );
    }
    for below in ["src/.hidden/inner", "src/.ssh", "own/inner", "own/.aws/inner"] {
        let path = format!("/folders?path={}", home.join(below).display());
        assert_refused(
            &send_get(server.main, &path).await,
            (404, "FOLDER_NOT_FOUND"),
            "is no folder",
        );
    }
    // Outside, existing and missing folders are refused alike.
    let outside = [place.clone(), place.join("outside"), place.join("gone"), "/".into()];
    let dotted = [home.join("../outside"), home.join("src/../../outside"), home.join("../gone")];
    let near = [place.join("home2"), "/proc".into()];
    let mut bodies = Vec::new();
    for path in outside.iter().chain(&dotted).chain(&near) {
        let reply = send_get(server.main, &format!("/folders?path={}", path.display())).await;
        assert_refused(&reply, (403, "FORBIDDEN"), "not below a folder of `FOLDER_ROOTS`");
        bodies.push(reply.body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    for (query, fault) in [
        ("path=src", "`path` must be absolute"),
        ("path=%2F%00", "`path` must be at most"),
        ("from=1", "`path`"),
    ] {
        let refused = send_get(server.main, &format!("/folders?{query}")).await;
        assert_refused(&refused, (400, "VALIDATION_FAILED"), fault);
    }
    let long = format!("/folders?path=/{}", "x".repeat(5000));
    assert_refused(&send_get(server.main, &long).await, (400, "VALIDATION_FAILED"), "at most 4096");
}

#[tokio::test]
async fn a_folder_that_is_indexed_says_so_and_paths_are_those_that_clients_see() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let inside = place.join("repos").display().to_string();
    create_folders(&place, &["repos/app/.git", "repos/other"]);
    fs::write(place.join("repos/app/a.rs"), "fn a() {}\n").unwrap();
    // Without the setting, the folder that is mapped is the one to choose from.
    let pairs = [("INGEST_DIR", inside.as_str()), ("HOST_INGEST_DIR", "/home/me/src")];
    let server = InProcessServer::start_with(&pairs).await;
    let body = json!({ "path": "/home/me/src/app", "name": "the app" });
    let run =
        codeinfo_test_support::wire::send_post(server.main, "/ingest/start", &body.to_string())
            .await
            .json();
    server.wait_for_run(run["runId"].as_str().unwrap()).await;
    let tops = get_json(&server, "/folders").await;
    assert_eq!(tops["folders"][0]["path"], "/home/me/src");
    let listed = list_folder(&server, Path::new("/home/me/src")).await;
    let app = json!({ "name": "app", "path": "/home/me/src/app", "isRepository": true,
                      "indexed": "the app" });
    let other = json!({ "name": "other", "path": "/home/me/src/other", "isRepository": false });
    assert_eq!(listed["folders"], json!([app, other]));
    let inner = list_folder(&server, Path::new("/home/me/src/app")).await;
    assert_eq!((&inner["path"], &inner["parent"]), (&app["path"], &json!("/home/me/src")));
    let outside = send_get(server.main, "/folders?path=/home/me").await;
    assert_refused(&outside, (403, "FORBIDDEN"), "FOLDER_ROOTS");
}

#[tokio::test]
async fn listings_are_bounded_and_several_folders_or_none_may_be_allowed() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    create_folders(&place, &["one/nested", "two", "many"]);
    for number in 0..1001 {
        fs::create_dir(place.join(format!("many/{number:04}"))).unwrap();
    }
    symlink(place.join("two"), place.join("link")).unwrap();
    // An allowed folder may itself be a link: who sets it means where it leads.
    let roots = ["one", "one/nested", "link", "gone", "many"];
    let roots: Vec<String> = roots.map(|name| place.join(name).display().to_string()).into();
    let server = InProcessServer::start_with(&[("FOLDER_ROOTS", &roots.join(":"))]).await;
    let tops = get_json(&server, "/folders").await;
    let expected = ["one", "one/nested", "two", "many"].map(|name| json!(place.join(name)));
    let paths = tops["folders"].as_array().unwrap().iter().map(|top| top["path"].clone());
    assert_eq!(paths.collect::<Vec<_>>(), expected);
    let nested = list_folder(&server, &place.join("one/nested")).await;
    assert_eq!(nested["parent"], json!(place.join("one")));
    let linked = list_folder(&server, &place.join("link")).await;
    assert_eq!(linked["path"], json!(place.join("two")));
    let gone = send_get(server.main, &format!("/folders?path={}/gone/x", place.display())).await;
    assert_refused(&gone, (404, "FOLDER_NOT_FOUND"), "is no folder");
    let many = list_folder(&server, &place.join("many")).await;
    assert_eq!((list_names(&many).len(), &many["truncated"]), (1000, &json!(true)));
    assert_eq!(list_names(&many)[999], "0999");
    fs::remove_dir(place.join("many/1000")).unwrap();
    assert_eq!(list_folder(&server, &place.join("many")).await["truncated"], json!(false));
    // A folder that is never indexed is not offered, even where it is allowed.
    create_folders(&place, &["own/.aws/inner", "codex/inner"]);
    let refused = [Path::new("/proc"), &place.join("own/.aws"), &place.join("codex")];
    let roots = refused.map(|folder| folder.display().to_string()).join(":");
    let roots = format!("{roots}:{}:/", place.display());
    let home = place.join("codex").display().to_string();
    let pairs = [("FOLDER_ROOTS", roots.as_str()), ("CODEX_HOME", home.as_str())];
    let server = InProcessServer::start_with(&pairs).await;
    assert_eq!(list_names(&get_json(&server, "/folders").await), [place.to_str().unwrap(), "/"]);
    let whole = list_folder(&server, Path::new("/")).await;
    assert!(
        !list_names(&whole).iter().any(|name| ["proc", "sys", "dev"].contains(name)),
        "{whole}"
    );
    assert_eq!(whole["parent"], Value::Null);
    for folder in refused {
        for path in [folder.to_owned(), folder.join("inner")] {
            let reply = send_get(server.main, &format!("/folders?path={}", path.display())).await;
            assert_refused(&reply, (404, "FOLDER_NOT_FOUND"), "is no folder");
        }
    }
    let inside = list_folder(&server, &place).await;
    assert_eq!(list_names(&inside), ["many", "one", "own", "two"], "neither links nor CODEX_HOME");
    let server = InProcessServer::start_with(&[("FOLDER_ROOTS", "none")]).await;
    let off = send_get(server.main, "/folders").await;
    assert_refused(&off, (403, "FORBIDDEN"), "`FOLDER_ROOTS` is `none`; type the path of a folder");
}

#[tokio::test]
async fn the_page_learns_which_editor_opens_files() {
    let config = async |pairs: &[(&str, &str)]| {
        let server = InProcessServer::start_with(pairs).await;
        let mut config = get_json(&server, "/page/config").await;
        assert_eq!(config["version"], env!("CARGO_PKG_VERSION"));
        config.as_object_mut().unwrap().remove("version");
        config
    };
    let with = |editor: &str, link: &str| json!({ "editor": editor, "editorLink": link, "keepsConversations": true });
    assert_eq!(config(&[]).await, with("vscode", "vscode://file{path}:{line}"));
    let idea = with("idea", "idea://open?file={path}&line={line}");
    assert_eq!(config(&[("EDITOR_LINK", "idea")]).await, idea);
    let own = "emacs://open?url=file://{path}&line={line}";
    assert_eq!(config(&[("EDITOR_LINK", own)]).await, with("other", own));
    let none = [("EDITOR_LINK", "none"), ("CONVERSATIONS_KEPT", "0")];
    assert_eq!(config(&none).await, json!({ "editor": "none", "keepsConversations": false }));
}
