//! The report as one page of HTML: it loads nothing, runs no script, and can be printed. Every text in it is escaped,
//! and characters that could deceive a reader are written as escapes.

use std::fmt::Write as _;

use serde_json::Value;

use crate::escape::escaped;
use crate::facts::{
    Approval, AuditFacts, CapabilityFacts, PluginFacts, State, ToolFacts, UpstreamFacts, UseFacts,
};
use crate::findings::{Finding, Level};
use crate::{Report, picture};

/// The style of the page, for screens in light and dark, and for print.
const STYLE: &str = include_str!("page.css");

/// The report as an HTML page.
pub fn page(report: &Report) -> String {
    let facts = &report.facts;
    let mut body = String::new();
    header(report, &mut body);
    body.push_str("<main>\n");
    let is_installed = |plugin: &PluginFacts| plugin.state != State::Uninstalled;
    let is_granted = facts.plugins.is_empty() || facts.plugins.iter().any(is_installed);
    let (nothing_found, nothing_reached) = match is_granted {
        true => ("Nothing was found.", "No plugin reaches beyond the sandbox."),
        false => (
            "Nothing was found. Most rules are about grants, and nothing is granted yet.",
            "Nothing is granted yet. What each component wants is below.",
        ),
    };
    section("Findings", "findings", &findings(&report.findings, nothing_found), &mut body);
    let reach = picture::picture(facts).unwrap_or_else(|| format!("<p>{nothing_reached}</p>"));
    section("What can reach what", "picture", &reach, &mut body);
    let plugins: String = facts.plugins.iter().map(plugin).collect();
    section("Plugins", "plugins", &plugins, &mut body);
    if !facts.upstreams.is_empty() {
        let upstreams: String = facts.upstreams.iter().map(upstream).collect();
        let about = "<p>Other MCP servers. They run outside the sandbox. Nothing confines a server whose line “Reach” \
                     does not say “confined”.</p>";
        section("Upstream servers", "upstreams", &format!("{about}{upstreams}"), &mut body);
    }
    section("Audit", "audit", &audit(&facts.audit), &mut body);
    body.push_str("</main>\n");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>Portcullis report, {}</title><style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n",
        escaped(&facts.time)
    )
}

fn section(title: &str, id: &str, content: &str, body: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(
        body,
        "<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{}</h2>{content}</section>",
        escaped(title)
    );
}

/// A list of terms and descriptions. Descriptions are HTML.
fn terms<'a>(all: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let term =
        |(name, value): (&str, String)| format!("<dt>{}</dt><dd>{value}</dd>", escaped(name));
    format!("<dl>{}</dl>", all.into_iter().map(term).collect::<String>())
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// A list of texts. `nothing`: the text in place of an empty list.
fn list(all: &[String], nothing: &str) -> String {
    if all.is_empty() {
        return format!("<span class=\"faint\">{}</span>", escaped(nothing));
    }
    let item = |text: &String| format!("<li>{}</li>", escaped(text));
    format!("<ul>{}</ul>", all.iter().map(item).collect::<String>())
}

fn header(report: &Report, body: &mut String) {
    let facts = &report.facts;
    let count = |level| report.findings.iter().filter(|finding| finding.level == level).count();
    let count_in = |state| facts.plugins.iter().filter(|plugin| plugin.state == state).count();
    let uninstalled = match count_in(State::Uninstalled) {
        0 => String::new(),
        count => {
            format!(", {count} not installed: what they could do is shown, and nothing is granted")
        }
    };
    let configuration = facts.configuration.as_deref().unwrap_or("none: the defaults apply");
    let _ = writeln!(
        body,
        "<header><h1>What these plugins can do, and did</h1>{}</header>",
        terms([
            ("Made", escaped(&facts.time)),
            ("Portcullis", format!("{} (report format {})", escaped(&facts.host), facts.format)),
            ("Configuration", code(configuration)),
            ("Roots", list(&facts.roots, "none: the roots are the folders that the client names")),
            (
                "Plugins",
                format!(
                    "{} loaded, {} refused{uninstalled}",
                    count_in(State::Loaded),
                    count_in(State::Refused)
                ),
            ),
            ("Upstream servers", facts.upstreams.len().to_string()),
            (
                "Findings",
                format!(
                    "{} errors, {} warnings, {} notes",
                    count(Level::Error),
                    count(Level::Warning),
                    count(Level::Note)
                ),
            ),
        ])
    );
}

