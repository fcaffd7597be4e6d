//! `portcullis trail`: prints and verifies the records of the audit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::Subcommand;
use portcullis_audit::{
    Ending, Event, Fault, Follower, Query, Record, Selection, Verdict, parse_time, select,
    usage_and_dropped, verify, was_last,
};
use portcullis_sanitize::visible_line;
use serde_json::json;

use super::CommandEnd;
use super::context::CommandContext;
use super::style::{faint, green, red};

/// How often `--follow` looks for new records.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Arguments of `trail`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    select: Conditions,
    /// Show only this many of the latest records
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Keep printing new records until Ctrl-C
    #[arg(long, conflicts_with = "summary")]
    follow: bool,
    /// Show counts and denials of each plugin and server, including those of deleted records
    #[arg(long, conflicts_with_all = ["since", "until", "host", "capability", "tool", "request", "denied", "findings"])]
    summary: bool,
    /// Print JSON: one line for each record, or one object with --summary
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  portcullis trail --since 7d --denied             what was refused in the last week
  portcullis trail --plugin weather --host api.example
  portcullis trail --findings                      results of other servers with secrets or instructions
  portcullis trail --follow                        what happens now
  portcullis trail --summary                       counts and denials of all time
  portcullis trail verify                          whether the records are complete and untampered";

