#!/usr/bin/env bash
# Fuzzes the reader of Unreal packages for the given number of seconds (default 60), with libFuzzer and a stable
# compiler. It needs a C++ compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target="${CARGO_TARGET_DIR:-../../../../../target}/fuzz"
host="$(rustc -vV | sed -n 's/^host: //p')"
# The options of cargo-fuzz without the address sanitizer, which needs a nightly compiler; there is no unsafe code here.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Ccodegen-units=1 $coverage" \
    cargo build --locked --release --target "$host" --target-dir "$target"
mkdir -p "$target/corpus"
"$target/$host/release/read" -max_total_time="${1:-60}" -max_len=65536 -timeout=10 -rss_limit_mb=512 \
    -artifact_prefix="$target/" "$target/corpus" corpus/read
