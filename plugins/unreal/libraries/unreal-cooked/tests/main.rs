//! Tests of the readers of cooked content.

mod archives;
mod containers;
mod registries;
