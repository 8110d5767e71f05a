//! An endpoint for a client that stands in a repository: results say what they miss of it.

use std::sync::Arc;

use codeinfo_mcp::{About, Call, CallError, Endpoint, Error, Tool, ToolResult, Update};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use serde_json::{Map, Value, json};

use super::Place;

/// How the results of an endpoint look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An object of JSON, which gets a member `notice`.
    Json,
    /// Text, which gets a last line.
    Lines,
}

/// The endpoint `inner`, for a client that stands in a repository.
pub struct Placed {
    inner: Arc<dyn Endpoint>,
    place: Arc<Place>,
    form: Form,
}

impl Placed {
    pub fn new(inner: Arc<dyn Endpoint>, place: Arc<Place>, form: Form) -> Self {
        Self { inner, place, form }
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
        meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Call, CallError>> {
        async move {
            let (place, form) = (Arc::clone(&self.place), self.form);
            Ok(match self.inner.call(tool, arguments, meta).await? {
                Call::Done(result) => Call::Done(noticed(result, &place, form).await),
                Call::Running(updates) => {
                    let updates = updates.then(move |update| {
                        let place = Arc::clone(&place);
                        async move {
                            match update {
                                Update::Done(Ok(result)) => {
                                    Update::Done(Ok(noticed(result, &place, form).await))
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

async fn noticed(result: ToolResult, place: &Place, form: Form) -> ToolResult {
    match place.notice().await {
        Some(notice) => result.map_text(|text| with(&text, &notice, form)),
        None => result,
    }
}

fn with(text: &str, notice: &str, form: Form) -> String {
    match (form, text.strip_prefix('{')) {
        (Form::Json, Some(rest)) => format!("{{\"notice\":{},{rest}", json!(notice)),
        (Form::Json, None) | (Form::Lines, _) => format!("{text}\n{notice}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, with};

    #[test]
    fn a_notice_is_a_member_or_a_line() {
        let text = with(r#"{"segments":[]}"#, "a \"b\"", Form::Json);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, json!({ "notice": "a \"b\"", "segments": [] }));
        assert_eq!(with("{x", "late", Form::Lines), "{x\nlate");
    }
}
