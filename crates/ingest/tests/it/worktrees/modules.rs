//! Repositories inside the checkouts of others: they keep their own trees, and are no part of the outer checkout.

use super::*;

/// A repository with `main` as its module.
fn create_user(index: &TestIndex, main: &TestRepository) -> TestRepository {
    let user = index.create_repository("user", &[("use.rs", "fn used() {}\n")]);
    commit_all(&user.0, "Begin");
    run_git(&user.0, &["submodule", "--quiet", "add", main.0.to_str().unwrap(), "lib/main"]);
    commit_all(&user.0, "Use it");
    user
}

async fn find_repository(index: &TestIndex, repository: &TestRepository) -> Option<RootId> {
    index.ingest(repository).await;
    find_root(index, repository).await.repository
}

#[tokio::test]
async fn worktrees_of_modules_and_modules_of_worktrees_are_of_their_repositories() {
    let (index, main) = index_repository().await;
    let user = create_user(&index, &main);
    let module = TestRepository(user.join("lib/main"));
    let beside = add_worktree(&user, "beside", &["--detach"]);
    run_git(&beside.0, &["submodule", "--quiet", "update", "--init"]);
    let kept = user.join(".git/worktrees/beside/modules/lib/main");
    let of_beside = find_repository(&index, &TestRepository(beside.join("lib/main"))).await;
    assert_eq!(of_beside, Some(RootId::from_path(&kept)));
    // One of a module, below the repository that this is a module of.
    run_git(&module.0, &["worktree", "add", "--quiet", "--detach", "../more"]);
    let kept = user.join(".git/modules/lib/main");
    let of_more = find_repository(&index, &TestRepository(user.join("lib/more"))).await;
    assert_eq!(of_more, Some(RootId::from_path(&kept)));
    assert_eq!(find_repository(&index, &module).await, of_more);
}

#[tokio::test]
async fn a_folder_of_git_that_lies_elsewhere_has_the_worktree_that_it_names() {
    let index = TestIndex::new().await;
    let app = index.create_repository("app", &[("parse.rs", PARSE)]);
    let kept = app.0.with_file_name("kept");
    run_git(&app.0, &["init", "--quiet", "--separate-git-dir", kept.to_str().unwrap()]);
    commit_all(&app.0, "Begin");
    assert_eq!(find_repository(&index, &app).await, Some(RootId::from_path(&app.0)));
    run_git(&app.0, &["config", "core.worktree", app.0.to_str().unwrap()]);
    assert_eq!(find_repository(&index, &app).await, Some(RootId::from_path(&kept)));
    // Another folder that names it is not one of its worktrees.
    let claims = index.create_repository("claims", &[("print.rs", PRINT)]);
    fs::copy(app.join(".git"), claims.join(".git")).unwrap();
    assert_eq!(find_repository(&index, &claims).await, Some(RootId::from_path(&claims.0)));
}

#[tokio::test]
async fn other_repositories_in_a_checkout_are_named_and_left_out() {
    let (index, main) = index_repository().await;
    main.write(".env", "TOKEN=abcdefgh12345678\n");
    commit_all(&main.0, "Add a secret");
    let user = create_user(&index, &main);
    run_git(&user.0, &["worktree", "add", "--quiet", "--detach", "trees/one"]);
    let own = index.create_repository("user/own", &[("own.rs", "fn own() {}\n")]);
    commit_all(&own.0, "Begin");
    let status = index.ingest(&user).await;
    let why = "a repository of its own, which `codeinfo ingest` of this path indexes";
    let output_text = format!("skipped 2 files: lib/main ({why}), trees/one ({why})");
    assert_eq!(status.message.unwrap().lines().next(), Some(output_text.as_str()));
    assert_eq!(list_paths(&index, &user).await, ["own/own.rs", "use.rs"]);
    let skipped = index.ingest.describe_root("user").await.unwrap().last_run.unwrap().missing;
    let expected = ["lib/main", "trees/one"].map(|path| (path.to_owned(), why.to_owned()));
    assert_eq!((skipped.named, skipped.total), (expected.to_vec(), 2));
    // The model's shell could read files that are not indexed.
    let private = find_root(&index, &user).await.private_files.unwrap();
    assert_eq!(private, ["lib/main/.env", "own/.git"]);
}

#[tokio::test]
async fn the_watcher_follows_folders_that_become_or_cease_to_be_repositories() {
    let index = TestIndex::new().await;
    let app =
        index.create_repository("app", &[("a.rs", "fn a() {}\n"), ("inner/b.rs", "fn b() {}\n")]);
    commit_all(&app.0, "Begin");
    index.ingest(&app).await;
    index.ingest.watch_roots();
    let until = async |expected: &[&str]| {
        let wait = async {
            while index.list_indexed_files().await != expected {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_mins(1), wait).await;
        assert!(ended.is_ok(), "{:?}, not {expected:?}", index.list_indexed_files().await);
    };
    // The watcher has seen the folder once this is indexed.
    app.write("inner/c.rs", "fn c() {}\n");
    until(&["a.rs", "inner/b.rs", "inner/c.rs"]).await;
    app.write("inner/.git", "gitdir: ../nowhere\n");
    until(&["a.rs"]).await;
    app.write("inner/d.rs", "fn d() {}\n");
    app.write("e.rs", "fn e() {}\n");
    until(&["a.rs", "e.rs"]).await;
    fs::remove_file(app.join("inner/.git")).unwrap();
    until(&["a.rs", "e.rs", "inner/b.rs", "inner/c.rs", "inner/d.rs"]).await;
}
