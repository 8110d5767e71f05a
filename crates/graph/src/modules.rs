//! Finds the file that an import names.

use std::collections::{HashMap, HashSet};

use codeinfo_facts::find_module_system;
use codeinfo_lang::detect;

use crate::manifests::ImportNames;

/// Index of a file in a graph.
pub type FileIndex = u32;

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

/// Unit of all files of C, which a linker joins.
pub(crate) const C_UNIT: &str = "C";

pub(crate) const CSHARP_UNIT: &str = "C#";

pub(crate) const PHP_UNIT: &str = "language php";

pub(crate) const RUBY_UNIT: &str = "language ruby";

/// Unit of all scripts of the shell, also of files without an ending that no language claims.
pub(crate) const BASH_UNIT: &str = "language bash";

const CRATE_ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

/// Folders in which each file of Rust is the root of a crate.
const CRATE_FOLDERS: [&str; 4] = ["bin", "tests", "examples", "benches"];

/// Ends of files that are found by the end of their path.
const END_SUFFIXES: [&str; 16] = [
    ".java", ".h", ".c", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".def", ".cc", ".cpp", ".ipp",
    ".rb", ".sh", ".bash", ".bats",
];

/// Headers of C and of POSIX, which repositories also have files of the name of.
const SYSTEM_HEADERS: &str = "assert complex ctype dirent dlfcn endian errno fcntl fenv float getopt \
     glob inttypes limits locale math netdb poll pthread regex sched setjmp signal stdarg stdbool \
     stddef stdint stdio stdlib string time unistd wchar wctype";

/// Maximum files with the same end of their path that are compared.
const MAX_PATH_ENDS: usize = 256;

/// Ends of compiled scripts, whose names lead to their sources.
const COMPILED_SUFFIXES: [&str; 7] = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".jsx"];

