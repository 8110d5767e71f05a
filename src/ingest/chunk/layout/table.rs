//! What the layout reader needs to know of each language, as data.

use super::{super::grammar::Role, Layout, Naming, Style, Word};

const fn definition(text: &'static str) -> Word {
    Word { text, role: Role::Definition, naming: Naming::Next }
}

const fn container(text: &'static str) -> Word {
    Word { text, role: Role::Container, naming: Naming::Next }
}

const fn value(text: &'static str) -> Word {
    Word { text, role: Role::Value, naming: Naming::Next }
}

/// A definition that has no other name than its word.
const fn itself(text: &'static str) -> Word {
    Word { text, role: Role::Definition, naming: Naming::Itself }
}

/// A container named by the rest of its line.
const fn whole(text: &'static str) -> Word {
    Word { text, role: Role::Container, naming: Naming::Rest }
}

/// Returns the layout of a language by its lower-case name.
pub(super) fn of(language: &str) -> Option<&'static Layout> {
    Some(match language {
        "kotlin" => &KOTLIN,
        "swift" => &SWIFT,
        "scala" => &SCALA,
        "dart" => &DART,
        "zig" => &ZIG,
        "lua" => &LUA,
        "elixir" => &ELIXIR,
        "haskell" | "purescript" | "elm" => &HASKELL,
        "erlang" => &ERLANG,
        "css" | "less" | "sass" => &CSS,
        "json" => &JSON,
        "yaml" => &YAML,
        "makefile" | "just" => &MAKEFILE,
        "terraform" => &TERRAFORM,
        "clojure" | "lisp" | "scheme" | "racket" => &LISP,
        "html" | "xml" | "svelte" | "vue" | "astro" | "handlebars" => &MARKUP,
        "r" => &R,
        "perl" => &PERL,
        "groovy" => &GROOVY,
        _ => return None,
    })
}

const SLASHES: &[&str] = &["//", "/*", "*/", "@"];
const SLASH_SPANS: &[(&str, &str)] = &[("/*", "*/")];
const LONG_STRINGS: &[(&str, &str)] = &[("/*", "*/"), ("\"\"\"", "\"\"\"")];
const BRACE_WORDS: &[&str] = &["else", "catch", "finally", "while"];
const END_WORDS: &[&str] =
    &["end", "else", "elseif", "elsif", "elif", "rescue", "ensure", "after", "catch", "until"];

/// Languages of no other table, and text of none: what definitions start with in many of them.
pub(super) const ANY: Layout = Layout {
    separator: ".",
    leads: &["//", "/*", "*/", "# ", "--", ";;", "%%", "@", "#["],
    spans: SLASH_SPANS,
    continues: &["end", "else", "elseif", "elsif", "elif", "catch", "finally", "endif"],
    modifiers: &[
        "abstract",
        "async",
        "const",
        "data",
        "default",
        "export",
        "extend",
        "extern",
        "final",
        "inline",
        "internal",
        "local",
        "open",
        "override",
        "private",
        "protected",
        "pub",
        "public",
        "sealed",
        "static",
        "type",
        "virtual",
        "mutable",
        "recursive",
        "pure",
        "elemental",
    ],
    words: &[
        container("class"),
        container("interface"),
        container("struct"),
        container("enum"),
        container("union"),
        container("trait"),
        container("contract"),
        container("library"),
        container("message"),
        container("service"),
        container("model"),
        container("entity"),
        container("architecture"),
        container("package"),
        container("module"),
        container("input"),
        container("fragment"),
        definition("function"),
        definition("func"),
        definition("def"),
        definition("fn"),
        definition("proc"),
        definition("macro"),
        definition("method"),
        definition("subroutine"),
        definition("task"),
        definition("rpc"),
        definition("sub"),
        value("let"),
        value("type"),
    ],
    shows: Style::Words,
};

