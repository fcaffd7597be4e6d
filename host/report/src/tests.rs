//! Tests that the page has each fact of the JSON, that nothing on the page can run, and that each rule finds what it is
//! for and nothing else.

use serde_json::{Value, json};

use super::*;

fn capability(name: &str, targets: &[&str]) -> CapabilityFacts {
    CapabilityFacts {
        name: name.into(),
        wants: vec![WantFacts { target: "x".into(), reason: "to work".into(), optional: false }],
        granted: Some(targets.join(", ")),
        targets: targets.iter().map(|target| (*target).to_owned()).collect(),
        used: UseFacts { allowed: 1, last: Some("2026-11-20".into()), ..UseFacts::default() },
        ..CapabilityFacts::default()
    }
}

fn plugin(capabilities: Vec<CapabilityFacts>) -> PluginFacts {
    PluginFacts {
        name: "weather".into(),
        capabilities,
        used: UseFacts { calls: 3, ..UseFacts::default() },
        ..PluginFacts::default()
    }
}

/// Facts with one plugin.
fn facts(plugin: PluginFacts) -> Facts {
    let audit = AuditFacts { since: Some("2026-11-01".into()), ..AuditFacts::default() };
    Facts { plugins: vec![plugin], audit, ..Facts::default() }
}

fn rules(facts: &Facts) -> Vec<String> {
    findings(facts).into_iter().map(|finding| finding.rule).collect()
}

/// A name, followed by text that tries to break out of the page's HTML.
fn text(name: &str) -> String {
    format!("{name} <script>alert(1)</script>\" onload='x' \u{202e}reversed\u{1b}[2J & more")
}

fn used(name: &str) -> UseFacts {
    UseFacts {
        calls: 17,
        allowed: 23,
        denied: 29,
        last: Some(text(&format!("last of {name}"))),
        subjects: vec![text(&format!("subject of {name}"))],
        denials: vec![text(&format!("denial of {name}"))],
    }
}

fn approval(name: &str) -> Option<Approval> {
    Some(Approval {
        digest: format!("{name}digest"),
        time: text("time"),
        user: text("user"),
        reason: text("reason"),
    })
}

/// A plugin with something in every field.
fn hostile_plugin() -> PluginFacts {
    let capability = CapabilityFacts {
        name: "http".into(),
        imports: vec![ImportFacts {
            interface: text("interface"),
            functions: vec![text("function")],
        }],
        wants: vec![WantFacts { target: text("target"), reason: text("why"), optional: true }],
        granted: Some(text("grant")),
        targets: (0..9).map(|n| text(&format!("host {n}"))).collect(),
        can_change: true,
        unused: vec![text("unused value")],
        unwanted: vec![text("unwanted value")],
        used: used("http"),
    };
    let tool = ToolFacts {
        name: text("tool"),
        description: text("description"),
        hints: Hints { read_only: Some(true), destructive: Some(false), ..Hints::default() },
        input_schema: json!({ "type": "object", "title": "in" }),
        output_schema: Some(json!({ "type": "object", "title": "out" })),
    };
    PluginFacts {
        name: text("plugin"),
        version: text("version"),
        origin: text("origin"),
        digest: Some("d1".into()),
        approval: approval("plugin"),
        capabilities: vec![capability],
        cannot: vec![CapabilityLimit { what: text("what"), why: text("why not") }],
        tools: vec![tool],
        settings: vec![text("setting")],
        limits: vec![text("limit")],
        used: used("plugin"),
        remarks: vec![text("remark")],
        ..PluginFacts::default()
    }
}

/// A report with something in every field.
fn hostile() -> Report {
    let refused = PluginFacts {
        name: text("other"),
        state: State::Refused,
        refusal: Some(text("refusal")),
        ..PluginFacts::default()
    };
    let upstream = UpstreamFacts {
        name: text("server"),
        reach: text("reach"),
        confined: false,
        state: text("connected"),
        tools: vec![text("theirs")],
        held: vec![text("held")],
        approval: approval("server"),
        used: used("server"),
    };
    Report::of(Facts {
        format: 1,
        host: text("host"),
        time: text("made"),
        configuration: Some(text("configuration")),
        roots: vec!["/".into(), text("root")],
        plugins: vec![hostile_plugin(), refused],
        upstreams: vec![upstream],
        audit: AuditFacts {
            folder: text("folder"),
            since: Some(text("since")),
            segments: 31,
            lines: 37,
            digest: Some(text("end")),
            faults: vec![text("fault")],
            remarks: vec![text("odd")],
            deleted: DeletedFacts {
                records: 41,
                from: Some(text("from")),
                until: Some(text("until")),
            },
        },
        warnings: vec![text("warning")],
    })
}

