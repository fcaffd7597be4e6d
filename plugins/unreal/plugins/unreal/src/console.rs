//! The tool `execute_console_command`, and the rules for which commands may run.

use crate::{
    answer::{SourceKind, failed, shown},
    editor_log::{Tail, shown_entry},
    live::{
        Editor, Fault, Kind,
        value::{self, Reply},
    },
    log_file,
    source::to_change,
};
use portcullis_plugin::prelude::*;
use std::{
    error::Error,
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Maximum time to wait for a command's output in the log, which the editor writes in a thread of its own.
const MAX_WAIT: Duration = Duration::from_millis(1_500);
/// Pause between two reads of the log.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of entries of the log in an answer.
const MAX_PRINTED: usize = 100;

/// Words refused anywhere in a command: they run code, run files, or end the editor.
const REFUSED: &[&str] = &[
    "py",
    "python",
    "pyexec",
    "exec",
    "execfile",
    "quit",
    "exit",
    "quit_editor",
    "crash",
    "gpf",
    "debug",
    "restart",
];

/// Arguments of the command `stat` that only display something.
const STATISTICS: &[&str] = &[
    "none",
    "fps",
    "unit",
    "unitgraph",
    "game",
    "gpu",
    "rhi",
    "memory",
    "memoryplatform",
    "engine",
    "levels",
    "streaming",
    "scenerendering",
    "initviews",
    "lightrendering",
    "shadowrendering",
    "particles",
    "niagara",
    "anim",
    "ai",
    "navigation",
    "physics",
    "collision",
    "slate",
    "ui",
    "sound",
    "audio",
    "threading",
    "threads",
    "tickables",
    "uobjects",
    "gc",
    "net",
    "texturegroup",
    "hitches",
    "component",
    "d3d12rhi",
    "vulkanrhi",
];

/// Console variables that are read without the user's consent: the command is the name of the
/// variable without a value.
const VARIABLES: &[&str] = &[
    "r.screenpercentage",
    "r.vsync",
    "r.antialiasingmethod",
    "r.raytracing",
    "r.nanite",
    "r.dynamicglobalilluminationmethod",
    "r.reflectionmethod",
    "r.shadow.virtual.enable",
    "r.streaming.poolsize",
    "r.maxanisotropy",
    "r.viewdistancescale",
    "r.lumen.diffuseindirect.allow",
    "r.hdr.enablehdroutput",
    "r.detailmode",
    "r.mobile.antialiasing",
    "t.maxfps",
    "t.idlewhennotforeground",
    "gc.timebetweenpurgingpendingkillobjects",
    "foliage.densityscale",
    "grass.densityscale",
    "au.maxchannels",
];

/// Whole commands that only list something.
const LISTS: &[&str] = &["obj list", "obj classes", "listtextures", "mem", "listtimers"];

about_project! {
    /// Run a console command in the editor. The user is asked first, unless it is a harmless query. The answer has the log entries that were written while it ran; see also read_editor_log.
    pub struct ConsoleCommand {
        /// One command, such as `stat fps`. No scripts, no chains, nothing that ends the editor.
        #[schemars(length(min = 1, max = 1024))]
        command: String,
    }
}

tool_result! {
    /// The result of a command.
    pub struct Executed {
        #[serde(rename = "bSuccess")]
        success: bool,
        command: String,
        /// The editor's own reply
        output: String,
        /// Log entries that were written while the command ran
        printed: Vec<String>,
        error: String,
    }
}

impl Tool for ConsoleCommand {
    const NAME: &'static str = "execute_console_command";
    const TITLE: Option<&'static str> = Some("Console command");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(false).open_world(true);
    const NEEDS: &'static [&'static str] = &["editor-console"];
    type Output = Json<Executed>;

    fn call(self, request: &Request) -> Result<Json<Executed>, Failure> {
        let command = self.command.trim();
        let verdict = Verdict::of(command);
        if let Verdict::Refused(why) = verdict {
            return Err(Failure::new(format!("`{}` is not run: {why}", shown(command))));
        }
        let editor = to_change(request, self.project_dir.as_deref())?;
        if editor.seen.kind == Kind::Epic {
            return Err(Failure::new(
                "Epic's server runs no console commands: the editor needs the plugin \
                 UnrealMCPServer",
            ));
        }
        if verdict == Verdict::Asked {
            // The subject is the exact command, so that the operator can allow it beforehand.
            request.ask(consent(
                "console",
                editor.deed("run a console command in the Unreal editor"),
                command,
            ))?;
        }
        let log = LogMark::set(&editor);
        let done = editor.write("execute_console_command", &json!({ "command": command }));
        let mut answer = Executed {
            success: false,
            command: shown(command),
            output: String::new(),
            printed: Vec::new(),
            error: String::new(),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: Vec::new(),
        };
        match done {
            Ok(result) => {
                let said = Reply::of("execute_console_command", &result);
                answer.success = said.flag("bSuccess").map_err(Failure::from)?;
                answer.output = value::text(&result, "output");
                answer.error = value::text(&result, "error");
                match log.and_then(|log| log.printed()) {
                    Ok(Printed { entries, warnings }) => {
                        answer.printed = entries;
                        answer.warnings.extend(warnings);
                    }
                    Err(why) => answer.warnings.push(format!(
                        "the output of the command is in the editor's log, which cannot be read: {why}"
                    )),
                }
                if answer.success {
                    return Ok(Json(answer));
                }
                if answer.error.is_empty() {
                    answer.error =
                        "the editor reports that the command failed, without a reason".to_owned();
                }
                Err(failed(&answer))
            }
            Err(Fault::Failed(message)) => {
                answer.error = value::why(&message);
                Err(failed(&answer))
            }
            Err(fault) => Err(Failure::from(fault)),
        }
    }
}

