//! SCIP indexes in the folder of a repository, and given ones.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use codeinfo_core::{PathMap, Root, RootFilter};
use codeinfo_evidence::{Evidence, RelationKind, ScipFileError, render};
use codeinfo_test_support::ingest::TestIndex;

use crate::relations::{APP, index_shop, relate};

const OPEN: &str = "scip-python python shop 0.1 door/Door#open().";

/// Encodes a field of a protobuf message with a length.
fn encode_field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 128 {
        bytes.push(u8::try_from(length % 128).unwrap() | 128);
        length /= 128;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend(content);
    bytes
}

/// Encodes a document with occurrences, each with line and column from 0, length and symbol. The
/// first one is a definition if `defines`.
fn encode_document(path: &str, defines: bool, occurrences: &[([u8; 3], &str)]) -> Vec<u8> {
    let mut document = encode_field(1, path.as_bytes());
    for (place, ([line, column, length], symbol)) in occurrences.iter().enumerate() {
        let mut occurrence = encode_field(1, &[*line, *column, column + length]);
        occurrence.extend(encode_field(2, symbol.as_bytes()));
        if defines && place == 0 {
            occurrence.extend([3 << 3, 1]);
        }
        document.extend(encode_field(2, &occurrence));
    }
    // Columns are counted in bytes.
    document.extend([6 << 3, 1]);
    encode_field(2, &document)
}

#[tokio::test]
async fn a_compilers_index_is_believed_for_the_files_that_it_describes() {
    let index = TestIndex::new().await;
    let (repository, evidence) = index_shop(&index).await;
    let callers = async || relate(&evidence, "Door.open", RelationKind::Callers).await;
    assert_eq!(callers().await, ["door.py:5 enter Certain 6", "app.py:3 run Possible 6"]);
    let compiled = [
        encode_document("door.py", true, &[([1, 8, 4], OPEN)]),
        encode_document("app.py", false, &[([5, 9, 4], OPEN)]),
    ];
    fs::write(repository.join("index.scip"), compiled.concat()).unwrap();
    assert_eq!(callers().await, ["app.py:3 run Certain 6", "door.py:5 enter Certain 6"]);
    // The index has nothing about a file that changed since.
    repository.write("app.py", &APP.replace("    door.open()", "    ignored()\n    door.open()"));
    index.ingest(&repository).await;
    let found = evidence
        .find_relations("Door.open", RelationKind::Callers, RootFilter::Everything)
        .await
        .unwrap();
    assert_eq!(found.recorded, [1, 1]);
    let note = "(the SCIP index describes 1 file of those that were read; 1 file changed since it was written: \
                read by rules)";
    let text = render::render_relations(&found).0;
    assert!(text.contains(note), "{text}");
    assert_eq!(callers().await, ["door.py:5 enter Certain 6", "app.py:3 run Possible 7"]);
    // Neither is one believed that is damaged or a link.
    for damage in ["cut", "link"] {
        fs::remove_file(repository.join("index.scip")).unwrap();
        if damage == "cut" {
            let bytes = compiled.concat();
            fs::write(repository.join("index.scip"), &bytes[..bytes.len() - 3]).unwrap();
        } else {
            fs::write(repository.join("../other.scip"), compiled.concat()).unwrap();
            #[cfg(unix)]
            std::os::unix::fs::symlink(
                repository.join("../other.scip"),
                repository.join("index.scip"),
            )
            .unwrap();
        }
        let found = evidence
            .find_relations("Door.open", RelationKind::Callers, RootFilter::Everything)
            .await
            .unwrap();
        assert_eq!((found.recorded, found.related.len()), ([0, 0], 2), "{damage}");
    }
}

/// Gives a root an index in pieces of ten bytes.
async fn give_index(
    evidence: &Evidence,
    root: &Root,
    index: &[u8],
) -> Result<usize, ScipFileError> {
    let mut upload = evidence.receive_scip_index(root.clone())?;
    for piece in index.chunks(10) {
        upload.write_piece(piece).await?;
    }
    upload.finish().await
}

