//! The tool `compile_code`: has the editor compile the project's C++ code with Live Coding.

use crate::{
    answer::{SourceKind, shown},
    live::{Editor, Fault, Kind, value, value::Reply},
    source::to_change,
};
use portcullis_plugin::prelude::*;
use serde_json::Value;

/// Maximum length of a build's log in an answer, in characters.
const MAX_LOG_CHARS: usize = 4_000;
/// Maximum number of lines of errors, and of warnings.
const MAX_LINES: usize = 100;
/// The names of the two kinds of lines, in a warning that some lines are left out.
const ERRORS: &str = "compiler errors";
const WARNINGS: &str = "compiler warnings";
/// Seconds that a compilation may take, if the call has as much time.
const MAX_SECONDS: u64 = 290;
/// Time of the call that is reserved for the answer, in seconds.
const RESERVE_SECONDS: u64 = 5;

about_project! {
    /// Have the editor compile the project's C++ code while it runs (Live Coding), and return the compiler's errors and warnings. The user is asked first. New classes and changed headers need a build with the editor closed.
    pub struct CompileCode {
    }
}

tool_result! {
    /// The result of a compilation.
    pub struct Compiled {
        #[serde(rename = "bSuccess")]
        success: bool,
        /// The status that the editor reports
        status: String,
        compiler_errors: Vec<String>,
        compiler_warnings: Vec<String>,
        /// The end of the build's log
        log: String,
        error: String,
    }
}

impl Tool for CompileCode {
    const NAME: &'static str = "compile_code";
    const TITLE: Option<&'static str> = Some("Compile C++ code");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(true).open_world(false);
    const NEEDS: &'static [&'static str] = &["editor-compile"];
    type Output = Json<Compiled>;

    fn call(self, request: &Request) -> Result<Json<Compiled>, Failure> {
        let editor = to_change(request, self.project_dir.as_deref())?;
        let project = editor.project.as_ref().or_fail("no project is open")?;
        if editor.seen.kind == Kind::UnrealMcpServer
            && !editor.offers("request_editor_compile", None)
        {
            return Err(Failure::new(format!(
                "{} has no tool to compile code: update it to a version with request_editor_compile",
                editor.seen.product()
            )));
        }
        let subject = format!("the C++ code of {}", project.dir.display());
        request.ask(consent(
            "compile",
            editor.deed("compile code into the running editor"),
            subject,
        ))?;
        request.background()?;
        let mut answer = match editor.seen.kind {
            Kind::UnrealMcpServer => compile_with_plugin(&editor)?,
            Kind::Epic => {
                let said =
                    editor.write_epic("LiveCodingToolset", "CompileLiveCoding", &json!({}))?;
                parse_epic_answer(Reply::of("CompileLiveCoding", &said).raw("")?)
            }
        };
        answer.as_of = editor.as_of();
        Ok(Json(answer))
    }
}

/// Compiles with UnrealMCPServer. Its tool returns when the compilation or the timeout ends.
fn compile_with_plugin(editor: &Editor<'_>) -> Result<Compiled, Fault> {
    const TOOL: &str = "request_editor_compile";
    let left = editor.request.remaining().map_or(MAX_SECONDS, |left| left.as_secs());
    let seconds = left.saturating_sub(RESERVE_SECONDS).clamp(1, MAX_SECONDS);
    let result = match editor.write(TOOL, &json!({ "timeoutSeconds": seconds })) {
        Ok(result) => result,
        Err(Fault::Failed(message)) => return Err(Fault::Failed(value::why(&message))),
        Err(fault) => return Err(fault),
    };
    let reply = Reply::of(TOOL, &result);
    let status = reply.text("status")?;
    let mut warnings = Vec::new();
    if status == "timeout" {
        warnings.push(format!(
            "the compilation is not finished after {seconds} s: read_editor_log shows when it ends"
        ));
    }
    Ok(Compiled {
        success: reply.flag("bSuccess")?,
        status,
        compiler_errors: lines(&result["errors"], ERRORS, &mut warnings),
        compiler_warnings: lines(&result["warnings"], WARNINGS, &mut warnings),
        log: end(result["buildLog"].as_str().unwrap_or_default()),
        error: value::text(&result, "error"),
        source: SourceKind::Live,
        as_of: String::new(),
        warnings,
    })
}

