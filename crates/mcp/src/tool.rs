//! Tools as they are listed, and what calling one returns.

use serde_json::{Map, Value, json};

use super::{Schema, SchemaError};

/// Whether a repeated call gives the same: a search does, a conversation does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotence {
    Idempotent,
    Changing,
}

/// A tool that only reads. Its schema validates each call before the endpoint sees it.
#[derive(Debug, Clone)]
pub struct Tool {
    name: &'static str,
    arguments: Schema,
    listed: Value,
}

impl Tool {
    pub fn new(
        name: &'static str,
        title: &str,
        description: &str,
        arguments: Value,
        idempotence: Idempotence,
    ) -> Result<Self, SchemaError> {
        let listed = json!({
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": arguments,
            // All four are spelled out: the defaults of the protocol say "destructive".
            "annotations": {
                "title": title,
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": idempotence == Idempotence::Idempotent,
                "openWorldHint": false,
            },
        });
        Ok(Self { name, arguments: Schema::new(arguments)?, listed })
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn arguments(&self) -> &Schema {
        &self.arguments
    }

    /// Returns the entry of `tools/list`.
    pub(super) fn listed(&self) -> &Value {
        &self.listed
    }
}

/// What a call returns: one text, for a model to read.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    text: String,
    is_error: bool,
    meta: Option<Map<String, Value>>,
}

impl ToolResult {
    pub fn text(text: String) -> Self {
        Self { text, is_error: false, meta: None }
    }

    /// Reports a failure that the calling model can act on.
    pub fn error(text: String) -> Self {
        Self { text, is_error: true, meta: None }
    }

    /// Adds `_meta` members, which clients see and models do not.
    #[must_use]
    pub fn with_meta(mut self, key: &str, value: Value) -> Self {
        self.meta.get_or_insert_default().insert(key.to_owned(), value);
        self
    }

    pub(super) fn into_members(self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("content".to_owned(), json!([{ "type": "text", "text": self.text }]));
        if self.is_error {
            members.insert("isError".to_owned(), Value::Bool(true));
        }
        if let Some(meta) = self.meta {
            members.insert("_meta".to_owned(), Value::Object(meta));
        }
        members
    }
}
