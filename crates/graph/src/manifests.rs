//! Finds the modules that names of packages lead to, by `package.json` and `tsconfig.json`.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};

const MAX_MANIFEST_BYTES: usize = 1 << 20;
/// Maximum packages, and maximum path mappings, of a graph.
const MAX_ENTRIES: usize = 10_000;
/// Maximum files that an entry may name.
const MAX_TARGETS: usize = 32;
/// Maximum depth of conditions in `exports`.
const MAX_DEPTH: usize = 8;
/// Members of `package.json` that name the file of a package without `exports`.
const MAIN_MEMBERS: [&str; 5] = ["source", "types", "typings", "module", "main"];
/// Folders of sources, which compiled files are named after.
const SOURCE_FOLDERS: [&str; 3] = ["src", "lib", ""];

/// Names by which modules of the repository are imported.
#[derive(Default)]
pub(crate) struct ImportNames {
    packages: Vec<NamedPackage>,
    mappings: Vec<PathMapping>,
}

struct NamedPackage {
    name: String,
    folder: String,
    /// Files by their names in imports, which begin with `.` and may have a `*`.
    exports: Vec<(String, Vec<String>)>,
}

/// An entry of `paths`, or `baseUrl` as the pattern `*`.
struct PathMapping {
    /// Folder whose files import by the pattern.
    scope: String,
    pattern: String,
    targets: Vec<String>,
}

/// Returns true for the path of a file that [`crate::resolve::SymbolGraph::with_manifests`] reads.
pub fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".json").unwrap_or_default();
    let is_config = ["tsconfig", "jsconfig"].iter().any(|config| stem.starts_with(config));
    (is_config || stem == "package") && !path.contains("node_modules/")
}

impl ImportNames {
    /// Reads manifests, given by path and text; those that cannot be parsed are skipped.
    pub(crate) fn new(manifests: &[(String, String)]) -> Self {
        let mut names = Self::default();
        for (path, text) in manifests {
            if text.len() > MAX_MANIFEST_BYTES || !is_manifest(path) {
                continue;
            }
            let Ok(manifest) = parse_to_serde_value::<Value>(text, &ParseOptions::default()) else {
                continue;
            };
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            if name == "package.json" {
                names.add_package(folder, &manifest);
            } else {
                names.add_mappings(folder, &manifest);
            }
        }
        // Folders inside a package may have manifests of the same name.
        names.packages.sort_by_key(|package| package.folder.len());
        // The nearest configuration counts, and in it the longest pattern.
        names
            .mappings
            .sort_by_key(|mapping| std::cmp::Reverse((mapping.scope.len(), mapping.pattern.len())));
        names
    }

    fn add_package(&mut self, folder: &str, manifest: &Value) {
        let Some(name) = manifest.get("name").and_then(Value::as_str) else { return };
        if self.packages.len() >= MAX_ENTRIES {
            return;
        }
        let mut exports = Vec::new();
        match manifest.get("exports") {
            Some(Value::Object(entries)) if entries.keys().all(|key| key.starts_with('.')) => {
                let first_entries = entries.iter().take(MAX_ENTRIES);
                exports.extend(first_entries.map(|(key, value)| (key.clone(), list_files(value))));
            }
            Some(value) => exports.push((".".to_owned(), list_files(value))),
            None => {}
        }
        let mains = MAIN_MEMBERS.iter().filter_map(|member| manifest.get(*member)?.as_str());
        exports.push((".".to_owned(), mains.map(str::to_owned).collect()));
        let (name, folder) = (name.to_owned(), folder.to_owned());
        self.packages.push(NamedPackage { name, folder, exports });
    }

    fn add_mappings(&mut self, folder: &str, manifest: &Value) {
        let Some(options) = manifest.get("compilerOptions") else { return };
        let base_url = options.get("baseUrl").and_then(Value::as_str);
        let base = join_paths(folder, base_url.unwrap_or_default());
        let no_paths = Map::new();
        let paths = options.get("paths").and_then(Value::as_object).unwrap_or(&no_paths);
        let listed = paths.iter().map(|(pattern, value)| (pattern.as_str(), list_files(value)));
        let from_base = base_url.map(|_| ("*", vec!["*".to_owned()]));
        for (pattern, files) in listed.chain(from_base) {
            if self.mappings.len() < MAX_ENTRIES {
                let targets = files.iter().map(|target| join_paths(&base, target)).collect();
                let (scope, pattern) = (folder.to_owned(), pattern.to_owned());
                self.mappings.push(PathMapping { scope, pattern, targets });
            }
        }
    }

    /// Returns the paths at which the module may be that a file imports by a name, best first.
    pub(crate) fn list_candidates(&self, importer: &str, module: &str) -> Vec<String> {
        let mut candidates = Vec::new();
        for mapping in self.mappings.iter().filter(|mapping| is_below(importer, &mapping.scope)) {
            if let Some(matched) = match_pattern(&mapping.pattern, module) {
                candidates
                    .extend(mapping.targets.iter().map(|target| fill_pattern(target, matched)));
            }
        }
        for package in &self.packages {
            let inner = module.strip_prefix(package.name.as_str());
            if let Some(inner) = inner.filter(|inner| inner.is_empty() || inner.starts_with('/')) {
                package.add_candidates(inner, &mut candidates);
            }
        }
        candidates
    }
}

impl NamedPackage {
    /// Adds the paths at which the module `inner` of the package may be: blank, or after a slash.
    fn add_candidates(&self, inner: &str, candidates: &mut Vec<String>) {
        let wanted = format!(".{inner}");
        for (pattern, files) in &self.exports {
            if let Some(matched) = match_pattern(pattern, &wanted) {
                for file in files {
                    self.add_sources(&fill_pattern(file, matched), candidates);
                }
            }
        }
        for folder in SOURCE_FOLDERS {
            candidates.push(join_paths(&self.folder, &format!("{folder}{inner}")));
        }
    }

    /// Adds a file and the sources that it may be compiled from: `dist/esm/a.js` from `src/a`.
    fn add_sources(&self, file: &str, candidates: &mut Vec<String>) {
        candidates.push(join_paths(&self.folder, file));
        let mut rest = file.trim_start_matches("./");
        while let Some((_, inner)) = rest.split_once('/') {
            rest = inner;
            for folder in SOURCE_FOLDERS {
                candidates.push(join_paths(&self.folder, &format!("{folder}/{rest}")));
            }
        }
    }
}

/// Returns the strings in a value, those of `types` first.
fn list_files(value: &Value) -> Vec<String> {
    let mut files = Vec::new();
    collect_files(value, MAX_DEPTH, &mut files);
    files.sort_by_key(|file| !file.contains(".d."));
    files
}

fn collect_files(value: &Value, depth: usize, files: &mut Vec<String>) {
    match value {
        Value::String(file) if files.len() < MAX_TARGETS => files.push(file.clone()),
        Value::Array(values) if depth > 0 => {
            for value in values {
                collect_files(value, depth - 1, files);
            }
        }
        Value::Object(members) if depth > 0 => {
            for value in members.values() {
                collect_files(value, depth - 1, files);
            }
        }
        _ => {}
    }
}

/// Returns the part of a name that the `*` of a pattern is for; blank if it has none and fits.
fn match_pattern<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    match pattern.split_once('*') {
        Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after),
        None => (pattern == name).then_some(""),
    }
}

fn fill_pattern(pattern: &str, matched: &str) -> String {
    pattern.replacen('*', matched, 1)
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Joins a folder with a relative path; parts that leave the repository are dropped.
fn join_paths(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
