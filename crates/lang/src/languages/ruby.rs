//! Ruby and Crystal.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{Grammar, Parser, container, definition, lead, scope, transparent},
};

pub(super) const ALL: &[&Language] = &[&CRYSTAL, &RUBY];
pub static CRYSTAL: Language =
    Language { name: "crystal", extensions: &["cr"], comments: Comments::HASH, ..Language::PLAIN };

pub static RUBY: Language = Language {
    name: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru", "podspec"],
    asked_extensions: &["rb"],
    file_names: &[
        "Gemfile",
        "Rakefile",
        "Vagrantfile",
        "Podfile",
        "Brewfile",
        "Fastfile",
        "Guardfile",
    ],
    shebangs: &["ruby", "jruby"],
    comments: Comments { line: &["#"], block: &[("=begin", "=end")] },
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Ruby,
        separator: "::",
        rules: &[
            lead("comment"),
            container("class"),
            definition("method"),
            definition("singleton_method"),
            scope("module"),
            transparent("singleton_class"),
        ],
        unread: &[],
        heritage: &["superclass"],
        bodies: None,
    }),
    generated: &["_pb.rb"],
    test_starts: &["test_"],
    ..Language::PLAIN
};
