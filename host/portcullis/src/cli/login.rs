//! `portcullis upstream login` and `logout`: tokens for other MCP servers that want to know their user.

use clap::Subcommand;

use super::End;
use super::start::{Ready, green};
use portcullis_mcp_client::{Login, Upstream};

/// Tokens for other MCP servers.
#[derive(Subcommand)]
pub enum Upstreams {
    /// Log in at another MCP server: shows an address to open in a browser, and waits for what comes back
    Login {
        /// Its name in portcullis.toml
        upstream: String,
        /// Its URL, if it is not in portcullis.toml
        url: Option<String>,
    },
    /// Delete the login at another MCP server
    Logout {
        /// Its name in portcullis.toml, or the name given to `login`
        upstream: String,
        /// Its URL, if it is not in portcullis.toml
        url: Option<String>,
    },
}

impl Upstreams {
    pub(super) async fn run(self, mut ready: Ready) -> Result<End, String> {
        let (Self::Login { upstream: name, url } | Self::Logout { upstream: name, url }) = &self;
        if let Some(url) = url {
            let typed = portcullis_core::upstreams::Config::typed(std::slice::from_ref(url), &[])?;
            if ready.config.upstreams.insert(name.clone(), typed).is_some() {
                return Err(format!("[upstreams.{name}] says where it is: leave {url} out"));
            }
            ready.config.check().map_err(|error| error.to_string())?;
        }
        let upstreams = ready.upstreams()?;
        let Some(source) = upstreams.all.iter().find(|source| *source.name == **name) else {
            return Err(format!(
                "there is no upstream `{name}`; if it is one that `wrap` serves, give its address, too"
            ));
        };
        let login = source.upstream.login().ok_or_else(|| {
            format!(
                "nobody logs in at `{name}`: it is a program, has an `Authorization` of its own in \
                 `headers`, or is reached by http from another machine"
            )
        })?;
        match &self {
            Self::Login { .. } => log_in(name, &source.upstream, login).await?,
            Self::Logout { .. } => {
                let had = login.forget().await.map_err(|error| error.to_string())?;
                let known = if had { "forgotten" } else { "there was none" };
                super::print(&format!("the login at `{name}`: {known}\n"))?;
            }
        }
        upstreams.close().await;
        Ok(End::Done)
    }
}

async fn log_in(name: &str, upstream: &Upstream, login: &Login) -> Result<(), String> {
    // It says what it wants when it is asked; where it wants nothing, it is known from before.
    let _asked = upstream.listing().await;
    let authorized = login
        .authorize(async |address| {
            super::print(&format!("Open this in a browser on this machine:\n\n{address}\n\n"))
                .map(drop)
        })
        .await
        .map_err(|error| format!("logging in at `{name}`: {error}"))?;
    let scopes = match authorized.scopes.as_slice() {
        [] => String::new(),
        scopes => format!(", for {}", portcullis_sanitize::visible_line(&scopes.join(" "), 300)),
    };
    let issuer = portcullis_sanitize::visible_line(&authorized.issuer, 200);
    super::print(&format!("{} at {issuer}{scopes}\n", green("logged in")))?;
    if !authorized.renews {
        super::print("the token cannot be renewed: when it ends, log in again\n")?;
    }
    let listing = upstream.refresh().await.map_err(|fault| fault.to_string())?;
    super::print(&format!("`{name}` has {} tools\n", listing.tools.len()))?;
    Ok(())
}
