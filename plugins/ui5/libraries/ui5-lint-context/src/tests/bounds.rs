//! Tests that parts keep their limit of size and that no finding is lost.

use super::recorded::shop;
use crate::*;

fn size(part: &Part) -> usize {
    serde_json::to_string(&part.results).expect("it is JSON").len()
}

fn one(rule: &str, severity: Severity, line: u64) -> Finding {
    Finding {
        rule_id: rule.to_owned(),
        severity,
        line: Some(line),
        column: Some(1),
        fatal: None,
        message: format!("The finding in line {line}"),
        message_details: Some(format!(
            "Details of {rule}, which are the same for all of its findings"
        )),
        type_info: None,
    }
}

fn file(path: &str, messages: Vec<Finding>) -> FileFindings {
    FileFindings { file_path: path.to_owned(), messages }
}

/// A large project: small files, one with only warnings, one larger than a part, one broken.
fn large() -> Vec<FileFindings> {
    let mut files = vec![file(
        "webapp/warnings.js",
        (1..60).map(|line| one("w", Severity::Warning, line)).collect(),
    )];
    for number in 0..200 {
        let findings = (1..4).map(|line| one("e", Severity::Error, line));
        files.push(file(&format!("webapp/file{number}.js"), findings.collect()));
    }
    files.push(file(
        "webapp/huge.js",
        (1..900).map(|line| one("h", Severity::Error, line)).collect(),
    ));
    let broken = Finding { fatal: Some(true), ..one("parsing-error", Severity::Error, 1) };
    files.push(file("webapp/broken.js", vec![one("e", Severity::Warning, 2), broken]));
    files
}

/// All parts of a report.
fn parts(report: &[FileFindings], budget: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let part = within_budget(report.to_vec(), Details::Once, budget, offset);
        next = part.next;
        assert!(next.is_none_or(|next| next > offset), "it goes on");
        parts.push(part);
    }
    parts
}

fn places(files: &[FileFindings]) -> Vec<(String, Option<u64>, String)> {
    let places = files.iter().flat_map(|file| {
        file.messages
            .iter()
            .map(|finding| (file.file_path.clone(), finding.line, finding.rule_id.clone()))
    });
    places.collect()
}

#[test]
fn parts_keep_to_the_budget_and_hold_every_finding_once() {
    for budget in [0, MIN_BUDGET, 20_000, 60_000] {
        let report = large();
        let parts = parts(&report, budget);
        assert!(parts.len() > 1);
        for part in &parts {
            assert!(size(part) <= budget.max(MIN_BUDGET), "{} of {budget}", size(part));
            assert!(part.note.as_ref().is_some_and(|note| note.len() < 1_500));
        }
        let mut all: Vec<_> = parts.iter().flat_map(|part| places(&part.results)).collect();
        let mut expected = places(&report);
        all.sort();
        expected.sort();
        assert_eq!(all, expected);
    }
}

#[test]
fn the_most_severe_come_first_and_files_stay_whole() {
    let report = large();
    let parts = parts(&report, 20_000);
    let first = &parts[0].results[0];
    assert_eq!(
        (first.file_path.as_str(), first.messages[0].fatal),
        ("webapp/broken.js", Some(true))
    );
    let last = parts.last().expect("there are some");
    assert_eq!(last.results.last().map(|file| file.file_path.as_str()), Some("webapp/warnings.js"));
    for original in report.iter().filter(|file| file.file_path != "webapp/huge.js") {
        let pieces = parts
            .iter()
            .flat_map(|part| &part.results)
            .filter(|file| file.file_path == original.file_path);
        let sizes: Vec<usize> = pieces.map(|file| file.messages.len()).collect();
        assert_eq!(sizes, [original.messages.len()], "{}", original.file_path);
    }
}

#[test]
fn a_part_shows_details_once_and_the_next_part_again() {
    for part in parts(&large(), 20_000) {
        let details: Vec<&str> = part
            .results
            .iter()
            .flat_map(|file| &file.messages)
            .filter_map(|finding| finding.message_details.as_deref())
            .filter(|text| !text.is_empty())
            .collect();
        let unique: std::collections::HashSet<&&str> = details.iter().collect();
        assert!(!details.is_empty() && unique.len() == details.len());
    }
}

