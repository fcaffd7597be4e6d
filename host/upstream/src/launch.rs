//! Starting a program so that it ends when this process does, however this process ends.
//!
//! Linux only kills a child together with its parent when the child itself asks for it, after it was
//! forked and before it became the program. Without unsafe code that is a program's work: this
//! one's own, started once more with [`SUBCOMMAND`], which asks and then becomes what is wanted.

use std::path::PathBuf;

/// The first argument by which a program knows that it is to become an upstream: see [`main`].
pub const SUBCOMMAND: &str = "become-upstream";

/// The child's side: ties this process to its parent, and becomes the program that the further
/// arguments name. Comes back only where that fails, with why.
pub fn main() -> String {
    let mut arguments = std::env::args_os().skip(2);
    let parent = arguments.next().and_then(|parent| parent.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, arguments.next()) else {
        return format!("{SUBCOMMAND} is for {} itself", env!("CARGO_PKG_NAME"));
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
            return format!("asking to end with the host: {error}");
        }
        // It may have ended before it was asked for.
        if getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent) {
            return "the host has ended".to_owned();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _only_linux_tells = parent;
    let mut command = std::process::Command::new(&program);
    command.args(arguments);
    #[cfg(unix)]
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let error = match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    };
    format!("{}: {error}", PathBuf::from(program).display())
}
