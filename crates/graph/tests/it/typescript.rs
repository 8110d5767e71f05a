//! Rules of TypeScript.

use super::{check_file, check_resolved};

#[test]
fn block_scopes_hide_names_of_the_same_spelling() {
    let text = "test(() => {\n  const handler = () => 1\n  handler()\n})\ntest(() => {\n  const handler = () => 2\n  return handler\n})\n";
    check_resolved(&[("a.ts", text)], &[("a.ts", "return handler", "a.ts:6 handler (Scope)")]);
}

#[test]
fn imports_are_followed_through_re_exports_defaults_and_stars() {
    check_resolved(
        &[
            (
                "src/index.ts",
                "export { run as start } from './core.js'\nexport * from './extra'\nexport { default as Main } from './main'\n",
            ),
            ("src/core.ts", "export function run() {}\n"),
            ("src/extra/index.ts", "export const more = () => 1\n"),
            ("src/main.ts", "export default class App { go() {} }\n"),
            (
                "app.ts",
                "import { start, more, Main } from './src'\nimport * as all from './src/index'\nimport outside from 'react'\nstart(); more(); outside()\nnew Main().go()\nall.start()\n",
            ),
        ],
        &[
            ("app.ts", "start", "src/core.ts:1 run (Import)"),
            ("app.ts", "{ start, more", "src/extra/index.ts:1 more (Import)"),
            ("app.ts", "Main().go", "src/main.ts:1 go (Own)"),
            ("app.ts", "all.start", "src/core.ts:1 run (ModuleMember)"),
            ("app.ts", "more(); outside", "External"),
        ],
    );
}

#[test]
fn a_receiver_is_known_by_its_constructor_annotation_field_or_result() {
    let text = "class Base { close() {} }\nclass Store extends Base {\n  constructor(private readonly link: Link, public name = 'a') { super() }\n  open(): Link { return this.link }\n  run() { this.link.send(); this.close(); super.close() }\n}\ninterface Link { send(): void }\nconst store = new Store(null!)\nstore.open().send()\nfunction use(link?: Link) { link?.send() }\nasync function later(): Promise<Store> { return store }\nasync function end() { (await later()).open() }\n";
    check_resolved(
        &[("a.ts", text)],
        &[
            ("a.ts", "this.link.send", "a.ts:7 send (Field)"),
            ("a.ts", "this.close", "a.ts:1 close (Own)"),
            ("a.ts", "super.close", "a.ts:1 close (Own)"),
            ("a.ts", "store.open", "a.ts:4 open (Receiver)"),
            ("a.ts", "store.open().send", "a.ts:7 send (Result)"),
            ("a.ts", "link?.send", "a.ts:7 send (Receiver)"),
            ("a.ts", "(await later()).open", "a.ts:4 open (Result)"),
        ],
    );
}

#[test]
fn members_of_objects_enums_and_namespaces_are_found() {
    let text = "const tools = { run() {}, deep: { go: () => 1 } }\ntools.run()\ntools.deep.go()\nenum Color { Red }\nconst c = Color.Red\nnamespace Space { export function fly() {} ; fly() }\nSpace.fly()\n";
    check_resolved(
        &[("a.ts", text)],
        &[
            ("a.ts", "tools.run", "a.ts:1 run (Receiver)"),
            ("a.ts", "tools.deep.go", "a.ts:1 go (Field)"),
            ("a.ts", "Color.Red", "a.ts:4 Red (Own)"),
            ("a.ts", "Space.fly", "a.ts:6 fly (Own)"),
        ],
    );
}

#[test]
fn overloads_are_one_definition_with_the_function_that_has_a_body() {
    let text = "function get(a: number): A\nfunction get(a: string): A\nfunction get(a: any): A { return a }\ninterface A { run(a: number): void; run(a: string): void }\nget(1).run(2)\n";
    check_file(
        "a.ts",
        text,
        &[("\nget", "a.ts:3 get (Scope)"), ("get(1).run", "a.ts:4 run (Result)")],
    );
}

#[test]
fn a_getter_gives_its_result_and_a_method_named_get_does_not() {
    let text = "class A {\n  get next(): A { return this }\n  get(): A { return this }\n  static get first(): A { return new A() }\n}\nconst a = new A()\na.next.next\na.get.next\na.get().next\nA.first.get()\n";
    check_file(
        "a.ts",
        text,
        &[
            ("a.next.next", "a.ts:2 next (Result)"),
            ("a.get.next", "External"),
            ("a.get().next", "a.ts:2 next (Result)"),
            ("A.first.get", "a.ts:3 get (Result)"),
        ],
    );
}

#[test]
fn parameter_properties_are_fields() {
    let text = "class Link { send() {} }\nclass A {\n  constructor(private one: Link, readonly two: Link, three: Link) {}\n  run() { this.one.send(); this.two.send(); this.three.send() }\n}\n";
    check_file(
        "a.ts",
        text,
        &[
            ("this.one.send", "a.ts:1 send (Field)"),
            ("this.two.send", "a.ts:1 send (Field)"),
            ("this.three", "Unknown"),
        ],
    );
}

