//! Finds the file that an import names.

use std::collections::{HashMap, HashSet};

/// Index of a file in a graph.
pub(crate) type FileIndex = u32;

/// What an import leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImportedModule {
    File(FileIndex),
    /// A folder without a file of its own, by its path.
    Folder(String),
    Outside,
}

/// File suffixes of scripts, in the order in which they are tried.
const SCRIPT_SUFFIXES: [&str; 13] = [
    "",
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    "/index.ts",
    "/index.tsx",
    "/index.js",
];

/// Files by what imports call them.
pub(crate) struct ModuleIndex {
    by_path: HashMap<String, FileIndex>,
    /// Modules of Python by their dotted names.
    by_dots: HashMap<String, FileIndex>,
    /// Packages of Python without a file of their own.
    packages: HashSet<String>,
}

impl ModuleIndex {
    pub(crate) fn new<'a>(paths: impl Iterator<Item = (FileIndex, &'a str)> + Clone) -> Self {
        let by_path: HashMap<String, FileIndex> =
            paths.clone().map(|(file, path)| (path.to_owned(), file)).collect();
        let folders: HashSet<&str> = paths
            .clone()
            .filter_map(|(_, path)| path.strip_suffix("__init__.py"))
            .map(|folder| folder.trim_end_matches('/'))
            .collect();
        let mut by_dots = HashMap::new();
        let mut packages = HashSet::new();
        for (file, path) in paths {
            let Some(stem) = path.strip_suffix(".py").or_else(|| path.strip_suffix(".pyi")) else {
                continue;
            };
            let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
            let mut start = stem.rfind('/').map_or(0, |at| at + 1);
            while start > 0 && folders.contains(stem.get(..start - 1).unwrap_or_default()) {
                start =
                    stem.get(..start - 1).and_then(|head| head.rfind('/')).map_or(0, |at| at + 1);
            }
            let dotted = stem.get(start..).unwrap_or_default().replace('/', ".");
            by_dots.entry(dotted).or_insert(file);
            // Packages without `__init__.py` are named from the repository's root or from `src`.
            let rest = stem.strip_prefix("src/").unwrap_or(stem);
            by_dots.entry(rest.replace('/', ".")).or_insert(file);
            let mut around = rest;
            while let Some((folder, _)) = around.rsplit_once('/') {
                packages.insert(folder.replace('/', "."));
                around = folder;
            }
        }
        Self { by_path, by_dots, packages }
    }

    /// Finds a module that a file of Python imports.
    pub(crate) fn find_python(&self, from: &str, module: &str) -> ImportedModule {
        let names = module.trim_start_matches('.');
        let ups = module.len() - names.len();
        if ups == 0 {
            return self.find_dotted(names);
        }
        let mut folder = from;
        for _ in 0..ups {
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
        let mut path = folder.to_owned();
        for name in names.split('.').filter(|name| !name.is_empty()) {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
        }
        self.find_python_path(&path)
    }

    fn find_python_path(&self, path: &str) -> ImportedModule {
        let tries = [".py", "/__init__.py", ".pyi", "/__init__.pyi"];
        let found = tries.iter().find_map(|suffix| self.by_path.get(&format!("{path}{suffix}")));
        match found {
            Some(file) => ImportedModule::File(*file),
            None => ImportedModule::Folder(path.to_owned()),
        }
    }

    fn find_dotted(&self, dotted: &str) -> ImportedModule {
        match self.by_dots.get(dotted) {
            Some(file) => ImportedModule::File(*file),
            None if self.packages.contains(dotted) => {
                ImportedModule::Folder(dotted.replace('.', "/"))
            }
            None => ImportedModule::Outside,
        }
    }

    /// Finds a module inside a package.
    pub(crate) fn find_submodule(&self, package: &str, name: &str) -> Option<FileIndex> {
        let folder =
            package.strip_suffix("/__init__.py").or_else(|| package.strip_suffix("/__init__.pyi"));
        let folder = folder.or_else(|| (!package.ends_with(".py")).then_some(package))?;
        match self.find_python_path(&format!("{folder}/{name}")) {
            ImportedModule::File(file) => Some(file),
            _ => None,
        }
    }

    /// Finds a module that a script imports.
    pub(crate) fn find_script(&self, from: &str, module: &str) -> ImportedModule {
        if !module.starts_with('.') {
            return ImportedModule::Outside;
        }
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in module.split('/') {
            match part {
                "." | "" => {}
                ".." => {
                    if parts.pop().is_none() {
                        return ImportedModule::Outside;
                    }
                }
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        // A compiled name stands for its source.
        let source =
            [".js", ".mjs", ".cjs", ".jsx"].iter().find_map(|suffix| path.strip_suffix(suffix));
        let stems = [source, Some(path.as_str())];
        for stem in stems.into_iter().flatten() {
            for suffix in SCRIPT_SUFFIXES {
                let joined = if stem.is_empty() {
                    suffix.trim_start_matches('/').to_owned()
                } else {
                    format!("{stem}{suffix}")
                };
                if let Some(file) = self.by_path.get(&joined) {
                    return ImportedModule::File(*file);
                }
            }
        }
        ImportedModule::Outside
    }
}
