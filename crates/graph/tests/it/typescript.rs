//! Rules of JavaScript and TypeScript.

use super::check;

#[test]
fn block_scopes_hide_names_of_the_same_spelling() {
    let text = "test(() => {\n  const handler = () => 1\n  handler()\n})\ntest(() => {\n  const handler = () => 2\n  return handler\n})\n";
    check(&[("a.ts", text)], &[("a.ts", "return handler", "a.ts:6 handler (Scope)")]);
}

#[test]
fn imports_are_followed_through_re_exports_defaults_and_stars() {
    check(
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
    check(
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
    check(
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
fn modules_of_node_are_followed() {
    check(
        &[
            ("lib/a.js", "function run() {}\nmodule.exports = { run }\n"),
            ("main.js", "const a = require('./lib/a')\na.run()\n"),
        ],
        &[("main.js", "a.run", "lib/a.js:1 run (ModuleMember)")],
    );
}
