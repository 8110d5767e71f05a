//! Repositories that an answer cites, each with the indexed state of its files. Pure.

use codeinfo_citations::CheckedCitation;
use codeinfo_core::{CitedRepository, Root, Timestamp};

/// Replaces the commit for folders, whose files may differ from the checked-out commit.
const WORKING_TREE: &str = "working tree";

/// Lists the cited repositories without repetitions, in the order of the answer.
///
/// `roots` are all indexed roots; citations of files outside of them name no repository.
pub(super) fn list_repositories(
    citations: &[CheckedCitation],
    roots: &[Root],
) -> Vec<CitedRepository> {
    let mut repositories: Vec<CitedRepository> = Vec::new();
    for name in citations.iter().filter_map(|citation| citation.repo.as_deref()) {
        let is_listed = repositories.iter().any(|repository| repository.name == name);
        let root = roots.iter().find(|root| root.name == name).filter(|_| !is_listed);
        repositories.extend(root.map(describe_root));
    }
    repositories
}

fn describe_root(root: &Root) -> CitedRepository {
    let commit = root.revision.as_ref().map(|revision| revision.commit.clone());
    CitedRepository {
        name: root.name.clone(),
        commit: commit.unwrap_or_else(|| WORKING_TREE.to_owned()),
        indexed_at: root.last_ingest_at.as_ref().map(Timestamp::to_string),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use codeinfo_citations::CitationState;
    use codeinfo_core::IndexedCommit;

    fn citation(repo: Option<&str>) -> CheckedCitation {
        CheckedCitation {
            path: "/src/a.rs".to_owned(),
            rel_path: None,
            repo: repo.map(str::to_owned),
            lines: Vec::new(),
            state: CitationState::Confirmed,
            moved_to: Vec::new(),
            hash: None,
            range: 0..0,
            whole: 0..0,
            fault: None,
        }
    }

    #[test]
    fn each_repository_is_listed_once_with_its_commit_and_the_time_of_its_index() {
        let folder = PathBuf::from("/src/app");
        let (store, commit) = (folder.join(".git"), "c".repeat(40));
        let revision = IndexedCommit {
            folder: folder.clone(),
            name: "v1".to_owned(),
            store,
            commit: commit.clone(),
        };
        let tagged = Root {
            name: "app@v1".to_owned(),
            revision: Some(revision),
            last_ingest_at: Some(Timestamp::EPOCH),
            ..Root::from_folder(PathBuf::from("/src/app@v1"))
        };
        let roots =
            [Root::from_folder(folder), tagged, Root::from_folder(PathBuf::from("/src/other"))];
        let cited = [Some("app@v1"), None, Some("app"), Some("app@v1"), Some("gone")].map(citation);
        let listed = list_repositories(&cited, &roots);
        let repository = |name: &str, commit: &str, indexed_at: Option<&str>| CitedRepository {
            name: name.to_owned(),
            commit: commit.to_owned(),
            indexed_at: indexed_at.map(str::to_owned),
        };
        assert_eq!(
            listed,
            [
                repository("app@v1", &commit, Some("1970-01-01T00:00:00.000Z")),
                repository("app", "working tree", None),
            ]
        );
    }
}
