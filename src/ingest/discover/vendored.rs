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

/// Whether a folder below the root is left out. Looks at the folder and beside it.
pub(super) fn is_vendored(folder: &Path) -> bool {
    let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let name = name.to_lowercase();
    let beside = |file: &&str| folder.parent().is_some_and(|parent| is_there(parent, file));
    let inside = |file: &&str| is_there(folder, file);
    let is_ruled = RULES.iter().filter(|rule| rule.name == name).any(|rule| {
        let needs_no_proof = rule.beside.is_empty() && rule.inside.is_empty();
        needs_no_proof || rule.beside.iter().any(beside) || rule.inside.iter().any(inside)
    });
    is_ruled || MARKERS.iter().any(inside)
}

/// What cannot be looked at proves nothing; the walk itself reports folders that cannot be read.
fn is_there(folder: &Path, name: &str) -> bool {
    folder.join(name).try_exists().unwrap_or(false)
}
