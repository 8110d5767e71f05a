//! Typed access to the roots and files that a store knows.

use std::sync::Arc;

use uuid::Uuid;

use super::{Collection, Field, Filter, Point, StoreError, VectorStore};
use crate::domain::{FileRecord, Root, RootId};

/// How many records one read takes from the store.
const PAGE: usize = 1000;

/// The roots and files of a store. Clones share the store.
#[derive(Clone)]
pub struct Catalog {
    store: Arc<dyn VectorStore>,
}

impl Catalog {
    /// Wraps a store.
    pub fn new(store: Arc<dyn VectorStore>) -> Self {
        Self { store }
    }

    /// Returns every root, ordered by name.
    pub async fn roots(&self) -> Result<Vec<Root>, StoreError> {
        let mut roots: Vec<Root> = self.all(Collection::Roots, &Filter::default()).await?;
        roots.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(roots)
    }

    /// Writes a root, replacing what was known of it.
    pub async fn put_root(&self, root: &Root) -> Result<(), StoreError> {
        self.store.upsert(Collection::Roots, vec![root_point(root)?]).await
    }

    /// Forgets a root and everything indexed for it. The root itself goes last, so that an
    /// interrupted removal can be repeated.
    pub async fn remove_root(&self, root: RootId) -> Result<(), StoreError> {
        let of_root = || Filter::default().with(Field::Root, [root.to_string()]);
        self.store.delete(Collection::Chunks, of_root()).await?;
        self.store.delete(Collection::Files, of_root()).await?;
        self.store.delete(Collection::Roots, of_root()).await
    }

    /// Returns the record of every indexed file of a root, in no fixed order.
    pub async fn files(&self, root: RootId) -> Result<Vec<FileRecord>, StoreError> {
        self.all(Collection::Files, &Filter::default().with(Field::Root, [root.to_string()])).await
    }

    /// Returns the records of those of `paths` that are indexed files of a root, in no fixed order.
    pub async fn files_at(
        &self,
        root: RootId,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<FileRecord>, StoreError> {
        let ids: Vec<Uuid> = paths.into_iter().map(|path| file_id(root, path.as_ref())).collect();
        let mut records = Vec::new();
        for some in ids.chunks(PAGE) {
            records.extend(self.all(Collection::Files, &Filter::of(some.iter().copied())).await?);
        }
        Ok(records)
    }

    /// Forgets files of a root, all in one deletion.
    pub async fn remove_files(&self, root: RootId, paths: &[String]) -> Result<(), StoreError> {
        let named = Filter::of(paths.iter().map(|path| file_id(root, path)));
        self.store.delete(Collection::Files, named).await
    }

    /// Writes file records, replacing what was known of the same paths.
    pub async fn put_files(&self, files: &[FileRecord]) -> Result<(), StoreError> {
        let points: Result<Vec<Point>, StoreError> = files
            .iter()
            .map(|file| {
                let id = file_id(file.root, &file.path);
                Ok(Point { id, payload: payload(file)?, vectors: None })
            })
            .collect();
        self.store.upsert(Collection::Files, points?).await
    }

    async fn all<T: serde::de::DeserializeOwned>(
        &self,
        from: Collection,
        filter: &Filter,
    ) -> Result<Vec<T>, StoreError> {
        let mut records = Vec::new();
        let mut after = None;
        loop {
            let page = self.store.scroll(from, filter.clone(), after, PAGE).await?;
            let full = page.len() == PAGE;
            after = page.last().map(|stored| stored.id);
            for stored in page {
                records.push(serde_json::from_value(stored.payload.into())?);
            }
            if !full {
                return Ok(records);
            }
        }
    }
}

/// Returns the point that keeps a root.
pub(super) fn root_point(root: &Root) -> Result<Point, StoreError> {
    let mut payload = payload(root)?;
    payload.insert("root".to_owned(), root.id.to_string().into());
    Ok(Point { id: root.id.0, payload, vectors: None })
}

/// Returns the id of a file's record, which follows from where the file is.
fn file_id(root: RootId, path: &str) -> Uuid {
    Uuid::new_v5(&root.0, path.as_bytes())
}

fn payload<T: serde::Serialize>(
    record: &T,
) -> Result<serde_json::Map<String, serde_json::Value>, StoreError> {
    match serde_json::to_value(record)? {
        serde_json::Value::Object(map) => Ok(map),
        _ => Err(StoreError::Engine {
            action: "write a record",
            reason: "the record is not a JSON object".to_owned(),
        }),
    }
}