/// Which records to show.
#[derive(clap::Args)]
struct Conditions {
    /// Not before this time: how long ago (30m, 12h, 7d, 2w), or a date (2026-11-20)
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<String>,
    /// Only this plugin or upstream server
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
    /// Only requests and connections to this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Only this capability, such as files or http
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only records of the request with this ID
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Only denials
    #[arg(long)]
    denied: bool,
    /// Only calls in whose results secrets, hidden text or instructions to models were found
    #[arg(long)]
    findings: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Check that no record was removed, changed, moved or cut off
    Verify {
        /// Also check that the folder was not replaced since an earlier `trail verify`, which printed this digest
        #[arg(long, value_name = "DIGEST")]
        last: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn time(text: &str) -> Result<String, portcullis_audit::InvalidTime> {
    parse_time(text, SystemTime::now())
}

impl From<Conditions> for Query {
    fn from(conditions: Conditions) -> Self {
        Self {
            since: conditions.since,
            until: conditions.until,
            source: conditions.plugin,
            host: conditions.host,
            capability: conditions.capability,
            tool: conditions.tool,
            request: conditions.request,
            only_denied: conditions.denied,
            only_findings: conditions.findings,
        }
    }
}

impl Args {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        let folder = context.audit.folder();
        let failed = || format!("reading the audit in {}", folder.display());
        match self.command {
            Some(Command::Verify { last, json }) => {
                verify_folder(folder, last.as_deref(), json).with_context(failed)
            }
            None if self.summary => {
                print_summary(folder, self.select.plugin.as_deref(), self.json).with_context(failed)
            }
            None if self.follow => {
                let (query, limit) = (Query::from(self.select), self.limit);
                let following = follow(folder, &query, limit, self.json);
                tokio::select! {
                    followed = following => followed.with_context(failed),
                    _ = tokio::signal::ctrl_c() => Ok(CommandEnd::Done),
                }
            }
            None => {
                let query = Query::from(self.select);
                let selection = select(folder, &query, self.limit).with_context(failed)?;
                show(&selection, self.json)
            }
        }
    }
}

/// Prints the records, and on stderr the number of records that were left out.
fn show(selection: &Selection, is_json: bool) -> anyhow::Result<CommandEnd> {
    let mut text = String::new();
    if is_json {
        for record in &selection.records {
            text += &line(record, is_json)?;
        }
    } else {
        for (depth, record) in tree(&selection.records) {
            text += if depth > 0 { "  └ " } else { "" };
            text += &line(record, is_json)?;
        }
    }
    if selection.left_out > 0 {
        let left_out = selection.left_out;
        super::log::note(&format!(
            "{left_out} older records are not shown: raise --limit, or narrow --since"
        ));
    } else if selection.records.is_empty() {
        super::log::note("no record matches");
    }
    if is_json { super::print::untrusted(&text) } else { super::print(&text) }
}

/// The records, each with its depth. Records of an inner call have depth 1, and follow the record in which the plugin
/// asked for the call. If that record is missing, they are placed by their times. All other records have depth 0 and
/// keep their order.
fn tree(records: &[Record]) -> Vec<(usize, &Record)> {
    let mut inner: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
    for record in records {
        if let Some(call) = record.request.split_once('.') {
            inner.entry(call).or_default().push(record);
        }
    }
    let mut all = Vec::with_capacity(records.len());
    for record in records {
        if record.request.contains('.') {
            continue;
        }
        all.push((0, record));
        let called = match &record.event {
            Event::Ask { subject, .. } => subject.rsplit_once(" as call "),
            Event::Outcome { .. }
            | Event::More { .. }
            | Event::Call { .. }
            | Event::Approval { .. } => None,
        };
        let of_call = called.and_then(|(_, call)| inner.remove(&(&*record.request, call)));
        all.extend(of_call.into_iter().flatten().map(|record| (1, record)));
    }
    // The asks for these inner calls are not among the records, so the records of the calls are placed by their times.
    for record in inner.into_values().flatten() {
        let later = |(_, other): &(usize, &Record)| other.time > record.time;
        let place = all.iter().position(later).unwrap_or(all.len());
        all.insert(place, (1, record));
    }
    all
}

/// Prints the latest records, and then each new record. Ends when nobody reads the output.
async fn follow(
    folder: &Path,
    query: &Query,
    limit: usize,
    is_json: bool,
) -> anyhow::Result<CommandEnd> {
    let mut follower = Follower::of(folder.to_owned());
    let mut new = follower.select(query, limit)?.records;
    loop {
        for record in new.drain(..) {
            if !super::print::print_while_read(&line(&record, is_json)?)? {
                return Ok(CommandEnd::Done);
            }
        }
        tokio::time::sleep(FOLLOW_INTERVAL).await;
        follower.poll(|record| new.extend(Some(record).filter(|record| query.selects(record))))?;
    }
}

/// A record as a line.
fn line(record: &Record, is_json: bool) -> anyhow::Result<String> {
    if is_json {
        return Ok(serde_json::to_string(record)? + "\n");
    }
    let Record { time, plugin, tool, request, principal, .. } = record;
    let (plugin, tool) = (visible_line(plugin, 64), visible_line(tool, 200));
    let mut line = format!("{} {plugin:<16} ", visible_line(time, 40));
    line += &match &record.event {
        Event::Ask { capability, subject, verdict, outcome } => {
            format!("{} {}", ask(*verdict, capability, subject), arrow(outcome.as_deref()))
        }
        Event::Outcome { capability, subject, verdict, outcome } => {
            format!("{} {}", ask(*verdict, capability, subject), arrow(Some(outcome)))
        }
        Event::More { capability, verdict, outcome, count, first, last, .. } => {
            let subjects = format!("{count} more asks, from {first} to {last}");
            format!("{} {}", ask(*verdict, capability, &subjects), arrow(outcome.as_deref()))
        }
        Event::Call { verdict, outcome, duration_us, bytes_in, bytes_out, findings } => {
            let took = Duration::from_micros(*duration_us);
            let outcome = visible_line(outcome, 100);
            let found = match findings.is_empty() {
                true => String::new(),
                false => format!(", {} {}", red("found"), visible_line(&findings.join(", "), 500)),
            };
            format!(
                "{} call {tool}: {outcome}, {took:.1?}, {bytes_in} B in, {bytes_out} B out{found}",
                word(*verdict)
            )
        }
        Event::Approval { user, reason, .. } => {
            let digest = visible_line(&record.digest, 64);
            let [user, reason] = [user, reason].map(|text| visible_line(text, 500));
            format!("{} sha256:{digest} by {user}: {reason:?}", green("approved"))
        }
    };
    let of_call = match (&record.event, principal) {
        (Event::Approval { .. }, _) => String::new(),
        (_, None) => format!("[{tool} {}]", visible_line(request, 100)),
        (_, Some(who)) => {
            format!("[{tool} {} {}]", visible_line(request, 100), visible_line(who, 100))
        }
    };
    line.truncate(line.trim_end().len());
    if !of_call.is_empty() {
        line += &format!(" {}", faint(&of_call));
    }
    Ok(line + "\n")
}

fn ask(verdict: Verdict, capability: &str, subject: &str) -> String {
    let (capability, subject) = (visible_line(capability, 20), visible_line(subject, 4096));
    format!("{} {capability} {subject}", word(verdict))
}

fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allowed => green("allowed"),
        Verdict::Denied => red("denied "),
    }
}

fn arrow(outcome: Option<&str>) -> String {
    outcome.map_or_else(String::new, |outcome| format!("-> {}", visible_line(outcome, 200)))
}

