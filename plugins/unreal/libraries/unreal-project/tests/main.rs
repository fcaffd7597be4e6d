//! Tests with folders of Unreal projects.

mod support;

mod contents;
mod index;
mod project;
