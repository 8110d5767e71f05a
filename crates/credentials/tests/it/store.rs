//! The credential store below its routes: files on disk, the state after a crash, and refused changes.
#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use codeinfo_core::{Principal, Secret, task::Tasks};
use codeinfo_credentials::{
    ConfigSlot, CredentialError, CredentialStore, OnExistingToken, ProcessKey, SecretKey,
    TokenKind, owner_key,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEPT: usize = 20;

async fn open_store(folder: &Path) -> Result<CredentialStore, CredentialError> {
    CredentialStore::open(folder, None, Tasks::default()).await
}

fn make_principal(name: &str) -> Principal {
    name.parse().unwrap()
}

fn make_slot(principal: &str) -> ConfigSlot {
    ConfigSlot::for_toolkits(make_principal(principal))
}

async fn read_config(
    store: &CredentialStore,
    principal: &str,
) -> Result<Option<(u64, Value)>, CredentialError> {
    let stored = store.configs.read_current::<Value>(make_slot(principal)).await?;
    Ok(stored.map(|stored| (stored.version.version, stored.value)))
}

fn find_principal(store: &CredentialStore, bearer: &str) -> Option<Principal> {
    store.tokens.find_bearer(bearer).map(|known| known.principal)
}

fn read_owner_key(folder: &Path) -> Secret {
    owner_key(folder).unwrap().unwrap()
}

/// Returns every file below a folder with its content.
fn read_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.append(&mut read_files(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

/// The folder of the one configuration.
fn find_config_folder(folder: &Path) -> PathBuf {
    let mut folders = fs::read_dir(folder.join("vault/configs")).unwrap();
    let only = folders.next().unwrap().unwrap().path();
    assert!(folders.next().is_none());
    only
}

#[tokio::test]
async fn no_secret_is_on_disk_in_the_clear_and_files_are_for_their_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    let made = store.tokens.create_token(
        read_owner_key(folder.path()),
        make_principal("ann"),
        TokenKind::Plain,
        OnExistingToken::Refuse,
    );
    let token = made.await.unwrap().token;
    let value = json!({ "mcpServers": { "git": { "env": { "PAT": "hunter2-hunter2" } } } });
    store.configs.write_version(make_slot("ann"), value).await.unwrap();
    let found = read_files(folder.path());
    assert_eq!(found.len(), 7, "{:?}", found.keys());
    for (path, bytes) in found {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in [token.expose(), token.expose().split_at(13).1, "hunter2", "PAT", "git"] {
            assert!(!text.contains(secret), "{} has `{secret}`", path.display());
        }
        let rights = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600, "{}", path.display());
    }
    for below in ["vault", "vault/configs"] {
        let rights = fs::metadata(folder.path().join(below)).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o700, "{below}");
    }
    assert!(!format!("{store:?}{token:?}").contains(token.expose().split_at(13).1));
}

#[tokio::test]
async fn tokens_outlive_the_process_with_the_time_of_their_last_use() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = Tasks::default();
    let store = CredentialStore::open(folder.path(), None, tasks.clone()).await.unwrap();
    let owner = read_owner_key(folder.path());
    let made = store
        .tokens
        .create_token(
            owner.clone(),
            make_principal("ann"),
            TokenKind::Plain,
            OnExistingToken::Refuse,
        )
        .await
        .unwrap();
    let before = read_files(folder.path());
    for _ in 0..100 {
        assert_eq!(find_principal(&store, made.token.expose()), Some(make_principal("ann")));
    }
    assert_eq!(read_files(folder.path()), before, "a use is no write");
    let listed = store.tokens.list_tokens(&owner).unwrap();
    assert!(tasks.stop(Duration::from_secs(20)).await);

    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(store.tokens.list_tokens(&owner).unwrap(), listed);
    assert!(listed[0].last_used_at.is_some());
    assert_eq!(find_principal(&store, made.token.expose()), Some(make_principal("ann")));
    assert_eq!(find_principal(&store, owner.expose()), Some(Principal::owner()));
    store.tokens.revoke_all(owner).await.unwrap();
    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(find_principal(&store, made.token.expose()), None);
}

