//! A home folder with private places, which CodeInfo may not read.

use std::{fs, path::Path};

/// A file in each place, by its path below the home folder. Each holds [`WORD`].
pub const PLACES: [&str; 25] = [
    ".ssh/notes",
    ".gnupg/notes",
    ".aws/notes",
    ".azure/notes",
    ".kube/notes",
    ".docker/notes",
    ".config/gcloud/notes",
    ".config/gh/hosts.yml",
    ".config/hub/notes",
    ".config/op/notes",
    ".config/google-chrome/Default/notes",
    ".config/BraveSoftware/notes",
    ".mozilla/firefox/notes",
    ".thunderbird/notes",
    ".password-store/bank/notes",
    ".local/share/keyrings/notes",
    ".local/share/kwalletd/notes",
    ".claude/projects/notes",
    ".gemini/notes",
    ".cursor/notes",
    ".codex/sessions/notes",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".cargo/credentials.toml",
    "Library/Application Support/Google/Chrome/notes",
];
/// Stands in each file of a private place.
pub const WORD: &str = "hydrangea";
/// Files beside them, which are read.
pub const BESIDE: [&str; 4] =
    [".config/app/notes", ".cargo/notes", "code/site/.claude/notes", "code/site/.cursor/notes"];

/// Writes the private places of a home folder, and what lies beside them.
pub fn write_home(home: &Path) {
    for path in PLACES.iter().chain(&BESIDE) {
        let file = home.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("one {WORD} in a garden\n")).unwrap();
    }
}
