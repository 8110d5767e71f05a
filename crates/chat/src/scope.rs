//! Scope of a question: all indexed repositories, or one.
//!
//! A limited question gives its thread another search address, `/mcp?repository=ID`, which finds
//! nothing else. So the limit holds for every request of the model and for concurrent turns.

use std::path::Path;

use codeinfo_codex::ReadableRoot;
use codeinfo_core::{LastRun, PathMap, Root, RootFilter, RootId, UnknownRoot, plain_name};

use super::{ChatError, mention::has_name, reach};

/// Maximum number of named repositories to point out to the model.
const MAX_NAMED: usize = 3;
/// Maximum characters of a name, and of a path, in a note.
const MAX_NAME: usize = 200;
const MAX_PATH: usize = 500;
/// Scope of a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QuestionScope {
    /// The only repository to search.
    only: Option<Root>,
    /// The only tree of its repository to search, unless the model names another one.
    tree: Option<Root>,
    /// Tree that the user works in.
    workplace: Option<Root>,
    /// Note for the model before the question.
    note: Option<String>,
}

impl QuestionScope {
    /// Limits a question to the repository `reference` if given; otherwise points out the `roots`
    /// that the question names.
    ///
    /// Fails if no code is indexed.
    pub(super) fn for_question(
        question: &str,
        reference: Option<&str>,
        tree: Option<RootId>,
        roots: &[Root],
        paths: &PathMap,
    ) -> Result<Self, ChatError> {
        if let Some(error) = nothing_in(roots) {
            return Err(error);
        }
        if let Some(reference) = reference {
            let found = paths.find_enclosing_root(roots, reference.trim());
            let root = found.ok_or_else(|| UnknownRoot::new(reference, roots))?;
            if let Some(error) = nothing_in(std::slice::from_ref(root)) {
                return Err(error);
            }
            let note = format!(
                "The next question is about the repository {} only. VectorSearch finds nothing \
                 outside it, so leave `repository` out, and no other repository can be read.",
                describe_root_for_model(root, paths)
            );
            return Ok(Self { only: Some(root.clone()), note: Some(note), ..Self::default() });
        }
        let named = find_named_roots(question, roots);
        let listed: Vec<String> =
            named.iter().map(|root| describe_root_for_model(root, paths)).collect();
        let note = (!listed.is_empty()).then(|| {
            format!(
                "The next question has the names of indexed repositories in it: {}. If it means \
                 them, search there first, with `repository` set to the name.",
                listed.join(", ")
            )
        });
        // A repository without other trees needs no limit.
        let workplace = roots.iter().find(|root| Some(root.id) == tree);
        let has_others = |tree: &&Root| roots.iter().any(|root| tree.is_other_tree(root));
        let tree = workplace.filter(has_others).cloned();
        let tree_note = tree.as_ref().map(|tree| {
            format!(
                "The user works in {}. Other trees of that repository are found only by `repository`.",
                describe_root_for_model(tree, paths)
            )
        });
        let notes: Vec<String> = tree_note.into_iter().chain(note).collect();
        let note = (!notes.is_empty()).then(|| notes.join("\n"));
        Ok(Self { only: None, tree, workplace: workplace.cloned(), note })
    }

    /// Returns the filter of repositories for the question.
    pub(super) fn covered_repositories(&self) -> RootFilter {
        match (&self.only, &self.tree) {
            (Some(only), _) => RootFilter::Only(only.id),
            (None, Some(tree)) => RootFilter::Tree(tree.id),
            (None, None) => RootFilter::Everything,
        }
    }

    /// Returns the folder of the repository for the question: the requested one, else the one that
    /// the user works in, else the only one of `roots`.
    pub(super) fn repository_folder<'a>(&'a self, roots: &'a [Root]) -> Option<&'a Path> {
        let alone = || if let [only] = roots { Some(only) } else { None };
        self.only.as_ref().or(self.workplace.as_ref()).or_else(alone).and_then(Root::local_folder)
    }

    /// Returns the search address of this scope, derived from the address that searches everything.
    pub(super) fn search_url(&self, everything: &str) -> String {
        match (&self.only, &self.tree) {
            (Some(root), _) => format!("{everything}?repository={}", root.id),
            (None, Some(tree)) => format!("{everything}?tree={}", tree.id),
            (None, None) => everything.to_owned(),
        }
    }

    /// Returns the repositories among `roots` that the model's shell may read.
    pub(super) fn readable_roots(&self, roots: &[Root], question: &str) -> Vec<ReadableRoot> {
        reach::select_readable(self.covered_repositories().select_roots(roots), question)
    }

