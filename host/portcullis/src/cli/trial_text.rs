//! Shows how the cases of a plugin ended.

use portcullis_plugin_cases::Difference;
use portcullis_sanitize::{visible, visible_line};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::style::{faint, green, red};
use super::trial::{End, Tested};

/// A case with the differences from what is expected, as text for a terminal.
pub fn as_text(tested: &Tested) -> String {
    let name = visible_line(&tested.case.name, 200);
    let took = faint(&format!("({} ms)", tested.took.as_millis()));
    if tested.has_passed() {
        return format!("{} {name} {took}\n", green("passed"));
    }
    let path = visible_line(&tested.case.path.display().to_string(), 500);
    let details: String = match &tested.end {
        End::NotCompared(reason) => indented(&visible(reason)),
        End::Compared(differences) => differences.iter().map(difference).collect(),
    };
    format!("{} {name} {took}\n  {}\n{details}", red("failed"), faint(&path))
}

/// A difference as text: what is expected and what was found, line by line.
fn difference(difference: &Difference) -> String {
    let Difference { key, expected, found } = difference;
    let mut text = format!("  {key}: {} expected, {} found\n", red("-"), green("+"));
    if *key == "contains" {
        text += &indented(&red(&format!("- {}", visible(expected))));
        return text + &indented(&visible(found));
    }
    for change in TextDiff::from_lines(expected, found).iter_all_changes() {
        let line = visible(change.value().trim_end_matches('\n'));
        text += &match change.tag() {
            ChangeTag::Equal => format!("    {}\n", faint(&format!("  {line}"))),
            ChangeTag::Delete => format!("    {}\n", red(&format!("- {line}"))),
            ChangeTag::Insert => format!("    {}\n", green(&format!("+ {line}"))),
        };
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// The last line of the output: the numbers of cases that passed and failed.
pub fn summary(passed: usize, failed: usize) -> String {
    let failed_text = format!("{failed} failed");
    let failed_text = if failed == 0 { failed_text } else { red(&failed_text) };
    format!("{passed} passed, {failed_text}\n")
}

/// A case as JSON.
pub fn as_json(tested: &Tested) -> Value {
    let (differences, reason) = match &tested.end {
        End::Compared(differences) => (differences.as_slice(), None),
        End::NotCompared(reason) => (&[][..], Some(reason)),
    };
    let differences: Vec<_> = differences
        .iter()
        .map(|one| json!({"key": one.key, "expected": one.expected, "found": one.found}))
        .collect();
    let mut whole = json!({
        "name": tested.case.name,
        "file": tested.case.path,
        "passed": tested.has_passed(),
        "milliseconds": u64::try_from(tested.took.as_millis()).unwrap_or(u64::MAX),
        "differences": differences,
    });
    if let Some(reason) = reason {
        whole["reason"] = reason.as_str().into();
    }
    whole
}
