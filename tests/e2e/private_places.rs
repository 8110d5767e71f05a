//! Twenty-five private places of a home folder, and who reads them: indexing here, the model's shell in `sealed`, and
//! toolkits in `toolkit_sandbox`.

use std::{fs, path::Path};

use codeinfo_core::error::ErrorCode;
use codeinfo_worktree::private_places::PrivatePlaces;

use crate::ingest_bench::{Bench, request};

/// A file in each place, by its path below the home folder. Each holds [`WORD`].
pub(crate) const PLACES: [&str; 25] = [
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
pub(crate) const WORD: &str = "hydrangea";
/// What lies beside them, and is read.
pub(crate) const BESIDE: [&str; 4] =
    [".config/app/notes", ".cargo/notes", "code/site/.claude/notes", "code/site/.cursor/notes"];

/// Writes the private places of a home folder, and what lies beside them.
pub(crate) fn write_home(home: &Path) {
    for path in PLACES.iter().chain(&BESIDE) {
        let file = home.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("one {WORD} in a garden\n")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_private_place_is_indexed_alone_or_with_what_is_around_it() {
    let bench = Bench::new().await;
    let home = bench.repo("home", &[(".codeinfoignore", "!*\n!.*\n")]);
    write_home(&home.0);
    let private = PrivatePlaces::new(Some(home.0.clone()), Vec::new());
    let ingest = bench.ingest.clone().with_private_places(private);
    let mut accepted = Vec::new();
    for path in PLACES {
        let folder = home.at(path).parent().unwrap().to_owned();
        // A file cannot be indexed as a root.
        if [".m2", ".gradle", ".cargo"].iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        match ingest.start_run(request(&folder)).await {
            Err(refused) => {
                assert_eq!(refused.code(), ErrorCode::ValidationFailed);
                assert!(refused.to_string().contains("is never indexed"), "{refused}");
            }
            Ok(run) => {
                bench.ended(run).await;
                accepted.push(path);
            }
        }
    }
    assert_eq!(accepted, [""; 0]);
    let refused = ingest.start_run(request(&home.at(".config/gh"))).await.unwrap_err().to_string();
    let reason = "is, or lies in, `~/.config/gh`, which holds credentials of the GitHub CLI, and is never indexed";
    assert!(refused.ends_with(reason), "{refused}");

    bench.ingest(&home).await;
    let indexed = bench.files().await;
    let read: Vec<_> =
        PLACES.iter().filter(|path| indexed.iter().any(|file| file == *path)).collect();
    assert_eq!(read, [&""; 0]);
    for path in BESIDE {
        assert!(indexed.iter().any(|file| file == path), "{path}: {indexed:?}");
    }
}
