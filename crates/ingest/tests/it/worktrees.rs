//! Trees of one repository: their common content is stored once, each is searched as if it were alone, and
//! nothing remains when all are removed.

mod modules;
mod random;

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc, time::Duration};

use codeinfo_core::{Hit, LastRun, PathMap, Root, RootFilter, RootId, hash, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_evidence::{Evidence, RequestedLines};
use codeinfo_ingest::{RunState, RunStatus};
use codeinfo_search::{ResultFreshness, Search, SearchQuery, render_excerpt};
use codeinfo_store::{ChunkQuery, MAX_PAGE, Store, StoreMode};
use codeinfo_test_support::{
    git::{add_worktree, commit_all, run_git},
    ingest::{TestIndex, TestRepository, build_request, list_tree_chunks},
    searchable::{self, SearchableStore},
    sources::list_files,
};
use tempfile::TempDir;
use uuid::Uuid;

const PARSE: &str =
    "/// Reads a number.\nfn parse(text: &str) -> u32 {\n    text.trim().parse().unwrap()\n}\n";
const PRINT: &str =
    "/// Writes a number.\nfn print(number: u32) {\n    println!(\"{number}\");\n}\n";

async fn count_chunks(index: &TestIndex) -> u64 {
    index.store.count(None).await.unwrap()
}

async fn find_root(index: &TestIndex, repository: &TestRepository) -> Root {
    let roots = index.store.roots().await.unwrap();
    roots.into_iter().find(|root| root.path == repository.0).unwrap()
}

async fn list_paths(index: &TestIndex, repository: &TestRepository) -> Vec<String> {
    let held = list_tree_chunks(&index.store, find_root(index, repository).await.id).await;
    held.into_iter().map(|(path, ..)| path).collect::<BTreeSet<_>>().into_iter().collect()
}

async fn embed_text(text: &str) -> Vec<f32> {
    let embedder = BuiltinEmbedder::load(Tasks::default()).unwrap();
    embedder.embed_query(text.to_owned()).await.unwrap()
}

fn count_embedded(status: &RunStatus) -> u64 {
    assert!(matches!(status.state, RunState::Completed | RunState::Skipped), "{status:?}");
    status.counts.embedded
}

/// A repository with two files, indexed.
async fn index_repository() -> (TestIndex, TestRepository) {
    let index = TestIndex::new().await;
    let main = index.create_repository("main", &[("parse.rs", PARSE), ("print.rs", PRINT)]);
    commit_all(&main.0, "Begin");
    assert_eq!(count_embedded(&index.ingest(&main).await), 2);
    (index, main)
}

#[tokio::test]
async fn a_worktree_embeds_only_what_no_other_tree_has() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    let status = index.ingest(&tree).await;
    assert_eq!((count_embedded(&status), status.counts.files, status.counts.chunks), (0, 2, 2));
    assert_eq!(count_chunks(&index).await, 2);
    assert_eq!(find_root(&index, &tree).await.repository, Some(find_root(&index, &main).await.id));

    tree.write("print.rs", &PRINT.replace("number", "amount"));
    tree.write("new.rs", "fn new() {}\n");
    assert_eq!(count_embedded(&index.ingest(&tree).await), 2);
    // The other tree has the former content of this one.
    assert_eq!(count_chunks(&index).await, 4);
    assert_eq!(list_paths(&index, &main).await, ["parse.rs", "print.rs"]);
    assert_eq!(list_paths(&index, &tree).await, ["new.rs", "parse.rs", "print.rs"]);
    let of_tree = list_tree_chunks(&index.store, find_root(&index, &tree).await.id).await;
    assert!(of_tree.iter().any(|(path, _, text)| path == "print.rs" && text.contains("amount")));
    let of_main = list_tree_chunks(&index.store, find_root(&index, &main).await.id).await;
    assert!(of_main.iter().any(|(path, _, text)| path == "print.rs" && text.contains("number")));
}

