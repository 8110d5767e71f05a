//! Reads values from the configuration of a repository.

/// Returns the value of a key. If the key occurs more than once, the last value counts.
pub(super) fn find_value(config: &str, section: &str, key: &str) -> Option<String> {
    let mut is_inside = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let name = head.split(']').next().unwrap_or_default();
            is_inside = name.trim().eq_ignore_ascii_case(section);
        } else if let Some((name, value)) = line.split_once('=')
            && is_inside
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = Some(unquote_value(value.trim()));
        }
    }
    found
}

fn unquote_value(value: &str) -> String {
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {}
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_writes_them() {
        let config = "[core]\n\tbare = false\n\tworktree = ../first\n\tWorktree = \"/a/b\\\"c#d \\\\e\"\n\
                      [remote \"core\"]\n\tworktree = no\n[extensions]\n\tobjectFormat=sha256\n";
        let value = |section: &str, key: &str| find_value(config, section, key);
        assert_eq!(value("core", "worktree").as_deref(), Some("/a/b\"c#d \\e"));
        assert_eq!(value("extensions", "objectformat").as_deref(), Some("sha256"));
        assert_eq!(value("remote", "worktree"), None);
    }
}
