//! A command as the operator defines it: a program, its arguments, and what it may reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::child::{Child, ChildSpec, Output};
use crate::environment::environment_of;
use crate::error::{CommandError, DefinitionError};
use crate::find::find;
use crate::home::at_home;
use crate::own_limits::OwnLimits;
use crate::package::package_of;
use crate::resource_limits::ResourceLimits;
use crate::restrict::{Confinement, confines_files};
use crate::working_directory::WorkingDirectory;

/// A command: a program that a plugin may run if the command is granted to it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Definition {
    /// The program: an absolute path, or a name that is looked for in `PATH`.
    pub program: PathBuf,
    /// The first arguments of the program. `@NAME` stands for the text of a script that comes with the binary.
    #[serde(default)]
    pub args: Vec<String>,
    /// A regular expression for the arguments that a plugin adds: it must match each of them as a whole. Default:
    /// plugins can add no arguments.
    pub more_args: Option<String>,
    /// Variables of the host's environment that the program gets. The program gets no other variable that reveals
    /// something about the user. On Windows, `HOME` stands for `USERPROFILE`, `APPDATA` and `LOCALAPPDATA`, too.
    #[serde(default)]
    pub env: Vec<String>,
    /// Further programs that the command needs. Key: the environment variable that gets the program's path. Value: the
    /// program's name, looked for in `PATH`. The command may read these programs and their packages.
    #[serde(default)]
    pub find: BTreeMap<String, String>,
    /// How to install programs. Key: a program's name. Value: a text that `portcullis doctor` shows if the program is
    /// not found.
    #[serde(default)]
    pub install: BTreeMap<String, String>,
    /// Files and directories that the program may read besides its working directory, its own package, and the files of the
    /// system that every program needs.
    #[serde(default)]
    pub reads: Vec<PathBuf>,
    /// Directories that the program may write to. Missing directories are created.
    #[serde(default)]
    pub writes: Vec<PathBuf>,
    /// The options of a program that can limit itself. Default: none.
    pub own_limits: Option<OwnLimits>,
    /// Whether the program may connect to other machines and to other processes.
    #[serde(default)]
    pub network: bool,
    /// The longest time of one run of the program, or of one answer of a worker, in milliseconds.
    #[serde(default = "minute")]
    pub wall_ms: NonZeroU64,
    /// The most memory of each process of the program, in bytes.
    #[serde(default = "two_gibibytes")]
    pub memory_bytes: NonZeroU64,
    /// The largest output of the program, in bytes.
    #[serde(default = "sixteen_mebibytes")]
    pub output_bytes: NonZeroU64,
    /// The most workers of this command that answer at the same time. A worker is a process of the program that is kept
    /// for further requests.
    #[serde(default = "two")]
    pub workers: NonZeroU32,
    /// The time for which an idle worker is kept, in milliseconds.
    #[serde(default = "five_minutes")]
    pub idle_ms: NonZeroU64,
}

const fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("each default is above 0")
}

fn minute() -> NonZeroU64 {
    number(60_000)
}

fn five_minutes() -> NonZeroU64 {
    number(300_000)
}

fn two_gibibytes() -> NonZeroU64 {
    number(2 * 1024 * 1024 * 1024)
}

fn sixteen_mebibytes() -> NonZeroU64 {
    number(16 * 1024 * 1024)
}

fn two() -> NonZeroU32 {
    NonZeroU32::new(2).expect("2 is above 0")
}

/// Maximum time that a program may take for `--help`.
const MAX_HELP_TIME: Duration = Duration::from_secs(10);

/// Maximum size of a program's output for `--help`, in bytes.
const MAX_HELP_BYTES: usize = 1024 * 1024;

/// Files and directories of the system that every command may read: programs need them to start.
pub(crate) const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gitconfig",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/version",
];

/// A command that can be started.
#[derive(Debug)]
pub struct Command {
    /// The name by which plugins ask for the command.
    pub name: String,
    definition: Definition,
    /// `more-args` as a regular expression, compiled when it is first needed.
    more_args_pattern: OnceLock<Result<Option<regex::Regex>, regex::Error>>,
    /// The output of the program with `--help`, obtained when it is first needed.
    help: OnceCell<String>,
    /// Whether the command may be started on a system that cannot confine access to files.
    may_be_unconfined: bool,
}

impl Command {
    /// A command with this definition. `scripts` are the scripts that come with this program, by name. Nothing is
    /// started.
    ///
    /// # Errors
    ///
    /// The definition names an unknown script or a relative path, or its [`OwnLimits`] are invalid.
    pub fn new(
        name: &str,
        mut definition: Definition,
        scripts: &[(&str, &str)],
    ) -> Result<Self, DefinitionError> {
        for argument in &mut definition.args {
            if let Some(script) = argument.strip_prefix('@') {
                let (_, text) = scripts
                    .iter()
                    .find(|(known, _)| *known == script)
                    .ok_or_else(|| DefinitionError::UnknownScript(script.to_owned()))?;
                *argument = (*text).to_owned();
            }
        }
        definition.own_limits.as_ref().map_or(Ok(()), OwnLimits::check)?;
        let Definition { program, reads, writes, .. } = &mut definition;
        for path in reads.iter_mut().chain(&mut *writes).chain([&mut *program]) {
            *path = at_home(path);
        }
        let is_name = program.components().count() == 1;
        for path in reads.iter().chain(writes.iter()).chain((!is_name).then_some(&*program)) {
            if !path.is_absolute() {
                return Err(DefinitionError::RelativePath(path.clone()));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            definition,
            more_args_pattern: OnceLock::new(),
            help: OnceCell::new(),
            may_be_unconfined: false,
        })
    }

