//! The build script: compiles the bundled plugins ahead of time, so that none of their calls waits for the compiler. It
//! also collects the data of their families.

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
    // Not a constant: each crate that names a constant may get a copy of it, here of 57 MB.
    let mut source = String::from("pub static PLUGINS: &[Bundled] = &[\n");
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

/// Rust source with the constants about the families of the bundled plugins, and with the default configuration: the
/// host's, followed by those of the families.
fn families() -> String {
    let path = "../../resources/portcullis.toml";
    println!("cargo::rerun-if-changed={path}");
    let host_defaults = fs::read_to_string(path).expect("the host has a default configuration");
    let defaults = format!("{host_defaults}\n{}", portcullis_bundle::DEFAULTS);
    format!(
        "/// The default configuration: the host's, and that of all families.\n\
         pub const DEFAULTS: &str = {defaults:?};\n{}",
        portcullis_bundle::FAMILY_CONSTANTS
    )
}