/// Files by the names that imports use.
pub(crate) struct ModuleIndex {
    by_path: HashMap<String, FileIndex>,
    by_dotted_name: HashMap<String, FileIndex>,
    /// Dotted names of Python's packages without a file of their own.
    packages: HashSet<String>,
    import_names: ImportNames,
    /// Files that their compiler joins without imports, by the name of the unit.
    units: HashMap<String, Vec<FileIndex>>,
    /// Paths and files by the last part of the path, for languages that import by ends of paths.
    by_file_name: HashMap<String, Vec<(String, FileIndex)>>,
    /// Manifests and root files of the crates of Rust.
    crates: Vec<(FileIndex, FileIndex)>,
    /// Folders and manifests of the modules of Go, innermost first.
    go_modules: Vec<(String, FileIndex)>,
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
            units: HashMap::new(),
            by_file_name: HashMap::new(),
            crates: Vec::new(),
            go_modules: Vec::new(),
        };
        for (file, path) in paths {
            if let Some(unit) = index.find_unit(path) {
                index.units.entry(unit).or_default().push(file);
            }
            let name = path.rsplit('/').next().unwrap_or(path);
            if END_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
                let same_name = index.by_file_name.entry(name.to_owned()).or_default();
                same_name.push((path.to_owned(), file));
            }
            if let Some(folder) = path.strip_suffix("Cargo.toml") {
                let roots = ["src/lib.rs", "lib.rs"].map(|name| format!("{folder}{name}"));
                let root = roots.iter().find_map(|root| index.find_path(root));
                index.crates.extend(root.map(|root| (file, root)));
            }
            if let Some(folder) = strip_file_name(path, "go.mod") {
                index.go_modules.push((folder.to_owned(), file));
            }
            if let Some(stem) = path.strip_suffix(".py").or_else(|| path.strip_suffix(".pyi")) {
                let module = stem.strip_suffix("/__init__").unwrap_or(stem);
                index.add_python_module(file, module, &package_folders);
            }
        }
        index.go_modules.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        index
    }

    /// Returns the files whose path ends with `end`, those most like the importer's folder first.
    pub(crate) fn list_path_ends(&self, importer: &str, end: &str) -> Vec<FileIndex> {
        let name = end.rsplit('/').next().unwrap_or(end);
        let same_name = self.by_file_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let is_end = |path: &str| {
            path.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'))
        };
        let mut files: Vec<&(String, FileIndex)> =
            same_name.iter().filter(|(path, _)| is_end(path)).take(MAX_PATH_ENDS).collect();
        let count_same = |path: &str| {
            path.bytes().zip(importer.bytes()).take_while(|(one, other)| one == other).count()
        };
        files.sort_by_key(|(path, _)| std::cmp::Reverse(count_same(path)));
        files.into_iter().map(|(_, file)| *file).collect()
    }

    pub(crate) fn find_unit(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "go" => Some(folder.to_owned()),
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "inl" | "ipp" => {
                Some(C_UNIT.to_owned())
            }
            "cs" => Some(CSHARP_UNIT.to_owned()),
            "rs" => Some(format!("crate {}", self.find_crate_folder(path).unwrap_or(path))),
            ending => {
                let known = detect::detect_by_path(path);
                if ending.is_empty() && known.is_none() {
                    return Some(BASH_UNIT.to_owned());
                }
                // Files of other languages are only read once an import leads to them.
                let language = known?;
                find_module_system(language).filter(|system| system.joins_files())?;
                Some(format!("language {}", language.name))
            }
        }
    }

    pub(crate) fn has_unit(&self, unit: &str) -> bool {
        self.units.contains_key(unit)
    }

    pub(crate) fn list_unit_files(&self, unit: &str) -> &[FileIndex] {
        self.units.get(unit).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn list_crates(&self) -> &[(FileIndex, FileIndex)] {
        &self.crates
    }

    /// Returns the folder of the root file of the crate of a file; `None` if the file is the root.
    fn find_crate_folder<'path>(&self, path: &'path str) -> Option<&'path str> {
        let mut folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let last = folder.rsplit('/').next().unwrap_or_default();
        if CRATE_FOLDERS.contains(&last) {
            let root = format!("{folder}/{last}.rs");
            return (path != root && self.by_path.contains_key(&root)).then_some(folder);
        }
        loop {
            let separator = if folder.is_empty() { "" } else { "/" };
            let mut roots = CRATE_ROOTS.iter().map(|name| format!("{folder}{separator}{name}"));
            if roots.any(|root| self.by_path.contains_key(&root)) {
                return Some(folder);
            }
            folder = folder
                .rsplit_once('/')
                .map(|(outer, _)| outer)
                .or_else(|| (!folder.is_empty()).then_some(""))?;
        }
    }

    pub(crate) fn find_rust_crate(&self, path: &str) -> Option<FileIndex> {
        let is_root = CRATE_ROOTS.contains(&path.rsplit('/').next().unwrap_or_default());
        match self.find_crate_folder(path).filter(|_| !is_root) {
            Some(folder) => {
                let last = folder.rsplit('/').next().unwrap_or_default();
                let own_root = format!("{last}.rs");
                self.find_in_folder(folder, &[CRATE_ROOTS[0], CRATE_ROOTS[1], &own_root])
            }
            None => self.find_path(path),
        }
    }

    fn find_in_folder(&self, folder: &str, names: &[&str]) -> Option<FileIndex> {
        let separator = if folder.is_empty() { "" } else { "/" };
        names.iter().find_map(|name| self.find_path(&format!("{folder}{separator}{name}")))
    }

    /// Finds the file that a file of C includes, beside it or by the end of its path. A name
    /// between angle brackets and without a folder is searched for in folders named `include` only.
    pub(crate) fn find_include(&self, importer: &str, path: &str) -> ImportedModule {
        let (name, is_system) = match path.strip_prefix('<') {
            Some(name) => (name.trim_end_matches('>'), true),
            None => (path, false),
        };
        let relative = join_path(importer, &format!("./{name}"));
        let beside = relative.filter(|_| !is_system).and_then(|path| self.find_path(&path));
        let mut end = name;
        while let Some(inner) = end.strip_prefix("../").or_else(|| end.strip_prefix("./")) {
            end = inner;
        }
        let found = beside.or_else(|| {
            let in_folder = format!("include/{end}");
            let is_short = is_system && !end.contains('/');
            let files = self.list_path_ends(importer, if is_short { &in_folder } else { end });
            // A name alone may be that of a library, unless one file of the repository has it.
            let only = || match self.list_path_ends(importer, end).as_slice() {
                [file] if is_short && !is_system_header(end) => Some(*file),
                _ => None,
            };
            files.first().copied().or_else(only)
        });
        found.map_or(ImportedModule::Outside, ImportedModule::File)
    }

    /// Finds the file of `mod name;` in a file.
    pub(crate) fn find_rust_child(&self, path: &str, name: &str) -> ImportedModule {
        let paths = [format!("{name}.rs"), format!("{name}/mod.rs")];
        let names = paths.each_ref().map(String::as_str);
        let (folder, file_name) = path.rsplit_once('/').unwrap_or(("", path));
        let own = path.strip_suffix(".rs").unwrap_or(path);
        let is_folder = file_name == "mod.rs" || CRATE_ROOTS.contains(&file_name);
        let own = if is_folder { folder } else { own };
        // The file of a test or example is a root, whose modules lie beside it.
        let found =
            self.find_in_folder(own, &names).or_else(|| self.find_in_folder(folder, &names));
        found.map_or(ImportedModule::Outside, ImportedModule::File)
    }

    pub(crate) fn find_rust_parent(&self, path: &str) -> Option<FileIndex> {
        let (mut folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name == "mod.rs" {
            folder = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
        let inside = self.find_in_folder(folder, &["mod.rs", "lib.rs", "main.rs"]);
        inside.or_else(|| self.find_path(&format!("{folder}.rs")))
    }

    pub(crate) fn list_go_modules(&self) -> &[(String, FileIndex)] {
        &self.go_modules
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

    pub(crate) fn add_import_names(&mut self, import_names: ImportNames) {
        self.import_names = import_names;
    }

    pub(crate) fn find_path(&self, path: &str) -> Option<FileIndex> {
        self.by_path.get(path).copied()
    }

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

fn is_system_header(name: &str) -> bool {
    SYSTEM_HEADERS.split(' ').any(|stem| name.strip_suffix(".h") == Some(stem))
}

/// Returns the folder of a file with a name, without the last slash.
fn strip_file_name<'path>(path: &'path str, name: &str) -> Option<&'path str> {
    let folder = path.strip_suffix(name)?;
    if folder.is_empty() { Some(folder) } else { folder.strip_suffix('/') }
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
