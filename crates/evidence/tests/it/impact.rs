//! The impact of changes in Git repositories that the tests make.

use std::{fs, os::unix::fs::symlink};

use codeinfo_core::{IndexedCommit, MAX_TOOL_TEXT_BYTES, PathMap, Root, RootFilter};
use codeinfo_evidence::{Evidence, ImpactRequest, render};
use codeinfo_test_support::{
    git::{commit_all, run_git},
    ingest::{TestIndex, TestRepository},
};
use insta::assert_snapshot;

const STORE: &str = "\
LIMIT = 3

class Base:
    def close(self):
        return None

class Store(Base):
    def open(self):
        return read(self.path, LIMIT)

    def close(self):
        return 1

def read(path, limit):
    return path

def unused(path):
    return path
";
const APP: &str = "\
from store import Store, read

def run():
    return Store().open()

def stop(base):
    base.close()

run()
";
const TEST: &str = "\
from app import run
from store import unused

def test_run():
    assert run()

def test_unused():
    assert unused(1)
";

fn commit_shop(index: &TestIndex) -> (TestRepository, Evidence) {
    let files = [("store.py", STORE), ("app.py", APP), ("tests/test_app.py", TEST)];
    let repository = index.create_repository("shop", &files);
    commit_all(&repository.0, "First");
    (repository, Evidence::new(index.store.clone(), PathMap::default()))
}

async fn find_impact(evidence: &Evidence, since: &str) -> String {
    let request = ImpactRequest { since: since.to_owned(), depth: 3 };
    match evidence.find_impact(request.clone(), RootFilter::Everything).await {
        Ok(found) => {
            let (text, files) = render::render_impact(&found, &request);
            assert!(text.len() <= MAX_TOOL_TEXT_BYTES, "{} bytes", text.len());
            assert!(files.iter().all(|file| text.contains(&file.rel_path)));
            text.replace(found.commit.split_at(10).0, "ID")
        }
        Err(failure) => format!("error: {failure}"),
    }
}

#[tokio::test]
async fn callers_and_tests_of_changed_definitions_are_found() {
    let index = TestIndex::new().await;
    let (repository, evidence) = commit_shop(&index);
    index.ingest(&repository).await;
    assert_snapshot!("nothing", find_impact(&evidence, "HEAD").await);
    // Moved lines and blank ones change nothing; the callers of `read` are found over steps.
    let (head, tail) = STORE.split_once("def read").unwrap();
    let (body, unused) = tail.split_once("def unused").unwrap();
    let changed = format!("{head}\ndef unused{unused}\n\ndef read{body}")
        .replace("return path\n\n", "return str(path)\n\n");
    repository.write("store.py", &changed.replace("LIMIT = 3", "LIMIT = 4"));
    index.ingest(&repository).await;
    assert_snapshot!("changed", find_impact(&evidence, "HEAD").await);
    run_git(&repository.0, &["checkout", "--quiet", "--detach"]);
    let since_branch = find_impact(&evidence, "main").await;
    assert_snapshot!("changed", since_branch.replace("since main", "since HEAD"));
    commit_all(&repository.0, "Second");
    for since in ["HEAD~1", "HEAD^", "HEAD~"] {
        let since_ancestor = find_impact(&evidence, since).await;
        assert_snapshot!(
            "changed",
            since_ancestor.replace(&format!("since {since}"), "since HEAD")
        );
    }
    for since in ["HEAD~2", "HEAD^2", "HEAD~99999999999", "HEAD^^", "HEAD~é"] {
        let failure = find_impact(&evidence, since).await;
        assert!(failure.contains("is no branch, tag or commit of it"), "{since}: {failure}");
    }
    run_git(&repository.0, &["reset", "--quiet", "--hard", "HEAD~1"]);
    // A method that replaces another one, and the top level.
    repository.write("store.py", &STORE.replace("return 1", "return 2"));
    repository.write("app.py", &APP.replace("\nrun()\n", "\nprint(run())\n"));
    repository.write("tests/test_app.py", &TEST.replace("unused(1)", "unused(2)"));
    index.ingest(&repository).await;
    assert_snapshot!("override", find_impact(&evidence, "HEAD").await);
}

