//! Rules of PHP.

use super::{ResolvedFiles, check_resolved};

const MAIN: &str = r"<?php
namespace App\Http;

use App\Data\Link;
use App\Data\Link as Chain, Vendor\Thing;
use function App\Tools\verify;
use App\Tools\{Checks, Nested\Deep as Deeper, function tidy};

class Main extends Base implements Runner {
  use Logs, \App\Data\Stores;
  const LIMIT = 3;
  private ?Link $link = null;
  private static Link $shared;
  protected $plain;
  public function __construct(private Chain $chain, protected readonly Deeper $deep, $plain) {
    parent::__construct();
    $this->plain = new Link();
  }
  public static function make(): static { return new static(); }
  function link(): Link { return $this->link; }
  function run(Link|null $one, array $many, $unknown, Thing $thing, string $text) {
    $this->link->send();
    $this?->chain?->send();
    $this->deep->dive();
    $this->plain->send();
    self::$shared->send();
    $this->link()->send();
    self::make()->stop();
    static::make()->own();
    $this->log();
    $this->store();
    $one->send();
    $unknown->send();
    $thing->send();
    $many[0]->send();
    verify($one); tidy(); helper(); \strlen($text); strtolower($text);
    \App\Tools\verify(1);
    Checks::check(Main::LIMIT);
    Neighbour::go();
    Sub\Child::go();
    Link::missing();
    $made = new Chain; $made->send();
    $made = $unknown ?? new Checks(); 
    foreach ($this->list() as $each) { $each->go(); }
    try { } catch (Failure $error) { $error->tell(); }
    $call = function (Link $inner) use ($one) { $inner->send(); $this->link(); };
    $arrow = fn(Link $short) => $short->send();
    $object = new class($one) extends Base { function stop() { $this->other(); } };
    Suit::Hearts->label();
    $name = 'send'; $one->$name(); $name();
    Twin::twice(); $one->twice();
  }
  function own() { return $this; }
  /** @return Link[] */
  function list() { return []; }
}
enum Suit: string { case Hearts = 'H'; function label() {} }
function helper() {}
";

const FILES: [(&str, &str); 6] = [
    ("src/Http/Main.php", MAIN),
    (
        "src/Http/Base.php",
        "<?php namespace App\\Http;\nabstract class Base { function __construct() {}\n  function stop() {}\n  function other() {}\n}\ninterface Runner {}\nclass Failure extends \\Exception { function tell() {} }\nclass Neighbour { static function go() {} }\ntrait Logs { function log() {} function own() {} }\nclass Twin { function twice() {} }\n",
    ),
    (
        "src/Http/Sub/Child.php",
        "<?php\nnamespace App\\Http\\Sub;\nclass Child { static function go() {} }\n",
    ),
    (
        "src/Data/Link.php",
        "<?php\nnamespace App\\Data;\nclass Link { public function send() {} }\ntrait Stores { private function store() {} }\nclass Twin { function twice() {} }\nfunction helper() {}\n",
    ),
    (
        "src/tools.php",
        "<?php\nnamespace App\\Tools { function verify($a) {} function tidy() {} class Checks { static function check() {} } }\n",
    ),
    ("src/Deep.php", "<?php\nnamespace App\\Tools\\Nested;\nclass Deep { function dive() {} }\n"),
];

/// Checks references of `Main`, each given as marked text and result.
#[track_caller]
fn check_main(expected: &[(&str, &str)]) {
    let path = "src/Http/Main.php";
    let expected: Vec<_> =
        expected.iter().map(|(marked, result)| (path, *marked, *result)).collect();
    check_resolved(&FILES, &expected);
}

#[test]
fn names_are_found_by_import_alias_group_and_namespace() {
    check_main(&[
        ("extends Base", "src/Http/Base.php:2 Base (Import)"),
        ("implements Runner", "src/Http/Base.php:6 Runner (Import)"),
        ("private Chain", "src/Data/Link.php:3 Link (Import)"),
        ("readonly Deeper", "src/Deep.php:3 Deep (Import)"),
        (", Thing", "External"),
        ("    verify", "src/tools.php:2 verify (Import)"),
        ("; tidy", "src/tools.php:2 tidy (Import)"),
        ("; helper", "src/Http/Main.php:58 helper (Import)"),
        ("; strtolower", "External"),
        ("    Neighbour", "src/Http/Base.php:8 Neighbour (Import)"),
        ("Sub\\Child::go", "src/Http/Sub/Child.php:3 go (Own)"),
        ("Main::LIMIT", "src/Http/Main.php:11 LIMIT (Own)"),
    ]);
}

#[test]
fn members_are_found_by_declared_types() {
    check_main(&[
        ("$this->link->send", "src/Data/Link.php:3 send (Field)"),
        ("?->chain?->send", "src/Data/Link.php:3 send (Field)"),
        ("deep->dive", "src/Deep.php:3 dive (Field)"),
        ("plain->send", "src/Data/Link.php:3 send (Field)"),
        ("$shared->send", "src/Data/Link.php:3 send (Field)"),
        ("link()->send", "src/Data/Link.php:3 send (Result)"),
        ("make()->stop", "src/Http/Base.php:3 stop (Result)"),
        ("make()->own", "src/Http/Main.php:53 own (Result)"),
        ("one->send", "src/Data/Link.php:3 send (Receiver)"),
        ("made->send", "src/Data/Link.php:3 send (Receiver)"),
        ("error->tell", "src/Http/Base.php:7 tell (Receiver)"),
        ("inner->send", "src/Data/Link.php:3 send (Receiver)"),
        ("short->send", "src/Data/Link.php:3 send (Receiver)"),
        ("Hearts->label", "src/Http/Main.php:57 label (Field)"),
        ("Checks::check", "src/tools.php:2 check (Own)"),
    ]);
}

#[test]
fn members_come_from_traits_and_parents_and_hide_theirs() {
    check_main(&[
        ("parent::__construct", "src/Http/Base.php:2 __construct (Own)"),
        ("$this->log", "src/Http/Base.php:9 log (Own)"),
        ("$this->store", "src/Data/Link.php:4 store (Own)"),
        ("{ $this->other", "src/Http/Base.php:4 other (Own)"),
        ("Twin::twice", "src/Http/Base.php:10 twice (Own)"),
    ]);
}

#[test]
fn unknown_and_dynamic_receivers_lead_nowhere() {
    check_main(&[
        ("unknown->send", "Unknown"),
        ("thing->send", "External"),
        ("[0]->send", "Unknown"),
        ("each->go", "Unknown"),
        ("Link::missing", "Unknown"),
        ("one->twice", "Unknown"),
        ("one->$name", "Unknown"),
    ]);
}

#[test]
fn a_method_of_an_unknown_value_may_be_any_of_its_name() {
    let repository = ResolvedFiles::new(&FILES);
    let graph = &repository.graph;
    let file = graph.find_file("src/Http/Main.php").unwrap();
    let data = graph.find_file("src/Data/Link.php").unwrap();
    let send = graph.find_definitions(data, "send")[0];
    let references = &graph.file_facts(file).unwrap().references;
    let row = MAIN.lines().position(|text| text.contains("unknown->send")).unwrap();
    let reference = references.iter().find(|found| found.at.0 as usize == row + 1).unwrap();
    assert!(graph.may_refer_to_member(file, reference, send));
}
