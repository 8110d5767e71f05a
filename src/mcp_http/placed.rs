//! An endpoint for a client that stands in a repository: a last line of results says what they miss of it.

use std::sync::Arc;

use codeinfo_mcp::{About, Call, CallError, Endpoint, Error, Tool, ToolResult, Update};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use serde_json::{Map, Value};

use super::Place;
use crate::domain::FOLDER_META;

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

    fn changes(&self) -> Option<BoxStream<'static, ()>> {
        self.inner.changes()
    }

    fn gate(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.gate()
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
        mut meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Call, CallError>> {
        async move {
            let place = Arc::clone(&self.place);
            meta.entry(FOLDER_META).or_insert_with(|| place.shown().into());
            Ok(match self.inner.call(tool, arguments, meta).await? {
                Call::Done(result) => Call::Done(noticed(result, &place).await),
                Call::Running(updates) => {
                    let updates = updates.then(move |update| {
                        let place = Arc::clone(&place);
                        async move {
                            match update {
                                Update::Done(Ok(result)) => {
                                    Update::Done(Ok(noticed(result, &place).await))
                                }
                                update => update,
                            }
                        }
                    });
                    Call::Running(updates.boxed())
                }
            })
        }
        .boxed()
    }
}

async fn noticed(result: ToolResult, place: &Place) -> ToolResult {
    match place.notice().await {
        Some(notice) => result.map_text(|text| format!("{text}\n{notice}")),
        None => result,
    }
}
