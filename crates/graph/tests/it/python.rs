//! Rules of Python.

use super::{check_file, check_resolved};

#[test]
fn a_name_is_resolved_in_its_scope_before_the_file() {
    let text =
        "def read(): pass\n\ndef outer():\n    def read(): pass\n    return read\n\nend = read\n";
    check_resolved(
        &[("a.py", text)],
        &[
            ("a.py", "return read", "a.py:4 read (Scope)"),
            ("a.py", "= read", "a.py:1 read (Scope)"),
        ],
    );
    let after = "def read(): pass\ndef outer(read):\n    return read\nend = read\n";
    check_resolved(
        &[("a.py", after)],
        &[("a.py", "return read", "Local"), ("a.py", "= read", "a.py:1 read (Scope)")],
    );
}

#[test]
fn a_method_is_not_visible_as_a_bare_name() {
    let text = "class Store:\n    def open(self): pass\n    def load(self):\n        open()\n";
    check_resolved(&[("a.py", text)], &[("a.py", "        open", "External")]);
}

#[test]
fn imports_are_followed_through_re_exports_aliases_and_stars() {
    check_resolved(
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
fn cycles_of_imports_and_bases_terminate() {
    check_resolved(
        &[
            ("a.py", "from b import thing\nclass A(A): pass\nthing()\nA().run()\n"),
            ("b.py", "from a import thing\n"),
        ],
        &[("a.py", "A().run", "Unknown"), ("a.py", "import thing", "Unknown")],
    );
}

#[test]
fn super_and_self_lead_to_the_types_around_and_open_bases_to_nothing() {
    let text = "import lib\n\nclass Base:\n    def run(self): pass\n\nclass Child(Base):\n    def run(self):\n        super().run()\n        self.run()\n        self.missing()\n\nclass Open(lib.Thing):\n    def go(self):\n        self.helper()\n";
    check_resolved(
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
fn names_of_both_branches_of_a_condition_are_found() {
    check_resolved(
        &[
            (
                "main.py",
                "try:\n    from fast import load\nexcept ImportError:\n    from slow import load\nif load:\n    def run(): pass\nelse:\n    def run(): pass\nend(load, run)\n",
            ),
            ("fast.py", "def load(): pass\n"),
            ("slow.py", "\ndef load(): pass\n"),
        ],
        &[
            ("main.py", "end(load", "fast.py:1 load, slow.py:2 load (Import)"),
            ("main.py", "end(load, run", "main.py:6 run, main.py:8 run (Scope)"),
        ],
    );
}

#[test]
fn a_definition_wins_over_an_import_from_outside() {
    let text =
        "try:\n    from fast import load\nexcept ImportError:\n    def load(): pass\nend(load)\n";
    check_file("main.py", text, &[("end(load", "main.py:4 load (Scope)")]);
}

#[test]
fn modules_are_found_by_dots_aliases_and_from_packages() {
    check_resolved(
        &[
            ("src/a/__init__.py", ""),
            ("src/a/b.py", "def run(): pass\n"),
            (
                "src/a/c/__init__.py",
                "from .. import b\nfrom ..b import run as go\nfrom . import d\nb.run()\nd.stop()\n",
            ),
            (
                "src/a/c/d.py",
                "from .. import b as up\nfrom . import go\ndef stop(): up.run(); go()\n",
            ),
            (
                "main.py",
                "import a.b\nimport a.b as short\nfrom a import b\nimport a.c\na.b.run()\nshort.run()\nend(b.run)\na.c.go()\na.c.d.stop()\n",
            ),
        ],
        &[
            ("main.py", "a.b.run", "src/a/b.py:1 run (ModuleMember)"),
            ("main.py", "short.run", "src/a/b.py:1 run (ModuleMember)"),
            ("main.py", "end(b.run", "src/a/b.py:1 run (ModuleMember)"),
            ("main.py", "a.c.go", "src/a/b.py:1 run (ModuleMember)"),
            ("main.py", "a.c.d.stop", "src/a/c/d.py:3 stop (ModuleMember)"),
            ("src/a/c/__init__.py", "b.run", "src/a/b.py:1 run (ModuleMember)"),
            ("src/a/c/__init__.py", "d.stop", "src/a/c/d.py:3 stop (ModuleMember)"),
            ("src/a/c/d.py", "up.run", "src/a/b.py:1 run (ModuleMember)"),
            ("src/a/c/d.py", "; go", "src/a/b.py:1 run (Import)"),
        ],
    );
}

#[test]
fn packages_without_a_file_of_their_own_are_found() {
    check_resolved(
        &[
            ("tools/make/build.py", "def run(): pass\n"),
            (
                "main.py",
                "from tools.make import build\nimport tools.make.build as other\nbuild.run()\nother.run()\n",
            ),
        ],
        &[
            ("main.py", "\nbuild.run", "tools/make/build.py:1 run (ModuleMember)"),
            ("main.py", "other.run", "tools/make/build.py:1 run (ModuleMember)"),
        ],
    );
}

#[test]
fn a_name_of_a_module_hides_a_submodule_and_the_first_star_import_wins() {
    check_resolved(
        &[
            ("p/__init__.py", "from .one import *\nfrom .two import *\ndef part(): pass\n"),
            ("p/one.py", "def same(): pass\n"),
            ("p/two.py", "\ndef same(): pass\n"),
            ("p/part.py", ""),
            ("main.py", "from p import *\nsame()\npart()\n"),
        ],
        &[
            ("main.py", "\nsame", "p/one.py:1 same (Import)"),
            ("main.py", "\npart", "p/__init__.py:3 part (Import)"),
        ],
    );
}

#[test]
fn modules_from_outside_and_missing_ones_are_external() {
    let text = "import os\nfrom lib.x import y\nos.getcwd()\ny.z()\nprint()\n";
    check_file(
        "a.py",
        text,
        &[("os.getcwd", "External"), ("y.z", "External"), ("\nprint", "External")],
    );
}

#[test]
fn the_body_of_a_class_sees_its_names_and_its_methods_do_not() {
    let text = "class A:\n    size = 1\n    twice = size\n    def run(self):\n        use(size)\n        use(self.size, A.size)\n";
    check_file(
        "a.py",
        text,
        &[
            ("twice = size", "a.py:2 size (Scope)"),
            ("use(size", "External"),
            ("use(self.size", "a.py:2 size (Own)"),
            ("A.size", "a.py:2 size (Own)"),
        ],
    );
}

#[test]
fn nested_functions_see_the_names_around_them() {
    let text = "def outer(value):\n    def helper(): pass\n    def inner():\n        helper()\n        use(value)\n    return inner\nhelper()\n";
    check_file(
        "a.py",
        text,
        &[
            ("        helper", "a.py:2 helper (Scope)"),
            ("use(value", "Local"),
            ("return inner", "a.py:3 inner (Scope)"),
            ("\nhelper", "External"),
        ],
    );
}

#[test]
fn lambdas_and_comprehensions_bind_their_own_names() {
    let text = "item = 1\nfirst = lambda item: use(item)\nsecond = [call(item) for item in rows if keep(item)]\nthird = {key: put(value) for key, value in rows}\nend(item, value)\n";
    check_file(
        "a.py",
        text,
        &[
            ("use(item", "Local"),
            ("call(item", "Local"),
            ("keep(item", "Local"),
            ("put(value", "Local"),
            ("end(item", "a.py:1 item (Scope)"),
            ("end(item, value", "External"),
        ],
    );
}

#[test]
fn decorators_and_defaults_are_read_around_the_function() {
    let text = "def wrap(run): return run\ndef make(): pass\n@wrap\ndef go(make=make): pass\nclass A:\n    @staticmethod\n    def open(first): return first.close()\n    @classmethod\n    def load(cls): return cls.open(1)\n    def close(self): pass\n";
    check_file(
        "a.py",
        text,
        &[
            ("@wrap", "no reference"),
            ("make=make", "no reference"),
            ("return first.close", "Unknown"),
            ("cls.open", "a.py:7 open (Own)"),
        ],
    );
}

#[test]
fn a_comment_among_bases_is_no_base() {
    let text =
        "class Base: pass\nclass A(\n    Base,  # why\n):\n    def run(self): self.missing()\n";
    check_file("a.py", text, &[("self.missing", "Unknown")]);
}

#[test]
fn a_script_without_an_ending_is_read_by_its_first_line() {
    check_resolved(
        &[
            ("bin/tool", "#!/usr/bin/env python3\nfrom lib import run\nrun()\n"),
            ("lib.py", "def run(): pass\n"),
        ],
        &[("bin/tool", "\nrun", "lib.py:1 run (Import)")],
    );
}

#[test]
fn a_statement_that_cannot_be_read_does_not_cost_the_others() {
    let text = "def run(): pass\nprint 'a' % (\n@@@ = = )\ndef go():\n    run()\n";
    check_file("a.py", text, &[("    run", "a.py:1 run (Scope)")]);
}