const KOTLIN: Layout = Layout {
    separator: ".",
    leads: SLASHES,
    spans: LONG_STRINGS,
    continues: BRACE_WORDS,
    modifiers: &[
        "public",
        "private",
        "protected",
        "internal",
        "open",
        "abstract",
        "final",
        "override",
        "suspend",
        "inline",
        "operator",
        "infix",
        "tailrec",
        "external",
        "data",
        "enum",
        "sealed",
        "annotation",
        "inner",
        "value",
        "lateinit",
        "const",
        "expect",
        "actual",
        "crossinline",
    ],
    words: &[
        definition("fun"),
        container("class"),
        container("interface"),
        container("object"),
        Word { text: "companion", role: Role::Container, naming: Naming::Itself },
        itself("constructor"),
        itself("init"),
        value("val"),
        value("var"),
        value("typealias"),
    ],
    shows: Style::Words,
};

const SWIFT: Layout = Layout {
    separator: ".",
    leads: &["//", "/*", "*/", "@", "#if", "#else", "#elseif", "#endif"],
    spans: LONG_STRINGS,
    continues: BRACE_WORDS,
    modifiers: &[
        "public",
        "private",
        "fileprivate",
        "internal",
        "open",
        "package",
        "final",
        "override",
        "static",
        "mutating",
        "nonmutating",
        "indirect",
        "lazy",
        "weak",
        "unowned",
        "required",
        "convenience",
        "dynamic",
        "prefix",
        "postfix",
        "infix",
        "async",
        "nonisolated",
        "isolated",
        "distributed",
    ],
    words: &[
        definition("func"),
        container("class"),
        container("struct"),
        container("enum"),
        container("protocol"),
        container("actor"),
        container("extension"),
        itself("init"),
        itself("deinit"),
        itself("subscript"),
        value("var"),
        value("let"),
        value("typealias"),
        definition("macro"),
    ],
    shows: Style::Words,
};

const SCALA: Layout = Layout {
    separator: ".",
    leads: SLASHES,
    spans: LONG_STRINGS,
    continues: &["else", "catch", "finally", "end", "yield"],
    modifiers: &[
        "private",
        "protected",
        "override",
        "final",
        "sealed",
        "abstract",
        "implicit",
        "lazy",
        "case",
        "inline",
        "transparent",
        "open",
        "opaque",
        "infix",
    ],
    words: &[
        definition("def"),
        container("class"),
        container("trait"),
        container("object"),
        container("enum"),
        container("given"),
        value("val"),
        value("var"),
        value("type"),
    ],
    shows: Style::Words,
};

const DART: Layout = Layout {
    separator: ".",
    leads: SLASHES,
    spans: &[("/*", "*/"), ("\"\"\"", "\"\"\""), ("'''", "'''")],
    continues: BRACE_WORDS,
    modifiers: &[
        "abstract",
        "base",
        "sealed",
        "final",
        "static",
        "external",
        "covariant",
        "late",
        "const",
        "interface",
    ],
    words: &[
        container("class"),
        container("mixin"),
        container("enum"),
        container("extension"),
        value("typedef"),
        definition("get"),
        definition("set"),
        definition("factory"),
    ],
    shows: Style::Calls,
};

const GROOVY: Layout = Layout {
    separator: ".",
    leads: SLASHES,
    spans: LONG_STRINGS,
    continues: BRACE_WORDS,
    modifiers: &["public", "private", "protected", "abstract", "final", "static", "synchronized"],
    words: &[
        container("class"),
        container("interface"),
        container("trait"),
        container("enum"),
        definition("def"),
        definition("task"),
    ],
    shows: Style::Calls,
};

const ZIG: Layout = Layout {
    separator: ".",
    leads: &["//"],
    spans: &[],
    continues: &["else", "catch"],
    modifiers: &["pub", "export", "extern", "inline", "noinline", "threadlocal", "comptime"],
    words: &[
        definition("fn"),
        value("const"),
        value("var"),
        definition("test"),
        itself("usingnamespace"),
    ],
    shows: Style::Words,
};

