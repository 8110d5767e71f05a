//! Callers of a definition that differ between a tree and a commit of it.

use codeinfo_core::{LineRange, PathMap};
use codeinfo_evidence::{Evidence, FoundPiece, render};
use codeinfo_test_support::{
    git::{commit_all, run_git},
    ingest::{TestIndex, TestRepository},
};
use insta::assert_snapshot;

const PUMP: &str = "\
LIMIT = 3

class Pump:
    def start(self, limit):
        return self.run(limit)

    def run(self, limit):
        return limit

def flush(pump: Pump):
    return pump.start(1)
";
const PLANT: &str = "\
from pump import Pump

def open_plant():
    return Pump().start(1)

def drain(pump: Pump):
    pump.start(2)

def test_plant(pump: Pump):

    pump.start(3)

def guess(pump):
    pump.start(4)
";

async fn index_trees(index: &TestIndex) -> (TestRepository, Evidence) {
    let repository = index.create_repository("plant", &[("pump.py", PUMP), ("plant.py", PLANT)]);
    commit_all(&repository.0, "First");
    run_git(&repository.0, &["tag", "v1"]);
    repository.write("pump.py", &PUMP.replace("self.run(limit)", "self.run(limit + 1)"));
    let plant = PLANT
        .replace("Pump().start(1)", "Pump().start(LIMIT)")
        .replace(
            "def drain(pump: Pump):\n    pump.start(2)\n",
            "def pause(pump: Pump):\n    pump.start(2)\n",
        )
        // Neither the place nor blank lines of a caller count.
        .replace("Pump):\n\n", "Pump):\n");
    repository.write("plant.py", &plant);
    index.ingest(&repository).await;
    let mut request = codeinfo_test_support::ingest::build_request(&repository.0);
    request.path = repository.0.with_file_name("plant@v1");
    index.run_ingest(request).await;
    (repository, Evidence::new(index.store.clone(), PathMap::default()))
}

/// Compares the callers of what is in some lines of one of the trees.
async fn compare(
    evidence: &Evidence,
    trees: [&str; 2],
    lines: (u32, u32),
    max_bytes: usize,
) -> String {
    let lines = LineRange { first: lines.0, last: lines.1 };
    let rel_path = "pump.py".to_owned();
    let pieces =
        trees.map(|repo| FoundPiece { repo: repo.to_owned(), rel_path: rel_path.clone(), lines });
    let (changes, is_incomplete) = evidence.compare_callers(trees, pieces.to_vec()).await.unwrap();
    render::render_caller_changes(&changes, is_incomplete, max_bytes).trim().to_owned()
}

#[tokio::test]
async fn added_removed_and_changed_callers_of_a_changed_definition_are_told() {
    let index = TestIndex::new().await;
    let (repository, evidence) = index_trees(&index).await;
    let text = compare(&evidence, ["plant@v1", "plant"], (4, 5), 600).await;
    assert_snapshot!(text, @"
    callers (- only before, + only now, ~ changed):
    of pump.py:4 Pump.start
    - plant.py:6 drain
    ~ plant.py:3 open_plant
    + plant.py:6 pause
    ");
    assert_eq!(compare(&evidence, ["plant@v1", "plant"], (4, 5), 90).await, "");
    // The other way round.
    let reverse = ["plant", "plant@v1"];
    let text = compare(&evidence, reverse, (4, 5), 600).await;
    assert!(text.contains("- plant.py:6 pause\n") && text.contains("+ plant.py:6 drain"), "{text}");
    // Both at once, which take the same two graphs.
    for _ in 0..20 {
        let forward = compare(&evidence, ["plant@v1", "plant"], (4, 5), 600);
        let both = tokio::join!(forward, compare(&evidence, reverse, (4, 5), 600));
        assert_eq!((both.0.len(), both.1.as_str()), (text.len(), text.as_str()));
    }
    let cut = compare(&evidence, reverse, (4, 5), 160).await;
    let note = "(some callers are left out, for want of time or room)";
    assert!(cut.len() <= 160 && cut.contains("- plant.py:6") && cut.ends_with(note), "{cut}");
    // What did not change is not compared.
    for (trees, lines) in [
        (["plant@v1", "plant"], (7, 9)),
        (["plant@v1", "plant"], (11, 12)),
        (["plant", "plant"], (1, 9)),
        (["nowhere", "plant"], (1, 9)),
    ] {
        assert_eq!(compare(&evidence, trees, lines, 600).await, "", "{trees:?} {lines:?}");
    }
    // A caller whose type is no longer known has not gone.
    let plant = PLANT.replace("def drain(pump: Pump)", "def drain(pump)");
    repository.write("plant.py", &plant);
    index.ingest(&repository).await;
    assert_eq!(compare(&evidence, ["plant@v1", "plant"], (4, 5), 600).await, "");
}

#[tokio::test]
async fn callers_count_as_neither_added_nor_removed_while_files_are_missing() {
    let index = TestIndex::new().await;
    let (_, evidence) = index_trees(&index).await;
    let roots = index.store.roots().await.unwrap();
    let tag = roots.iter().find(|root| root.name == "plant@v1").unwrap();
    // Its chunks are being replaced.
    let files = index.store.files(tag.id).await.unwrap();
    let mut plant = files.into_iter().find(|file| file.path == "plant.py").unwrap();
    plant.chunks += 1;
    index.store.put_files(vec![plant]).await.unwrap();
    let text = compare(&evidence, ["plant@v1", "plant"], (4, 5), 600).await;
    let head = "callers (- only before, + only now, ~ changed):\n";
    assert_eq!(text, format!("{head}(some callers are left out, for want of time or room)"));
}
