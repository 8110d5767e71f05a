//! Commits that are indexed as they are in the repository, whatever is checked out.

mod hostile;

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc, time::Duration};

use codeinfo_citations::{CitationChecker, LookupScope, describe_faults};
use codeinfo_core::{PathMap, Root, RootFilter, RootId, task::Tasks};
use codeinfo_embed::BuiltinEmbedder;
use codeinfo_evidence::{Evidence, IndexedFileState as FileState, RequestedLines};
use codeinfo_ingest::{IngestError, IngestRequest, RunState, RunStatus, WatchStatus};
use codeinfo_search::{Search, SearchQuery, render_excerpt};
use codeinfo_test_support::{
    git::{add_worktree, commit_all, run_git},
    ingest::{TestIndex, TestRepository, build_request, list_tree_chunks},
};

const OLD: &str = "/// Tries a request again.\nfn retry(times: u32) {\n    repeat(times);\n}\n";
const NEW: &str = "/// Tries a request again, later each time.\nfn retry(times: u32) {\n    back_off(times);\n}\n";
const SAME: &str = "/// Repeats.\nfn repeat(times: u32) {}\n";

/// Creates a repository whose tag `v1` differs from the checkout in one of two files.
async fn index_tagged_repository() -> (TestIndex, TestRepository) {
    let index = TestIndex::new().await;
    let app = index.create_repository("app", &[("src/retry.rs", OLD), ("src/same.rs", SAME)]);
    commit_all(&app.0, "Begin");
    run_git(&app.0, &["tag", "--annotate", "--message", "One", "v1"]);
    app.write("src/retry.rs", NEW);
    commit_all(&app.0, "Wait longer");
    (index, app)
}

fn revision_request(repository: &TestRepository, name: &str) -> IngestRequest {
    let mut path = repository.0.clone().into_os_string();
    path.push(format!("@{name}"));
    IngestRequest { path: PathBuf::from(path), ..IngestRequest::default() }
}

async fn run_revision(index: &TestIndex, repository: &TestRepository, name: &str) -> RunStatus {
    let status = index.run_ingest(revision_request(repository, name)).await;
    assert!(matches!(status.state, RunState::Completed | RunState::Skipped), "{status:?}");
    status
}