const LUA: Layout = Layout {
    separator: ".",
    leads: &["--"],
    spans: &[("--[[", "]]"), ("[[", "]]"), ("[==[", "]==]")],
    continues: END_WORDS,
    modifiers: &["local"],
    words: &[definition("function")],
    shows: Style::Assigned,
};

const R: Layout = Layout {
    separator: ".",
    leads: &["#"],
    spans: &[],
    continues: &["else"],
    modifiers: &[],
    words: &[],
    shows: Style::Assigned,
};

const PERL: Layout = Layout {
    separator: "::",
    leads: &["#", "=head", "=cut"],
    spans: &[],
    continues: &["else", "elsif"],
    modifiers: &[],
    words: &[definition("sub"), itself("BEGIN"), itself("END")],
    shows: Style::Words,
};

const ELIXIR: Layout = Layout {
    separator: ".",
    leads: &["#", "@doc", "@spec", "@impl", "@typedoc", "@deprecated", "@tag", "@since"],
    spans: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
    continues: END_WORDS,
    modifiers: &[],
    words: &[
        Word { text: "defmodule", role: Role::Container, naming: Naming::Next },
        container("defprotocol"),
        whole("defimpl"),
        definition("def"),
        definition("defp"),
        definition("defmacro"),
        definition("defmacrop"),
        definition("defguard"),
        definition("defdelegate"),
        itself("defstruct"),
        itself("defexception"),
        container("describe"),
        definition("test"),
    ],
    shows: Style::Words,
};

const HASKELL: Layout = Layout {
    separator: ".",
    leads: &["--", "{-", "#if", "#else", "#endif"],
    spans: &[("{-", "-}")],
    continues: &["then", "else"],
    modifiers: &[],
    words: &[
        container("data"),
        container("newtype"),
        container("type"),
        whole("class"),
        whole("instance"),
        whole("deriving"),
    ],
    shows: Style::Equations,
};

const ERLANG: Layout = Layout {
    separator: ".",
    leads: &["%", "-spec", "-doc"],
    spans: &[("\"\"\"", "\"\"\"")],
    continues: &["end", "after", "catch", "of"],
    modifiers: &[],
    words: &[],
    shows: Style::Equations,
};

const CSS: Layout = Layout {
    separator: " / ",
    leads: &["/*", "*/", "//"],
    spans: SLASH_SPANS,
    continues: &[],
    modifiers: &[],
    words: &[],
    shows: Style::Selectors,
};

const JSON: Layout = Layout {
    separator: ".",
    leads: &["//"],
    spans: &[],
    continues: &[],
    modifiers: &[],
    words: &[],
    shows: Style::Keys,
};

const YAML: Layout = Layout { leads: &["#"], ..JSON };

const MAKEFILE: Layout = Layout {
    separator: ".",
    leads: &["#", ".PHONY"],
    spans: &[],
    continues: &["else", "endif"],
    modifiers: &[],
    words: &[definition("define")],
    shows: Style::Targets,
};

const TERRAFORM: Layout = Layout {
    separator: ".",
    leads: &["#", "//", "/*", "*/"],
    spans: SLASH_SPANS,
    continues: &[],
    modifiers: &[],
    words: &[
        container("resource"),
        container("data"),
        container("module"),
        container("variable"),
        container("output"),
        container("provider"),
        Word { text: "locals", role: Role::Container, naming: Naming::Itself },
        Word { text: "terraform", role: Role::Container, naming: Naming::Itself },
        container("job"),
        container("group"),
        container("source"),
        container("target"),
    ],
    shows: Style::Words,
};

const LISP: Layout = Layout {
    separator: ".",
    leads: &[";"],
    spans: &[("#|", "|#")],
    continues: &[],
    modifiers: &[],
    words: &[],
    shows: Style::Lists,
};

const MARKUP: Layout = Layout {
    separator: ".",
    leads: &["<!--"],
    spans: &[("<!--", "-->")],
    continues: &[],
    modifiers: &[],
    words: &[],
    shows: Style::Words,
};