fn findings(all: &[Finding], nothing: &str) -> String {
    if all.is_empty() {
        return format!("<p>{nothing}</p>");
    }
    let finding = |one: &Finding| {
        let Finding { rule, level, source, message, mend } = one;
        let (word, class) = match level {
            Level::Error => ("error", "error"),
            Level::Warning => ("warning", "warning"),
            Level::Note => ("note", "note"),
        };
        let mend = match mend.as_str() {
            "" => String::new(),
            mend => format!("<p class=\"mend\">Next step: {}</p>", code(mend)),
        };
        let source = match source.as_str() {
            "" => String::new(),
            source => format!(" <span class=\"faint\">{}</span>", escaped(source)),
        };
        format!(
            "<li class=\"{class}\"><p><strong>{word}</strong> {}{source}</p><p>{}</p>{mend}</li>",
            code(rule),
            escaped(message)
        )
    };
    format!("<ol class=\"findings\">{}</ol>", all.iter().map(finding).collect::<String>())
}

fn approval(approval: Option<&Approval>) -> String {
    match approval {
        None => "<span class=\"faint\">none</span>".to_owned(),
        Some(Approval { digest, time, user, reason }) => {
            let reason = if reason.is_empty() { "without a reason" } else { reason };
            format!(
                "{} by {}: {}<br>{}",
                escaped(time),
                escaped(user),
                escaped(reason),
                code(&format!("sha256:{digest}"))
            )
        }
    }
}

fn plugin(plugin: &PluginFacts) -> String {
    let state = match plugin.state {
        State::Loaded => "loaded",
        State::Refused => "refused",
        State::Uninstalled => "not installed",
    };
    let digest = plugin
        .digest
        .as_ref()
        .map_or_else(|| "unknown".to_owned(), |digest| code(&format!("sha256:{digest}")));
    let made = match plugin.is_foreign {
        true => "for other hosts: its imports say what it wants",
        false => "for Portcullis: its manifest says what it wants",
    };
    let mut rows = vec![
        ("State", state.to_owned()),
        ("From", code(&plugin.origin)),
        ("Made", made.to_owned()),
        ("Digest", digest),
        ("Approved", approval(plugin.approval.as_ref())),
    ];
    if let Some(refusal) = &plugin.refusal {
        rows.push(("Refused", format!("<span class=\"text\">{}</span>", escaped(refusal))));
    }
    let calls = format!("{} calls, last {}", plugin.used.calls, last(&plugin.used));
    rows.push(("Used", format!("{calls}; {}", asks(&plugin.used))));
    rows.push(("Settings", list(&plugin.settings, "none")));
    if !plugin.limits.is_empty() {
        let limits = list(&plugin.limits, "none");
        let count = plugin.limits.len();
        rows.push((
            "Limits",
            format!("<details><summary>{count} limits of one call</summary>{limits}</details>"),
        ));
    }
    if !plugin.remarks.is_empty() {
        rows.push(("Remarks", list(&plugin.remarks, "none")));
    }
    let cannot: Vec<_> =
        plugin.cannot.iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
    rows.push(("Cannot", list(&cannot, "nothing is ruled out")));
    let tools: String = plugin.tools.iter().map(tool).collect();
    format!(
        "<article><h3>{} <span class=\"faint\">{}</span></h3>{}{}<h4>Tools</h4>{}</article>",
        escaped(&plugin.name),
        escaped(&plugin.version),
        terms(rows),
        capabilities(&plugin.capabilities),
        if tools.is_empty() { "<p class=\"faint\">none</p>".to_owned() } else { tools }
    )
}

fn last(used: &UseFacts) -> String {
    escaped(used.last.as_deref().unwrap_or("never"))
}

fn asks(used: &UseFacts) -> String {
    let mut text = format!("{} asks allowed, {} denied", used.allowed, used.denied);
    if !used.subjects.is_empty() {
        text += &format!("<p>The latest:</p>{}", list(&used.subjects, ""));
    }
    if !used.denials.is_empty() {
        text += &format!("<p>Denied:</p>{}", list(&used.denials, ""));
    }
    text
}

