//! After any edits over three worktrees, relations in each are those of a fresh index of it alone.

use std::fs;

use codeinfo_core::{PathMap, Root, RootFilter};
use codeinfo_evidence::{Evidence, RelationKind, TraceDirection, TraceRequest};
use codeinfo_store::Store;
use codeinfo_test_support::{
    git::{add_worktree, commit_all},
    ingest::{TestIndex, TestRepository},
    random::next_random,
};

const FILES: [&str; 4] = ["a.py", "b.py", "sub/c.py", "d.ts"];
const NAMES: [&str; 4] = ["alpha", "beta", "Gamma.delta", "epsilon"];
const ROUNDS: usize = 12;

/// Returns a text of one of some forms, which define and use names of other files.
fn write_source(file: &str, form: usize) -> String {
    if file == "d.ts" {
        return match form % 3 {
            0 => "export function epsilon() { return 1 }\nepsilon()\n".to_owned(),
            1 => "export class Gamma { delta() { return epsilon() } }\nfunction epsilon() {}\n"
                .to_owned(),
            _ => "new Gamma().delta()\n".to_owned(),
        };
    }
    match form % 6 {
        0 => "def alpha():\n    return beta()\n\ndef beta():\n    return 1\n".to_owned(),
        1 => "from a import alpha\n\ndef epsilon():\n    return alpha()\n".to_owned(),
        2 => "from b import beta as other\n\nclass Gamma:\n    def delta(self):\n        return other()\n".to_owned(),
        3 => "from sub.c import Gamma\n\ndef beta():\n    return Gamma().delta()\n".to_owned(),
        4 => "import a\n\na.alpha()\nalpha = a.beta\n".to_owned(),
        _ => "class Gamma:\n    def delta(self):\n        return self.delta()\n\ndef alpha(g: Gamma):\n    g.delta()\n".to_owned(),
    }
}

/// Describes all relations of the names in one tree.
async fn describe_tree(evidence: &Evidence, root: &Root) -> Vec<String> {
    let within = RootFilter::Only(root.id);
    let mut described = Vec::new();
    for name in NAMES {
        for kind in [
            RelationKind::Callers,
            RelationKind::Callees,
            RelationKind::Implementations,
            RelationKind::Overrides,
            RelationKind::Importers,
        ] {
            let found = evidence.find_relations(name, kind, within).await.unwrap();
            described.push(format!("{:?} {:?}", found.definitions, found.related));
        }
        let uses = evidence.find_uses(name, within).await.unwrap();
        described.push(format!("{} {:?} {:?}", uses.count, uses.groups, uses.definitions));
        let (from, to, direction) = (name.to_owned(), None, TraceDirection::Callees);
        let request = TraceRequest { from, to, direction, depth: 4 };
        described.push(format!("{:?}", evidence.trace_calls(request, within).await.unwrap()));
    }
    described
}

async fn find_root(store: &Store, tree: &TestRepository) -> Root {
    let roots = store.roots().await.unwrap();
    roots.into_iter().find(|root| root.path == tree.0).unwrap()
}

#[tokio::test]
async fn relations_after_random_edits_are_those_of_a_fresh_index() {
    let mut seed = 4;
    let index = TestIndex::new().await;
    let main = index.create_repository("main", &[]);
    for (form, file) in FILES.into_iter().enumerate() {
        main.write(file, &write_source(file, form));
    }
    commit_all(&main.0, "Begin");
    let (one, two) =
        (add_worktree(&main, "one", &["-b", "one"]), add_worktree(&main, "two", &["-b", "two"]));
    let trees = [main, one, two];
    for tree in &trees {
        index.ingest(tree).await;
    }
    let evidence = Evidence::new(index.store.clone(), PathMap::default());
    let mut related = 0;
    for round in 0..ROUNDS {
        let mut any = |of: usize| usize::try_from(next_random(&mut seed)).unwrap_or_default() % of;
        let (tree, file, form, action) = (&trees[any(3)], FILES[any(4)], any(6), any(8));
        if action == 0 {
            fs::remove_file(tree.join(file)).ok();
        } else {
            tree.write(file, &write_source(file, form));
        }
        index.ingest(tree).await;
        for tree in &trees {
            let kept = describe_tree(&evidence, &find_root(&index.store, tree).await).await;
            let fresh = TestIndex::new().await;
            fresh.ingest(tree).await;
            let alone = Evidence::new(fresh.store.clone(), PathMap::default());
            let expected = describe_tree(&alone, &find_root(&fresh.store, tree).await).await;
            assert_eq!(kept, expected, "round {round}: {file} has form {form}");
            related += kept.iter().filter(|text| text.contains("certainty: Certain")).count();
        }
    }
    assert!(related > 100, "{related}");
}