/// The end of the editor's log before a command.
struct LogMark {
    path: PathBuf,
    length: u64,
}

/// What a command added to the log.
struct Printed {
    /// The newest entries.
    entries: Vec<String>,
    /// Warnings about older entries that are left out.
    warnings: Vec<String>,
}

impl LogMark {
    /// Notes the end of the editor's log. Fails, with the reason, if this plugin cannot read the
    /// log.
    fn set(editor: &Editor<'_>) -> Result<Self, Box<dyn Error>> {
        let reported_path = log_file::told(editor)?;
        let path = editor.path_here(&reported_path);
        let length = fs::metadata(&path)?.len();
        Ok(Self { path, length })
    }

    /// The entries that were added to the log since the mark. Waits until no further entries are added, at most for `MAX_WAIT`. If no entry is added
    /// at all, it waits for the whole of `MAX_WAIT`.
    fn printed(&self) -> Result<Printed, Box<dyn Error>> {
        let (started, mut last) = (Instant::now(), self.length);
        while started.elapsed() < MAX_WAIT {
            std::thread::sleep(LOOK_INTERVAL);
            let length = fs::metadata(&self.path)?.len();
            if length == last && length > self.length {
                break;
            }
            last = length;
        }
        let tail = Tail::after(&self.path, self.length)?;
        let entries = tail.entries();
        // Of many entries, the newest are kept.
        let (total, rest) = (entries.len(), entries.len().saturating_sub(MAX_PRINTED));
        let newest = (rest > 0).then(|| {
            format!(
                "only the newest {MAX_PRINTED} of {total} log entries are shown: read_editor_log \
                 shows the others"
            )
        });
        let earlier = tail.is_cut.then(|| {
            "the log grew by more than 4 MiB: only the last 4 MiB were read, earlier entries are in \
             the file that get_log_file_path names"
                .to_owned()
        });
        let warnings = newest.into_iter().chain(earlier).collect();
        let entries = entries.iter().skip(rest).map(|entry| shown_entry(entry)).collect();
        Ok(Printed { entries, warnings })
    }
}

/// How a command is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Runs at once: the command only displays something.
    Harmless,
    /// Runs with the user's consent.
    Asked,
    /// Never runs, for this reason.
    Refused(&'static str),
}

