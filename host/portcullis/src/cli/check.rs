//! `portcullis check`: checks the configuration, the plugins and their grants against each other.

use std::path::Path;

use serde_json::json;

use super::End;
use super::setup::Setup;
use super::style::{green, red};
use portcullis_core::plugins::{Compared, Plugins, compare};

/// The findings of the check.
#[derive(Default)]
struct Findings {
    /// What works.
    good: Vec<String>,
    /// Remarks for the operator.
    remarks: Vec<String>,
    /// What does not work.
    faults: Vec<String>,
}

/// Checks everything that can be checked without calling a tool.
pub(super) async fn run(setup: &Setup, json: bool) -> anyhow::Result<End> {
    let (catalog, _) = setup.overview().await?;
    let mut findings = Findings::default();
    findings.good.push(match &setup.source {
        Some(path) => format!("configuration: {}", path.display()),
        None => "configuration: the defaults in the binary".into(),
    });
    if setup.roots.is_empty() {
        findings.remarks.push(
            "no roots: tools can open paths only where the client names its own roots".into(),
        );
    } else {
        findings.good.push(format!("roots: {}", setup.roots));
    }
    findings.remarks.extend(super::safety::warnings(setup));
    verify_audit(setup.audit.folder(), &mut findings);
    findings.good.push(format!("confined child processes: {}", portcullis_confine::strength()));
    for command in setup.config.commands()? {
        let line = format!("command `{}`: {}", command.name, command.reach());
        match command.program() {
            Some(_) => findings.good.push(line),
            None => findings.remarks.push(format!("{line}: calls that need it will fail")),
        }
    }
    examine(&catalog.plugins, &mut findings);
    let mut missing = Vec::new();
    for name in setup.config.upstreams.keys() {
        match catalog.upstreams.iter().find(|one| *one.source.name == **name) {
            Some(offer) => findings.good.push(format!(
                "upstream `{name}`, tools: {}, MCP {}",
                offer.listing.tools.len(),
                offer.listing.peer.version
            )),
            None => missing.push(name.as_str()),
        }
    }
    if !missing.is_empty() {
        let all = setup.upstream_summaries().await?;
        let reason = |name: &str| all.iter().find(|one| one.name == name)?.reason.clone();
        findings.remarks.extend(missing.into_iter().map(|name| match reason(name) {
            Some(why) => format!("the upstream `{name}` does not answer: {why}"),
            None => format!("the upstream `{name}` does not answer"),
        }));
    }
    findings.remarks.extend(catalog.remarks.into_iter().map(|remark| remark.text));
    let faults = findings.faults.len();
    if json {
        let Findings { good, remarks, faults } = &findings;
        let whole = json!({"good": good, "remarks": remarks, "faults": faults});
        super::print::json(&whole)?;
    } else {
        let lines = (findings.good.iter().map(|line| format!("{} {line}\n", green("ok"))))
            .chain(findings.remarks.iter().map(|line| format!("-- {line}\n")))
            .chain(findings.faults.iter().map(|line| format!("{} {line}\n", red("!!"))));
        super::print(&lines.collect::<String>())?;
    }
    Ok(if faults == 0 { End::Done } else { End::Failed })
}

/// Checks that the audit can be read and shows no sign of tampering.
fn verify_audit(folder: &Path, findings: &mut Findings) {
    let shown = folder.display();
    match portcullis_audit::verify(folder) {
        Err(error) => findings.faults.push(format!("the audit in {shown} cannot be read: {error}")),
        // Without segments and without an index, nothing was recorded yet.
        Ok(report)
            if report.is_whole()
                || (report.segments.is_empty() && report.index_end.is_none()) =>
        {
            findings.good.push(format!("audit: {shown}"));
        }
        Ok(report) => findings.faults.push(format!(
            "the audit in {shown} shows signs of tampering ({} faults): `portcullis trail verify` names them",
            report.faults.len()
        )),
    }
}

fn examine(plugins: &Plugins, findings: &mut Findings) {
    for loaded in &plugins.loaded {
        let name = &loaded.plugin.name;
        findings.good.push(format!("plugin `{name}`, tools: {}", loaded.tools.len()));
        for Compared { capability, granted, wanted, .. } in compare(loaded) {
            match (granted, wanted) {
                (Some(granted), None) => findings.remarks.push(format!(
                    "`{name}` is granted `{capability}` ({granted}) and does not want it: it \
                     cannot use it"
                )),
                (None, Some(wanted)) => findings.remarks.push(format!(
                    "`{name}` wants `{capability}` ({wanted}) and is not granted it: what needs \
                     it will be refused"
                )),
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
        findings.remarks.extend(loaded.remarks.iter().cloned());
        for tool in &loaded.tools {
            let name = &tool.definition.name;
            if let Err(error) = tool.input() {
                findings.faults.push(format!("the input schema of `{name}`: {error}"));
            }
            if let Err(error) = tool.output() {
                findings.faults.push(format!("the output schema of `{name}`: {error}"));
            }
        }
    }
    for refused in &plugins.refused {
        let reason = portcullis_sanitize::visible(&refused.reason).replace('\n', "\n   ");
        let name = portcullis_sanitize::visible(&refused.name);
        findings.faults.push(format!("plugin `{name}` is refused: {reason}"));
    }
    findings.remarks.extend(plugins.remarks.iter().cloned());
}
