//! Which language a file is written in, by name, extension, first line and, for C headers, content.

/// Returns the lower-case language name of a file, or `None` for text of no known language.
pub fn language(path: &str, text: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = by_name(name).or_else(|| by_extension(name)).or_else(|| by_first_line(text));
    match known {
        Some("c") if name.ends_with(['h', 'H']) && looks_like_cpp(text) => Some("cpp"),
        known => known,
    }
}

/// Whether lines of the language are prose, where long lines are ordinary.
pub(super) fn is_prose(language: Option<&str>) -> bool {
    matches!(language, Some("markdown" | "text" | "restructuredtext" | "asciidoc" | "latex"))
}

fn lookup(
    table: &'static [(&'static str, &'static [&'static str])],
    key: &str,
) -> Option<&'static str> {
    table.iter().find(|(_, keys)| keys.contains(&key)).map(|(language, _)| *language)
}

fn by_name(name: &str) -> Option<&'static str> {
    if name.starts_with("Dockerfile.") || name.starts_with("Containerfile.") {
        return Some("dockerfile");
    }
    lookup(NAMES, name)
}

fn by_extension(name: &str) -> Option<&'static str> {
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    lookup(EXTENSIONS, extension.to_ascii_lowercase().as_str())
}

fn by_first_line(text: &str) -> Option<&'static str> {
    let mut words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let program = match program {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        program => program,
    };
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    lookup(INTERPRETERS, program)
}

/// A header is C++ when it uses words that C does not have.
fn looks_like_cpp(text: &str) -> bool {
    const STARTS: &[&str] =
        &["class ", "namespace ", "template <", "template<", "using ", "public:", "private:"];
    text.lines().map(str::trim_start).any(|line| {
        STARTS.iter().any(|start| line.starts_with(start))
            || (!line.starts_with("//") && !line.starts_with('*') && line.contains("std::"))
    })
}

const NAMES: &[(&str, &[&str])] = &[
    ("bash", &["PKGBUILD", "APKBUILD"]),
    ("cmake", &["CMakeLists.txt"]),
    ("dockerfile", &["Dockerfile", "Containerfile"]),
    ("go-module", &["go.mod", "go.work"]),
    ("groovy", &["Jenkinsfile"]),
    ("just", &["justfile", "Justfile"]),
    ("makefile", &["Makefile", "makefile", "GNUmakefile"]),
    ("python", &["SConstruct", "SConscript"]),
    (
        "ruby",
        &["Gemfile", "Rakefile", "Vagrantfile", "Podfile", "Brewfile", "Fastfile", "Guardfile"],
    ),
    ("starlark", &["BUILD", "WORKSPACE", "BUILD.bazel", "WORKSPACE.bazel", "MODULE.bazel"]),
    ("text", &["README", "LICENSE", "NOTICE", "CHANGELOG", "AUTHORS", "COPYING"]),
];

const INTERPRETERS: &[(&str, &[&str])] = &[
    ("bash", &["sh", "bash", "zsh", "ksh", "dash", "ash"]),
    ("javascript", &["node", "nodejs", "bun"]),
    ("typescript", &["ts-node", "tsx", "deno"]),
    ("python", &["python", "pypy", "uv"]),
    ("ruby", &["ruby", "jruby"]),
    ("php", &["php"]),
    ("perl", &["perl"]),
    ("lua", &["lua", "luajit"]),
    ("awk", &["awk", "gawk"]),
    ("fish", &["fish"]),
    ("rust", &["rust-script"]),
];