#[test]
fn repeated_details_are_in_every_finding_and_counted() {
    let report = large();
    let mut next = Some(0);
    while let Some(offset) = next {
        let part = within_budget(report.clone(), Details::Repeated, 20_000, offset);
        assert!(size(&part) <= 20_000, "{}", size(&part));
        let mut findings = part.results.iter().flat_map(|file| &file.messages);
        assert!(findings.all(|finding| {
            finding.message_details.as_ref().is_some_and(|text| text.starts_with("Details of"))
        }));
        next = part.next;
    }
}

#[test]
fn the_note_names_the_rest_and_how_to_get_it() {
    let part = within_budget(large(), Details::Once, 20_000, 0);
    let note = part.note.expect("something is left");
    let next = part.next.expect("there is more");
    assert!(note.starts_with(&format!("Findings 1 to {next} of 1560 are shown, ")), "{note}");
    assert!(note.contains("59 warnings in "), "{note}");
    assert!(note.contains("h (899)") && note.contains("w (59)"), "{note}");
    assert!(note.contains("filePatterns, such as [\"webapp/huge.js\","), "{note}");
    assert!(note.ends_with(&format!("go on at offset {next}.")), "{note}");
    let last = parts(&large(), 20_000).pop().expect("there are some");
    assert!(last.note.is_some_and(|note| note.ends_with("These are the last ones.")));
    let past = within_budget(large(), Details::Once, 20_000, 5_000);
    assert_eq!((past.results.len(), past.next), (0, None));
    assert_eq!(
        past.note.as_deref(),
        Some("Offset 5000 is past the end: the report has 1560 findings.")
    );
}

#[test]
fn the_note_names_only_whole_paths() {
    let long = format!("webapp/{}.js", "d/".repeat(60));
    let findings = |rule: &str, count| (0..count).map(|_| one(rule, Severity::Error, 1)).collect();
    let shown = file("shown.js", findings("r", 40));
    let report = |paths: &[&str]| {
        let rest = paths.iter().map(|path| file(path, findings("r", 1)));
        [shown.clone()].into_iter().chain(rest).collect::<Vec<_>>()
    };
    let note = |paths: &[&str]| {
        within_budget(report(paths), Details::Once, MIN_BUDGET, 0).note.expect("more is left")
    };
    let both = note(&[&long, "short.js"]);
    assert!(both.contains("\"short.js\"") && !both.contains("d/d/"), "{both}");
    // Each file fits into a part, but both together do not.
    let (mut one, mut other) = (one("r", Severity::Error, 1), one("r", Severity::Warning, 1));
    (one.message, other.message) = ("x".repeat(1200), "y".repeat(800));
    let both = vec![file("shown.js", vec![one]), file(&long, vec![other])];
    let only = within_budget(both, Details::Once, MIN_BUDGET, 0).note.expect("more is left");
    assert!(only.contains("0 errors and 1 warning in 1 file, "), "{only}");
    assert!(only.contains("in filePatterns, or go on"), "{only}");
}

#[test]
fn one_finding_that_is_too_large_is_shortened() {
    let mut finding = one("r", Severity::Error, 1);
    finding.message = "\u{1}€".repeat(50_000);
    finding.message_details = Some("\"".repeat(50_000));
    let report = vec![file(&"d/".repeat(400), vec![finding, one("r", Severity::Error, 2)])];
    let parts = parts(&report, MIN_BUDGET);
    assert_eq!(parts.iter().map(|part| places(&part.results).len()).sum::<usize>(), 2);
    assert!(parts.iter().all(|part| size(part) <= MIN_BUDGET));
    assert!(parts[0].results[0].messages[0].message.ends_with('…'));
}

#[test]
fn a_report_that_fits_stays_as_it_is() {
    let part = within_budget(shop(), Details::Once, 20_000, 0);
    assert_eq!(places(&part.results), places(&shop()));
    assert_eq!((part.note, part.next), (None, None));
    let nothing = within_budget(Vec::new(), Details::Once, 0, 0);
    assert_eq!((nothing.results.len(), nothing.note, nothing.next), (0, None, None));
}