#[tokio::test]
async fn a_token_that_was_replaced_cannot_replace_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    let owner = read_owner_key(folder.path());
    let create = |by: &Secret| {
        store.tokens.create_token(
            by.clone(),
            make_principal("ann"),
            TokenKind::Plain,
            OnExistingToken::Overwrite,
        )
    };
    let first = create(&owner).await.unwrap().token;
    let second = create(&first).await.unwrap().token;
    assert!(matches!(create(&first).await, Err(CredentialError::Unauthorized)));
    assert!(matches!(store.tokens.list_tokens(&first), Err(CredentialError::Unauthorized)));
    store.tokens.revoke_token(owner, make_principal("ann")).await.unwrap();
    assert!(matches!(create(&second).await, Err(CredentialError::Unauthorized)));
}

#[tokio::test]
async fn tokens_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    let owner = read_owner_key(folder.path());
    for number in 0..256 {
        let made = make_principal(&format!("t{number}"));
        store
            .tokens
            .create_token(owner.clone(), made, TokenKind::Plain, OnExistingToken::Refuse)
            .await
            .unwrap();
    }
    let create = |made: &str| {
        store.tokens.create_token(
            owner.clone(),
            make_principal(made),
            TokenKind::Plain,
            OnExistingToken::Overwrite,
        )
    };
    assert!(matches!(create("more").await, Err(CredentialError::TooManyTokens { most: 256 })));
    assert!(create("t7").await.is_ok(), "one that is replaced needs no room");
}

#[tokio::test]
async fn a_change_that_cannot_be_written_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    let owner = read_owner_key(folder.path());
    let create = || {
        store.tokens.create_token(
            owner.clone(),
            make_principal("ann"),
            TokenKind::Plain,
            OnExistingToken::Overwrite,
        )
    };
    let first = create().await.unwrap().token;
    // A folder is in the place of the file.
    let file = folder.path().join("vault/tokens.json");
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir_all(file.join("in/the/way")).unwrap();
    assert!(matches!(create().await, Err(CredentialError::File { .. })));
    assert!(store.tokens.revoke_token(owner.clone(), make_principal("ann")).await.is_err());
    assert_eq!(find_principal(&store, first.expose()), Some(make_principal("ann")));
    fs::remove_dir_all(&file).unwrap();
    fs::write(&file, bytes).unwrap();
    let second = create().await.unwrap().token;
    assert_eq!(find_principal(&store, first.expose()), None);
    assert_eq!(find_principal(&store, second.expose()), Some(make_principal("ann")));
}

#[tokio::test]
async fn files_that_others_may_read_links_and_nonsense_are_refused_by_name() {
    for file in ["owner.key", "vault/tokens.json"] {
        for fault in ["rights", "link", "nonsense"] {
            let folder = tempfile::tempdir().unwrap();
            let store = open_store(folder.path()).await.unwrap();
            let by = read_owner_key(folder.path());
            store
                .tokens
                .create_token(by, make_principal("ann"), TokenKind::Plain, OnExistingToken::Refuse)
                .await
                .unwrap();
            let path = folder.path().join(file);
            break_file(&path, fault);
            let output_text = open_store(folder.path()).await.unwrap_err().to_string();
            assert!(
                output_text.contains(&path.display().to_string()),
                "{file}, {fault}: {output_text}"
            );
        }
    }
    for fault in ["rights", "link", "nonsense"] {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(folder.path()).await.unwrap();
        store.configs.write_version(make_slot("ann"), json!(1)).await.unwrap();
        let path = folder.path().join("secret.key");
        break_file(&path, fault);
        let failure = read_config(&store, "ann").await.unwrap_err();
        assert!(failure.to_string().contains(&path.display().to_string()), "{fault}: {failure}");
        assert!(store.configs.write_version(make_slot("bob"), json!(1)).await.is_err(), "{fault}");
        // The other configurations work.
        assert!(open_store(folder.path()).await.is_ok());
    }
    // A link instead of a folder leads out of the data folder.
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open_store(folder.path()).await.unwrap();
    symlink(elsewhere.path(), folder.path().join("vault")).unwrap();
    assert!(store.configs.write_version(make_slot("ann"), json!(1)).await.is_err());
    let made = store
        .tokens
        .create_token(
            read_owner_key(folder.path()),
            make_principal("ann"),
            TokenKind::Plain,
            OnExistingToken::Refuse,
        )
        .await;
    assert!(matches!(made, Err(CredentialError::File { .. })), "{made:?}");
    assert!(read_files(elsewhere.path()).is_empty());
}