#[tokio::test]
async fn a_search_of_one_tree_finds_what_it_has_and_one_of_all_finds_it_once() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    tree.write("print.rs", &PRINT.replace("number", "amount"));
    index.ingest(&tree).await;
    let (main, tree) = (find_root(&index, &main).await.id, find_root(&index, &tree).await.id);
    let vector = embed_text("Writes a number.").await;
    for (of, expected) in [(main, "number"), (tree, "amount")] {
        let found =
            index.store.search(ChunkQuery::nearest(vector.clone(), Some(of), 10)).await.unwrap();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|one| one.record.root == of && one.also.is_empty()));
        let print = found.iter().find(|one| one.record.path == "print.rs").unwrap();
        assert!(print.record.text.contains(expected));
        // Not more than the limit, and the nearest of them.
        let best =
            index.store.search(ChunkQuery::nearest(vector.clone(), Some(of), 1)).await.unwrap();
        assert_eq!(best, found[..1]);
    }
    let all = index.store.search(ChunkQuery::nearest(vector, None, 10)).await.unwrap();
    let mut places: Vec<(&str, RootId, usize)> =
        all.iter().map(|one| (one.record.path.as_str(), one.record.root, one.also.len())).collect();
    places.sort_unstable();
    let mut expected = [("parse.rs", main, 1), ("print.rs", main, 0), ("print.rs", tree, 0)];
    expected.sort_unstable();
    assert_eq!(places, expected);
}

#[tokio::test]
async fn an_answer_says_where_else_code_is_and_a_name_is_counted_once() {
    let (index, main) = index_repository().await;
    for number in 1..6 {
        let tree = add_worktree(&main, &format!("tree{number}"), &["--detach"]);
        index.ingest(&tree).await;
    }
    let tree = add_worktree(&main, "topic", &["-b", "topic"]);
    tree.write("print.rs", &PRINT.replace("number:", "amount:"));
    index.ingest(&tree).await;
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(index.store.clone(), embedder, PathMap::default());
    let find = async |query: &str, of: Option<&str>| {
        let query = SearchQuery::new(query, of, Some(10)).unwrap();
        search.find_chunks(&query).await.unwrap()
    };
    let found = find("Reads a number.", None).await;
    let parse: Vec<&Hit> = found.hits.iter().filter(|hit| hit.rel_path == "parse.rs").collect();
    let others = ["topic", "tree1", "tree2", "tree3", "tree4", "tree5"];
    assert_eq!((parse.len(), parse[0].repo.as_str()), (1, "main"));
    assert_eq!(parse[0].also_in, others);
    let text =
        render_excerpt(&found, "parse", &ResultFreshness::default(), &BTreeSet::new(), 4000).text;
    assert!(text.contains("(also in topic, tree1, tree2 and 3 more)"), "{text}");
    // The better one of two versions of a function.
    let print = found.hits.iter().filter(|hit| hit.rel_path == "print.rs").count();
    assert_eq!(print, 1);
    let found = find("Writes a number.", Some("topic")).await;
    let best = &found.hits[0];
    assert!(best.chunk.contains("amount:") && best.repo == "topic" && best.also_in.is_empty());

    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    let uses = evidence.find_uses("print", RootFilter::Everything).await.unwrap();
    assert_eq!((uses.count, uses.files), (2, 2));
    assert_eq!(evidence.find_uses("parse", RootFilter::Everything).await.unwrap().count, 2);
    let topic = find_root(&index, &tree).await.id;
    for within in [RootFilter::Only(topic), RootFilter::Tree(topic)] {
        let uses = evidence.find_uses("print", within).await.unwrap();
        assert_eq!((uses.count, uses.files), (1, 1));
        assert_eq!(evidence.find_uses("parse", within).await.unwrap().count, 2);
        let read =
            evidence.read_lines("print.rs", RequestedLines::default(), within).await.unwrap();
        assert_eq!(read.file.repo, "topic");
    }
    // Another tree is read by its name, or by a whole path, unless only one root is there.
    let other = main.join("print.rs").to_str().unwrap().to_owned();
    for path in ["main/print.rs", &other] {
        let read = evidence
            .read_lines(path, RequestedLines::default(), RootFilter::Tree(topic))
            .await
            .unwrap();
        assert_eq!(read.file.repo, "main");
        assert!(
            evidence
                .read_lines(path, RequestedLines::default(), RootFilter::Only(topic))
                .await
                .is_err()
        );
    }
}

