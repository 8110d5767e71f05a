//! A store that remembers how its last read and write went: the suite through it.

use std::sync::Arc;

use codeinfo_store::{Observed, OnMismatch, StoreError};

use crate::{
    store_embedded::{Folder, open},
    store_suite::{Place, Store, store_suite},
};

store_suite!(wrapper Watched);

struct Watched(Folder);

impl Place for Watched {
    async fn fresh() -> Self {
        Self(Folder::new())
    }

    async fn open_as(&self, _: &str, _: OnMismatch) -> Result<Store, StoreError> {
        Ok(Arc::new(Observed::new(open(self.0.path()).await?)))
    }
}