#[tokio::test]
async fn a_given_index_counts_before_that_in_the_folder_until_it_is_removed() {
    let index = TestIndex::new().await;
    let (repository, plain) = index_shop(&index).await;
    let root = index.load_root().await;
    let folder = repository.join("../scip");
    let evidence = plain.clone().with_scip_folder(folder.clone());
    let callers = async |evidence: &Evidence| {
        relate(evidence, "Door.open", RelationKind::Callers).await.join(", ")
    };
    let by_rules = callers(&evidence).await;
    // Only the given index has `app.py`.
    let door = encode_document("door.py", true, &[([1, 8, 4], OPEN)]);
    let app = encode_document("app.py", false, &[([5, 9, 4], OPEN)]);
    let elsewhere = encode_document("../elsewhere.py", false, &[([5, 9, 4], OPEN)]);
    fs::write(repository.join("index.scip"), &door).unwrap();
    assert_eq!(callers(&evidence).await, by_rules);
    let given = [elsewhere.as_slice(), &door, &app].concat();
    assert_eq!(give_index(&evidence, &root, &given).await.unwrap(), 2);
    let confirmed = "app.py:3 run Certain 6, door.py:5 enter Certain 6";
    assert_eq!(callers(&evidence).await, confirmed);
    let file = folder.join(format!("{}.scip", root.id));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777,
        0o600
    );
    // Another process, after another run.
    repository.write("new.py", "import door\n");
    index.ingest(&repository).await;
    let later =
        Evidence::new(index.store.clone(), PathMap::default()).with_scip_folder(folder.clone());
    assert_eq!(callers(&later).await, confirmed);
    // What is refused leaves the former one and no file.
    fs::write(folder.join("left-over"), "cut").unwrap();
    for (wrong, reason) in [
        (&given[..given.len() - 3], "the SCIP index is not complete"),
        (&elsewhere, "no indexed file of `shop`; run the indexer in its folder"),
        (&[], "no indexed file of `shop`"),
    ] {
        let refused = give_index(&later, &root, wrong).await.unwrap_err();
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    let upload = later.receive_scip_index(root.clone()).unwrap();
    let second = later.clone().receive_scip_index(root.clone()).err().unwrap();
    assert!(matches!(second, ScipFileError::Busy), "{second}");
    drop(upload);
    assert_eq!(callers(&later).await, confirmed);
    give_index(&later, &root, &given).await.unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    later.remove_scip_index(root.id).unwrap();
    later.remove_scip_index(root.id).unwrap();
    assert!(!file.try_exists().unwrap());
    assert_eq!(callers(&later).await, by_rules);
    assert!(matches!(plain.receive_scip_index(root).err().unwrap(), ScipFileError::Unwritable(_)));
}

#[tokio::test]
async fn an_index_is_read_once_and_anew_when_it_changes() {
    let index = TestIndex::new().await;
    let (repository, evidence) = index_shop(&index).await;
    let compiled = [
        encode_document("door.py", true, &[([1, 8, 4], OPEN)]),
        encode_document("app.py", false, &[([5, 9, 4], OPEN)]),
    ]
    .concat();
    // Later than any change of the file, so that the time counts.
    let time = SystemTime::now() + Duration::from_hours(1);
    let write = |bytes: &[u8], time| {
        fs::write(repository.join("index.scip"), bytes).unwrap();
        let file = fs::File::options().write(true).open(repository.join("index.scip")).unwrap();
        file.set_modified(time).unwrap();
    };
    write(&compiled, time);
    let relations = async |name: &str| {
        let within = RootFilter::Everything;
        evidence.find_relations(name, RelationKind::Callers, within).await.unwrap().recorded
    };
    assert_eq!(relations("Door.open").await, [2, 0]);
    // The graphs of other trees take the place of that of the shop.
    for name in ["one", "two", "three", "four"] {
        let text = format!("def {name}():\n    pass\n");
        let other = index.create_repository(name, &[("other.py", &text)]);
        index.ingest(&other).await;
        relations(name).await;
    }
    // Other bytes of the same size and time count as read.
    write(&vec![255; compiled.len()], time);
    assert_eq!(relations("Door.open").await, [2, 0]);
    write(&vec![255; compiled.len()], time + Duration::from_secs(1));
    assert_eq!(relations("Door.open").await, [0, 0]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_given_index_is_never_read_or_written_through_a_link() {
    let index = TestIndex::new().await;
    let (repository, plain) = index_shop(&index).await;
    let root = index.load_root().await;
    let (folder, other) = (repository.join("../scip"), repository.join("../other"));
    let compiled = [
        encode_document("door.py", true, &[([1, 8, 4], OPEN)]),
        encode_document("app.py", false, &[([5, 9, 4], OPEN)]),
    ];
    let evidence = plain.with_scip_folder(folder.clone());
    fs::create_dir(&other).unwrap();
    fs::write(other.join("index"), compiled.concat()).unwrap();
    std::os::unix::fs::symlink(&other, &folder).unwrap();
    assert!(give_index(&evidence, &root, &compiled.concat()).await.is_err());
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let link = folder.join(format!("{}.scip", root.id));
    std::os::unix::fs::symlink(other.join("index"), &link).unwrap();
    let found = evidence
        .find_relations("Door.open", RelationKind::Callers, RootFilter::Everything)
        .await
        .unwrap();
    assert_eq!(found.recorded, [0, 0]);
}
