//! Detects folders with third-party packages or build outputs, by evidence inside and beside.

use std::path::Path;

/// Expected contents of a folder, judged by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderContents {
    /// Third-party packages, each in its own folder; folders of adapters may have the same name.
    Packages,
    Outputs,
}

/// Evidence that a folder contains what its name implies; `*` matches any start of a name.
struct FolderRule {
    name: &'static str,
    kind: FolderContents,
    /// Entries of which one in the folder is sufficient evidence.
    marks: &'static [&'static str],
    /// Entries of which one must be beside the folder, if there are any, ...
    beside: &'static [&'static str],
    inside: &'static [&'static str],
}

const fn packages_rule(
    name: &'static str,
    marks: &'static [&'static str],
    beside: &'static [&'static str],
    inside: &'static [&'static str],
) -> FolderRule {
    FolderRule { name, kind: FolderContents::Packages, marks, beside, inside }
}

const fn outputs_rule(
    name: &'static str,
    marks: &'static [&'static str],
    beside: &'static [&'static str],
    inside: &'static [&'static str],
) -> FolderRule {
    FolderRule { kind: FolderContents::Outputs, ..packages_rule(name, marks, beside, inside) }
}

const RULES: &[FolderRule] = &[
    packages_rule("3rdparty", &[], &[], &[]),
    packages_rule("bower_components", &[], &[], &[]),
    packages_rule("carthage", &["Checkouts"], &[], &[]),
    packages_rule("deps", &[], &["mix.exs"], ANY),
    packages_rule("jspm_packages", &[], &[], &[]),
    packages_rule("node_modules", INSTALLED, &[], &[]),
    packages_rule("pods", &["Manifest.lock"], &[], &[]),
    packages_rule("site-packages", &["*.dist-info", "*.egg-info"], &[], &[]),
    packages_rule("third-party", &[], &[], &[]),
    packages_rule("third_party", &[], &[], &[]),
    packages_rule("thirdparty", &[], &[], &[]),
    packages_rule(
        "vendor",
        &["modules.txt", "autoload.php"],
        &["Gemfile", "composer.json"],
        &["bundle", "composer"],
    ),
    outputs_rule("__pycache__", &[], &[], ANY),
    outputs_rule(
        "_build",
        &["CMakeCache.txt"],
        &["mix.exs", "dune-project", "rebar.config", "conf.py"],
        &["dev", "prod", "test", "default", "log", "install", "html", "doctrees"],
    ),
    outputs_rule("bin", &[], DOTNET, &["Debug", "Release"]),
    outputs_rule(
        "build",
        BUILT,
        &["build.gradle", "build.gradle.kts", "setup.py", "pyproject.toml", "package.json"],
        &["classes", "libs", "tmp", "intermediates", "reports", "kotlin", "lib", "static"],
    ),
    outputs_rule("coverage", &["lcov.info", "lcov-report", "coverage-final.json"], &[], &[]),
    outputs_rule("deriveddata", &[], &[], ANY),
    outputs_rule(
        "dist",
        BUILT,
        &["package.json"],
        &[
            "*.js", "*.mjs", "*.cjs", "*.css", "*.map", "*.d.ts", "*.html", "*.tgz", "assets",
            "cjs", "es", "esm", "lib", "types", "umd",
        ],
    ),
    outputs_rule(
        "dist-newstyle",
        &[],
        &["cabal.project", "*.cabal"],
        &["cache", "packagedb", "build"],
    ),
    outputs_rule("elm-stuff", &[], &[], ANY),
    outputs_rule("htmlcov", &["index.html"], &[], &[]),
    outputs_rule("obj", &["project.assets.json"], DOTNET, &["Debug", "Release"]),
    outputs_rule(
        "out",
        BUILT,
        &["build.gradle", "foundry.toml", "package.json"],
        &["production", "_next", "*.sol", "*.html"],
    ),
    outputs_rule(
        "target",
        &[".rustc_info.json"],
        &["Cargo.toml", "pom.xml", "build.sbt", "project.clj"],
        &["debug", "release", "doc", "package", "classes", "test-classes", "streams", "*.jar"],
    ),
];

const ANY: &[&str] = &["*"];
const DOTNET: &[&str] = &["*.csproj", "*.fsproj", "*.vbproj"];

/// Files that JavaScript package managers create beside installed packages.
const INSTALLED: &[&str] =
    &[".bin", ".modules.yaml", ".package-lock.json", ".yarn-integrity", ".yarn-state.yml"];

/// Files and folders that only build tools create.
const BUILT: &[&str] = &[
    "CMakeCache.txt", "asset-manifest.json", "bdist.linux-x86_64", "build.ninja", "intermediates",
];

