//! A command as the operator defines it: a program, its arguments, and all that it may reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::child::{Child, Output, Spec};
use crate::fault::Fault;
use crate::home::at_home;
use crate::own_limits::OwnLimits;
use crate::package::{SYSTEM_PATH, package_of};
use crate::place::Place;
use crate::restrict::{Bounds, Reach};

/// What the operator writes about a command.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Definition {
    /// The program: an absolute path, or a name that is looked for in `PATH`.
    pub program: PathBuf,
    /// Its first arguments. `@NAME` stands for the text of a script that comes with the binary.
    #[serde(default)]
    pub args: Vec<String>,
    /// What further arguments must look like, each of them as a whole: a regular expression. None
    /// are taken without it.
    pub more_args: Option<String>,
    /// Variables of the host's environment that it has too. It has no others.
    #[serde(default)]
    pub env: Vec<String>,
    /// Programs that it has to know the place of: the variable that says where, and the name that is
    /// looked for in `PATH`. They, and the packages they are part of, can be read.
    #[serde(default)]
    pub find: BTreeMap<String, String>,
    /// Files and directories that it may read beside the directory it works in, itself, and what
    /// every program needs of the system.
    #[serde(default)]
    pub reads: Vec<PathBuf>,
    /// Directories that it may write to, made where they are missing.
    #[serde(default)]
    pub writes: Vec<PathBuf>,
    /// How it is told what it may reach, where it can limit itself.
    pub own_limits: Option<OwnLimits>,
    /// Whether it may speak with other machines and other processes.
    #[serde(default)]
    pub network: bool,
    /// How long it may run, or take to answer one request.
    #[serde(default = "minute")]
    pub wall_ms: NonZeroU64,
    /// Memory of each of its processes.
    #[serde(default = "two_gibibytes")]
    pub memory_bytes: NonZeroU64,
    /// Size of what it answers.
    #[serde(default = "sixteen_mebibytes")]
    pub output_bytes: NonZeroU64,
    /// As a worker: how many there are at most.
    #[serde(default = "two")]
    pub workers: NonZeroU32,
    /// As a worker: how long one is kept that nobody asks anything.
    #[serde(default = "five_minutes")]
    pub idle_ms: NonZeroU64,
}

const fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("above 0")
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
    NonZeroU32::new(2).expect("above 0")
}

/// How long a program may take to say what options it has, and how much it may say.
const HELP: (Duration, usize) = (Duration::from_secs(10), 1024 * 1024);

/// What programs need of the system to start at all.
const SYSTEM: &[&str] = &[
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
    /// What plugins know it by.
    pub name: String,
    definition: Definition,
    /// What further arguments must look like, read when it is first asked for.
    more: OnceLock<Result<Option<regex::Regex>, String>>,
    /// What options the program says it has, once it has been asked.
    help: OnceCell<String>,
}

impl Command {
    /// A command, as far as it can be checked without starting it; and the scripts that come with
    /// this program, by name.
    ///
    /// # Errors
    ///
    /// In words for the operator.
    pub fn new(
        name: &str,
        mut definition: Definition,
        scripts: &[(&str, &str)],
    ) -> Result<Self, String> {
        for argument in &mut definition.args {
            if let Some(script) = argument.strip_prefix('@') {
                let (_, text) = scripts
                    .iter()
                    .find(|(known, _)| *known == script)
                    .ok_or_else(|| format!("no script {script} comes with this program"))?;
                *argument = (*text).to_owned();
            }
        }
        definition.own_limits.as_ref().map_or(Ok(()), OwnLimits::check)?;
        let Definition { program, reads, writes, .. } = &mut definition;
        for path in reads.iter_mut().chain(&mut *writes).chain([&mut *program]) {
            *path = at_home(path);
        }
        let by_name = program.components().count() == 1;
        for path in reads.iter().chain(writes.iter()).chain((!by_name).then_some(&*program)) {
            if !path.is_absolute() {
                return Err(format!("{} is not an absolute path", path.display()));
            }
        }
        let (more, help) = (OnceLock::new(), OnceCell::new());
        Ok(Self { name: name.to_owned(), definition, more, help })
    }

    /// Checks what is otherwise read when it is first needed.
    ///
    /// # Errors
    ///
    /// In words for the operator.
    pub fn check(&self) -> Result<(), String> {
        self.more().map(drop).map_err(ToOwned::to_owned)
    }

    fn more(&self) -> Result<Option<&regex::Regex>, &str> {
        let read = || {
            let more = self.definition.more_args.as_ref();
            let more = more.map(|more| regex::Regex::new(&format!("^(?:{more})$")));
            more.transpose().map_err(|error| format!("`more-args`: {error}"))
        };
        self.more.get_or_init(read).as_ref().map(Option::as_ref).map_err(String::as_str)
    }

    /// Where its program is. `None`: nowhere.
    pub fn program(&self) -> Option<PathBuf> {
        find(&self.definition.program)
    }

    /// Whether these further arguments may be given to it: none, where they were not said right.
    pub fn takes(&self, arguments: &[String]) -> bool {
        let more = self.more().ok().flatten();
        let fits = |argument: &String| more.is_some_and(|more| more.is_match(argument));
        arguments.iter().all(fits)
    }

