//! Recognises questions for the purpose of a package, and the chunks that tell it: its manifest, the
//! top of its README and the comment at the top of its first module.

use std::collections::{HashMap, HashSet};

use codeinfo_core::ChunkRecord;
use codeinfo_lang::{
    comment::is_description,
    landmark::{LandmarkKind, detect_landmark, find_description_line},
    words::{STOP_WORDS, split_words},
};

/// Maximum words of such a question.
const MAX_WORDS: usize = 14;
/// Words for packages, which are not part of their names.
const PACKAGES: &[&str] = &[
    "crate", "gem", "library", "module", "package", "plugin", "project", "repo", "repository",
    "subproject",
];
/// Verbs and nouns of such questions, which are not part of names either.
const ASKING: &[&str] = &["called", "contain", "provide", "purpose"];
/// Files of a package that may describe it.
const FILES: &[&str] = &[
    "Cargo.toml", "README.md", "README.rst", "__init__.py", "composer.json", "package.json",
    "pyproject.toml", "readme.md", "setup.py", "src/lib.rs",
];
/// Last line on which the top of a file begins.
const TOP: u32 = 12;
/// Chunks of each file that are looked up.
pub(super) const CHUNKS_OF_TOP: u32 = 2;
/// Maximum folders whose files are looked up.
const MAX_FOLDERS: usize = 6;
/// Share of words in common from which on two names may mean the same package.
const MIN_SHARE: f32 = 0.5;
/// Score of every description for a question that names no package.
const UNNAMED: f32 = 0.5;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PackageQuestion {
    /// Words of the package's name, folded. None means the repository.
    name: HashSet<String>,
    /// True if the question asks which package has a purpose.
    asks_which: bool,
    /// Words of the repository's name, if one is searched.
    repository: HashSet<String>,
}

impl PackageQuestion {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let trim = |word| str::trim_matches(word, |c: char| c.is_ascii_punctuation());
        let words: Vec<&str> =
            lower.split_whitespace().map(trim).filter(|word| !word.is_empty()).collect();
        let asks_which = match *words.as_slice() {
            _ if MAX_WORDS < words.len() => return None,
            ["which" | "what", kind, _, ..] if PACKAGES.contains(&kind) => true,
            ["what", "is" | "are" | "does", _, ..]
            | ["what's", _, ..]
            | ["purpose", "of", _, ..]
            | ["the", "purpose", "of", _, ..] => false,
            _ => return None,
        };
        let is_other = |word: &str| [STOP_WORDS, PACKAGES, ASKING].concat().contains(&word);
        let name = split_words(&lower).filter(|word| !is_other(word)).collect();
        Some(Self { name, asks_which, repository: HashSet::new() })
    }

    pub(super) fn narrow_to_repository(&mut self, repository: &str) {
        self.repository = split_words(repository).collect();
    }

    /// Returns the paths of files that may describe the package, by the folders of `known` paths.
    pub(super) fn list_paths<'a>(&self, known: impl Iterator<Item = &'a str>) -> Vec<String> {
        if self.repository.is_empty() || self.asks_which {
            return Vec::new();
        }
        let mut shares = HashMap::from([("", self.score_folder(""))]);
        for path in known {
            let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
            for folder in folders {
                shares.entry(folder).or_insert_with(|| self.score_folder(folder));
            }
        }
        let mut folders: Vec<(&str, f32)> =
            shares.into_iter().filter(|(_, share)| MIN_SHARE <= *share).collect();
        folders.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let files = folders
            .iter()
            .take(MAX_FOLDERS)
            .flat_map(|(folder, _)| FILES.iter().map(move |file| format!("{folder}/{file}")));
        files.map(|path| path.trim_start_matches('/').to_owned()).collect()
    }

    /// Returns how well a chunk tells the purpose of the package, 0…1.
    pub(super) fn score_description(&self, record: &ChunkRecord) -> f32 {
        let Some((folder, name)) = find_described_package(record) else { return 0.0 };
        if self.asks_which {
            return UNNAMED;
        }
        let share = self.score_folder(folder).max(self.score_name(name));
        if MIN_SHARE <= share { share } else { 0.0 }
    }

    /// Returns how likely the question means the package in `folder`, 0…1.
    fn score_folder(&self, folder: &str) -> f32 {
        match folder.rsplit('/').next() {
            Some("") | None if self.name.is_empty() => 1.0,
            Some("") | None => share_words(&self.name, &self.repository),
            Some(name) => self.score_name(name),
        }
    }

    fn score_name(&self, name: &str) -> f32 {
        share_words(&self.name, &split_words(name).collect())
    }
}

