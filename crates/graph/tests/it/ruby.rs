//! Rules of Ruby.

use super::{ResolvedFiles, check_resolved};

const MAIN: &str = r#"require_relative 'lib/tools'
module Zoo
  class Keeper < Person
    include Feeding
    include Own
    extend Finders
    prepend Zoo::Loud
    attr_reader :name, :pen
    attr_accessor :food
    LIMIT = 3
    Failure = Class.new(StandardError)
    module Own
      def inside; end
    end
    class << self
      def build(name) = new(name)
      attr_writer :mode
    end
    def self.call(pen) build(pen).call end
    def initialize(name, pen: Pen.new)
      @pen = Pen.new(name)
      super
    end
    def call(other = helper)
      helper
      helper()
      self.helper
      self.food = 1
      name.size
      @pen.open(other.open)
      pen.open
      feed
      inside
      shout
      Keeper.find
      Keeper.mode = 2
      ::Zoo::Pen.new.open
      Pen::Gate.new.swing
      self.class.build(1).helper
      build(2)
      limit = LIMIT
      helper = helper(3)
      helper.open
      [1].each { |item| item.open; helper }
      "text".open
      raise Failure, other
      Sub::Deep.run
      tidy(limit)
      send(name)
      rescue Odd => error
      error.tell
    end
    private def helper(count = 0) if count then Pen.new else Pen.new end end
    alias assist helper
    define_method(:dynamic) { helper }
    before { assist }
  end
end
class Zoo::Keeper
  def late; helper; dynamic; reopened; end
end
def tidy; end
class Zoo::Keeper; def tray=(x) end; def tray; end; end
Zoo::Keeper.call(1).open
keeper = Zoo::Keeper.new
keeper.late
keeper.pen.open
keeper.tray = keeper.tray
tidy
describe Zoo::Pen do
  let(:gate) { Zoo::Pen::Gate.new }
  def nearby; end
  it { gate.swing; nearby; unknown.open }
end
"#;

const FILES: [(&str, &str); 6] = [
    ("test/zoo.rb", "include Zoo\nGate = 1\nPen::Gate.new.swing\nOdd.new.tell\n"),
    ("main.rb", MAIN),
    (
        "lib/zoo/pen.rb",
        "module Zoo\n  class Pen\n    def open(x = nil); end\n    class Gate\n      def swing; end\n    end\n  end\n  class Odd < StandardError\n    def tell; end\n  end\n  class Keeper\n    def reopened; end\n  end\nend\n",
    ),
    (
        "lib/zoo/parts.rb",
        "class Person\n  def initialize(*); end\n  def tidy_up; end\nend\nmodule Zoo\n  module Feeding\n    def feed; hungry; end\n  end\n  module Finders\n    def find; end\n  end\n  module Loud\n    extend self\n    def shout; end\n  end\n  module Sub\n    class Deep\n      def self.run; end\n      def run; end\n    end\n  end\nend\nclass Pen\n  def open; end\nend\n",
    ),
    (
        "lib/tools.rb",
        "module Tools\n  module_function\n  def mend; end\nend\nTools.mend\nZoo::Loud.shout\nTools.hide\n",
    ),
    (
        "test/helper.rb",
        "class Vendor::Test\n  def check; end\nend\nclass KeeperTest < Vendor::Test\n  def test_it; check; end\nend\n",
    ),
];

/// Checks references of `main.rb`, each given as marked text and result.
#[track_caller]
fn check_main(expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(marked, result)| ("main.rb", *marked, *result)).collect();
    check_resolved(&FILES, &expected);
}

#[test]
fn constants_are_found_from_the_innermost_module_outwards() {
    check_main(&[
        ("< Person", "lib/zoo/parts.rb:1 Person (Import)"),
        ("include Own", "main.rb:12 Own (Import)"),
        ("include Feeding", "lib/zoo/parts.rb:6 Feeding (Import)"),
        ("pen: Pen", "lib/zoo/pen.rb:2 Pen (Import)"),
        ("      Pen::Gate", "lib/zoo/pen.rb:4 Gate (Import)"),
        ("      ::Zoo::Pen", "lib/zoo/pen.rb:2 Pen (Import)"),
        ("= LIMIT", "main.rb:10 LIMIT (Import)"),
        ("raise Failure", "main.rb:11 Failure (Import)"),
        ("Class.new(StandardError", "no reference"),
    ]);
}