fn break_file(path: &Path, fault: &str) {
    match fault {
        "rights" => fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap(),
        "link" => {
            let aside = path.with_extension("aside");
            fs::rename(path, &aside).unwrap();
            symlink(aside, path).unwrap();
        }
        _ => fs::write(path, "nonsense").unwrap(),
    }
}

#[tokio::test]
async fn a_wrong_key_names_the_file_and_a_lost_one_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    store.configs.write_version(make_slot("ann"), json!(1)).await.unwrap();
    let key = fs::read_to_string(folder.path().join("secret.key")).unwrap();
    let with = async |key: &str| {
        let key: SecretKey = key.parse().unwrap();
        CredentialStore::open(folder.path(), Some(key), Tasks::default()).await.unwrap()
    };
    assert_eq!(read_config(&with(&key).await, "ann").await.unwrap(), Some((1, json!(1))));
    let wrong = with(&"A".repeat(43)).await;
    let failure = read_config(&wrong, "ann").await.unwrap_err();
    assert!(matches!(failure, CredentialError::OtherKey { .. }), "{failure}");
    let output_text = failure.to_string();
    assert!(
        output_text.contains("1.sealed") && output_text.contains("`SECRET_KEY`"),
        "{output_text}"
    );

    fs::remove_file(folder.path().join("secret.key")).unwrap();
    for failure in [
        read_config(&store, "ann").await.unwrap_err(),
        store.configs.write_version(make_slot("bob"), json!(1)).await.unwrap_err(),
    ] {
        assert!(matches!(failure, CredentialError::NoKey { .. }), "{failure}");
        assert!(failure.to_string().contains("secret.key"), "{failure}");
    }
    assert!(!folder.path().join("secret.key").try_exists().unwrap());
}

#[tokio::test]
async fn every_flipped_byte_of_a_version_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    store.configs.write_version(make_slot("ann"), json!({ "a": "b" })).await.unwrap();
    let path = find_config_folder(folder.path()).join("1.sealed");
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, bad).unwrap();
        let failure = read_config(&store, "ann").await.unwrap_err();
        assert!(failure.to_string().contains("1.sealed"), "byte {at}: {failure}");
    }
    fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert!(read_config(&store, "ann").await.is_err());
    fs::write(&path, good).unwrap();
    assert_eq!(read_config(&store, "ann").await.unwrap(), Some((1, json!({ "a": "b" }))));
}

#[tokio::test]
async fn a_step_that_fails_leaves_the_former_version_current() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    store.configs.write_version(make_slot("ann"), json!("first")).await.unwrap();
    let shelf = find_config_folder(folder.path());
    // A folder is in the place of the version, and then in that of the pointer.
    fs::create_dir_all(shelf.join("2.sealed/in/the/way")).unwrap();
    // The name counts as taken, so the version after it is written.
    let taken = store.configs.write_version(make_slot("ann"), json!("third")).await.unwrap();
    assert_eq!(taken.version, 3);
    let pointer = fs::read(shelf.join("current")).unwrap();
    fs::remove_file(shelf.join("current")).unwrap();
    fs::create_dir_all(shelf.join("current/in/the/way")).unwrap();
    assert!(store.configs.write_version(make_slot("ann"), json!("fourth")).await.is_err());
    fs::remove_dir_all(shelf.join("current")).unwrap();
    restore_files(&[(shelf.join("current"), pointer)].into());
    assert_eq!(read_config(&store, "ann").await.unwrap(), Some((3, json!("third"))));
}

