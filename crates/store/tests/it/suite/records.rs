//! The contract of every vector store for roots and files: records come back as they were written.

use codeinfo_core::{ChunkRecord, FileRecord, IndexCounts, LastRun, PathMap, Root, RootId};
use codeinfo_store::{ChunkQuery, NewChunk, StoredChunk};
use codeinfo_test_support::store::{
    Store, load_all_chunks, make_chunk, make_chunk_id, make_chunk_record, make_file_record,
    make_root, make_root_id, put_chunks, read_chunk_numbers,
};
use uuid::Uuid;

/// Text as it may be in a file, or in a name.
const ODD: &str = "ä/日本 \"\\'\t\n\u{0}\u{1f980}\u{feff}${x}.rs";

pub(crate) async fn records_come_back_whole(store: Store) {
    let most = u64::try_from(i64::MAX).unwrap();
    let some = ChunkRecord {
        path: ODD.to_owned(),
        version: String::new(),
        indexed_at_ms: most,
        start_line: u32::MAX - 1,
        end_line: u32::MAX,
        symbol: Some(ODD.to_owned()),
        language: Some(ODD.to_owned()),
        signature: Some(ODD.to_owned()),
        text: ODD.repeat(1000),
        ..make_chunk_record("a", "")
    };
    let ids = [Uuid::nil(), Uuid::from_u128(1 << 64), Uuid::max()];
    let records = [some.clone(), make_chunk_record("a", ""), some];
    let vectors =
        make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(0, 1.0), (u32::MAX, 1.0)]).vectors;
    let written = ids.into_iter().zip(records.clone());
    put_chunks(
        &store,
        written.map(|(id, record)| NewChunk { id, record, vectors: vectors.clone() }),
    )
    .await;
    let expected = ids.into_iter().zip(records).map(|(id, record)| StoredChunk { id, record });
    let expected: Vec<StoredChunk> = expected.collect();
    assert_eq!(load_all_chunks(&store).await, expected);
    let found = store
        .search(ChunkQuery::nearest(vec![1.0, 0.0, 0.0, 0.0], Some(make_root_id("a")), 9))
        .await
        .unwrap();
    let found = found.into_iter().map(|hit| StoredChunk { id: hit.id, record: hit.record });
    assert_eq!(found.collect::<Vec<_>>(), expected);

    let file = FileRecord {
        path: ODD.to_owned(),
        version: ODD.to_owned(),
        size: most,
        modified_ns: most,
        chunks: u32::MAX,
        ..make_file_record(make_root_id("a"), 1, "")
    };
    store.put_files(vec![file.clone()]).await.unwrap();
    assert_eq!(store.files_at(make_root_id("a"), vec![ODD.to_owned()]).await.unwrap(), [file]);

    let plain = Root { description: None, last_ingest_at: None, ..make_root("plain") };
    let full = Root {
        name: ODD.to_owned(),
        description: Some(ODD.to_owned()),
        counts: IndexCounts { files: most, chunks: most, embedded: most },
        last_run: LastRun::Failed { reason: ODD.to_owned(), resumes: true },
        repository: None,
        revision: None,
        origin: None,
        host: None,
        private_files: Some(vec![ODD.to_owned(), String::new()]),
        ..make_root("full")
    };
    let interrupted = Root { last_run: LastRun::Interrupted, ..make_root("interrupted") };
    for root in [&plain, &full, &interrupted] {
        store.put_root(root.clone()).await.unwrap();
    }
    assert_eq!(store.roots().await.unwrap(), [interrupted, plain, full]);
}

pub(crate) async fn chunks_files_and_roots_do_not_mix(store: Store) {
    let (one, file) = (make_root("one"), make_file_record(make_root_id("one"), 1, "v1"));
    store.put_root(one.clone()).await.unwrap();
    store.put_files(vec![file.clone()]).await.unwrap();
    let same = NewChunk { id: one.id.0, ..make_chunk(1, "two", &file.path, [1.0; 4], &[]) };
    put_chunks(&store, [same]).await;
    store.remove_files(make_root_id("two"), vec![file.path.clone()]).await.unwrap();
    store.remove_root(make_root_id("two")).await.unwrap();
    assert_eq!(load_all_chunks(&store).await, []);
    store.remove_chunks(vec![one.id.0]).await.unwrap();
    assert_eq!(store.roots().await.unwrap(), [one]);
    assert_eq!(store.files(make_root_id("one")).await.unwrap(), [file]);
    assert_eq!(store.count(None).await.unwrap(), 0);
}