#[test]
fn calls_without_a_receiver_reach_the_type_its_bases_and_no_local_variable() {
    check_main(&[
        ("(other = helper", "main.rb:53 helper (Own)"),
        ("\n      helper", "main.rb:53 helper (Own)"),
        ("self.helper", "main.rb:53 helper (Own)"),
        ("\n      feed", "lib/zoo/parts.rb:7 feed (Own)"),
        ("\n      inside", "main.rb:13 inside (Own)"),
        ("\n      shout", "lib/zoo/parts.rb:14 shout (Own)"),
        ("      helper = helper", "main.rb:53 helper (Own)"),
        ("item.open; helper", "no reference"),
        ("      super", "lib/zoo/parts.rb:2 initialize (Own)"),
        ("{ assist", "main.rb:54 assist (Own)"),
        ("late; helper", "main.rb:53 helper (Own)"),
        ("helper; dynamic", "main.rb:55 dynamic (Own)"),
        ("dynamic; reopened", "lib/zoo/pen.rb:12 reopened (Own)"),
    ]);
}

#[test]
fn types_and_their_objects_have_methods_of_their_own() {
    check_main(&[
        ("build(pen).call", "main.rb:24 call (Inferred)"),
        ("Keeper.find", "lib/zoo/parts.rb:10 find (Own)"),
        ("Keeper.mode", "main.rb:17 mode (Own)"),
        ("self.class.build", "main.rb:16 build (Own)"),
        ("build(1).helper", "main.rb:53 helper (Inferred)"),
        ("\n      build", "External"),
        ("Sub::Deep.run", "lib/zoo/parts.rb:18 run (Own)"),
        ("Keeper.call(1).open", "Unknown"),
    ]);
    check_resolved(
        &FILES,
        &[
            ("lib/tools.rb", "Tools.mend", "lib/tools.rb:3 mend (Own)"),
            ("lib/tools.rb", "Loud.shout", "lib/zoo/parts.rb:14 shout (Own)"),
            ("lib/tools.rb", "Tools.hide", "Unknown"),
        ],
    );
}

#[test]
fn receivers_have_the_types_of_what_they_are_assigned() {
    check_main(&[
        ("@pen.open", "lib/zoo/pen.rb:3 open (Field)"),
        ("      pen.open", "lib/zoo/pen.rb:3 open (Field)"),
        ("@pen.open(other.open", "Unknown"),
        ("self.food", "main.rb:9 food (Own)"),
        ("      name.size", "Unknown"),
        ("      helper.open", "lib/zoo/pen.rb:3 open (Inferred)"),
        ("item.open", "Unknown"),
        ("\"text\".open", "External"),
        ("Pen.new.open", "lib/zoo/pen.rb:3 open (Own)"),
        ("Gate.new.swing", "lib/zoo/pen.rb:5 swing (Own)"),
        ("error.tell", "Unknown"),
        ("keeper.late", "main.rb:60 late (Receiver)"),
        ("keeper.tray", "main.rb:63 tray (Receiver)"),
        ("= keeper.tray", "main.rb:63 tray (Receiver)"),
        ("keeper.pen.open", "lib/zoo/pen.rb:3 open (Field)"),
    ]);
}

#[test]
fn calls_outside_of_types_reach_what_is_defined_around_them() {
    check_main(&[
        ("\ntidy", "main.rb:62 tidy (Scope)"),
        ("      tidy", "External"),
        ("{ gate.swing", "lib/zoo/pen.rb:5 swing (Inferred)"),
        ("swing; nearby", "main.rb:72 nearby (Scope)"),
        ("unknown.open", "External"),
    ]);
}

#[test]
fn types_from_outside_have_the_members_that_the_repository_adds() {
    check_resolved(
        &FILES,
        &[
            ("test/helper.rb", "test_it; check", "test/helper.rb:2 check (Own)"),
            ("test/zoo.rb", "Odd.new.tell", "lib/zoo/pen.rb:9 tell (Own)"),
        ],
    );
}

#[test]
fn the_parts_of_a_type_are_one_definition() {
    let files = ResolvedFiles::new(&FILES);
    let graph = &files.graph;
    let holder = |path: &str, name: &str| {
        let method = graph.find_definitions(graph.find_file(path).unwrap(), name)[0];
        graph.enclosing_type(method).unwrap()
    };
    let keeper = holder("lib/zoo/pen.rb", "reopened");
    assert_eq!(holder("main.rb", "late"), keeper);
    assert_eq!(graph.list_members(keeper, "late").len(), 1);
    let bases = graph.list_base_types(keeper);
    assert_eq!(
        bases.iter().filter(|id| graph.definition(**id).unwrap().name == "Person").count(),
        1
    );
}