    /// Returns the note for the model before the question.
    pub(super) fn note_text(&self) -> Option<String> {
        self.note.clone()
    }
}

/// Describes a repository for the model. Cleans its name, which must not look like more than a
/// name.
fn describe_root_for_model(root: &Root, paths: &PathMap) -> String {
    let name = plain_name(&root.name, MAX_NAME).replace('`', "'");
    let path = paths.to_client_path(&root.path).display().to_string();
    let path = plain_name(&path, MAX_PATH).replace('`', "'");
    if root.revision.is_some() {
        return format!(
            "`{name}` (a commit, at {path}, which is not on disk: read its files with `ReadLines`)"
        );
    }
    format!("`{name}` (at {path})")
}

/// Returns an error if no code of `roots` is indexed.
fn nothing_in(roots: &[Root]) -> Option<ChatError> {
    if roots.iter().any(|root| root.counts.chunks > 0) {
        return None;
    }
    let is_hurt = |root: &Root| matches!(root.last_run, LastRun::Damaged | LastRun::Discarded);
    Some(if roots.iter().any(is_hurt) { ChatError::Repairing } else { ChatError::IngestRequired })
}

/// Returns the roots that a question names. A single root need not be pointed out.
fn find_named_roots<'a>(question: &str, roots: &'a [Root]) -> Vec<&'a Root> {
    if roots.len() < 2 {
        return Vec::new();
    }
    let lower = question.to_lowercase();
    roots.iter().filter(|root| has_name(&lower, &root.name)).take(MAX_NAMED).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use codeinfo_core::{IndexCounts, IndexedCommit};

    fn root(name: &str, chunks: u64, last_run: LastRun) -> Root {
        let path = PathBuf::from("/src").join(name);
        Root {
            name: name.to_owned(),
            model_id: "none".to_owned(),
            counts: IndexCounts { files: chunks, chunks, embedded: chunks },
            last_run,
            private_files: Some(Vec::new()),
            ..Root::from_folder(path)
        }
    }

    #[test]
    fn a_name_in_the_note_is_no_more_than_a_name() {
        let named = root("a`\u{202e}b\u{2028}c\u{e0041}", 1, LastRun::Completed);
        let scope = QuestionScope::for_question(
            "?",
            Some(&named.name),
            None,
            std::slice::from_ref(&named),
            &PathMap::default(),
        );
        let note = scope.unwrap().note_text().unwrap();
        assert!(note.contains("repository `a'b c` (at /src/a'b c) only"), "{note}");
    }

    #[test]
    fn a_commit_that_a_question_names_is_said_to_be_not_on_disk() {
        let folder = root("vite", 1, LastRun::Completed);
        let commit = "c".repeat(40);
        let (store, name) = (folder.path.join(".git"), "v8.1.0".to_owned());
        let revision = IndexedCommit { folder: folder.path.clone(), name, store, commit };
        let tagged =
            Root { revision: Some(revision), ..root("vite@v8.1.0", 1, LastRun::Completed) };
        let question = "What is new in vite@v8.1.0?";
        let roots = [folder, tagged];
        let scope =
            QuestionScope::for_question(question, None, None, &roots, &PathMap::default()).unwrap();
        let note = scope.note_text().unwrap();
        let shown = "`vite@v8.1.0` (a commit, at /src/vite@v8.1.0, which is not on disk: read its files with `ReadLines`)";
        assert!(note.contains(shown) && note.contains("`vite` (at /src/vite)"), "{note}");
    }

    #[test]
    fn nothing_is_asked_about_what_is_not_indexed() {
        let error = |roots: &[Root], reference: Option<&str>| {
            QuestionScope::for_question("?", reference, None, roots, &PathMap::default())
                .unwrap_err()
                .to_string()
        };
        let failed = LastRun::Failed { reason: "not readable".to_owned(), resumes: false };
        let (full, empty) = (root("full", 1, LastRun::Completed), root("empty", 0, failed));
        let hurt = root("hurt", 0, LastRun::Damaged);
        let discarded = root("discarded", 0, LastRun::Discarded);
        let required = ChatError::IngestRequired.to_string();
        let repairing = ChatError::Repairing.to_string();
        assert_eq!(error(&[], None), required);
        assert_eq!(error(&[full.clone(), empty.clone()], Some("empty")), required);
        assert_eq!(error(&[empty.clone(), hurt.clone()], None), repairing);
        assert_eq!(error(&[empty, discarded], None), repairing);
        assert_eq!(error(&[full, hurt], Some("hurt")), repairing);
    }
}
