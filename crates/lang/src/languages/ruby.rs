//! Ruby and Crystal.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        GrammarRules, ParserId, container_node, definition_node, lead_node, scope_node,
        transparent_node,
    },
};

pub(super) const ALL: &[&Language] = &[&CRYSTAL, &RUBY];
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
