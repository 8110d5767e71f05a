//! Rules of Rust.

use super::{check_file, check_resolved};

const LIB: &str = "mod store;
pub mod links;
pub use store::{Store as Shop, open};
pub use crate::links::*;
use std::sync::Arc;
use other_tools::Wrench;

macro_rules! check { ($value:expr) => { $value } }

pub struct Holder<T> {
    shop: Arc<Shop>,
    list: Vec<Shop>,
    name: String,
    item: T,
}

impl<T: Runner> Holder<T> {
    pub fn name(&self) -> &str { &self.name }
    pub fn shop(&self) -> Option<&Shop> { None }
    fn run(&self) -> Result<Self, ()> {
        self.shop.sell();
        self.name();
        self.item.start();
        self.shop()?.sell();
        self.shop().unwrap().sell();
        for each in self.list.iter() { each.sell(); }
        self.list.iter().for_each(|one| one.sell());
        if let Some(found) = self.list.first() { found.sell(); }
        check!(self.shop.count);
        let kind = Kind::Deep { part: Shop::default() };
        match kind {
            Kind::Deep { part } => part.sell(),
            Kind::Flat(inner, _) => inner.sell(),
            _ => {}
        }
        let (first, second) = pair();
        second.sell();
        let first = first.name;
        let open = open();
        open.sell();
        Wrench::turn();
        Shop::make().sell();
        Self::run(self)?.name();
        self.name.len();
        Ok(self)
    }
}

enum Kind { Deep { part: Shop }, Flat(Shop, u8) }

pub trait Runner { fn start(&self) {} fn stop(&self); }

impl Runner for Shop { fn stop(&self) { self.start(); } }

fn pair() -> (u8, Shop) { todo!() }

mod tests {
    use super::*;
    mod open { pub fn now() {} }
    fn go(runner: &dyn Runner) {
        runner.stop();
        pair();
        open::now();
        self::open::now();
        super::store::count();
        links::send();
        send();
    }
}
";

fn list_files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("tools/Cargo.toml", "[package]\nname = \"other-tools\"\n"),
        (
            "tools/src/lib.rs",
            "pub use inner::Wrench;\nmod inner { pub struct Wrench; impl Wrench { pub fn turn() {} } }\n",
        ),
        ("app/Cargo.toml", "[package]\nname = \"app\"\n"),
        ("app/src/lib.rs", LIB),
        (
            "app/src/store.rs",
            "mod deep;\n#[derive(Default)]\npub struct Store { pub count: u8 }\nimpl Store {\n    pub fn make() -> Self { Self { count: 1 } }\n    pub fn sell(&self) { self::deep::more(); self.count(); }\n}\npub fn open() -> Store { Store::make() }\npub fn count() {}\n",
        ),
        (
            "app/src/store/deep.rs",
            "use super::super::links::send;\npub fn more() { super::open(); crate::open(); send(); }\nimpl super::Store { fn count(&self) {} }\n",
        ),
        ("app/src/links/mod.rs", "pub use self::more::send;\nmod more;\npub use crate::*;\n"),
        ("app/src/links/more.rs", "pub fn send() {}\n"),
        (
            "app/tests/all.rs",
            "mod common;\nuse app::{Shop, send as deliver};\nfn main() { Shop::make().sell(); deliver(); common::help(); check!(1); }\n",
        ),
        ("app/tests/common/mod.rs", "pub fn help() {}\n"),
    ]
}

/// Checks references of a file, each given as marked text and result.
#[track_caller]
fn check_in(path: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(marked, result)| (path, *marked, *result)).collect();
    check_resolved(&list_files(), &expected);
}

#[test]
fn members_are_found_in_implementations_and_traits() {
    let sell = |rule| format!("app/src/store.rs:6 sell ({rule})");
    check_in(
        "app/src/lib.rs",
        &[
            ("self.shop.sell", &sell("Field")),
            ("        self.name", "app/src/lib.rs:18 name (Own)"),
            ("&self.name", "app/src/lib.rs:13 name (Own)"),
            ("self.item.start", "app/src/lib.rs:51 start (Field)"),
            ("shop()?.sell", &sell("Result")),
            ("shop().unwrap().sell", &sell("Result")),
            ("{ each.sell", &sell("Field")),
            ("one.sell", &sell("Field")),
            ("{ found.sell", &sell("Field")),
            ("self.shop.count", "app/src/store.rs:3 count (Field)"),
            ("self.start", "app/src/lib.rs:51 start (Own)"),
            ("runner.stop", "app/src/lib.rs:51 stop (Receiver)"),
            ("Self::run(self)?.name", "app/src/lib.rs:18 name (Result)"),
            ("self.name.len", "External"),
        ],
    );
}

