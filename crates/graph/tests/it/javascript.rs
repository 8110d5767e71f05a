//! Rules of JavaScript.

use super::{check_file, check_resolved};

#[test]
fn modules_of_node_are_followed() {
    check_resolved(
        &[
            ("lib/a.js", "function run() {}\nmodule.exports = { run }\n"),
            ("main.js", "const a = require('./lib/a')\na.run()\n"),
        ],
        &[("main.js", "a.run", "lib/a.js:1 run (ModuleMember)")],
    );
}

#[test]
fn names_exported_one_by_one_are_found() {
    check_resolved(
        &[
            ("lib/a.js", "function run() {}\nexports.run = run\nexports.go = run\n"),
            ("main.js", "const a = require('./lib/a.js')\na.run()\na.go()\n"),
        ],
        &[
            ("main.js", "a.run", "lib/a.js:1 run (ModuleMember)"),
            ("main.js", "a.go", "lib/a.js:1 run (ModuleMember)"),
        ],
    );
}

#[test]
fn fields_that_methods_assign_are_found() {
    let text = "class Link { send() {} }\nclass A extends Link {\n  constructor() { super(); this.link = new Link() }\n  run() { this.link.send(); this.send(); const { link } = this; link.send() }\n}\n";
    check_file(
        "a.js",
        text,
        &[
            ("this.link.send", "a.js:1 send (Field)"),
            ("this.send", "a.js:1 send (Own)"),
            ("; link.send", "a.js:1 send (Field)"),
        ],
    );
}

#[test]
fn loops_and_caught_errors_bind_their_own_names() {
    let text = "const item = 1\nfor (const item of rows) { use(item) }\nfor (let item = 0; ;) { call(item) }\ntry { } catch (item) { show(item) }\nend(item)\n";
    check_file(
        "a.js",
        text,
        &[
            ("use(item", "Local"),
            ("call(item", "Local"),
            ("show(item", "Local"),
            ("end(item", "a.js:1 item (Scope)"),
        ],
    );
}

#[test]
fn this_of_an_object_is_the_object() {
    let text = "const tools = { run() { this.go(); this.missing() }, go() {} }\n";
    check_file("a.js", text, &[("this.go", "a.js:1 go (Own)"), ("this.missing", "Unknown")]);
}

#[test]
fn what_a_module_is_assigned_is_what_it_exports() {
    check_resolved(
        &[
            ("lib/a.js", "function make() {}\nmake.deep = 1\nmodule.exports = make\n"),
            ("lib/b.js", "exports.run = () => 1\n"),
            (
                "main.js",
                "const make = require('./lib/a')\nconst { run, other: go } = require('./lib/b')\nmake()\nrun()\n",
            ),
        ],
        &[("main.js", "\nmake", "lib/a.js:1 make (Import)"), ("main.js", "\nrun", "Local")],
    );
}
