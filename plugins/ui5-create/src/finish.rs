//! What other programs do with an app that is in place: `npm install`, and the first commit.
//!
//! Whatever comes of it, the files stay.

use portcullis_plugin::prelude::*;
use std::path::Path;

/// Something to be done after the files are in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Installs what the app is built with.
    NpmInstall,
    /// Makes a repository with everything in it.
    GitRepository,
}

/// Runs programs in a directory. Fails with what went wrong.
pub trait Programs {
    /// Runs one to its end.
    fn run(&self, directory: &Path, program: &str, arguments: &[&str]) -> Result<(), String>;
}

/// What came of the steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The steps that were taken, to their end.
    pub done: Vec<Step>,
    /// What the caller has to know or to do.
    pub notes: Vec<String>,
}

impl Step {
    fn commands(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Self::NpmInstall => &[("npm", &["install"])],
            Self::GitRepository => &[
                ("git", &["init", "--quiet"]),
                ("git", &["add", "."]),
                ("git", &["commit", "--quiet", "--allow-empty", "-m", "Initial commit"]),
            ],
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::NpmInstall => "installing the dependencies",
            Self::GitRepository => "initializing the git repository",
        }
    }

    /// As it is typed into a shell.
    fn typed(self) -> String {
        let lines = self.commands().iter().map(|(program, arguments)| {
            let words = arguments.iter().map(|word| match word.contains(' ') {
                true => format!("\"{word}\""),
                false => (*word).to_owned(),
            });
            std::iter::once((*program).to_owned()).chain(words).collect::<Vec<_>>().join(" ")
        });
        lines.collect::<Vec<_>>().join(" && ")
    }
}

/// Takes the steps, one after the other. Where there is nobody to run programs, says what to type.
pub fn finish(
    steps: &[Step],
    directory: &Path,
    programs: Option<&dyn Programs>,
    request: &Request,
) -> Finished {
    let mut finished = Finished::default();
    let Some(programs) = programs else {
        if !steps.is_empty() {
            let typed: Vec<String> =
                steps.iter().map(|step| format!("  {}", step.typed())).collect();
            finished.notes.push(format!(
                "This server does not run other programs, so the following was NOT done. Run it \
                 inside {}:\n{}",
                directory.display(),
                typed.join("\n")
            ));
        }
        return finished;
    };
    for (done, step) in steps.iter().enumerate() {
        request.progress(done as f64, steps.len() as f64, step.purpose());
        let outcome = step.commands().iter().try_for_each(|(program, arguments)| {
            programs.run(directory, program, arguments).map_err(|why| {
                format!("'{program} {}' failed: {why}", arguments.first().unwrap_or(&""))
            })
        });
        match outcome {
            Ok(()) => finished.done.push(*step),
            Err(why) => finished.notes.push(format!(
                "The files are in place, but {} did not work: {why}. Run it yourself inside {}:\n  {}",
                step.purpose(),
                directory.display(),
                step.typed()
            )),
        }
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;
    use std::cell::RefCell;

    /// Remembers what it was to run, and fails at one program.
    struct Recorded(RefCell<Vec<String>>, &'static str);

    impl Programs for Recorded {
        fn run(&self, _: &Path, program: &str, arguments: &[&str]) -> Result<(), String> {
            self.0.borrow_mut().push(format!("{program} {}", arguments.join(" ")));
            if program == self.1 { Err("it is not installed".to_owned()) } else { Ok(()) }
        }
    }

    const BOTH: [Step; 2] = [Step::NpmInstall, Step::GitRepository];

    fn finish_with(programs: Option<&dyn Programs>, steps: &[Step]) -> Finished {
        finish(steps, Path::new("/base/app"), programs, &Rehearsal::new().request())
    }

    #[test]
    fn without_programs_it_says_what_to_type() {
        let Finished { done, notes } = finish_with(None, &BOTH);
        assert_eq!(done, []);
        let [note] = notes.try_into().expect("there is one note");
        assert!(note.contains("NOT done") && note.contains("/base/app"), "{note}");
        assert!(note.contains("npm install"), "{note}");
        assert!(note.contains("git init --quiet && git add . && git commit"), "{note}");
        assert!(note.ends_with("-m \"Initial commit\""), "{note}");
        assert_eq!(finish_with(None, &[]), Finished::default());
    }

    #[test]
    fn a_step_that_fails_does_not_stop_the_next() {
        let programs = Recorded(RefCell::default(), "npm");
        let Finished { done, notes } = finish_with(Some(&programs), &BOTH);
        assert_eq!(done, [Step::GitRepository]);
        assert!(notes[0].contains("'npm install' failed: it is not installed"), "{notes:?}");
        assert_eq!(programs.0.borrow().len(), 4);
    }

    #[test]
    fn a_command_that_fails_ends_its_step() {
        let programs = Recorded(RefCell::default(), "git");
        let Finished { done, .. } = finish_with(Some(&programs), &BOTH);
        assert_eq!(done, [Step::NpmInstall]);
        assert_eq!(*programs.0.borrow(), ["npm install", "git init --quiet"]);
    }
}
