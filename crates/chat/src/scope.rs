//! Scope of a question: the repositories that it names, searches and lets the shell read.
//!
//! A limited question gives its thread another search address, `/mcp?repository=ID`, which finds
//! nothing else. So the limit holds for every request of the model and for concurrent turns.

use std::path::Path;

use codeinfo_codex::ReadableRoot;
use codeinfo_core::{LastRun, PathMap, Root, RootFilter, RootId, UnknownRoot, plain_name};

use super::ChatError;

/// Maximum named repositories to point out to the model.
const MAX_NAMED: usize = 3;
/// Maximum characters of a name, and of a path, in a note.
const MAX_NAME: usize = 200;
const MAX_PATH: usize = 500;
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QuestionScope {
    only: Option<Root>,
    /// The only tree of its repository to search, unless the model names another one.
    tree: Option<Root>,
    /// Tree that the user works in.
    workplace: Option<Root>,
    /// Note for the model before the question.
    note: Option<String>,
}

impl QuestionScope {
    /// Limits a question to the repository `reference` if given; otherwise points out the `roots` that the
    /// question names. Fails if no code is indexed.
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

    pub(super) fn covered_repositories(&self) -> RootFilter {
        match (&self.only, &self.tree) {
            (Some(only), _) => RootFilter::Only(only.id),
            (None, Some(tree)) => RootFilter::Tree(tree.id),
            (None, None) => RootFilter::Everything,
        }
    }

    /// Returns the folder of the requested repository, else of the user's, else of the only one of `roots`.
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
        select_readable(self.covered_repositories().select_roots(roots), question)
    }

    pub(super) fn note_text(&self) -> Option<String> {
        self.note.clone()
    }
}

/// Describes a repository for the model. Cleans its name, which must not look like more than a name.
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

/// Minimum characters of a name; shorter ones occur by chance.
const MIN_NAME: usize = 3;
/// Repository names that are also common words of questions; they count only in quotes.
const COMMON_WORDS: &str = "api app application backend client code common config core data database docs engine \
    example examples express framework frontend library main model parser project repo \
    repository request requests server service source store test tests tool tools web";

/// Returns true if a lower-case question contains `name` as a separate word.
fn has_name(question: &str, name: &str) -> bool {
    let lower = name.to_lowercase();
    if lower.chars().count() < MIN_NAME {
        return false;
    }
    let is_common = COMMON_WORDS.split(' ').any(|word| word == lower);
    question.match_indices(&lower).any(|(at, found)| {
        let before = question.get(..at).and_then(|text| text.chars().next_back());
        let after = question.get(at + found.len()..).and_then(|text| text.chars().next());
        let quotes = |c: Option<char>| matches!(c, Some('`' | '"' | '\''));
        let is_free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"-_".contains(c));
        if is_common { quotes(before) && quotes(after) } else { is_free(before) && is_free(after) }
    })
}

/// Maximum repositories that a shell may read. Each one delays every command by about 5 ms (Codex 0.169).
const MAX_ROOTS: usize = 50;

/// Returns the repositories that the shell may read for `question`: first those that it names, then always the
/// same ones, because a conversation whose repositories change loses its scratch folder. Excludes repositories
/// that were never indexed completely, or only by a former version: their secrets are unknown.
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
    use super::*;
    use codeinfo_core::{IndexCounts, IndexedCommit, Timestamp};
    use std::{
        path::PathBuf,
        time::{Duration, UNIX_EPOCH},
    };

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

    #[test]
    fn a_name_counts_as_a_word_and_a_common_one_in_quotes_only() {
        for (question, name) in [
            ("how does flask handle sessions?", "Flask"),
            ("what is new in spring-boot, and why?", "spring-boot"),
            ("where does `requests` follow redirects?", "requests"),
            ("what of tokio's timers?", "tokio"),
        ] {
            assert!(has_name(question, name), "{question}");
        }
        for (question, name) in [
            ("how are requests sent?", "requests"),
            ("where is the flaskette?", "flask"),
            ("what is spring-boot-starter?", "spring-boot"),
            ("how does it go?", "go"),
        ] {
            assert!(!has_name(question, name), "{question}");
        }
    }

    fn ingested_root(name: &str, last_ingest_at: Option<Timestamp>) -> Root {
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
            (0..60).map(|day| ingested_root(&format!("repo{day}"), at(day))).collect()
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
        let former = Root { private_files: None, ..ingested_root("former", indexed()) };
        let roots = vec![ingested_root("new", None), ingested_root("old", indexed()), former];
        let expected = ReadableRoot {
            folder: PathBuf::from("/src/old"),
            private_files: vec![PathBuf::from("/src/old/.env")],
        };
        assert_eq!(select_readable(roots, "What?"), [expected]);
    }
}
