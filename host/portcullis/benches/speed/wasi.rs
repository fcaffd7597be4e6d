//! Measures components of WASI 0.3 beside one of WASI 0.2. Each has a server of its own, and they are called in turns.

use std::time::Instant;

use serde_json::{Value, json};

use crate::report::{load, median, time};
use crate::requests::{Era, call};
use crate::server::Portcullis;
use crate::stdio::Stdio;

const WARM_UP: usize = 300;
const ROUNDS: usize = 20;
/// Number of calls of each kind in a row.
const TURN: usize = 200;

/// Measures calls over stdio and prints a table.
pub fn measure() {
    let servers = ["stranger", "concurrent"].map(Portcullis::with);
    let mut sessions = servers.each_ref().map(|one| Stdio::start(one.server(), Era::Modern));
    let text = json!({"text": "hello"});
    let kinds: [(&str, usize, &str, &Value); 5] = [
        ("WASI 0.2: a function", 0, "shout", &text),
        ("WASI 0.3: a function that is not asynchronous", 1, "shout", &text),
        ("WASI 0.3: an asynchronous function", 1, "shout-async", &text),
        ("WASI 0.3: a stream of 1 number", 1, "count", &json!({"to": 1})),
        ("WASI 0.3: a stream of 1,000 numbers, one by one", 1, "count", &json!({"to": 1000})),
    ];
    let lines = kinds.map(|(_, server, tool, with)| (server, call(Era::Modern, tool, with)));
    for session in &mut sessions {
        session.list_tools();
    }
    for (server, line) in &lines {
        (0..WARM_UP).for_each(|_| sessions[*server].exchange(line));
    }
    let before = load();
    let mut times = lines.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((server, line), times) in lines.iter().zip(&mut times) {
            for _ in 0..TURN {
                let began = Instant::now();
                sessions[*server].exchange(line);
                times.push(began.elapsed());
            }
        }
    }
    let p50 = times.map(median);
    println!("\n| calls over stdio | p50 | ratio |\n|---|---|---|");
    for ((name, ..), p50_of) in kinds.iter().zip(&p50) {
        let ratio = p50_of.as_secs_f64() / p50[0].as_secs_f64();
        println!("| {name} | {} | {ratio:.2} |", time(*p50_of));
    }
    println!("\nload before {before}, after {}", load());
    sessions.into_iter().for_each(Stdio::end);
}
