//! Confined child processes: a child reaches only what it is allowed to, and is killed together with the processes that
//! it started. [`strength`] tells which restrictions this system enforces.
//!
//! A child is this program, started once more, which first confines itself ([`restrict()`]) and then runs the program
//! of the command.

mod child;
mod command;
mod environment;
mod error;
mod find;
mod home;
mod host;
#[cfg(windows)]
mod job;
#[cfg(target_os = "linux")]
mod network;
mod own_limits;
mod package;
mod program;
mod resource_limits;
mod restrict;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod sockets;
mod workers;
mod working_directory;

pub use child::{Child, ChildSpec, Exit, Output, Reply, SUBCOMMAND, main};
pub use command::{Command, Definition};
pub use error::{BecomeError, CommandError, ConfineError, DefinitionError, NetworkError};
pub use find::find;
pub use home::at_home;
pub use host::{Host, HostError, MAX_HOSTS};
#[cfg(windows)]
pub use job::{CREATE_NO_WINDOW, Job};
#[cfg(target_os = "linux")]
pub use network::enter as enter_network;
pub use own_limits::OwnLimits;
pub use program::terms_of;
pub use resource_limits::ResourceLimits;
pub use restrict::{Confinement, confines_files, restrict, strength};
pub use workers::Commands;
pub use working_directory::WorkingDirectory;
