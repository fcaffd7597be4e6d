//! A server for tests, which supports all revisions and transports of MCP, and misbehaves on demand:
//! `stand-in stdio|http|sse [OPTION]…`. Over HTTP, it prints its URL on stdout. With the name of a shop (`shop.rs`), it
//! behaves like a common server, and never misbehaves.

mod database;
mod many;
mod office;
mod pipes;
mod script;
mod shop;
mod tasks;
mod tools;
mod weather;
mod web;

use std::sync::Arc;

use script::Server;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Before there is a second thread: a process with several threads cannot make namespaces.
    if arguments.first().is_some_and(|first| first == portcullis_mcp_client::SUBCOMMAND) {
        return Err(portcullis_mcp_client::become_upstream().into());
    }
    tokio::runtime::Runtime::new()?.block_on(serve(&arguments))
}

async fn serve(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let (transport, options) = arguments.split_first().ok_or("stdio, http or sse?")?;
    let server = Arc::new(Server::new(options.to_vec()));
    match transport.as_str() {
        "stdio" => pipes::serve(server).await,
        "http" | "sse" => web::serve(server, transport == "sse").await?,
        // A host with one upstream, for tests that kill the host. The further arguments are the upstream's command.
        "hold" => hold(options).await?,
        // A process that a server leaves behind.
        "lock" => pipes::keep_lock(options.first().ok_or("the file of the lock is missing")?)?,
        _ => return Err("stdio, http or sse?".into()),
    }
    Ok(())
}

async fn hold(command: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    use portcullis_mcp_client::{ClientSettings, Upstream, UpstreamState};
    let (program, args) = command.split_first().ok_or("the command is missing")?;
    let definition = serde_json::json!({"command": program, "args": args});
    let mut client = ClientSettings::new("holder", "0");
    client.launcher = Some(std::env::current_exe()?);
    let upstream = Upstream::new("held", serde_json::from_value(definition)?, client)?;
    upstream.listing().await?;
    let UpstreamState::Ready { process: Some(process), .. } = upstream.state() else {
        return Err("it is not ready".into());
    };
    println!("{process}");
    std::future::pending().await
}
