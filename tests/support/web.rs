//! A fake web server on this machine: files, and scripted responses.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use super::PATIENCE;
use super::http::Message;

/// A scripted response for one path.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scripted {
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    body: String,
    /// The contents of a file, instead of `body`.
    #[serde(skip)]
    file: Option<Vec<u8>>,
    /// Number of additional bytes of the body.
    bytes: usize,
    /// Wait until the client gives up: before the response headers, or after the body so far.
    hang: Option<Hang>,
    /// Send an endless body until the client gives up.
    endless: bool,
    /// Respond with the request itself.
    mirror: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Hang {
    Head,
    Body,
}

/// A web server; stops with the test.
pub struct Web {
    /// Its address.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    folder: Option<PathBuf>,
    script: Mutex<BTreeMap<String, Scripted>>,
    /// Requests, sorted by connection and by position in the connection: a request is recorded when its body ends,
    /// which may be late.
    asked: Mutex<BTreeMap<(usize, usize), String>>,
    stopped: AtomicBool,
}

impl Web {
    /// Serves the files of a folder, and the responses in its `answers.json`.
    pub fn start(folder: Option<&Path>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback address");
        let address = listener.local_addr().expect("a loopback address");
        let shared = Arc::new(Shared {
            folder: folder.map(Path::to_owned),
            script: Mutex::default(),
            asked: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let script = folder.map(|folder| folder.join("answers.json")).filter(|file| file.exists());
        if let Some(file) = script {
            let text = std::fs::read_to_string(file).expect("it exists");
            let text = text.replace("$WEB", &address.to_string());
            let script = serde_json::from_str(&text).expect("answers.json is a script");
            *shared.script.lock().expect("nobody has it yet") = script;
        }
        let serving = shared.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), serving) = (stream, serving.clone()) else { continue };
                std::thread::spawn(move || serving.serve(number, stream));
            }
        });
        Self { address, shared }
    }

    /// Sets the response for a path, from JSON.
    pub fn answer(&self, path: &str, scripted: serde_json::Value) {
        let scripted = serde_json::from_value(scripted).expect("a scripted answer");
        let mut script = self.shared.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.insert(path.to_owned(), scripted);
    }

    /// How many connections have carried a request so far.
    pub fn connections(&self) -> usize {
        let asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.keys().map(|(connection, _)| connection).collect::<BTreeSet<_>>().len()
    }

    /// All requests so far: the request line, followed by its headers.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.values().cloned().collect()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        let _woken = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, number: usize, stream: TcpStream) {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let mut reader = BufReader::new(stream.try_clone().expect("a connection"));
        for place in 0.. {
            let Some(request) = Message::read(&mut reader) else { return };
            let shown = show(&request);
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.insert((number, place), shown.clone());
            drop(asked);
            if self.reply(&request, &shown, &stream, &mut reader).is_err() {
                return;
            }
        }
    }

    fn reply(
        &self,
        request: &Message,
        shown: &str,
        mut stream: &TcpStream,
        reader: &mut BufReader<TcpStream>,
    ) -> std::io::Result<()> {
        let target = request.line.split(' ').nth(1).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default();
        let scripted =
            self.script.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let Scripted { status, headers, body, file, bytes, hang, endless, mirror } =
            scripted.unwrap_or_else(|| self.file(path));
        if hang == Some(Hang::Head) {
            return until_closed(reader);
        }
        let mut body = file.unwrap_or_else(|| body.into_bytes());
        if mirror {
            body.extend(format!("{shown}\n{}", request.text()).into_bytes());
        }
        body.resize(body.len() + bytes, b'x');
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", status.unwrap_or(200));
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let length = if endless || hang.is_some() { 1 << 40 } else { body.len() };
        head += &format!("content-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)?;
        if hang.is_some() {
            return until_closed(reader);
        }
        if !endless {
            return Ok(());
        }
        loop {
            stream.write_all(&[b'x'; 65_536])?;
        }
    }

    fn file(&self, path: &str) -> Scripted {
        let file = self.folder.as_ref().map(|folder| folder.join(path.trim_start_matches('/')));
        match file.and_then(|file| std::fs::read(file).ok()) {
            file @ Some(_) => Scripted { file, ..Scripted::default() },
            None => Scripted { status: Some(404), ..Scripted::default() },
        }
    }
}

/// Waits until the client closes the connection.
fn until_closed(reader: &mut BufReader<TcpStream>) -> std::io::Result<()> {
    std::io::copy(reader, &mut std::io::sink())?;
    Err(std::io::ErrorKind::ConnectionAborted.into())
}

fn show(request: &Message) -> String {
    let mut headers: Vec<_> =
        request.headers.iter().map(|(name, value)| format!("\n  {name}: {value}")).collect();
    headers.sort_unstable();
    format!("{}{}", request.line.trim_end_matches(" HTTP/1.1"), headers.concat())
}