async fn read_refusal(index: &TestIndex, repository: &TestRepository, name: &str) -> String {
    match index.ingest.start_run(revision_request(repository, name)).await {
        Err(error @ (IngestError::Revision { .. } | IngestError::Path { .. })) => error.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

async fn find_root(index: &TestIndex, name: &str) -> Root {
    let roots = index.store.roots().await.unwrap();
    let names: Vec<&String> = roots.iter().map(|root| &root.name).collect();
    let found = roots.iter().find(|root| root.name == name);
    found.unwrap_or_else(|| panic!("no {name} among {names:?}")).clone()
}

async fn list_files(index: &TestIndex, name: &str) -> Vec<String> {
    let held = list_tree_chunks(&index.store, find_root(index, name).await.id).await;
    held.into_iter().map(|(path, ..)| path).collect::<BTreeSet<_>>().into_iter().collect()
}

fn build_evidence(index: &TestIndex) -> Evidence {
    Evidence::new(index.store.clone(), PathMap::default())
}

/// Reads a whole file as a client does; it must be as it was indexed.
async fn read_text(index: &TestIndex, path: &str) -> String {
    let asked = RequestedLines { first: None, last: None };
    let lines =
        build_evidence(index).read_lines(path, asked, RootFilter::Everything).await.unwrap();
    assert_eq!(lines.state, FileState::Indexed, "{path}");
    lines.lines.into_iter().map(|(_, line)| line + "\n").collect()
}

#[tokio::test]
async fn a_tag_is_indexed_beside_what_is_checked_out_and_read_from_the_objects() {
    let (index, app) = index_tagged_repository().await;
    let before = run_git(&app.0, &["count-objects", "--verbose"]);
    assert_eq!(index.ingest(&app).await.counts.embedded, 2);
    let status = run_revision(&index, &app, "v1").await;
    // Only what the checkout does not have.
    assert_eq!((status.counts.embedded, status.counts.files), (1, 2));
    let tag = find_root(&index, "app@v1").await;
    assert_eq!(tag.repository, Some(RootId::from_path(&app.0)));
    assert_eq!(tag.path, revision_request(&app, "v1").path);
    let commit = run_git(&app.0, &["rev-parse", "v1^{commit}"]);
    assert_eq!(tag.revision.as_ref().unwrap().commit, commit.trim());
    assert_eq!(read_text(&index, "app@v1/src/retry.rs").await, OLD);
    assert_eq!(read_text(&index, "app/src/retry.rs").await, NEW);
    let absolute = tag.path.join("src/retry.rs");
    assert_eq!(read_text(&index, absolute.to_str().unwrap()).await, OLD);

    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(index.store.clone(), embedder, PathMap::default());
    let query = SearchQuery::new("Tries a request again.", Some("app@v1"), Some(5)).unwrap();
    let found = search.find_chunks(&query).await.unwrap();
    assert_eq!(found.hits[0].path, absolute.to_str().unwrap());
    assert!(found.hits[0].chunk.contains("repeat(times)"));
    // The checkout changes, a commit does not.
    app.write("src/retry.rs", "fn other() {}\n");
    assert_eq!(read_text(&index, "app@v1/src/retry.rs").await, OLD);
    let freshness = search.check_freshness(&found).await.unwrap();
    let shown = render_excerpt(&found, "retry", &freshness, &BTreeSet::new(), 4000).text;
    assert!(!shown.contains("since indexed"), "{shown}");
    // Citations are checked against the commit.
    let checker = CitationChecker::new(index.store.clone(), PathMap::default());
    let text = |line: u32, name: &str| format!("`{name}` is at {}:{line}.", absolute.display());
    for (name, wrong) in [("repeat", 0), ("back_off", 1)] {
        let text = text(3, name);
        let report = checker.check_text(&text, &LookupScope::default()).await.unwrap();
        assert_eq!((report.citations.len(), report.unchecked), (1, 0), "{report:?}");
        assert_eq!(describe_faults(&text, &report).len(), wrong, "{report:?}");
    }

    assert_eq!(run_revision(&index, &app, "v1").await.state, RunState::Skipped);
    assert_eq!(run_git(&app.0, &["count-objects", "--verbose"]), before);
    index.ingest.remove_root("app@v1").await.unwrap();
    index.ingest.remove_root("app").await.unwrap();
    assert_eq!(index.store.count(None).await.unwrap(), 0);
}

#[tokio::test]
async fn branches_ids_and_parts_of_ids_name_commits_in_the_order_of_git() {
    let (index, app) = index_tagged_repository().await;
    let old = run_git(&app.0, &["rev-parse", "v1^{commit}"]).trim().to_owned();
    let new = run_git(&app.0, &["rev-parse", "HEAD"]).trim().to_owned();
    run_git(&app.0, &["branch", "feature/later", &new]);
    run_git(&app.0, &["branch", "v1", &new]);
    run_git(&app.0, &["tag", "@scope/pkg@1.0.0", &old]);
    run_git(&app.0, &["update-ref", "refs/remotes/origin/far", &old]);
    for (name, commit) in [
        ("v1", &old),
        ("refs/heads/v1", &new),
        ("feature/later", &new),
        ("HEAD", &new),
        ("@scope/pkg@1.0.0", &old),
        ("origin/far", &old),
        (&old, &old),
        (new.split_at(9).0, &new),
    ] {
        run_revision(&index, &app, name).await;
        let root = find_root(&index, &format!("app@{name}")).await;
        assert_eq!(&root.revision.unwrap().commit, commit, "{name}");
    }
    // Four versions of two files, whatever the number of names.
    assert_eq!(index.store.count(None).await.unwrap(), 3);
    assert_eq!(read_text(&index, "app@feature/later/src/retry.rs").await, NEW);

    run_git(&app.0, &["pack-refs", "--all"]);
    run_git(&app.0, &["gc", "--quiet", "--prune=now"]);
    assert_eq!(run_revision(&index, &app, "v1").await.state, RunState::Skipped);
    assert_eq!(read_text(&index, "app@feature/later/src/retry.rs").await, NEW);
    for (name, reason) in [
        ("v2", "no branch, no tag and no commit"),
        ("HEAD~1", "names no one branch"),
        ("main..v1", "names no one branch"),
        ("", "follows the `@`"),
        ("../../etc", "names no one branch"),
        ("a/.git", "can be no name"),
        ("refs/../config", "names no one branch"),
        ("0000000000000000000000000000000000000000", "`git fetch` may get it"),
        (run_git(&app.0, &["rev-parse", "HEAD^{tree}"]).trim(), "no commit"),
    ] {
        let refusal = read_refusal(&index, &app, name).await;
        assert!(refusal.contains(reason), "{name}: {refusal}");
    }
    let outside = index.create_repository("plain", &[("a.rs", OLD)]);
    assert!(read_refusal(&index, &outside, "v1").await.contains("no git repository"));
}

#[tokio::test]
async fn a_branch_that_moves_is_followed_by_a_run_and_by_the_watcher() {
    let (index, app) = index_tagged_repository().await;
    run_git(&app.0, &["branch", "next", "v1"]);
    run_revision(&index, &app, "next").await;
    assert_eq!(read_text(&index, "app@next/src/retry.rs").await, OLD);
    run_git(&app.0, &["branch", "--force", "next", "HEAD"]);
    let status = run_revision(&index, &app, "next").await;
    assert_eq!((status.state, status.counts.embedded), (RunState::Completed, 1));
    assert_eq!(read_text(&index, "app@next/src/retry.rs").await, NEW);

    index.ingest.watch_roots();
    let id = find_root(&index, "app@next").await.id;
    // The first move may be found when the watcher begins, the later ones only as they happen.
    for (to, call) in [("v1", "repeat"), ("main", "back_off"), ("v1", "repeat")] {
        run_git(&app.0, &["branch", "--force", "next", to]);
        for _ in 0..200 {
            let held = list_tree_chunks(&index.store, id).await;
            if held.iter().any(|(.., text)| text.contains(&format!("{call}(times)"))) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let read = read_text(&index, "app@next/src/retry.rs").await;
        assert!(read.contains(&format!("{call}(times)")), "{to}");
    }
    let watching = async || index.ingest.describe_root("app@next").await.unwrap().watching;
    assert_eq!(watching().await, WatchStatus::On);
    // A branch that is gone leaves what was indexed, and is named.
    run_git(&app.0, &["branch", "--delete", "--force", "next"]);
    for _ in 0..200 {
        if watching().await != WatchStatus::On {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let gone = "its repository, or the branch or tag, is gone".to_owned();
    assert_eq!(watching().await, WatchStatus::Failed(gone));
    assert!(read_refusal(&index, &app, "next").await.contains("no branch"));
    assert_eq!(read_text(&index, "app@next/src/retry.rs").await, OLD);
}

#[tokio::test]
async fn rules_and_secrets_apply_as_to_files() {
    let (index, app) = index_tagged_repository().await;
    app.write("notes.txt", "kept\n");
    app.write(".env", "TOKEN=abcdefgh12345678\n");
    app.write("config/id_rsa", "no key, but called so\n");
    app.write("gen/made.rs", "fn made() {}\n");
    app.write("node_modules/x/package.json", "{}\n");
    app.write("node_modules/x/index.js", "export function x() {}\n");
    app.write("key.rs", "const KEY: &str = \"AKIAQYLPMN5HFIQR7XYA\";\nfn after() {}\n");
    app.write("large.txt", &"word ".repeat(300_000));
    #[cfg(unix)]
    std::os::unix::fs::symlink("notes.txt", app.0.join("link.txt")).unwrap();
    commit_all(&app.0, "Add");
    app.write(".ignore", "gen/\n");
    // Git tracks it.
    app.write(".gitignore", "notes.txt\n");
    commit_all(&app.0, "Ignore");
    let status = run_revision(&index, &app, "HEAD").await;
    let expected = ["key.rs", "notes.txt", "src/retry.rs", "src/same.rs"];
    assert_eq!(list_files(&index, "app@HEAD").await, expected);
    assert!(status.message.unwrap().contains("large.txt (too large)"));
    assert!(!read_text(&index, "app@HEAD/key.rs").await.contains("AKIAQYLPMN5HFIQR7XYA"));
    let root = find_root(&index, "app@HEAD").await;
    assert_eq!(root.private_files.unwrap(), [".env", "config/id_rsa"]);
    // The same files as on disk.
    index.ingest(&app).await;
    assert_eq!(list_files(&index, "app").await, expected);
}

#[tokio::test]
async fn bare_repositories_worktrees_and_modules_have_commits() {
    let (index, app) = index_tagged_repository().await;
    let bare = TestRepository(app.0.with_file_name("bare.git"));
    run_git(&app.0, &["clone", "--quiet", "--bare", ".", bare.0.to_str().unwrap()]);
    run_revision(&index, &bare, "v1").await;
    let of_bare = find_root(&index, "bare@v1").await;
    assert_eq!(of_bare.repository, Some(RootId::from_path(&bare.0)));
    assert_eq!(read_text(&index, "bare@v1/src/retry.rs").await, OLD);
    // A bare repository itself has no files.
    let error = index
        .ingest
        .start_run(IngestRequest { path: bare.0.clone(), ..IngestRequest::default() })
        .await;
    assert!(error.unwrap_err().to_string().contains("`@main`"));

    let tree = add_worktree(&app, "tree", &["--detach"]);
    run_git(&tree.0, &["checkout", "--quiet", "v1"]);
    run_revision(&index, &tree, "HEAD").await;
    let of_tree = find_root(&index, "tree@HEAD").await;
    assert_eq!(of_tree.repository, Some(RootId::from_path(&app.0)));
    assert_eq!(read_text(&index, "tree@HEAD/src/retry.rs").await, OLD);

    let user = index.create_repository("user", &[("use.rs", "fn used() {}\n")]);
    commit_all(&user.0, "Begin");
    run_git(&user.0, &["submodule", "--quiet", "add", app.0.to_str().unwrap(), "lib/app"]);
    commit_all(&user.0, "Use it");
    let status = run_revision(&index, &user, "HEAD").await;
    let hint = "(`!.gitmodules` in `.codeinfoignore` brings `.gitmodules` in)";
    let output_text = "skipped 1 file: lib/app (a repository of its own, which `codeinfo ingest` of \
                this path indexes)";
    assert_eq!(
        status.message.unwrap(),
        format!("{output_text}\nleft out 1 file (hidden): .gitmodules\n{hint}")
    );
    let module = TestRepository(user.join("lib/app"));
    run_revision(&index, &module, "v1").await;
    index.ingest(&module).await;
    let owners: BTreeSet<_> = index
        .store
        .roots()
        .await
        .unwrap()
        .iter()
        .filter(|root| root.path.starts_with(user.join("lib")))
        .map(Root::chunk_owner)
        .collect();
    assert_eq!(owners.len(), 1);
}

#[tokio::test]
async fn a_folder_at_the_path_of_a_commit_takes_nothing_from_it() {
    let (index, app) = index_tagged_repository().await;
    run_revision(&index, &app, "v1").await;
    let before = find_root(&index, "app@v1").await;
    let tree = add_worktree(&app, "app@v1", &["--detach"]);
    let refused = index.ingest.start_run(build_request(&tree.0)).await.unwrap_err().to_string();
    assert!(refused.contains("run `codeinfo remove app@v1` first"), "{refused}");
    assert_eq!(find_root(&index, "app@v1").await, before);
    index.ingest.remove_root("app@v1").await.unwrap();
    index.ingest(&tree).await;
    let after = find_root(&index, "app@v1").await;
    assert_eq!((after.path, after.revision), (before.path, None));
    assert_ne!(after.id, before.id);
}

#[tokio::test]
async fn incomplete_clones_report_what_is_missing() {
    let (index, app) = index_tagged_repository().await;
    let old = run_git(&app.0, &["rev-parse", "v1^{commit}"]).trim().to_owned();
    run_git(&app.0, &["config", "uploadpack.allowFilter", "true"]);
    let address = format!("file://{}", app.0.display());
    let clone = |name: &str, how: &[&str]| {
        let folder = app.0.with_file_name(name);
        let last = [address.as_str(), folder.to_str().unwrap()];
        run_git(&app.0, &[&["clone", "--quiet", "--no-tags"], how, &last].concat());
        TestRepository(folder)
    };
    let shallow = clone("shallow", &["--depth", "1"]);
    run_revision(&index, &shallow, "main").await;
    assert!(read_refusal(&index, &shallow, &old).await.contains("`git fetch --unshallow`"));

    let partial = clone("partial", &["--filter=blob:none"]);
    let status = run_revision(&index, &partial, &old).await;
    let output_text = "skipped 1 file: src/retry.rs (not in this partial clone; \
                `git fetch --refetch --no-filter` gets it)";
    assert_eq!(status.message.as_deref(), Some(output_text));
    assert_eq!(list_files(&index, &format!("partial@{old}")).await, ["src/same.rs"]);
    run_git(&partial.0, &["cat-file", "-p", &format!("{old}:src/retry.rs")]);
    assert_eq!(run_revision(&index, &partial, &old).await.message, None);
    assert_eq!(
        list_files(&index, &format!("partial@{old}")).await,
        ["src/retry.rs", "src/same.rs"]
    );

    let borrowed = clone("borrowed", &["--reference", app.0.to_str().unwrap()]);
    assert!(read_refusal(&index, &borrowed, "main").await.contains("`git repack -a -d`"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_hostile_repository_leads_nowhere_outside_itself() {
    let (index, app) = index_tagged_repository().await;
    let other = index.create_repository("other", &[("secret.rs", "fn other() {}\n")]);
    commit_all(&other.0, "Begin");
    let embeddings = run_git(&other.0, &["rev-parse", "HEAD"]).trim().to_owned();
    let write = |kind: &str, bytes: &[u8]| {
        let file = app.0.with_file_name("object");
        fs::write(&file, bytes).unwrap();
        let file = file.to_str().unwrap();
        let arguments = ["hash-object", "-t", kind, "--literally", "-w", file];
        run_git(&app.0, &arguments).trim().to_owned()
    };
    let raw = |id: &str| -> Vec<u8> {
        id.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    let blob = write("blob", b"fn found() {}\n");
    let mut tree = Vec::new();
    for name in ["..", ".", "../up.rs", "/etc/up.rs", "good.rs", "good.rs", "sub/up.rs"] {
        tree.extend(format!("100644 {name}\0").into_bytes());
        tree.extend(raw(&blob));
    }
    let names = write("tree", &tree);
    // Each folder holds the next one twice: more files than any disk, in forty objects.
    let mut below = names.clone();
    for _ in 0..40 {
        let entries = ["a", "b"].map(|name| [format!("40000 {name}\0").into_bytes(), raw(&below)]);
        below = write("tree", &entries.concat().concat());
    }
    let commit = |tree: &str| run_git(&app.0, &["commit-tree", "-m", "x", tree]).trim().to_owned();
    let (names, endless) = (commit(&names), commit(&below));
    // They are no files, and so none is missing.
    assert_eq!(run_revision(&index, &app, &names).await.message, None);
    assert_eq!(list_files(&index, &format!("app@{names}")).await, ["good.rs"]);
    let id = index.ingest.start_run(revision_request(&app, &endless)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(index.ingest.run_status(id).unwrap().state, RunState::Scanning);
    index.ingest.cancel_run(id).unwrap();
    assert_eq!(index.wait_for_run(id).await.state, RunState::Cancelled);

    // References and objects behind links are not there.
    let git_folder = app.join(".git");
    let link = |name: &str, to: &std::path::Path| {
        std::os::unix::fs::symlink(to, git_folder.join(name)).unwrap();
    };
    link("refs/heads/led", &other.join(".git/refs/heads/main"));
    assert!(read_refusal(&index, &app, "led").await.contains("no branch"));
    fs::write(git_folder.join("refs/heads/out"), "ref: refs/../../../other/.git/HEAD\n").unwrap();
    assert!(read_refusal(&index, &app, "out").await.contains("no branch"));
    let pack = git_folder.join("objects/pack");
    run_git(&other.0, &["gc", "--quiet"]);
    for file in fs::read_dir(other.join(".git/objects/pack")).unwrap() {
        let file = file.unwrap();
        std::os::unix::fs::symlink(file.path(), pack.join(file.file_name())).unwrap();
    }
    assert!(read_refusal(&index, &app, &embeddings).await.contains("git fsck"));
    for file in fs::read_dir(&pack).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_symlink() {
            fs::remove_file(file.path()).unwrap();
        }
    }
    fs::rename(git_folder.join("objects"), app.0.with_file_name("objects")).unwrap();
    link("objects", &app.0.with_file_name("objects"));
    assert!(read_refusal(&index, &app, "v1").await.contains("git fsck"));
}

#[tokio::test]
async fn objects_may_be_packed_again_while_a_commit_is_indexed() {
    let (index, app) = index_tagged_repository().await;
    for number in 0..300 {
        let text = format!("fn f{number}() {{ g{number}() }}\n\n").repeat(12);
        app.write(&format!("src/f{number}.rs"), &text);
    }
    commit_all(&app.0, "Add very much");
    run_git(&app.0, &["tag", "many"]);
    index.faults.hold_writes();
    let run = index.ingest.start_run(revision_request(&app, "many")).await.unwrap();
    index.faults.wait_for_held_write().await;
    let folder = app.0.clone();
    let pack = move || {
        run_git(&folder, &["gc", "--quiet", "--prune=now"]);
        run_git(&folder, &["repack", "-a", "-d", "--quiet"])
    };
    tokio::task::spawn_blocking(pack).await.unwrap();
    index.faults.release_writes();
    let status = index.wait_for_run(run).await;
    assert_eq!((status.state, status.counts.files), (RunState::Completed, 302), "{status:?}");
    assert_eq!(status.counts.skipped, 0, "{status:?}");
    assert_eq!(list_files(&index, "app@many").await.len(), 302);
}
