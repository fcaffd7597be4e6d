//! `portcullis plugin diff` and `portcullis plugin approve`: show what changed since a plugin or the tools of an
//! upstream server were approved, and approve the current state.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use portcullis_core::lock::{Approval, HeldTool};
use portcullis_core::plugins::description::Difference;
use portcullis_core::plugins::{Review, review};
use portcullis_core::upstreams::{UpstreamReview, UpstreamSource, Upstreams};
use portcullis_mcp_client::Listing;
use portcullis_sanitize::{visible, visible_line};
use serde_json::{Value, json};

use super::CommandEnd;
use super::confirm::Consent;
use super::context::CommandContext;
use super::style::{faint, green, red};

/// The plugin or upstream server.
#[derive(clap::Args)]
pub struct Target {
    /// The name of the plugin or of the server
    name: String,
    /// If `wrap` serves the server: its URL, or `--` and its program with arguments, as they are given to `wrap`
    #[arg(trailing_var_arg = true, value_name = "COMMAND | URL")]
    server: Vec<String>,
    /// Pass this environment variable to the server that `wrap` serves (repeatable)
    #[arg(long = "env", value_name = "NAME", requires = "server")]
    variables: Vec<String>,
}

/// Arguments of `plugin diff`.
#[derive(clap::Args)]
pub struct DiffArgs {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Arguments of `plugin approve`.
#[derive(clap::Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    target: Target,
    /// The reason, which is kept with the approval and in the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    consent: Consent,
}

/// A plugin or upstream server that was found by its name, with its differences from the approved state.
enum ReviewedSource {
    Plugin(Box<Review>),
    Upstream(Box<ReachedServer>),
}

/// An upstream server that was reached, and its review.
struct ReachedServer {
    upstreams: Upstreams,
    source: Arc<UpstreamSource>,
    listing: Arc<Listing>,
    review: UpstreamReview,
}

impl DiffArgs {
    /// Shows the differences. Exit code 1: the current component or tools are not approved.
    pub(super) async fn run(self, mut context: CommandContext) -> anyhow::Result<CommandEnd> {
        let reviewed = ReviewedSource::find(&mut context, &self.target).await?;
        if self.json {
            super::print::json(&reviewed.as_json())?;
        } else {
            super::print(&reviewed.as_text())?;
        }
        let is_approved = reviewed.is_approved();
        reviewed.close().await;
        Ok(if is_approved { CommandEnd::Done } else { CommandEnd::Failed })
    }
}

impl ApproveArgs {
    pub(super) async fn run(self, mut context: CommandContext) -> anyhow::Result<CommandEnd> {
        let reviewed = ReviewedSource::find(&mut context, &self.target).await?;
        let name = &self.target.name;
        super::print(&reviewed.as_text())?;
        if reviewed.is_approved() {
            reviewed.close().await;
            if let ReviewedSource::Plugin(review) = &reviewed {
                review.try_again(&context.sandbox(), &context.config);
            }
            return super::print("nothing to approve: it is already approved\n");
        }
        if !self.consent.ask(&format!("Approve `{}` as it is now?", visible_line(name, 100)))? {
            reviewed.close().await;
            super::print("nothing was approved\n")?;
            return Ok(CommandEnd::Failed);
        }
        let approved = match &reviewed {
            ReviewedSource::Plugin(review) => {
                review.approve(&self.reason, &context.sandbox(), &context.config)?;
                format!("approved: the plugin `{name}` as it is now, sha256:{}\n", review.digest)
            }
            ReviewedSource::Upstream(reached) => {
                let ReachedServer { upstreams, source, listing, .. } = &**reached;
                let approved = upstreams.approve(source, listing, &self.reason).await;
                approved.with_context(|| format!("approving `{name}`"))?;
                format!("approved: {} tools of `{name}`\n", listing.tools.len())
            }
        };
        reviewed.close().await;
        super::print(&approved)
    }
}

