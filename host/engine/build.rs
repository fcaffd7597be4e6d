//! Passes the target of this build to the engine, which compiles components for the same target.
#![expect(
    clippy::disallowed_methods,
    reason = "the environment of a build script holds its parameters"
)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    println!("cargo::rustc-env=PORTCULLIS_TARGET={target}");
}
