//! Child processes that reach only what they are told, and end when they are told.
//!
//! A child is started by way of this program itself: it restricts itself ([`restrict()`]) and then
//! becomes the program that is wanted, so that not one instruction of that program runs
//! unrestricted. What the system cannot enforce is said by [`strength`], not hidden.

mod child;
mod restrict;

pub use child::{Child, Ended, Output, SUBCOMMAND, Spec, main};
pub use restrict::{Bounds, Reach, restrict, strength};
