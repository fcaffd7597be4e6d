//! Builds the test plugins of `tests/guests`, and compiles them once with the binary under test.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use serde_json::Value;

use super::windows::{self, wine};
use super::{BINARY, home, workspace};

const TARGET: &str = "wasm32-wasip2";

/// All test plugins, ready to install.
pub struct Guests {
    /// Files of the components, by name.
    components: BTreeMap<String, PathBuf>,
    /// Folder with the binary's caches.
    seen: PathBuf,
}

/// The test plugins, which the first call builds. Panics if the build fails.
pub fn guests() -> &'static Guests {
    static GUESTS: OnceLock<Guests> = OnceLock::new();
    GUESTS.get_or_init(|| {
        let name = match (wine(), option_env!("PORTCULLIS_BINARY")) {
            (Some(_), _) => "blackbox-windows",
            (None, Some(_)) => "blackbox-other",
            (None, None) => "blackbox",
        };
        let place = target_dir().join(name);
        fs::create_dir_all(&place).expect("the target folder can be written");
        // Excludes other processes that run these tests at the same time.
        let lock = File::create(place.join("lock")).expect("the target folder can be written");
        lock.lock().expect("a file can be locked");
        let components = build();
        let seen = show(&place, &components);
        Guests { components, seen }
    })
}

impl Guests {
    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.components.keys().map(String::as_str)
    }

    /// The component file of a test plugin.
    pub fn component(&self, name: &str) -> &Path {
        let found = self.components.get(name);
        found.unwrap_or_else(|| panic!("there is no guest `{name}` in tests/guests"))
    }

    /// Copies the compiled components of the binary into a test's cache folder, so that the test does not compile them.
    /// Entries are named by their digests. They are never changed, only replaced.
    pub fn remember(&self, cache: &Path) {
        let home = |cache: &Path| cache.ancestors().nth(2).expect("HOME/.cache/NAME").to_owned();
        let key = ".local/state/portcullis/cache.key";
        let (from, to) = (home(&self.seen).join(key), home(cache).join(key));
        let state = to.parent().expect("it has a folder");
        fs::create_dir_all(state).expect("a home can be written");
        fs::set_permissions(state, fs::Permissions::from_mode(0o700)).expect("it is ours");
        fs::copy(from, &to).expect("a home can be written");
        for name in ["compiled", "described"] {
            let (from, to) = (self.seen.join(name), cache.join(name));
            fs::create_dir_all(&to).expect("a home can be written");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o700)).expect("it is ours");
            for entry in fs::read_dir(from).expect("the guests have been seen") {
                let entry = entry.expect("the guests have been seen");
                // Skips locks and files that are being written.
                if entry.file_name().len() != 64 {
                    continue;
                }
                let to = to.join(entry.file_name());
                fs::hard_link(entry.path(), &to)
                    .or_else(|_| fs::copy(entry.path(), &to).map(drop))
                    .expect("a home can be written");
            }
        }
    }
}

/// The target folder of cargo.
fn target_dir() -> PathBuf {
    // TARGET_DIR/PROFILE/deps/blackbox-HASH
    let test = std::env::current_exe().expect("a test knows its own file");
    test.ancestors().nth(3).expect("it lies in the target folder").to_owned()
}

/// Builds in a separate folder, like `plugins/portcullis-bundle/build/main.rs`, since cargo locks the folder in which
/// it builds.
fn build() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(workspace().join("tests/guests")).expect("there are guests");
    let names: Vec<String> = entries
        .map(|entry| entry.expect("there are guests").file_name().into_string().expect("a name"))
        .collect();
    let place = target_dir().join("plugins");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(workspace())
        .args(["build", "--quiet", "--profile", "plugin", "--target", TARGET, "--target-dir"])
        .arg(&place);
    for name in &names {
        cargo.args(["--package", &format!("guest-{name}")]);
    }
    // These variables are for the outer build only.
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
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "building the guests failed: see above");
    let built = place.join(TARGET).join("plugin");
    let component = |name: String| {
        let component = built.join(format!("guest_{}.wasm", name.replace('-', "_")));
        assert!(component.is_file(), "{} was not built", component.display());
        (name, component)
    };
    names.into_iter().map(component).collect()
}

/// Runs the binary once on all test plugins, and returns its cache folder.
fn show(place: &Path, components: &BTreeMap<String, PathBuf>) -> PathBuf {
    let windows = wine().map(|wine| wine.program("portcullis"));
    let binary = windows.as_deref().unwrap_or(Path::new(BINARY));
    let binary = fs::metadata(binary).expect("the binary was built");
    let modified = binary.modified().expect("this system knows when a file was changed");
    let age = modified.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let home = place.join(format!("{}-{}", binary.len(), age.as_nanos()));
    // Removes caches of earlier builds of the binary.
    for old in fs::read_dir(place).expect("it was made").flatten().map(|entry| entry.path()) {
        if old != home && old.is_dir() {
            fs::remove_dir_all(old).expect("the target folder can be written");
        }
    }
    if wine().is_some() && !home.exists() {
        windows::lay_out(&home);
    }
    let plugins = home.join(".local/share/portcullis/plugins");
    fs::create_dir_all(&plugins).expect("the target folder can be written");
    let mut config = String::from("[host]\nbundled = false\n[commands.none]\nprogram = \"none\"\n");
    for (name, component) in components {
        fs::copy(component, plugins.join(format!("{name}.wasm"))).expect("it was built");
        for grant in [
            "files]\naccess = \"write\"",
            "http]\nhosts = [\"a.example\"]",
            "process]\ncommands = [\"none\"]",
            "store]\nbytes = 1",
            "cache]\nbytes = 1",
            "catalog]\nread = [\"tools\"]",
            "tools]\ncall = [\"*\"]",
        ] {
            config += &format!("[plugins.{name}.grants.{grant}\n");
        }
    }
    let file = home.join("portcullis.toml");
    fs::write(&file, config).expect("the target folder can be written");
    let output = home::binary(&home, &[])
        .args(["plugin", "list", "--json", "--config"])
        .arg(windows::path(&file))
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let list: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("`plugin list` failed: {error}\n{said}"));
    let listed = list["plugins"].as_array().expect("plugins");
    for name in components.keys().filter(|name| *name != "sockets") {
        let listed = listed.iter().find(|plugin| plugin["name"] == **name);
        assert!(
            listed.is_some_and(|plugin| plugin["state"] == "loaded"),
            "the guest `{name}` was not loaded: {listed:#?}\n{said}"
        );
    }
    home.join(".cache/portcullis")
}
