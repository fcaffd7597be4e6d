//! A small MCP server over HTTP, to test the HTTP server with other clients.
//!
//! `cargo run -p portcullis-http-server --example echo -- [ADDRESS [CERTIFICATE KEY]]` starts the server. If the
//! variable `ECHO_TOKEN` is set, callers need its value as their bearer token.

#[path = "../tests/support/echo.rs"]
mod echo;

use std::path::Path;

use portcullis_http_server::{Access, AccessRules, Settings, Tls};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = arguments.first().map_or("127.0.0.1:0", String::as_str);
    let server = echo::Echo::new();
    let mut settings = Settings::new(server.raw.clone());
    let token = std::env::var("ECHO_TOKEN").ok();
    settings.access = Access::new(AccessRules { token, ..AccessRules::default() })?;
    if let [_, certificate, key] = arguments.as_slice() {
        settings.tls = Some(Tls::load(Path::new(certificate), Path::new(key))?);
    }
    let listener = TcpListener::bind(address).await?;
    println!("serving MCP at {}{}", listener.local_addr()?, portcullis_http_server::PATH);
    portcullis_http_server::serve(
        listener,
        settings,
        move || server.clone(),
        CancellationToken::new(),
    )
    .await?;
    Ok(())
}
