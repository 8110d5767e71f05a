//! Reads the name of a package from its manifest: `go.mod` or `Cargo.toml`.

use super::builder::MAX_NAME_BYTES;
use crate::SourceFacts;

/// Maximum lines of a manifest before the name of the package.
const MAX_LINES: usize = 200;

/// Returns facts whose namespace is the package that a manifest names; `None` for other texts.
pub(super) fn extract_package_name(text: &str) -> Option<SourceFacts> {
    let mut is_package = false;
    for raw_line in text.lines().take(MAX_LINES) {
        let line = raw_line.trim();
        if let Some(module) = line.strip_prefix("module ") {
            return make_facts(module.trim());
        }
        if line.starts_with('[') {
            is_package = line == "[package]";
        } else if is_package && let Some(value) = line.strip_prefix("name") {
            let name = value.trim_start().strip_prefix('=')?.trim();
            return make_facts(name.trim_matches(['"', '\'']));
        }
    }
    None
}

fn make_facts(namespace: &str) -> Option<SourceFacts> {
    let is_name = !namespace.is_empty() && namespace.len() <= MAX_NAME_BYTES;
    is_name.then(|| SourceFacts { namespace: namespace.to_owned(), ..SourceFacts::default() })
}
