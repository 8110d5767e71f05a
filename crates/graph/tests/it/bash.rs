//! Rules of shells.

use super::check_resolved;

const MAIN: &str = r#"#!/bin/bash
source ./lib.sh
. "$(dirname "$0")/tools/more.sh"
\. "${ROOT}/shared.bash"
\. "$DIR/tools/never.$ext"
main() {
  local helper=1
  helper "$(inner a)" | filter
  if check; then FOO=1 shared; fi
  "$command" x; $helper
  grep x; alone; twice
  echo "text $(helper)"
  cat <<END
$(helper)
END
  nested() { helper; }
}
function helper { :; }
trap helper EXIT
nested
main "$@"
run -1 check
deep
"#;

const FILES: [(&str, &str); 6] = [
    ("bin/main.sh", MAIN),
    ("bin/lib.sh", "inner() { filter; }\nsource tools/more.sh\nsource lib.sh\n"),
    ("bin/tools/more.sh", "filter() { :; }\ncheck() { :; }\n. ../lib.sh\n. ./deep\n"),
    ("bin/tools/deep", "#!/bin/sh\ndeep() { inner; }\n"),
    ("shared.bash", "shared() { check; }\ntwice() { :; }\n"),
    ("other.sh", "alone() { :; }\nmain() { helper; }\ntwice() { :; }\nhelper\nshared\n"),
];

#[test]
fn commands_are_functions_of_the_file_and_of_what_it_sources() {
    let expected = [
        ("\n  helper", "bin/main.sh:18 helper (Scope)"),
        ("$(inner", "bin/lib.sh:1 inner (Import)"),
        ("| filter", "bin/tools/more.sh:1 filter (Import)"),
        ("if check", "bin/tools/more.sh:2 check (Import)"),
        ("FOO=1 shared", "shared.bash:1 shared (Import)"),
        ("text $(helper", "bin/main.sh:18 helper (Scope)"),
        ("\n$(helper", "bin/main.sh:18 helper (Scope)"),
        ("nested() { helper", "bin/main.sh:18 helper (Scope)"),
        ("\nnested", "bin/main.sh:16 nested (Scope)"),
        ("run -1 check", "bin/tools/more.sh:2 check (Import)"),
        ("\ndeep", "bin/tools/deep:2 deep (Import)"),
    ];
    check_resolved(&FILES, &expected.map(|(marked, result)| ("bin/main.sh", marked, result)));
}

#[test]
fn commands_of_the_system_and_of_variables_lead_nowhere() {
    let expected = [
        ("  grep", "External"),
        ("x; $helper", "no reference"),
        ("\n  \"$command", "no reference"),
    ];
    check_resolved(&FILES, &expected.map(|(marked, result)| ("bin/main.sh", marked, result)));
}

#[test]
fn functions_that_are_not_sourced_are_found_if_one_file_defines_them() {
    check_resolved(
        &FILES,
        &[
            ("bin/main.sh", "x; alone", "other.sh:1 alone (Word)"),
            ("bin/main.sh", "alone; twice", "shared.bash:2 twice (Import)"),
            ("bin/tools/deep", "{ inner", "bin/lib.sh:1 inner (Scope)"),
            ("shared.bash", "{ check", "bin/tools/more.sh:2 check (Scope)"),
            ("other.sh", "{ helper", "bin/main.sh:18 helper (Word)"),
            ("other.sh", "\nshared", "shared.bash:1 shared (Scope)"),
        ],
    );
}
