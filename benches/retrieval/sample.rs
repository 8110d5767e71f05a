//! Samples questions from the files of a repository, without the product's own reading of them.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use super::{
    score::Target,
    set::{Question, Repository},
};

/// How many questions of a kind one repository gives.
const EACH: usize = 10;
/// How many lines apart those are that are asked for by their numbers.
const STEP: usize = 20;
/// Ends of the names of files that are sampled.
const CODE: &[&str] = &[
    "bash", "c", "cc", "cpp", "cs", "ex", "go", "h", "hpp", "hs", "java", "js", "kt", "lua", "php",
    "py", "rb", "rs", "scala", "sh", "swift", "ts", "tsx", "zig",
];
/// Words that stand before the name of a definition at the beginning of a line, after modifiers.
const DEFINING: &[&str] = &[
    "class", "def", "defp", "enum", "fn", "fun", "func", "function", "interface", "object",
    "protocol", "struct", "trait", "type",
];
const MODIFIERS: &[&str] = &[
    "abstract", "async", "data", "export", "final", "internal", "local", "open", "override",
    "private", "protected", "pub", "public", "sealed", "static",
];

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name; its definition is the answer.
    Symbol,
    /// The name of a file and the number of a line; that line is the answer.
    Place,
    /// What stands in quotes somewhere; that line is the answer.
    Message,
    /// A piece of code with punctuation; that line is the answer.
    Code,
    /// A line of code without words; that line is the answer.
    Marks,
    /// The beginning of the comment above a definition, as one remembers it: without the words of
    /// the name and without every third word. The definition is the answer.
    Description,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Symbol, Self::Place, Self::Message, Self::Code, Self::Marks, Self::Description];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Symbol => "exact symbol",
            Self::Place => "exact place",
            Self::Message => "exact message",
            Self::Code => "exact code",
            Self::Marks => "exact marks",
            Self::Description => "description",
        }
    }
}

/// A question with where its answer is.
struct Found {
    text: String,
    path: String,
    lines: (u32, u32),
}

/// Returns up to [`EACH`] questions, always the same ones of the same files. What occurs more than
/// once in the repository has no single answer and is left out.
pub(crate) fn sample(kind: Kind, repository: &Repository) -> Vec<Question> {
    let mut found: HashMap<String, Option<Found>> = HashMap::new();
    for (path, text) in files(&repository.folder) {
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let Some(one) = of_line(kind, &path, &lines, at) else { continue };
            let key = one.text.clone();
            found.entry(key).and_modify(|known| *known = None).or_insert(Some(one));
        }
    }
    let mut found: Vec<Found> = found.into_values().flatten().collect();
    found.sort_by_key(|one| (hash(&one.text), one.path.clone()));
    found.truncate(EACH);
    let question = |one: Found| Question {
        id: format!("{}:{}", one.path, one.lines.0),
        repository: repository.name.clone(),
        language: String::new(),
        category: kind.name().to_owned(),
        text: one.text,
        targets: vec![Target {
            path: one.path,
            start_line: Some(one.lines.0),
            end_line: Some(one.lines.1),
        }],
        root: String::new(),
    };
    found.into_iter().map(question).collect()
}

fn of_line(kind: Kind, path: &str, lines: &[&str], at: usize) -> Option<Found> {
    let line = lines.get(at)?;
    let number = u32::try_from(at + 1).ok()?;
    let found = |text: String, first: u32, last: u32| Found {
        text,
        path: path.to_owned(),
        lines: (first, last),
    };
    match kind {
        Kind::Symbol => {
            let name = defined(line)?;
            let is_telling =
                6 <= name.len() && name.chars().skip(1).any(|c| c.is_ascii_uppercase() || c == '_');
            is_telling.then(|| found(name.to_owned(), number, number))
        }
        Kind::Place => {
            let file = path.rsplit('/').next().unwrap_or(path);
            (!line.trim().is_empty() && at.is_multiple_of(STEP))
                .then(|| found(format!("{file}:{number}"), number, number))
        }
        Kind::Message => {
            let (_, from) = line.split_once('"')?;
            let (text, _) = from.split_once('"')?;
            let words = text.split_whitespace().count();
            let has_punctuation = text.contains([':', '%', '{', '\'', '(', '=', '/', '<']);
            ((3..=10).contains(&words) && has_punctuation && !text.contains('\\'))
                .then(|| found(text.to_owned(), number, number))
        }
        Kind::Code => {
            let text = line.trim();
            let marks = text.chars().filter(char::is_ascii_punctuation).count();
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| 2 < w.len()).count();
            (16 <= text.len()
                && text.len() <= 60
                && 4 <= marks
                && 2 <= words
                && comment(text).is_none())
            .then(|| found(text.to_owned(), number, number))
        }
        Kind::Marks => {
            let text = line.trim();
            let marks = text.chars().filter(char::is_ascii_punctuation).count();
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            (5 <= text.len()
                && text.len() <= 40
                && 3 <= marks
                && words.all(|word| word.len() <= 2)
                && comment(text).is_none())
            .then(|| found(text.to_owned(), number, number))
        }
        Kind::Description => {
            let (text, first) = description(lines, at)?;
            Some(found(text, u32::try_from(first + 1).unwrap_or(number), number))
        }
    }
}

/// Returns what is remembered of the comment above the definition at a line, and where it begins.
fn description(lines: &[&str], at: usize) -> Option<(String, usize)> {
    let name = defined(lines.get(at)?)?.to_lowercase();
    let mut first = at;
    let is_comment = |at: usize| lines.get(at).is_some_and(|line| comment(line).is_some());
    while first.checked_sub(1).is_some_and(is_comment) {
        first -= 1;
    }
    let words: Vec<&str> = lines
        .get(first..at)?
        .iter()
        .filter_map(|line| comment(line))
        .flat_map(str::split_whitespace)
        .take(20)
        .collect();
    let is_new = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        word.len() < 3 || !name.contains(&word)
    };
    let kept: Vec<&str> = words
        .iter()
        .copied()
        .filter(is_new)
        .enumerate()
        .filter(|(place, _)| place % 3 != 2)
        .map(|(_, word)| word)
        .collect();
    let is_prose = kept.iter().all(|word| !word.contains(['@', '<', '\\', '=', '/']));
    (7 <= kept.len() && is_prose).then(|| (kept.join(" "), first))
}

/// Returns the name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    if !DEFINING.contains(&words.next()?) {
        return None;
    }
    let word = words.next()?;
    let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
    word.get(..end).filter(|name| !name.is_empty())
}

/// Returns what a line of a comment says.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim();
    ["///", "//!", "//", "# ", "--", "/**", "*"].iter().find_map(|mark| line.strip_prefix(mark))
}

/// Returns the files of a folder that are code, in order of path.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found: Vec<PathBuf> = ignore::WalkBuilder::new(folder)
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
        .filter(|path| {
            path.extension().and_then(|end| end.to_str()).is_some_and(|end| CODE.contains(&end))
        })
        .collect();
    found.sort();
    let mut files = Vec::new();
    for path in found {
        let (Ok(text), Ok(below)) = (fs::read_to_string(&path), path.strip_prefix(folder)) else {
            continue;
        };
        files.push((below.to_string_lossy().into_owned(), text));
    }
    files
}

fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