/// All texts and numbers of a value.
fn leaves(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Number(number) => all.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, all)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, all)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn each_fact_of_the_json_is_on_the_page() {
    let report = hostile();
    let page = page(&report);
    let mut all = Vec::new();
    leaves(&serde_json::to_value(&report).unwrap(), &mut all);
    assert!(all.len() > 80, "{}", all.len());
    for text in all {
        assert!(page.contains(&escape::escaped(&text)), "{text:?} is not on the page");
    }
}

#[test]
fn nothing_on_the_page_can_run_or_load_or_deceive() {
    let page = page(&hostile());
    let body = page.split_once("</style>").unwrap().1;
    for forbidden in
        ["<script", "onload='", "\u{202e}", "\u{1b}", "href=", "src=", "url(", "@import"]
    {
        assert!(!body.contains(forbidden), "{forbidden:?}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!include_str!("page.css").contains("url("));
    // Each `<` in the body begins a tag that this crate writes.
    let known = [
        "article", "body", "br", "code", "dd", "desc", "details", "dl", "dt", "h1", "h2", "h3",
        "h4", "head", "header", "html", "li", "main", "ol", "p", "path", "pre", "section", "span",
        "strong", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr",
        "ul", "div",
    ];
    for tag in body.split('<').skip(1) {
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(known.contains(&name.as_str()), "<{name}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test updates the published schema on demand")]
fn the_json_fits_its_published_schema() {
    let schema = schema();
    let published = include_str!("../../../docs/reference/report.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/report.schema.json");
        std::fs::write(file, format!("{schema:#}\n")).unwrap();
    } else {
        let published: Value = serde_json::from_str(published).unwrap();
        assert_eq!(published, schema, "run the tests of this crate with UPDATE=1");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [hostile(), Report::of(Facts::default())] {
        let json = serde_json::to_value(&report).unwrap();
        let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    assert!(!validator.is_valid(&json!({ "findings": [] })));
}

#[test]
fn the_combination_of_files_and_hosts_is_found() {
    let hosts = || capability("http", &["GET api.example"]);
    let read = facts(plugin(vec![capability("files", &["read all roots"]), hosts()]));
    assert_eq!(rules(&read), ["read+network"]);
    let message = &findings(&read)[0].message;
    assert!(message.contains("read all roots") && message.contains("api.example"), "{message}");
    let writing = CapabilityFacts { can_change: true, ..capability("files", &["write all roots"]) };
    let write = facts(plugin(vec![writing, hosts()]));
    assert_eq!(rules(&write), ["write+network", "read+network"]);
    assert_eq!(findings(&write)[0].mend, "portcullis plugin revoke weather http");
    // Only grants with an effect count.
    let unwanted = CapabilityFacts { wants: Vec::new(), ..hosts() };
    let harmless = facts(plugin(vec![capability("files", &["read all roots"]), unwanted.clone()]));
    assert_eq!(rules(&harmless), [""; 0]);
    assert_eq!(rules(&facts(plugin(vec![hosts()]))), [""; 0]);
    // A foreign component wants what it imports.
    let imports = vec![ImportFacts { interface: "wasi:http".into(), functions: Vec::new() }];
    let imported = CapabilityFacts { imports, ..unwanted };
    let foreign = PluginFacts {
        is_foreign: true,
        ..plugin(vec![capability("files", &["read all roots"]), imported])
    };
    assert_eq!(rules(&facts(foreign)), ["read+network"]);
}

#[test]
fn values_of_grants_that_nothing_uses_are_found() {
    let unused = CapabilityFacts {
        unused: vec!["GET@a.example".into()],
        ..capability("http", &["GET a.example", "GET b.example"])
    };
    let found = findings(&facts(plugin(vec![unused])));
    assert_eq!(found[0].rule, "unused-grant");
    assert!(found[0].message.contains("GET@a.example"), "{found:?}");
    assert_eq!(found[0].mend, "portcullis plugin revoke weather --unused");
    let unwanted =
        CapabilityFacts { unwanted: vec!["POST@a.example".into()], ..capability("http", &["x"]) };
    assert_eq!(rules(&facts(plugin(vec![unwanted]))), ["unwanted-grant"]);
}

#[test]
fn each_other_rule_finds_what_it_is_for() {
    let approval = |reason: &str| {
        Some(Approval { digest: "old".into(), reason: reason.into(), ..Approval::default() })
    };
    let with = |change: fn(&mut PluginFacts)| {
        let mut one = plugin(Vec::new());
        change(&mut one);
        facts(one)
    };
    let mut changed = with(|one| one.digest = Some("new".into()));
    changed.plugins[0].approval = approval("reviewed");
    let mut first = with(|one| one.digest = Some("old".into()));
    first.plugins[0].approval = approval("first use");
    let mut tampered = with(|_| ());
    tampered.audit.faults = vec!["line 3".into()];
    let mut everything = with(|_| ());
    everything.roots = vec!["/".into(), "/home".into()];
    let mut readable = with(|_| ());
    readable.warnings = vec!["mode 666".into()];
    let mut upstream = with(|_| ());
    upstream.upstreams = vec![UpstreamFacts { held: vec!["t".into()], ..UpstreamFacts::default() }];
    let mut confined = with(|_| ());
    confined.upstreams = vec![UpstreamFacts { confined: true, ..UpstreamFacts::default() }];
    let command = facts(plugin(vec![capability("process", &["git"])]));
    let silent =
        CapabilityFacts { wants: vec![WantFacts::default()], ..capability("store", &["1 MB"]) };
    let imports = vec![ImportFacts::default()];
    let sneaky = CapabilityFacts { imports, name: "files".into(), ..CapabilityFacts::default() };
    for (facts, expected) in [
        (changed, &["changed"][..]),
        (first, &["first-use"]),
        (tampered, &["audit-faults"]),
        (everything, &["everything"]),
        (readable, &["host-files"]),
        (upstream, &["changed", "unconfined"]),
        (confined, &[]),
        (command, &["process"]),
        (facts(plugin(vec![silent])), &["no-reason"]),
        (facts(plugin(vec![sneaky])), &["contradiction"]),
        (with(|one| one.remarks = vec!["says it only reads".into()]), &["contradiction"]),
        (with(|one| one.state = State::Refused), &["refused"]),
        (with(|one| one.used.denied = 2), &["denied"]),
        (with(|_| ()), &[]),
    ] {
        assert_eq!(rules(&facts), expected);
    }
}

#[test]
fn rules_are_selected_by_their_ids() {
    let all = findings(&facts(plugin(vec![
        capability("files", &["read all roots"]),
        capability("http", &["GET a.example"]),
        capability("process", &["git"]),
    ])));
    let ids = |rules| -> Result<Vec<_>, _> {
        selected(&all, rules).map(|found| found.iter().map(|one| one.rule.clone()).collect())
    };
    assert_eq!(ids("process, changed").unwrap(), ["process"]);
    assert_eq!(ids("").unwrap(), [""; 0]);
    let error = ids("process,nothing").unwrap_err();
    assert!(error.to_string().contains("write+network"), "{error}");
    let unique: std::collections::BTreeSet<_> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(unique.len(), RULES.len());
}

#[test]
fn sarif_has_what_the_standard_requires() {
    let report = hostile();
    let log = sarif(&report);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "portcullis");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), report.findings.len());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let location = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        let uri = location.as_str().unwrap();
        assert!(uri.is_ascii() && !uri.contains([' ', '<', '"']), "{uri}");
        assert!(result["partialFingerprints"]["sourceAndRule/v1"].is_string());
    }
    // A finding keeps its fingerprint while only its numbers change.
    let denials = |times| {
        let mut one = plugin(Vec::new());
        one.used.denied = times;
        let log = sarif(&Report::of(facts(one)));
        log["runs"][0]["results"][0]["partialFingerprints"].clone()
    };
    assert_eq!(denials(3), denials(14));
}

#[test]
fn the_page_of_the_reference_lists_the_rules() {
    let word = |level| serde_json::to_value(level).unwrap().as_str().unwrap().to_owned();
    let row = |rule: &Rule| format!("| `{}` | {} | {} |\n", rule.id, word(rule.level), rule.about);
    let table: String = RULES.iter().map(row).collect();
    let page = include_str!("../../../docs/reference/report.md");
    assert!(page.contains(&table), "docs/reference/report.md should have:\n{table}");
}

#[test]
fn nothing_is_cut_off_on_paper() {
    // Rules of equal weight count in their order: those for paper must come after those for screens.
    let style = include_str!("page.css");
    let print = style.find("@media print").expect("there are rules for paper");
    assert!(style[print..].contains("pre { max-height: none; overflow: visible;"));
    for screen in ["\npre {", "\ntd {", "\nsvg {", "\n.scroll {", "\nbody {"] {
        assert!(style.rfind(screen).is_some_and(|place| place < print), "{screen}");
    }
}
