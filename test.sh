#!/bin/sh
# Checks within a second that everything is there that the tests need, then runs them; arguments are those of
# `cargo test`. On Debian or Ubuntu it installs what is missing where it may, elsewhere it prints the line that does.
# With `--check` it ends there. SKIP_BROWSER_TESTS=1 and SKIP_PACKAGE_TESTS=1 leave out what needs a browser, or packages
# of npm, pip or Debian, and say so.
set -eu
cd "$(dirname "$0")"
missing=
packages=
has() {
	for name; do command -v "$name" >/dev/null && return; done
	return 1
}
lack() {
	missing="$missing${missing:+, }$1"
	packages="$packages $2"
}
# Lists the modules of tests/e2e that match a pattern.
list_modules() {
	grep -rlE "$1" tests/e2e --include='*.rs' | sed -n 's,^tests/e2e/\([a-z_]*\)[./].*,\1,p' | grep -vxE 'support|main' | sort -u
}
skips=
# Leaves out modules where a variable allows it: NAME VALUE WHAT PATTERN.
skip_if_set() {
	[ -n "$2" ] && [ "$2" != 0 ] || return 1
	for module in $(list_modules "$4"); do skips="$skips --skip $module::"; done
	echo "Left out, as $1 is set: the tests that need $3." >&2
}
has cc && has make || lack "a C compiler with make" build-essential
has git || lack git git
skip_if_set SKIP_BROWSER_TESTS "${SKIP_BROWSER_TESTS-}" "a browser" '[bB]rowser::' ||
	has chromium chromium-browser google-chrome google-chrome-stable || lack "Chromium or Chrome" "chromium fonts-liberation"
skip_if_set SKIP_PACKAGE_TESTS "${SKIP_PACKAGE_TESTS-}" "packages of npm, pip or Debian" \
	'codex::(codex_binary|codex_environment|write_codex_home|write_wrapper|shim_folder)|Harness::|with_codex|install::(install_|unpack_|find_node)|compose::|container::|(npm|python)_toolkit_spec' || {
	has npm || lack npm npm
	python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
		lack "Python 3.11 with pip and venv" python3-venv
	has curl || lack curl curl
	has jq || lack jq jq
}
has script || lack script bsdutils
has ps pkill || lack ps procps
if [ -n "$missing" ]; then
	echo "The tests need what is not here: $missing." >&2
	install="apt-get install --yes --no-install-recommends$packages"
	as_root=
	if has apt-get && [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
	if ! has apt-get || ! $as_root true 2>/dev/null; then
		echo "On Debian or Ubuntu this installs it, as root: apt-get update && $install" >&2
		exit 1
	fi
	$as_root apt-get --quiet=2 update >&2
	$as_root env DEBIAN_FRONTEND=noninteractive $install >&2
fi
if ! has cargo; then
	echo "The tests need Rust 1.95, with cargo on the PATH." >&2
	exit 1
fi
[ "${1-}" != --check ] || exit 0
if [ -n "$skips" ]; then
	case " $* " in *" -- "*) ;; *) set -- "$@" -- ;; esac
fi
exec cargo test --locked "$@" $skips