#[tokio::test]
async fn switching_a_branch_embeds_what_is_new_and_switching_back_nothing() {
    let (index, main) = index_repository().await;
    run_git(&main.0, &["switch", "--quiet", "-c", "topic"]);
    main.write("print.rs", &PRINT.replace("number", "amount"));
    fs::remove_file(main.join("parse.rs")).unwrap();
    commit_all(&main.0, "Change");
    assert_eq!(count_embedded(&index.ingest(&main).await), 1);
    assert_eq!(list_paths(&index, &main).await, ["print.rs"]);
    for (branch, expected) in [("main", 2), ("topic", 1), ("main", 2)] {
        run_git(&main.0, &["switch", "--quiet", branch]);
        assert_eq!(count_embedded(&index.ingest(&main).await), 0, "{branch}");
        assert_eq!(list_paths(&index, &main).await.len(), expected);
        let root = find_root(&index, &main).await;
        assert_eq!(index.store.count(Some(root.id)).await.unwrap(), expected as u64);
        let vector = embed_text("Writes a number.").await;
        let found = index.store.search(ChunkQuery::nearest(vector, None, 10)).await.unwrap();
        assert_eq!(found.len(), expected);
    }
}

#[tokio::test]
async fn the_versions_of_a_path_on_several_branches_are_kept() {
    let (index, main) = index_repository().await;
    let text = |branch: &str| PRINT.replace("number", branch);
    for branch in ["one", "two", "three", "four", "five"] {
        run_git(&main.0, &["switch", "--quiet", "-c", branch]);
        main.write("print.rs", &text(branch));
        commit_all(&main.0, branch);
        assert_eq!(count_embedded(&index.ingest(&main).await), 1);
    }
    // The oldest version was removed.
    for (branch, expected) in [("two", 0), ("three", 0), ("four", 0), ("five", 0), ("main", 1)] {
        run_git(&main.0, &["switch", "--quiet", branch]);
        assert_eq!(count_embedded(&index.ingest(&main).await), expected, "{branch}");
    }
    assert_eq!(count_chunks(&index).await, 1 + 5);
}