impl Verdict {
    fn of(command: &str) -> Self {
        if command.is_empty() {
            return Self::Refused("it is empty");
        }
        if command.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
            return Self::Refused("it has several lines, or control characters");
        }
        if shown(command) != command {
            return Self::Refused("it has invisible characters");
        }
        if command.contains(['|', ';', '`']) || command.contains("&&") {
            return Self::Refused("it is a chain of commands: run them one by one");
        }
        let lower = command.to_lowercase();
        let mut words = lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')));
        if words.any(|word| REFUSED.contains(&word)) {
            return Self::Refused("it has a word that may run a script or end the editor");
        }
        if is_harmless(&lower) { Self::Harmless } else { Self::Asked }
    }
}

/// Whether a command, in lower case, only displays something.
fn is_harmless(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_plain =
        |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b));
    match words.as_slice() {
        ["stat", what] => STATISTICS.contains(what),
        ["obj", "list", class] => class.strip_prefix("class=").is_some_and(is_plain),
        // A variable without a value is read, not set. All names with these prefixes are variables.
        [name] if name.starts_with("showflag.") || name.starts_with("sg.") => is_plain(name),
        [name] if VARIABLES.contains(name) => true,
        words => LISTS.contains(&words.join(" ").as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_commands_are_refused() {
        for command in [
            "",
            "py import os",
            "Python x",
            "exec file.txt",
            "QUIT",
            "stat fps\nquit",
            "stat fps | quit",
            "stat fps; stat unit",
            "stat fps && x",
            "foo \"py\" bar",
            "debug crash",
            "stat\u{2028}fps",
            "a `b`",
            "stat \u{202E}spf",
        ] {
            let verdict = Verdict::of(command);
            assert!(matches!(verdict, Verdict::Refused(_)), "{command}: {verdict:?}");
        }
    }

    #[test]
    fn entries_that_are_left_out_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("MyGame.log");
        let log: String = (0..104).map(|number| format!("LogTemp: entry {number}\n")).collect();
        fs::write(&path, log).expect("it can be written");
        let printed = LogMark { path, length: 0 }.printed().expect("it can be read");
        let Printed { entries: printed, warnings } = printed;
        assert_eq!((printed.len(), printed[0].as_str()), (100, "LogTemp: entry 4"));
        let expected =
            "only the newest 100 of 104 log entries are shown: read_editor_log shows the others";
        assert_eq!(warnings, [expected]);
    }

    #[test]
    fn the_newest_entries_of_a_long_output_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("MyGame.log");
        let line = |number: u32| format!("LogTemp: entry {number} {}\n", "x".repeat(1_000));
        fs::write(&path, (0..5_000).map(line).collect::<String>()).expect("it can be written");
        let printed = LogMark { path, length: 0 }.printed().expect("it can be read");
        let Printed { entries: printed, warnings } = printed;
        assert_eq!(printed.len(), 100);
        for (entry, start) in [(0, "LogTemp: entry 4900 x"), (99, "LogTemp: entry 4999 x")] {
            assert!(printed[entry].starts_with(start), "{}", printed[entry]);
        }
        let [newest, earlier] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert!(newest.starts_with("only the newest 100 of 4"), "{newest}");
        assert!(earlier.contains("only the last 4 MiB were read"), "{earlier}");
    }

    #[test]
    fn displaying_commands_are_harmless() {
        for command in [
            "stat fps",
            "STAT Unit",
            "r.ScreenPercentage",
            "ShowFlag.Bloom",
            "obj list class=Actor",
        ] {
            assert_eq!(Verdict::of(command), Verdict::Harmless, "{command}");
        }
        for command in [
            "stat startfile",
            "r.ScreenPercentage 50",
            "ShowFlag.Bloom 0",
            "r.RecompileShaders",
            "obj list class=Actor extra",
            "open Town",
            "memreport",
            "stat fps unit",
            "r.Nanite=0",
        ] {
            assert_eq!(Verdict::of(command), Verdict::Asked, "{command}");
        }
    }
}
