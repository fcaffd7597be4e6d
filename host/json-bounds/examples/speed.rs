//! Measures how fast messages of several kinds are scanned: `cargo run --release --example speed`.

use std::hint::black_box;
use std::time::Instant;

use portcullis_json_bounds::scan;

fn main() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}"#;
    let row = r#"{"id":12345,"name":"a name of some length","tags":["a","bc"],"ratio":0.25,"open":true},"#;
    let texts = [
        ("a call of 100 bytes", call.to_owned()),
        ("a text", format!("\"{}\"", "x".repeat(10_000_000))),
        (
            "a text with line ends",
            format!(
                "\"{}\"",
                "a line of a source file, 50 bytes long altogether\\n".repeat(200_000)
            ),
        ),
        ("a table", format!("[{}0]", row.repeat(100_000))),
        ("numbers", format!("[{}0]", "12345,".repeat(1_000_000))),
        ("zeros", format!("[{}0]", "0,".repeat(5_000_000))),
    ];
    for (what, text) in &texts {
        let rounds = (200_000_000 / text.len()).max(1);
        let began = Instant::now();
        for _ in 0..rounds {
            black_box(scan(black_box(text.as_bytes())));
        }
        let time = began.elapsed().as_secs_f64();
        let (bytes, rounds) = (text.len() as f64 * rounds as f64, rounds as f64);
        println!("{what}: {:.2} GB/s, {:.3} us each", bytes / time / 1e9, time / rounds * 1e6);
    }
}
