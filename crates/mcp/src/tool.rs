//! Tools as they are listed, and what calling one returns.

use serde_json::{Map, Value, json};

use super::{Schema, SchemaError};

/// Whether a repeated call gives the same: a search does, a conversation does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolIdempotence {
    Idempotent,
    Changing,
}

/// What a client may expect of calls, as `annotations` say it. The default is that of the protocol for a
/// tool that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has these four")]
pub struct ToolHints {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy what is there.
    pub destructive: bool,
    /// A repeated call changes nothing more.
    pub idempotent: bool,
    /// Acts on more than this machine.
    pub open_world: bool,
}

impl Default for ToolHints {
    fn default() -> Self {
        Self { read_only: false, destructive: true, idempotent: false, open_world: true }
    }
}

/// A tool. Its schema validates each call before the endpoint sees it.
#[derive(Debug, Clone)]
pub struct McpTool {
    name: String,
    arguments: Schema,
    listed: Value,
}

impl McpTool {
    /// Returns a tool that only reads.
    pub fn new(
        name: &str,
        title: &str,
        description: &str,
        arguments: Value,
        idempotence: ToolIdempotence,
    ) -> Result<Self, SchemaError> {
        let idempotent = idempotence == ToolIdempotence::Idempotent;
        let hints =
            ToolHints { read_only: true, destructive: false, idempotent, open_world: false };
        Ok(Self::with_hints((name, title), description, Schema::new(arguments)?, hints))
    }

    /// Returns a tool with `hints`; `name` and `title` go together.
    pub fn with_hints(
        (name, title): (&str, &str),
        description: &str,
        arguments: Schema,
        hints: ToolHints,
    ) -> Self {
        let listed = json!({
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": arguments.value(),
            // All four are spelled out: the defaults of the protocol say "destructive".
            "annotations": {
                "title": title,
                "readOnlyHint": hints.read_only,
                "destructiveHint": hints.destructive,
                "idempotentHint": hints.idempotent,
                "openWorldHint": hints.open_world,
            },
        });
        Self { name: name.to_owned(), arguments, listed }
    }

    /// Lists another description.
    #[must_use]
    pub fn with_listed_description(mut self, description: &str) -> Self {
        if let Some(listed) = self.listed.get_mut("description") {
            *listed = description.into();
        }
        self
    }

    /// Lists another schema than the one that validates: what clients take of it.
    #[must_use]
    pub fn with_listed_schema(mut self, schema: Value) -> Self {
        if let Some(listed) = self.listed.get_mut("inputSchema") {
            *listed = schema;
        }
        self
    }

    /// Adds a member to `_meta` of the entry.
    #[must_use]
    pub fn with_listed_meta(mut self, key: &str, value: Value) -> Self {
        if let Some(listed) = self.listed.as_object_mut() {
            let meta = listed.entry("_meta").or_insert_with(|| json!({}));
            meta.as_object_mut().map(|meta| meta.insert(key.to_owned(), value));
        }
        self
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn arguments(&self) -> &Schema {
        &self.arguments
    }

    /// Returns the entry of `tools/list`.
    pub fn as_list_entry(&self) -> &Value {
        &self.listed
    }
}

/// What a call returns: one text, for a model to read.
#[derive(Debug, Clone, PartialEq)]
pub struct McpToolResult {
    text: String,
    is_error: bool,
    meta: Option<Map<String, Value>>,
}

impl McpToolResult {
    pub fn text(text: String) -> Self {
        Self { text, is_error: false, meta: None }
    }

    /// Reports a failure that the calling model can act on.
    pub fn error(text: String) -> Self {
        Self { text, is_error: true, meta: None }
    }

    /// Changes the text.
    #[must_use]
    pub fn map_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.text = change(self.text);
        self
    }

    /// Adds `_meta` members, which clients see and models do not.
    #[must_use]
    pub fn with_meta(mut self, key: &str, value: Value) -> Self {
        self.meta.get_or_insert_default().insert(key.to_owned(), value);
        self
    }

    /// Whether it reports a failure.
    pub fn is_error(&self) -> bool {
        self.is_error
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
