//! Rules of receivers in Python: types of values, results and containers.

use super::{check_file, check_resolved};

#[test]
fn a_receiver_is_known_by_its_constructor_annotation_field_or_result() {
    let store = "class Base:\n    def close(self): pass\n\nclass Store(Base):\n    def open(self) -> 'Session':\n        return Session()\n\nclass Session:\n    def send(self): pass\n";
    let main = "from store import Store, Session\n\nclass App:\n    def __init__(self, store: Store):\n        self.store = store\n        self.session = store.open()\n    def run(self, other: Store | None = None):\n        self.store.close()\n        self.session.send()\n        other.open()\n        made = Store()\n        made.open().send()\n        unknown.open()\n";
    check_resolved(
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
fn context_managers_loops_and_containers_hand_on_types() {
    let text = "from typing import TypeVar\nT = TypeVar('T')\n\nclass Job:\n    def __enter__(self: T) -> T: return self\n    def run(self): pass\n\nwith Job() as job:\n    job.run()\n\ndef each(jobs: list[Job], named: dict[str, Job]):\n    for item in jobs:\n        item.run()\n    for value in named.values():\n        value.run()\n    named['a'].run()\n";
    check_resolved(
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
    check_resolved(
        &[("a.py", text)],
        &[
            ("a.py", "a.get", "a.py:8 get (Receiver)"),
            ("a.py", "a.name", "a.py:10 name (Receiver)"),
            ("a.py", "a.name.get", "a.py:8 get (Result)"),
        ],
    );
}

#[test]
fn the_same_method_of_two_types_is_distinguished() {
    let text = "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\ndef go(a: A, b: B):\n    a.run()\n    b.run()\n";
    check_resolved(
        &[("a.py", text)],
        &[("a.py", "a.run", "a.py:2 run (Receiver)"), ("a.py", "b.run", "a.py:4 run (Receiver)")],
    );
}

#[test]
fn a_cast_is_of_the_type_that_it_names() {
    let text = "from typing import cast\nimport typing\nclass A:\n    def run(self): pass\ndef go(x):\n    cast(A, x).run()\n    y = typing.cast('A', x)\n    y.run()\n";
    check_file("a.py", text, &[("cast(A, x).run", "a.py:4 run (Receiver)"), ("y.run", "External")]);
}

#[test]
fn a_union_has_the_members_of_all_its_types() {
    let text = "from typing import Optional, Union\nclass A:\n    def run(self): pass\nclass B:\n    def run(self): pass\nAlias = Union[A, B]\ndef go(a: A | B, b: Union[A, B], c: Optional[B], d: Alias, e: 'B | None'):\n    a.run()\n    b.run()\n    c.run()\n    d.run()\n    (A() if a else B()).run\n";
    check_file(
        "a.py",
        text,
        &[
            ("a.run", "a.py:3 run, a.py:5 run (Receiver)"),
            ("b.run", "a.py:3 run, a.py:5 run (Receiver)"),
            ("c.run", "a.py:5 run (Receiver)"),
            ("d.run", "a.py:3 run, a.py:5 run (Receiver)"),
            ("(A() if a else B()).run", "a.py:3 run, a.py:5 run (Own)"),
        ],
    );
}

#[test]
fn a_result_without_annotation_is_inferred() {
    let text = "class A:\n    def run(self): return self\ndef make(): return A()\nmake().run()\nclass B(A): \n    def stop(self): pass\nB().run().stop()\n";
    check_file(
        "a.py",
        text,
        &[("make().run", "a.py:2 run (Inferred)"), ("B().run().stop", "a.py:6 stop (Result)")],
    );
}

#[test]
fn a_result_of_the_receivers_type_is_that_of_the_receiver() {
    let text = "from typing import Self\nclass A:\n    def then(self) -> Self: pass\nclass B(A):\n    def stop(self): pass\nB().then().stop()\n";
    check_file("a.py", text, &[("B().then().stop", "a.py:5 stop (Result)")]);
}

#[test]
fn a_type_variable_of_a_parameter_is_not_the_receivers_type() {
    let text = "from typing import TypeVar\nT = TypeVar('T')\nclass A:\n    def echo(self, value: T) -> T: pass\n    def stop(self): pass\nA().echo(1).stop()\n";
    check_file("a.py", text, &[("A().echo(1).stop", "External")]);
}

#[test]
fn awaited_called_and_indexed_objects_give_what_their_methods_return() {
    let text = "class Job:\n    def run(self): pass\nclass Pool:\n    def __call__(self) -> Job: pass\n    def __getitem__(self, key) -> Job: pass\n    async def next(self) -> Job: pass\n    async def __aenter__(self) -> Job: pass\nasync def go(pool: Pool, kind: type[Job]):\n    pool().run()\n    pool[1].run()\n    (await pool.next()).run()\n    async with pool as entered:\n        entered.run()\n    kind().run()\n    if found := Job():\n        found.run()\n    one, two = Job(), Pool()\n    one.run()\n";
    check_file(
        "a.py",
        text,
        &[
            ("pool().run", "a.py:2 run (Result)"),
            ("pool[1].run", "a.py:2 run (Result)"),
            ("(await pool.next()).run", "a.py:2 run (Result)"),
            ("entered.run", "a.py:2 run (Result)"),
            ("kind().run", "a.py:2 run (Receiver)"),
            ("found.run", "a.py:2 run (Receiver)"),
            ("one.run", "a.py:2 run (Receiver)"),
        ],
    );
}

#[test]
fn fields_are_those_of_the_receiver_and_not_of_other_parameters() {
    let text = "class Job:\n    def run(self): pass\nclass A:\n    job: Job\n    def __init__(self, other):\n        self.own: Job = other\n        other.missing = Job()\n    def go(this):\n        this.late = Job()\n        this.job.run()\n        this.own.run()\n        this.late.run()\n        this.missing.run()\n";
    check_file(
        "a.py",
        text,
        &[
            ("this.job.run", "a.py:2 run (Field)"),
            ("this.own.run", "a.py:2 run (Field)"),
            ("this.late.run", "a.py:2 run (Field)"),
            ("this.missing", "Unknown"),
        ],
    );
}

#[test]
fn an_exception_is_of_the_type_that_is_caught() {
    let text = "class Failure(Exception):\n    def explain(self): pass\ntry:\n    pass\nexcept Failure as failure:\n    failure.explain()\n";
    check_file("a.py", text, &[("failure.explain", "a.py:2 explain (Receiver)")]);
}

#[test]
fn an_annotation_in_a_string_names_a_type() {
    let text = "import b\nclass A:\n    def run(self): pass\ndef go(one: 'A', two: list['A'], three='A'):\n    one.run()\n    two[0].run()\n    three.run()\n";
    check_file(
        "a.py",
        text,
        &[
            ("one.run", "a.py:3 run (Receiver)"),
            ("two[0].run", "a.py:3 run (Receiver)"),
            ("three.run", "Unknown"),
        ],
    );
}

#[test]
fn conditions_narrow_the_types_of_names() {
    let text = "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\ndef go(one, two, three, four):\n    if isinstance(one, A) and one.run():\n        one.run(1)\n    one.run(2)\n    assert isinstance(two, (A, B))\n    two.run()\n    if not isinstance(three, B):\n        return\n    three.run()\ndef other(two):\n    two.run(3)\n";
    check_file(
        "a.py",
        text,
        &[
            ("and one.run", "a.py:2 run (Receiver)"),
            ("one.run(1", "no reference"),
            ("    one.run(2", "no reference"),
            ("two.run", "a.py:2 run, a.py:4 run (Receiver)"),
            ("three.run", "a.py:4 run (Receiver)"),
        ],
    );
    check_file(
        "a.py",
        &text.replace(" and one.run()", ""),
        &[("one.run", "a.py:2 run (Receiver)")],
    );
    check_file("a.py", &text.replace("isinstance(two, (A, B))", "two"), &[("two.run", "Unknown")]);
}

#[test]
fn the_branch_that_type_checkers_skip_is_visible_only_inside_itself() {
    let text =
        "if TYPE_CHECKING:\n    class A: pass\nelse:\n    class A: pass\n    inner(A)\nend(A)\n";
    check_file("a.py", text, &[("end(A", "a.py:2 A (Scope)"), ("inner(A", "a.py:4 A (Scope)")]);
}

#[test]
fn keywords_quoted_types_and_unpacked_attributes_are_read() {
    let text = "class Row(NamedTuple):\n    size: int\nclass Own:\n    def __init__(self, size):\n        self.size, self.link = size, Row()\n    def go(self) -> 'list[Row] | Own': return self.link.size\n    def __iter__(self) -> Iterator[Row]: pass\nRow(size=1)\nOwn(size =1)\ndef each():\n    for row in Own(): row.size\n";
    check_file(
        "a.py",
        text,
        &[
            ("Row(size", "a.py:2 size (Own)"),
            ("Own(size ", "no reference"),
            ("self.link.size", "a.py:2 size (Field)"),
            ("| Own", "a.py:3 Own (Scope)"),
            ("row.size", "a.py:2 size (Result)"),
        ],
    );
}
