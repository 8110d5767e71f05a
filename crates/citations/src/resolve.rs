//! Resolves the path of a citation to an indexed file. Does no I/O.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use codeinfo_core::{
    FileRecord, PathMap, Root, RootFilter,
    paths::{ends_with, normalize_path},
};

use super::{
    fault::CitationFault,
    parse::{Citation, CitationCertainty},
};

const MAX_NAMED_FILES: usize = 3;

/// A file by the index of its root and its path.
pub(super) type RootFilePath = (usize, String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathMeaning {
    File(RootFilePath),
    /// A commit, by its index among those that were read.
    Commit(usize),
    Several(Vec<RootFilePath>),
    Nothing(CitationFault),
    /// The file exists but is not indexed. It may be a secret and is not read.
    LeftOut,
    /// The path is not a citation.
    NotACitation,
}

pub(super) struct LookupRoots<'a> {
    pub(super) known: &'a [Root],
    /// Folder of each root as clients see it.
    client_folders: Vec<PathBuf>,
    paths: &'a PathMap,
}

/// Files that a cited path may refer to, without `.`, `..` and `~`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathCandidates {
    /// Files below one root, or, for a relative path, below each of them.
    Below(Vec<RootFilePath>),
    /// An absolute path outside of all roots, or one that leads out.
    Outside,
}

impl PathMeaning {
    pub(super) fn as_file(&self) -> Option<&RootFilePath> {
        match self {
            Self::File(place) => Some(place),
            Self::Commit(_)
            | Self::Several(_)
            | Self::Nothing(_)
            | Self::LeftOut
            | Self::NotACitation => None,
        }
    }

    /// Returns the meaning of a path that matches these files; `None` if there are none.
    fn from_files(mut files: Vec<RootFilePath>) -> Option<Self> {
        let last = files.pop()?;
        if files.is_empty() {
            return Some(Self::File(last));
        }
        files.push(last);
        Some(Self::Several(files))
    }
}

/// Files and repositories among which cited files are looked up.
#[derive(Debug, Clone, Default)]
pub struct LookupScope {
    /// The only repository to search, or the work tree of the client.
    pub within: RootFilter,
    /// Absolute paths, as clients see them, of the files that the model has read.
    pub read_paths: HashSet<String>,
}

/// Files and trees that are searched first, because the model has read them.
#[derive(Debug, Default)]
pub(super) struct LookupOrder {
    read_files: HashSet<RootFilePath>,
    read_roots: HashSet<usize>,
    tree: Option<usize>,
}

impl LookupOrder {
    pub(super) fn new(scope: &LookupScope, roots: &LookupRoots<'_>) -> Self {
        let asked: Vec<PathCandidates> =
            scope.read_paths.iter().map(|path| roots.find_candidates(path)).collect();
        let read_files: HashSet<RootFilePath> =
            asked.iter().flat_map(PathCandidates::as_slice).cloned().collect();
        let read_roots = read_files.iter().map(|(root, _)| *root).collect();
        let is_tree = |root: &Root| scope.within == RootFilter::Tree(root.id);
        Self { read_files, read_roots, tree: roots.known.iter().position(is_tree) }
    }

    /// Resolves a path among the files that the model has read, or exactly in their trees.
    pub(super) fn find_among_read(
        &self,
        path: &str,
        asked: &PathCandidates,
        is_indexed: impl Fn(&RootFilePath) -> bool,
    ) -> Option<PathMeaning> {
        let exact = asked.resolve_exact(|place| self.read_files.contains(place));
        let found = exact.or_else(|| {
            PathMeaning::from_files(asked.filter_by_suffix(path, self.read_files.iter()))
        });
        let in_trees =
            || asked.resolve_exact(|place| self.read_roots.contains(&place.0) && is_indexed(place));
        found.or_else(in_trees).filter(|meaning| meaning.as_file().is_some())
    }

    /// Searches the trees that the model has read, then that of the client, then all. Returns the
    /// first result with a single file, or else the first result.
    fn find_in_order(
        &self,
        look: impl Fn(&dyn Fn(usize) -> bool) -> Option<PathMeaning>,
    ) -> Option<PathMeaning> {
        let is_read = |root| self.read_roots.contains(&root);
        let is_tree = |root| self.tree == Some(root);
        let results = [look(&is_read), look(&is_tree), look(&|_| true)];
        let mut found: Vec<PathMeaning> = results.into_iter().flatten().collect();
        let single_file = found.iter().position(|meaning| meaning.as_file().is_some());
        (!found.is_empty()).then(|| found.swap_remove(single_file.unwrap_or_default()))
    }
}

