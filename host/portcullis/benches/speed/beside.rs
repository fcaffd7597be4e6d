//! Compares Portcullis with a minimal native server, and adds the rows of the comparison to a report.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::http::{Connection, HttpServer, echo_in_flight};
use crate::process::{processor_time, resident};
use crate::report::{Goal, Report, median};
use crate::requests::{Era, call, manifest_call};
use crate::server::{Portcullis, Server, Servers};
use crate::stdio::Stdio;

const STARTS: usize = 30;
const WARM_UP: usize = 500;
/// Number of calls of one turn over stdio, if one call is in flight. Over HTTP, a turn has a fifth of them.
const TURN: usize = 500;
const TURNS: usize = 10;
/// Number of calls of one turn, if several calls are in flight.
const IN_TURN: u32 = 1000;
const IN_FLIGHT: u32 = 16;
const VALIDATIONS: usize = 200;
/// Number of plugins besides `echo` in the measurement of a start with many plugins.
const MORE_PLUGINS: usize = 99;

/// The very first start, which compiles the guest and reads its manifest.
pub fn first_start(servers: &Servers, report: &mut Report) {
    let began = Instant::now();
    let mut session = Stdio::start(servers.portcullis.server(), Era::Legacy);
    session.list_tools();
    report.alone("first start ever, to the list of tools", began.elapsed(), None);
}

/// Starts of both servers in turns, and starts of Portcullis with a hundred plugins.
pub fn starts(servers: &Servers, report: &mut Report) {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (server, times) in servers.both().into_iter().zip(&mut times) {
            times.push(start(server));
        }
    }
    let goals = [Goal::Ratio(3.0), Goal::AtMost(Duration::from_millis(10))];
    report.times("start, to `initialize` answered", &mut times, &goals);
    let many = Portcullis::with_plugins(MORE_PLUGINS);
    let times = (0..STARTS).map(|_| start(many.server())).collect();
    let goal = Some(Duration::from_millis(6));
    report.alone("start with 100 plugins, p50", median(times), goal);
}

/// The time of a start, until the first request is answered.
pub fn start(server: Server) -> Duration {
    let began = Instant::now();
    let session = Stdio::start(server, Era::Legacy);
    let spent = began.elapsed();
    session.end();
    spent
}

/// Calls over stdio, one and several in flight, with memory and processor time.
pub fn stdio(servers: &Servers, era: Era, report: &mut Report) {
    let mut sessions = servers.both().map(|server| Stdio::start(server, era));
    for session in &mut sessions {
        session.list_tools();
    }
    if era == Era::Legacy {
        std::thread::sleep(Duration::from_millis(500));
        let idle = sessions.each_ref().map(|session| resident(session.process()));
        report.memory("resident when idle, tools listed", idle, Some(25 * 1024 * 1024));
    }
    for session in &mut sessions {
        sequential(WARM_UP, || session.echo());
    }
    let bytes = sessions.each_ref().map(Stdio::answer_bytes);
    let begun = sessions.each_ref().map(|session| processor_time(session.process()));
    let mut times = in_turns(&mut sessions, TURN, Stdio::echo);
    let what = format!("echo over stdio, {era}");
    report.times(&what, &mut times, &[Goal::Ratio(2.0)]);
    let spent = since(begun, sessions.each_ref().map(Stdio::process));
    report.processor_time(&what, spent, (TURN * TURNS) as u32);
    report.bytes(&format!("{what}, an answer"), bytes);
    let what = format!("{IN_FLIGHT} in flight over stdio, {era}");
    let processes = sessions.each_ref().map(Stdio::process);
    let run = |session: &mut Stdio| session.echo_in_flight(IN_TURN, IN_FLIGHT);
    throughput(&what, &mut sessions, processes, run, 0.7, report);
    if era == Era::Modern {
        let loaded = sessions.each_ref().map(|session| resident(session.process()));
        report.memory("resident after this load", loaded, Some(28 * 1024 * 1024));
    }
    sessions.into_iter().for_each(Stdio::end);
}

/// Calls over HTTP: on one connection, and on several connections with one call in flight on each.
pub fn http(servers: &Servers, era: Era, report: &mut Report) {
    let servers = servers.both().map(HttpServer::start);
    let mut clients = servers.each_ref().map(|server| server.connect(era));
    for client in &mut clients {
        sequential(WARM_UP, || client.echo());
    }
    let mut times = in_turns(&mut clients, TURN / 5, Connection::echo);
    report.times(&format!("echo over HTTP, {era}"), &mut times, &[Goal::Ratio(1.25)]);
    let what = format!("{IN_FLIGHT} connections over HTTP, {era}");
    let connect = |server: &HttpServer| -> Vec<Connection> {
        (0..IN_FLIGHT).map(|_| server.connect(era)).collect()
    };
    let mut clients = servers.each_ref().map(connect);
    for client in &mut clients {
        echo_in_flight(client, IN_TURN);
    }
    let processes = servers.each_ref().map(HttpServer::process);
    let run = |client: &mut Vec<Connection>| echo_in_flight(client, IN_TURN);
    throughput(&what, &mut clients, processes, run, 0.75, report);
}

