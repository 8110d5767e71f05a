//! Folders that hold other people's packages or build outputs, by the evidence in them and beside them.

use std::path::Path;

/// Kind of a folder, as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderContents {
    /// Packages of other people, each in a folder of its own, but also adapters to them.
    Packages,
    /// Outputs of a build.
    Outputs,
}

/// Evidence that a folder holds what its name promises. In lists, `*` matches any beginning of a name.
struct FolderRule {
    name: &'static str,
    kind: FolderContents,
    /// One of these in it is enough.
    marks: &'static [&'static str],
    /// One of these has to be beside it, if there are any, ...
    beside: &'static [&'static str],
    /// ... and one of these in it.
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
    FolderRule { name, kind: FolderContents::Outputs, marks, beside, inside }
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

/// Files that package managers of JavaScript leave beside the packages that they install.
const INSTALLED: &[&str] =
    &[".bin", ".modules.yaml", ".package-lock.json", ".yarn-integrity", ".yarn-state.yml"];

/// Files and folders that only build tools leave behind.
const BUILT: &[&str] = &[
    "CMakeCache.txt",
    "asset-manifest.json",
    "bdist.linux-x86_64",
    "build.ninja",
    "intermediates",
];

/// Files that mark a folder of any name as a cache (<https://bford.info/cachedir/>) or as a Python
/// environment.
const MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files that each package has of its own.
const MANIFESTS: &[&str] = &[
    ".bower.json",
    ".cargo-checksum.json",
    "*.dist-info",
    "*.gemspec",
    "*.podspec",
    "Cargo.toml",
    "METADATA",
    "README.chromium",
    "bower.json",
    "composer.json",
    "configure.ac",
    "go.mod",
    "mix.exs",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "setup.py",
];

/// Starts of the names of licences, in lower case.
const LICENCES: &[&str] = &["license", "licence", "copying", "unlicense"];

/// Returns whether folders of this name, lower-case, hold packages of others.
pub(crate) fn is_always(name: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.name == name);
    rule.is_some_and(|rule| rule.kind == FolderContents::Packages && rule.beside.is_empty())
}

/// Returns the kind of folders of this name. Such a folder is only left out by evidence.
pub fn telling_folder(folder: &Path) -> Option<FolderContents> {
    find_rule(folder).map(|rule| rule.kind)
}

/// Returns whether what is beside a folder fits its name.
pub fn fits_beside<'a>(folder: &Path, mut beside: impl Iterator<Item = &'a str>) -> bool {
    find_rule(folder).is_some_and(|rule| {
        rule.beside.is_empty() || beside.any(|name| is_one_of(name, rule.beside))
    })
}

/// Returns whether a folder of any name holds what marks caches and environments.
pub fn is_cache(is_inside: impl Fn(&str) -> bool) -> bool {
    MARKERS.iter().any(|name| is_inside(name))
}

/// Returns whether what a folder holds marks it as what its name tells.
pub fn is_marked(folder: &Path, inside: &[&str]) -> bool {
    find_rule(folder).is_some_and(|rule| inside.iter().any(|name| is_one_of(name, rule.marks)))
}

/// Returns whether a folder holds what it would if its name tells the truth, which what it is beside has to fit.
pub fn fits_inside(folder: &Path, inside: &[&str]) -> bool {
    find_rule(folder).is_some_and(|rule| inside.iter().any(|name| is_one_of(name, rule.inside)))
}

/// Returns whether a folder below one of packages is a package: it has a manifest or a licence of its own.
pub fn is_package(inside: &[&str]) -> bool {
    let is_licence = |name: &str| {
        let name = name.to_lowercase();
        LICENCES.iter().any(|start| name.starts_with(start))
    };
    inside.iter().any(|name| is_one_of(name, MANIFESTS) || is_licence(name))
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|one| match one.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == *one,
    })
}

/// The rule for folders of this name.
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
        is_marked(folder, &[inside]) || fits
    }

    #[test]
    fn outputs_need_their_tool_beside_and_what_it_makes_inside() {
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
    fn what_only_tools_leave_marks_a_folder() {
        for (folder, mark) in
            [("vendor", "modules.txt"), ("node_modules", ".bin"), ("build", "build.ninja")]
        {
            assert!(fits(folder, "README.md", mark) && !fits(folder, "a", "main.c"), "{folder}");
        }
        assert!(!fits("src", "Cargo.toml", "build.ninja"));
        assert!(is_cache(|name| name == "CACHEDIR.TAG") && !is_cache(|name| name == "main.c"));
    }

    #[test]
    fn a_package_has_a_manifest_or_a_licence_of_its_own() {
        for name in ["package.json", "LICENSE.txt", "COPYING", "six.dist-info"] {
            assert!(is_package(&["main.c", name]), "{name}");
        }
        assert!(!is_package(&["adapter.py", "README.md"]));
    }
}