impl PathCandidates {
    pub(super) fn as_slice(&self) -> &[RootFilePath] {
        match self {
            Self::Below(places) => places,
            Self::Outside => &[],
        }
    }

    /// Resolves a path that files match exactly, below a root rather than with folders above it.
    pub(super) fn resolve_exact(
        &self,
        is_indexed: impl Fn(&RootFilePath) -> bool,
    ) -> Option<PathMeaning> {
        let whole = self.as_slice().first().map(|(_, path)| path.clone())?;
        let found: Vec<&RootFilePath> =
            self.as_slice().iter().filter(|place| is_indexed(place)).collect();
        let below_root: Vec<&RootFilePath> =
            found.iter().copied().filter(|(_, path)| *path == whole).collect();
        let mut best = if below_root.is_empty() { found } else { below_root };
        best.dedup();
        PathMeaning::from_files(best.into_iter().cloned().collect())
    }

    /// Returns the files whose path ends with this one, if it is relative.
    fn filter_by_suffix<'p>(
        &self,
        path: &str,
        places: impl Iterator<Item = &'p RootFilePath>,
    ) -> Vec<RootFilePath> {
        let end = self.as_slice().first().filter(|_| !Path::new(path).is_absolute());
        let Some((_, end)) = end else { return Vec::new() };
        places.filter(|(_, known)| ends_with(known, end)).cloned().collect()
    }
}

impl<'a> LookupRoots<'a> {
    pub(super) fn new(roots: &'a [Root], paths: &'a PathMap) -> Self {
        Self {
            known: roots,
            client_folders: roots.iter().map(|root| paths.to_client_path(&root.path)).collect(),
            paths,
        }
    }

    pub(super) fn find_candidates(&self, path: &str) -> PathCandidates {
        let below_home = path.strip_prefix("~/");
        let Some(clean) = normalize_path(Path::new(below_home.unwrap_or(path))) else {
            return PathCandidates::Outside;
        };
        if !clean.is_absolute() {
            let Some(clean) = clean.to_str() else { return PathCandidates::Outside };
            return PathCandidates::Below(self.expand_relative_path(clean));
        }
        let server_path = self.paths.to_server_path(&clean);
        let mut below: Vec<((bool, usize), RootFilePath)> = Vec::new();
        for (at, root) in self.known.iter().enumerate() {
            let rest =
                server_path.strip_prefix(&root.path).or_else(|_| clean.strip_prefix(&root.path));
            if let Some(rest) = rest.ok().and_then(Path::to_str) {
                let nearness = (root.host.is_none(), root.path.as_os_str().len());
                below.push((nearness, (at, rest.to_owned())));
            }
        }
        // Of nested roots, takes the inner one; of several hosts, this one.
        let inner = below.into_iter().max_by_key(|(nearness, _)| *nearness);
        inner.map_or(PathCandidates::Outside, |(_, place)| PathCandidates::Below(vec![place]))
    }

    /// Expands a relative path below each root. The path may start with the folders above a root.
    fn expand_relative_path(&self, path: &str) -> Vec<RootFilePath> {
        let mut asked = Vec::new();
        for (at, folder) in self.client_folders.iter().enumerate() {
            asked.push((at, path.to_owned()));
            let folders: Vec<&str> = folder.iter().filter_map(|part| part.to_str()).collect();
            for (end, _) in path.match_indices('/') {
                let (above, below) = (path.get(..end), path.get(end + 1..));
                let (Some(above), Some(below)) = (above, below) else { continue };
                let prefix: Vec<&str> = above.split('/').collect();
                if prefix.len() >= folders.len() {
                    break;
                }
                if folders.ends_with(&prefix) || prefix == [self.root_name(at)] {
                    asked.push((at, below.to_owned()));
                }
            }
        }
        asked
    }

    /// Builds the fault for a path that several files match. Names the trees if there are several.
    pub(super) fn build_ambiguous_fault(&self, several: &[RootFilePath]) -> CitationFault {
        let roots: HashSet<usize> = several.iter().map(|(root, _)| *root).collect();
        let display = |(root, path): &RootFilePath| match roots.len() {
            1 => path.clone(),
            _ => format!("{}/{path}", self.root_name(*root)),
        };
        let mut files: Vec<String> = several.iter().map(display).collect();
        files.sort_unstable();
        files.truncate(MAX_NAMED_FILES);
        CitationFault::Ambiguous { files, count: several.len() }
    }

