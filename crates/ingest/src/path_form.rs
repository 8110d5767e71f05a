//! Explains inputs that are not paths of folders here: URLs, `~`, variables, paths of another
//! system. Pure.

use url::Url;

/// Forges whose names are often given without `https://`.
const FORGES: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];

/// Explains the form of a path and the correct one; returns `None` if the form is valid.
pub fn explain_form(path: &str) -> Option<String> {
    let starts =
        |start: &str| path.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if starts("file:") {
        let file_path = Url::parse(path).ok().and_then(|url| url.to_file_path().ok());
        let folder = file_path.map_or("/srv/app".into(), |folder| folder.display().to_string());
        return Some(format!("is a URL; give the path alone, such as `{folder}`"));
    }
    if is_remote(path) {
        return Some(format!(
            "is the address of a repository; clone it first: `git clone {path}`, then give the folder, as in \
             `codeinfo ingest FOLDER`"
        ));
    }
    if path.starts_with('~') {
        return Some("begins with `~`, which shells replace where it is not quoted; give the whole path, such as `/home/me/app`".to_owned());
    }
    if path.starts_with(['$', '%']) {
        return Some("begins with a variable, which shells replace; give the whole path, such as `/home/me/app`".to_owned());
    }
    if cfg!(windows) || !is_of_windows(path) {
        return None;
    }
    let drive = path
        .split_once(':')
        .map(|(drive, rest)| (drive.to_ascii_lowercase(), rest.replace('\\', "/")));
    let example =
        drive.map_or_else(String::new, |(drive, rest)| format!(", in WSL as `/mnt/{drive}{rest}`"));
    Some(format!(
        "is a path of Windows, where this program does not run; give it as this system has it{example}"
    ))
}

/// Returns true for the address of a repository: a URL, `git@host:path`, or a page of a forge.
fn is_remote(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let is_url = path.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    let is_ssh = path.split_once(':').is_some_and(|(host, _)| {
        host.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
            && !host.contains(['/', '\\'])
    });
    let host = path.split('/').next().unwrap_or_default();
    let is_forge = FORGES.contains(&host.trim_start_matches("www.")) && path.len() > host.len();
    is_url || is_ssh || is_forge
}

/// Returns true for paths with a Windows drive or share, or with only Windows separators.
fn is_of_windows(path: &str) -> bool {
    let mut start = path.chars();
    let has_drive = start.next().is_some_and(|c| c.is_ascii_alphabetic())
        && start.next() == Some(':')
        && start.next().is_none_or(|c| matches!(c, '\\' | '/'));
    has_drive || path.starts_with(r"\\") || path.contains('\\') && !path.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_says_what_to_give_instead() {
        for (path, advice) in [
            ("https://github.com/o/r", "git clone"),
            ("http://localhost/o/r.git", "git clone"),
            ("ssh://git@host/o/r", "git clone"),
            ("git+ssh://git@host/o/r", "git clone"),
            ("git@github.com:o/r.git", "git clone"),
            ("me@host:src/r", "git clone"),
            ("github.com/o/r", "git clone"),
            ("www.github.com/o/r", "git clone"),
            ("file:///srv/a%20b", "`/srv/a b`"),
            ("File:///srv/a", "`/srv/a`"),
            ("~", "`~`"),
            ("~/proj", "`~`"),
            ("~me/proj", "`~`"),
            ("$HOME/proj", "variable"),
            ("${workspaceFolder}", "variable"),
            ("%USERPROFILE%\\proj", "variable"),
        ] {
            assert!(explain_form(path).is_some_and(|said| said.contains(advice)), "{path}");
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn paths_of_windows_are_explained_elsewhere() {
        for (path, advice) in [
            (r"C:\Users\me\proj", "`/mnt/c/Users/me/proj`"),
            ("d:/work", "`/mnt/d/work`"),
            (r"\\server\share", "this system has it"),
            (r"src\app", "this system has it"),
        ] {
            assert!(explain_form(path).is_some_and(|said| said.contains(advice)), "{path}");
        }
    }

    #[test]
    fn forms_of_folders_are_left_alone() {
        for path in [
            "/srv/app",
            "app",
            "./a:b",
            "app@v1.2",
            "/srv/a@main:x",
            "a/b://c",
            "github.com",
            "",
            ".",
            "/a\\b",
        ] {
            assert_eq!(explain_form(path), None, "{path}");
        }
    }
}