    /// How long it may take.
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.definition.wall_ms.get())
    }

    /// How long a worker is kept that nobody asks anything.
    pub fn idle(&self) -> Duration {
        Duration::from_millis(self.definition.idle_ms.get())
    }

    /// How many workers there are at most.
    pub fn workers(&self) -> usize {
        self.definition.workers.get() as usize
    }

    /// Most bytes that it may answer.
    pub fn output_bytes(&self) -> usize {
        usize::try_from(self.definition.output_bytes.get()).unwrap_or(usize::MAX)
    }

    /// Most memory that it may use.
    pub fn memory_bytes(&self) -> u64 {
        self.definition.memory_bytes.get()
    }

    /// Starts it, in that place or in an empty directory of its own.
    ///
    /// # Errors
    ///
    /// Where its program is not there, or the system starts no process.
    pub async fn start(&self, place: Option<&Place>, more: &[String]) -> Result<Child, Fault> {
        let failed = |error: std::io::Error| Fault::Failed(error.to_string());
        let definition = &self.definition;
        let Some(program) = self.program() else {
            return Err(Fault::NotFound(definition.program.display().to_string()));
        };
        // The working directory is the one thing that is not reached by its path.
        let here = place.map(|place| (PathBuf::from("."), place.write));
        let mut environment = environment(&program, &definition.env);
        let mut told_read: Vec<PathBuf> = here.iter().map(|(path, _)| path.clone()).collect();
        told_read.extend(definition.reads.iter().cloned());
        for (variable, name) in &definition.find {
            let Some(found) = find(Path::new(name)) else { continue };
            told_read.extend(package_of(&found));
            let real = without_links(&found);
            environment.push((variable.into(), real.into()));
        }
        let mut write: Vec<PathBuf> =
            here.into_iter().filter_map(|(path, write)| write.then_some(path)).collect();
        for directory in &definition.writes {
            std::fs::create_dir_all(directory).map_err(failed)?;
            write.push(directory.clone());
        }
        let mut arguments = Vec::new();
        if let Some(limits) = &definition.own_limits {
            arguments = limits.options(self.help(&program).await, &told_read, &write);
        }
        arguments.extend(definition.args.iter().chain(more).map(OsString::from));
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend(package_of(&program));
        read.extend(told_read);
        write.push("/dev/null".into());
        Child::start(Spec {
            program,
            arguments,
            environment,
            directory: place.map(Place::way),
            reach: Reach { read, write, network: definition.network },
            bounds: Bounds { memory: Some(self.memory_bytes()), ..Bounds::default() },
        })
        .map_err(failed)
    }

    /// What options the program says it has: nothing, where it does not say.
    async fn help(&self, program: &Path) -> &str {
        let ask = async || {
            let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
            read.extend(package_of(program));
            let child = Child::start(Spec {
                program: program.to_owned(),
                arguments: vec!["--help".into()],
                environment: environment(program, &[]),
                directory: None,
                reach: Reach { read, write: vec!["/dev/null".into()], network: false },
                bounds: Bounds { memory: Some(self.memory_bytes()), ..Bounds::default() },
            });
            let (time, most) = HELP;
            let work = child.ok()?.finish(&[], most);
            let output = tokio::time::timeout(time, work).await.ok()?.ok()??;
            String::from_utf8(output.stdout).ok()
        };
        self.help.get_or_init(async || ask().await.unwrap_or_default()).await
    }

    /// Waits for a child that was started to end, within the command's bounds.
    ///
    /// # Errors
    ///
    /// See [`Fault`]. Dropped, it is ended with all that it started.
    pub async fn finish(&self, child: Child, input: &[u8]) -> Result<Output, Fault> {
        let work = child.finish(input, self.output_bytes());
        match tokio::time::timeout(self.time(), work).await {
            Ok(output) => output?.ok_or(Fault::TooLarge),
            Err(_) => Err(Fault::TimedOut),
        }
    }

    /// Which folders it may read because its programs need them, beside those of the system.
    fn needs(&self) -> Vec<PathBuf> {
        let found = self.definition.find.values().filter_map(|name| find(Path::new(name)));
        let programs = self.program().into_iter().chain(found);
        let mut needs: Vec<PathBuf> = programs.flat_map(|program| package_of(&program)).collect();
        needs.retain(|path| path.is_dir() && !without_links(path).starts_with("/usr"));
        needs.sort();
        needs.dedup();
        needs
    }

    /// What it may reach, in words for `audit`.
    pub fn reach(&self) -> String {
        let definition = &self.definition;
        let list = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let mut text = match self.program() {
            Some(program) => program.display().to_string(),
            None => format!("{} (not found)", definition.program.display()),
        };
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

fn find(program: &Path) -> Option<PathBuf> {
    if program.is_absolute() {
        return program.is_file().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|found| found.is_file())
}

/// A path without links.
fn without_links(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn environment(program: &Path, names: &[String]) -> Vec<(OsString, OsString)> {
    let own = program.parent().unwrap_or(program);
    let system = SYSTEM_PATH.map(PathBuf::from);
    let path = std::env::join_paths([own.to_owned()].into_iter().chain(system)).unwrap_or_default();
    let mut environment = vec![("PATH".into(), path), ("LANG".into(), "C.UTF-8".into())];
    let passed = names.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    environment.extend(passed);
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Result<Command, String> {
        let definition = toml::from_str(text).map_err(|error| error.to_string())?;
        let command = Command::new("test", definition, &[])?;
        command.check().map(|()| command)
    }

    #[test]
    fn further_arguments_must_fit_as_a_whole() {
        let takes = |command: &Command, argument: &str| command.takes(&[argument.to_owned()]);
        let none = command("program = \"git\"").unwrap();
        assert!(none.takes(&[]) && !takes(&none, "--exec=x") && !takes(&none, ""));
        let some = command("program = \"npm\"\nmore-args = \"[a-z]+|@[a-z0-9]+/[a-z]+\"").unwrap();
        assert!(takes(&some, "typescript") && takes(&some, "@scope/cli"));
        assert!(!takes(&some, "--registry=x") && !takes(&some, "a b") && !takes(&some, "a\n"));
    }

    #[test]
    fn what_could_not_be_enforced_is_refused_at_load() {
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
