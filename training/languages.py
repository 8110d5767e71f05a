"""What the harvest needs to know of each language, as data: comment marks, by file extension."""

import re

SLASH = (re.compile(r"\s*//"), re.compile(r"\s*/\*"), "*/")
HASH = (re.compile(r"\s*#(?!!|\[)"), None, None)
DASH_LUA = (re.compile(r"\s*--(?!\[\[)"), re.compile(r"\s*--\[\["), "]]")
DASH_HASKELL = (re.compile(r"\s*--"), re.compile(r"\s*\{-(?!#)"), "-}")

# Extension -> (name, line comment, start of a block comment, its end).
LANGUAGES = {
    extension: (name, *marks)
    for name, marks, extensions in [
        ("bash", HASH, "sh bash zsh"),
        ("c", SLASH, "c h"),
        ("cpp", SLASH, "cc cpp cxx hpp hh"),
        ("csharp", SLASH, "cs"),
        ("dart", SLASH, "dart"),
        ("elixir", HASH, "ex exs"),
        ("go", SLASH, "go"),
        ("haskell", DASH_HASKELL, "hs"),
        ("java", SLASH, "java"),
        ("javascript", SLASH, "js mjs cjs jsx"),
        ("kotlin", SLASH, "kt"),
        ("lua", DASH_LUA, "lua"),
        ("php", SLASH, "php"),
        ("python", HASH, "py"),
        ("ruby", HASH, "rb"),
        ("rust", SLASH, "rs"),
        ("scala", SLASH, "scala"),
        ("swift", SLASH, "swift"),
        ("typescript", SLASH, "ts mts tsx"),
        ("zig", SLASH, "zig"),
    ]
    for extension in extensions.split()
}

# Files that say little about the code of their repository, or were not written by hand.
LEFT_OUT = re.compile(
    r"(^|/)(tests?|testing|testdata|__tests__|specs?|bench(es|marks?)?|examples?|fixtures?|e2e|vendor(ed)?|"
    r"_vendor|third[_-]?party|external|extern|node_modules|deps|dist|build|gen(erated)?|samples?|demos?|"
    r"playground|docs?|i18n|locales?)(/|$)|"
    r"([_-](test|spec)s?|Tests?|Spec|\.(test|spec|min|pb|g|generated|d)|_pb2|_generated)\.\w+$|"
    r"(^|/)(test_[^/]*|tests?|conftest)\.\w+$",
    re.IGNORECASE,
)

KEYWORDS = (
    r"def|class|fn|func|fun|function|struct|enum|union|trait|impl|interface|type|typealias|module|namespace|"
    r"object|data|newtype|instance|protocol|extension|record|mixin|macro_rules!|macro|defmodule|defp|defmacro|"
    r"defmacrop|defprotocol|defimpl|actor|package object|sub|const|let|var|val"
)
DEFINITION = re.compile(rf"^\s*(?:[\w@.\[\]<>()\"]+\s+){{0,6}}?(?:{KEYWORDS})\s+(?:\([^)]*\)\s*)?([\w.:!?]+)")
CONTAINER = re.compile(
    r"^\s*(?:[\w@]+\s+){0,5}?(?:class|struct|enum|trait|impl(?:<[^>]*>)?|interface|module|namespace|object|"
    r"protocol|extension|defmodule|record|actor|mixin)\s+(?:[\w:<>', ]+\s+for\s+)?([\w.:]+)"
)
CALLABLE = re.compile(r"([A-Za-z_~][\w:.~]*)\s*(?:<[^<>]*>)?\s*\(")
SIGNATURE = re.compile(r"^\s*([a-z_]\w*'*)\s*::")
