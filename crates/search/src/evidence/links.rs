//! How a few files use one another: which names of one the others mention. Pure but for reading them.

use std::collections::{BTreeSet, HashMap, HashSet};

use codeinfo_core::RootFilter;
use codeinfo_lang::{
    comment::is_comment,
    words::{find_identifiers, is_import},
};

use super::{Evidence, EvidenceError, place::ResolvedPath, snapshot::FileSnapshot};

/// Shorter names are anything's.
const SHORTEST: usize = 3;
/// Longer files are read to there.
const MAX_LINES: usize = 20_000;
/// So many names are kept of one link.
const MAX_NAMES: usize = 8;

/// A use of one file by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLink {
    /// The place of the file that uses the other.
    pub from: usize,
    /// The place of the file that is used.
    pub to: usize,
    /// Whether its names are called, or imported alone.
    pub how: FileLinkKind,
    /// The names, a few at most.
    pub names: Vec<String>,
}

/// How a file uses another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLinkKind {
    /// Its names stand in code.
    Calls,
    /// Its names, or that of its file, stand in lines that import.
    Imports,
}

impl Evidence {
    /// Finds how files use one another, given their absolute paths: a name counts that one of them alone defines. A
    /// file that is not indexed uses nothing.
    pub async fn find_links(&self, paths: &[String]) -> Result<Vec<FileLink>, EvidenceError> {
        let mut snapshots = Vec::new();
        for path in paths {
            let found = match self.resolve_path(path, RootFilter::Everything).await {
                Ok(ResolvedPath::File(_, record)) => self.load_snapshot(&record).await?,
                Ok(ResolvedPath::Folder(..))
                | Err(EvidenceError::NotFound { .. } | EvidenceError::Ambiguous { .. }) => None,
                Err(failure) => return Err(failure),
            };
            snapshots.push(found);
        }
        self.run_blocking(move || link_snapshots(&snapshots)).await
    }
}

fn link_snapshots(files: &[Option<FileSnapshot>]) -> Vec<FileLink> {
    let definers = find_definers(files);
    let mut links = Vec::new();
    for (from, file) in files.iter().enumerate() {
        let Some(file) = file else { continue };
        let text = file.text();
        let mut used: HashMap<usize, (FileLinkKind, BTreeSet<&str>)> = HashMap::new();
        for line in text.lines().take(MAX_LINES).filter(|line| !is_comment(line)) {
            let how = if is_import(line) { FileLinkKind::Imports } else { FileLinkKind::Calls };
            for name in find_identifiers(line).filter_map(|name| str::from_utf8(name).ok()) {
                let Some((name, Some(of))) = definers.get_key_value(name) else { continue };
                // The name of a file says something where files are imported alone.
                let is_used = of.file != from && (of.is_defined || how == FileLinkKind::Imports);
                if is_used {
                    let (strongest, names) = used.entry(of.file).or_insert((how, BTreeSet::new()));
                    if how == FileLinkKind::Calls {
                        *strongest = how;
                    }
                    names.insert(name);
                }
            }
        }
        let mut of_file: Vec<FileLink> = used
            .into_iter()
            .map(|(to, (how, names))| {
                let names = names.into_iter().take(MAX_NAMES).map(str::to_owned).collect();
                FileLink { from, to, how, names }
            })
            .collect();
        of_file.sort_by_key(|link| link.to);
        links.extend(of_file);
    }
    links
}

/// Whose name it is.
#[derive(Debug, Clone, Copy)]
struct NameDefiner {
    file: usize,
    /// Whether it is defined in the file, and not the file's own.
    is_defined: bool,
}

/// Returns the file that defines a name or is called like that; `None` where several are.
fn find_definers(files: &[Option<FileSnapshot>]) -> HashMap<String, Option<NameDefiner>> {
    let mut definers: HashMap<String, Option<NameDefiner>> = HashMap::new();
    for (place, file) in files.iter().enumerate() {
        let Some(file) = file else { continue };
        let defined: HashSet<&str> = file
            .chunks
            .iter()
            .flat_map(|chunk| &chunk.defines)
            .filter_map(|symbol| str::from_utf8(find_identifiers(symbol).last()?).ok())
            .collect();
        let name = file.record.path.rsplit('/').next().unwrap_or_default();
        let stem = name.split('.').next().filter(|stem| !defined.contains(stem));
        let names = defined.into_iter().map(|name| (name, true));
        for (name, is_defined) in names.chain(stem.map(|stem| (stem, false))) {
            if name.len() >= SHORTEST {
                let this = NameDefiner { file: place, is_defined };
                let only = definers.entry(name.to_owned()).or_insert(Some(this));
                if only.is_none_or(|one| one.file != place) {
                    *only = None;
                }
            }
        }
    }
    definers
}
