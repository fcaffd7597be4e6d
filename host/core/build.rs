//! Compiles the bundled plugins ahead of time, so that no call waits for the compiler, and
//! collects the data of their families.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

#[path = "../engine/src/compile.rs"]
mod compile;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../engine/src/compile.rs");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let engine = compile::settings(&target)
        .and_then(|config| wasmtime::Engine::new(&config))
        .expect("wasmtime compiles for this target");
    let mut source = String::from("pub const PLUGINS: &[Bundled] = &[\n");
    for plugin in portcullis_bundle::PLUGINS {
        let name = plugin.name;
        let code = engine
            .precompile_component(plugin.component)
            .unwrap_or_else(|error| panic!("compiling {name}: {error:#}"));
        fs::write(out.join(format!("{name}.cwasm")), code).expect("OUT_DIR can be written");
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(plugin.component));
        writeln!(
            source,
            "    Bundled {{ name: {name:?}, digest: {digest:?}, \
             code: &PageAligned(*include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.cwasm\"))) }},"
        )
        .expect("a String takes any text");
    }
    source.push_str("];\n");
    fs::write(out.join("bundled.rs"), source).expect("OUT_DIR can be written");
    fs::write(out.join("families.rs"), families()).expect("OUT_DIR can be written");
}

/// The data of the families of the bundled plugins, as Rust source.
fn families() -> String {
    let path = "../../resources/portcullis.toml";
    println!("cargo::rerun-if-changed={path}");
    let host_defaults = fs::read_to_string(path).expect("the host has a default configuration");
    let defaults = format!("{host_defaults}\n{}", portcullis_bundle::DEFAULTS);
    format!(
        "/// The default configuration: the host's, and that of all families.\n\
         pub const DEFAULTS: &str = {defaults:?};\n\
         /// Scripts that commands run: name and text.\n\
         pub const SCRIPTS: &[(&str, &str)] = &{:?};\n\
         /// URI templates that a plugin serves and that its manifest does not name: plugin and template.\n\
         pub const RESERVED_URIS: &[(&str, &str)] = &{:?};\n\
         /// Environment variables that set the log level: variable, value, and level (`off`, `error`,\n\
         /// `info` or `debug`).\n\
         pub const LOG_LEVELS: &[(&str, &str, &str)] = &{:?};\n\
         /// The plugin that makes views of other tools.\n\
         pub const VIEW_PLUGIN: Option<&str> = {:?};\n\
         /// The plugin whose tools run a model's programs, which call the tools of other sources.\n\
         pub const CODE_PLUGIN: Option<&str> = {:?};\n\
         /// The families.\n\
         pub const FAMILIES: &[Family] = &[{}];\n",
        portcullis_bundle::SCRIPTS,
        portcullis_bundle::RESERVED_URIS,
        portcullis_bundle::LOG_LEVELS,
        portcullis_bundle::VIEW_PLUGIN,
        portcullis_bundle::CODE_PLUGIN,
        portcullis_bundle::FAMILIES.iter().map(family).collect::<String>(),
    )
}

/// A family, as Rust source.
fn family(family: &portcullis_bundle::Family) -> String {
    let portcullis_bundle::Family {
        name,
        plugins,
        marks,
        skipped,
        without_project,
        summary,
        commands,
    } = family;
    let mark = |mark: &portcullis_bundle::Mark| {
        format!("Mark {{ file: {:?}, contains: &{:?} }}, ", mark.file, mark.contains)
    };
    let marks: String = marks.iter().map(mark).collect();
    let commands: String = commands.iter().map(command).collect();
    format!(
        "Family {{ name: {name:?}, plugins: &{plugins:?}, marks: &[{marks}], skipped: &{skipped:?}, \
         without_project: &{without_project:?}, summary: {summary:?}, commands: &[{commands}] }}, "
    )
}

/// A command of a family, as Rust source.
fn command(command: &portcullis_bundle::FamilyCommand) -> String {
    let portcullis_bundle::FamilyCommand {
        name,
        help,
        tool,
        fixed,
        positions,
        options,
        always_succeeds,
    } = command;
    let position = |position: &portcullis_bundle::Position| {
        let portcullis_bundle::Position { name, help, argument, is_optional, no_file } = position;
        format!(
            "Position {{ name: {name:?}, help: {help:?}, argument: {argument:?}, \
             is_optional: {is_optional}, no_file: &[{}] }}, ",
            values(no_file)
        )
    };
    let option = |option: &portcullis_bundle::CommandOption| {
        let portcullis_bundle::CommandOption { name, value, help, argument, root_mark } = option;
        format!(
            "CommandOption {{ name: {name:?}, value: {value:?}, help: {help:?}, \
             argument: {argument:?}, root_mark: {root_mark:?} }}, "
        )
    };
    format!(
        "FamilyCommand {{ name: {name:?}, help: {help:?}, tool: {tool:?}, fixed: &[{}], \
         positions: &[{}], options: &[{}], always_succeeds: {always_succeeds} }}, ",
        values(fixed),
        positions.iter().map(position).collect::<String>(),
        options.iter().map(option).collect::<String>(),
    )
}

/// Fixed values of arguments, as Rust source.
fn values(values: &[(&str, portcullis_bundle::Fixed)]) -> String {
    values.iter().map(|(name, value)| format!("({name:?}, Fixed::{value:?}), ")).collect()
}
