//! The private places of an indexed home folder, in the model's shell.

use std::fs;

use codeinfo_codex::OtherVariables;
use codeinfo_test_support::private_places::{BESIDE, PLACES, WORD, write_home};

use super::{ask_first, ask_next, start_obedient_model};
use crate::support::harness::{ChatHarness, make_root};

#[tokio::test]
async fn the_shell_reads_no_private_place_of_a_home_folder_that_is_indexed() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        let home = settings.data_dir.parent().unwrap().join("user");
        settings.environment =
            OtherVariables::new([("HOME".to_owned(), home.to_string_lossy().into_owned())]);
    })
    .await;
    let home = harness.repository_folder().parent().unwrap().join("user");
    fs::create_dir_all(&home).unwrap();
    let home = home.canonicalize().unwrap();
    write_home(&home);
    let mut indexed = make_root(&home);
    indexed.private_files = Some(Vec::new());
    harness.store.put_root(indexed).await.unwrap();
    let (conversation, _) = ask_first(&harness, "true").await;
    let search = format!("cd '{}'; grep -rl {WORD} . 2>/dev/null | sort", home.display());
    let found = ask_next(&harness, conversation, &search).await;
    let is_read = |path: &str| found.lines().any(|line| line == format!("./{path}"));
    let read: Vec<_> = PLACES.iter().filter(|path| is_read(path)).collect();
    assert_eq!(read, [&""; 0], "{found}");
    for path in BESIDE {
        assert!(is_read(path), "{path}: {found}");
    }
}
