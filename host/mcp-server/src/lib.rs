//! The MCP server: turns requests of clients into calls of the core, and answers of the core into rmcp's types.

pub mod mcp;
pub mod transport;