#[tokio::test]
async fn a_list_of_tokens_that_was_put_back_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (store, owner) = (open_store(folder.path()).await.unwrap(), read_owner_key(folder.path()));
    let create = async |store: &CredentialStore, who: &str| {
        let (by, who) = (owner.clone(), make_principal(who));
        store
            .tokens
            .create_token(by, who, TokenKind::Plain, OnExistingToken::Overwrite)
            .await
            .unwrap()
    };
    let (ann, bob) = (create(&store, "ann").await, create(&store, "bob").await);
    let [file, memory] =
        ["vault/tokens.json", "vault/generations/tokens"].map(|path| folder.path().join(path));
    let backup = [(file.clone(), fs::read(&file).unwrap())].into();
    store.tokens.revoke_token(owner.clone(), make_principal("ann")).await.unwrap();
    let newest = fs::read(&file).unwrap();
    let highest = fs::read(&memory).unwrap();

    restore_files(&backup);
    let failure = open_store(folder.path()).await.unwrap_err();
    assert!(matches!(failure, CredentialError::PutBack { number: 2, highest: 3, .. }), "{failure}");
    let message = failure.to_string();
    assert!(message.starts_with(&format!("`{}` is older", file.display())), "{message}");

    // Files that a crash left before the number was stored, and files without numbers, are adopted.
    for (bytes, number) in [(&newest, Some("2")), (&newest, None)] {
        fs::write(&file, bytes).unwrap();
        match number {
            Some(number) => fs::write(&memory, number).unwrap(),
            None => fs::remove_file(&memory).unwrap(),
        }
        let store = open_store(folder.path()).await.unwrap();
        assert_eq!(find_principal(&store, bob.token.expose()), Some(make_principal("bob")));
        assert_eq!(find_principal(&store, ann.token.expose()), None);
        assert_eq!(fs::read(&memory).unwrap(), highest);
    }
    // A removed configuration is empty, and the next one continues its numbers.
    fs::remove_file(&file).unwrap();
    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(find_principal(&store, bob.token.expose()), None);
    let cat = create(&store, "cat").await;
    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(find_principal(&store, cat.token.expose()), Some(make_principal("cat")));
    restore_files(&[(file, newest)].into());
    assert!(open_store(folder.path()).await.is_err());
}

#[tokio::test]
async fn a_configuration_that_was_put_back_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    store.configs.write_version(make_slot("ann"), json!("first")).await.unwrap();
    let backup = read_files(&find_config_folder(folder.path()));
    store.configs.write_version(make_slot("ann"), json!("second")).await.unwrap();
    // Alone, and with the whole folder of configurations.
    for whole in [false, true] {
        if whole {
            fs::remove_file(find_config_folder(folder.path()).join("2.sealed")).unwrap();
        }
        restore_files(&backup);
        let failure = read_config(&store, "ann").await.unwrap_err();
        assert!(
            matches!(failure, CredentialError::PutBack { number: 1, highest: 2, .. }),
            "{failure}"
        );
        assert!(failure.to_string().contains("/current` is older"), "{failure}");
    }
    let kept = store.configs.write_version(make_slot("ann"), json!("third")).await.unwrap();
    assert_eq!(kept.version, 3, "numbers are not given twice");
    assert_eq!(read_config(&store, "ann").await.unwrap(), Some((3, json!("third"))));
    fs::remove_dir_all(folder.path().join("vault/generations")).unwrap();
    assert_eq!(read_config(&store, "ann").await.unwrap(), Some((3, json!("third"))));
    assert!(folder.path().join("vault/generations").is_dir(), "it is taken up");
}

