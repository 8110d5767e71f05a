//! Languages of scripts, shells, statistics and editors.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, GrammarRules, LexicalSyntax, ParserId, container_node, definition_node,
        label_node, lead_node, scope_node, transparent_node, wrapper_node,
    },
    layout::{DefinitionStyle, END_WORDS, LayoutRules, definition_keyword, self_named_definition},
};

pub(super) const ALL: &[&Language] = &[
    &AWK, &BASH, &BATCH, &CRYSTAL, &FISH, &JULIA, &LUA, &MATLAB, &PERL, &PHP, &POWERSHELL, &PROLOG,
    &PYTHON, &R, &RUBY, &STARLARK, &TCL, &VIM,
];

pub static JULIA: Language = Language {
    name: "julia",
    extensions: &["jl"],
    comments: CommentSyntax { line: &["#"], block: &[("#=", "=#"), ("\"\"\"", "\"\"\"")] },
    ..Language::PLAIN
};

pub static LUA: Language = Language {
    name: "lua",
    extensions: &["lua"],
    asked_extensions: &["lua"],
    shebangs: &["lua", "luajit"],
    comments: CommentSyntax { line: &["--"], block: &[("--[[", "]]")] },
    reader: StructureReader::Layout(&LayoutRules {
        spans: &[("[[", "]]"), ("[==[", "]==]")],
        continues: END_WORDS,
        modifiers: &["local"],
        words: &[definition_keyword("function")],
        shows: DefinitionStyle::Assigned,
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static MATLAB: Language = Language {
    name: "matlab",
    extensions: &["mlx"],
    comments: CommentSyntax { line: &["%"], block: &[] },
    ..Language::PLAIN
};

pub static PERL: Language = Language {
    name: "perl",
    extensions: &["pl", "pm", "t"],
    shebangs: &["perl"],
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&LayoutRules {
        separator: "::",
        attributes: &["=head", "=cut"],
        continues: &["else", "elsif"],
        words: &[
            definition_keyword("sub"),
            self_named_definition("BEGIN"),
            self_named_definition("END"),
        ],
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static PROLOG: Language = Language {
    name: "prolog",
    extensions: &["pro"],
    comments: CommentSyntax { line: &["%"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static R: Language = Language {
    name: "r",
    extensions: &["r", "rmd"],
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&LayoutRules {
        continues: &["else"],
        shows: DefinitionStyle::Assigned,
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static TCL: Language = Language {
    name: "tcl",
    extensions: &["tcl"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static VIM: Language = Language {
    name: "vim",
    extensions: &["vim"],
    comments: CommentSyntax { line: &["\"", "#"], block: &[] },
    ..Language::PLAIN
};

pub static PHP: Language = Language {
    name: "php",
    extensions: &["php", "phtml", "php5", "php7"],
    asked_extensions: &["php"],
    shebangs: &["php"],
    comments: CommentSyntax { line: &["//", "#"], block: &[("/*", "*/")] },
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Php,
        separator: "::",
        rules: &[
            lead_node("comment"),
            lead_node("attribute_list"),
            container_node("class_declaration"),
            container_node("interface_declaration"),
            container_node("trait_declaration"),
            container_node("enum_declaration"),
            definition_node("function_definition"),
            definition_node("method_declaration"),
            transparent_node("namespace_definition"),
        ],
        unread: &[],
        heritage: &["base_clause", "class_interface_clause"],
        bodies: Some(BodySyntax::Braces {
            lexis: LexicalSyntax::Php,
            containers: &["class", "enum", "interface", "namespace", "trait", "try"],
        }),
    }),
    test_paths: &["test.php"],
    ..Language::PLAIN
};

/// Documentation of code: a string on its own line.
const PYTHON_COMMENTS: CommentSyntax =
    CommentSyntax { line: &["#"], block: &[("\"\"\"", "\"\"\""), ("'''", "'''")] };

pub static PYTHON: Language = Language {
    name: "python",
    extensions: &["py", "pyi", "pyx", "pxd", "pyw"],
    asked_extensions: &["py"],
    file_names: &["SConstruct", "SConscript"],
    shebangs: &["python", "pypy", "uv"],
    comments: PYTHON_COMMENTS,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Python,
        separator: ".",
        rules: &[
            lead_node("comment"),
            lead_node("decorator"),
            definition_node("function_definition"),
            container_node("class_definition"),
            wrapper_node("decorated_definition"),
            label_node("assignment", "left"),
        ],
        unread: &[],
        heritage: &["argument_list"],
        bodies: Some(BodySyntax::Indentation),
    }),
    generated: &["_pb2.py", "_pb2.pyi", "_pb2_grpc.py"],
    declarations: &[".pyi"],
    test_starts: &["test_"],
    ..Language::PLAIN
};

pub static STARLARK: Language = Language {
    name: "starlark",
    extensions: &["bzl", "star", "bazel"],
    file_names: &["BUILD", "WORKSPACE", "BUILD.bazel", "WORKSPACE.bazel", "MODULE.bazel"],
    comments: PYTHON_COMMENTS,
    ..Language::PLAIN
};

pub static CRYSTAL: Language = Language {
    name: "crystal",
    extensions: &["cr"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static RUBY: Language = Language {
    name: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru", "podspec"],
    asked_extensions: &["rb"],
    file_names: &[
        "Gemfile", "Rakefile", "Vagrantfile", "Podfile", "Brewfile", "Fastfile", "Guardfile",
    ],
    shebangs: &["ruby", "jruby"],
    comments: CommentSyntax { line: &["#"], block: &[("=begin", "=end")] },
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Ruby,
        separator: "::",
        rules: &[
            lead_node("comment"),
            container_node("class"),
            definition_node("method"),
            definition_node("singleton_method"),
            scope_node("module"),
            transparent_node("singleton_class"),
        ],
        unread: &[],
        heritage: &["superclass"],
        bodies: None,
    }),
    generated: &["_pb.rb"],
    test_starts: &["test_"],
    ..Language::PLAIN
};

pub static AWK: Language = Language {
    name: "awk",
    extensions: &["awk"],
    shebangs: &["awk", "gawk"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static BASH: Language = Language {
    name: "bash",
    extensions: &["sh", "bash", "zsh", "ksh", "bats"],
    asked_extensions: &["sh", "bash"],
    file_names: &["PKGBUILD", "APKBUILD"],
    shebangs: &["sh", "bash", "zsh", "ksh", "dash", "ash"],
    kind: LanguageKind::Script,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Bash,
        separator: ".",
        rules: &[lead_node("comment"), definition_node("function_definition")],
        unread: &[],
        heritage: &[],
        bodies: None,
    }),
    ..Language::PLAIN
};

pub static BATCH: Language = Language {
    name: "batch",
    extensions: &["bat", "cmd"],
    kind: LanguageKind::Script,
    comments: CommentSyntax { line: &["::", "rem ", "REM ", "@rem ", "@REM "], block: &[] },
    ..Language::PLAIN
};

pub static FISH: Language = Language {
    name: "fish",
    extensions: &["fish"],
    shebangs: &["fish"],
    kind: LanguageKind::Script,
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static POWERSHELL: Language = Language {
    name: "powershell",
    extensions: &["ps1", "psm1", "psd1"],
    kind: LanguageKind::Script,
    comments: CommentSyntax { line: &["#"], block: &[("<#", "#>")] },
    ..Language::PLAIN
};
