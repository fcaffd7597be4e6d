//! Tests of the guide's text and versions; `tests/ui5-guides` checks its code.

use super::*;
use portcullis_plugin::rehearsal::Rehearsal;
use serde_json::Value;

fn answer() -> String {
    let reply = Rehearsal::new().call::<Guidelines>(json!({"detail": "full"}));
    reply.expect("it cannot fail").as_text().to_owned()
}

#[test]
fn a_first_answer_is_brief_and_leads_to_sections_with_code() {
    let host = Rehearsal::new();
    let call = |arguments: Value| host.call::<Guidelines>(arguments).expect("it answers");
    let brief = call(json!({}));
    let text = brief.as_text();
    assert!(text.len() <= detail::BRIEF && !text.contains("```"), "{}", text.len());
    assert!(text.contains("### tsconfig.json") && !text.contains("{{"), "{text}");
    assert!(call(json!({"section": "tsconfig.json"})).as_text().contains("\"moduleResolution\""));
}

/// The code block of a file.
fn file<'a>(text: &'a str, info: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("```{info}\n")).expect("the file is shown");
    rest.split_once("```").expect("it has an end").0
}

fn table() -> String {
    versions::Table::read().date
}

#[test]
fn the_topics_are_in_the_order_of_the_work() {
    let text = answer();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(
        headings,
        [
            "1. How to go about it",
            "2. Setup",
            "3. Code",
            "4. Controls",
            "5. Tests",
            "6. Done means"
        ]
    );
    for topic in [
        "### package.json",
        "### tsconfig.json",
        "### ui5.yaml",
        "### ESLint",
        "@namespace",
        "ui5-tooling-transpile-task",
        "ui5-tooling-transpile-middleware",
        "ts-interface-generator",
        "MetadataOptions",
        "registerEnum",
        "SuiteConfiguration",
        "Opa5",
        "comment",
    ] {
        assert!(text.contains(topic), "{topic}");
    }
    assert!(text.len() < 19_000, "{}", text.len());
}

#[test]
fn the_dependencies_are_valid_json_and_have_versions() {
    let text = answer();
    let package: Value =
        serde_json::from_str(file(&text, "json package.json")).expect("it is JSON");
    let dependencies = package["devDependencies"].as_object().expect("there are some");
    assert!(dependencies.len() >= 7);
    for (name, range) in dependencies {
        let range = range.as_str().expect("it is text");
        let version = range.trim_start_matches(['^', '~']);
        assert!(semver::Version::parse(version).is_ok(), "{name}: {range}");
    }
    for placeholder in ["{{", "\\\"", "\\n"] {
        assert!(!text.contains(placeholder), "{placeholder} is left");
    }
}

#[test]
fn the_table_is_named_with_its_date() {
    assert!(answer().contains(&format!("from a table of {}", table())));
}

#[test]
fn newest_versions_are_used_if_they_fit() {
    let looked_up = |package: &str| match package {
        "@ui5/cli" => Some("5.1.0".to_owned()),
        "typescript" => Some("7.0.2".to_owned()),
        "ui5-tooling-transpile" => Some("not a version".to_owned()),
        _ => None,
    };
    let choice = versions::choose(looked_up, "the registry");
    assert_eq!(choice.versions["@ui5/cli"], "5.1.0");
    assert_eq!(choice.versions["typescript"], "6.0.3");
    assert_eq!(choice.versions["ui5-tooling-transpile"], "3.13.0");
    assert!(choice.note.starts_with("The versions are the newest that the registry has, "));
    assert!(choice.note.contains("`typescript` has to be below 6.1.0"), "{}", choice.note);
    assert!(choice.note.contains("`ui5-tooling-transpile`"), "{}", choice.note);
    assert!(!choice.note.contains("`@ui5/cli`"), "{}", choice.note);
    assert!(choice.note.contains(&table()), "{}", choice.note);
}

#[test]
fn every_version_of_the_table_fits_its_own_bound() {
    for (package, known) in versions::Table::read().packages {
        assert!(known.below.is_none_or(|below| known.version < below), "{package}");
    }
}

#[test]
fn the_guide_is_also_a_resource() {
    let rehearsal = Rehearsal::new();
    let uri = &Texts::fixed()[0].0.uri;
    let read = Texts::read(&rehearsal.request(), uri).expect("it is listed");
    assert_eq!(read, Contents::text(uri, "text/markdown", answer()));
    assert!(Texts::read(&rehearsal.request(), "ui5://guidelines/other.md").is_err());
}

#[test]
fn the_prompt_says_what_to_convert() {
    let rehearsal = Rehearsal::new();
    let text = |arguments: Value| {
        rehearsal.prompt::<prompt::Convert>(arguments).expect("it cannot fail").as_text()
    };
    let whole = text(json!({ "projectDir": "/home/me/app", "scope": " " }));
    assert!(whole.contains("in /home/me/app from"), "{whole}");
    assert!(whole.contains("To be converted: the whole project."), "{whole}");
    assert!(!whole.contains("  "), "lines are joined: {whole}");
    let some = text(json!({ "projectDir": "/home/me/app", "scope": "model/*.js" }));
    assert!(some.contains("To be converted: model/*.js."), "{some}");
    let complete = |argument: &str, value: &str| {
        prompt::Convert::complete(&rehearsal.request(), argument, value, &[])
    };
    assert_eq!(complete("scope", "Cont"), ["the controllers", "the custom controls"]);
    assert_eq!(complete("projectDir", ""), <[String; 0]>::default());
}

/// The templates of `package.json` and `tsconfig.json` in `create_ui5_app`.
const APP: [&str; 2] = [
    include_str!("../../../resources/templates/app-ts/package.json"),
    include_str!("../../../resources/templates/app-ts/tsconfig.json"),
];

#[test]
fn new_apps_have_the_versions_and_the_settings_of_the_guide() {
    let [package, config] = APP;
    let text = answer();
    let guide: Value = serde_json::from_str(file(&text, "json package.json")).expect("it is JSON");
    let mut same = 0;
    for (name, range) in guide["devDependencies"].as_object().expect("there are some") {
        let marker =
            range.as_str().expect("it is text").trim_end_matches(|c: char| c != '^' && c != '~');
        let line = package.lines().find(|line| line.contains(&format!("\"{name}\":")));
        if let Some(line) = line {
            let expected = format!("\"{name}\": \"{marker}[= npm[\"{name}\"] =]\"");
            assert!(line.contains(&expected), "{line}: {expected}");
            same += 1;
        }
    }
    assert_eq!(same, 5, "the CLI, TypeScript, its ESLint, and two extensions of the CLI");
    let guide: Value = serde_json::from_str(file(&text, "json tsconfig.json")).expect("it is JSON");
    for key in ["module", "moduleResolution", "strict", "noEmit", "skipLibCheck"] {
        let expected = format!("\"{key}\": {},", guide["compilerOptions"][key]);
        assert!(config.contains(&expected), "{expected}");
    }
}
