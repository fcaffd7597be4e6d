//! `portcullis check`: checks the configuration, the plugins and their grants against each other.

use std::path::Path;

use serde_json::json;

use super::CommandEnd;
use super::context::CommandContext;
use super::style::{green, red};
use portcullis_core::config::HttpConfig;
use portcullis_core::plugins::{GrantComparison, Plugins, compare};
use portcullis_mcp_server::mcp::StateKeys;
use portcullis_mcp_server::transport;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// What was checked is as it should be.
    Good,
    /// Something does not work or needs attention, and the check does not fail.
    Remark,
    /// Something is wrong, and the check fails.
    Fault,
}

/// One finding.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// The part of the installation that the finding is about, in one word.
    pub(super) area: &'static str,
    pub(super) text: String,
    /// The command, or the step, that corrects what was found or shows its cause, if one is known.
    pub(super) mend: Option<String>,
}

/// The findings of the check, in the order in which they were found.
#[derive(Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    pub(super) fn good(&mut self, area: &'static str, text: impl Into<String>) {
        self.push(Level::Good, area, text, None);
    }

    pub(super) fn remark(
        &mut self,
        area: &'static str,
        text: impl Into<String>,
        mend: Option<String>,
    ) {
        self.push(Level::Remark, area, text, mend);
    }

    pub(super) fn fault(
        &mut self,
        area: &'static str,
        text: impl Into<String>,
        mend: Option<String>,
    ) {
        self.push(Level::Fault, area, text, mend);
    }

    fn push(
        &mut self,
        level: Level,
        area: &'static str,
        text: impl Into<String>,
        mend: Option<String>,
    ) {
        self.0.push(Finding { level, area, text: text.into(), mend });
    }

    /// The texts of one level.
    fn texts(&self, level: Level) -> Vec<&str> {
        self.0.iter().filter(|one| one.level == level).map(|one| one.text.as_str()).collect()
    }

    /// The end of the command that prints the findings.
    pub(super) fn end(&self) -> CommandEnd {
        if self.0.iter().any(|one| one.level == Level::Fault) {
            CommandEnd::Failed
        } else {
            CommandEnd::Done
        }
    }
}

/// Checks everything that can be checked without calling a tool.
pub(super) async fn run(context: &CommandContext, json: bool) -> anyhow::Result<CommandEnd> {
    let findings = findings(context).await?;
    let [good, remarks, faults] =
        [Level::Good, Level::Remark, Level::Fault].map(|level| findings.texts(level));
    if json {
        super::print::json(&json!({"good": good, "remarks": remarks, "faults": faults}))?;
    } else {
        let lines = (good.iter().map(|line| format!("{} {line}\n", green("ok"))))
            .chain(remarks.iter().map(|line| format!("-- {line}\n")))
            .chain(faults.iter().map(|line| format!("{} {line}\n", red("!!"))));
        super::print(&lines.collect::<String>())?;
    }
    Ok(findings.end())
}

/// The findings about the configuration, the roots, the audit, the commands, the plugins and the upstream servers.
pub(super) async fn findings(context: &CommandContext) -> anyhow::Result<Findings> {
    let (catalog, summaries) = context.overview().await?;
    let mut findings = Findings::default();
    match &context.source {
        Some(path) => findings.good("configuration", format!("configuration: {}", path.display())),
        None => findings.good("configuration", "configuration: the defaults in the binary"),
    }
    if context.roots.is_empty() {
        findings.remark(
            "roots",
            "no roots: tools can open only paths beneath the roots that the client names",
            Some("portcullis setup --root FOLDER".into()),
        );
    } else {
        findings.good("roots", format!("roots: {}", context.roots));
    }
    for warning in super::safety::warnings(context) {
        findings.remark("configuration", warning, None);
    }
    http(&context.config.http, &mut findings);
    verify_audit(context.audit.folder(), &mut findings);
    commands(context, &mut findings)?;
    examine(&catalog.plugins, &mut findings);
    for name in context.config.upstreams.keys() {
        match catalog.upstreams.iter().find(|one| *one.source.name == **name) {
            Some(offer) => findings.good(
                "upstreams",
                format!(
                    "upstream `{name}`, tools: {}, MCP {}",
                    offer.listing.tools.len(),
                    offer.listing.peer.version
                ),
            ),
            None => {
                let summary = summaries.iter().find(|one| one.name == *name);
                let text = match summary.and_then(|one| one.reason.as_ref()) {
                    Some(why) => format!("the upstream `{name}` does not answer: {why}"),
                    None => format!("the upstream `{name}` does not answer"),
                };
                findings.remark("upstreams", text, Some(format!("portcullis audit {name}")));
            }
        }
    }
    for remark in catalog.remarks {
        findings.remark("plugins", remark.text, None);
    }
    Ok(findings)
}

