//! Twenty-five private places of a home folder, and who reads them: indexing here, the model's shell in `sealed`, and
//! toolkits in `toolkit_sandbox`.

use codeinfo_core::error::ErrorCode;
use codeinfo_test_support::{
    ingest::{TestIndex, build_request},
    private_places::{BESIDE, PLACES, write_home},
};
use codeinfo_worktree::private_places::PrivatePlaces;

#[tokio::test(flavor = "multi_thread")]
async fn no_private_place_is_indexed_alone_or_with_what_is_around_it() {
    let index = TestIndex::new().await;
    let home = index.create_repository("home", &[(".codeinfoignore", "!*\n!.*\n")]);
    write_home(&home.0);
    let private = PrivatePlaces::new(Some(home.0.clone()), Vec::new());
    let ingest = index.ingest.clone().with_private_places(private);
    let mut accepted = Vec::new();
    for path in PLACES {
        let folder = home.join(path).parent().unwrap().to_owned();
        // A file cannot be indexed as a root.
        if [".m2", ".gradle", ".cargo"].iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        match ingest.start_run(build_request(&folder)).await {
            Err(refused) => {
                assert_eq!(refused.code(), ErrorCode::ValidationFailed);
                assert!(refused.to_string().contains("is never indexed"), "{refused}");
            }
            Ok(run) => {
                index.wait_for_run(run).await;
                accepted.push(path);
            }
        }
    }
    assert_eq!(accepted, [""; 0]);
    let refused =
        ingest.start_run(build_request(&home.join(".config/gh"))).await.unwrap_err().to_string();
    let reason = "is, or lies in, `~/.config/gh`, which holds credentials of the GitHub CLI, and is never indexed";
    assert!(refused.ends_with(reason), "{refused}");

    index.ingest(&home).await;
    let indexed = index.list_indexed_files().await;
    let read: Vec<_> =
        PLACES.iter().filter(|path| indexed.iter().any(|file| file == *path)).collect();
    assert_eq!(read, [&""; 0]);
    for path in BESIDE {
        assert!(indexed.iter().any(|file| file == path), "{path}: {indexed:?}");
    }
}
