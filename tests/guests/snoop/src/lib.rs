//! A test plugin that tries to read environment variables, arguments and files outside its grants.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use portcullis_plugin::prelude::*;

/// Says what it finds around it: variables, arguments, input, directories.
#[arguments]
struct Surroundings {}

impl Tool for Surroundings {
    const NAME: &'static str = "surroundings";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let mut input = Vec::new();
        let read = std::io::stdin().read_to_end(&mut input).map_err(|error| error.to_string());
        Ok(format!(
            "environment {:?}\narguments {:?}\nstdin {read:?}\ndirectory {:?}\nroot {}",
            std::env::vars_os().collect::<Vec<_>>(),
            std::env::args_os().collect::<Vec<_>>(),
            std::env::current_dir().map_err(|error| error.to_string()),
            look(Way::List, Path::new("/")),
        ))
    }
}

#[data]
#[derive(Clone, Copy)]
enum Way {
    Read,
    List,
    Stat,
    Link,
}

/// Accesses a path in one way, and describes the result.
fn look(way: Way, path: &Path) -> String {
    let looked = match way {
        Way::Read => fs::read(path).map(|bytes| {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]);
            format!("{} bytes {text:?}", bytes.len())
        }),
        Way::List => fs::read_dir(path).and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<std::io::Result<Vec<_>>>()?;
            names.sort_unstable();
            Ok(format!("{names:?}"))
        }),
        Way::Stat => fs::metadata(path).map(|found| match (found.is_file(), found.is_dir()) {
            (true, _) => format!("a file of {} bytes", found.len()),
            (_, true) => "a directory".to_owned(),
            (false, false) => "neither file nor directory".to_owned(),
        }),
        Way::Link => fs::read_link(path).map(|target| format!("leads to {}", target.display())),
    };
    looked.unwrap_or_else(|error| error.to_string())
}

fn look_at_each(way: Way, base: &Path, others: &[String]) -> String {
    let lines = others.iter().map(|other| {
        let path = if other.is_empty() { base.to_owned() } else { base.join(other) };
        format!("{}: {}", path.display(), look(way, &path))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Looks at a file, and at paths that are relative to it: "" is the file itself.
#[arguments]
struct LookAtFile {
    #[path(file, read)]
    file: PathBuf,
    others: Vec<String>,
    way: Way,
}

impl Tool for LookAtFile {
    const NAME: &'static str = "look_at_file";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(look_at_each(self.way, &self.file, &self.others))
    }
}

/// Looks at a file that follows references, and at paths that are relative to its directory.
#[arguments]
struct LookAround {
    #[path(file_in_directory, read)]
    file: PathBuf,
    others: Vec<String>,
    way: Way,
}

impl Tool for LookAround {
    const NAME: &'static str = "look_around";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let base = self.file.parent().or_fail("a file is in a directory")?;
        Ok(look_at_each(self.way, base, &self.others))
    }
}

/// Looks at paths that are relative to a directory: "" is the directory itself.
#[arguments]
struct LookInto {
    #[path(directory, read)]
    directory: PathBuf,
    others: Vec<String>,
    way: Way,
}

impl Tool for LookInto {
    const NAME: &'static str = "look_into";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        Ok(look_at_each(self.way, &self.directory, &self.others))
    }
}

/// Looks at several files, each of which is named.
#[arguments]
struct LookAtAll {
    #[path(file, read)]
    files: Vec<PathBuf>,
    way: Way,
}

impl Tool for LookAtAll {
    const NAME: &'static str = "look_at_all";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let lines = self.files.iter().map(|file| look(self.way, file));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Looks at paths that it was given as mere text.
#[arguments]
struct LookAnywhere {
    paths: Vec<String>,
    way: Way,
}

impl Tool for LookAnywhere {
    const NAME: &'static str = "look_anywhere";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let lines =
            self.paths.iter().map(|path| format!("{path}: {}", look(self.way, Path::new(path))));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

plugin! {
    name: "snoop",
    tools: [Surroundings, LookAtFile, LookAround, LookInto, LookAtAll, LookAnywhere],
    wants: [Want::roots("read", "to look around everywhere").optional()],
}
