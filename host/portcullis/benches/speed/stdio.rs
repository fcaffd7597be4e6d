//! A client over stdin and stdout: raw JSON-RPC, one thread, blocking I/O.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio as Pipe};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::requests::{Era, echo, holds, initialize, initialized, line, request, require_result};
use crate::server::Server;

/// A server, and a client of it over stdin and stdout.
pub struct Stdio {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    era: Era,
    tool: String,
    echo: Vec<u8>,
    answer: Vec<u8>,
}

impl Stdio {
    /// Starts the server, and returns once the server has answered the first request.
    pub fn start(server: Server, era: Era) -> Self {
        let mut child = server
            .over_stdio()
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("the stream is a pipe");
        let output = BufReader::new(child.stdout.take().expect("the stream is a pipe"));
        let (tool, answer) = ("echo".to_owned(), Vec::new());
        let echo = line(&echo(1, era, &tool, "hello"));
        let mut session = Self { child, input, output, era, tool, echo, answer };
        match era {
            Era::Legacy => {
                session.exchange(&line(&initialize()));
                session.input.write_all(&line(&initialized())).expect("the server listens");
            }
            Era::Modern => session.exchange(&line(&request(0, era, "server/discover", json!({})))),
        }
        session
    }

    /// Calls this tool and sends this text from now on, instead of `echo` and `hello`.
    pub fn use_tool(&mut self, tool: &str, text: &str) {
        tool.clone_into(&mut self.tool);
        self.echo = line(&echo(1, self.era, tool, text));
    }

    /// Sends a line, and reads the answer, which must be a result.
    pub fn exchange(&mut self, line: &[u8]) {
        self.input.write_all(line).expect("the server listens");
        self.read();
    }

    fn read(&mut self) {
        self.answer.clear();
        // Notifications are skipped. The server sends one after it has compiled a plugin.
        while self.answer.is_empty() || is_notification(&self.answer) {
            self.answer.clear();
            let length = self.output.read_until(b'\n', &mut self.answer);
            assert_ne!(length.expect("the server answers"), 0, "the server has ended");
        }
        require_result(&self.answer);
    }

    /// Calls the tool and waits for its answer.
    pub fn echo(&mut self) {
        self.input.write_all(&self.echo).expect("the server listens");
        self.read();
    }

    /// The length of the last answer in bytes.
    pub fn answer_bytes(&self) -> usize {
        self.answer.len()
    }

    /// The time of this many calls of the tool, with at most `in_flight` of them in flight.
    pub fn echo_in_flight(&mut self, calls: u32, in_flight: u32) -> Duration {
        // Requests in flight at the same time need different ids.
        let request = |id| line(&echo(id, self.era, &self.tool, "hello"));
        let requests: Vec<_> = (0..calls).map(|id| request(100 + id)).collect();
        let (first, rest) = requests.split_at(in_flight.min(calls) as usize);
        let mut rest = rest.iter();
        let began = Instant::now();
        self.input.write_all(&first.concat()).expect("the server listens");
        for _ in 0..calls {
            self.read();
            if let Some(request) = rest.next() {
                self.input.write_all(request).expect("the server listens");
            }
        }
        began.elapsed()
    }

    /// Lists the tools.
    pub fn list_tools(&mut self) {
        let line = line(&request(2, self.era, "tools/list", json!({})));
        self.exchange(&line);
    }

    /// The names in the last answer, which was a list of tools.
    pub fn listed(&self) -> Vec<String> {
        let answer: serde_json::Value =
            serde_json::from_slice(&self.answer).expect("an answer is JSON");
        let tools = answer["result"]["tools"].as_array().expect("the answer lists tools");
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// The number of the server's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and stdout, as clients do, and waits until the server has ended.
    pub fn end(self) {
        let Self { mut child, input, output, .. } = self;
        drop((input, output));
        child.wait().expect("the server ends");
    }
}

/// Whether a line is a notification, and no answer. Only its beginning is searched: an answer may contain any text.
fn is_notification(line: &[u8]) -> bool {
    holds(&line[..line.len().min(80)], br#""method":"#)
}
