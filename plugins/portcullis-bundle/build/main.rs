//! Builds every bundled plugin to WebAssembly, so that the host is one self-contained binary. Also collects
//! the defaults, the scripts and the contents of `family.toml` of the plugin families.

mod commands;
mod families;

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-wasip2";

fn main() {
    // Read at run time, not at compile time: two checkouts may share one target folder, and therefore this compiled
    // build script.
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let workspace = Path::new(&here).join("../..");
    for watched in ["plugins", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    have_target();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let target_dir = target_dir(&out);
    let families = families::read(&workspace.join("plugins"));
    let plugins: BTreeSet<&str> =
        families.iter().flat_map(|family| family.plugins.iter().map(String::as_str)).collect();
    build(&workspace, &target_dir, &plugins);
    let mut source =
        String::from("/// Every bundled plugin.\npub const PLUGINS: &[Bundled] = &[\n");
    for plugin in plugins {
        let file = format!("{}.wasm", plugin.replace('-', "_"));
        let built = target_dir.join(TARGET).join("plugin").join(&file);
        // Use a copy: the next build of the plugin must not change this crate's input.
        fs::copy(&built, out.join(&file))
            .unwrap_or_else(|error| panic!("{}: {error}", built.display()));
        writeln!(
            source,
            "    Bundled {{ name: {plugin:?}, component: \
             include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},"
        )
        .expect("a String takes any text");
    }
    source.push_str("];\n");
    fs::write(out.join("plugins.rs"), source).expect("OUT_DIR can be written");
    let families = [
        ("defaults.toml", families::defaults(&families)),
        ("families.rs", families::constants(&families)),
    ];
    for (file, text) in families {
        fs::write(out.join(file), text).expect("OUT_DIR can be written");
    }
}

/// Whether the outer build is a release.
fn is_release() -> bool {
    env::var_os("PROFILE").is_some_and(|profile| profile == "release")
}

/// The target folder of the plugins. It differs from the folder of the outer build, which cargo has locked. Releases have a
/// folder of their own: the plugins of a release have other flags, and in one folder each kind of build would build the
/// plugins of the other kind anew.
fn target_dir(out: &Path) -> PathBuf {
    // TARGET_DIR/PROFILE/build/PACKAGE-HASH/out
    let target = out.ancestors().nth(4).expect("OUT_DIR lies in the target folder");
    target.join(if is_release() { "release-plugins" } else { "plugins" })
}

/// Installs the wasm target if it is missing.
fn have_target() {
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let installed = || {
        let output = Command::new(&rustc)
            .args(["--print", "target-libdir", "--target", TARGET])
            .output()
            .expect("rustc runs");
        Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    };
    if installed() {
        return;
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    let added = added.is_ok_and(|status| status.success());
    assert!(
        added && installed(),
        "the plugins are built for {TARGET}, which this toolchain lacks. Add it with:\n\n    \
         rustup target add {TARGET}\n"
    );
}

fn build(workspace: &Path, target_dir: &Path, plugins: &BTreeSet<&str>) {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo
        .current_dir(workspace)
        .args(["build", "--profile", "plugin", "--target", TARGET, "--target-dir"])
        .arg(target_dir);
    for plugin in plugins {
        cargo.args(["--package", plugin]);
    }
    // These variables are meant for the outer build only.
    for name in [
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
    ] {
        cargo.env_remove(name);
    }
    // Only in releases: tests build their own plugins in the same folder, and share what both depend on.
    if is_release() {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", without_places(workspace, target_dir));
    }
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "building the bundled plugins failed: see above");
}

/// The flags by which components do not contain the folders of this machine, which messages of panics would name. So the
/// same commit gives the same components on every machine. A file of a crate is `/cargo/registry/src/…`,
/// a generated one `/target/…`.
fn without_places(workspace: &Path, target_dir: &Path) -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let workspace = fs::canonicalize(workspace).expect("the crate lies in the workspace");
    let places = [
        (Some(workspace.as_path()), "/portcullis"),
        (home.as_deref(), "/cargo"),
        (Some(target_dir), "/target"),
    ];
    // The last flag that fits a path applies, and the target folder may lie in the workspace.
    let flags = places.into_iter().filter_map(|(place, name)| {
        let place = place?.to_str()?;
        Some(format!("--remap-path-prefix={place}={name}"))
    });
    // Cargo separates flags by this character.
    flags.collect::<Vec<_>>().join("\u{1f}")
}
