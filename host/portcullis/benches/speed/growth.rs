//! Measures how times and memory grow: with plugins, sessions, calls in flight, the size of arguments, roots, upstream
//! servers and the length of the audit.

use std::path::Path;
use std::time::Duration;

use crate::beside::{sequential, start};
use crate::http::{Connection, HttpServer};
use crate::plot::{Curve, Plot};
use crate::process::resident;
use crate::report::{load, median};
use crate::requests::Era;
use crate::server::{Portcullis, Server, Servers};
use crate::stdio::Stdio;

const STARTS: usize = 15;
const WARM_UP: usize = 200;
const CALLS: usize = 1000;

/// Measures all curves, prints them as tables, and writes a picture of each into the folder. Says which of them grow
/// faster than what they depend on.
pub fn measure(servers: &Servers, folder: &Path) {
    make_folder(folder);
    let before = load();
    let plots = [
        plugins(),
        sessions(servers),
        in_flight(servers),
        arguments(servers),
        roots(servers),
        upstreams(servers),
        audit(),
    ];
    for plot in &plots {
        plot.print();
        plot.write(folder);
    }
    println!("\nload before {before}, after {}", load());
}

/// The medians of a start and of a call over stdio, of a server whose plugins are compiled already.
fn start_and_call(server: &Server) -> [f64; 2] {
    let mut session = Stdio::start(server.clone(), Era::Modern);
    session.list_tools();
    session.end();
    let starts = (0..STARTS).map(|_| start(server.clone())).collect();
    let mut session = Stdio::start(server.clone(), Era::Modern);
    session.list_tools();
    sequential(WARM_UP, || session.echo());
    let calls = sequential(CALLS, || session.echo());
    session.end();
    [median(starts), median(calls)].map(microseconds)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A plot of a start and of a call against numbers.
fn of_start_and_call(
    name: &'static str,
    against: &'static str,
    numbers: &[u32],
    mut server: impl FnMut(u32) -> [f64; 2],
) -> Plot {
    let mut curves = [Curve::new("start"), Curve::new("a call")];
    for &number in numbers {
        for (curve, value) in curves.iter_mut().zip(server(number)) {
            curve.points.push((f64::from(number), value));
        }
    }
    Plot { name, against, unit: "us", curves: curves.into() }
}

fn plugins() -> Plot {
    of_start_and_call("plugins", "plugins", &[1, 10, 30, 100, 300], |number| {
        start_and_call(&Portcullis::with_plugins(number as usize - 1).server())
    })
}

fn roots(servers: &Servers) -> Plot {
    let home = tempfile::tempdir().expect("a folder for roots");
    of_start_and_call("roots", "roots", &[1, 4, 16, 64], |number| {
        let mut server = servers.portcullis.server();
        for root in 0..number {
            let root = home.path().join(root.to_string());
            make_folder(&root);
            server = server.with_root(&root);
        }
        start_and_call(&server)
    })
}

#[expect(clippy::disallowed_methods, reason = "a benchmark may write to its own folder")]
fn make_folder(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder can be made");
}

fn upstreams(servers: &Servers) -> Plot {
    of_start_and_call("upstreams", "upstream servers", &[1, 4, 16, 32], |number| {
        start_and_call(&Portcullis::with_upstreams(&servers.native, number as usize).server())
    })
}

/// Calls before the measurement make the audit as long as it has to be.
fn audit() -> Plot {
    let portcullis = Portcullis::build();
    let mut recorded = 0;
    of_start_and_call("audit", "calls in the audit", &[1_000, 10_000, 100_000, 300_000], |number| {
        let mut session = Stdio::start(portcullis.server(), Era::Modern);
        session.list_tools();
        session.echo_in_flight(number - recorded, 16);
        session.end();
        recorded = number;
        start_and_call(&portcullis.server())
    })
}

/// A call in one of many sessions, and the memory of all of them.
fn sessions(servers: &Servers) -> Plot {
    let [mut calls, mut memory] = [Curve::new("a call (us)"), Curve::new("resident (MiB)")];
    for number in [1, 10, 100, 1000] {
        let server = HttpServer::start(servers.portcullis.server());
        let mut clients: Vec<Connection> =
            (0..number).map(|_| server.connect(Era::Legacy)).collect();
        let last = clients.last_mut().expect("there is a session");
        sequential(WARM_UP, || last.echo());
        let times = sequential(CALLS, || last.echo());
        let number = f64::from(number);
        calls.points.push((number, microseconds(median(times))));
        if let Some(bytes) = resident(server.process()) {
            memory.points.push((number, bytes as f64 / 1024.0 / 1024.0));
        }
    }
    Plot {
        name: "sessions",
        against: "sessions over HTTP",
        unit: "us or MiB",
        curves: vec![calls, memory],
    }
}

/// The time until all calls are answered that were sent together.
fn in_flight(servers: &Servers) -> Plot {
    const TOGETHER: u32 = 2000;
    let mut curves = [Curve::new("native"), Curve::new("portcullis")];
    for number in [1, 2, 4, 8, 16, 32, 64] {
        for (server, curve) in servers.both().into_iter().zip(&mut curves) {
            let mut session = Stdio::start(server, Era::Modern);
            session.list_tools();
            session.echo_in_flight(TOGETHER, number);
            let spent = session.echo_in_flight(TOGETHER, number);
            session.end();
            let together = microseconds(spent) / f64::from(TOGETHER) * f64::from(number);
            curve.points.push((f64::from(number), together));
        }
    }
    Plot {
        name: "in-flight",
        against: "calls in flight",
        unit: "us for all of them",
        curves: curves.into(),
    }
}

fn arguments(servers: &Servers) -> Plot {
    let mut curves = [Curve::new("native"), Curve::new("portcullis")];
    for bytes in [10, 1_000, 10_000, 100_000, 1_000_000, 4_000_000] {
        for (server, curve) in servers.both().into_iter().zip(&mut curves) {
            let mut session = Stdio::start(server, Era::Modern);
            session.list_tools();
            session.use_tool("echo", &"x".repeat(bytes));
            let calls = (2_000_000 / bytes).clamp(20, CALLS);
            sequential(calls.min(WARM_UP), || session.echo());
            let times = sequential(calls, || session.echo());
            session.end();
            curve.points.push((bytes as f64, microseconds(median(times))));
        }
    }
    Plot { name: "arguments", against: "bytes of the argument", unit: "us", curves: curves.into() }
}