/// Adds why `serve --http` could not start, if it could not. Each configuration has this section, so a section that is right
/// is not mentioned.
fn http(config: &HttpConfig, findings: &mut Findings) {
    let server = transport::http::check(config).err().map(|error| error.to_string());
    let keys = config.state_key_file.as_deref().and_then(|file| StateKeys::in_file(file).err());
    for why in [server, keys.map(|error| error.to_string())].into_iter().flatten() {
        let text = format!("the section [http]: `portcullis serve --http` cannot start: {why}");
        findings.fault("configuration", text, None);
    }
}

/// Adds what the programs that plugins may run can reach, which of these programs are missing, and which are refused
/// because this system cannot confine them.
fn commands(context: &CommandContext, findings: &mut Findings) -> anyhow::Result<()> {
    let strength = portcullis_confine::strength();
    findings.good("commands", format!("confined child processes: {strength}"));
    let mut refused = Vec::new();
    for command in context.config.commands()? {
        let line = format!("command `{}`: {}", command.name, command.reach());
        if command.program().is_none() {
            let install = command.missing().into_iter().find_map(|(_, install)| install);
            let line = format!(
                "{line}; its program is missing, so calls that need this command will fail"
            );
            findings.remark("commands", line, install);
        } else if command.is_refused() {
            refused.push(command.name);
        } else {
            findings.good("commands", line);
        }
    }
    if !refused.is_empty() {
        let names = refused.join("`, `");
        let mend = format!("unconfined-commands = {refused:?}");
        let text = format!(
            "these commands are refused, because this system cannot confine programs: `{names}`. To let them run with \
             all rights of the user, write at the top of portcullis.toml: {mend}"
        );
        findings.remark("commands", text, Some(mend));
    }
    Ok(())
}

/// Checks that the audit can be read and shows no sign of tampering.
fn verify_audit(folder: &Path, findings: &mut Findings) {
    let shown = folder.display();
    match portcullis_audit::verify(folder) {
        Err(error) => {
            findings.fault("audit", format!("the audit in {shown} cannot be read: {error}"), None);
        }
        // Without segments and without an index, nothing was recorded yet.
        Ok(report)
            if report.is_whole()
                || (report.segments.is_empty() && report.index_end.is_none()) =>
        {
            findings.good("audit", format!("audit: {shown}"));
        }
        Ok(report) => findings.fault(
            "audit",
            format!(
                "the audit in {shown} shows signs of tampering ({} faults): `portcullis trail verify` names them",
                report.faults.len()
            ),
            Some("portcullis trail verify".into()),
        ),
    }
}

fn examine(plugins: &Plugins, findings: &mut Findings) {
    for loaded in &plugins.loaded {
        let name = &loaded.plugin.name;
        findings.good("plugins", format!("plugin `{name}`, tools: {}", loaded.tools.len()));
        for GrantComparison { capability, granted, wanted, .. } in compare(loaded) {
            match (granted, wanted) {
                (Some(granted), None) => findings.remark(
                    "plugins",
                    format!(
                        "`{name}` is granted `{capability}` ({granted}) and does not want it: the \
                         grant has no effect"
                    ),
                    Some(format!("portcullis plugin revoke {name} {capability}")),
                ),
                (None, Some(wanted)) => findings.remark(
                    "plugins",
                    format!(
                        "`{name}` wants `{capability}` ({wanted}) and has no grant for it: its use \
                         will be refused"
                    ),
                    Some(format!("portcullis plugin grant {name} {capability}=wanted")),
                ),
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
        for remark in &loaded.remarks {
            findings.remark("plugins", remark, None);
        }
        for tool in &loaded.tools {
            let name = &tool.definition.name;
            if let Err(error) = tool.input() {
                findings.fault("plugins", format!("the input schema of `{name}`: {error}"), None);
            }
            if let Err(error) = tool.output() {
                findings.fault("plugins", format!("the output schema of `{name}`: {error}"), None);
            }
        }
    }
    for refused in &plugins.refused {
        let reason = portcullis_sanitize::visible(&refused.reason).replace('\n', "\n   ");
        let name = portcullis_sanitize::visible(&refused.name);
        let mend = format!("portcullis plugin diff {name}");
        findings.fault("plugins", format!("plugin `{name}` is refused: {reason}"), Some(mend));
    }
    for remark in &plugins.remarks {
        findings.remark("plugins", remark, None);
    }
}
