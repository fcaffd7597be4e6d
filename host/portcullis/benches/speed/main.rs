//! Compares Portcullis with a minimal native server, and programs in code mode with plain calls: `just bench`.
//!
//! Both servers are driven by the same code over the same kinds of pipe and socket, in turns, so
//! that other load of the machine affects both alike. The native server only answers.
//! Portcullis also checks the arguments, asks the gate, makes a fresh instance, records the call in its
//! audit and checks the answer.
//!
//! Arguments, of which each of the first three measures only what it names:
//!
//! - `programs`: only programs in code mode.
//! - `wasi`: only components of WASI 0.3 beside one of WASI 0.2.
//! - `growth=FOLDER`: how times and memory grow with plugins, sessions, calls in flight and more. A picture (SVG) of each
//!   curve is written into this folder, whose path is absolute: cargo runs benchmarks in the folder of their crate.
//! - `host=COMMAND`: another host of components, which is measured beside Portcullis in the same run with the same
//!   component: see [`beside::other_host`].
//! - `component=FILE` and `tool=NAME`: a large component and a tool of it that needs no arguments, measured on a cold
//!   cache.

mod beside;
mod growth;
mod http;
mod plot;
mod process;
mod programs;
mod report;
mod requests;
mod server;
mod stdio;
mod wasi;

use std::path::Path;

use report::Report;
use requests::Era;
use server::{Portcullis, Servers};

fn main() {
    // `cargo bench` passes this argument. `cargo test --benches` does not, and nothing is measured.
    let is_given = |name: &str| std::env::args().any(|argument| argument == name);
    if !is_given("--bench") {
        return;
    }
    if is_given("programs") {
        return programs::measure(&Portcullis::build());
    }
    if is_given("wasi") {
        return wasi::measure();
    }
    let servers = Servers::build();
    if let Some(folder) = value("growth=") {
        return growth::measure(&servers, Path::new(&folder));
    }
    let mut report = Report::begin();
    beside::first_start(&servers, &mut report);
    beside::starts(&servers, &mut report);
    for era in [Era::Legacy, Era::Modern] {
        beside::stdio(&servers, era, &mut report);
    }
    for era in [Era::Legacy, Era::Modern] {
        beside::http(&servers, era, &mut report);
    }
    beside::wrapped(&servers, &mut report);
    beside::validation(&servers, &mut report);
    if let Some(command) = value("host=") {
        beside::other_host(&command, &mut report);
    }
    if let (Some(file), Some(tool)) = (value("component="), value("tool=")) {
        beside::large_component(Path::new(&file), &tool, &mut report);
    }
    report.print();
    programs::measure(&servers.portcullis);
    wasi::measure();
}

/// The rest of the argument that begins so.
fn value(prefix: &str) -> Option<String> {
    std::env::args().find_map(|argument| argument.strip_prefix(prefix).map(str::to_owned))
}