    fn root_name(&self, at: usize) -> &str {
        self.known.get(at).map_or("", |root| &root.name)
    }

    /// Returns a file's absolute path as clients see it.
    pub(super) fn display_path(&self, (at, path): &RootFilePath) -> PathBuf {
        self.client_folders.get(*at).map(|root| root.join(path)).unwrap_or_default()
    }
}

/// Indexed files that have the file name of a citation.
#[derive(Debug, Default)]
pub(super) struct FilesByName {
    files: HashMap<String, Vec<RootFilePath>>,
    /// Top-level folders of all paths.
    folders: HashSet<String>,
}

impl FilesByName {
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let files = paths.map(|path| (file_name(path).to_owned(), Vec::new())).collect();
        Self { files, folders: HashSet::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn add_root_files(&mut self, root: usize, records: &[FileRecord]) {
        for FileRecord { path, .. } in records {
            if let Some(files) = self.files.get_mut(file_name(path)) {
                files.push((root, path.clone()));
            }
            if let Some((folder, _)) = path.split_once('/')
                && !self.folders.contains(folder)
            {
                self.folders.insert(folder.to_owned());
            }
        }
    }

    /// Resolves the path of a citation that matches no file which the model has read.
    pub(super) fn resolve_citation(
        &self,
        citation: &Citation,
        asked: &PathCandidates,
        order: &LookupOrder,
        is_indexed: impl Fn(&RootFilePath) -> bool,
    ) -> PathMeaning {
        let path = citation.path.as_str();
        let same_name = self.files.get(file_name(path)).map(Vec::as_slice).unwrap_or_default();
        let found = order.find_in_order(|is_in| {
            let exact = asked.resolve_exact(|place| is_in(place.0) && is_indexed(place));
            let near = same_name.iter().filter(|place| is_in(place.0));
            exact.or_else(|| PathMeaning::from_files(asked.filter_by_suffix(path, near)))
        });
        found.unwrap_or_else(|| {
            if *asked == PathCandidates::Outside {
                return self.classify_unknown_path(citation, same_name, CitationFault::Outside);
            }
            let mut similar: Vec<String> = same_name.iter().map(|(_, path)| path.clone()).collect();
            similar.sort_unstable();
            similar.truncate(MAX_NAMED_FILES);
            self.classify_unknown_path(citation, same_name, CitationFault::NotFound { similar })
        })
    }

    /// Decides whether an unknown path is a faulty citation or no citation.
    fn classify_unknown_path(
        &self,
        citation: &Citation,
        same_name: &[RootFilePath],
        fault: CitationFault,
    ) -> PathMeaning {
        let path = citation.path.trim_start_matches("./");
        let folder = path.split_once('/').map(|(folder, _)| folder);
        let is_near = folder.is_some_and(|folder| self.folders.contains(folder))
            || folder.is_some() && !same_name.is_empty();
        match citation.certainty {
            CitationCertainty::Location => PathMeaning::Nothing(fault),
            CitationCertainty::Path if is_near => PathMeaning::Nothing(fault),
            CitationCertainty::Path | CitationCertainty::IfFound => PathMeaning::NotACitation,
        }
    }
}

/// Narrows a path with several matches to the file that is also cited elsewhere, or is in a cited
/// repository. A bare name that still matches several files is not a citation.
pub(super) fn narrow_meanings(meanings: &mut [PathMeaning], citations: &[Citation]) {
    let cited: HashSet<RootFilePath> =
        meanings.iter().filter_map(PathMeaning::as_file).cloned().collect();
    let roots: HashSet<usize> = cited.iter().map(|(root, _)| *root).collect();
    for (meaning, citation) in meanings.iter_mut().zip(citations) {
        let PathMeaning::Several(several) = &*meaning else { continue };
        let only = |is_match: &dyn Fn(&RootFilePath) -> bool| {
            let mut matches = several.iter().filter(|place| is_match(place));
            matches.next().filter(|_| matches.next().is_none()).cloned()
        };
        let known = only(&|place| cited.contains(place))
            .or_else(|| only(&|(root, _)| roots.contains(root)));
        if let Some(place) = known {
            *meaning = PathMeaning::File(place);
        } else if citation.certainty == CitationCertainty::IfFound {
            *meaning = PathMeaning::NotACitation;
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
