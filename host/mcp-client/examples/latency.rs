//! Compares the latency of an upstream with that of a plain pipe to the same program: `latency COUNT TOOL ARGUMENTS --
//! COMMAND [ARGUMENT]…`, as in `latency 20000 echo '{"message":"hi"}' -- node server.js`.
//!
//! The upstream and the pipe are measured in turn, so that other load of the machine affects both figures.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use portcullis_mcp_client::{ClientSettings, Object, RequestOutcome, Upstream, UpstreamRequest};
use serde_json::{Value, json};

/// Number of calls before the measurement begins.
const WARM_UP: usize = 200;

/// Number of calls in one turn, over the upstream or over the pipe.
const TURN: usize = 100;

/// Number of concurrent requests when throughput is measured.
const AT_ONCE: usize = 16;

/// A program that is called over a plain pipe.
struct Pipe {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Pipe {
    fn open(command: &[String]) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (program, arguments) = command.split_first().ok_or("the command is missing")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut pipe = Self { child, stdin, stdout, next: 1 };
        let client = json!({"name": "latency", "version": "0.1.0"});
        pipe.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        )?;
        writeln!(pipe.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(pipe)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let id = self.next;
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err("the program has ended".into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id && answer.get("method").is_none() {
                return Ok(answer["result"].clone());
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // On a worker thread of the runtime, as in a server.
    tokio::spawn(async { measure().await.map_err(|error| error.to_string()) }).await??;
    Ok(())
}

async fn measure() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, tool, given, dashes, command @ ..] = &arguments[..] else {
        return Err("latency COUNT TOOL ARGUMENTS -- COMMAND [ARGUMENT]…".into());
    };
    if dashes != "--" {
        return Err("`--` goes before the command".into());
    }
    let count: usize = count.parse()?;
    let plain = json!({"name": tool, "arguments": serde_json::from_str::<Value>(given)?});
    let params = plain.as_object().cloned().unwrap_or_default();
    let mut pipe = Pipe::open(command)?;
    let definition =
        json!({"command": command.first(), "args": command.get(1..), "protocol": "legacy"});
    let client = ClientSettings::new("latency", "0.1.0");
    let upstream = Upstream::new("measured", serde_json::from_value(definition)?, client)?;
    let (mut direct, mut through) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..WARM_UP {
        answered(&upstream, &params).await?;
        pipe.ask("tools/call", &plain)?;
    }
    for _ in 0..count.div_ceil(TURN) {
        tokio::task::block_in_place(|| {
            for _ in 0..TURN {
                let begun = Instant::now();
                pipe.ask("tools/call", &plain)?;
                direct.push(begun.elapsed());
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        })?;
        for _ in 0..TURN {
            let begun = Instant::now();
            answered(&upstream, &params).await?;
            through.push(begun.elapsed());
        }
    }
    println!("{:10} {:>9} {:>9}", "", "p50 us", "p99 us");
    show("pipe", &mut direct);
    show("upstream", &mut through);
    println!(
        "{AT_ONCE} at once: {:.0} calls a second",
        throughput(&upstream, &params, count).await?
    );
    upstream.close().await;
    Ok(())
}

/// The number of calls per second, with `AT_ONCE` concurrent calls.
async fn throughput(
    upstream: &Upstream,
    params: &Object,
    count: usize,
) -> Result<f64, Box<dyn Error + Send + Sync>> {
    let begun = Instant::now();
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (upstream, params) = (upstream.clone(), params.clone());
            tokio::spawn(async move {
                for _ in 0..count / AT_ONCE {
                    answered(&upstream, &params).await.map_err(|error| error.to_string())?;
                }
                Ok::<_, String>(())
            })
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    Ok((count / AT_ONCE * AT_ONCE) as f64 / begun.elapsed().as_secs_f64())
}

async fn answered(
    upstream: &Upstream,
    params: &Object,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let request = UpstreamRequest::new("tools/call", params.clone(), "one");
    match upstream.request(request).outcome().await? {
        RequestOutcome::Complete(_) => Ok(()),
        other @ (RequestOutcome::NeedInput { .. } | RequestOutcome::Error(_)) => {
            Err(format!("{other:?}").into())
        }
    }
}

fn show(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len().saturating_sub(1))).map_or(0.0, |t| t.as_secs_f64() * 1e6)
    };
    println!("{name:10} {:9.1} {:9.1}", at(0.5), at(0.99));
}
