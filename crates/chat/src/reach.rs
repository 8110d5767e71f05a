//! Selects the repositories that the model's shell may read for a question. Pure.

use codeinfo_codex::ReadableRoot;
use codeinfo_core::Root;

use super::mention::has_name;

/// Maximum number of repositories that a shell may read; search covers all. Each one delays every
/// command by about 5 ms (Codex 0.169), so that 200 of them make a turn with one command four times
/// as slow.
const MAX_ROOTS: usize = 50;

/// Returns the repositories that the shell may read for `question`: first those that it names, then
/// always the same ones, because a conversation whose repositories change loses its scratch folder.
///
/// Excludes repositories that were never indexed completely, or only by a former version, because
/// their secrets are unknown.
pub(super) fn select_readable(mut roots: Vec<Root>, question: &str) -> Vec<ReadableRoot> {
    roots.retain(|root| root.local_folder().is_some());
    roots.retain(|root| root.last_ingest_at.is_some() && root.private_files.is_some());
    if roots.len() > MAX_ROOTS {
        let lower = question.to_lowercase();
        roots.sort_by_cached_key(|root| (!mentions_root(&lower, root), root.id.to_string()));
        roots.truncate(MAX_ROOTS);
    }
    roots.into_iter().map(build_readable).collect()
}

/// Returns true if `question`, in lower case, contains the name or path of `root`.
fn mentions_root(question: &str, root: &Root) -> bool {
    let path = root.path.to_string_lossy().to_lowercase();
    has_name(question, &root.name) || has_name(question, &path)
}

fn build_readable(root: Root) -> ReadableRoot {
    let below_root = root.private_files.iter().flatten();
    let private_files = below_root.map(|path| root.path.join(path)).collect();
    ReadableRoot { folder: root.path, private_files }
}

#[cfg(test)]
mod tests {
    use std::{
        path::PathBuf,
        time::{Duration, UNIX_EPOCH},
    };

    use super::*;
    use codeinfo_core::{IndexCounts, Timestamp};

    fn root(name: &str, last_ingest_at: Option<Timestamp>) -> Root {
        let path = PathBuf::from("/src").join(name);
        Root {
            last_ingest_at,
            counts: IndexCounts { files: 1, chunks: 1, embedded: 1 },
            private_files: Some(vec![".env".to_owned()]),
            ..Root::from_folder(path)
        }
    }

    fn folders(roots: Vec<Root>, question: &str) -> Vec<String> {
        let readable = select_readable(roots, question).into_iter();
        readable.map(|readable| readable.folder.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn of_many_repositories_the_named_come_first_and_then_always_the_same() {
        let roots = |month: u8| -> Vec<Root> {
            let at = |day| Duration::from_secs(day * u64::from(month) % 60);
            let at = |day| Some(Timestamp::from(UNIX_EPOCH + at(day)));
            (0..60).map(|day| root(&format!("repo{day}"), at(day))).collect()
        };
        let question = "Does Repo3 work like /src/repo5, or like repo55x?";
        let given = folders(roots(1), question);
        assert_eq!(given.len(), MAX_ROOTS);
        let named: Vec<&str> = given[..2].iter().map(String::as_str).collect();
        assert!(named.contains(&"/src/repo5") && named.contains(&"/src/repo3"), "{named:?}");
        assert_eq!(folders(roots(7), question), given);
        let others = folders(roots(1), "What?");
        let kept = others.iter().filter(|folder| given.contains(folder)).count();
        assert!(kept >= MAX_ROOTS - 2, "{kept}");
    }

    #[test]
    fn a_repository_whose_secrets_are_not_known_is_not_read() {
        let indexed = || Some(Timestamp::now());
        let former = Root { private_files: None, ..root("former", indexed()) };
        let roots = vec![root("new", None), root("old", indexed()), former];
        let expected = ReadableRoot {
            folder: PathBuf::from("/src/old"),
            private_files: vec![PathBuf::from("/src/old/.env")],
        };
        assert_eq!(select_readable(roots, "What?"), [expected]);
    }
}
