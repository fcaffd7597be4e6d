//! Cuts a report of the linter into parts of bounded size, the files with the worst findings first.

use std::collections::{HashMap, HashSet};

use crate::report::{FileFindings, Finding, Severity};

/// The smallest budget, in bytes; smaller budgets are raised to it. A part of this size holds at least one
/// finding, if necessary with shortened texts. File paths and rule ids are not shortened: if they have more
/// than 1,000 bytes, a part may exceed its budget.
pub const MIN_BUDGET: usize = 2 * 1024;

/// Maximum number of rules, and of files, named in a note.
const MAX_NAMES: usize = 4;
/// Maximum length of a name in a note, in characters. Longer rule ids are shortened, and longer paths are
/// left out.
const MAX_NAME_CHARS: usize = 100;

/// How a part shows details that several of its findings share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Details {
    /// Only the first finding has the details. In the others, they are empty.
    Once,
    /// Every finding has the details.
    Repeated,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The findings, by file.
    pub results: Vec<FileFindings>,
    /// A sentence that tells which findings are shown, how many are left, and how to get them. `None`: all
    /// findings are in this part.
    pub note: Option<String>,
    /// The offset of the next part; `None` after the last one.
    pub next: Option<usize>,
}

/// The part of a report that starts at finding `offset`, with `results` of at most `budget` bytes as JSON.
///
/// A report that fits keeps the linter's order. Otherwise files with fatal findings come first,
/// then files with errors, and in each file the severe findings come first; a file is divided only
/// if it exceeds a part. Following `next` from offset 0 gives every finding once.
pub fn within_budget(
    report: Vec<FileFindings>,
    details: Details,
    budget: usize,
    offset: usize,
) -> Part {
    let budget = budget.max(MIN_BUDGET);
    let total = report.iter().map(|file| file.messages.len()).sum();
    let mut whole = Page::new(usize::MAX, details);
    report.iter().for_each(|file| whole.add_whole(file));
    if offset == 0 && whole.size <= budget {
        return Part { results: whole.files, note: None, next: None };
    }
    let mut files = report;
    most_severe_first(&mut files);
    let mut page = Page::new(budget, details);
    let mut position = 0;
    for file in &files {
        let start = position;
        position += file.messages.len();
        if position <= offset {
            continue;
        }
        let mut rest = file.clone();
        rest.messages.drain(..offset.saturating_sub(start));
        if !page.add(&rest) {
            break;
        }
    }
    let end = offset + page.count();
    let next = (end < total).then_some(end);
    let note = note(&files, offset, end, total);
    Part { results: page.files, note: Some(note), next }
}

fn most_severe_first(files: &mut [FileFindings]) {
    for file in files.iter_mut() {
        file.messages.sort_by_key(Finding::rank);
    }
    files.sort_by_key(|file| file.messages.first().map_or(u8::MAX, Finding::rank));
}

/// A part under construction.
struct Page {
    files: Vec<FileFindings>,
    details: Details,
    /// The details in the part, for [`Details::Once`].
    seen: HashSet<String>,
    budget: usize,
    /// The size as JSON in bytes.
    size: usize,
}

impl Page {
    fn new(budget: usize, details: Details) -> Self {
        Self { files: Vec::new(), details, seen: HashSet::new(), budget, size: "[]".len() }
    }

    fn count(&self) -> usize {
        self.files.iter().map(|file| file.messages.len()).sum()
    }

    /// Adds a file that fits, or a piece of a larger one. Returns whether there may be room for more.
    fn add(&mut self, file: &FileFindings) -> bool {
        if self.size + self.cost(file, &self.seen) <= self.budget {
            self.add_whole(file);
            return true;
        }
        let fits_elsewhere = "[]".len() + self.cost(file, &HashSet::new()) <= self.budget;
        if self.files.is_empty() || !fits_elsewhere {
            self.add_piece(file);
        }
        false
    }

    fn add_whole(&mut self, file: &FileFindings) {
        let mut added = self.begin(file);
        for finding in &file.messages {
            let finding = self.without_repetition(finding, &self.seen);
            self.size += size_of(&finding);
            self.remember(&finding);
            added.messages.push(finding);
        }
        self.files.push(added);
    }

    fn add_piece(&mut self, file: &FileFindings) {
        let before = self.size;
        let mut added = self.begin(file);
        for finding in &file.messages {
            let mut finding = self.without_repetition(finding, &self.seen);
            let is_first = self.files.is_empty() && added.messages.is_empty();
            if is_first {
                shorten(&mut finding, self.budget.saturating_sub(self.size));
            }
            let size = size_of(&finding);
            if !is_first && self.size + size > self.budget {
                break;
            }
            self.size += size;
            self.remember(&finding);
            added.messages.push(finding);
        }
        if added.messages.is_empty() {
            self.size = before;
        } else {
            self.files.push(added);
        }
    }

