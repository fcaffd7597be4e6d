//! Measures programs in code mode: compares the time of a run with that of plain calls, and the time of a call in a run
//! with that of a plain call. All calls are of the tool `echo`, which answers at once.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::report::{load, median, time};
use crate::requests::{Era, call};
use crate::server::Portcullis;
use crate::stdio::Stdio;

/// The program of some forty lines: ten calls, 1,000 rows, regular expressions, a class and a generator.
const FORTY_LINES: &str = include_str!("program.js");

/// Number of calls that one of the programs makes, one after the other.
const CALLS: u32 = 100;

const ROUNDS: usize = 60;
/// In each round, each kind of call is measured this many times in a row. Portcullis makes the instance for the next
/// call between two calls.
const TURN: usize = 5;

/// Time between an answer and the next call. A model needs more. Making the next instance takes some 5 ms, and a call that
/// comes earlier waits for it.
const PAUSE: Duration = Duration::from_millis(20);

/// Measures programs and prints a table.
pub fn measure(portcullis: &Portcullis) {
    let before = load();
    println!("\n| programs | p50 | goal |\n|---|---|---|");
    for era in [Era::Legacy, Era::Modern] {
        let mut session = Stdio::start(portcullis.server(), era);
        session.list_tools();
        let program = |code: &str| call(era, "run_code", &json!({ "code": code }));
        let in_turn = format!(
            "for (let n = 0; n < {CALLS}; n += 1) await tools.echo.echo({{ text: 'hello' }});"
        );
        let lines = [
            call(era, "echo", &json!({ "text": "hello" })),
            program("return 1 + 1"),
            program("typeof tools.echo.echo"),
            program(&in_turn),
            program(FORTY_LINES),
        ];
        for line in &lines {
            session.exchange(line);
        }
        let mut times = lines.each_ref().map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for (line, times) in lines.iter().zip(&mut times) {
                for _ in 0..TURN {
                    std::thread::sleep(PAUSE);
                    let began = Instant::now();
                    session.exchange(line);
                    times.push(began.elapsed());
                }
            }
        }
        print(era, times.map(median));
        session.end();
    }
    println!("\nload before {before}, after {}", load());
}

fn print(era: Era, [plain, short, naming, calling, long]: [Duration; 5]) {
    let inner = calling.saturating_sub(naming) / CALLS;
    let ratio = inner.as_secs_f64() / plain.as_secs_f64();
    let rows = [
        ("a plain call", time(plain), String::new()),
        ("`return 1 + 1`", time(short), String::new()),
        ("- more than a plain call", time(short.saturating_sub(plain)), "1 ms".to_owned()),
        ("a program that names a tool", time(naming), String::new()),
        ("40 lines with ten calls", time(long), String::new()),
        ("- more than ten plain calls", time(long.saturating_sub(plain * 10)), "60 ms".to_owned()),
        ("one of 100 calls, one after the other", time(inner), String::new()),
        ("- beside a plain call", format!("{ratio:.2} x"), "1.5 x".to_owned()),
    ];
    for (what, figure, goal) in rows {
        println!("| {what}, {era} | {figure} | {goal} |");
    }
}