#[test]
fn patterns_bind_the_parts_of_a_value() {
    let sell = |rule| format!("app/src/store.rs:6 sell ({rule})");
    check_in(
        "app/src/lib.rs",
        &[
            ("=> part.sell", &sell("Field")),
            ("=> inner.sell", &sell("Field")),
            ("second.sell", &sell("Result")),
            ("open.sell", &sell("Result")),
            ("let open = open", "app/src/store.rs:8 open (ModuleMember)"),
        ],
    );
}

#[test]
fn paths_lead_through_modules_re_exports_and_crates() {
    check_in(
        "app/src/lib.rs",
        &[
            ("Wrench::turn", "tools/src/lib.rs:2 turn (Own)"),
            ("Shop, open", "app/src/store.rs:8 open (ModuleMember)"),
            ("        check", "app/src/lib.rs:8 check (Scope)"),
            ("        open::now", "app/src/lib.rs:59 now (Own)"),
            ("self::open::now", "app/src/lib.rs:59 now (Own)"),
            ("super::store::count", "app/src/store.rs:9 count (ModuleMember)"),
            ("        pair", "app/src/lib.rs:55 pair (Scope)"),
            ("        links::send", "app/src/links/more.rs:1 send (ModuleMember)"),
            ("        send", "app/src/links/more.rs:1 send (ModuleMember)"),
        ],
    );
    check_in(
        "app/src/store/deep.rs",
        &[
            ("{ super::open", "app/src/store.rs:8 open (ModuleMember)"),
            ("crate::open", "app/src/store.rs:8 open (ModuleMember)"),
            (" send", "app/src/links/more.rs:1 send (ModuleMember)"),
        ],
    );
    check_in(
        "app/tests/all.rs",
        &[
            ("common::help", "app/tests/common/mod.rs:1 help (ModuleMember)"),
            ("; check", "External"),
            ("; deliver", "app/src/links/more.rs:1 send (ModuleMember)"),
            ("Shop::make().sell", "app/src/store.rs:6 sell (Result)"),
        ],
    );
}

#[test]
fn a_let_that_hides_a_name_begins_after_its_value() {
    let text = "struct A; struct B;\nimpl A { fn go(&self) -> B { B } fn end(&self) {} }\nimpl B { fn end(&self) {} }\nfn run(x: A) {\n    x.end();\n    let x = x.go();\n    x.end();\n    if let Some(x) = Some(x) {}\n}\n";
    check_file(
        "a.rs",
        text,
        &[("    x.end", "a.rs:2 end (Receiver)"), ("x.go();\n    x.end", "a.rs:3 end (Result)")],
    );
}

#[test]
fn items_and_names_in_the_braces_of_macros_are_read() {
    let text = "cfg_one! {\n    pub mod part { pub fn go() {} }\n    fn run() -> A { A }\n}\nstruct A;\nimpl A { fn end(&self) {} }\nfn main() {\n    run().end();\n    vec![run().end(), part::go()];\n    select! { let value = run(); value.end() }\n    each!(|one: A| one.end());\n}\n";
    check_file(
        "a.rs",
        text,
        &[
            ("    run().end", "a.rs:6 end (Result)"),
            ("vec![run().end", "a.rs:6 end (Result)"),
            ("; value.end", "a.rs:6 end (Result)"),
            ("| one.end", "a.rs:6 end (Receiver)"),
        ],
    );
}

#[test]
fn globs_and_names_that_lead_to_each_other_terminate() {
    check_resolved(
        &[
            (
                "src/lib.rs",
                "mod a;\nmod b;\npub use a::*;\nuse b::one;\nfn run() { one(); two(); }\n",
            ),
            ("src/a.rs", "pub use crate::b::*;\npub use super::two;\n"),
            ("src/b.rs", "pub use crate::a::*;\npub use crate::one;\npub use one::one;\n"),
        ],
        &[("src/lib.rs", "{ one", "External"), ("src/lib.rs", "; two", "External")],
    );
}
