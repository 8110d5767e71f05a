//! Members that a reference with an unknown receiver may mean.

use super::ResolvedFiles;

#[test]
fn a_member_is_possible_where_imports_lead_to_it_and_the_receiver_is_unknown() {
    let repository = ResolvedFiles::new(&[
        ("base.py", "class Door:\n    def open(self): pass\n    def shut(self): pass\n"),
        ("middle.py", "from base import Door\n"),
        ("far.py", "class Gate:\n    def open(self): pass\ndef open(): pass\n"),
        (
            "a.py",
            "import os\nimport middle\ndef go(door):\n    door.open()\n    os.open()\n    'x'.open()\n    missing.open()\n    middle.Door().open()\n    open()\n",
        ),
    ]);
    let graph = &repository.graph;
    let file = graph.find_file("a.py").unwrap();
    let facts = graph.file_facts(file).unwrap();
    let may_refer = |line: u32, path: &str, index: u32| {
        let mut references = facts.references.iter();
        let reference = references.rfind(|reference| reference.at.0 == line).unwrap();
        let definition =
            graph.find_file(path).map(|file| codeinfo_graph::resolve::DefinitionId { file, index });
        graph.may_refer_to_member(file, reference, definition.unwrap())
    };
    assert!(may_refer(4, "base.py", 1), "`door.open` may be Door.open");
    assert!(!may_refer(4, "base.py", 2), "another name");
    assert!(!may_refer(4, "far.py", 1), "no import leads there");
    assert!(!may_refer(4, "far.py", 2), "no member");
    for line in 5..=9 {
        assert!(!may_refer(line, "base.py", 1), "known or outside in line {line}");
    }
}

#[test]
fn only_files_that_imports_lead_to_are_read() {
    let files = ResolvedFiles::new(&[
        ("a.py", "class A:\n    def go(self): self.go()\n"),
        ("b.py", "class B: pass\n"),
        ("a.ts", "class A { go() { this.go() } }\n"),
        ("b.ts", "class B {}\n"),
    ]);
    for path in ["a.py", "a.ts"] {
        let file = files.graph.find_file(path).unwrap();
        let reference = files.graph.file_facts(file).unwrap().references.last().unwrap();
        files.graph.resolve(file, reference);
    }
    for path in ["b.py", "b.ts"] {
        assert!(!files.graph.is_loaded(files.graph.find_file(path).unwrap()), "{path}");
    }
}
