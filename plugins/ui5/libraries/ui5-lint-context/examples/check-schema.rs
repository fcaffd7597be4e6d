//! Validates results against the tool's own schema: `cargo run -p ui5-lint-context --example
//! check-schema -- DIR`.
//!
//! `DIR` holds `tools-list.json`, a response to `tools/list` with the tool `run_ui5_linter`. Its
//! output schema validates the results for the recorded reports in `tests/reports`, whole and in
//! parts.

use serde_json::{Value, json};
use std::{env, error::Error, fs, path::Path};
use ui5_lint_context::{Details, MIN_BUDGET, context, read, within_budget};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("which directory?")?;
    let list: Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&directory).join("tools-list.json"))?)?;
    let tools = list["result"]["tools"].as_array().ok_or("there is no list of tools")?;
    let linter = tools.iter().find(|tool| tool["name"] == "run_ui5_linter");
    let schema = &linter.ok_or("there is no run_ui5_linter in the list")?["outputSchema"];
    let validator = jsonschema::validator_for(schema)?;
    let (mut answers, mut problems) = (0, 0);
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    for entry in fs::read_dir(reports)? {
        let report = read(&fs::read_to_string(entry?.path())?)?;
        for budget in [MIN_BUDGET, usize::MAX] {
            let mut next = Some(0);
            while let Some(offset) = next {
                let part = within_budget(report.clone(), Details::Once, budget, offset);
                next = part.next;
                let describe = |name: &str| vec![json!({"kind": "class", "name": name})];
                let answer = json!({
                    "projectDir": "/project",
                    "frameworkVersion": "1.136.0",
                    "contextInformation": context(&part.results, describe, budget),
                    "results": part.results,
                });
                answers += 1;
                for problem in validator.iter_errors(&answer) {
                    problems += 1;
                    println!("{}: {problem}", problem.instance_path());
                }
            }
        }
    }
    println!("{answers} answers, {problems} problems");
    if problems > 0 { Err("the answers do not fit the schema".into()) } else { Ok(()) }
}
