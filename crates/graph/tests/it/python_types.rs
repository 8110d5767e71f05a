//! Rules of Python for type variables, tuples, conditions and the order of bases.

use super::check_file;

#[test]
fn results_have_the_type_of_an_argument() {
    let text = "\
from typing import Callable, TypeVar, overload
T = TypeVar('T')
class A:
    def run(self): pass
def make(kind: type[T], other: int) -> T: return kind()
def first(items: list[T]) -> T: return items[0]
@overload
def build(kind: int) -> int: ...
@overload
def build(kind: Callable[..., T]) -> T: ...
def build(kind): return kind()
def same(value: T) -> T | None: return value
def go(items: list[A], other):
    make(A, 1).run()
    first(items).run()
    build(A).run()
    same(A()).run()
    make(other, 1).run()
";
    check_file(
        "a.py",
        text,
        &[
            ("make(A, 1).run", "a.py:4 run (Result)"),
            ("first(items).run", "a.py:4 run (Result)"),
            ("build(A).run", "a.py:4 run (Result)"),
            ("same(A()).run", "a.py:4 run (Result)"),
            // The type is not known, and no definition of `run` is guessed.
            ("make(other, 1).run", "External"),
        ],
    );
}

#[test]
fn parts_of_tuples_are_told_apart() {
    let text = "\
class A:
    def run(self): pass
class B:
    def run(self): pass
def pair() -> tuple[A, B]: ...
def both():
    return A(), B()
def many() -> tuple[B, ...]: ...
def three() -> tuple[A, B, A]: ...
def go(items: list[tuple[A, B]], named: dict[str, B]):
    one, two = pair()
    one.run()
    two.run()
    left, right = both()
    right.run()
    for first, second in items:
        second.run()
    items[0][1].run()
    for key, value in named.items():
        value.run()
    *rest, last = three()
    rest.run()
    last.run()
    many()[5].run()
";
    check_file(
        "a.py",
        text,
        &[
            ("one.run", "a.py:2 run (Result)"),
            ("two.run", "a.py:4 run (Result)"),
            ("right.run", "a.py:4 run (Inferred)"),
            ("second.run", "a.py:4 run (Receiver)"),
            ("items[0][1].run", "a.py:4 run (Receiver)"),
            ("value.run", "a.py:4 run (Receiver)"),
            ("rest.run", "Unknown"),
            ("last.run", "Unknown"),
            ("many()[5].run", "a.py:4 run (Result)"),
        ],
    );
}

#[test]
fn conditions_tell_the_types_of_members_and_items() {
    let text = "\
class A:
    def run(self): pass
def go(one, two):
    assert isinstance(one.value, A)
    one.value.run()
    if isinstance(two['a'], A):
        two['a'].run()
    two['b'].run()
";
    check_file(
        "a.py",
        text,
        &[
            ("one.value.run", "a.py:2 run (Receiver)"),
            ("two['a'].run", "a.py:2 run (Receiver)"),
            ("two['b'].run", "Unknown"),
        ],
    );
}

#[test]
fn a_base_comes_after_all_types_that_inherit_from_it() {
    let text = "\
class Root:
    def run(self): pass
class Left(Root): pass
class Right(Root):
    def run(self): pass
class Both(Left, Right): pass
Both().run()
Left().run()
";
    check_file(
        "a.py",
        text,
        &[("Both().run", "a.py:5 run (Own)"), ("Left().run", "a.py:2 run (Own)")],
    );
}