pub(crate) async fn roots_are_replaced_and_ordered_by_name(store: Store) {
    let (one, two) = (
        make_root("one"),
        Root {
            last_run: LastRun::Failed { reason: "gone".into(), resumes: false },
            ..make_root("two")
        },
    );
    store.put_root(two.clone()).await.unwrap();
    store.put_root(Root { name: "zzz".to_owned(), ..one.clone() }).await.unwrap();
    store.put_root(one.clone()).await.unwrap();
    let known = store.roots().await.unwrap();
    assert_eq!(known, [one.clone(), two.clone()]);
    assert_eq!(PathMap::default().find_root(&known, "two"), Some(&two));
    assert_eq!(PathMap::default().find_root(&known, &one.id.to_string()), Some(&one));
    assert_eq!(PathMap::default().find_root(&known, "/repositories/two"), Some(&two));
    assert_eq!(PathMap::default().find_root(&known, "three"), None);
}

pub(crate) async fn files_are_replaced_and_found_by_path(store: Store) {
    let (one, two) = (make_root_id("one"), make_root_id("two"));
    let mut files: Vec<FileRecord> = (0..2500).map(|n| make_file_record(one, n, "v1")).collect();
    store.put_files(files.clone()).await.unwrap();
    files[0] = make_file_record(one, 0, "v2");
    store.put_files(vec![files[0].clone(), make_file_record(two, 0, "v3")]).await.unwrap();
    assert_eq!(sort_by_path(store.files(one).await.unwrap()), files);
    assert_eq!(store.files(two).await.unwrap(), [make_file_record(two, 0, "v3")]);
    assert_eq!(store.files(make_root_id("three")).await.unwrap(), []);

    let paths = |some: &[FileRecord]| some.iter().map(|file| file.path.clone()).collect();
    let found = store.files_at(one, paths(&files)).await.unwrap();
    assert_eq!(sort_by_path(found), files);
    let mut some: Vec<String> = paths(&files[..2]);
    some.push("src/none.rs".to_owned());
    assert_eq!(sort_by_path(store.files_at(one, some.clone()).await.unwrap()), files[..2]);
    assert_eq!(store.files_at(two, some).await.unwrap(), [make_file_record(two, 0, "v3")]);
    assert_eq!(store.files_at(one, vec![]).await.unwrap(), []);
}

pub(crate) async fn removed_files_are_gone_and_no_others(store: Store) {
    let (one, two) = (make_root_id("one"), make_root_id("two"));
    let files = |of: RootId| (0..3).map(move |n| make_file_record(of, n, "v1"));
    store.put_files(files(one).chain(files(two)).collect()).await.unwrap();
    store.remove_files(one, vec![]).await.unwrap();
    let gone = ["src/0000.rs", "src/0002.rs", "src/none.rs"].map(str::to_owned);
    store.remove_files(one, gone.to_vec()).await.unwrap();
    assert_eq!(store.files(one).await.unwrap(), [make_file_record(one, 1, "v1")]);
    assert_eq!(store.files_at(one, gone.to_vec()).await.unwrap(), []);
    assert_eq!(sort_by_path(store.files(two).await.unwrap()), files(two).collect::<Vec<_>>());
}

pub(crate) async fn removing_a_root_leaves_the_others(store: Store) {
    let (one, two) = (make_root("one"), make_root("two"));
    for (root, n) in [(&one, 1), (&two, 2)] {
        store.put_root(root.clone()).await.unwrap();
        store.put_files(vec![make_file_record(root.id, 1, "v1")]).await.unwrap();
        put_chunks(&store, [make_chunk(n, &root.name, "x", [1.0; 4], &[])]).await;
    }
    for _ in 0..2 {
        store.remove_root(one.id).await.unwrap();
        assert_eq!(store.roots().await.unwrap(), std::slice::from_ref(&two));
        assert_eq!(store.files(one.id).await.unwrap(), []);
        assert_eq!(store.files(two.id).await.unwrap(), [make_file_record(two.id, 1, "v1")]);
        assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [2]);
        assert_eq!(store.count(Some(one.id)).await.unwrap(), 0);
    }
    // It may come back.
    put_chunks(&store, [make_chunk(1, "one", "x", [1.0; 4], &[])]).await;
    assert_eq!(load_all_chunks(&store).await[0].id, make_chunk_id(1));
    assert_eq!(store.files(one.id).await.unwrap(), []);
}

fn sort_by_path(mut files: Vec<FileRecord>) -> Vec<FileRecord> {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