#[tokio::test]
async fn the_watcher_follows_a_switch_and_embeds_what_is_new() {
    let (index, main) = index_repository().await;
    run_git(&main.0, &["switch", "--quiet", "-c", "topic"]);
    main.write("print.rs", &PRINT.replace("number", "amount"));
    commit_all(&main.0, "Change");
    run_git(&main.0, &["switch", "--quiet", "main"]);
    index.ingest.watch_roots();
    let id = find_root(&index, &main).await.id;
    for (branch, word, expected) in
        [("topic", "amount", 1), ("main", "number", 0), ("topic", "amount", 0)]
    {
        let before = find_root(&index, &main).await.last_ingest_at;
        run_git(&main.0, &["switch", "--quiet", branch]);
        for _ in 0..400 {
            let held = list_tree_chunks(&index.store, id).await;
            let is_seen = held.iter().any(|(.., text)| text.contains(word));
            let now = find_root(&index, &main).await;
            if is_seen && now.last_ingest_at != before && now.last_run.is_completed() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let root = find_root(&index, &main).await;
        assert_eq!(
            (root.last_run, root.counts.embedded),
            (LastRun::Completed, expected),
            "{branch}"
        );
        let held = list_tree_chunks(&index.store, id).await;
        assert!(held.iter().any(|(.., text)| text.contains(word)), "{branch}");
    }
}

#[tokio::test]
async fn a_small_tree_is_searched_whole_beside_a_large_one() {
    let index = TestIndex::new().await;
    let main = index.create_repository("main", &[]);
    for number in 0..60 {
        let function = |at: u32| {
            format!(
                "/// Writes a number.\nfn print_{number}_{at}(number: u32) {{\n{}}}\n\n",
                "    println!(\"{number}\");\n".repeat(30)
            )
        };
        let text: String = (0..50).map(function).collect();
        main.write(&format!("print_{number}.rs"), &text);
    }
    commit_all(&main.0, "Begin");
    index.ingest(&main).await;
    run_git(&main.0, &["worktree", "add", "--quiet", "--orphan", "-b", "pages", "../pages"]);
    let pages = TestRepository(main.0.with_file_name("pages"));
    for number in 0..5 {
        pages.write(
            &format!("page_{number}.md"),
            &format!("# Page {number}\n\nA number of words.\n"),
        );
    }
    commit_all(&pages.0, "Begin otherwise");
    index.ingest(&pages).await;
    let id = find_root(&index, &pages).await.id;
    assert_eq!(
        find_root(&index, &pages).await.chunk_owner(),
        find_root(&index, &main).await.chunk_owner()
    );
    assert!(2_500 < count_chunks(&index).await);
    let fresh = TestIndex::new().await;
    fresh.ingest(&pages).await;
    let to = embed_text("Writes a number.").await;
    let nearest = async |index: &TestIndex| -> Vec<(Uuid, f32)> {
        let found =
            index.store.search(ChunkQuery::nearest(to.clone(), Some(id), 100)).await.unwrap();
        found.into_iter().map(|one| (one.id, one.score)).collect()
    };
    let found = nearest(&index).await;
    assert_eq!((found.len(), &found), (5, &nearest(&fresh).await));
    let terms = codeinfo_embed::lexical::extract_query_terms("number");
    let found = index.store.search(ChunkQuery::lexical(terms, Some(id), 100)).await.unwrap();
    assert_eq!(found.len(), 5);
    // A client in that tree finds the same, and gets no note that an existing name is missing.
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(index.store.clone(), embedder, PathMap::default());
    let query = SearchQuery::new("number", None, Some(5)).unwrap().within_tree(Some(id));
    let found = search.find_chunks(&query).await.unwrap();
    assert_eq!((found.hits.len(), found.absent.len()), (5, 0), "{found:?}");
    assert!(found.hits.iter().all(|hit| hit.repo == "pages"));
    let query = SearchQuery::new("print_3_4", None, Some(5)).unwrap().within_tree(Some(id));
    assert_eq!(search.find_chunks(&query).await.unwrap().absent, ["print_3_4"]);
}

#[tokio::test]
async fn a_client_in_a_tree_finds_the_files_that_a_question_names() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    index.ingest(&tree).await;
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(index.store.clone(), embedder, PathMap::default());
    for repository in [&main, &tree] {
        let id = find_root(&index, repository).await.id;
        let query = SearchQuery::new("print.rs", None, Some(5)).unwrap().within_tree(Some(id));
        let found = search.find_chunks(&query).await.unwrap();
        let best = &found.hits[0];
        let path = repository.join("print.rs").display().to_string();
        assert_eq!((&best.path, best.also_in.len()), (&path, 1));
    }
}

