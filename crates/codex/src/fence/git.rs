//! Finds files of a repository's `.git` folder that hold credentials, and copies git's settings without them.

use std::{
    borrow::Cow,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// Maximum bytes of a configuration file. A larger one counts as holding credentials and gets no copy.
const MAX_CONFIG_BYTES: u64 = 64 * 1024;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself, which is not a regular file.
#[cfg(windows)]
const NO_FOLLOW: u32 = 0x0020_0000;
/// Files of git's settings in a repository.
const SETTINGS: [&str; 2] = [".git/config", ".git/config.worktree"];
/// Words in names of settings whose values may be credentials.
const CREDENTIAL_WORDS: [&str; 6] = ["header", "oauth", "passw", "secret", "smtppass", "token"];
/// Maximum characters of a plain user name in a URL; a longer one may be a token.
const MAX_USER_CHARS: usize = 15;
/// Replacement in a copy for a setting with a credential.
const REMOVED: &str = "# a setting with a credential stood here";

/// Returns the files below `root` to hide from the model's shell. Git's settings are hidden only if they hold
/// credentials: no `git` command works without them, and history answers questions.
pub(super) fn find_git_secrets(root: &Path) -> Vec<PathBuf> {
    let mut secrets: Vec<PathBuf> =
        [".git/credentials", ".git/modules", ".git-credentials"].map(|name| root.join(name)).into();
    let settings = SETTINGS.map(|name| root.join(name));
    let is_private = |file: &PathBuf| {
        read_settings(file).is_none_or(|text| matches!(without_credentials(&text), Cow::Owned(_)))
    };
    secrets.extend(settings.into_iter().filter(is_private));
    secrets
}

/// Returns the git settings in `file` without credentials, or `None` if `file` is not a readable settings file.
pub(super) fn copy_settings(file: &Path) -> Option<String> {
    SETTINGS.iter().any(|name| file.ends_with(name)).then_some(())?;
    Some(without_credentials(&read_settings(file)?).into_owned())
}

fn read_settings(file: &Path) -> Option<String> {
    // Git itself creates no links or pipes here.
    if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let mut text = String::new();
    open_regular_file(file).ok()?.take(MAX_CONFIG_BYTES + 1).read_to_string(&mut text).ok()?;
    u64::try_from(text.len()).is_ok_and(|length| length <= MAX_CONFIG_BYTES).then_some(text)
}

/// Opens a file without following a link or blocking on a pipe that may have replaced it.
fn open_regular_file(file: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, NO_FOLLOW);
    options.read(true).open(file)
}

/// Replaces each setting that holds a credential; borrows an unchanged text.
fn without_credentials(text: &str) -> Cow<'_, str> {
    let redacted = codeinfo_secrets::redact_secrets(".git/config", None, text).text;
    let mut copy = String::new();
    let mut is_changed = false;
    let mut lines = text.lines().zip(redacted.lines());
    while let Some((first, first_redacted)) = lines.next() {
        let mut setting = first.to_owned();
        let mut is_private = first != first_redacted;
        // A backslash at the end of a line continues the value.
        while setting.ends_with('\\')
            && let Some((next, next_redacted)) = lines.next()
        {
            setting.pop();
            setting.push_str(next);
            is_private |= next != next_redacted;
        }
        is_private |= holds_credential(&setting);
        is_changed |= is_private;
        copy.push_str(if is_private { choose_replacement(&setting) } else { &setting });
        copy.push('\n');
    }
    if is_changed { Cow::Owned(copy) } else { Cow::Borrowed(text) }
}

/// Returns the replacement of a removed setting; a section header is replaced by one, for the settings after
/// it.
fn choose_replacement(setting: &str) -> &'static str {
    if setting.trim_start().starts_with('[') { "[removed]" } else { REMOVED }
}

fn holds_credential(setting: &str) -> bool {
    let after_section = if setting.trim_start().starts_with('[') {
        setting.rsplit_once(']').map_or("", |(_, after)| after)
    } else {
        setting
    };
    let name = after_section.split('=').next().unwrap_or_default().to_ascii_lowercase();
    CREDENTIAL_WORDS.iter().any(|word| name.contains(word)) || holds_login(setting)
}

