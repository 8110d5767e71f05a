//! Locates secret files without waiting for a hung file system, and copies git's settings without credentials.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use codeinfo_core::task::Tasks;
use tokio::time::{Instant, timeout_at};

use super::{ExcludedRoot, ReadableRoot};

/// Maximum wait for a file system.
const TIMEOUT: Duration = Duration::from_secs(2);

const SILENT: &str = "its file system does not answer";

/// Start of each running check. A folder under check is not checked again, because a check holds a thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretLocator(Arc<Mutex<BTreeMap<PathBuf, Instant>>>);

impl SecretLocator {
    /// Returns the roots that could be checked, with all existing secrets, and those that could not.
    pub(crate) async fn locate_secrets(
        &self,
        readable: Vec<ReadableRoot>,
        tasks: &Tasks,
    ) -> (Vec<ReadableRoot>, Vec<ExcludedRoot>) {
        self.locate_secrets_with(readable, tasks, find_existing_secrets).await
    }

    async fn locate_secrets_with(
        &self,
        readable: Vec<ReadableRoot>,
        tasks: &Tasks,
        secrets: fn(&ReadableRoot) -> Vec<PathBuf>,
    ) -> (Vec<ReadableRoot>, Vec<ExcludedRoot>) {
        let began = Instant::now();
        let mut checks = Vec::new();
        for readable in readable {
            let since = *self.lock_pending().entry(readable.folder.clone()).or_insert(began);
            let folder = readable.folder.clone();
            let check = (since.elapsed() < TIMEOUT).then(|| {
                let secret_locator = self.clone();
                tasks.spawn_blocking(move || {
                    let private_files = secrets(&readable);
                    secret_locator.lock_pending().remove(&readable.folder);
                    ReadableRoot { private_files, ..readable }
                })
            });
            checks.push((folder, check));
        }
        let mut seen = Vec::new();
        let mut unseen = Vec::new();
        for (folder, check) in checks {
            let checked = match check {
                Some(check) => timeout_at(began + TIMEOUT, check).await.ok().and_then(Result::ok),
                None => None,
            };
            match checked {
                Some(readable) => seen.push(readable),
                None => unseen.push(ExcludedRoot { folder, reason: SILENT }),
            }
        }
        for ExcludedRoot { folder, .. } in &unseen {
            // A root around it would grant it.
            for around in seen.iter_mut().filter(|around| folder.starts_with(&around.folder)) {
                around.private_files.push(folder.clone());
            }
        }
        (seen, unseen)
    }

    fn lock_pending(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find_existing_secrets(readable: &ReadableRoot) -> Vec<PathBuf> {
    let all = readable.private_files.iter().cloned().chain(find_git_secrets(&readable.folder));
    all.filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// Maximum bytes of a configuration file. A larger one counts as holding credentials and gets no copy.
const MAX_CONFIG_BYTES: u64 = 64 * 1024;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself, which is not a regular file.
#[cfg(windows)]
const NO_FOLLOW: u32 = 0x0020_0000;
const SETTINGS: [&str; 2] = [".git/config", ".git/config.worktree"];
/// Words in names of settings whose values may be credentials.
const CREDENTIAL_WORDS: [&str; 6] = ["header", "oauth", "passw", "secret", "smtppass", "token"];
/// Maximum characters of a plain user name in a URL; a longer one may be a token.
const MAX_USER_CHARS: usize = 15;
const REMOVED: &str = "# a setting with a credential stood here";

/// Returns the files below `root` to hide: git's settings only if they hold credentials, because `git` needs them.
fn find_git_secrets(root: &Path) -> Vec<PathBuf> {
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

/// Returns the replacement of a removed setting; a section header is replaced by one, for the settings after it.
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
    use std::sync::RwLock;

    static DEAD: RwLock<()> = RwLock::new(());

    /// Blocks for `/r/dead` while `DEAD` is held.
    fn none_if_alive(readable: &ReadableRoot) -> Vec<PathBuf> {
        if readable.folder.ends_with("dead") {
            drop(DEAD.read());
        }
        Vec::new()
    }

    fn readable(folder: &str, secrets: &[&str]) -> ReadableRoot {
        let private_files = secrets.iter().map(PathBuf::from).collect();
        ReadableRoot { folder: folder.into(), private_files }
    }

    #[tokio::test]
    #[expect(
        clippy::await_holding_lock,
        clippy::readonly_write_lock,
        reason = "the held lock simulates a file system that hangs"
    )]
    async fn a_root_that_does_not_answer_is_denied_until_it_does() {
        let (secret_locator, tasks) = (SecretLocator::default(), Tasks::default());
        let all = || vec![readable("/r", &[]), readable("/r/dead", &[]), readable("/s", &[])];
        let dead_one = ExcludedRoot { folder: "/r/dead".into(), reason: SILENT };
        let without = (vec![readable("/r", &["/r/dead"]), readable("/s", &[])], vec![dead_one]);
        let dead = DEAD.write().unwrap();
        assert_eq!(secret_locator.locate_secrets_with(all(), &tasks, none_if_alive).await, without);
        let began = Instant::now();
        assert_eq!(secret_locator.locate_secrets_with(all(), &tasks, none_if_alive).await, without);
        assert!(began.elapsed() < TIMEOUT, "waited again");
        drop(dead);
        assert!(tasks.stop(Duration::from_secs(20)).await);
        assert_eq!(
            secret_locator.locate_secrets_with(all(), &tasks, none_if_alive).await,
            (all(), Vec::new())
        );
    }

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
