//! Owners of the tools of a turn: this server, Codex, or a toolkit. Pure.

use std::collections::BTreeMap;

use codeinfo_toolkits::spec::ToolkitName;
use serde_json::Value;

const EXECUTE: &str = "execute_tool";
/// Prefix of the id of a toolkit's tool: `mcp:TOOLKIT:TOOL`.
const TOOLKIT_ID: &str = "mcp:";

/// Owner of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOwner {
    /// This server or Codex; also unknown tools.
    Local,
    Mcp(ToolkitName),
}

impl ToolOwner {
    /// Returns the toolkit that owns the tool, if any.
    pub fn toolkit(&self) -> Option<&ToolkitName> {
        match self {
            Self::Local => None,
            Self::Mcp(toolkit) => Some(toolkit),
        }
    }
}

/// Kind of a server of a thread, other than the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadServer {
    Toolkit(ToolkitName),
    /// Server of meta-tools, which execute the tools of these toolkits.
    Meta(Vec<ToolkitName>),
}

/// Servers of a thread by their names in Codex.
pub type ThreadServers = BTreeMap<String, ThreadServer>;

/// `extras` maps each name in Codex to one of `toolkits`, or to the endpoint of meta-tools.
pub(super) fn build_servers(
    extras: &BTreeMap<String, String>,
    toolkits: &[ToolkitName],
) -> ThreadServers {
    let server = |asked: &String| match toolkits.iter().find(|name| name.as_str() == asked) {
        Some(name) => ThreadServer::Toolkit(name.clone()),
        None => ThreadServer::Meta(toolkits.to_vec()),
    };
    extras.iter().map(|(name, asked)| (name.clone(), server(asked))).collect()
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReportedTool {
    pub(super) source: ToolOwner,
    pub(super) name: String,
    pub(super) parameters: Value,
}

/// Returns the tool `name` of `server` as reported. A tool that a meta-tool executes replaces the meta-tool.
pub(super) fn resolve_reported_tool(
    servers: &ThreadServers,
    server: &str,
    name: String,
    parameters: Value,
) -> ReportedTool {
    match servers.get(server) {
        Some(ThreadServer::Toolkit(toolkit)) => {
            ReportedTool { source: ToolOwner::Mcp(toolkit.clone()), name, parameters }
        }
        Some(ThreadServer::Meta(toolkits)) if name == EXECUTE => {
            parse_executed_tool(toolkits, &parameters).unwrap_or(ReportedTool {
                source: ToolOwner::Local,
                name,
                parameters,
            })
        }
        Some(ThreadServer::Meta(_)) | None => {
            ReportedTool { source: ToolOwner::Local, name, parameters }
        }
    }
}

/// Returns the tool that a call of `execute_tool` executes, if it belongs to one of these toolkits.
fn parse_executed_tool(toolkits: &[ToolkitName], parameters: &Value) -> Option<ReportedTool> {
    let id = parameters.get("tool")?.as_str()?.strip_prefix(TOOLKIT_ID)?;
    let (toolkit, name) = id.split_once(':').filter(|(_, name)| !name.is_empty())?;
    let toolkit = toolkits.iter().find(|known| known.as_str() == toolkit)?;
    let arguments = parameters.get("arguments").cloned().unwrap_or_default();
    Some(ReportedTool {
        source: ToolOwner::Mcp(toolkit.clone()),
        name: name.to_owned(),
        parameters: arguments,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(text: &str) -> ToolkitName {
        text.parse().unwrap()
    }

    fn render_call(server: &str, tool: &str, parameters: Value) -> String {
        let servers = ThreadServers::from([
            ("tk_git".to_owned(), ThreadServer::Toolkit(name("git"))),
            ("tools".to_owned(), ThreadServer::Meta(vec![name("git"), name("ci")])),
        ]);
        let ReportedTool { source, name, parameters } =
            resolve_reported_tool(&servers, server, tool.to_owned(), parameters);
        let toolkit = source.toolkit().map_or("local", ToolkitName::as_str);
        format!("{toolkit} {name} {parameters}")
    }

    #[test]
    fn only_servers_that_are_toolkits_are_not_local() {
        assert_eq!(render_call("tk_git", "log", json!({ "n": 1 })), r#"git log {"n":1}"#);
        for server in ["codeinfo_search", "codex", "git", "mcp"] {
            assert_eq!(render_call(server, "log", json!({})), "local log {}", "{server}");
        }
        // A toolkit's own tool of that name does not execute tools of another toolkit.
        let call = json!({ "tool": "mcp:ci:runs", "arguments": {} });
        assert!(render_call("tk_git", "execute_tool", call).starts_with("git execute_tool "));
    }

    #[test]
    fn a_tool_that_a_meta_tool_executes_stands_in_its_place() {
        let call = |tool: &str| json!({ "tool": tool, "arguments": { "n": 2 } });
        assert_eq!(render_call("tools", "execute_tool", call("mcp:ci:runs")), r#"ci runs {"n":2}"#);
        assert_eq!(render_call("tools", "execute_tool", call("mcp:ci:a:b")), r#"ci a:b {"n":2}"#);
        let bare = json!({ "tool": "mcp:ci:runs" });
        assert_eq!(render_call("tools", "execute_tool", bare), "ci runs null");
        for odd in ["runs", "mcp:ci", "mcp:ci:", "mcp:db:rows", "mcp::runs", "ci:runs", ""] {
            assert!(
                render_call("tools", "execute_tool", call(odd)).starts_with("local execute_tool ")
            );
        }
        assert!(
            render_call("tools", "execute_tool", json!(null)).starts_with("local execute_tool ")
        );
        assert!(
            render_call("tools", "get_tool_schema", call("mcp:ci:runs")).starts_with("local get_")
        );
    }
}
