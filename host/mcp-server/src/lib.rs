//! The MCP server: requests of clients become calls of the core, and answers become rmcp's types.

pub mod mcp;
pub mod transport;