    /// Sets whether the operator allows the command to run on a system that cannot confine access to files. The default
    /// is no.
    #[must_use]
    pub fn allow_unconfined(self, allowed: bool) -> Self {
        Self { may_be_unconfined: allowed, ..self }
    }

    /// Whether the command is refused: this system cannot confine access to files, and the operator did not allow the
    /// command to run unconfined.
    pub fn is_refused(&self) -> bool {
        !self.may_be_unconfined && !confines_files()
    }

    /// Checks `more-args`, which is otherwise compiled when it is first needed.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::MoreArgs`].
    pub fn check(&self) -> Result<(), DefinitionError> {
        self.more_args_pattern().map(drop).map_err(|error| DefinitionError::MoreArgs(error.clone()))
    }

    fn more_args_pattern(&self) -> Result<Option<&regex::Regex>, &regex::Error> {
        let compile = || {
            let written = self.definition.more_args.as_ref();
            written.map(|more| regex::Regex::new(&format!("^(?:{more})$"))).transpose()
        };
        self.more_args_pattern.get_or_init(compile).as_ref().map(Option::as_ref)
    }

    /// The path of the command's program. `None`: the program was not found.
    pub fn program(&self) -> Option<PathBuf> {
        find(&self.definition.program)
    }

    /// Each needed program that was not found, with its text of `install`, if there is one.
    pub fn missing(&self) -> Vec<(String, Option<String>)> {
        let own = self.definition.program.display().to_string();
        let needed = [own].into_iter().chain(self.definition.find.values().cloned());
        let missing = needed.filter(|name| find(Path::new(name)).is_none());
        missing.map(|name| (name.clone(), self.definition.install.get(&name).cloned())).collect()
    }

    /// Whether these further arguments are allowed. If `more-args` is invalid, no argument is allowed.
    pub fn allows_arguments(&self, arguments: &[String]) -> bool {
        let pattern = self.more_args_pattern().ok().flatten();
        let fits = |argument: &String| pattern.is_some_and(|pattern| pattern.is_match(argument));
        arguments.iter().all(fits)
    }

    /// Maximum time of one run, or of one answer of a worker.
    pub fn max_time(&self) -> Duration {
        Duration::from_millis(self.definition.wall_ms.get())
    }

    /// How long an idle worker is kept.
    pub fn max_idle(&self) -> Duration {
        Duration::from_millis(self.definition.idle_ms.get())
    }

    /// Maximum number of workers that answer at the same time, and of idle workers.
    pub fn max_workers(&self) -> usize {
        self.definition.workers.get() as usize
    }

    /// Maximum size of the output, in bytes.
    pub fn output_bytes(&self) -> usize {
        usize::try_from(self.definition.output_bytes.get()).unwrap_or(usize::MAX)
    }