/// The table of the capabilities: what the component imports, wants, was granted and used, side by side.
fn capabilities(all: &[CapabilityFacts]) -> String {
    if all.is_empty() {
        return "<p>It only computes, as far as is known: it imports, wants and was granted nothing that reaches beyond \
                the sandbox.</p>"
            .to_owned();
    }
    let row = |one: &CapabilityFacts| {
        let import = |import: &crate::ImportFacts| {
            let functions = list(&import.functions, "no function");
            format!("<details><summary>{}</summary>{functions}</details>", code(&import.interface))
        };
        let imports: String = one.imports.iter().map(import).collect();
        let want = |want: &crate::WantFacts| {
            let optional = if want.optional { " (optional)" } else { "" };
            let reason = if want.reason.is_empty() { "without a reason" } else { &want.reason };
            format!("<li>{}{optional}: {}</li>", code(&want.target), escaped(reason))
        };
        let wants: String = one.wants.iter().map(want).collect();
        let granted = match &one.granted {
            None => "<strong>not granted</strong>".to_owned(),
            Some(granted) => {
                let change = if one.can_change {
                    "<p><strong>can change something</strong></p>"
                } else {
                    ""
                };
                let targets = match one.targets.as_slice() {
                    [only] if only == granted => String::new(),
                    targets => list(targets, ""),
                };
                let part = |title: &str, values: &[String]| match values {
                    [] => String::new(),
                    values => format!("<p>{title}:</p>{}", list(values, "")),
                };
                let unused = part("Never used", &one.unused);
                let unwanted = part("Not wanted, so without effect", &one.unwanted);
                format!("{}{targets}{change}{unused}{unwanted}", escaped(granted))
            }
        };
        let nothing = |html: String| {
            if html.is_empty() { "<span class=\"faint\">nothing</span>".to_owned() } else { html }
        };
        let used = format!("last used {}; {}", last(&one.used), asks(&one.used));
        let wants = if wants.is_empty() { wants } else { format!("<ul>{wants}</ul>") };
        format!(
            "<tr><th scope=\"row\">{}</th><td data-label=\"imports\">{}</td><td data-label=\"wants\">{}</td>\
             <td data-label=\"granted\">{granted}</td><td data-label=\"used\">{used}</td></tr>",
            escaped(&one.name),
            nothing(imports),
            nothing(wants)
        )
    };
    format!(
        "<table><thead><tr><th scope=\"col\">Capability</th><th scope=\"col\">Imports</th>\
         <th scope=\"col\">Wants</th><th scope=\"col\">Granted</th><th scope=\"col\">Used</th></tr></thead>\
         <tbody>{}</tbody></table>",
        all.iter().map(row).collect::<String>()
    )
}

fn tool(tool: &ToolFacts) -> String {
    let hint = |name: &str, hint: Option<bool>| {
        hint.map(|hint| if hint { name.to_owned() } else { format!("not {name}") })
    };
    let hints = &tool.hints;
    let given: Vec<_> = [
        hint("read-only", hints.read_only),
        hint("destructive", hints.destructive),
        hint("idempotent", hints.idempotent),
        hint("open-world", hints.open_world),
    ]
    .into_iter()
    .flatten()
    .collect();
    let given = if given.is_empty() { "no hints".to_owned() } else { given.join(", ") };
    let schema = |title: &str, schema: &Value| {
        format!("<p>{title}</p><pre tabindex=\"0\">{}</pre>", escaped(&format!("{schema:#}")))
    };
    let output = tool.output_schema.as_ref().map(|output| schema("Result", output));
    format!(
        "<details><summary>{} <span class=\"faint\">{}</span></summary><p class=\"text\">{}</p>{}{}</details>",
        code(&tool.name),
        escaped(&given),
        escaped(&tool.description),
        schema("Arguments", &tool.input_schema),
        output.unwrap_or_default()
    )
}

fn upstream(upstream: &UpstreamFacts) -> String {
    let used = format!(
        "{} calls, last {}; {}",
        upstream.used.calls,
        last(&upstream.used),
        asks(&upstream.used)
    );
    format!(
        "<article><h3>{}</h3>{}</article>",
        escaped(&upstream.name),
        terms([
            ("Reach", escaped(&upstream.reach)),
            ("State", escaped(&upstream.state)),
            ("Tools", list(&upstream.tools, "none")),
            ("Held back", list(&upstream.held, "none")),
            ("Approved", approval(upstream.approval.as_ref())),
            ("Used", used),
        ])
    )
}

fn audit(audit: &AuditFacts) -> String {
    let verdict = match audit.faults.is_empty() {
        true => "No sign of tampering.".to_owned(),
        false => format!("<strong>Signs of tampering: {}</strong>", audit.faults.len()),
    };
    let deleted = &audit.deleted;
    let times = [&deleted.from, &deleted.until].map(|time| escaped(time.as_deref().unwrap_or("?")));
    let deleted = match deleted.records {
        0 => "none".to_owned(),
        records => format!(
            "{records}, from {} to {}; their counts and denials are kept",
            times[0], times[1]
        ),
    };
    let digest = audit.digest.as_ref().map_or_else(|| "none".to_owned(), |digest| code(digest));
    let table = terms([
        ("Folder", code(&audit.folder)),
        ("Goes back to", escaped(audit.since.as_deref().unwrap_or("nothing was recorded yet"))),
        ("Segments", format!("{} with {} lines", audit.segments, audit.lines)),
        ("Digest", digest),
        ("Faults", list(&audit.faults, "none")),
        ("Remarks", list(&audit.remarks, "none")),
        ("Deleted records", deleted),
    ]);
    format!(
        "<p>{verdict}</p>{table}<p>Not proven: that nobody replaced the whole folder. Anyone who can write to it can \
         compute a new chain of digests. Keep the digest elsewhere, and pass it later to <code>portcullis trail verify \
         --last DIGEST</code>. Also not proven: that the last lines of a running or killed process are complete.</p>"
    )
}
