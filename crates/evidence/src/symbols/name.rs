//! Reads the name of a definition as people and models write it.

use codeinfo_lang::{
    detect,
    references::{FOLDER_MODULES, list_possible_names},
};

use super::super::resolve::split_lines;

const SEPARATORS: &[char] = &['.', ':', '>', '#', '/', '\\'];

/// Name of a definition: `open`, `Store.open`, `store::Store::open()`, `src/store.py:Store.open`,
/// or the place of one, `src/store.py:12`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SymbolName {
    /// A name with the parts before it, outermost first, perhaps in files whose paths end so.
    Named {
        path: Option<String>,
        qualifiers: Vec<String>,
        name: String,
    },
    AtLine {
        path: String,
        line: u32,
    },
}

impl SymbolName {
    pub(super) fn parse(text: &str) -> Self {
        if let Some((path, line, _)) = split_lines(text) {
            return Self::AtLine { path: path.trim_matches('`').to_owned(), line };
        }
        let written = text.trim().trim_matches('`');
        if let Some((path, name)) = split_path(written) {
            let Self::Named { qualifiers, name, .. } = Self::parse_name(name) else {
                return Self::parse_name(name);
            };
            return Self::Named { path: Some(path.to_owned()), qualifiers, name };
        }
        Self::parse_name(written)
    }

    fn parse_name(text: &str) -> Self {
        let readings = list_possible_names(text);
        let name = readings.last().copied().unwrap_or_default().to_owned();
        let whole = readings.iter().rev().nth(1).copied().unwrap_or_default();
        // `Context.json` looks like the name of a file.
        let (whole, name) = match name.rsplit_once(SEPARATORS) {
            Some((_, last)) if !last.is_empty() => (name.as_str(), last.to_owned()),
            _ => (whole, name.clone()),
        };
        let before = whole.strip_suffix(&*name).unwrap_or_default();
        let parts = before.split(SEPARATORS).map(|part| part.trim().trim_end_matches('-'));
        let named = parts.filter(|part| !part.is_empty());
        let qualifiers = named
            .map(|part| part.split('<').next().unwrap_or(part).trim_start_matches('$').to_owned());
        Self::Named { path: None, qualifiers: qualifiers.collect(), name }
    }

    /// Returns true if the name may mean the last of `names`, outermost first, in a file.
    pub(super) fn fits(&self, file: &str, names: &[&str]) -> bool {
        let Self::Named { path, qualifiers, name } = self else { return false };
        let Some((own_name, outer)) = names.split_last() else { return false };
        let is_in_file = path.as_ref().is_none_or(|path| {
            let rest = file.strip_suffix(path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        });
        if own_name != name || !is_in_file {
            return false;
        }
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let modules = stem.split('/').filter(|part| !FOLDER_MODULES.contains(part));
        let known: Vec<&str> = modules.chain(outer.iter().copied()).collect();
        let mut rest = known.as_slice();
        // The qualifiers must occur in this order, so that re-exports may leave out modules.
        let all_occur = qualifiers.iter().all(|qualifier| {
            let place = rest.iter().position(|part| part == qualifier);
            rest = place.and_then(|place| rest.get(place + 1..)).unwrap_or_default();
            place.is_some()
        });
        let innermost = qualifiers.last();
        all_occur
            && (outer.is_empty() || innermost.is_none_or(|last| known.last() == Some(&&**last)))
    }
}

/// Splits `src/store.py:Store.open` after the path.
fn split_path(text: &str) -> Option<(&str, &str)> {
    let (path, rest) = text.split_once(':')?;
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = rest.trim_start_matches(':');
    (detect::is_file_name(file) && !name.is_empty()).then_some((path, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fit(text: &str, file: &str, names: &[&str], expected: bool) {
        assert_eq!(SymbolName::parse(text).fits(file, names), expected, "{text} {file} {names:?}");
    }

    #[test]
    fn names_fit_definitions_by_their_qualifiers() {
        let store = ("src/store.py", &["Store", "open"][..]);
        for text in [
            "open",
            "Store.open",
            "Store::open",
            "Store#open",
            "store.Store.open",
            "`Store.open()`",
            "src.store.Store.open",
            "Store->open",
            "src/store.py:Store.open",
            "store.py::Store::open",
            "store.py:open",
            "Store<K>.open",
        ] {
            check_fit(text, store.0, store.1, true);
        }
        for text in
            ["Door.open", "store.open", "opens", "door.py:Store.open", "ore.py:open", "Store"]
        {
            check_fit(text, store.0, store.1, false);
        }
        check_fit("Context.json", "src/context.ts", &["Context", "json"], true);
        check_fit("httpx.Client", "httpx/_client.py", &["Client"], true);
        check_fit("codeinfo.run", "src/run/mod.rs", &["run"], false);
        check_fit("run::run", "src/run/mod.rs", &["run"], true);
    }

    #[test]
    fn a_place_is_no_name() {
        let place = SymbolName::AtLine { path: "src/store.py".to_owned(), line: 12 };
        assert_eq!(SymbolName::parse("src/store.py:12"), place);
    }
}
