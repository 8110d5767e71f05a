//! Finds the uses of files by one another: the names of one that the others mention.

use std::collections::{BTreeSet, HashMap, HashSet};

use codeinfo_core::RootFilter;
use codeinfo_lang::{
    comment::is_comment,
    words::{find_identifiers, is_import},
};
use serde::Serialize;

use super::{Evidence, EvidenceError, resolve::ResolvedPath, snapshot::FileSnapshot};

/// Minimum bytes of a name; shorter ones are too common.
const MIN_NAME_BYTES: usize = 3;
/// Maximum lines of a file that are read.
const MAX_LINES: usize = 20_000;
/// Maximum names per link.
const MAX_NAMES: usize = 8;

/// A use of one file by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileLink {
    /// Index of the file that uses the other.
    pub from: usize,
    /// Index of the used file.
    pub to: usize,
    /// Kind of use.
    pub kind: FileLinkKind,
    /// Some of the used names.
    pub names: Vec<String>,
}

/// Kind of use of one file by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileLinkKind {
    /// Its names occur in code.
    Calls,
    /// Its names, or that of its file, occur only in import lines.
    Imports,
}

impl Evidence {
    /// Finds the uses among files, given by absolute paths. Only names that a single one defines
    /// count. A file that is not indexed has no uses.
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
            let kind = if is_import(line) { FileLinkKind::Imports } else { FileLinkKind::Calls };
            for name in find_identifiers(line).filter_map(|name| str::from_utf8(name).ok()) {
                let Some((name, Some(definer))) = definers.get_key_value(name) else { continue };
                // The name of a file only counts in import lines.
                let is_used =
                    definer.file != from && (definer.is_defined || kind == FileLinkKind::Imports);
                if is_used {
                    let (strongest, names) =
                        used.entry(definer.file).or_insert((kind, BTreeSet::new()));
                    if kind == FileLinkKind::Calls {
                        *strongest = kind;
                    }
                    names.insert(name);
                }
            }
        }
        let mut file_links: Vec<FileLink> = used
            .into_iter()
            .map(|(to, (kind, names))| FileLink {
                from,
                to,
                kind,
                names: names.into_iter().take(MAX_NAMES).map(str::to_owned).collect(),
            })
            .collect();
        file_links.sort_by_key(|link| link.to);
        links.extend(file_links);
    }
    links
}

#[derive(Debug, Clone, Copy)]
struct NameDefiner {
    file: usize,
    /// True if the file defines the name, false if it is the file's own name.
    is_defined: bool,
}

/// Returns the file that defines a name or has it as its own; `None` for a name of several files.
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
            if name.len() >= MIN_NAME_BYTES {
                let this = NameDefiner { file: place, is_defined };
                let only = definers.entry(name.to_owned()).or_insert(Some(this));
                if only.is_none_or(|definer| definer.file != place) {
                    *only = None;
                }
            }
        }
    }
    definers
}