impl ReviewedSource {
    /// Finds a plugin, or else an upstream server. A server that `wrap` serves is given by the same arguments as
    /// for `wrap`.
    async fn find(context: &mut CommandContext, target: &Target) -> anyhow::Result<Self> {
        let Target { name, server, variables } = target;
        if !server.is_empty() {
            let typed = portcullis_core::upstreams::Config::typed(server, variables)?;
            if context.config.upstreams.insert(name.to_owned(), typed).is_some() {
                bail!(
                    "portcullis.toml already has [upstreams.{name}]: leave out the command or URL"
                );
            }
            context.config.check()?;
        } else {
            let sandbox = context.sandbox();
            if let Some(review) = review(name, &sandbox, &context.config, &context.folders).await? {
                return Ok(Self::Plugin(Box::new(review)));
            }
        }
        let upstreams = context.upstreams()?;
        let found = upstreams.all.iter().find(|source| *source.name == **name).cloned();
        let Some(source) = found else {
            let names: Vec<_> = upstreams.all.iter().map(|source| &*source.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!(
                "there is neither a plugin file nor an upstream server `{name}` (upstream servers: {names})\n  hint: if \
                 `wrap` serves it, add its command or URL; bundled plugins need no approval"
            );
        };
        let listing = source.upstream.fetched_listing().await?;
        let review = upstreams.review(&source, &listing).await?;
        Ok(Self::Upstream(Box::new(ReachedServer { upstreams, source, listing, review })))
    }

    fn is_approved(&self) -> bool {
        match self {
            Self::Plugin(review) => review.is_approved(),
            Self::Upstream(reached) => {
                let review = &reached.review;
                review.held.is_empty()
                    && review.approval.is_some()
                    && review.differences.as_ref().is_none_or(Vec::is_empty)
            }
        }
    }

    fn differences(&self) -> Option<&[Difference]> {
        match self {
            Self::Plugin(review) => review.differences.as_deref(),
            Self::Upstream(reached) => reached.review.differences.as_deref(),
        }
    }

    fn approval(&self) -> Option<&Approval> {
        match self {
            Self::Plugin(review) => review.approval.as_ref(),
            Self::Upstream(reached) => reached.review.approval.as_ref(),
        }
    }

    async fn close(&self) {
        if let Self::Upstream(reached) = self {
            reached.upstreams.close().await;
        }
    }

    fn as_text(&self) -> String {
        let mut text = match self {
            Self::Plugin(review) => plugin_text(review),
            Self::Upstream(reached) => {
                let ReachedServer { source, listing, review, .. } = &**reached;
                let mut text = format!("{}\n", green(&visible_line(&source.name, 100)));
                text += &held_text(listing, &review.held);
                text
            }
        };
        if let Some(Approval { time, user, reason, .. }) = self.approval() {
            let [time, user] = [time, user].map(|text| visible_line(text, 100));
            text += &format!("  approved {time} by {user}");
            if !reason.is_empty() {
                text += &format!(": {:?}", visible_line(reason, 500));
            }
            text += "\n";
        }
        match self.differences() {
            Some([]) => text += "  changes  none\n",
            Some(differences) => text += &differences_text(differences),
            None if self.is_approved() => {}
            None => {
                text += &faint(
                    "  the differences are not known: there is no description of what was approved before\n",
                )
            }
        }
        if self.differences().is_none()
            && let Self::Plugin(review) = self
            && let Ok(inspection) = &review.now
        {
            text += &super::inspect::as_text(inspection);
        }
        text
    }

    fn as_json(&self) -> Value {
        let mut all = match self {
            Self::Plugin(review) => json!({
                "name": review.name,
                "kind": "plugin",
                "digest": review.digest,
                "approvedDigest": review.approved,
                "now": review.now.as_ref().ok().map(super::inspect::as_json),
                "refusal": review.now.as_ref().err(),
            }),
            Self::Upstream(reached) => {
                let ReachedServer { source, review, .. } = &**reached;
                let held = review
                    .held
                    .iter()
                    .map(|held| json!({ "tool": held.tool, "isNew": held.is_new }));
                json!({
                    "name": &*source.name, "kind": "upstream", "held": held.collect::<Vec<_>>(),
                })
            }
        };
        all["isApproved"] = self.is_approved().into();
        all["approval"] = json!(self.approval());
        all["differences"] = json!(self.differences());
        all
    }
}

fn plugin_text(review: &Review) -> String {
    let Review { name, digest, approved, now, .. } = review;
    let mut text = format!("{}\n", green(&visible_line(name, 100)));
    match approved {
        Some(approved) if approved == digest => text += &format!("  digest   sha256:{digest}\n"),
        Some(approved) => {
            text += &format!("  digest   {}\n", red(&format!("- sha256:{approved}")));
            text += &format!("           {}\n", green(&format!("+ sha256:{digest}")));
        }
        None => text += &format!("  digest   sha256:{digest}, {}\n", red("not approved")),
    }
    if let Err(reason) = now {
        let reason = visible(reason).replace('\n', "\n           ");
        text += &format!("  {}  {reason}\n", red("refused"));
    }
    text
}

/// The tools that are held back, with their descriptions.
fn held_text(listing: &Listing, held: &[HeldTool]) -> String {
    let lines = held.iter().map(|HeldTool { tool: name, is_new }| {
        let tool = listing.tool(name);
        let text = tool.and_then(|tool| tool.definition.get("description")?.as_str());
        let text = visible_line(text.unwrap_or_default(), 1000);
        let why = if *is_new { "new" } else { "changed" };
        format!("  tool     {} ({why})\n           {}\n", green(name), faint(&text))
    });
    lines.collect()
}

/// A value as plain text: a string as it is, a list of strings joined by spaces, any other value as JSON.
fn plain(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let texts = value.as_array().filter(|list| list.iter().all(Value::is_string));
    match texts {
        Some(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        None => value.to_string(),
    }
}

/// The differences as text: each place once, with its old and new values.
pub(super) fn differences_text(differences: &[Difference]) -> String {
    let (mut text, mut last) = (String::new(), None);
    for difference in differences {
        if last != Some(&difference.at) {
            let place: Vec<_> =
                difference.at.iter().map(|field| visible_line(field, 200)).collect();
            let _ = writeln!(text, "  {}", place.join(" › "));
        }
        text += &values_text(difference);
        last = Some(&difference.at);
    }
    text
}

/// The old value and the new one.
fn values_text(difference: &Difference) -> String {
    let Difference { old, new, .. } = difference;
    let mut text = String::new();
    let mut show = |sign: &str, value: &Option<Value>, colour: fn(&str) -> String| {
        let Some(value) = value else { return };
        let value = match value.as_object() {
            Some(fields) => {
                let field = |(key, value): (&String, &Value)| format!("{key}: {}\n", plain(value));
                fields.iter().map(field).collect()
            }
            None => plain(value),
        };
        for line in visible(&value).lines() {
            let _ = writeln!(text, "    {}", colour(&format!("{sign} {line}")));
        }
    };
    show("-", old, red);
    show("+", new, green);
    text
}
