//! Tests of the architecture: the folders, which crate depends on which, circles of modules, the length of
//! files and functions, and the statements of `docs/ARCHITECTURE.md`.

mod absences;
mod capabilities;
mod circles;
mod crates;
mod families;
mod lengths;
mod modules;
mod profiles;
mod sources;
