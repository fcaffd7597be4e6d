//! `portcullis upstream login` and `logout`: logins at upstream servers that require them.

use anyhow::{Context as _, bail};
use clap::Subcommand;

use super::CommandEnd;
use super::context::CommandContext;
use super::style::green;
use portcullis_mcp_client::{Login, Upstream};

/// The subcommands of `upstream`.
#[derive(Subcommand)]
pub enum Upstreams {
    /// Log in at another MCP server: prints a URL to open in a browser, and waits for the login
    Login {
        /// The name of the server in portcullis.toml
        upstream: String,
        /// The URL of the server, if it is not in portcullis.toml
        url: Option<String>,
    },
    /// Delete the login at another MCP server
    Logout {
        /// The name of the server in portcullis.toml, or the name given to `login`
        upstream: String,
        /// The URL of the server, if it is not in portcullis.toml
        url: Option<String>,
    },
}

impl Upstreams {
    pub(super) async fn run(self, mut context: CommandContext) -> anyhow::Result<CommandEnd> {
        let (Self::Login { upstream: name, url } | Self::Logout { upstream: name, url }) = &self;
        if let Some(url) = url {
            let typed = portcullis_core::upstreams::Config::typed(std::slice::from_ref(url), &[])?;
            if context.config.upstreams.insert(name.clone(), typed).is_some() {
                bail!("[upstreams.{name}] is already in portcullis.toml: leave {url} out");
            }
            context.config.check()?;
        }
        let upstreams = context.upstreams()?;
        let Some(source) = upstreams.all.iter().find(|source| *source.name == **name) else {
            bail!(
                "there is no upstream server `{name}`\n  hint: if `wrap` serves it, also pass its URL"
            );
        };
        let login = source.upstream.login().with_context(|| {
            format!(
                "`{name}` needs no login, or cannot have one: it is a program, has `Authorization` in its \
                 `headers`, or is reached without TLS on another machine"
            )
        })?;
        match &self {
            Self::Login { .. } => log_in(name, &source.upstream, login).await?,
            Self::Logout { .. } => {
                let deleted = login.forget().await;
                let was_deleted =
                    deleted.with_context(|| format!("cannot delete the login at `{name}`"))?;
                let outcome = if was_deleted { "deleted" } else { "none was stored" };
                super::print(&format!("the login at `{name}`: {outcome}\n"))?;
            }
        }
        upstreams.close().await;
        Ok(CommandEnd::Done)
    }
}

async fn log_in(name: &str, upstream: &Upstream, login: &Login) -> anyhow::Result<()> {
    // The server is expected to refuse this request. Its refusal names the authorization server and the required
    // scopes.
    let _asked = upstream.listing().await;
    let authorized = login
        .authorize(async |address| {
            super::print(&format!("Open this URL in a browser on this machine:\n\n{address}\n\n"))
                .map(drop)
        })
        .await
        .with_context(|| format!("cannot log in at `{name}`"))?;
    let scopes = match authorized.scopes.as_slice() {
        [] => String::new(),
        scopes => format!(", for {}", portcullis_sanitize::visible_line(&scopes.join(" "), 300)),
    };
    let issuer = portcullis_sanitize::visible_line(&authorized.issuer, 200);
    super::print(&format!("{} at {issuer}{scopes}\n", green("logged in")))?;
    if !authorized.renews {
        super::print("the token cannot be renewed: when it expires, log in again\n")?;
    }
    let listing = upstream.refresh().await?;
    super::print(&format!("`{name}` has {} tools\n", listing.tools.len()))?;
    Ok(())
}
