//! A test plugin that changes files, also outside its grants.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use portcullis_plugin::prelude::*;

#[data]
#[derive(Clone, Copy)]
enum Do {
    /// Fill a file with `text`, or with `bytes` bytes.
    Write,
    /// Add that to its end.
    Append,
    /// Write that many bytes at once.
    WriteAt,
    /// Make it that many bytes long.
    Stretch,
    MakeDirectory,
    /// That many, each in the one before.
    MakeDeep,
    /// That many empty files in it.
    MakeMany,
    /// Make a file that must not be there.
    MakeNew,
    Remove,
    RemoveDirectory,
    /// To `to`.
    Rename,
    /// To `to`, which is text.
    Symlink,
    /// To `to`.
    Hardlink,
    Touch,
    /// Open it that often, and keep it.
    OpenMany,
    Read,
}

/// One change. Paths are relative to the directory of the call, or absolute.
#[data]
struct Step {
    r#do: Do,
    #[serde(default)]
    path: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    bytes: u64,
}

impl Step {
    fn run(&self, base: &Path) -> io::Result<String> {
        let path = if self.path.is_empty() { base.to_owned() } else { base.join(&self.path) };
        match self.r#do {
            Do::Write => self.fill(&mut File::create(path)?)?,
            Do::Append => self.fill(&mut OpenOptions::new().append(true).open(path)?)?,
            Do::WriteAt => {
                let mut file =
                    OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
                file.seek(SeekFrom::Start(self.bytes))?;
                file.write_all(self.text.as_bytes())?;
            }
            Do::Stretch => {
                let options =
                    OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
                options.set_len(self.bytes)?;
            }
            Do::MakeDirectory => fs::create_dir(path)?,
            Do::MakeDeep => {
                let mut path = path;
                for n in 0..self.bytes {
                    path.push("d");
                    fs::create_dir(&path).map_err(|error| at(n, &error))?;
                }
            }
            Do::MakeMany => {
                for n in 0..self.bytes {
                    File::create(path.join(format!("f{n}"))).map_err(|error| at(n, &error))?;
                }
            }
            Do::MakeNew => drop(File::create_new(path)?),
            Do::Remove => fs::remove_file(path)?,
            Do::RemoveDirectory => fs::remove_dir(path)?,
            Do::Rename => fs::rename(path, base.join(&self.to))?,
            Do::Symlink => symlink(&self.to, &path)?,
            Do::Hardlink => fs::hard_link(path, base.join(&self.to))?,
            Do::Touch => {
                let file = OpenOptions::new().write(true).open(path)?;
                file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
            }
            Do::OpenMany => {
                let mut kept = Vec::new();
                for n in 0..self.bytes {
                    kept.push(File::open(&path).map_err(|error| at(n, &error))?);
                }
            }
            Do::Read => return fs::read_to_string(path).map(|text| format!("{text:?}")),
        }
        Ok("done".to_owned())
    }

    fn fill(&self, file: &mut File) -> io::Result<()> {
        file.write_all(self.text.as_bytes())?;
        let piece = vec![b'x'; 60_000];
        let mut left = self.bytes;
        while left > 0 {
            let part = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            file.write_all(&piece[..part])?;
            left -= part as u64;
        }
        Ok(())
    }
}

fn at(n: u64, error: &io::Error) -> io::Error {
    io::Error::other(format!("after {n}: {error}"))
}

#[cfg(target_os = "wasi")]
fn symlink(to: &str, path: &Path) -> io::Result<()> {
    #[expect(deprecated, reason = "the one that follows is not stable")]
    fs::soft_link(to, path)
}

#[cfg(not(target_os = "wasi"))]
fn symlink(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn run(base: &Path, steps: &[Step]) -> String {
    let lines = steps.iter().map(|step| {
        let what = serde_name(step.r#do);
        let outcome = step.run(base).unwrap_or_else(|error| error.to_string());
        format!("{what} {} {}: {outcome}", step.path, step.to)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn serde_name(what: Do) -> String {
    portcullis_plugin::serde_json::to_string(&what).unwrap_or_default().replace('"', "")
}

/// Changes what is in a directory.
#[arguments]
struct ChangeDirectory {
    #[path(directory, write)]
    directory: PathBuf,
    steps: Vec<Step>,
}

impl Tool for ChangeDirectory {
    const NAME: &'static str = "change_directory";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(run(&self.directory, &self.steps))
    }
}

/// Tries to change what is in a directory that it may only read.
#[arguments]
struct OnlyRead {
    #[path(directory, read)]
    directory: PathBuf,
    steps: Vec<Step>,
}

impl Tool for OnlyRead {
    const NAME: &'static str = "only_read";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(run(&self.directory, &self.steps))
    }
}

/// Changes one file that is there.
#[arguments]
struct ChangeFile {
    #[path(file, write)]
    file: PathBuf,
    steps: Vec<Step>,
}

impl Tool for ChangeFile {
    const NAME: &'static str = "change_file";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(run(&self.file, &self.steps))
    }
}

/// Makes one file.
#[arguments]
struct MakeFile {
    #[path(file, create)]
    file: PathBuf,
    steps: Vec<Step>,
}

impl Tool for MakeFile {
    const NAME: &'static str = "make_file";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(run(&self.file, &self.steps))
    }
}

/// Makes one directory and what is in it.
#[arguments]
struct MakeDirectory {
    #[path(directory, create)]
    directory: PathBuf,
    steps: Vec<Step>,
}

impl Tool for MakeDirectory {
    const NAME: &'static str = "make_directory";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(run(&self.directory, &self.steps))
    }
}

/// Looks at a directory, and changes it when it is told to.
#[arguments]
struct Repair {
    #[path(directory, read)]
    #[path(directory, write, when = "fix")]
    directory: PathBuf,
    #[serde(default)]
    fix: bool,
    steps: Vec<Step>,
}

impl Tool for Repair {
    const NAME: &'static str = "repair";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let _ = self.fix;
        Ok(run(&self.directory, &self.steps))
    }
}

/// Tries to carry things from a directory that it may read to one that it may change.
#[arguments]
struct Carry {
    #[path(directory, read)]
    from: PathBuf,
    #[path(directory, write)]
    to: PathBuf,
    steps: Vec<Step>,
}

impl Tool for Carry {
    const NAME: &'static str = "carry";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(format!("{}\n{}", run(&self.from, &self.steps), run(&self.to, &self.steps)))
    }
}

plugin! {
    name: "writer",
    tools: [ChangeDirectory, OnlyRead, ChangeFile, MakeFile, MakeDirectory, Repair, Carry],
}
