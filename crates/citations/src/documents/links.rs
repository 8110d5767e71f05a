//! Checks the targets of links of a document: files, folders and headings of its repository.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::target::find_candidate_paths;
use crate::{markdown::MarkdownPage, tree::DocumentTree};

/// Anchors of the documents that links lead to, by path.
type AnchorCache = RefCell<HashMap<String, Rc<HashSet<String>>>>;

#[derive(Default)]
pub(super) struct LinkChecker {
    anchors: AnchorCache,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// A file or folder, by its path relative to the root.
    Found(String),
    Missing(String),
    /// A target out of the repository, generated or ignored.
    External,
}

impl LinkChecker {
    pub(super) fn follow_link(
        &self,
        tree: &DocumentTree,
        document: &str,
        page: &MarkdownPage,
        target: &str,
    ) -> LinkTarget {
        let is_pattern = target.contains(['{', '}', '<', '>', '*', '$']) || target.contains("...");
        if target.is_empty() || is_pattern || target.starts_with("//") || has_scheme(target) {
            return LinkTarget::External;
        }
        let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
        let file = decode_percent(file.split('?').next().unwrap_or(file));
        let found = if file.is_empty() {
            document.to_owned()
        } else {
            let candidates = find_candidate_paths(document, &file);
            let Some(first) = candidates.first() else { return LinkTarget::External };
            match candidates.iter().find(|path| tree.path_exists(path)) {
                Some(found) => found.clone(),
                None if tree.is_ignored(first) || is_generated_page(tree, &candidates) => {
                    return LinkTarget::External;
                }
                None => return LinkTarget::Missing(describe_missing_file(tree, &file)),
            }
        };
        let fragment = decode_percent(fragment);
        let is_own = found == document;
        let is_page = is_own || tree.has_file(&found) && is_markdown(&found);
        if fragment.is_empty() || !is_page || is_line(&fragment) {
            return LinkTarget::Found(found);
        }
        let own = is_own.then_some(page);
        if self.has_anchor(tree, &found, own, &fragment) {
            return LinkTarget::Found(found);
        }
        LinkTarget::Missing(format!("`{found}` has no heading of this name"))
    }

    fn has_anchor(
        &self,
        tree: &DocumentTree,
        path: &str,
        page: Option<&MarkdownPage>,
        anchor: &str,
    ) -> bool {
        let has = |anchors: &HashSet<String>| {
            anchors.contains(anchor) || anchors.contains(&anchor.to_lowercase())
        };
        if let Some(page) = page {
            return has(&page.anchors);
        }
        let known = self.anchors.borrow().get(path).cloned();
        let anchors = known.unwrap_or_else(|| {
            let page =
                tree.read_text(path).map(|text| MarkdownPage::parse(&text)).unwrap_or_default();
            let anchors = Rc::new(page.anchors);
            self.anchors.borrow_mut().insert(path.to_owned(), Rc::clone(&anchors));
            anchors
        });
        has(&anchors)
    }
}

/// Describes a missing file, with the path of the only file of the same name.
pub(super) fn describe_missing_file(tree: &DocumentTree, path: &str) -> String {
    let mut similar = tree.files_named_like(path);
    match (similar.next(), similar.next()) {
        (Some(only), None) => format!("no such file; `{only}` has the name"),
        _ => "no such file".to_owned(),
    }
}

/// Returns whether one of these paths is a page that a site generator makes of a document.
fn is_generated_page(tree: &DocumentTree, paths: &[String]) -> bool {
    let mut pages = paths.iter().filter_map(|path| path.strip_suffix(".html"));
    pages.any(|stem| tree.has_file(&format!("{stem}.md")))
}

/// Returns whether a file name is that of a Markdown document.
pub fn is_markdown(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    matches!(extension.as_deref(), Some("md" | "markdown"))
}

fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

/// Returns whether a fragment names lines, as in `#L12-L40`.
fn is_line(fragment: &str) -> bool {
    fragment.strip_prefix('L').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Decodes percent escapes such as `%20`, if the result is text.
fn decode_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_decoded_and_told_apart() {
        assert_eq!(decode_percent("a%20b%C3%A9%zz%"), "a bé%zz%");
        assert_eq!(decode_percent("%ff"), "%ff");
        for target in ["https://x", "mailto:a@b", "vscode+x://y"] {
            assert!(has_scheme(target), "{target}");
        }
        for target in ["a/b:3", "src/x.rs", ":x", "a.md"] {
            assert!(!has_scheme(target), "{target}");
        }
        assert!(is_line("L12-L40") && !is_line("Limits") && is_markdown("a/B.MD"));
    }
}
