//! JSON schemas of a toolkit, of a document with toolkits and of the toolkits in a request.

use serde_json::{Value, json};

/// Maximum toolkits of one document. A turn has far fewer, see [`super::ToolkitSettings::max`].
const MAX_TOOLKITS: usize = 128;
/// Maximum toolkits of a request; more are refused, and those beyond [`super::ToolkitSettings::max`] are left out.
const MAX_REQUESTED: usize = 256;
/// Maximum characters of a command, a folder or a URL.
const MAX_PLACE_CHARS: usize = 4096;
/// Maximum characters of an argument, a variable's value or a header.
pub(super) const MAX_VALUE_CHARS: usize = 16 * 1024;
const MAX_ARGS: usize = 256;
const MAX_ENV: usize = 128;
const MAX_HEADERS: usize = 64;
/// Maximum tools allowed by name, equal to the maximum tools of a toolkit.
const MAX_TOOLS: usize = 512;
const MAX_TOOL_CHARS: usize = 256;
const MAX_TIMEOUT_SECS: u64 = 3600;
const MAX_CACHE_SECS: u64 = 7 * 24 * 3600;
const MAX_MEMORY_MIB: u64 = 1 << 20;
const MAX_PROCESSES: u64 = 1 << 20;
const MAX_STEPS: usize = 1000;
const MAX_PROMPT_CHARS: usize = 32 * 1024;

/// Returns the schema of a document, except its toolkits. Only stored documents have the `agent` section.
pub(super) fn build_document_schema(agent: AgentSection) -> Value {
    let mut members = json!({
        "$comment": build_comment_schema(),
        "mcpServers": {"type": "object", "maxProperties": MAX_TOOLKITS},
    });
    if let (AgentSection::Known, Some(members)) = (agent, members.as_object_mut()) {
        members.insert(
            "agent".to_owned(),
            build_object_schema(&json!({"tools": build_agent_schema()}), &[]),
        );
    }
    build_object_schema(&members, &[])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentSection {
    Known,
    Unknown,
}

/// Returns the schema of one toolkit. [`super::read`] has checked that it has one of `command` and `url`.
pub(super) fn build_toolkit_schema() -> Value {
    build_object_schema(
        &json!({
            "$comment": build_comment_schema(),
            "command": build_command_schema(),
            "args": build_args_schema(),
            "env": build_env_schema(),
            "workingDir": build_text_schema(1, MAX_PLACE_CHARS),
            "url": {"type": "string", "maxLength": MAX_PLACE_CHARS, "pattern": "^https?://"},
            "headers": {
                "type": "object",
                "maxProperties": MAX_HEADERS,
                "propertyNames": {"pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$"},
                // A line break would start another header.
                "additionalProperties": {
                    "type": "string",
                    "maxLength": MAX_VALUE_CHARS,
                    "pattern": "^[^\\x00-\\x08\\x0a-\\x1f\\x7f]*$",
                },
            },
            "name": build_text_schema(1, 120),
            "description": build_text_schema(0, 2000),
            "enabled": {"type": "boolean"},
            "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_SECS},
            "sandbox": {"enum": ["read-only", "workspace-write", "off"]},
            "network": {"enum": [true, false, "open"]},
            "allow": {
                "type": ["string", "array"],
                "pattern": "^(readonly|all)$",
                "maxItems": MAX_TOOLS,
                "items": build_tool_name_schema(),
            },
            "cacheSecs": {"type": "integer", "minimum": 0, "maximum": MAX_CACHE_SECS},
            "parallel": {"type": "boolean"},
            "memoryMb": {"type": "integer", "minimum": 16, "maximum": MAX_MEMORY_MIB},
            "homeMb": {"type": "integer", "minimum": 1, "maximum": MAX_MEMORY_MIB},
            "maxProcesses": {"type": "integer", "minimum": 16, "maximum": MAX_PROCESSES},
        }),
        &[],
    )
}

/// A toolkit that the request carries has its own schema, see [`build_carried_schema`].
pub(super) fn build_request_schema() -> Value {
    json!({
        "type": ["object", "array"],
        "maxProperties": MAX_REQUESTED,
        "maxItems": MAX_REQUESTED,
        "items": {"type": "string"},
    })
}

pub(super) fn build_carried_schema() -> Value {
    let spec = json!({"command": build_command_schema(), "args": build_args_schema(), "env": build_env_schema()});
    let transport =
        json!({"kind": {"enum": ["stdio"]}, "spec": build_object_schema(&spec, &["command"])});
    let tools = json!({"type": "array", "maxItems": MAX_TOOLS, "items": build_tool_name_schema()});
    build_object_schema(
        &json!({"transport": build_object_schema(&transport, &["kind", "spec"]), "tools": tools}),
        &["transport"],
    )
}

fn build_agent_schema() -> Value {
    build_object_schema(
        &json!({
            "enabled": {"type": "boolean"},
            "maxSteps": {"type": "integer", "minimum": 1, "maximum": MAX_STEPS},
            "systemPrompt": build_text_schema(0, MAX_PROMPT_CHARS),
        }),
        &[],
    )
}

/// JSON has no comments, and other programs that parse these files skip unknown members.
fn build_comment_schema() -> Value {
    json!({
        "type": ["string", "array"],
        "maxLength": 8192,
        "maxItems": 256,
        "items": {"type": "string", "maxLength": 1024},
    })
}

fn build_command_schema() -> Value {
    build_text_schema(1, MAX_PLACE_CHARS)
}

fn build_args_schema() -> Value {
    json!({"type": "array", "maxItems": MAX_ARGS, "items": build_text_schema(0, MAX_VALUE_CHARS)})
}

/// Numbers and booleans become text, as in a shell.
fn build_env_schema() -> Value {
    json!({
        "type": "object",
        "maxProperties": MAX_ENV,
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"},
        "additionalProperties": {
            "type": ["string", "number", "boolean"],
            "maxLength": MAX_VALUE_CHARS,
            "pattern": "^[^\\x00]*$",
        },
    })
}

fn build_tool_name_schema() -> Value {
    build_text_schema(1, MAX_TOOL_CHARS)
}

/// Processes cannot take a NUL.
fn build_text_schema(min: usize, max: usize) -> Value {
    json!({"type": "string", "minLength": min, "maxLength": max, "pattern": "^[^\\x00]*$"})
}

fn build_object_schema(members: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": members,
    })
}
