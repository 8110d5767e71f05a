//! Finds the indexed file that a citation means. Pure.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use codeinfo_core::{
    FileRecord, PathMap, Root, Within,
    paths::{clean, ends_with},
};

use super::{
    fault::Fault,
    parse::{Certainty, Citation},
};

/// So many files are named where a path may mean several, or another.
const MAX_NAMED: usize = 3;

/// A file of a root.
pub(super) type Place = (usize, String);

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// This file.
    File(Place),
    /// One of these.
    Several(Vec<Place>),
    Nothing(Fault),
    /// A file that is there, and that the index leaves out: it may be a secret, and is not read.
    LeftOut,
    /// It is no citation.
    Unmeant,
}

/// The roots in which files are looked for.
pub(super) struct Roots<'a> {
    pub(super) known: &'a [Root],
    /// The folder of each root as clients see it.
    shown: Vec<PathBuf>,
    paths: &'a PathMap,
}

/// What a citation's path is, without `.`, `..` and `~`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// Below a root, or, for a relative path, below each of them.
    Below(Vec<Place>),
    /// An absolute path outside of all roots, or one that leads out.
    Outside,
}

impl Meaning {
    pub(super) fn file(&self) -> Option<&Place> {
        match self {
            Self::File(place) => Some(place),
            Self::Several(_) | Self::Nothing(_) | Self::LeftOut | Self::Unmeant => None,
        }
    }

    /// Returns what a path means that these files have; `None` if there are none.
    fn one_of(mut files: Vec<Place>) -> Option<Self> {
        let last = files.pop()?;
        if files.is_empty() {
            return Some(Self::File(last));
        }
        files.push(last);
        Some(Self::Several(files))
    }
}

/// Where the files that citations mean are looked for.
#[derive(Debug, Clone, Default)]
pub struct LookupScope {
    /// The only repository that may be meant, or the tree in which the client stands.
    pub within: Within,
    /// Absolute paths, as clients see them, of the files that the model was shown.
    pub shown: HashSet<String>,
}

/// The files and trees among which a path is looked for first, since the model was shown them.
#[derive(Debug, Default)]
pub(super) struct LookupOrder {
    shown: HashSet<Place>,
    shown_roots: HashSet<usize>,
    /// The tree in which the client stands.
    tree: Option<usize>,
}

impl LookupOrder {
    pub(super) fn new(scope: &LookupScope, roots: &Roots<'_>) -> Self {
        let asked: Vec<Asked> = scope.shown.iter().map(|path| roots.asked(path)).collect();
        let shown: HashSet<Place> = asked.iter().flat_map(Asked::places).cloned().collect();
        let shown_roots = shown.iter().map(|(root, _)| *root).collect();
        let is_tree = |root: &Root| scope.within == Within::Tree(root.id);
        Self { shown, shown_roots, tree: roots.known.iter().position(is_tree) }
    }

    /// Returns what a path means among the files that the model was shown, or by its whole length in
    /// their trees.
    pub(super) fn find_shown(
        &self,
        path: &str,
        asked: &Asked,
        is_indexed: impl Fn(&Place) -> bool,
    ) -> Option<Meaning> {
        let exact = asked.exact(|place| self.shown.contains(place));
        let found = exact.or_else(|| Meaning::one_of(asked.ending(path, self.shown.iter())));
        let in_trees =
            || asked.exact(|place| self.shown_roots.contains(&place.0) && is_indexed(place));
        found.or_else(in_trees).filter(|meaning| meaning.file().is_some())
    }

    /// Returns what is found in the trees that the model was shown, else in that of the client, else
    /// anywhere: one file if one of these has only that.
    fn find(&self, look: impl Fn(&dyn Fn(usize) -> bool) -> Option<Meaning>) -> Option<Meaning> {
        let is_shown = |root| self.shown_roots.contains(&root);
        let is_tree = |root| self.tree == Some(root);
        let found = [look(&is_shown), look(&is_tree), look(&|_| true)];
        let mut found: Vec<Meaning> = found.into_iter().flatten().collect();
        let one = found.iter().position(|meaning| meaning.file().is_some());
        (!found.is_empty()).then(|| found.swap_remove(one.unwrap_or_default()))
    }
}

