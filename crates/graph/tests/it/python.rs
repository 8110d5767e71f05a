//! Rules of Python.

use super::check;

#[test]
fn a_name_is_resolved_in_its_scope_before_the_file() {
    let text =
        "def read(): pass\n\ndef outer():\n    def read(): pass\n    return read\n\nend = read\n";
    check(
        &[("a.py", text)],
        &[
            ("a.py", "return read", "a.py:4 read (Scope)"),
            ("a.py", "= read", "a.py:1 read (Scope)"),
        ],
    );
    let after = "def read(): pass\ndef outer(read):\n    return read\nend = read\n";
    check(
        &[("a.py", after)],
        &[("a.py", "return read", "Local"), ("a.py", "= read", "a.py:1 read (Scope)")],
    );
}

#[test]
fn a_method_is_not_visible_as_a_bare_name() {
    let text = "class Store:\n    def open(self): pass\n    def load(self):\n        open()\n";
    check(&[("a.py", text)], &[("a.py", "        open", "External")]);
}

#[test]
fn imports_are_followed_through_re_exports_aliases_and_stars() {
    check(
        &[
            ("pkg/__init__.py", "from .core import run as start\nfrom .extra import *\n"),
            ("pkg/core.py", "def run(): pass\n"),
            ("pkg/extra.py", "def more(): pass\n"),
            (
                "main.py",
                "import pkg\nfrom pkg import start, more\nimport pkg.core as core\nstart()\nmore()\nx = pkg.start()\ny = core.run()\n",
            ),
        ],
        &[
            ("main.py", "start", "pkg/core.py:1 run (Import)"),
            ("main.py", "import start, more", "pkg/extra.py:1 more (Import)"),
            ("main.py", "pkg.start", "pkg/core.py:1 run (ModuleMember)"),
            ("main.py", "core.run", "pkg/core.py:1 run (ModuleMember)"),
        ],
    );
}

#[test]
fn cycles_of_imports_and_bases_end() {
    check(
        &[
            ("a.py", "from b import thing\nclass A(A): pass\nthing()\nA().run()\n"),
            ("b.py", "from a import thing\n"),
        ],
        &[("a.py", "A().run", "Unknown"), ("a.py", "import thing", "Unknown")],
    );
}

#[test]
fn a_receiver_is_known_by_its_constructor_annotation_field_or_result() {
    let store = "class Base:\n    def close(self): pass\n\nclass Store(Base):\n    def open(self) -> 'Session':\n        return Session()\n\nclass Session:\n    def send(self): pass\n";
    let main = "from store import Store, Session\n\nclass App:\n    def __init__(self, store: Store):\n        self.store = store\n        self.session = store.open()\n    def run(self, other: Store | None = None):\n        self.store.close()\n        self.session.send()\n        other.open()\n        made = Store()\n        made.open().send()\n        unknown.open()\n";
    check(
        &[("store.py", store), ("main.py", main)],
        &[
            ("main.py", "store.open", "store.py:5 open (Receiver)"),
            ("main.py", "self.store.close", "store.py:2 close (Field)"),
            ("main.py", "self.session.send", "store.py:9 send (Result)"),
            ("main.py", "other.open", "store.py:5 open (Receiver)"),
            ("main.py", "made.open", "store.py:5 open (Receiver)"),
            ("main.py", "made.open().send", "store.py:9 send (Result)"),
            ("main.py", "unknown.open", "External"),
        ],
    );
}

#[test]
fn super_and_self_lead_to_the_types_around_and_open_bases_to_nothing() {
    let text = "import lib\n\nclass Base:\n    def run(self): pass\n\nclass Child(Base):\n    def run(self):\n        super().run()\n        self.run()\n        self.missing()\n\nclass Open(lib.Thing):\n    def go(self):\n        self.helper()\n";
    check(
        &[("a.py", text)],
        &[
            ("a.py", "super().run", "a.py:4 run (Own)"),
            ("a.py", "self.run", "a.py:7 run (Own)"),
            ("a.py", "self.missing", "Unknown"),
            ("a.py", "self.helper", "External"),
        ],
    );
}

#[test]
fn context_managers_loops_and_containers_hand_on_types() {
    let text = "from typing import TypeVar\nT = TypeVar('T')\n\nclass Job:\n    def __enter__(self: T) -> T: return self\n    def run(self): pass\n\nwith Job() as job:\n    job.run()\n\ndef each(jobs: list[Job], named: dict[str, Job]):\n    for item in jobs:\n        item.run()\n    for value in named.values():\n        value.run()\n    named['a'].run()\n";
    check(
        &[("a.py", text)],
        &[
            ("a.py", "job.run", "a.py:6 run (Result)"),
            ("a.py", "item.run", "a.py:6 run (Receiver)"),
            ("a.py", "value.run", "a.py:6 run (Receiver)"),
            ("a.py", "named['a'].run", "a.py:6 run (Receiver)"),
        ],
    );
}

#[test]
fn overloads_and_accessors_are_one_definition() {
    let text = "from typing import overload\n\nclass A:\n    @overload\n    def get(self, a: int) -> int: ...\n    @overload\n    def get(self, a: str) -> str: ...\n    def get(self, a): return a\n    @property\n    def name(self) -> 'A': return self\n    @name.setter\n    def name(self, value): pass\n\na = A()\na.get(1)\na.name.get(2)\n";
    check(
        &[("a.py", text)],
        &[
            ("a.py", "a.get", "a.py:8 get (Receiver)"),
            ("a.py", "a.name", "a.py:10 name (Receiver)"),
            ("a.py", "a.name.get", "a.py:8 get (Result)"),
        ],
    );
}

#[test]
fn same_method_of_two_types_is_told_apart() {
    let text = "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\ndef go(a: A, b: B):\n    a.run()\n    b.run()\n";
    check(
        &[("a.py", text)],
        &[("a.py", "a.run", "a.py:2 run (Receiver)"), ("a.py", "b.run", "a.py:4 run (Receiver)")],
    );
}