/// Returns true if a URL in `setting` has a password, a user name that may be a token, or a query.
fn holds_login(setting: &str) -> bool {
    setting.split("://").skip(1).any(|rest| {
        let mut parts = rest.split(|c: char| c.is_whitespace() || "\"']".contains(c));
        let address = parts.next().unwrap_or_default();
        let authority = address.split('/').next().unwrap_or_default();
        let is_token = |user: &str| user.contains(':') || user.chars().count() > MAX_USER_CHARS;
        address.contains('?')
            || address.rsplit_once('@').is_some_and(|_| match authority.rsplit_once('@') {
                Some((user, _)) => is_token(user),
                // A password may contain a slash.
                None => address.split('@').next().is_some_and(|user| user.contains(':')),
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://host/a.git\n\
                         \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n";

    #[test]
    fn settings_of_git_are_private_only_where_they_hold_credentials() {
        let folder = std::env::temp_dir().join(uuid::Uuid::new_v4().to_string());
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        let config = folder.join(".git/config");
        for (text, is_denied) in [
            ("", false),
            (
                "[user]\n\tname = Ada Lovelace\n\temail = ada@host.org\n\tsigningkey = 0A46826A\n",
                false,
            ),
            ("[commit]\n\tgpgsign = true\n[alias]\n\tlast = log -1\n\tup = !git pull\n", false),
            ("[filter \"lfs\"]\n\tsmudge = git-lfs smudge -- %f\n\trequired = true\n", false),
            ("[diff]\n\ttool = vimdiff\n[credential]\n\thelper = store\n", false),
            (
                "[credential \"https://github.com\"]\n\thelper = !/usr/bin/gh auth git-credential\n",
                false,
            ),
            (
                "[remote \"o\"]\n\turl = ssh://git@host:22/a.git\n[remote \"p\"]\n\turl = git@host:a.git\n",
                false,
            ),
            ("[remote \"o\"]\n\turl = https://me@host/a.git\n", false),
            ("[branch \"fix-token\"]\n\tremote = origin\n", false),
            ("[url \"git@host:\"]\n\tinsteadOf = https://host/\n", false),
            ("[remote \"o\"]\n\turl = https://me:hunter2@host/a.git\n", true),
            ("[remote \"o\"]\n\turl = https://me:hun/ter2@host/a.git\n", true),
            (
                "[remote \"o\"]\n\turl = https://ghp_R8dW1kq0Xv3nT5yZ7mB2cF4hJ6pL9sA1uE0o@host/a.git\n",
                true,
            ),
            ("[remote \"o\"]\n\turl = https://host/a.git?private_token=hunter2\n", true),
            ("[remote \"o\"]\n\turl = https://me:hunt\\\ner2@host/a.git\n", true),
            ("[url \"https://me:hunter2@host/\"]\n\tinsteadOf = gh:\n", true),
            ("[http \"https://host\"]\n\textraheader = AUTHORIZATION: basic aHVudGVyMg==\n", true),
            ("[sendemail]\n\tsmtpPass = hunter2\n", true),
            ("[core]\n\tsshCommand = sshpass -p hunter2 ssh\n", true),
            ("[credential]\n\thelper = \"!f() { echo password=hunter2; }; f\"\n", true),
        ] {
            std::fs::write(&config, format!("{PLAIN}{text}")).unwrap();
            assert_eq!(find_git_secrets(&folder).contains(&config), is_denied, "{text}");
            let copy = copy_settings(&config).unwrap();
            assert!(copy.starts_with(PLAIN), "{copy}");
            assert!(
                !["hunt", "hun/", "ghp_", "aHVu"].iter().any(|key| copy.contains(key)),
                "{copy}"
            );
        }
        std::fs::write(&config, "#\n".repeat(40_000)).unwrap();
        assert!(find_git_secrets(&folder).contains(&config) && copy_settings(&config).is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