impl Asked {
    pub(super) fn places(&self) -> &[Place] {
        match self {
            Self::Below(places) => places,
            Self::Outside => &[],
        }
    }

    /// Returns what is meant if a file has the very path. A path below a root counts before one that
    /// starts with folders above it.
    pub(super) fn exact(&self, is_indexed: impl Fn(&Place) -> bool) -> Option<Meaning> {
        let whole = self.places().first().map(|(_, path)| path.clone())?;
        let found: Vec<&Place> = self.places().iter().filter(|place| is_indexed(place)).collect();
        let of_whole: Vec<&Place> =
            found.iter().copied().filter(|(_, path)| *path == whole).collect();
        let mut best = if of_whole.is_empty() { found } else { of_whole };
        best.dedup();
        Meaning::one_of(best.into_iter().cloned().collect())
    }

    /// Returns those of `places` whose path ends with this one, if it is relative.
    fn ending<'p>(&self, path: &str, places: impl Iterator<Item = &'p Place>) -> Vec<Place> {
        let end = self.places().first().filter(|_| !Path::new(path).is_absolute());
        let Some((_, end)) = end else { return Vec::new() };
        places.filter(|(_, known)| ends_with(known, end)).cloned().collect()
    }
}

impl<'a> Roots<'a> {
    pub(super) fn new(roots: &'a [Root], paths: &'a PathMap) -> Self {
        Self {
            known: roots,
            shown: roots.iter().map(|root| paths.shown(&root.path)).collect(),
            paths,
        }
    }

    /// Returns the files that are to be looked up for a path.
    pub(super) fn asked(&self, path: &str) -> Asked {
        let below_home = path.strip_prefix("~/");
        let Some(clean) = clean(Path::new(below_home.unwrap_or(path))) else {
            return Asked::Outside;
        };
        if !clean.is_absolute() {
            let Some(clean) = clean.to_str() else { return Asked::Outside };
            return Asked::Below(self.relative(clean));
        }
        let meant = self.paths.meant(&clean);
        let mut below: Vec<((bool, usize), Place)> = Vec::new();
        for (at, root) in self.known.iter().enumerate() {
            let rest = meant.strip_prefix(&root.path).or_else(|_| clean.strip_prefix(&root.path));
            if let Some(rest) = rest.ok().and_then(Path::to_str) {
                let nearness = (root.host.is_none(), root.path.as_os_str().len());
                below.push((nearness, (at, rest.to_owned())));
            }
        }
        // Of roots within one another, the inner one; of hosts, this one.
        let inner = below.into_iter().max_by_key(|(nearness, _)| *nearness);
        inner.map_or(Asked::Outside, |(_, place)| Asked::Below(vec![place]))
    }

    /// A relative path may start with the folders above its root.
    fn relative(&self, path: &str) -> Vec<Place> {
        let mut asked = Vec::new();
        for (at, shown) in self.shown.iter().enumerate() {
            asked.push((at, path.to_owned()));
            let folders: Vec<&str> = shown.iter().filter_map(|part| part.to_str()).collect();
            for (end, _) in path.match_indices('/') {
                let (above, below) = (path.get(..end), path.get(end + 1..));
                let (Some(above), Some(below)) = (above, below) else { continue };
                let above: Vec<&str> = above.split('/').collect();
                if above.len() >= folders.len() {
                    break;
                }
                if folders.ends_with(&above) || above == [self.name(at)] {
                    asked.push((at, below.to_owned()));
                }
            }
        }
        asked
    }

    /// Says which files a path may mean, each with the name of its tree where there are several.
    pub(super) fn ambiguous(&self, several: &[Place]) -> Fault {
        let roots: HashSet<usize> = several.iter().map(|(root, _)| *root).collect();
        let shown = |(root, path): &Place| match roots.len() {
            1 => path.clone(),
            _ => format!("{}/{path}", self.name(*root)),
        };
        let mut files: Vec<String> = several.iter().map(shown).collect();
        files.sort_unstable();
        files.truncate(MAX_NAMED);
        Fault::Ambiguous { files, count: several.len() }
    }

