//! Values whose type follows from the code around them.

use super::{check_file, check_resolved};

#[test]
fn members_of_objects_are_those_of_the_type_that_is_expected() {
    let text = "interface Plugin { name: string; run(): void }\nfunction use(first: number, plugin: Plugin): Plugin { return { name: 'b', run() {} } }\nconst one: Plugin = { name: 'a', run }\nuse(1, { name: 'c', run: () => 2 })\nfunction run() {}\nconst other = { title: 'd' }\n";
    check_file(
        "a.ts",
        text,
        &[
            ("return { name", "a.ts:1 name (Receiver)"),
            ("= { name", "a.ts:1 name (Receiver)"),
            ("(1, { name", "a.ts:1 name (Argument)"),
            ("= { title", "no reference"),
        ],
    );
}

#[test]
fn a_callback_has_the_parameters_of_the_type_that_is_expected() {
    let text = "class Context { send() {} }\ntype Handler = (context: Context) => void\nfunction on(name: string, handler: Handler) {}\nfunction each(visit: (one: Context, two: number) => void): void\nfunction each(visit: any) {}\non('a', context => context.send())\neach((one, two) => { one.send(); two.send() })\nlist.map(item => item.send())\nconst all: Context[] = []\nall.forEach(known => known.send())\n";
    check_file(
        "a.ts",
        text,
        &[
            ("=> context.send", "a.ts:1 send (Argument)"),
            ("{ one.send", "a.ts:1 send (Argument)"),
            ("two.send", "External"),
            ("item.send", "Unknown"),
            ("known.send", "a.ts:1 send (Argument)"),
        ],
    );
}

#[test]
fn methods_of_an_object_are_no_names_and_its_values_keep_this() {
    let text = "function render() {}\nclass A {\n  go() { return use({ render() { this.go() }, size: this.go() }) }\n}\nrender()\n";
    check_file(
        "a.ts",
        text,
        &[
            ("\nrender", "a.ts:1 render (Scope)"),
            ("{ this.go", "Unknown"),
            ("size: this.go", "a.ts:3 go (Own)"),
        ],
    );
}

#[test]
fn returned_objects_and_inline_types_have_members() {
    let text = "function make() { return { root: 1, deep: { run() {} } } }\nconst { root } = make()\nmake().deep.run()\nfunction go(options: { size: number }) { return options.size }\nsize\nclass Bad { static errors = { missing: 1 } }\nBad.errors.missing\n";
    check_file(
        "a.ts",
        text,
        &[
            ("const { root", "a.ts:1 root (Inferred)"),
            ("make().deep.run", "a.ts:1 run (Inferred)"),
            ("options.size", "a.ts:4 size (Receiver)"),
            ("\nsize", "External"),
            ("Bad.errors.missing", "a.ts:6 missing (Field)"),
        ],
    );
}

#[test]
fn attributes_are_members_of_what_a_component_takes() {
    let text = "type Props = { onOpen: () => void }\nconst Menu = (props: Props) => <i />\nexport const page = <Menu onOpen={() => 1} other=\"a\"><i onOpen=\"b\" /></Menu>\n";
    check_file(
        "a.tsx",
        text,
        &[
            ("Menu onOpen", "a.tsx:1 onOpen (Argument)"),
            (" other", "Unknown"),
            ("<i onOpen", "no reference"),
            ("</Menu", "no reference"),
        ],
    );
}

#[test]
fn types_of_types_and_declarations_beside_a_function_are_followed() {
    let text = "interface A { run(): void; deep: B }\ninterface B { stop(): void }\ntype Without<T, K> = Omit<T, K>\nfunction get(one: string): A\nfunction get(one: any) { return other }\nfunction go(one: Without<A, 'x'>, two: A & B, three: A['deep'], four: typeof known) {\n  one.run(); two.stop(); three.stop(); four.run()\n}\nconst known: A = get('a')\nget('b').run()\n";
    check_file(
        "a.ts",
        text,
        &[
            ("one.run", "a.ts:1 run (Receiver)"),
            ("two.stop", "a.ts:2 stop (Receiver)"),
            ("three.stop", "a.ts:2 stop (Field)"),
            ("four.run", "a.ts:1 run (Receiver)"),
            ("get('b').run", "a.ts:1 run (Result)"),
        ],
    );
}

#[test]
fn names_of_declaration_files_without_exports_are_global() {
    check_resolved(
        &[
            (
                "global.d.ts",
                "declare let DEBUG: boolean\ndeclare module 'x' { export let inner: 1 }\n",
            ),
            ("module.d.ts", "export declare let hidden: boolean\n"),
            ("a.ts", "if (DEBUG) hidden\n"),
        ],
        &[("a.ts", "(DEBUG", "global.d.ts:1 DEBUG (Scope)"), ("a.ts", " hidden", "External")],
    );
}