/// Returns the share of the words of two names that both have, 0…1.
fn share_words(a: &HashSet<String>, b: &HashSet<String>) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "names have few words")]
    let share = a.intersection(b).count() as f32 / a.union(b).count().max(1) as f32;
    share
}

/// Returns the folder of the package that a chunk describes, and its name if the chunk has it.
fn find_described_package(record: &ChunkRecord) -> Option<(&str, &str)> {
    let landmark = detect_landmark(&record.path)?;
    let is_comment = |line: &str| is_description(line) || line.starts_with("\"\"\"");
    let describes = match landmark {
        LandmarkKind::EntryPoint | LandmarkKind::Readme if TOP < record.start_line => false,
        LandmarkKind::EntryPoint => record.text.lines().any(is_comment),
        _ => find_description_line(landmark, &record.text).is_some(),
    };
    let folder = record.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let package = folder.strip_suffix("src").unwrap_or(folder).trim_end_matches('/');
    let name = find_name(&record.text).filter(|_| landmark == LandmarkKind::Manifest);
    describes.then(|| (package, name.unwrap_or_default()))
}

fn find_name(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| {
        let (key, value) = line.split_once(['=', ':'])?;
        (key.trim().trim_matches('"') == "name").then(|| value.trim_matches([' ', ',', '"']))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::record, *};

    fn parse(text: &str) -> Option<PackageQuestion> {
        let mut question = PackageQuestion::parse(text)?;
        question.narrow_to_repository("ripgrep");
        Some(question)
    }

    #[test]
    fn a_question_for_a_purpose_is_recognised() {
        for question in [
            "what is the globset crate for?",
            "What's globset",
            "purpose of the package globset",
            "what does globset provide",
        ] {
            let name = parse(question).map(|question| question.name);
            assert_eq!(name, Some(HashSet::from(["globset".to_owned()])), "{question}");
        }
        assert!(parse("what is this project for").is_some_and(|it| it.name.is_empty()));
        assert!(parse("which crate matches globs").is_some_and(|it| it.asks_which));
        let long = format!("what is {}", "the glob ".repeat(9));
        for other in ["what happens to globs", "which globs match", "globset", "what is", &long] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn what_describes_the_package_scores_by_its_name() {
        let manifest = "[package]\nname = \"globset\"\ndescription = \"Matches globs\"";
        let score = |question: &str, path: &str, text: &str| {
            parse(question).unwrap().score_description(&record(path, None, text))
        };
        for (path, text, wanted) in [
            ("crates/globset/Cargo.toml", manifest, 1.0),
            ("crates/other/Cargo.toml", manifest, 1.0),
            ("crates/globset/Cargo.toml", "[dependencies]", 0.0),
            ("crates/globset/README.md", "Matches globs.", 1.0),
            ("crates/glob-set/README.md", "Matches globs", 0.0),
            ("crates/globset/src/lib.rs", "//! Matches globs", 1.0),
            ("crates/globset/src/lib.rs", "pub fn glob() {}", 0.0),
            ("crates/globset/src/glob.rs", "//! Matches globs", 0.0),
            ("README.md", "Searches files.", 0.0),
        ] {
            let found = score("what is globset for", path, text);
            assert!((found - wanted).abs() < 1e-6, "{path} {text}: {found}");
        }
        for question in ["what is this repository for", "what is ripgrep"] {
            assert!(0.9 < score(question, "README.md", "Searches files."), "{question}");
        }
        assert!(0.0 < score("which crate matches globs", "crates/globset/Cargo.toml", manifest));
    }

    #[test]
    fn files_of_folders_with_the_name_are_looked_up() {
        let known = || ["crates/globset/src/glob.rs", "crates/ignore/src/lib.rs"].into_iter();
        let paths = parse("what is globset").unwrap().list_paths(known());
        assert!(paths.contains(&"crates/globset/Cargo.toml".to_owned()), "{paths:?}");
        assert_eq!(paths.len(), FILES.len());
        let own = parse("what is ripgrep").unwrap().list_paths(known());
        assert!(own.contains(&"README.md".to_owned()), "{own:?}");
        assert!(PackageQuestion::parse("what is globset").unwrap().list_paths(known()).is_empty());
    }
}