    /// Starts a file without findings, and adds the size of the empty file.
    fn begin(&mut self, file: &FileFindings) -> FileFindings {
        let added = FileFindings { file_path: file.file_path.clone(), messages: Vec::new() };
        self.size += json(&added).len() + ",".len();
        added
    }

    fn remember(&mut self, finding: &Finding) {
        if self.details == Details::Once
            && let Some(details) =
                finding.message_details.as_deref().filter(|text| !text.is_empty())
        {
            self.seen.insert(details.to_owned());
        }
    }

    /// A copy of the finding. With [`Details::Once`], its details are put on one line, or emptied if they are in
    /// `seen`.
    fn without_repetition(&self, finding: &Finding, seen: &HashSet<String>) -> Finding {
        let mut finding = finding.clone();
        if self.details == Details::Once
            && let Some(details) = &mut finding.message_details
        {
            *details = details.replace("\r\n", " ").replace('\n', " ");
            if seen.contains(details) {
                details.clear();
            }
        }
        finding
    }

    /// The size of a file as JSON, without the details in `seen`.
    fn cost(&self, file: &FileFindings, seen: &HashSet<String>) -> usize {
        let mut shown: HashSet<String> = HashSet::new();
        let findings = file.messages.iter().map(|finding| {
            let mut finding = self.without_repetition(finding, seen);
            if self.details == Details::Once
                && let Some(details) = &mut finding.message_details
                && !details.is_empty()
                && !shown.insert(details.clone())
            {
                details.clear();
            }
            size_of(&finding)
        });
        let empty = FileFindings { file_path: file.file_path.clone(), messages: Vec::new() };
        findings.sum::<usize>() + json(&empty).len() + ",".len()
    }
}

/// Cuts the texts of a finding that exceed a third of `room` bytes of JSON.
fn shorten(finding: &mut Finding, room: usize) {
    for text in [finding.message_details.as_mut(), Some(&mut finding.message)].into_iter().flatten()
    {
        // A character takes at most six bytes in JSON.
        let max_chars = room / 3 / 6;
        if json(text).len() > room / 3 {
            *text = format!("{}…", text.chars().take(max_chars).collect::<String>());
        }
    }
}

fn size_of(finding: &Finding) -> usize {
    json(finding).len() + ",".len()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers are JSON")
}

/// The sentence that tells which findings are shown, how many are left, and how to get them.
fn note(files: &[FileFindings], start: usize, end: usize, total: usize) -> String {
    if start >= total {
        return format!(
            "Offset {start} is past the end: the report has {}.",
            counted(total, "finding")
        );
    }
    let shown = format!(
        "Findings {} to {end} of {total} are shown, the files with the most severe ones first.",
        start + 1
    );
    let mut position = 0;
    let mut left: Vec<(&str, &Finding)> = Vec::new();
    for file in files {
        for finding in &file.messages {
            if position >= end {
                left.push((&file.file_path, finding));
            }
            position += 1;
        }
    }
    if left.is_empty() {
        return format!("{shown} These are the last ones.");
    }
    let errors = left.iter().filter(|(_, finding)| finding.severity == Severity::Error).count();
    let paths = distinct(left.iter().map(|(path, _)| *path));
    let rules = distinct(left.iter().map(|(_, finding)| finding.rule_id.as_str()));
    let by_rule: Vec<String> = rules
        .iter()
        .take(MAX_NAMES)
        .map(|(rule, count)| format!("{} ({count})", clipped(rule)))
        .collect();
    // A shortened path would match no file.
    let complete_paths = paths.iter().map(|(path, _)| *path).filter(|path| !is_long(path));
    let patterns: Vec<&str> = complete_paths.take(MAX_NAMES).collect();
    let example = match patterns.is_empty() {
        true => String::new(),
        false => format!(" such as {},", json(&patterns)),
    };
    format!(
        "{shown} After them there are {} and {} in {}, mostly of the rules {}. To get these, name the files \
         you are working on in filePatterns,{example} or go on at offset {end}.",
        counted(errors, "error"),
        counted(left.len() - errors, "warning"),
        counted(paths.len(), "file"),
        by_rule.join(", "),
    )
}

/// A number of things: `1 error`, `2 errors`.
fn counted(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Names with their counts, the most frequent first. Names with equal counts stay in order of first
/// occurrence.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(&'n str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for name in names {
        let place = *places.entry(name).or_insert_with(|| {
            counts.push((name, 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

fn is_long(name: &str) -> bool {
    name.chars().count() > MAX_NAME_CHARS
}

fn clipped(name: &str) -> String {
    if !is_long(name) {
        return name.to_owned();
    }
    format!("{}…", name.chars().take(MAX_NAME_CHARS).collect::<String>())
}