/// Parses the answer of Epic's server: a text that begins with `Result: ` and the result's name, or with `Error: `.
fn parse_epic_answer(said: &str) -> Compiled {
    let first = said.lines().next().unwrap_or_default();
    let status = first.strip_prefix("Result: ").unwrap_or("NotAvailable").trim();
    let success = matches!(status, "Success" | "NoChanges");
    let contains = |line: &&str, words: [&str; 2]| words.iter().any(|word| line.contains(word));
    let mut warnings = Vec::new();
    let mut lines_with = |words: [&str; 2], what| {
        first_lines(said.lines().filter(|line| contains(line, words)), what, &mut warnings)
    };
    let compiler_errors = lines_with(["): error ", "): fatal error "], ERRORS);
    let compiler_warnings = lines_with(["): warning "; 2], WARNINGS);
    let error = match first.strip_prefix("Error: ") {
        Some(error) => shown(error),
        None if success => String::new(),
        None => format!("the compilation ended with `{}`", shown(status)),
    };
    Compiled {
        success,
        status: shown(status),
        compiler_errors,
        compiler_warnings,
        log: end(said),
        error,
        source: SourceKind::Live,
        as_of: String::new(),
        warnings,
    }
}

fn lines(result: &Value, what: &str, warnings: &mut Vec<String>) -> Vec<String> {
    first_lines(result.as_array().into_iter().flatten().filter_map(Value::as_str), what, warnings)
}

/// The first lines, at most `MAX_LINES`. If there are more, adds a warning.
fn first_lines<'l>(
    lines: impl Iterator<Item = &'l str>,
    what: &str,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let all: Vec<&str> = lines.collect();
    let total = all.len();
    if total > MAX_LINES {
        warnings.push(format!(
            "only the first {MAX_LINES} of {total} {what} are listed: read_editor_log may show the others"
        ));
    }
    all.into_iter().take(MAX_LINES).map(shown).collect()
}

/// The last characters of a log, which tell the result of the build.
fn end(log: &str) -> String {
    let start = log.char_indices().rev().nth(MAX_LOG_CHARS - 1).map_or(0, |(start, _)| start);
    unreal_package::visible(log.get(start..).unwrap_or_default(), MAX_LOG_CHARS, true).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_epics_server_are_parsed() {
        let done = parse_epic_answer("Result: NoChanges");
        assert!(done.success && done.error.is_empty(), "{}", done.status);
        let failed = parse_epic_answer(
            "Result: Failure\n\nCompile Output:\nBuilding\n\nCompiler Diagnostics:\n\
             A.cpp(3): error C2065: x\nA.cpp(4): warning C4101: y",
        );
        assert!(!failed.success && failed.error.contains("`Failure`"), "{}", failed.error);
        assert_eq!(failed.compiler_errors, ["A.cpp(3): error C2065: x"]);
        assert_eq!(failed.compiler_warnings, ["A.cpp(4): warning C4101: y"]);
        let absent = parse_epic_answer("Error: Live Coding module is not loaded.");
        assert_eq!((absent.success, absent.status.as_str()), (false, "NotAvailable"));
        assert_eq!(absent.error, "Live Coding module is not loaded.");
    }

    #[test]
    fn lines_that_are_left_out_are_counted() {
        let line = |number| format!("A.cpp({number}): error C2065: x");
        let said: Vec<String> = (0..103).map(line).collect();
        let failed = parse_epic_answer(&format!("Result: Failure\n{}", said.join("\n")));
        let warning = "only the first 100 of 103 compiler errors are listed: read_editor_log may show the others";
        assert_eq!(
            (failed.compiler_errors.len(), failed.warnings),
            (100, vec![warning.to_owned()])
        );
        let mut warnings = Vec::new();
        let listed = lines(&json!(said), ERRORS, &mut warnings);
        assert_eq!((listed.len(), warnings), (100, vec![warning.to_owned()]));
    }

    #[test]
    fn the_end_of_a_long_log_is_shown() {
        let log = format!("{}\nthe end", "x".repeat(2 * MAX_LOG_CHARS));
        assert!(end(&log).ends_with("the end") && end(&log).chars().count() <= MAX_LOG_CHARS);
    }
}
