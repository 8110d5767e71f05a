//! Files of a repository's `.git` folder that may hold keys.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// A larger configuration is taken to hold keys.
const MAX_CONFIG_BYTES: u64 = 64 * 1024;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself, and is no file.
#[cfg(windows)]
const NO_FOLLOW: u32 = 0x0020_0000;
/// Sections of which only addresses may hold keys.
const HARMLESS: [&str; 12] = [
    "branch",
    "core",
    "extensions",
    "fetch",
    "gc",
    "index",
    "init",
    "lfs",
    "maintenance",
    "pull",
    "remote",
    "submodule",
];
/// Words of settings that may hold keys or name programs that are given some.
const SUSPECT: [&str; 7] = ["command", "helper", "header", "key", "pass", "secret", "token"];

/// Returns the files below `root` to keep from the model's shell. The configuration is one of them
/// only where it says more than which branches and addresses there are: without it, no `git` command
/// works, and history answers questions.
pub(super) fn secrets(root: &Path) -> Vec<PathBuf> {
    let folder = root.join(".git");
    let mut secrets: Vec<PathBuf> = ["credentials", "modules", "config.worktree"]
        .map(|name| folder.join(name))
        .into_iter()
        .chain([root.join(".git-credentials")])
        .collect();
    let config = folder.join("config");
    if !is_harmless(&config) {
        secrets.push(config);
    }
    secrets
}

fn is_harmless(config: &Path) -> bool {
    // A link or a pipe is none of git's own making.
    if !config.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let read = || {
        let mut text = String::new();
        open(config)?.take(MAX_CONFIG_BYTES + 1).read_to_string(&mut text)?;
        std::io::Result::Ok(text)
    };
    let is_small = |text: &String| u64::try_from(text.len()).is_ok_and(|n| n <= MAX_CONFIG_BYTES);
    read().is_ok_and(|text| is_small(&text) && text.lines().all(says_nothing_secret))
}

/// Opens a file that nobody can have put a link or a pipe in the place of meanwhile.
fn open(file: &Path) -> std::io::Result<File> {
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

fn says_nothing_secret(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    // `scheme://user:key@host`, and keys in the query of an address.
    if line.contains("://") && line.contains(['@', '?']) {
        return false;
    }
    match line.strip_prefix('[') {
        Some(header) => {
            let name = header.split([' ', ']', '.', '"']).next().unwrap_or_default();
            HARMLESS.contains(&name) && header.ends_with(']') && !header.contains("://")
        }
        None => !SUSPECT.iter().any(|word| line.contains(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_with_branches_and_addresses_only_is_harmless() {
        let folder = std::env::temp_dir().join(uuid::Uuid::new_v4().to_string());
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        let config = folder.join(".git/config");
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://host/a.git\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n";
        for (text, is_denied) in [
            (plain.to_owned(), false),
            (format!("{plain}[remote \"o\"]\nurl = git@host:a.git\n"), false),
            (format!("{plain}[remote \"o\"]\nurl = https://t0ken@host/a.git\n"), true),
            (format!("{plain}[http \"https://host\"]\nextraheader = x\n"), true),
            (format!("{plain}[remote \"o\"] url = x\n"), true),
            (format!("{plain}[core]\nsshCommand = sshpass -p x ssh\n"), true),
            (format!("{plain}{}", "#\n".repeat(40_000)), true),
        ] {
            std::fs::write(&config, &text).unwrap();
            assert_eq!(secrets(&folder).contains(&config), is_denied, "{text:.200}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