#[tokio::test]
async fn added_and_deleted_definitions_and_files_are_found() {
    let index = TestIndex::new().await;
    let (repository, evidence) = commit_shop(&index);
    let unused = STORE.split_once("def unused").unwrap().0;
    repository.write("store.py", unused);
    repository.write("fresh.py", "from store import read\n\ndef fresh():\n    return read(1, 2)\n");
    index.ingest(&repository).await;
    assert_snapshot!("added_and_deleted", find_impact(&evidence, "HEAD").await);
    repository.write("store.py", STORE);
    fs::remove_file(repository.join("fresh.py")).unwrap();
    // Still indexed, then no more.
    fs::remove_file(repository.join("store.py")).unwrap();
    let stale = find_impact(&evidence, "HEAD").await;
    assert!(stale.contains("callers may be missing: fresh.py, store.py"), "{stale}");
    assert!(stale.contains("deleted store.py:14-15 read"), "{stale}");
    assert!(stale.contains("run (breaks: uses deleted Store"), "{stale}");
    index.ingest(&repository).await;
    assert_snapshot!("deleted_file", find_impact(&evidence, "HEAD").await);
    repository.write("depot.py", STORE);
    index.ingest(&repository).await;
    assert_snapshot!("moved_file", find_impact(&evidence, "HEAD").await);
}

#[tokio::test]
async fn variables_of_callbacks_count_as_the_code_around_them() {
    let index = TestIndex::new().await;
    let pump = "export const LIMIT = 1\nexport function pump() {\n  const limit = LIMIT\n  return limit\n}\n";
    let test = "import { pump } from './pump'\n\ndescribe('pump', () => {\n  const expected = 1\n  it('works', () => {\n    expect(pump()).toBe(expected)\n  })\n})\n";
    let repository = index.create_repository("plant", &[("pump.ts", pump), ("pump.test.ts", test)]);
    commit_all(&repository.0, "First");
    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    repository.write("pump.ts", &pump.replace("limit = LIMIT", "limit = LIMIT + 1"));
    index.ingest(&repository).await;
    assert_snapshot!("function", find_impact(&evidence, "HEAD").await);
    repository.write("pump.test.ts", &test.replace("expected = 1", "expected = 2"));
    index.ingest(&repository).await;
    assert_snapshot!("callback", find_impact(&evidence, "HEAD").await);
}

#[tokio::test]
async fn files_that_changed_since_they_were_indexed_are_read_and_named() {
    let index = TestIndex::new().await;
    let (repository, evidence) = commit_shop(&index);
    index.ingest(&repository).await;
    let longer = STORE.replace(
        "    return path\n\ndef unused",
        "    return [\n        path\n    ]\n\ndef unused",
    );
    repository.write("store.py", &format!("# A comment.\n{longer}"));
    assert_snapshot!("stale", find_impact(&evidence, "HEAD").await);
    let request = ImpactRequest { since: "HEAD".to_owned(), depth: 1 };
    let found = evidence.find_impact(request, RootFilter::Everything).await.unwrap();
    assert_eq!(found.callers.len(), 1, "{:?}", found.callers);
    assert!(found.tests.is_empty());
}

