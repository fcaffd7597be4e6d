# What is done with this repository; `just` alone lists it.

_list:
    @just --list --unsorted

# Build the binary
build:
    cargo build

# Run every test of our own
test:
    cargo test

# Check formatting, and have clippy find nothing
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Build the documentation of the code
docs:
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps

# Let MCP clients that nobody here wrote call the built binary (needs npm, and Python with venv)
clients: build
    cd tests/clients && python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
    cd tests/clients && npm ci && npm test

# Run the conformance suite of MCP against the built binary (needs npm)
conformance: build
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    cargo build --quiet --package portcullis --package portcullis-upstream --example conformance-client
    cargo build --quiet --package guest-conformance --profile plugin --target wasm32-wasip2 --target-dir "$target/plugins"
    cd tests/conformance
    npm ci
    export PORTCULLIS="$target/debug/portcullis"
    export CONFORMANCE_CLIENT="$target/debug/examples/conformance-client"
    export CONFORMANCE_PLUGIN="$target/plugins/wasm32-wasip2/plugin/guest_conformance.wasm"
    npm test

# Build, lint and run what the UI5 tools make, and check the code in the guides (needs npm and chromium)
ui5: build
    cd tests/ui5-guides && npm ci --ignore-scripts && npm test
    cd tests/ui5 && npm ci --ignore-scripts && PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" npm test

# Compare what the UI5 tools say of the projects in a folder with what UI5's own engines say (needs npm)
compare-ui5 folder: build
    cd tests/ui5-compare && npm ci --ignore-scripts && PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" npm run compare -- {{folder}}

# Show views in hosts of seven kinds, and in `preview`, in Chromium (needs npm and chromium)
views: build
    cd tests/ui && npm ci --ignore-scripts && PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" npm test

# Read the packages of a folder with Unreal's, and compare with a facts file (FOLDER [FACTS])
check-unreal folder *facts:
    cargo run --release --package unreal-package --example check-unreal -- {{folder}} {{facts}}

# Read so many damaged packages, made of those of a folder: no panic, no hang, little memory
mutate-unreal folder count="1000000":
    cargo run --release --package unreal-package --features writer --example mutate -- {{folder}} {{count}}

# Fuzz the reader of Unreal's packages for so many seconds, with libFuzzer and a stable compiler (needs a C++ compiler)
fuzz-unreal seconds="60":
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/fuzz"
    host="$(rustc -vV | sed -n 's/^host: //p')"
    cd plugins/unreal-package/fuzz
    # As cargo-fuzz has it, without the sanitizer of addresses: that takes a nightly compiler, and here is no unsafe code.
    coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
    RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Ccodegen-units=1 $coverage" \
        cargo build --locked --release --target "$host" --target-dir "$target"
    mkdir -p "$target/corpus"
    "$target/$host/release/read" -max_total_time={{seconds}} -max_len=65536 -timeout=10 -rss_limit_mb=512 \
        -artifact_prefix="$target/" "$target/corpus" corpus/read

# Measure beside a native server; on a quiet machine
bench:
    cargo bench --package portcullis --bench speed

# Pack the manifest schemas anew (needs npm, pip and the network)
schemas:
    resources/ui5/make.sh

# Put the binary where cargo puts binaries
install:
    cargo install --path host --locked

# Every check there is
ci: lint test docs clients conformance ui5 views
