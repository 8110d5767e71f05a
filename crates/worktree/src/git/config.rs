//! Reads values and the web addresses of remotes from the configuration of a repository.

use url::Url;

/// Returns the value of a key. If the key occurs more than once, the last value counts.
pub(super) fn find_value(config: &str, section: &str, key: &str) -> Option<String> {
    let is_wanted = |(around, name, _): &(&str, &str, &str)| {
        around.eq_ignore_ascii_case(section) && name.eq_ignore_ascii_case(key)
    };
    let last = list_entries(config).filter(is_wanted).last();
    last.map(|(_, _, value)| unquote_value(value))
}

fn list_entries(config: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut section = "";
    config.lines().map(str::trim).filter_map(move |line| {
        if let Some(head) = line.strip_prefix('[') {
            section = head.split(']').next().unwrap_or_default().trim();
            return None;
        }
        let (key, value) = line.split_once('=')?;
        Some((section, key.trim(), value.trim()))
    })
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

/// Returns the web address of `origin`, or else of the first remote with a web address.
pub(super) fn find_web_remote(config: &str) -> Option<Url> {
    let mut first = None;
    for (section, _, value) in list_entries(config).filter(|(_, key, _)| *key == "url") {
        let Some(name) = section.strip_prefix("remote") else { continue };
        let Some(address) = web_address(value.trim_matches('"')) else { continue };
        if name.trim().trim_matches('"') == "origin" {
            return Some(address);
        }
        first.get_or_insert(address);
    }
    first
}

/// Converts a remote's address to a web address, without credentials; `None` for other remotes.
pub fn web_address(remote: &str) -> Option<Url> {
    let (host, path) = match remote.split_once("://") {
        Some(("https" | "http" | "ssh" | "git" | "git+ssh", _)) => {
            let address = Url::parse(remote).ok()?;
            // Ports of SSH and git services differ from the web server's, so only HTTP's are kept.
            let port = address.port().filter(|_| address.scheme().starts_with("http"));
            let name = address.host_str()?;
            let host = port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
            (host, address.path().to_owned())
        }
        Some(_) => return None,
        // `git@host:owner/name`. A host of one letter would be a Windows drive.
        None => {
            let (login, path) = remote.split_once(':')?;
            let host = login.rsplit('@').next()?;
            let is_host = host.len() > 1
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
            is_host.then(|| (host.to_owned(), path.to_owned()))?
        }
    };
    let whole = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = whole.strip_suffix(".git").unwrap_or(whole);
    if path.is_empty() || host.starts_with('.') {
        return None;
    }
    let scheme = if remote.starts_with("http://") { "http" } else { "https" };
    let mut address = Url::parse(&format!("{scheme}://{host}/")).ok()?;
    // Characters that are already percent-encoded do not change.
    address.set_path(path);
    Some(address)
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

    #[test]
    fn remotes_become_addresses_of_the_web() {
        for (given, expected) in [
            ("https://github.com/o/r.git", Some("https://github.com/o/r")),
            ("https://me:secret@git.example:8443/a/b/c", Some("https://git.example:8443/a/b/c")),
            ("http://git.example/r/", Some("http://git.example/r")),
            ("git@github.com:o/r.git", Some("https://github.com/o/r")),
            ("ssh://git@gitlab.com:2222/o/r.git", Some("https://gitlab.com/o/r")),
            ("git@host:o/a b?token=x", Some("https://host/o/a%20b")),
            ("https://host/o/a%20b.git#x", Some("https://host/o/a%20b")),
            ("javascript:alert(1)", Some("https://javascript/alert(1)")),
            ("/srv/git/r.git", None),
            ("file:///srv/r", None),
            ("C:\\r", None),
            ("../r", None),
            ("git@ho st:o/r", None),
            ("https://", None),
            ("git@host:", None),
        ] {
            let found = web_address(given).map(String::from);
            assert_eq!(found.as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn origin_is_before_other_remotes() {
        let config = "[core]\n\turl = https://no/no\n[remote \"fork\"]\n\turl = git@b.example:f/r\n\
                      [remote \"origin\"]\n\tfetch = x\n\turl=https://a.example/o/r\n";
        assert_eq!(find_web_remote(config).unwrap().as_str(), "https://a.example/o/r");
        let (fork, _) = config.split_once("[remote \"origin\"]").unwrap();
        assert_eq!(find_web_remote(fork).unwrap().as_str(), "https://b.example/f/r");
        assert_eq!(find_web_remote("[remote \"origin\"]\nurlx = https://a.example/o\n"), None);
    }
}