/// Files that mark any folder as a cache (<https://bford.info/cachedir/>) or Python environment.
const MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files that every package contains.
const MANIFESTS: &[&str] = &[
    ".bower.json", ".cargo-checksum.json", "*.dist-info", "*.gemspec", "*.podspec", "Cargo.toml",
    "METADATA", "README.chromium", "bower.json", "composer.json", "configure.ac", "go.mod",
    "mix.exs", "package.json", "pom.xml", "pyproject.toml", "setup.py",
];

const LICENCES: &[&str] = &["license", "licence", "copying", "unlicense"];

/// Returns whether folders of this lower-case name are third-party packages without evidence.
pub(crate) fn is_always_packages(name: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.name == name);
    rule.is_some_and(|rule| rule.kind == FolderContents::Packages && rule.beside.is_empty())
}

/// Returns a folder's expected contents by its name, which further evidence must confirm.
pub fn expected_contents(folder: &Path) -> Option<FolderContents> {
    find_rule(folder).map(|rule| rule.kind)
}

/// Returns whether the entries beside a folder fit its name.
pub fn fits_beside<'a>(folder: &Path, mut beside: impl Iterator<Item = &'a str>) -> bool {
    find_rule(folder).is_some_and(|rule| {
        rule.beside.is_empty() || beside.any(|name| is_one_of(name, rule.beside))
    })
}

/// Returns whether a folder contains a marker of a cache or an environment.
pub fn has_cache_marker(is_inside: impl Fn(&str) -> bool) -> bool {
    MARKERS.iter().any(|name| is_inside(name))
}

/// Returns whether the entries of a folder are sufficient evidence for its name.
pub fn has_marker(folder: &Path, inside: &[&str]) -> bool {
    find_rule(folder).is_some_and(|rule| inside.iter().any(|name| is_one_of(name, rule.marks)))
}

/// Returns whether the entries of a folder fit its name. The entries beside it must fit as well.
pub fn fits_inside(folder: &Path, inside: &[&str]) -> bool {
    find_rule(folder).is_some_and(|rule| inside.iter().any(|name| is_one_of(name, rule.inside)))
}

/// Returns whether a folder in a folder of packages is one: it has its own manifest or licence.
pub fn is_package(inside: &[&str]) -> bool {
    let is_licence = |name: &str| {
        let lower = name.to_lowercase();
        LICENCES.iter().any(|start| lower.starts_with(start))
    };
    inside.iter().any(|name| is_one_of(name, MANIFESTS) || is_licence(name))
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|pattern| match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == *pattern,
    })
}

fn find_rule(folder: &Path) -> Option<&'static FolderRule> {
    let name = folder.file_name().and_then(|name| name.to_str())?.to_lowercase();
    RULES.iter().find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(folder: &str, beside: &str, inside: &str) -> bool {
        let folder = Path::new(folder);
        let fits = fits_beside(folder, [beside].into_iter()) && fits_inside(folder, &[inside]);
        has_marker(folder, &[inside]) || fits
    }

    #[test]
    fn output_folders_need_evidence_beside_and_inside() {
        for (folder, beside, inside) in [
            ("target", "Cargo.toml", "debug"),
            ("dist", "package.json", "index.js"),
            ("tools/bin", "Tool.csproj", "Release"),
            ("deps", "mix.exs", "jason"),
        ] {
            assert!(fits(folder, beside, inside), "{folder}");
            assert!(!fits(folder, "README.md", inside), "{folder}");
        }
        assert!(!fits("dist", "package.json", "regions.py"));
        assert!(fits("__pycache__", "a.py", "a.pyc"));
    }

    #[test]
    fn files_that_only_tools_create_mark_a_folder() {
        for (folder, mark) in
            [("vendor", "modules.txt"), ("node_modules", ".bin"), ("build", "build.ninja")]
        {
            assert!(fits(folder, "README.md", mark) && !fits(folder, "a", "main.c"), "{folder}");
        }
        assert!(!fits("src", "Cargo.toml", "build.ninja"));
        assert!(
            has_cache_marker(|name| name == "CACHEDIR.TAG")
                && !has_cache_marker(|name| name == "main.c")
        );
    }

    #[test]
    fn a_package_has_a_manifest_or_a_licence_of_its_own() {
        for name in ["package.json", "LICENSE.txt", "COPYING", "six.dist-info"] {
            assert!(is_package(&["main.c", name]), "{name}");
        }
        assert!(!is_package(&["adapter.py", "README.md"]));
    }
}
