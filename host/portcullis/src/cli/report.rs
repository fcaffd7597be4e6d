//! `portcullis report`: reports what plugins and upstream servers can do and did, as text, HTML, JSON or SARIF.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use portcullis_report::{Report, page, sarif, selected};
use portcullis_sanitize::visible_line;

use super::CommandEnd;
use super::context::CommandContext;
use super::report_facts::{facts, facts_of_uninstalled};
use super::style::{green, red};
use super::uninstalled::Uninstalled;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The findings, for a terminal
    Text,
    /// One self-contained page
    Html,
    /// All facts and findings
    Json,
    /// The findings, for code scanning (SARIF 2.1.0)
    Sarif,
}

/// Arguments of `report`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Report on these components instead of the installed plugins. Each is a file, a folder or an address
    #[arg(value_name = "COMPONENT")]
    components: Vec<String>,
    /// Write the report to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Form of the report. Default: the one that the extension of --out names, or else text
    #[arg(long, value_name = "FORM")]
    format: Option<Format>,
    /// Exit with code 1 if one of these rules has a finding. Rules are separated by commas
    #[arg(long, value_name = "RULES", value_parser = rules)]
    fail_on: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  portcullis report                                what a reviewer should look at
  portcullis report --out report.html              one page with all facts
  portcullis report weather.wasm --out weather.html    what a component could do, before it is installed
  portcullis report --out report.sarif --fail-on changed,unused-grant,write+network";

/// Checks the ids of the rules before the report is made.
fn rules(text: &str) -> Result<String, portcullis_report::UnknownRule> {
    selected(&[], text).map(|_| text.to_owned())
}

impl Format {
    /// The form that the extension of a file names. `None`: the extension is unknown or missing.
    fn of(file: &std::path::Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "html" | "htm" => Some(Self::Html),
            "json" => Some(Self::Json),
            "sarif" => Some(Self::Sarif),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

impl Args {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        let report = Report::of(match self.components.as_slice() {
            [] => facts(&context).await?,
            components => {
                let mut inspected = Vec::new();
                for component in components {
                    let Some(uninstalled) = Uninstalled::of(component)? else {
                        bail!(
                            "`{}` is neither a path (with a separator, or ending in .wasm) nor an address\n  hint: \
                             without an argument, the report is about all plugins",
                            visible_line(component, 200)
                        );
                    };
                    inspected.extend(uninstalled.inspect(&context).await?);
                }
                facts_of_uninstalled(&context, &inspected)?
            }
        });
        let format_of_file = self.out.as_deref().and_then(Format::of);
        let format = self.format.or(format_of_file).unwrap_or(Format::Text);
        match &self.out {
            None => match format {
                Format::Text => super::print(&as_text(&report))?,
                Format::Html => super::print::untrusted(&page(&report))?,
                Format::Json => super::print::json(&serde_json::to_value(&report)?)?,
                Format::Sarif => super::print::json(&sarif(&report))?,
            },
            Some(file) => {
                let text = match format {
                    Format::Text => anstream::adapter::strip_str(&as_text(&report)).to_string(),
                    Format::Html => page(&report),
                    Format::Json => format!("{:#}\n", serde_json::to_value(&report)?),
                    Format::Sarif => format!("{:#}\n", sarif(&report)),
                };
                let written = portcullis_checked_files::replace(file, text.as_bytes());
                written.with_context(|| format!("writing the report to {}", file.display()))?;
                super::print(&format!("{}: {}\n", file.display(), counts(&report)))?
            }
        };
        let failing = self.fail_on.as_deref().map(|rules| selected(&report.findings, rules));
        let failing = failing.transpose()?.unwrap_or_default();
        for finding in &failing {
            let message = visible_line(&finding.message, 500);
            super::log::note(&format!("{}: {message}", finding.rule));
        }
        Ok(if failing.is_empty() { CommandEnd::Done } else { CommandEnd::Failed })
    }
}

fn counts(report: &Report) -> String {
    use portcullis_report::Level;
    let count = |level| report.findings.iter().filter(|finding| finding.level == level).count();
    format!(
        "{} errors, {} warnings, {} notes about {} plugins and {} upstream servers",
        count(Level::Error),
        count(Level::Warning),
        count(Level::Note),
        report.facts.plugins.len(),
        report.facts.upstreams.len()
    )
}

/// The findings as text.
fn as_text(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let (word, rule) = (format!("{:?}", finding.level).to_lowercase(), &finding.rule);
        let word = if word == "note" { green(&word) } else { red(&word) };
        text += &format!("{word} {rule}\n    {}\n", visible_line(&finding.message, 1000));
        if !finding.mend.is_empty() {
            text += &format!("    next step: {}\n", visible_line(&finding.mend, 500));
        }
    }
    text + &counts(report) + "\n"
}
