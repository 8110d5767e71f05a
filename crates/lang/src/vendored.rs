//! Folders that hold other people's code or build outputs.

use std::path::Path;

/// A folder name and what proves that such a folder is vendored or built. Without any proof to ask
/// for, the name alone is enough.
struct Rule {
    name: &'static str,
    /// One of these stands beside the folder.
    beside: &'static [&'static str],
    /// One of these stands inside it.
    inside: &'static [&'static str],
}

impl Rule {
    fn needs_no_proof(&self) -> bool {
        self.beside.is_empty() && self.inside.is_empty()
    }
}

const fn always(name: &'static str) -> Rule {
    Rule { name, beside: &[], inside: &[] }
}

const fn proved(
    name: &'static str,
    beside: &'static [&'static str],
    inside: &'static [&'static str],
) -> Rule {
    Rule { name, beside, inside }
}

const RULES: &[Rule] = &[
    always("__pycache__"),
    always("3rdparty"),
    always("bower_components"),
    always("deriveddata"),
    always("elm-stuff"),
    always("jspm_packages"),
    always("node_modules"),
    always("site-packages"),
    always("third-party"),
    always("third_party"),
    always("thirdparty"),
    proved("_build", &["mix.exs", "dune-project", "rebar.config"], &["CMakeCache.txt"]),
    proved("bin", &[], &["Debug", "Release", "pyvenv.cfg"]),
    proved("build", &["build.gradle", "build.gradle.kts"], BUILT),
    proved("carthage", &["Cartfile"], &[]),
    proved("coverage", &[], &["lcov.info", "lcov-report", "coverage-final.json"]),
    proved("deps", &["mix.exs"], &[]),
    proved("dist", &["package.json", "pyproject.toml", "setup.py"], BUILT),
    proved("dist-newstyle", &["cabal.project"], &["cache"]),
    proved("htmlcov", &[], &["index.html"]),
    proved("obj", &[], &["project.assets.json", "Debug", "Release"]),
    proved("out", &["build.gradle", "foundry.toml"], BUILT),
    proved("pods", &["Podfile"], &["Manifest.lock"]),
    proved("target", &["Cargo.toml", "pom.xml", "build.sbt", "project.clj"], &[".rustc_info.json"]),
    proved("vendor", MANIFESTS, &["modules.txt", "autoload.php", "bundle", "composer"]),
];

/// What only build tools leave behind.
const BUILT: &[&str] = &[
    "CMakeCache.txt",
    "asset-manifest.json",
    "bdist.linux-x86_64",
    "build.ninja",
    "classes",
    "intermediates",
];

/// A folder called `vendor` beside one of these belongs to a package manager. Elsewhere it may be
/// the part of a shop that deals with vendors.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "Gemfile",
    "composer.json",
    "go.mod",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "Makefile",
    "CMakeLists.txt",
    "dep.lock",
    "glide.yaml",
];

/// Files that mark a folder of any name as a cache (<https://bford.info/cachedir/>) or as a Python
/// environment.
const MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// Whether folders of this name, lower-case, are vendored whatever they hold.
pub(crate) fn is_always(name: &str) -> bool {
    RULES.iter().any(|rule| rule.name == name && rule.needs_no_proof())
}

/// Whether a folder is left out for its name, or for what stands beside it.
pub fn is_proved(folder: &Path, is_beside: impl Fn(&str) -> bool) -> bool {
    rules(folder)
        .any(|rule| rule.needs_no_proof() || rule.beside.iter().any(|name| is_beside(name)))
}

/// Whether a folder is left out for what stands inside it.
pub fn is_marked(folder: &Path, is_inside: impl Fn(&str) -> bool) -> bool {
    MARKERS.iter().any(|name| is_inside(name))
        || rules(folder).any(|rule| rule.inside.iter().any(|name| is_inside(name)))
}

/// The rules for folders of this name.
fn rules(folder: &Path) -> impl Iterator<Item = &'static Rule> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
    RULES.iter().filter(move |rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_folders_need_a_proof_and_others_none() {
        let is_beside =
            |folder: &str, known: &str| is_proved(Path::new(folder), |name| name == known);
        for folder in ["a/node_modules", "Third_Party", "__pycache__"] {
            assert!(is_beside(folder, ""), "{folder}");
        }
        for (folder, proof) in
            [("target", "Cargo.toml"), ("vendor", "go.mod"), ("dist", "setup.py")]
        {
            assert!(!is_beside(folder, "") && is_beside(folder, proof), "{folder}");
        }
        assert!(!is_beside("src", "Cargo.toml"));
    }

    #[test]
    fn what_only_tools_leave_marks_a_folder() {
        let is_inside =
            |folder: &str, known: &str| is_marked(Path::new(folder), |name| name == known);
        for (folder, mark) in
            [("any", "CACHEDIR.TAG"), ("venv", "pyvenv.cfg"), ("build", "build.ninja")]
        {
            assert!(is_inside(folder, mark) && !is_inside(folder, "main.c"), "{folder}");
        }
        assert!(!is_inside("src", "build.ninja"));
    }
}