#[tokio::test]
async fn remains_of_a_killed_removal_are_no_source_for_other_trees() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    tree.write("own.rs", "fn own() {}\n");
    index.ingest(&tree).await;
    // Its chunks are gone, its records are not.
    index.faults.fail_after_writes(2);
    assert!(index.ingest.remove_root("tree").await.is_err());
    index.faults.stop_failing();
    assert_eq!(find_root(&index, &tree).await.last_run, LastRun::Interrupted);
    main.write("own.rs", "fn own() {}\n");
    assert_eq!(count_embedded(&index.ingest(&main).await), 1);
    assert_eq!(list_paths(&index, &main).await, ["own.rs", "parse.rs", "print.rs"]);
    let broken = find_root(&index, &main).await;
    let mut records = index.store.files(broken.id).await.unwrap();
    records.retain(|record| record.path == "own.rs");
    // A repair restores the record, and stores nothing of incomplete files.
    records[0].version.clear();
    index.store.put_files(records).await.unwrap();
    for former in RootId::former_record_ids(broken.chunk_owner()) {
        assert!(index.store.files(former).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_root_that_changed_its_repository_stays_when_its_former_trees_are_removed() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    index.ingest(&tree).await;
    // As when the main worktree became a module of another repository.
    let moved = Root {
        repository: Some(RootId::from_path(&tree.join("modules"))),
        ..find_root(&index, &main).await
    };
    index.store.put_root(moved.clone()).await.unwrap();
    let files = index.store.files(moved.id).await.unwrap();
    index.ingest.remove_root("tree").await.unwrap();
    assert_eq!(index.store.roots().await.unwrap(), std::slice::from_ref(&moved));
    assert_eq!(index.store.files(moved.id).await.unwrap(), files);
    assert!(index.store.chunks_of_owner(moved.id, None, MAX_PAGE).await.unwrap().is_empty());
    // A run sees that it is its own repository again.
    index.ingest(&main).await;
    assert_eq!(list_paths(&index, &main).await, ["parse.rs", "print.rs"]);
    index.ingest.remove_root("main").await.unwrap();
    assert_eq!(count_chunks(&index).await, 0);
}

#[tokio::test]
async fn folders_outside_repositories_keep_no_former_versions() {
    let index = TestIndex::new().await;
    let plain = index.create_repository("plain", &[("parse.rs", PARSE)]);
    index.ingest(&plain).await;
    plain.write("parse.rs", PRINT);
    assert_eq!(count_embedded(&index.ingest(&plain).await), 1);
    assert_eq!(count_chunks(&index).await, 1);
    fs::remove_file(plain.join("parse.rs")).unwrap();
    index.ingest(&plain).await;
    assert_eq!(count_chunks(&index).await, 0);
    assert_eq!(find_root(&index, &plain).await.repository, None);
}

#[tokio::test]
async fn a_tree_stays_whole_when_others_are_removed_and_the_last_leaves_nothing() {
    for first in ["main", "tree"] {
        let (index, main) = index_repository().await;
        let tree = add_worktree(&main, "tree", &["-b", "topic"]);
        tree.write("print.rs", &PRINT.replace("number", "amount"));
        index.ingest(&tree).await;
        tree.write("print.rs", &PRINT.replace("number", "figure"));
        index.ingest(&tree).await;
        index.ingest.remove_root(first).await.unwrap();
        // Content of this tree alone is removed at once; former content of the tree stays.
        assert_eq!(count_chunks(&index).await, 3, "{first}");
        let left = if first == "main" { &tree } else { &main };
        assert_eq!(list_paths(&index, left).await, ["parse.rs", "print.rs"]);
        assert_eq!(count_embedded(&index.ingest(left).await), 0);
        let last = find_root(&index, left).await;
        index.ingest.remove_root(&last.name).await.unwrap();
        assert_eq!(count_chunks(&index).await, 0, "{first}");
        let ids = [last.id, RootId::from_path(&main.0)].into_iter();
        for root in ids.chain(RootId::former_record_ids(RootId::from_path(&main.0))) {
            assert!(index.store.files(root).await.unwrap().is_empty());
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn modes_renames_and_ends_of_lines_cost_what_they_change() {
    use std::os::unix::fs::PermissionsExt;
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["--detach"]);
    fs::set_permissions(tree.join("parse.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    commit_all(&tree.0, "Make it a program");
    assert_eq!(count_embedded(&index.ingest(&tree).await), 0);
    // Another path is another piece, as its name counts.
    run_git(&tree.0, &["mv", "print.rs", "write.rs"]);
    commit_all(&tree.0, "Rename");
    let (status, _) = tokio::join!(index.ingest(&tree), async {
        let folder = main.0.clone();
        let collect = move || run_git(&folder, &["gc", "--quiet", "--prune=now"]);
        tokio::task::spawn_blocking(collect).await.unwrap()
    });
    assert_eq!(count_embedded(&status), 1);
    assert_eq!(list_paths(&index, &tree).await, ["parse.rs", "write.rs"]);
    tree.write("parse.rs", &PARSE.replace('\n', "\r\n"));
    assert_eq!(count_embedded(&index.ingest(&tree).await), 1);
    run_git(&tree.0, &["checkout", "--quiet", "parse.rs"]);
    assert_eq!(count_embedded(&index.ingest(&tree).await), 0);
    assert_eq!(list_paths(&index, &main).await, ["parse.rs", "print.rs"]);
}

#[tokio::test]
async fn a_module_and_a_worktree_of_a_bare_repository_have_their_own_repositories() {
    let (index, main) = index_repository().await;
    let user = index.create_repository("user", &[("use.rs", "fn used() {}\n")]);
    commit_all(&user.0, "Begin");
    run_git(&user.0, &["submodule", "--quiet", "add", main.0.to_str().unwrap(), "module"]);
    let module = TestRepository(user.join("module"));
    index.ingest(&module).await;
    // The same for the key of its commits.
    let kept = user.join(".git/modules/module");
    assert_eq!(find_root(&index, &module).await.repository, Some(RootId::from_path(&kept)));

    let bare = main.0.with_file_name("bare.git");
    run_git(&main.0, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let trees =
        ["one", "two"].map(|name| add_worktree(&TestRepository(bare.clone()), name, &["-b", name]));
    index.ingest(&trees[0]).await;
    assert_eq!(count_embedded(&index.ingest(&trees[1]).await), 0);
    assert_eq!(find_root(&index, &trees[1]).await.repository, Some(RootId::from_path(&bare)));
}

#[tokio::test]
async fn a_folder_that_becomes_a_worktree_moves_to_its_repository() {
    let (index, main) = index_repository().await;
    let tree = index.create_repository("tree", &[("parse.rs", PARSE), ("own.rs", "fn own() {}\n")]);
    assert_eq!(count_embedded(&index.ingest(&tree).await), 2);
    assert_eq!(count_chunks(&index).await, 4);
    let made = add_worktree(&main, "made", &["-b", "topic"]);
    for entry in fs::read_dir(&tree.0).unwrap() {
        fs::copy(entry.as_ref().unwrap().path(), made.0.join(entry.unwrap().file_name())).unwrap();
    }
    fs::remove_dir_all(&tree.0).unwrap();
    run_git(&main.0, &["worktree", "move", made.0.to_str().unwrap(), tree.0.to_str().unwrap()]);
    assert_eq!(count_embedded(&index.ingest(&tree).await), 1);
    assert_eq!(count_chunks(&index).await, 3);
    assert_eq!(list_paths(&index, &tree).await, ["own.rs", "parse.rs", "print.rs"]);
}

#[tokio::test]
async fn a_worktree_that_another_program_removed_leaves_the_others_unchanged() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    index.ingest(&tree).await;
    let path = tree.0.to_str().unwrap().to_owned();
    run_git(&main.0, &["worktree", "remove", "--force", &path]);
    run_git(&main.0, &["gc", "--quiet"]);
    assert!(index.ingest.start_run(build_request(&PathBuf::from(&path))).await.is_err());
    assert_eq!(count_embedded(&index.ingest(&main).await), 0);
    index.ingest.remove_root(&path).await.unwrap();
    assert_eq!(list_paths(&index, &main).await, ["parse.rs", "print.rs"]);
    assert_eq!(count_chunks(&index).await, 2);
}

#[tokio::test]
async fn old_versions_of_a_path_are_removed_when_a_run_ends() {
    let (index, main) = index_repository().await;
    main.write("print.rs", &PRINT.replace("number", "amount"));
    index.ingest(&main).await;
    let [former, ..] = RootId::former_record_ids(RootId::from_path(&main.0));
    let mut kept = index.store.files(former).await.unwrap();
    assert_eq!((kept.len(), count_chunks(&index).await), (1, 3));
    // Another store looks at once, and finds it younger than a week.
    let store =
        Store::with_engine(Arc::clone(&index.engine), StoreMode::Exclusive, index.tasks.clone());
    let root = find_root(&index, &main).await;
    store.put_root(root.clone()).await.unwrap();
    assert_eq!(count_chunks(&index).await, 3);
    kept[0].modified_ns -= 8 * 24 * 3600 * 1_000_000_000;
    index.store.put_files(kept).await.unwrap();
    let store =
        Store::with_engine(Arc::clone(&index.engine), StoreMode::Exclusive, index.tasks.clone());
    store.put_root(root).await.unwrap();
    assert_eq!(count_chunks(&index).await, 2);
    assert!(index.store.files(former).await.unwrap().is_empty());
    assert_eq!(list_paths(&index, &main).await, ["parse.rs", "print.rs"]);
}

#[tokio::test]
async fn incomplete_files_are_not_taken_for_their_former_versions() {
    let (index, main) = index_repository().await;
    let root = find_root(&index, &main).await;
    let before = list_tree_chunks(&index.store, root.id).await;
    let all = index.store.chunks(Some(root.id), None, 10).await.unwrap();
    index.store.remove_chunks(vec![all[0].id]).await.unwrap();
    let interrupted = Root { last_run: LastRun::Interrupted, ..root.clone() };
    index.store.put_root(interrupted).await.unwrap();
    assert_eq!(count_embedded(&index.ingest(&main).await), 1);
    assert_eq!(list_tree_chunks(&index.store, root.id).await, before);
    for former in RootId::former_record_ids(root.chunk_owner()) {
        assert!(index.store.files(former).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn chunks_of_a_former_revision_are_not_kept() {
    let (index, main) = index_repository().await;
    let root = find_root(&index, &main).await;
    let mut files = index.store.files(root.id).await.unwrap();
    for file in &mut files {
        file.version = file.version.replacen(hash::REVISION, "1-", 1);
    }
    // Their chunks go with the version that they are of.
    index.store.put_files(files).await.unwrap();
    let [former, ..] = RootId::former_record_ids(root.chunk_owner());
    let kept = index.store.files(former).await.unwrap();
    assert_eq!((kept.len(), count_chunks(&index).await), (2, 2));
    assert_eq!(count_embedded(&index.ingest(&main).await), 0);
    let kept = index.store.files(former).await.unwrap();
    assert!(kept.iter().all(|file| hash::is_current(&file.version)), "{kept:?}");
    assert_eq!(count_chunks(&index).await, 2);
}

#[tokio::test]
async fn a_damaged_tree_is_no_source_for_other_trees() {
    let (index, main) = index_repository().await;
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    let damaged = Root { last_run: LastRun::Damaged, ..find_root(&index, &main).await };
    let all = index.store.chunks(Some(damaged.id), None, 10).await.unwrap();
    index.store.remove_chunks(all.into_iter().map(|stored| stored.id).collect()).await.unwrap();
    index.store.put_root(damaged).await.unwrap();
    assert_eq!(count_embedded(&index.ingest(&tree).await), 2);
    assert_eq!(list_paths(&index, &tree).await, ["parse.rs", "print.rs"]);
    // By then, nothing of the other one is missing.
    assert_eq!(count_embedded(&index.ingest(&main).await), 0);
    assert_eq!(list_paths(&index, &main).await, ["parse.rs", "print.rs"]);
}

#[tokio::test]
async fn damage_is_repaired_in_all_affected_trees() {
    let folder = TempDir::new().unwrap();
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let (data, main) =
        (folder.path().join("data"), TestRepository(folder.path().join("repos/main")));
    fs::create_dir(&data).unwrap();
    for number in 0..20 {
        main.write(&format!("f{number}.rs"), &PARSE.replace("parse", &format!("parse_{number}")));
    }
    commit_all(&main.0, "Begin");
    let tree = add_worktree(&main, "tree", &["-b", "topic"]);
    tree.write("f3.rs", PRINT);
    let harness = SearchableStore::open(&data, &embedder, 4096).await;
    for (repository, name) in [(&main, "main"), (&tree, "tree")] {
        harness.ingest(&repository.0, name).await;
    }
    // Content that the trees had as well.
    main.write("f4.rs", PRINT);
    harness.ingest(&main.0, "main").await;
    let ids = harness.store.roots().await.unwrap().into_iter().map(|root| root.id);
    let mut before = Vec::new();
    for id in ids {
        before.push((id, list_tree_chunks(&harness.store, id).await));
    }
    harness.close().await;
    let mut files = list_files(&data.join("store"));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "segment"));
    assert!(!files.is_empty());
    for (number, file) in files.iter().enumerate() {
        let copy = folder.path().join(format!("copy{number}"));
        searchable::copy_store(&data, &copy).await;
        let at = copy.join(file.strip_prefix(&data).unwrap());
        let mut bytes = fs::read(&at).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&at, bytes).unwrap();
        let harness = SearchableStore::open(&copy, &embedder, 4096).await;
        let hurt = harness.store.roots().await.unwrap();
        assert!(hurt.iter().any(|root| root.last_run == LastRun::Damaged), "{hurt:?}");
        tokio::time::timeout(Duration::from_mins(1), harness.ingest.repair_damaged_roots())
            .await
            .unwrap()
            .unwrap();
        for (id, held_before) in &before {
            assert_eq!(list_tree_chunks(&harness.store, *id).await, *held_before, "{number}");
        }
        harness.close().await;
    }
}