/// The times of calls of both servers, in turns of this many calls.
fn in_turns<S>(both: &mut [S; 2], calls: usize, call: fn(&mut S)) -> [Vec<Duration>; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (one, times) in both.iter_mut().zip(&mut times) {
            times.extend(sequential(calls, || call(one)));
        }
    }
    times
}

/// Adds the calls per second and the processor time of both servers, in turns. `run` makes [`IN_TURN`] calls, and returns
/// their time. `least`: the goal for the ratio.
fn throughput<S>(
    what: &str,
    both: &mut [S; 2],
    processes: [u32; 2],
    run: impl Fn(&mut S) -> Duration,
    least: f64,
    report: &mut Report,
) {
    let begun = processes.map(processor_time);
    let mut spent = [Duration::ZERO; 2];
    for _ in 0..TURNS {
        for (one, spent) in both.iter_mut().zip(&mut spent) {
            *spent += run(one);
        }
    }
    report.throughput(what, spent.map(per_second), Some(least));
    report.processor_time(what, since(begun, processes), IN_TURN * TURNS as u32);
}

/// What Portcullis adds to a call of another server.
pub fn wrapped(servers: &Servers, report: &mut Report) {
    let wrapping = servers.portcullis.wrapping(&servers.native);
    for era in [Era::Legacy, Era::Modern] {
        let mut sessions =
            [servers.native.clone(), wrapping.clone()].map(|server| Stdio::start(server, era));
        for session in &mut sessions {
            session.list_tools();
            sequential(WARM_UP, || session.echo());
        }
        let mut times = in_turns(&mut sessions, TURN, Stdio::echo);
        let [alone, wrapped] = times.each_ref().map(|times| median(times.clone()));
        report.times(&format!("the native server, wrapped, over stdio, {era}"), &mut times, &[]);
        let goal = Some(Duration::from_micros(80));
        report.alone("- more than the server alone, p50", wrapped.saturating_sub(alone), goal);
        sessions.into_iter().for_each(Stdio::end);
    }
}

/// Another host of components beside Portcullis, in turns, with the same component. `command` starts it over stdio; the
/// word `FOLDER` in it stands for the folder that has only this component, and `COMPONENT` for its file.
pub fn other_host(command: &str, report: &mut Report) {
    let portcullis = Portcullis::with("stranger");
    let both = [portcullis.other_host(command), portcullis.server()];
    let mut sessions = both.map(|server| Stdio::start(server, Era::Legacy));
    for session in &mut sessions {
        session.list_tools();
        let tool = session.listed().into_iter().find(|name| name.ends_with("shout"));
        session.use_tool(&tool.expect("the host lists the component's tool `shout`"), "hello");
        sequential(WARM_UP, || session.echo());
    }
    let mut times = in_turns(&mut sessions, TURN, Stdio::echo);
    report.times("a plain component over stdio, `native`: the other host", &mut times, &[]);
    sessions.into_iter().for_each(Stdio::end);
}

/// The first list and the first call of a large component on a cold cache.
pub fn large_component(file: &Path, tool: &str, report: &mut Report) {
    let portcullis = Portcullis::with_component(file);
    let began = Instant::now();
    let mut session = Stdio::start(portcullis.server(), Era::Legacy);
    session.list_tools();
    report.alone("a large component on a cold cache, to the list of tools", began.elapsed(), None);
    session.exchange(&call(Era::Legacy, tool, &serde_json::json!({})));
    let goal = Some(Duration::from_secs(10));
    report.alone("a large component on a cold cache, to the first answer", began.elapsed(), goal);
    session.end();
}

/// A tool that reads a project and validates one of its files.
pub fn validation(servers: &Servers, report: &mut Report) {
    let project = tempfile::tempdir().expect("a folder for a project");
    let server = servers.portcullis.server().with_root(project.path());
    let request = manifest_call(project.path());
    let mut session = Stdio::start(server, Era::Legacy);
    session.list_tools();
    let began = Instant::now();
    session.exchange(&request);
    report.alone("run_manifest_validation, first call", began.elapsed(), None);
    let times = sequential(VALIDATIONS, || session.exchange(&request));
    report.alone("run_manifest_validation, p50", median(times), None);
    session.end();
}

/// The times of this many calls, one after the other.
pub fn sequential(calls: usize, mut call: impl FnMut()) -> Vec<Duration> {
    let timed = |_| {
        let began = Instant::now();
        call();
        began.elapsed()
    };
    (0..calls).map(timed).collect()
}

fn per_second(spent: Duration) -> f64 {
    f64::from(IN_TURN) * TURNS as f64 / spent.as_secs_f64()
}

/// The processor time that each of two processes has used since.
fn since(begun: [Option<Duration>; 2], processes: [u32; 2]) -> [Option<Duration>; 2] {
    let [native, own] = processes.map(processor_time);
    let spent = |now: Option<Duration>, then: Option<Duration>| Some(now? - then?);
    [spent(native, begun[0]), spent(own, begun[1])]
}
