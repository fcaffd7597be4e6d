//! Tests of the HTTP server over real connections, with a small MCP server.

#[path = "support/client.rs"]
mod client;
#[path = "support/echo.rs"]
mod echo;

mod access;
mod callers;
mod events;
mod legacy;
mod oauth;
mod pages;
mod requests;
mod sessions;
mod tls;