const EXTENSIONS: &[(&str, &[&str])] = &[
    ("ada", &["adb", "ads"]),
    ("asciidoc", &["adoc", "asciidoc"]),
    ("assembly", &["s", "asm"]),
    ("astro", &["astro"]),
    ("awk", &["awk"]),
    ("bash", &["sh", "bash", "zsh", "ksh", "bats"]),
    ("batch", &["bat", "cmd"]),
    ("c", &["c", "h"]),
    ("clojure", &["clj", "cljs", "cljc", "edn"]),
    ("cmake", &["cmake"]),
    ("cobol", &["cob", "cbl"]),
    ("cpp", &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "inl"]),
    ("crystal", &["cr"]),
    ("csharp", &["cs", "csx"]),
    ("css", &["css"]),
    ("cuda", &["cu", "cuh"]),
    ("d", &["d"]),
    ("dart", &["dart"]),
    ("diff", &["diff", "patch"]),
    ("dockerfile", &["dockerfile"]),
    ("elixir", &["ex", "exs", "heex", "eex"]),
    ("elm", &["elm"]),
    ("erlang", &["erl", "hrl"]),
    ("fish", &["fish"]),
    ("fortran", &["f", "f77", "f90", "f95", "f03", "for"]),
    ("fsharp", &["fs", "fsi", "fsx"]),
    ("glsl", &["glsl", "vert", "frag", "comp", "geom"]),
    ("go", &["go"]),
    ("graphql", &["graphql", "gql"]),
    ("groovy", &["groovy", "gradle", "gvy"]),
    ("handlebars", &["hbs", "handlebars", "mustache"]),
    ("haskell", &["hs", "lhs", "hsc"]),
    ("hlsl", &["hlsl", "fx"]),
    ("html", &["html", "htm", "xhtml", "jinja", "jinja2", "j2", "njk", "erb", "ejs"]),
    ("ini", &["ini", "cfg", "conf", "properties", "editorconfig"]),
    ("java", &["java"]),
    ("javascript", &["js", "jsx", "mjs", "cjs", "es6"]),
    ("json", &["json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest"]),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("latex", &["tex", "sty", "cls", "bib"]),
    ("less", &["less"]),
    ("lisp", &["lisp", "lsp", "cl", "el"]),
    ("lua", &["lua"]),
    ("makefile", &["mk", "mak"]),
    ("markdown", &["md", "markdown", "mdx", "mkd"]),
    ("matlab", &["mlx"]),
    ("meson", &["meson"]),
    ("nim", &["nim", "nims"]),
    ("nix", &["nix"]),
    ("objective-c", &["m", "mm"]),
    ("ocaml", &["ml", "mli", "mll", "mly"]),
    ("odin", &["odin"]),
    ("pascal", &["pas", "pp", "dpr"]),
    ("perl", &["pl", "pm", "t"]),
    ("php", &["php", "phtml", "php5", "php7"]),
    ("powershell", &["ps1", "psm1", "psd1"]),
    ("prisma", &["prisma"]),
    ("prolog", &["pro"]),
    ("protobuf", &["proto"]),
    ("puppet", &["epp"]),
    ("purescript", &["purs"]),
    ("python", &["py", "pyi", "pyx", "pxd", "pyw"]),
    ("r", &["r", "rmd"]),
    ("racket", &["rkt"]),
    ("restructuredtext", &["rst"]),
    ("ruby", &["rb", "rake", "gemspec", "ru", "podspec"]),
    ("rust", &["rs"]),
    ("sass", &["sass", "scss"]),
    ("scala", &["scala", "sc", "sbt"]),
    ("scheme", &["scm", "ss"]),
    ("solidity", &["sol"]),
    ("sql", &["sql", "psql", "plsql"]),
    ("starlark", &["bzl", "star", "bazel"]),
    ("svelte", &["svelte"]),
    ("swift", &["swift"]),
    ("tcl", &["tcl"]),
    ("terraform", &["tf", "hcl"]),
    ("text", &["txt", "text"]),
    ("thrift", &["thrift"]),
    ("toml", &["toml"]),
    ("tsx", &["tsx"]),
    ("typescript", &["ts", "mts", "cts"]),
    ("verilog", &["v", "vh", "sv", "svh"]),
    ("vhdl", &["vhd", "vhdl"]),
    ("vim", &["vim"]),
    ("visual-basic", &["vb", "bas"]),
    ("vue", &["vue"]),
    ("wgsl", &["wgsl"]),
    ("xml", &["xml", "xsd", "xsl", "xslt", "csproj", "vbproj", "fsproj", "props", "targets"]),
    ("yaml", &["yaml", "yml"]),
    ("zig", &["zig", "zon"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_extensions_and_first_lines_tell_the_language() {
        assert_eq!(language("src/main.rs", ""), Some("rust"));
        assert_eq!(language("a/B.TSX", ""), Some("tsx"));
        assert_eq!(language("CMakeLists.txt", ""), Some("cmake"));
        assert_eq!(language("Dockerfile.dev", ""), Some("dockerfile"));
        assert_eq!(language("bin/run", "#!/usr/bin/env -S python3.12 -u\n"), Some("python"));
        assert_eq!(language("bin/run", "#!/bin/sh -e\n"), Some("bash"));
        assert_eq!(language("bin/run", "plain"), None);
        assert_eq!(language(".profile", ""), None);
    }

    #[test]
    fn headers_are_cpp_when_they_use_its_words() {
        assert_eq!(language("a.h", "int f(void);\n"), Some("c"));
        assert_eq!(language("a.h", "namespace a {\nint f();\n}\n"), Some("cpp"));
        assert_eq!(language("a.h", "// not std::string\nint f(void);\n"), Some("c"));
    }
}