    fn name(&self, at: usize) -> &str {
        self.known.get(at).map_or("", |root| &root.name)
    }

    /// Returns a file's absolute path as clients see it.
    pub(super) fn shown(&self, (at, path): &Place) -> PathBuf {
        self.shown.get(*at).map(|root| root.join(path)).unwrap_or_default()
    }
}

/// The indexed files that have the names which citations end with.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Files by the last part of their path.
    files: HashMap<String, Vec<Place>>,
    /// The first folders of all paths.
    folders: HashSet<String>,
}

impl Named {
    /// Keeps the names to be looked for.
    pub(super) fn new<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let files = paths.map(|path| (name(path).to_owned(), Vec::new())).collect();
        Self { files, folders: HashSet::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes what is of use of the files of a root.
    pub(super) fn add(&mut self, root: usize, records: &[FileRecord]) {
        for FileRecord { path, .. } in records {
            if let Some(files) = self.files.get_mut(name(path)) {
                files.push((root, path.clone()));
            }
            if let Some((folder, _)) = path.split_once('/')
                && !self.folders.contains(folder)
            {
                self.folders.insert(folder.to_owned());
            }
        }
    }

    /// Returns what the path of a citation means that is not that of a file which the model was shown.
    pub(super) fn meaning(
        &self,
        citation: &Citation,
        asked: &Asked,
        order: &LookupOrder,
        is_indexed: impl Fn(&Place) -> bool,
    ) -> Meaning {
        let path = citation.path.as_str();
        let same_name = self.files.get(name(path)).map(Vec::as_slice).unwrap_or_default();
        let found = order.find(|is_in| {
            let exact = asked.exact(|place| is_in(place.0) && is_indexed(place));
            let near = same_name.iter().filter(|place| is_in(place.0));
            exact.or_else(|| Meaning::one_of(asked.ending(path, near)))
        });
        found.unwrap_or_else(|| {
            if *asked == Asked::Outside {
                return self.unknown(citation, same_name, Fault::Outside);
            }
            let mut similar: Vec<String> = same_name.iter().map(|(_, path)| path.clone()).collect();
            similar.sort_unstable();
            similar.truncate(MAX_NAMED);
            self.unknown(citation, same_name, Fault::NotFound { similar })
        })
    }

    /// What only looks like a path is no citation.
    fn unknown(&self, citation: &Citation, same_name: &[Place], fault: Fault) -> Meaning {
        let path = citation.path.trim_start_matches("./");
        let folder = path.split_once('/').map(|(folder, _)| folder);
        let is_near = folder.is_some_and(|folder| self.folders.contains(folder))
            || folder.is_some() && !same_name.is_empty();
        match citation.certainty {
            Certainty::Location => Meaning::Nothing(fault),
            Certainty::Path if is_near => Meaning::Nothing(fault),
            Certainty::Path | Certainty::IfFound => Meaning::Unmeant,
        }
    }
}

/// Of several files that a path may mean, takes the one that is cited elsewhere, or that is of a repository
/// which is. A name alone that is that of several files is none of them in particular.
pub(super) fn narrow(meanings: &mut [Meaning], citations: &[Citation]) {
    let cited: HashSet<Place> = meanings.iter().filter_map(Meaning::file).cloned().collect();
    let roots: HashSet<usize> = cited.iter().map(|(root, _)| *root).collect();
    for (meaning, citation) in meanings.iter_mut().zip(citations) {
        let Meaning::Several(several) = &*meaning else { continue };
        let only = |is_meant: &dyn Fn(&Place) -> bool| {
            let mut meant = several.iter().filter(|place| is_meant(place));
            meant.next().filter(|_| meant.next().is_none()).cloned()
        };
        let known = only(&|place| cited.contains(place))
            .or_else(|| only(&|(root, _)| roots.contains(root)));
        if let Some(place) = known {
            *meaning = Meaning::File(place);
        } else if citation.certainty == Certainty::IfFound {
            *meaning = Meaning::Unmeant;
        }
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
