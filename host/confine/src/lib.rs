//! Child processes that reach only what they are told, and end when they are told.
//!
//! A child is started by way of this program itself: it restricts itself ([`restrict()`]) and then
//! becomes the program that is wanted, so that not one instruction of that program runs
//! unrestricted. What the system cannot enforce is said by [`strength`], not hidden.

#[cfg(target_os = "linux")]
mod calls;
mod child;
mod command;
mod fault;
mod home;
mod own_limits;
mod package;
mod place;
mod restrict;
mod workers;

pub use child::{Child, Ended, Line, Output, SUBCOMMAND, Spec, main};
pub use command::{Command, Definition};
pub use fault::Fault;
pub use home::at_home;
pub use own_limits::OwnLimits;
pub use place::Place;
pub use restrict::{Bounds, Reach, restrict, strength};
pub use workers::Commands;
