//! Documents for users, which are built into the program.

/// Pages by name, without the one for contributors.
pub(crate) const PAGES: [(&str, &str); 16] = [
    ("capacity", include_str!("../docs/capacity.md")),
    ("check", include_str!("../docs/check.md")),
    ("clients", include_str!("../docs/clients.md")),
    ("codex", include_str!("../docs/codex.md")),
    ("containers", include_str!("../docs/containers.md")),
    ("embedding", include_str!("../docs/embedding.md")),
    ("failures", include_str!("../docs/failures.md")),
    ("http-api", include_str!("../docs/http-api.md")),
    ("indexing", include_str!("../docs/indexing.md")),
    ("install", include_str!("../docs/install.md")),
    ("packages", include_str!("../docs/packages.md")),
    ("page", include_str!("../docs/page.md")),
    ("qdrant", include_str!("../docs/qdrant.md")),
    ("settings", include_str!("../docs/settings.md")),
    ("stdio", include_str!("../docs/stdio.md")),
    ("toolkits", include_str!("../docs/toolkits.md")),
];

pub(crate) fn find_document(name: &str) -> Option<&'static str> {
    PAGES.iter().find(|(page, _)| *page == name).map(|(_, text)| *text)
}

pub(crate) fn find_title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{PAGES, find_title};

    #[test]
    fn every_page_for_users_is_printed() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let files = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = files
            .map(|name| name.into_string().unwrap())
            .filter_map(|name| name.split_once('.').map(|(stem, _)| stem.to_owned()))
            .collect();
        names.sort();
        names.retain(|name| name != "development");
        assert_eq!(names, PAGES.map(|(name, _)| name));
        assert!(
            PAGES.iter().all(|(_, text)| text.starts_with('#') && !find_title(text).is_empty())
        );
    }
}