#[tokio::test]
async fn a_version_of_another_principal_or_number_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    store.configs.write_version(make_slot("ann"), json!("of ann")).await.unwrap();
    store.configs.write_version(make_slot("ann"), json!("later")).await.unwrap();
    let ann = find_config_folder(folder.path());
    store.configs.write_version(make_slot("bob"), json!("of bob")).await.unwrap();
    let folders = fs::read_dir(folder.path().join("vault/configs")).unwrap();
    let bob = folders.map(|entry| entry.unwrap().path()).find(|path| *path != ann).unwrap();
    fs::copy(ann.join("1.sealed"), bob.join("1.sealed")).unwrap();
    let failure = read_config(&store, "bob").await.unwrap_err();
    assert!(matches!(failure, CredentialError::Damaged { .. }), "{failure}");
    fs::copy(ann.join("1.sealed"), ann.join("2.sealed")).unwrap();
    let failure = read_config(&store, "ann").await.unwrap_err();
    assert!(matches!(failure, CredentialError::Damaged { .. }), "{failure}");
}

#[tokio::test]
async fn configurations_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path()).await.unwrap();
    let large = json!("x".repeat(64 * 1024));
    let failure = store.configs.write_version(make_slot("ann"), large).await.unwrap_err();
    assert!(matches!(failure, CredentialError::TooLarge { .. }), "{failure}");
    for number in 0..256 {
        store.configs.write_version(make_slot(&format!("p{number}")), json!(1)).await.unwrap();
    }
    let failure = store.configs.write_version(make_slot("more"), json!(1)).await.unwrap_err();
    assert!(matches!(failure, CredentialError::TooManyConfigs { most: 256 }), "{failure}");
    assert!(store.configs.write_version(make_slot("p7"), json!(2)).await.is_ok());
}

#[test]
fn the_key_of_a_process_is_known_to_it_alone() {
    let (first, second) = (ProcessKey::generate().unwrap(), ProcessKey::generate().unwrap());
    assert!(first.matches(first.secret().expose()) && !first.matches(second.secret().expose()));
    assert!(!format!("{first:?}").contains(first.secret().expose()));
}

/// A change of a configuration, crashes included.
#[derive(Debug, Clone)]
enum CredentialStep {
    Write(u8),
    /// The process dies after a version is on disk, before it is the current one.
    DiesBeforeSwitch(u8),
    /// It dies while a version is being written.
    DiesInVersion,
    /// It dies while the pointer is being replaced.
    DiesInSwitch,
    /// It dies before the oldest versions are removed.
    DiesBeforePruning(u8),
    Restart,
}

fn any_step() -> impl Strategy<Value = CredentialStep> {
    prop_oneof![
        6 => any::<u8>().prop_map(CredentialStep::Write),
        2 => any::<u8>().prop_map(CredentialStep::DiesBeforeSwitch),
        1 => Just(CredentialStep::DiesInVersion),
        1 => Just(CredentialStep::DiesInSwitch),
        1 => any::<u8>().prop_map(CredentialStep::DiesBeforePruning),
        1 => Just(CredentialStep::Restart),
    ]
}

