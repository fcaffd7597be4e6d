//! A real Redis or Valkey server for tests.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use portcullis_cluster_state::{Address, ClusterState, Credentials, Key, StateError};

/// A server in a folder of its own. It ends when this value is dropped.
pub struct Server {
    process: Child,
    /// The option for the port.
    port_option: &'static str,
    /// The port.
    pub port: u16,
    folder: tempfile::TempDir,
    options: Vec<String>,
}

impl Server {
    /// Starts a server with these options.
    pub fn start(options: &[&str]) -> Self {
        Self::start_at("--port", options)
    }

    /// Starts a server that serves TLS only.
    pub fn start_with_tls(options: &[&str]) -> Self {
        let options: Vec<_> = ["--port", "0"].iter().chain(options).copied().collect();
        Self::start_at("--tls-port", &options)
    }

    fn start_at(port_option: &'static str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let process = run(port_option, port, folder.path(), &options);
        let server = Self { process, port_option, port, folder, options };
        server.wait();
        server
    }

    fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < until, "the server starts");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server, and starts it again with its data.
    pub fn restart(&mut self) {
        self.kill();
        self.process = run(self.port_option, self.port, self.folder.path(), &self.options);
        self.wait();
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends a signal to the server.
    pub fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// The state in the server, sealed with these keys.
    pub fn state(&self, keys: &[u8]) -> ClusterState {
        self.state_with(keys, Credentials::default()).unwrap()
    }

    /// The state in the server, with credentials.
    pub fn state_with(
        &self,
        keys: &[u8],
        credentials: Credentials,
    ) -> Result<ClusterState, StateError> {
        let address = Address::parse(&format!("redis://127.0.0.1:{}/2", self.port)).unwrap();
        let keys: Vec<Key> = keys.iter().map(|number| [*number; 32]).collect();
        ClusterState::new(&address, credentials, &keys)
    }

    /// What the server answers to `redis-cli`.
    pub fn ask(&self, words: &[&str]) -> String {
        let port = self.port.to_string();
        let asked =
            Command::new("redis-cli").args(["-p", &port, "-n", "2", "--raw"]).args(words).output();
        String::from_utf8_lossy(&asked.unwrap().stdout).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _waited = self.process.wait();
    }
}

fn run(port_option: &str, port: u16, folder: &Path, options: &[String]) -> Child {
    let program = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
    Command::new(&program)
        .args([port_option, &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .arg("--dir")
        .arg(folder)
        .args(["--appendonly", "yes", "--appendfsync", "always"])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} cannot be started: {error}"))
}