/// Prints counts and denials of each source, and what was deleted.
fn print_summary(folder: &Path, only: Option<&str>, is_json: bool) -> anyhow::Result<CommandEnd> {
    let (mut usage, dropped) = usage_and_dropped(folder)?;
    usage.0.retain(|name, _| only.is_none_or(|only| only == name));
    if is_json {
        return super::print::json(&json!({ "sources": usage, "deleted": dropped }));
    }
    let mut text = String::new();
    for (name, used) in &usage.0 {
        let name = green(&visible_line(name, 64));
        let last = visible_line(used.last.as_deref().unwrap_or("never"), 40);
        writeln!(
            text,
            "{name}\n  calls: {}, asks: {}, refused asks: {}, last call: {last}",
            used.calls, used.allowed, used.denied
        )?;
        for denial in &used.denials {
            let subject = visible_line(&denial.subject, 300);
            let (capability, last) =
                (visible_line(&denial.capability, 20), visible_line(&denial.last, 40));
            let times = if denial.times > 1 {
                format!("{} times, last ", denial.times)
            } else {
                String::new()
            };
            writeln!(
                text,
                "  denied   {}",
                red(&format!("{capability} {subject} ({times}{last})"))
            )?;
        }
    }
    if dropped.records > 0 {
        let times = [&dropped.from, &dropped.until]
            .map(|time| visible_line(time.as_deref().unwrap_or("?"), 40));
        writeln!(
            text,
            "deleted for space or age: {} records, from {} to {}; the counts and denials above include them",
            dropped.records, times[0], times[1]
        )?;
    }
    if text.is_empty() {
        text = "nothing was recorded yet\n".to_owned();
    }
    super::print(&text)
}

/// What verification cannot prove.
const UNPROVEN: &str = "\
Not proven: that nobody replaced the whole folder. Anyone who can write to it can compute a new chain of digests.
Keep the digest elsewhere, and pass it later to `portcullis trail verify --last DIGEST`.
Also not proven: that the last lines of a running or killed process are complete.";

/// Verifies the folder. Exit code 1: there are signs of tampering.
fn verify_folder(folder: &Path, last: Option<&str>, is_json: bool) -> anyhow::Result<CommandEnd> {
    let mut report = verify(folder)?;
    if let Some(last) = last
        && !was_last(folder, last)?
    {
        let what = format!(
            "no line has the digest {}: the folder was replaced, or the index was rewritten twice since",
            visible_line(last, 80)
        );
        report.faults.push(Fault { file: "index.jsonl".into(), line: None, what });
    }
    let end = if report.is_whole() { CommandEnd::Done } else { CommandEnd::Failed };
    let lines: u64 = report.segments.iter().map(|segment| segment.lines).sum();
    let digest = report.index_end.map(|digest| digest.to_string());
    if is_json {
        let segments = report.segments.iter().map(|one| {
            json!({ "segment": one.segment, "lines": one.lines, "ending": ending(&one.ending) })
        });
        super::print::json(&json!({
            "folder": folder.display().to_string(),
            "isWhole": report.is_whole(),
            "faults": faults(&report.faults),
            "remarks": faults(&report.remarks),
            "lines": lines,
            "segments": segments.collect::<Vec<_>>(),
            "digest": digest,
            "notProven": UNPROVEN,
        }))?;
        return Ok(end);
    }
    let mut text = String::new();
    for fault in &report.faults {
        writeln!(text, "{} {}", red("fault "), visible_line(&fault.to_string(), 500))?;
    }
    for remark in &report.remarks {
        writeln!(text, "{} {}", faint("remark"), visible_line(&remark.to_string(), 500))?;
    }
    let verdict = match report.is_whole() {
        true => green("no sign of tampering"),
        false => red(&format!("signs of tampering: {}", report.faults.len())),
    };
    writeln!(text, "{verdict} in {}", folder.display())?;
    writeln!(text, "segments: {}, lines: {lines}", report.segments.len())?;
    if let Some(digest) = digest {
        writeln!(text, "digest:   {digest}")?;
    }
    writeln!(text, "{UNPROVEN}")?;
    super::print(&text)?;
    Ok(end)
}

fn faults(all: &[Fault]) -> Vec<serde_json::Value> {
    let fault = |one: &Fault| json!({ "file": one.file, "line": one.line, "what": one.what });
    all.iter().map(fault).collect()
}

fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Sealed(reason) => format!("sealed: {reason}"),
        Ending::Running => "running".to_owned(),
        Ending::Killed => "killed".to_owned(),
    }
}