#[tokio::test]
async fn what_cannot_be_compared_is_reported() {
    let index = TestIndex::new().await;
    let (repository, evidence) = commit_shop(&index);
    index.ingest(&repository).await;
    for unknown in ["nowhere", "main~1", "../main", "", "-x", "0123456"] {
        let failure = find_impact(&evidence, unknown).await;
        assert!(failure.contains("is no branch, tag or commit of it"), "{unknown}: {failure}");
    }
    // A clone may lack the contents of files.
    let id = run_git(&repository.0, &["rev-parse", "HEAD:store.py"]);
    let object =
        repository.join(&format!(".git/objects/{}/{}", id.split_at(2).0, id.trim().split_at(2).1));
    let kept = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    repository.write("store.py", &STORE.replace("LIMIT = 3", "LIMIT = 5"));
    let failure = find_impact(&evidence, "HEAD").await;
    assert!(failure.contains("it is a shallow or partial clone"), "{failure}");
    fs::write(&object, kept).unwrap();
    // A link and a binary file replace files; documents have no symbol graph.
    let outside =
        index.create_repository("outside", &[("secret.py", "def outside_secret():\n    pass\n")]);
    fs::remove_file(repository.join("app.py")).unwrap();
    symlink(outside.join("secret.py"), repository.join("app.py")).unwrap();
    fs::write(repository.join("store.py"), [0, 159, 146, 150]).unwrap();
    assert_snapshot!("hostile", find_impact(&evidence, "HEAD").await);
    fs::rename(repository.join(".git"), repository.0.with_file_name("elsewhere")).unwrap();
    let failure = find_impact(&evidence, "HEAD").await;
    assert!(failure.contains("it is no Git work tree; index the folder"), "{failure}");
    let others = index.create_repository("others", &[("a.py", "def a():\n    pass\n")]);
    index.ingest(&others).await;
    let failure = find_impact(&evidence, "HEAD").await;
    assert_eq!(failure, "error: several repositories are indexed; name one with `repository`");
}

#[tokio::test]
async fn large_changes_are_bounded_and_what_is_not_indexed_left_out() {
    let index = TestIndex::new().await;
    let (repository, evidence) = commit_shop(&index);
    let many = |body: &str| -> String {
        (0..3_000).fold(String::new(), |text, number| {
            text + &format!("def f{number}():\n    return {body}\n\n")
        })
    };
    repository.write("many.py", &many("1"));
    repository.write(".codeinfoignore", "left\n");
    repository.write("left/a.py", "def hidden_left():\n    pass\n");
    repository.write("left/b.py", "def other_left():\n    pass\n");
    repository.write(".hidden/a.py", "def hidden_file():\n    pass\n");
    commit_all(&repository.0, "Second");
    repository.write("many.py", &many("2"));
    fs::remove_file(repository.join("left/a.py")).unwrap();
    fs::remove_file(repository.join(".hidden/a.py")).unwrap();
    index.ingest(&repository).await;
    let text = find_impact(&evidence, "HEAD").await;
    let request = ImpactRequest { since: "HEAD".to_owned(), depth: 1 };
    let found = evidence.find_impact(request, RootFilter::Everything).await.unwrap();
    let found = serde_json::to_string(&found).unwrap();
    assert!(text.starts_with("3000 definitions of shop changed"), "{text}");
    assert!(text.contains("more do not fit)") && text.contains("than was compared"), "{text}");
    assert!(!found.contains("hidden") && !found.contains("left/"));
}

#[tokio::test]
async fn an_indexed_commit_is_compared_as_it_was() {
    let index = TestIndex::new().await;
    let (repository, evidence) = commit_shop(&index);
    repository.write("README.md", "# Shop\n");
    commit_all(&repository.0, "Document");
    run_git(&repository.0, &["tag", "v1"]);
    repository.write("store.py", &STORE.replace("return path\n\n", "return str(path)\n\n"));
    commit_all(&repository.0, "Second");
    run_git(&repository.0, &["tag", "v2"]);
    repository.write("store.py", "def other():\n    pass\n");
    let mut request = codeinfo_test_support::ingest::build_request(&repository.0);
    request.path = repository.0.with_file_name("shop@v2");
    index.run_ingest(request).await;
    let root: Root = index.load_root().await;
    let revision: IndexedCommit = root.revision.expect("a commit");
    assert_eq!(revision.name, "v2");
    assert_snapshot!("indexed_commit", find_impact(&evidence, "v1").await);
}
