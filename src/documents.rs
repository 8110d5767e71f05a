//! Documents for users, which are built into the program.

/// Includes pages of `docs/` by name.
macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../docs/", $name, ".md")))),*]
    };
}

pub(crate) const PAGES: [(&str, &str); 18] = pages! {
    "capacity", "check", "clients", "codex", "containers", "embedding", "failures", "http-api",
    "indexing", "install", "mcp", "packages", "page", "page-api", "qdrant", "settings", "stdio",
    "toolkits"
};

pub(crate) fn find_document(name: &str) -> Option<&'static str> {
    PAGES.iter().find(|(page, _)| *page == name).map(|(_, text)| *text)
}

pub(crate) fn find_title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// Pages for contributors, which the program does not print; folders below `docs/` are for them as well.
    const FOR_BUILDERS: [&str; 2] = ["development", "glossary"];

    #[test]
    fn every_page_for_users_is_printed() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let files = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = files
            .map(|name| name.into_string().unwrap())
            .filter_map(|name| name.split_once('.').map(|(stem, _)| stem.to_owned()))
            .collect();
        names.sort();
        names.retain(|name| !FOR_BUILDERS.contains(&name.as_str()));
        assert_eq!(names, PAGES.map(|(name, _)| name));
        assert!(
            PAGES.iter().all(|(_, text)| text.starts_with('#') && !find_title(text).is_empty())
        );
    }
}
