//! Runs other programs after the files of an app are written: `npm install`, and `git` for the first commit.
//!
//! The files stay even if these programs fail.

use portcullis_plugin::{
    prelude::*,
    process::{Error, Output},
};
use std::{path::Path, time::Duration};

/// Shell commands with the effect of the command `git-repository`, for a user who trusts the folder.
const FIRST_COMMIT: &str =
    "git init --quiet && git add . && git commit --quiet --allow-empty -m \"Initial commit\"";

/// The exit code of `git-repository` for a directory that has a `.git` already.
const ALREADY_THERE: i32 = 3;

/// The reason why a step was skipped or failed.
#[derive(Debug)]
enum StepProblem {
    /// There is a repository already. Its hooks and configuration could run unchecked code.
    AlreadyThere,
    /// Any other reason.
    Failed(String),
}

/// A step that follows the writing of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Installs the app's npm packages.
    NpmInstall,
    /// Creates a git repository and commits all files.
    GitRepository,
}

/// The results of the steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The steps that succeeded.
    pub done: Vec<Step>,
    /// Notes for the answer about the other steps.
    pub notes: Vec<String>,
}

impl Step {
    /// The operator's name for the command, and a shell command with the same effect.
    fn command(self) -> (&'static str, &'static str) {
        match self {
            Self::NpmInstall => ("npm-install", "npm install"),
            Self::GitRepository => ("git-repository", FIRST_COMMIT),
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::NpmInstall => "installing the dependencies",
            Self::GitRepository => "initializing the git repository",
        }
    }

    fn run(self, directory: &Path, go_on: impl Fn(Duration) -> bool) -> Result<(), StepProblem> {
        let (command, typed) = self.command();
        let ran = process::command(command).directory(directory).run(go_on);
        match ran {
            Ok(output) if output.success() => Ok(()),
            Ok(Output { status: Some(ALREADY_THERE), .. }) if self == Self::GitRepository => {
                Err(StepProblem::AlreadyThere)
            }
            Ok(output) => Err(StepProblem::Failed(format!("'{typed}' failed: {}", output.said()))),
            Err(Error::Denied) => Err(StepProblem::Failed(format!(
                "'{typed}' failed: the operator has not granted the command `{command}`"
            ))),
            Err(error) => Err(StepProblem::Failed(format!("'{typed}' failed: {error}"))),
        }
    }

    /// The note for the answer about a step that was skipped or failed.
    fn note(self, trouble: &StepProblem, directory: &Path) -> String {
        let directory = directory.display();
        match trouble {
            StepProblem::AlreadyThere => format!(
                "The files are in place. There is a git repository in {directory} already, so none was \
                 initialized and nothing was committed: its hooks and its configuration could run \
                 programs. If you trust it, commit the files yourself inside {directory}:\n  git add . && \
                 git commit"
            ),
            StepProblem::Failed(why) => format!(
                "The files are in place, but {} did not work: {why}. Run it yourself inside \
                 {directory}:\n  {}",
                self.purpose(),
                self.command().1
            ),
        }
    }
}

/// Runs the steps one after the other and reports progress. The message about a failed step names the command
/// to run by hand.
pub fn finish(steps: &[Step], directory: &Path, request: &Request) -> Finished {
    let mut finished = Finished::default();
    for (done, step) in steps.iter().enumerate() {
        let go_on = |waited: Duration| {
            let seconds = waited.as_secs_f64();
            // The duration is unknown. So the reported progress approaches the end without reaching it.
            let part = seconds / (seconds + 20.0);
            let message = format!("{} ({seconds:.0} s)", step.purpose());
            request.progress(done as f64 + part, steps.len() as f64, &message);
            !request.cancelled()
        };
        request.progress(done as f64, steps.len() as f64, step.purpose());
        match step.run(directory, go_on) {
            Ok(()) => finished.done.push(*step),
            Err(trouble) => finished.notes.push(step.note(&trouble, directory)),
        }
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;
    use std::{cell::RefCell, rc::Rc};

    const BOTH: [Step; 2] = [Step::NpmInstall, Step::GitRepository];

    /// A host with these commands, of which `failing` fails, and the list of commands that were run.
    fn host(
        commands: &[&'static str],
        failing: &'static str,
    ) -> (Rehearsal, Rc<RefCell<Vec<String>>>) {
        host_with(commands, failing, 1)
    }

    /// Like [`host`], with the exit code of the command that fails.
    fn host_with(
        commands: &[&'static str],
        failing: &'static str,
        failure: i32,
    ) -> (Rehearsal, Rc<RefCell<Vec<String>>>) {
        let ran: Rc<RefCell<Vec<String>>> = Rc::default();
        let host = commands.iter().fold(Rehearsal::new(), |host, command| {
            let (command, ran) = (*command, ran.clone());
            host.command(command, move |arguments, _, directory| {
                assert!(arguments.is_empty(), "the operator's arguments are all");
                ran.borrow_mut().push(format!("{command} in {directory}"));
                let status = Some(if command == failing { failure } else { 0 });
                Ok(Output { status, stdout: Vec::new(), stderr: b"it is broken\n".to_vec() })
            })
        });
        (host, ran)
    }

    const ALL: [&str; 2] = ["npm-install", "git-repository"];

    #[test]
    fn all_steps_run_in_the_directory() {
        let (host, ran) = host(&ALL, "");
        let finished = finish(&BOTH, Path::new("/base/app"), &host.request());
        assert_eq!(finished, Finished { done: BOTH.to_vec(), notes: Vec::new() });
        assert_eq!(*ran.borrow(), ALL.map(|command| format!("{command} in /base/app")));
        assert_eq!(host.progress_made().len(), 2);
        assert_eq!(finish(&[], Path::new("/base/app"), &host.request()), Finished::default());
    }

    #[test]
    fn a_step_that_fails_does_not_stop_the_next() {
        let (host, _) = host(&ALL, "npm-install");
        let Finished { done, notes } = finish(&BOTH, Path::new("/base/app"), &host.request());
        assert_eq!(done, [Step::GitRepository]);
        assert!(notes[0].contains("'npm install' failed: it is broken"), "{notes:?}");
        assert!(notes[0].contains("inside /base/app:\n  npm install"), "{notes:?}");
    }

    #[test]
    fn an_existing_repository_is_left_alone_with_a_note() {
        let (there, _) = host_with(&ALL, "git-repository", ALREADY_THERE);
        let Finished { done, notes } = finish(&BOTH, Path::new("/base/app"), &there.request());
        assert_eq!(done, [Step::NpmInstall]);
        assert!(notes[0].contains("git repository in /base/app already"), "{notes:?}");
        assert!(notes[0].ends_with("git add . && git commit"), "{notes:?}");
        let (host, _) = host(&ALL, "git-repository");
        let Finished { notes, .. } = finish(&BOTH, Path::new("/base/app"), &host.request());
        assert!(notes[0].contains("git init --quiet && git add . && git commit"), "{notes:?}");
    }

    #[test]
    fn steps_without_a_grant_have_a_note_with_the_command() {
        let (host, _) = host(&[], "");
        let Finished { done, notes } = finish(&BOTH, Path::new("/base/app"), &host.request());
        assert_eq!(done, []);
        assert!(notes[0].contains("has not granted the command `npm-install`"), "{notes:?}");
        assert!(notes[1].ends_with("-m \"Initial commit\""), "{notes:?}");
    }
}