/// Restores the former content of a folder, and removes no new files.
fn restore_files(files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

async fn run_steps(steps: &[CredentialStep]) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open_store(folder.path()).await.unwrap();
    let mut current: Option<(u64, Value)> = None;
    let mut highest = 0;
    for step in steps {
        match step {
            CredentialStep::Write(value) => {
                let kept =
                    store.configs.write_version(make_slot("ann"), json!(value)).await.unwrap();
                assert!(kept.version > highest, "{} after {highest}", kept.version);
                highest = kept.version;
                current = Some((kept.version, json!(value)));
                assert!(count_versions(folder.path()) <= KEPT);
            }
            CredentialStep::DiesBeforeSwitch(value) => {
                if current.is_none() {
                    continue;
                }
                let pointer = find_config_folder(folder.path()).join("current");
                let id = find_config_folder(folder.path()).file_name().unwrap().to_owned();
                // It is remembered after the switch.
                let memory = folder.path().join("vault/generations").join(id);
                let before = [pointer, memory].map(|path| (path.clone(), fs::read(path).unwrap()));
                let kept =
                    store.configs.write_version(make_slot("ann"), json!(value)).await.unwrap();
                highest = kept.version;
                restore_files(&before.into());
                store = open_store(folder.path()).await.unwrap();
            }
            CredentialStep::DiesInVersion | CredentialStep::DiesInSwitch if current.is_some() => {
                let next = format!("{}.tmp", highest + 1);
                let name = if matches!(step, CredentialStep::DiesInVersion) {
                    &next
                } else {
                    "current.tmp"
                };
                fs::write(find_config_folder(folder.path()).join(name), "half").unwrap();
                store = open_store(folder.path()).await.unwrap();
            }
            CredentialStep::DiesBeforePruning(value) if current.is_some() => {
                let mut before = read_files(&find_config_folder(folder.path()));
                before.retain(|path, _| path.extension().is_some());
                let kept =
                    store.configs.write_version(make_slot("ann"), json!(value)).await.unwrap();
                highest = kept.version;
                current = Some((kept.version, json!(value)));
                restore_files(&before);
                store = open_store(folder.path()).await.unwrap();
            }
            _ => store = open_store(folder.path()).await.unwrap(),
        }
        assert_eq!(read_config(&store, "ann").await.unwrap(), current, "after {step:?}");
    }
    let kept = store.configs.write_version(make_slot("ann"), json!("last")).await.unwrap();
    assert_eq!(read_config(&store, "ann").await.unwrap(), Some((kept.version, json!("last"))));
    let written = usize::try_from(highest).unwrap() + 1;
    assert_eq!(count_versions(folder.path()), written.min(KEPT));
}

fn count_versions(folder: &Path) -> usize {
    let found = read_files(&find_config_folder(folder));
    found.keys().filter(|path| path.extension().is_some_and(|kind| kind == "sealed")).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_current_version_is_always_one_that_was_written_whole(
        steps in proptest::collection::vec(any_step(), 1..60),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(run_steps(&steps));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Exactly the last token of each name is valid, also after a restart.
    #[test]
    fn only_the_last_token_of_a_name_is_valid(
        steps in proptest::collection::vec((0..3_u8, 0..3_u8), 1..24),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let mut store = open_store(folder.path()).await.unwrap();
            let by = read_owner_key(folder.path());
            let (mut made, mut good) = (Vec::new(), BTreeMap::new());
            for (who, what) in steps {
                let who = make_principal(&format!("p{who}"));
                match what {
                    0 => {
                        let ended = store.tokens.revoke_token(by.clone(), who.clone()).await;
                        prop_assert_eq!(ended.is_ok(), good.remove(&who).is_some());
                    }
                    1 => {
                        let one =
                            store.tokens.create_token(by.clone(), who.clone(), TokenKind::Plain, OnExistingToken::Refuse).await;
                        prop_assert_eq!(one.is_ok(), !good.contains_key(&who));
                        if let Ok(one) = one {
                            made.push(one.token.clone());
                            good.insert(who, one.token);
                        }
                    }
                    _ => {
                        let one =
                            store.tokens.create_token(by.clone(), who.clone(), TokenKind::Plain, OnExistingToken::Overwrite).await;
                        let one = one.unwrap();
                        made.push(one.token.clone());
                        good.insert(who, one.token);
                    }
                }
                store = open_store(folder.path()).await.unwrap();
                for token in &made {
                    let wanted = good.iter().find(|(_, good)| *good == token);
                    let wanted = wanted.map(|(who, _)| who.clone());
                    prop_assert_eq!(find_principal(&store, token.expose()), wanted);
                }
            }
            Ok(())
        })?;
    }
}
