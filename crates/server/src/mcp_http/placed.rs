//! An endpoint for a client that stands in a repository.

use std::sync::Arc;

use codeinfo_core::FOLDER_META;
use codeinfo_mcp::{About, Call, CallError, Endpoint, Error, Tool};
use futures_util::{future::BoxFuture, stream::BoxStream};
use serde_json::{Map, Value};

use super::Place;

/// The endpoint `inner`, for a client that stands in a repository.
pub struct Placed {
    inner: Arc<dyn Endpoint>,
    place: Arc<Place>,
}

impl Placed {
    pub fn new(inner: Arc<dyn Endpoint>, place: Arc<Place>) -> Self {
        Self { inner, place }
    }
}

impl Endpoint for Placed {
    fn about(&self) -> &About {
        self.inner.about()
    }

    fn instructions(&self) -> BoxFuture<'_, String> {
        self.inner.instructions()
    }

    fn list_tools(&self) -> BoxFuture<'_, Vec<Tool>> {
        self.inner.list_tools()
    }

    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        self.inner.changes()
    }

    fn gate(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.gate()
    }

    fn gate_list(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.gate_list()
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
        mut meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Call, CallError>> {
        meta.entry(FOLDER_META).or_insert_with(|| self.place.shown().into());
        self.inner.call(tool, arguments, meta)
    }
}