#[test]
fn destructured_names_are_members_of_the_value() {
    let text = "class A { run() {}; deep = new A() }\nconst { run, deep: { run: inner }, ...rest } = new A()\nrun()\nfunction go({ deep, run: other = 1 }: A, [first]: A[]) {\n  deep.run()\n  other()\n  first.run()\n}\n";
    check_file(
        "a.ts",
        text,
        &[
            ("\nrun", "Local"),
            ("  deep.run", "a.ts:1 run (Field)"),
            ("  other", "Local"),
            ("first.run", "Unknown"),
        ],
    );
}

#[test]
fn default_exports_are_found_by_any_name() {
    check_resolved(
        &[
            ("one.ts", "function run() {}\nexport default run\n"),
            ("two.ts", "export default class Named { go() {} }\n"),
            ("three.ts", "const made = { stop() {} }\nexport { made as default }\n"),
            ("four.ts", "export default () => 1\n"),
            (
                "main.ts",
                "import first from './one'\nimport Second from './two'\nimport third from './three'\nimport fourth from './four'\nfirst()\nnew Second().go()\nthird.stop()\nfourth()\n",
            ),
        ],
        &[
            ("main.ts", "\nfirst", "one.ts:1 run (Import)"),
            ("main.ts", "new Second", "two.ts:1 Named (Import)"),
            ("main.ts", "new Second().go", "two.ts:1 go (Own)"),
            ("main.ts", "third.stop", "three.ts:1 stop (Receiver)"),
            ("main.ts", "\nfourth", "Local"),
        ],
    );
}

#[test]
fn modules_are_exported_under_a_name() {
    check_resolved(
        &[
            ("index.ts", "export * as core from './core'\n"),
            ("core.ts", "export function run() {}\n"),
            (
                "main.ts",
                "import { core } from '.'\nimport lib = require('./core')\ncore.run()\nlib.run()\n",
            ),
        ],
        &[
            ("main.ts", "\ncore.run", "core.ts:1 run (ModuleMember)"),
            ("main.ts", "lib.run", "core.ts:1 run (ModuleMember)"),
        ],
    );
}

#[test]
fn components_are_called_and_plain_elements_are_not() {
    let text = "const Icon = () => <svg />\nconst Menu = { Item: () => <i>{Icon()}</i> }\nexport const page = <div><Icon size={Icon} {...Menu} /><Menu.Item>a</Menu.Item><icon /></div>\n";
    check_file(
        "a.tsx",
        text,
        &[
            ("<Icon", "a.tsx:1 Icon (Scope)"),
            ("<Menu.Item", "a.tsx:2 Item (Receiver)"),
            ("<icon", "no reference"),
        ],
    );
}

#[test]
fn an_assertion_gives_the_type_and_satisfies_the_value() {
    let text = "class A { run() {} }\nclass B extends A { stop() {} }\nconst one = load() as B\nconst two = new B() satisfies A\nconst three = { go() {} } as const\none.stop()\ntwo.stop()\nthree.go()\n;(load() as A).run()\nload()!.run()\n";
    check_file(
        "a.ts",
        text,
        &[
            ("one.stop", "a.ts:2 stop (Receiver)"),
            ("two.stop", "a.ts:2 stop (Receiver)"),
            ("three.go", "a.ts:5 go (Receiver)"),
            ("(load() as A).run", "a.ts:1 run (Receiver)"),
            ("load()!.run", "External"),
        ],
    );
}

#[test]
fn aliases_unions_and_generic_types_are_followed() {
    let text = "interface A { run(): void }\ninterface B { run(): void }\ntype Both = A | B\ntype Shape = { run(): void }\ntype Short = A\nfunction go(one: Both, two: Shape, three: Short, four: A[], five: Map<string, B>, six: Readonly<A>) {\n  one.run()\n  two.run()\n  three.run()\n  for (const each of four) each.run()\n  five.get('a').run()\n  six.run()\n  four.find(x => x).run()\n}\n";
    check_file(
        "a.ts",
        text,
        &[
            ("one.run", "a.ts:1 run, a.ts:2 run (Receiver)"),
            ("two.run", "a.ts:4 run (Receiver)"),
            ("three.run", "a.ts:1 run (Receiver)"),
            ("each.run", "a.ts:1 run (Receiver)"),
            ("five.get('a').run", "a.ts:2 run (Receiver)"),
            ("six.run", "a.ts:1 run (Receiver)"),
            ("four.find(x => x).run", "a.ts:1 run (Receiver)"),
        ],
    );
}

#[test]
fn names_of_types_are_resolved_where_they_are_written() {
    let text = "namespace Space { export interface Inner { go(): void } }\ninterface Base<T> extends Space.Inner { value: T }\nclass A implements Base<A> { }\nfunction use<T>(one: Base<T>, two: Space.Inner) { one.go(); two.go() }\n";
    check_file(
        "a.ts",
        text,
        &[
            ("extends Space.Inner", "a.ts:1 Inner (Own)"),
            ("implements Base", "a.ts:2 Base (Scope)"),
            ("Base<T", "no reference"),
            ("one.go", "a.ts:1 go (Receiver)"),
            ("two: Space.Inner", "a.ts:1 Inner (Own)"),
        ],
    );
}

#[test]
fn a_statement_that_cannot_be_read_does_not_cost_the_others() {
    let text = "function run() {}\nconst a = {\nfunction go() {\n  run()\n}\n";
    check_file("a.ts", text, &[("  run", "a.ts:1 run (Scope)")]);
}
