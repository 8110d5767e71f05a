//! JSON-RPC and MCP wire rules both MCP endpoints share.
