//! Repositories in the checkouts of others: whose trees they are.

use super::*;

/// A repository with `main` as its module.
fn user(bench: &Bench, main: &Repo) -> Repo {
    let user = bench.repo("user", &[("use.rs", "fn used() {}\n")]);
    commit_all(&user.0, "Begin");
    git(&user.0, &["submodule", "--quiet", "add", main.0.to_str().unwrap(), "lib/main"]);
    commit_all(&user.0, "Use it");
    user
}

async fn repository(bench: &Bench, repo: &Repo) -> Option<RootId> {
    bench.ingest(repo).await;
    root(bench, repo).await.repository
}

#[tokio::test]
async fn worktrees_of_modules_and_modules_of_worktrees_are_of_their_repositories() {
    let (bench, main) = scene().await;
    let user = user(&bench, &main);
    let module = Repo(user.at("lib/main"));
    let beside = worktree(&user, "beside", &["--detach"]);
    git(&beside.0, &["submodule", "--quiet", "update", "--init"]);
    let kept = user.at(".git/worktrees/beside/modules/lib/main");
    let of_beside = repository(&bench, &Repo(beside.at("lib/main"))).await;
    assert_eq!(of_beside, Some(RootId::of(&kept)));
    // One of a module, below the repository that this is a module of.
    git(&module.0, &["worktree", "add", "--quiet", "--detach", "../more"]);
    let kept = user.at(".git/modules/lib/main");
    let of_more = repository(&bench, &Repo(user.at("lib/more"))).await;
    assert_eq!(of_more, Some(RootId::of(&kept)));
    assert_eq!(repository(&bench, &module).await, of_more);
}

#[tokio::test]
async fn a_folder_of_git_that_lies_elsewhere_has_the_worktree_that_it_names() {
    let bench = Bench::new().await;
    let app = bench.repo("app", &[("parse.rs", PARSE)]);
    let kept = app.0.with_file_name("kept");
    git(&app.0, &["init", "--quiet", "--separate-git-dir", kept.to_str().unwrap()]);
    commit_all(&app.0, "Begin");
    assert_eq!(repository(&bench, &app).await, Some(RootId::of(&app.0)));
    git(&app.0, &["config", "core.worktree", app.0.to_str().unwrap()]);
    assert_eq!(repository(&bench, &app).await, Some(RootId::of(&kept)));
    // Whoever else names it is none of its worktrees.
    let claims = bench.repo("claims", &[("print.rs", PRINT)]);
    fs::copy(app.at(".git"), claims.at(".git")).unwrap();
    assert_eq!(repository(&bench, &claims).await, Some(RootId::of(&claims.0)));
}
