#!/bin/sh
# Checks within a second that everything is there that the tests need, then runs them; arguments are those of
# `cargo test`. Where it is root on Debian or Ubuntu it installs what is missing, elsewhere it prints the line that
# does. With `--check` it ends there.
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
has cc && has make || lack "a C compiler with make" build-essential
has git || lack git git
has chromium chromium-browser google-chrome google-chrome-stable || lack "Chromium or Chrome" "chromium fonts-liberation"
has npm || lack npm npm
python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
	lack "Python 3.11 with pip and venv" python3-venv
has script || lack script bsdutils
has ps pkill || lack ps procps
if [ -n "$missing" ]; then
	echo "The tests need what is not here: $missing." >&2
	install="apt-get install --yes --no-install-recommends$packages"
	if ! { has apt-get && [ "$(id -u)" -eq 0 ]; }; then
		echo "On Debian or Ubuntu this installs it, as root: apt-get update && $install" >&2
		exit 1
	fi
	apt-get --quiet=2 update
	DEBIAN_FRONTEND=noninteractive $install >&2
fi
if ! has cargo; then
	echo "The tests need Rust: https://rustup.rs installs it." >&2
	exit 1
fi
[ "${1-}" = --check ] || exec cargo test --locked "$@"
