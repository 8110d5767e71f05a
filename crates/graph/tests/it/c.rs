//! Rules of C.

use super::check_resolved;

const MAIN: &str = "#include \"part.h\"
#include <app/tools.h>
#include <string.h>

static int count;
static void helper(int size) { size++; }
#define LIMIT(x) ((x) + count)
enum color { RED, GREEN };
typedef struct { struct point at; union { int low; int high; }; } box;
struct point { int x, *y; struct point *next; };
static box boxes[2] = { { .at = { .x = 1 } }, [1] = { .low = 2 } };

int main(int argc, char **argv) {
    box one = { .at = { .y = 0 } };
    struct part *part = make_part(argc);
    part->point.x = 1;
    part->point.next->next->x = RED;
    one.high = LIMIT(2);
    boxes[0].at.x = count;
    use_tool(part);
    helper(1);
    hidden(1);
    only_here();
    strlen(argv[0]);
    ((box *)argv)->low = sizeof(struct point);
    make_part(2)->size;
    part_list->size;
    int count = 1;
    run(count);
    opaque_of(part)->inner;
    return (argc ? &one : boxes)->low;
}
";

#[test]
fn names_come_from_the_file_its_includes_and_the_linker() {
    let files = [
        ("src/main.c", MAIN),
        (
            "src/part.h",
            "#include \"deep/point.h\"\nstruct part { struct point point; int size; };\nstruct part *make_part(int size);\nextern struct part *part_list;\ntypedef struct opaque opaque_t;\nopaque_t *opaque_of(struct part *part);\n",
        ),
        ("src/deep/point.h", "#include \"../part.h\"\nstruct other { int x; };\n"),
        (
            "src/part.c",
            "#include \"part.h\"\nstruct part *part_list;\nstruct opaque { int inner; };\nstatic void helper(void) {}\nstatic void hidden(int a) {}\nstruct part *\nmake_part(int size) { helper(); return 0; }\nvoid only_here(void) {}\nvoid twice(void) {}\n",
        ),
        ("src/other.c", "void twice(void) {}\nvoid run(int a) { twice(); }\n"),
        ("include/app/tools.h", "static inline void use_tool(void *tool) {}\n"),
        ("lib/string.h", "int strlen(char *text);\n"),
        ("other/part.h", "int make_part(void);\n"),
    ];
    check_resolved(
        &files,
        &[
            ("src/main.c", "make_part", "src/part.c:7 make_part (Import)"),
            ("src/main.c", "    struct part", "src/part.h:2 part (Import)"),
            ("src/main.c", "    use_tool", "include/app/tools.h:1 use_tool (Import)"),
            ("src/main.c", "    helper", "src/main.c:6 helper (Scope)"),
            ("src/main.c", "    hidden", "External"),
            ("src/main.c", "    only_here", "src/part.c:8 only_here (Scope)"),
            ("src/main.c", "    strlen", "External"),
            ("src/main.c", "    run", "src/other.c:2 run (Scope)"),
            ("src/main.c", "run(count", "Local"),
            ("src/main.c", "    part_list", "src/part.c:2 part_list (Import)"),
            ("src/main.c", "= LIMIT", "src/main.c:7 LIMIT (Scope)"),
            ("src/main.c", "->x = RED", "src/main.c:8 RED (Scope)"),
            ("src/part.c", "{ helper", "src/part.c:4 helper (Scope)"),
        ],
    );
}

#[test]
fn fields_are_found_through_pointers_typedefs_and_initializers() {
    let files = [
        ("src/main.c", MAIN),
        (
            "src/part.h",
            "struct part { struct point point; int size; };\nstruct part *make_part(int size);\nextern struct part *part_list;\nstruct opaque *opaque_of(struct part *part);\n",
        ),
        ("src/part.c", "struct opaque { int inner; };\n"),
    ];
    check_resolved(
        &files,
        &[
            ("src/main.c", "part->point.x", "src/main.c:10 x (Field)"),
            ("src/main.c", "{ .at = { .x", "src/main.c:10 x (Field)"),
            ("src/main.c", "[1] = { .low", "src/main.c:9 low (Own)"),
            ("src/main.c", "one.high", "src/main.c:9 high (Receiver)"),
            ("src/main.c", "boxes[0].at.x", "src/main.c:10 x (Field)"),
            ("src/main.c", "{ .at = { .y", "src/main.c:10 y (Field)"),
            ("src/main.c", "next->next->x", "src/main.c:10 x (Field)"),
            ("src/main.c", "(box *)argv)->low", "src/main.c:9 low (Own)"),
            ("src/main.c", "make_part(2)->size", "src/part.h:1 size (Result)"),
            ("src/main.c", "part_list->size", "src/part.h:1 size (Receiver)"),
            ("src/main.c", "opaque_of(part)->inner", "src/part.c:1 inner (Result)"),
            ("src/main.c", "boxes)->low", "src/main.c:9 low (Receiver)"),
        ],
    );
}

#[test]
fn a_variable_may_have_the_name_of_its_type() {
    let text = "typedef struct list { int size; } list;\nint go(list *list, int (*visit)(struct list *one)) {\n  { list *list; list->size = 1; }\n  return list->size; }\n";
    super::check_file(
        "a.c",
        text,
        &[
            ("return list->size", "a.c:1 size (Receiver)"),
            ("{ list *list; list->size", "a.c:1 size (Receiver)"),
            ("(struct list", "a.c:1 list (Scope)"),
        ],
    );
}

#[test]
fn a_name_between_brackets_may_be_that_of_the_only_file_with_it() {
    let files = [
        (
            "src/a.c",
            "#include <sds.h>\n#include <time.h>\n#include <twice.h>\nint run(void) {\n  sdsnew(); now();\n  pair(); }\n",
        ),
        ("deps/x/sds.h", "#define sdsnew() 1\n"),
        ("deps/x/time.h", "#define now() 1\n"),
        ("deps/x/twice.h", "#define pair() 1\n"),
        ("deps/y/twice.h", "#define pair() 2\n"),
    ];
    check_resolved(
        &files,
        &[
            ("src/a.c", "  sdsnew", "deps/x/sds.h:1 sdsnew (Import)"),
            // `time.h` is a header of the library.
            ("src/a.c", " now", "deps/x/time.h:1 now (Scope)"),
        ],
    );
}

#[test]
fn files_for_other_systems_are_included_last() {
    let files = [
        (
            "src/a.c",
            "#ifdef _WIN32\n#include \"win.h\"\n#else\n#include \"unix.h\"\n#endif\n#ifndef _WIN32\n#include \"more.h\"\n#endif\n#if !defined(_WIN32)\n#include \"last.h\"\n#endif\nhandle one;\nint run(void) {\n  only_there(); other(); third(); }\n",
        ),
        ("src/last.h", "#define third() 4\n"),
        (
            "src/win.h",
            "typedef void *handle;\n#define only_there() 1\n#define other() 2\n#define third() 2\n",
        ),
        ("src/unix.h", "typedef int handle;\n"),
        ("src/more.h", "#define other() 3\n"),
    ];
    check_resolved(
        &files,
        &[
            ("src/a.c", "#endif\nhandle", "src/unix.h:1 handle (Import)"),
            ("src/a.c", "  only_there", "src/win.h:2 only_there (Import)"),
            ("src/a.c", " other", "src/more.h:1 other (Import)"),
            ("src/a.c", " third", "src/last.h:1 third (Import)"),
        ],
    );
}
