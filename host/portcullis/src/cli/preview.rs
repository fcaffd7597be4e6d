//! `portcullis preview`: serves a page for the browser, which shows the tools' views as a client would.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use portcullis_core::config::HttpConfig;
use portcullis_http_server::{AccessRules, Page};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::context::CommandContext;
use super::file_stamps::{FileStamps, wait_for_change};
use super::{CommandEnd, log, signals, views};
use portcullis_core::listing::{Selection, Selections};
use portcullis_core::plugins::folders_of;
use portcullis_mcp_server::transport;

/// Arguments of `preview`.
#[derive(clap::Args)]
pub struct Args {
    /// The tool to show first
    tool: Option<String>,
    /// Port on 127.0.0.1; 0 selects a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    views: views::Flags,
}

/// How often the plugin folders are checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

const INDEX: &str = include_str!("../../../../resources/preview/index.html");
const SANDBOX: &str = include_str!("../../../../resources/preview/sandbox.html");

/// The files of the page, by path.
const FILES: &[(&str, &str)] = &[
    ("/calls.js", include_str!("../../../../resources/preview/calls.js")),
    ("/dialogs.js", include_str!("../../../../resources/preview/dialogs.js")),
    ("/hostile.js", include_str!("../../../../resources/preview/hostile.js")),
    ("/mcp.js", include_str!("../../../../resources/preview/mcp.js")),
    ("/panels.js", include_str!("../../../../resources/preview/panels.js")),
    ("/preview.css", include_str!("../../../../resources/preview/preview.css")),
    ("/preview.js", include_str!("../../../../resources/preview/preview.js")),
    ("/stage.js", include_str!("../../../../resources/preview/stage.js")),
    ("/surroundings.js", include_str!("../../../../resources/preview/surroundings.js")),
    ("/text.js", include_str!("../../../../resources/preview/text.js")),
    ("/view.js", include_str!("../../../../resources/preview/view.js")),
];

/// The part of the Content Security Policy that a page cannot declare in its own HTML.
const POLICY: &str = "frame-ancestors 'none'";

impl Args {
    pub(super) async fn run(self, mut context: CommandContext) -> anyhow::Result<CommandEnd> {
        self.views.apply(&mut context.config)?;
        let preview = Preview::bind(self.port, self.tool.as_deref()).await?;
        let stop = CancellationToken::new();
        signals::listen(stop.clone(), signals::OnHangup::Stop)?;
        log::say(&format!("previewing at http://{}/", preview.address));
        while !stop.is_cancelled() {
            let stamps = || FileStamps::of([], folders_of(&context.config, &context.folders));
            let before = stamps();
            let ends = async {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = wait_for_change(&before, CHECK_INTERVAL, async || stamps()) => {
                        log::say("the plugins changed: loading them again");
                    }
                }
            };
            preview.serve(&context, ends).await?;
        }
        Ok(CommandEnd::Done)
    }
}

/// The page and its listeners, which stay open while plugins are loaded again.
pub struct Preview {
    /// The address of the page.
    pub address: SocketAddr,
    index: String,
    page: std::net::TcpListener,
    frame: std::net::TcpListener,
}

impl Preview {
    /// Listens on 127.0.0.1. `port`: 0 selects a free one. `tool`: the tool to show first.
    ///
    /// # Errors
    ///
    /// The port is in use.
    pub async fn bind(port: u16, tool: Option<&str>) -> anyhow::Result<Self> {
        let bind = async |port| {
            let listener = TcpListener::bind(("127.0.0.1", port)).await?;
            Ok((listener.local_addr()?, listener.into_std()?))
        };
        let (address, page) = bind(port).await.map_err(failed)?;
        let (sandbox, frame) = bind(0).await.map_err(failed)?;
        let index = INDEX
            .replace("{{sandbox}}", &format!("http://{sandbox}/sandbox.html"))
            .replace("{{tool}}", &tool.map(escaped).unwrap_or_default());
        Ok(Self { address, index, page, frame })
    }

    /// Serves the page, and MCP at `/mcp`, with the plugins of this context until `ends`.
    ///
    /// # Errors
    ///
    /// The configuration cannot be used, or the HTTP server cannot be started.
    pub async fn serve(
        &self,
        context: &CommandContext,
        ends: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let host = context.host(context.sandbox())?;
        let all = Selection::typed(&["all".to_owned()]);
        let selections = Selections::new(&context.config, Some(all));
        let shared = context.shared(host.clone(), selections, None)?;
        let rules = AccessRules::default();
        let mut settings = transport::http::settings(&HttpConfig::default(), rules, &shared)?;
        settings.pages.extend(pages(&self.index));
        let listen = |listener: &std::net::TcpListener| {
            listener.try_clone().and_then(TcpListener::from_std).map_err(failed)
        };
        let page = listen(&self.page)?;
        let frame = listen(&self.frame)?;
        let served = transport::http::serve(shared.clone(), page, settings, || {});
        let framed = transport::http::serve_pages(&shared, frame, sandbox_page());
        let ends = async {
            ends.await;
            host.shutdown.cancel();
        };
        let (served, framed, ()) = tokio::join!(served, framed, ends);
        host.upstreams().close().await;
        served.and(framed).context("serving the preview")
    }
}

fn failed(error: std::io::Error) -> anyhow::Error {
    anyhow!(error).context("listening on 127.0.0.1")
}

fn pages(index: &str) -> BTreeMap<String, Page> {
    let page = |media_type: &'static str, text: String| {
        Page::new(move || (media_type, text.clone().into())).under(POLICY)
    };
    let file = |(path, text): &(&str, &str)| {
        let media_type = match path.ends_with(".css") {
            true => "text/css; charset=utf-8",
            false => "text/javascript; charset=utf-8",
        };
        ((*path).to_owned(), page(media_type, (*text).to_owned()))
    };
    let mut pages: BTreeMap<String, Page> = FILES.iter().map(file).collect();
    pages.insert("/".to_owned(), page("text/html; charset=utf-8", index.to_owned()));
    pages
}

/// The page that contains the views. A line of the page has its Content Security Policy, which is sent as a header.
fn sandbox_page() -> BTreeMap<String, Page> {
    let policy = SANDBOX.lines().find_map(|line| line.strip_prefix("Content-Security-Policy: "));
    let policy = policy.expect("the page declares its policy");
    let page = Page::new(|| ("text/html; charset=utf-8", SANDBOX.into())).under(policy);
    BTreeMap::from([("/sandbox.html".to_owned(), page)])
}

fn escaped(text: &str) -> String {
    let reference = |char: char| match char {
        '&' | '<' | '>' | '"' | '\'' => format!("&#{};", char as u32),
        _ => char.to_string(),
    };
    text.chars().map(reference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_name_is_escaped_as_html() {
        assert_eq!(escaped("a\"><b>'&"), "a&#34;&#62;&#60;b&#62;&#39;&#38;");
    }

    #[test]
    fn placeholders_are_in_the_index_page_only() {
        assert!(INDEX.contains("{{sandbox}}") && INDEX.contains("{{tool}}"));
        assert!(sandbox_page().contains_key("/sandbox.html"));
        for (path, text) in FILES {
            assert!(!text.contains("{{"), "{path} has a placeholder, which nothing replaces");
        }
    }
}
