//! The MCP server (port 5011) with its one tool.
