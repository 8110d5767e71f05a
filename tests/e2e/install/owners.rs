//! Root installs for another account, as `sudo` does: its files and folders stay that account's.

use std::os::unix::fs::{MetadataExt, chown};

use super::*;

const ACCOUNT: u32 = 61_234;
const OTHER: u32 = 61_235;

#[test]
fn what_root_writes_in_the_home_of_another_account_belongs_to_that_account() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = TestHome::with_program();
    home.write(".gemini/settings.json", "{\"theme\": \"a\"}\n");
    let give = |path: &Path, to: u32| chown(path, Some(to), Some(to)).unwrap();
    give(&home.path(".gemini/settings.json"), OTHER);
    give(&home.path(".gemini"), ACCOUNT);
    give(home.0.path(), ACCOUNT);
    home.run_successfully(&["install", "codex", "gemini", "claude-code", "--yes"]);
    let mut files = list_files(home.0.path());
    files.retain(|file| !file.starts_with(home.path("bin")));
    assert!(files.iter().any(|file| file.starts_with(home.path("data"))), "{files:?}");
    for path in files.iter().flat_map(|file| file.ancestors()) {
        if !path.starts_with(home.0.path()) {
            continue;
        }
        let found = path.metadata().unwrap();
        let wanted = if path.ends_with(".gemini/settings.json") { OTHER } else { ACCOUNT };
        assert_eq!((found.uid(), found.gid()), (wanted, wanted), "{}", path.display());
    }
}
