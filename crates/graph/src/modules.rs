//! Finds the file that an import names.

use std::collections::{HashMap, HashSet};

use crate::manifests::ImportNames;

/// Index of a file in a graph.
pub type FileIndex = u32;

/// Target of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImportedModule {
    File(FileIndex),
    /// A package without a file of its own, by its path.
    Folder(String),
    Outside,
}

/// Ends of files of Python's modules and packages, in the order in which they are tried.
const PYTHON_SUFFIXES: [&str; 4] = [".py", "/__init__.py", ".pyi", "/__init__.pyi"];

/// Ends of files of scripts, in the order in which they are tried.
const SCRIPT_SUFFIXES: [&str; 13] = [
    "", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", "/index.ts",
    "/index.tsx", "/index.js",
];

/// Ends of compiled scripts, whose names lead to their sources.
const COMPILED_SUFFIXES: [&str; 7] = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".jsx"];

/// Files by the names that imports use.
pub(crate) struct ModuleIndex {
    by_path: HashMap<String, FileIndex>,
    /// Modules of Python by their dotted names.
    by_dotted_name: HashMap<String, FileIndex>,
    /// Dotted names of Python's packages without a file of their own.
    packages: HashSet<String>,
    import_names: ImportNames,
}

impl ModuleIndex {
    pub(crate) fn new<'a>(paths: impl Iterator<Item = (FileIndex, &'a str)> + Clone) -> Self {
        let by_path = paths.clone().map(|(file, path)| (path.to_owned(), file)).collect();
        let package_folders: HashSet<&str> = paths
            .clone()
            .filter_map(|(_, path)| path.strip_suffix("__init__.py"))
            .map(|folder| folder.trim_end_matches('/'))
            .collect();
        let mut index = Self {
            by_path,
            by_dotted_name: HashMap::new(),
            packages: HashSet::new(),
            import_names: ImportNames::default(),
        };
        for (file, path) in paths {
            if let Some(stem) = path.strip_suffix(".py").or_else(|| path.strip_suffix(".pyi")) {
                let module = stem.strip_suffix("/__init__").unwrap_or(stem);
                index.add_python_module(file, module, &package_folders);
            }
        }
        index
    }

    /// Adds a module, given by its path without ending, under the names that it may be imported by.
    fn add_python_module(
        &mut self,
        file: FileIndex,
        module: &str,
        package_folders: &HashSet<&str>,
    ) {
        // Below packages with `__init__.py`, names begin with the outermost one.
        let mut folder = module.rsplit_once('/').map_or("", |(folder, _)| folder);
        while !folder.is_empty() && package_folders.contains(folder) {
            folder = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
        let name = module.get(folder.len()..).unwrap_or_default().trim_start_matches('/');
        self.by_dotted_name.entry(name.replace('/', ".")).or_insert(file);
        // Other packages are named from the repository's root or from `src`.
        let mut outer = module.strip_prefix("src/").unwrap_or(module);
        self.by_dotted_name.entry(outer.replace('/', ".")).or_insert(file);
        while let Some((folder, _)) = outer.rsplit_once('/') {
            self.packages.insert(folder.replace('/', "."));
            outer = folder;
        }
    }

    /// Adds the names that manifests give to modules of scripts.
    pub(crate) fn add_import_names(&mut self, import_names: ImportNames) {
        self.import_names = import_names;
    }

    pub(crate) fn find_path(&self, path: &str) -> Option<FileIndex> {
        self.by_path.get(path).copied()
    }

    /// Finds a module that a file of Python imports.
    pub(crate) fn find_python(&self, importer: &str, module: &str) -> ImportedModule {
        let name = module.trim_start_matches('.');
        let dots = module.len() - name.len();
        if dots == 0 {
            return self.find_dotted(name);
        }
        let mut folder = importer;
        for _ in 0..dots {
            folder = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
        let mut path = folder.to_owned();
        for part in name.split('.').filter(|part| !part.is_empty()) {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(part);
        }
        match self.find_python_file(&path) {
            Some(file) => ImportedModule::File(file),
            None => ImportedModule::Folder(path),
        }
    }

    fn find_python_file(&self, path: &str) -> Option<FileIndex> {
        let mut paths = PYTHON_SUFFIXES.iter().map(|suffix| format!("{path}{suffix}"));
        paths.find_map(|path| self.by_path.get(&path).copied())
    }

    fn find_dotted(&self, name: &str) -> ImportedModule {
        match self.by_dotted_name.get(name) {
            Some(file) => ImportedModule::File(*file),
            None if self.packages.contains(name) => ImportedModule::Folder(name.replace('.', "/")),
            None => ImportedModule::Outside,
        }
    }

    /// Finds a module inside a package, by the package's folder or `__init__` file.
    pub(crate) fn find_submodule(&self, package: &str, name: &str) -> Option<FileIndex> {
        let initializers = PYTHON_SUFFIXES.iter().filter(|suffix| suffix.starts_with('/'));
        let mut folders = initializers.filter_map(|suffix| package.strip_suffix(suffix));
        let folder = match folders.next() {
            Some(folder) => folder,
            None if PYTHON_SUFFIXES.iter().any(|suffix| package.ends_with(suffix)) => return None,
            None => package,
        };
        self.find_python_file(&format!("{folder}/{name}"))
    }

    /// Finds a module that a script imports.
    pub(crate) fn find_script(&self, importer: &str, module: &str) -> ImportedModule {
        let file = if module.starts_with('.') {
            join_path(importer, module).and_then(|path| self.find_script_file(&path))
        } else {
            let candidates = self.import_names.list_candidates(importer, module);
            candidates.iter().find_map(|path| self.find_script_file(path))
        };
        file.map_or(ImportedModule::Outside, ImportedModule::File)
    }

    fn find_script_file(&self, path: &str) -> Option<FileIndex> {
        let source = COMPILED_SUFFIXES.iter().find_map(|suffix| path.strip_suffix(suffix));
        let stems = [source, Some(path)];
        let mut files = stems
            .into_iter()
            .flatten()
            .flat_map(|stem| SCRIPT_SUFFIXES.iter().map(move |suffix| format!("{stem}{suffix}")));
        files.find_map(|file| self.find_path(file.trim_start_matches('/')))
    }
}

/// Joins the folder of a file with a path relative to it; `None` if it leaves the repository.
fn join_path(importer: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
