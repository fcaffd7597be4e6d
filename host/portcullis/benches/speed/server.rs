//! Builds the servers that are measured, and says how they are started.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// How a server is started.
#[derive(Clone)]
pub struct Server {
    program: PathBuf,
    args: Vec<OsString>,
    http: Vec<OsString>,
    home: PathBuf,
}

impl Server {
    /// The same server, with a root if it is started over stdio.
    pub fn with_root(mut self, root: &Path) -> Self {
        self.args.extend(["--root".into(), root.into()]);
        self
    }

    /// The command that serves MCP over stdio.
    pub fn over_stdio(&self) -> Command {
        self.command(&self.args)
    }

    /// The command that serves MCP over HTTP.
    pub fn over_http(&self) -> Command {
        self.command(&self.http)
    }

    fn command(&self, args: &[OsString]) -> Command {
        let mut command = command(&self.program);
        command.args(args).env_clear().env("HOME", &self.home);
        for (name, folder) in
            [("CONFIG", "config"), ("DATA", "data"), ("STATE", "state"), ("CACHE", "cache")]
        {
            command.env(format!("XDG_{name}_HOME"), self.home.join(folder));
        }
        command
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured are processes")]
fn command(program: &Path) -> Command {
    Command::new(program)
}

const ANY_PORT: &str = "127.0.0.1:0";

fn server(program: &Path, home: &Path, args: &[&str], http: &[&str]) -> Server {
    Server {
        program: program.to_owned(),
        args: args.iter().map(OsString::from).collect(),
        http: http.iter().map(OsString::from).collect(),
        home: home.to_owned(),
    }
}

/// Portcullis with plugins, and a temporary home folder for it.
pub struct Portcullis {
    server: Server,
    home: TempDir,
}

impl Portcullis {
    /// Portcullis with the plugin `echo`.
    pub fn build() -> Self {
        Self::with("echo")
    }

    /// Portcullis with a guest of `tests/guests` as its plugin. Builds the guest, because `cargo bench` does not build it.
    pub fn with(guest: &str) -> Self {
        let one = Self::without_plugins("");
        one.add_plugin(&build_guest(guest), guest);
        one
    }

    /// Portcullis with a component of this file as its only plugin.
    pub fn with_component(file: &Path) -> Self {
        let one = Self::without_plugins("");
        one.add_plugin(file, "component");
        one
    }

    /// Portcullis with the plugin `echo` and `more` other plugins, no two of which have the same bytes. All are compiled.
    pub fn with_plugins(more: usize) -> Self {
        let one = Self::build();
        let built = build_guest("stranger");
        for number in 0..more {
            let file = one.add_plugin(&built, &format!("more-{number}"));
            append_section(&file, &number.to_string());
        }
        one.compile_plugins();
        one
    }

    /// Waits until all plugins are compiled. A server does that in the background, and only as long as it runs.
    fn compile_plugins(&self) {
        let config = self.home.path().join("portcullis.toml");
        let args = ["plugin".into(), "list".into(), "--config".into(), config.into()];
        let listed = self.server.command(&args).output().expect("the program runs");
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    }

    /// Portcullis with the plugin `echo`, and with `count` upstream servers of this command.
    pub fn with_upstreams(native: &Server, count: usize) -> Self {
        let mut sections = String::new();
        for number in 0..count {
            let program = &native.program;
            write!(sections, "[upstreams.native-{number}]\ncommand = {program:?}\n")
                .expect("a String takes any text");
        }
        let one = Self::without_plugins(&sections);
        one.add_plugin(&build_guest("echo"), "echo");
        one
    }

    fn without_plugins(sections: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder for a home");
        let config = configure(home.path(), sections);
        let config = config.to_str().expect("a temporary folder has a plain name");
        let (stdio, http) =
            (["serve", "--config", config], ["serve", "--config", config, "--http", ANY_PORT]);
        let program = Path::new(env!("CARGO_BIN_EXE_portcullis"));
        Self { server: server(program, home.path(), &stdio, &http), home }
    }

    fn add_plugin(&self, built: &Path, name: &str) -> PathBuf {
        let file = plugins(self.home.path()).join(format!("{name}.wasm"));
        std::fs::copy(built, &file).expect("the file was built");
        file
    }

    /// How Portcullis is started.
    pub fn server(&self) -> Server {
        self.server.clone()
    }

    /// Another host of components with the plugins of this one: see [`crate::beside::other_host`].
    pub fn other_host(&self, command: &str) -> Server {
        let folder = plugins(self.home.path());
        let component = folder.join("stranger.wasm");
        let path = |word: &str| match word {
            "FOLDER" => folder.clone().into_os_string(),
            "COMPONENT" => component.clone().into_os_string(),
            _ => word.into(),
        };
        let mut words = command.split_whitespace().map(path);
        let program = words.next().expect("a command names a program").into();
        let (args, home) = (words.collect(), self.home.path().to_owned());
        Server { program, args, http: Vec::new(), home }
    }

    /// How Portcullis is started in front of this server.
    pub fn wrapping(&self, other: &Server) -> Server {
        let mut wrapping = self.server();
        wrapping.args = ["wrap", "--"].map(OsString::from).to_vec();
        wrapping.args.push(other.program.clone().into());
        wrapping
    }
}

/// Both servers.
pub struct Servers {
    /// The native server.
    pub native: Server,
    /// Portcullis.
    pub portcullis: Portcullis,
}

impl Servers {
    /// Builds the native server and the guest, because `cargo bench` does not build them.
    pub fn build() -> Self {
        let portcullis = Portcullis::build();
        // Without `--package`: with the features of one package, wasmtime would be built once more.
        cargo(&["build", "--release", "--example", "native-echo"]);
        let folder = portcullis.server.program.parent().expect("a binary lies in a folder");
        let native = folder.join(format!("examples/native-echo{}", env::consts::EXE_SUFFIX));
        let native = server(&native, portcullis.home.path(), &[], &[ANY_PORT]);
        Self { native, portcullis }
    }

    /// Both servers, the native one first.
    pub fn both(&self) -> [Server; 2] {
        [self.native.clone(), self.portcullis.server()]
    }
}

fn plugins(home: &Path) -> PathBuf {
    home.join("plugins")
}

/// Builds a guest of `tests/guests` and returns its file.
fn build_guest(guest: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("plugins");
    let target_dir = target.to_str().expect("the target folder has a plain name");
    let profile = ["--profile", "plugin", "--target", "wasm32-wasip2"];
    let package = format!("guest-{guest}");
    let build = ["build", "--package", &package, "--target-dir", target_dir];
    cargo(&[build.as_slice(), &profile].concat());
    target.join(format!("wasm32-wasip2/plugin/guest_{guest}.wasm"))
}

/// Writes a configuration with a folder of plugins.
#[expect(clippy::disallowed_methods, reason = "a benchmark may write to its own folder")]
fn configure(home: &Path, sections: &str) -> PathBuf {
    let plugins = plugins(home);
    std::fs::create_dir_all(&plugins).expect("the home can be written to");
    let config = home.join("portcullis.toml");
    let text = format!(
        "[host]\nplugin-dirs = [{plugins:?}]\n\
         [http]\nrequests-per-second = 1_000_000\nsessions = 4096\nsessions-per-principal = 4096\n\
         connections = 8192\n{sections}"
    );
    std::fs::write(&config, text).expect("the home can be written to");
    config
}

/// Appends a custom section, which has no meaning, so that the bytes of this component are unlike those of any other.
#[expect(clippy::disallowed_methods, reason = "a benchmark may write to its own folder")]
fn append_section(component: &Path, content: &str) {
    const NAME: &str = "number";
    let mut bytes = std::fs::read(component).expect("the component was written");
    let length = u8::try_from(1 + NAME.len() + content.len()).expect("a section of some bytes");
    // The id of a custom section, its length, the length of its name, and the name.
    bytes.extend([0, length, NAME.len() as u8]);
    bytes.extend(NAME.bytes().chain(content.bytes()));
    std::fs::write(component, bytes).expect("the home can be written to");
}

#[expect(clippy::disallowed_methods, reason = "cargo says where cargo is")]
fn cargo(args: &[&str]) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(Path::new(&cargo));
    command.args(args).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    // The build script of `ring` asks to be run again whenever one of these variables of `cargo bench` differs, and all
    // that needs TLS would be built once more, now and after the benchmark.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_")
            || name.to_string_lossy().starts_with("CARGO_MANIFEST_")
        {
            command.env_remove(name);
        }
    }
    let status = command.status().expect("cargo runs");
    assert!(status.success(), "cargo {}: {status}", args.join(" "));
}
