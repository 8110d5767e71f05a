//! Questions and repositories, read from files.

use std::{collections::HashSet, fs, path::PathBuf};

use serde::Deserialize;

use super::{
    Outcome,
    options::{Options, Scope},
    score::Target,
};

/// What is asked of what.
pub(crate) struct Set {
    pub(crate) repositories: Vec<Repository>,
    pub(crate) questions: Vec<Question>,
}

/// A folder to index.
pub(crate) struct Repository {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// A question and its answers.
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) repository: String,
    pub(crate) language: String,
    pub(crate) category: String,
    pub(crate) text: String,
    pub(crate) targets: Vec<Target>,
    /// The indexed folder below the repository, with `/` at its end, or nothing.
    pub(crate) root: String,
}

impl Question {
    /// Returns a path below the indexed folder as one below the repository.
    pub(crate) fn within(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }
}

#[derive(Deserialize)]
struct RepositoryLine {
    name: String,
    benchmark_root: Option<String>,
}

#[derive(Deserialize)]
struct QuestionLine {
    id: String,
    repo: String,
    language: String,
    query: String,
    category: String,
    relevant: Vec<Target>,
    #[serde(default)]
    secondary: Vec<Target>,
    usable: Option<bool>,
}

impl Set {
    /// Reads the set, leaving out repositories without questions or without a checkout.
    pub(crate) fn read(options: &Options) -> Outcome<Self> {
        let mut lines = Vec::new();
        for line in fs::read_to_string(&options.queries)?.lines() {
            let line: QuestionLine = serde_json::from_str(line)?;
            let wanted = options.only.is_empty() || options.only.contains(&line.repo);
            if wanted && line.usable != Some(false) {
                lines.push(line);
            }
        }
        let asked: HashSet<&str> = lines.iter().map(|line| line.repo.as_str()).collect();
        let mut repositories = Vec::new();
        let mut questions = Vec::new();
        for line in fs::read_to_string(&options.repos)?.lines() {
            let RepositoryLine { name, benchmark_root } = serde_json::from_str(line)?;
            let root = match options.scope {
                Scope::Root => benchmark_root.unwrap_or_default(),
                Scope::Full => String::new(),
            };
            let folder = options.checkouts.join(&name).join(&root);
            if !asked.contains(name.as_str()) || !folder.is_dir() {
                continue;
            }
            let root = if root.is_empty() { root } else { format!("{root}/") };
            questions.extend(lines.iter().filter(|line| line.repo == name).map(|line| Question {
                id: line.id.clone(),
                repository: name.clone(),
                language: line.language.clone(),
                category: line.category.clone(),
                text: line.query.clone(),
                targets: line.relevant.iter().chain(&line.secondary).cloned().collect(),
                root: root.clone(),
            }));
            repositories.push(Repository { name, folder });
        }
        Ok(Self { repositories, questions })
    }
}
