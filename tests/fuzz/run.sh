#!/usr/bin/env bash
# Fuzzes a parser of untrusted bytes: `run.sh TARGET SECONDS`, with libFuzzer and a stable compiler. It needs a C++
# compiler. The target `config` is a part of the host, which is not built with coverage, so it runs without coverage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
name="${1:?run.sh TARGET SECONDS, where TARGET is a folder of corpus/}" seconds="${2:-60}"
[ -d "corpus/$name" ] || { echo "there is no target \`$name\`; there are: $(ls corpus | tr '\n' ' ')" >&2; exit 2; }
if [ "$name" = config ]; then
    export FUZZ_SECONDS="$seconds"
    exec cargo test --package portcullis --test blackbox -- configurations:: --nocapture
fi
target="${CARGO_TARGET_DIR:-../../target}/fuzz-host"
host="$(rustc -vV | sed -n 's/^host: //p')"
# The flags of cargo-fuzz, without AddressSanitizer, which needs a nightly compiler.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Ccodegen-units=4 $coverage" \
    cargo build --locked --release --manifest-path libfuzzer/Cargo.toml --target "$host" --target-dir "$target"
found="$target/corpus-$name"
mkdir -p "$found"
FUZZ_TARGET="$name" "$target/$host/release/fuzz" -max_total_time="$seconds" -max_len=16384 -timeout=10 \
    -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$target/$name-" "$found" "corpus/$name"