    /// Maximum memory of each process, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.definition.memory_bytes.get()
    }

    /// Starts the command in this directory, or in an empty directory of its own. `more` are further arguments: see
    /// [`Command::allows_arguments`].
    ///
    /// # Errors
    ///
    /// The command [may not run unconfined](Self::is_refused), the program was not found, or the system cannot create a
    /// directory or start a process.
    pub async fn start(
        &self,
        directory: Option<&WorkingDirectory>,
        more: &[String],
    ) -> Result<Child, CommandError> {
        if self.is_refused() {
            return Err(CommandError::NotConfined(self.name.clone()));
        }
        let definition = &self.definition;
        let Some(program) = self.program() else {
            return Err(CommandError::NotFound(definition.program.display().to_string()));
        };
        // The working directory is allowed as `.`, because its path may lead elsewhere by now. Without a given
        // directory, the child works in an empty directory of its own, which is writable.
        let working_directory = PathBuf::from(".");
        let is_writable = directory.is_none_or(|directory| directory.writable);
        let mut environment = environment_of(&program, &definition.env);
        let mut read_by_operator = vec![working_directory.clone()];
        read_by_operator.extend(definition.reads.iter().cloned());
        for (variable, name) in &definition.find {
            let Some(found) = find(Path::new(name)) else { continue };
            read_by_operator.extend(package_of(&found));
            let real = without_links(&found);
            environment.push((variable.into(), real.into()));
        }
        let mut write: Vec<PathBuf> =
            is_writable.then_some(working_directory).into_iter().collect();
        for folder in &definition.writes {
            std::fs::create_dir_all(folder)?;
            write.push(folder.clone());
        }
        let mut arguments = Vec::new();
        if let Some(limits) = &definition.own_limits {
            arguments = limits.options(self.help(&program).await, &read_by_operator, &write);
        }
        arguments.extend(definition.args.iter().chain(more).map(OsString::from));
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend(package_of(&program));
        read.extend(read_by_operator);
        write.push("/dev/null".into());
        let child = Child::start(ChildSpec {
            program,
            arguments,
            environment,
            directory: directory.map(WorkingDirectory::stable_path),
            confinement: Confinement {
                read,
                write,
                network: definition.network,
                hosts: Vec::new(),
            },
            limits: self.resource_limits(),
        });
        Ok(child?)
    }

    fn resource_limits(&self) -> ResourceLimits {
        ResourceLimits { memory: Some(self.memory_bytes()), ..ResourceLimits::default() }
    }

    /// The output of the program with `--help`. Empty if the program cannot be run or its output cannot be used.
    async fn help(&self, program: &Path) -> &str {
        let ask = async || {
            let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
            read.extend(package_of(program));
            let child = Child::start(ChildSpec {
                program: program.to_owned(),
                arguments: vec!["--help".into()],
                environment: environment_of(program, &[]),
                directory: None,
                confinement: Confinement {
                    read,
                    write: vec!["/dev/null".into()],
                    ..Confinement::default()
                },
                limits: self.resource_limits(),
            });
            let work = child.ok()?.finish(&[], MAX_HELP_BYTES);
            let output = tokio::time::timeout(MAX_HELP_TIME, work).await.ok()?.ok()??;
            String::from_utf8(output.stdout).ok()
        };
        self.help.get_or_init(async || ask().await.unwrap_or_default()).await
    }

    /// Waits for the end of a child of this command, within the command's limits. If this future is dropped, the
    /// child is killed: see [`Child`].
    ///
    /// # Errors
    ///
    /// See [`CommandError`].
    pub async fn finish(&self, child: Child, input: &[u8]) -> Result<Output, CommandError> {
        let work = child.finish(input, self.output_bytes());
        match tokio::time::timeout(self.max_time(), work).await {
            Ok(output) => output?.ok_or(CommandError::TooLarge),
            Err(_) => Err(CommandError::TimedOut),
        }
    }

    /// The folders of the command's programs and packages, which the command may read. Folders beneath `/usr` are left
    /// out, because every command may read `/usr`.
    fn needs(&self) -> Vec<PathBuf> {
        let found = self.definition.find.values().filter_map(|name| find(Path::new(name)));
        let programs = self.program().into_iter().chain(found);
        let mut needs: Vec<PathBuf> = programs.flat_map(|program| package_of(&program)).collect();
        needs.retain(|path| path.is_dir() && !without_links(path).starts_with("/usr"));
        needs.sort();
        needs.dedup();
        needs
    }

    /// What the command may reach, as text for `portcullis check`.
    pub fn reach(&self) -> String {
        let definition = &self.definition;
        let list = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let mut text = match self.program() {
            Some(program) => program.display().to_string(),
            None => format!("{} (not found)", definition.program.display()),
        };
        if !confines_files() {
            return text
                + "; not confined on this system: it could reach everything that the user can reach";
        }
        let needs = self.needs();
        for (what, paths) in
            [("needs", &needs), ("reads", &definition.reads), ("writes", &definition.writes)]
        {
            if !paths.is_empty() {
                text += &format!("; {what} {}", list(paths));
            }
        }
        text += if definition.network { "; the network" } else { "; no network" };
        text
    }
}

/// A path without symbolic links.
fn without_links(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<Command, String> {
        let definition = toml::from_str(text).map_err(|error| error.to_string())?;
        let command = Command::new("test", definition, &[]).map_err(|error| error.to_string())?;
        command.check().map(|()| command).map_err(|error| error.to_string())
    }

    #[test]
    fn further_arguments_must_match_as_a_whole() {
        let takes =
            |command: &Command, argument: &str| command.allows_arguments(&[argument.to_owned()]);
        let none = command("program = \"git\"").unwrap();
        assert!(none.allows_arguments(&[]) && !takes(&none, "--exec=x") && !takes(&none, ""));
        let some = command("program = \"npm\"\nmore-args = \"[a-z]+|@[a-z0-9]+/[a-z]+\"").unwrap();
        assert!(takes(&some, "typescript") && takes(&some, "@scope/cli"));
        assert!(!takes(&some, "--registry=x") && !takes(&some, "a b") && !takes(&some, "a\n"));
    }

    #[test]
    fn definitions_that_cannot_be_enforced_are_refused() {
        for (text, expected) in [
            ("program = \"./tool\"", "not an absolute path"),
            ("program = \"x\"\nreads = [\"y\"]", "not an absolute path"),
            ("program = \"x\"\nargs = [\"@nothing.mjs\"]", "nothing.mjs"),
            ("program = \"x\"\nmore-args = \"(\"", "more-args"),
            ("program = \"x\"\nwall-ms = 0", "wall-ms"),
            (
                "program = \"x\"\n[own-limits]\nswitch = []\nread = \"{}\"\nwrite = \"\"",
                "own-limits",
            ),
            ("program = \"x\"\nshell = true", "shell"),
        ] {
            let error = command(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
