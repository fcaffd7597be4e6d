//! Compares Portcullis with a minimal native server, and programs in code mode with plain calls: `just bench`.
//!
//! Both servers are driven by the same code over the same kinds of pipe and socket, in turns, so
//! that other load of the machine affects both alike. The native server only answers.
//! Portcullis also checks the arguments, asks the gate, makes a fresh instance, records the call in its
//! audit and checks the answer.
//!
//! With the argument `programs`, only programs in code mode are measured, and with `wasi`, only components of WASI 0.3
//! beside one of WASI 0.2. The native server is not built then.

mod programs;
mod report;
mod server;
mod wasi;

use std::time::{Duration, Instant};

use report::{Goal, Report};
use server::{Era, Http, Portcullis, Servers, Stdio, manifest_call};

const STARTS: usize = 30;
const WARM_UP: usize = 500;
/// Number of calls of one turn over stdio, if one call is in flight. Over HTTP, a turn has a fifth of them.
const TURN: usize = 500;
const TURNS: usize = 10;
/// Number of calls of one turn, if several calls are in flight.
const IN_TURN: u32 = 1000;
const IN_FLIGHT: u32 = 16;
const VALIDATIONS: usize = 200;

fn main() {
    // `cargo bench` passes this argument. `cargo test --benches` does not, and nothing is measured.
    let is_given = |name: &str| std::env::args().any(|argument| argument == name);
    if !is_given("--bench") {
        return;
    }
    if is_given("programs") {
        return programs::measure(&Portcullis::build());
    }
    if is_given("wasi") {
        return wasi::measure();
    }
    let servers = Servers::build();
    let mut report = Report::begin();
    first_start(&servers, &mut report);
    starts(&servers, &mut report);
    for era in [Era::Legacy, Era::Modern] {
        stdio(&servers, era, &mut report);
    }
    http(&servers, &mut report);
    validation(&servers, &mut report);
    report.print();
    programs::measure(&servers.portcullis);
    wasi::measure();
}

/// The very first start, which compiles the guest and reads its manifest.
fn first_start(servers: &Servers, report: &mut Report) {
    let began = Instant::now();
    let mut session = Stdio::start(servers.portcullis.server(), Era::Legacy);
    session.list_tools();
    report.alone("first start ever, to the list of tools", began.elapsed());
}

fn starts(servers: &Servers, report: &mut Report) {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (server, times) in servers.both().into_iter().zip(&mut times) {
            let began = Instant::now();
            let session = Stdio::start(server, Era::Legacy);
            times.push(began.elapsed());
            session.end();
        }
    }
    let goals = [Goal::Ratio(3.0), Goal::AtMost(Duration::from_millis(10))];
    report.times("start, to `initialize` answered", &mut times, &goals);
}

fn stdio(servers: &Servers, era: Era, report: &mut Report) {
    let mut sessions = servers.both().map(|server| Stdio::start(server, era));
    if era == Era::Legacy {
        for session in &mut sessions {
            session.list_tools();
        }
        std::thread::sleep(Duration::from_millis(500));
        let idle = sessions.each_ref().map(Stdio::resident);
        report.memory("resident when idle, tools listed", idle, Some(25 * 1024 * 1024));
    }
    let mut times = [Vec::new(), Vec::new()];
    for session in &mut sessions {
        sequential(WARM_UP, || session.echo());
    }
    for _ in 0..TURNS {
        for (session, times) in sessions.iter_mut().zip(&mut times) {
            times.extend(sequential(TURN, || session.echo()));
        }
    }
    report.times(&format!("echo over stdio, {era}"), &mut times, &[Goal::Ratio(2.0)]);
    let mut spent = [Duration::ZERO; 2];
    for _ in 0..TURNS {
        for (session, spent) in sessions.iter_mut().zip(&mut spent) {
            *spent += session.echo_in_flight(IN_TURN, IN_FLIGHT);
        }
    }
    report.throughput(
        &format!("{IN_FLIGHT} in flight over stdio, {era}"),
        spent.map(|spent| f64::from(IN_TURN) * TURNS as f64 / spent.as_secs_f64()),
    );
    if era == Era::Modern {
        let loaded = sessions.each_ref().map(Stdio::resident);
        report.memory("resident after this load", loaded, None);
    }
    for session in sessions {
        session.end();
    }
}

fn http(servers: &Servers, report: &mut Report) {
    let mut clients = servers.both().map(Http::start);
    let mut times = [Vec::new(), Vec::new()];
    for client in &mut clients {
        sequential(WARM_UP, || client.echo());
    }
    for _ in 0..TURNS {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            times.extend(sequential(TURN / 5, || client.echo()));
        }
    }
    report.times("echo over HTTP, 2026-07-28", &mut times, &[]);
}

fn validation(servers: &Servers, report: &mut Report) {
    let project = tempfile::tempdir().expect("a folder for a project");
    let server = servers.portcullis.server().with_root(project.path());
    let request = manifest_call(project.path());
    let mut session = Stdio::start(server, Era::Legacy);
    session.list_tools();
    let began = Instant::now();
    session.exchange(&request);
    report.alone("run_manifest_validation, first call", began.elapsed());
    let mut times = sequential(VALIDATIONS, || session.exchange(&request));
    times.sort_unstable();
    report.alone("run_manifest_validation, p50", times[times.len() / 2]);
    session.end();
}

fn sequential(calls: usize, mut call: impl FnMut()) -> Vec<Duration> {
    let timed = |_| {
        let began = Instant::now();
        call();
        began.elapsed()
    };
    (0..calls).map(timed).collect()
}
