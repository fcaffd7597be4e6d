# Recipes of this repository; `just` without arguments lists them.

_list:
    @just --list --unsorted

_build:
    cargo build

# Run all tests of this repository
test:
    cargo test

# Check formatting and clippy, without warnings
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Build the documentation of the code, without warnings
docs:
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
    python3 resources/book/stage.py "${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/book"

# Make static pages of the documentation in target/book/html (needs mdBook: cargo install --locked mdbook@0.5.4)
book:
    #!/usr/bin/env bash
    set -euo pipefail
    book="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/book"
    python3 resources/book/stage.py "$book"
    mdbook build "$book"

# Test third-party MCP clients with the built binary (needs npm, and Python with venv)
clients: _build
    cd tests/clients && python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
    cd tests/clients && npm ci && npm test

# Compare public MCP servers with the same servers behind the built binary (needs npm, python and git)
servers: _build
    cd tests/servers && python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
    cd tests/servers && npm ci --ignore-scripts --omit=optional && PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" npm test

# Publish to, list, fetch from and update from Debian's registry on this machine (needs the package docker-registry)
registry: _build
    cargo build --quiet --package guest-echo --package guest-keeper --profile plugin --target wasm32-wasip2 --target-dir "${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/plugins"
    TARGET="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}" tests/registry/run.sh

# Call tools of two hosts through nginx and Caddy, with the files of resources/deploy (needs nginx and caddy)
proxies: _build
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    cargo build --quiet --package guest-conformance --profile plugin --target wasm32-wasip2 --target-dir "$target/plugins"
    PORTCULLIS="$target/debug/portcullis" PLUGIN="$target/plugins/wasm32-wasip2/plugin/guest_conformance.wasm" node tests/proxies/run.mjs

# Test the state that hosts share with a real Redis server, and sessions that three hosts serve (needs redis-server; REDIS_SERVER names another program, such as valkey-server)
sessions: _build
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    cargo test --quiet --test redis -- --include-ignored
    cargo build --quiet --package guest-conformance --package guest-keeper --profile plugin --target wasm32-wasip2 --target-dir "$target/plugins"
    plugins="$target/plugins/wasm32-wasip2/plugin"
    PORTCULLIS="$target/debug/portcullis" CONFORMANCE="$plugins/guest_conformance.wasm" KEEPER="$plugins/guest_keeper.wasm" node tests/cluster/sessions.mjs
    PORTCULLIS="$target/debug/portcullis" CONFORMANCE="$plugins/guest_conformance.wasm" KEEPER="$plugins/guest_keeper.wasm" node tests/cluster/approvals.mjs

# Like `sessions`, and test three hosts behind nginx while all programs are killed, paused and restarted (needs redis-server, nginx and openssl)
cluster calls="2000" *seed: sessions
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    plugins="$target/plugins/wasm32-wasip2/plugin"
    PORTCULLIS="$target/debug/portcullis" CONFORMANCE="$plugins/guest_conformance.wasm" KEEPER="$plugins/guest_keeper.wasm" node tests/cluster/run.mjs {{calls}} {{seed}}

# Measure how the throughput of a cluster grows with its hosts (needs redis-server)
throughput:
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    cargo build --quiet --release
    cargo build --quiet --package guest-conformance --package guest-keeper --profile plugin --target wasm32-wasip2 --target-dir "$target/plugins"
    plugins="$target/plugins/wasm32-wasip2/plugin"
    PORTCULLIS="$target/release/portcullis" CONFORMANCE="$plugins/guest_conformance.wasm" KEEPER="$plugins/guest_keeper.wasm" node tests/cluster/throughput.mjs

# Make projects with `portcullis new`, run the commands of their READMEs, and call their tools with third-party clients (LANGUAGE…; needs npm, Python with venv, and crates.io)
new *languages: _build
    cd tests/clients && python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
    cd tests/clients && npm ci
    PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" tests/projects/run.sh {{languages}}

# Make the crates of the SDK as they are published, and build and test a plugin with nothing but them (needs crates.io)
packages: _build
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    PORTCULLIS="$target/debug/portcullis" TARGET="$target" tests/packages/run.sh

# Run the conformance suite of MCP against the built binary (needs npm)
conformance: _build
    #!/usr/bin/env bash
    set -euo pipefail
    target="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    # Without `--package`: with the features of few packages, wasmtime would be built once more.
    cargo build --quiet --examples
    cargo build --quiet --package guest-conformance --profile plugin --target wasm32-wasip2 --target-dir "$target/plugins"
    cd tests/conformance
    npm ci
    export PORTCULLIS="$target/debug/portcullis"
    export CONFORMANCE_CLIENT="$target/debug/examples/conformance-client"
    export CONFORMANCE_PLUGIN="$target/plugins/wasm32-wasip2/plugin/guest_conformance.wasm"
    npm test

# Build, lint and run apps that the UI5 tools generate, and check the code in the guides (needs npm and chromium)
ui5: _build
    cd tests/ui5-guides && npm ci --ignore-scripts && npm test
    cd tests/ui5 && npm ci --ignore-scripts && PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" npm test

# Test views in seven kinds of hosts, and in `preview`, in Chromium (needs npm and chromium; takes less time with chromium-headless-shell)
views: _build
    cd tests/ui && npm ci --ignore-scripts && PORTCULLIS="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/debug/portcullis" npm test

# Show documents of models, good and hostile, in Firefox (needs npm and firefox-esr)
views-firefox:
    cd tests/ui && npm ci --ignore-scripts && npm run firefox

# Build the binary for Windows and run it under Wine, in the tests that pass there, and check that all code compiles for macOS (needs gcc-mingw-w64-x86-64 and wine64, and Python with venv; `--skip`: is no failure where the former are missing)
platforms *options: macos
    tests/platforms/windows.sh {{options}}

# Check that the program and its tests compile for macOS, on both of its processors (needs Python with venv, and PyPI)
macos:
    tests/platforms/macos.sh

# Build the bundled plugins of the last commit twice, in different folders, and compare them byte for byte
reproducible:
    tests/platforms/reproducible.sh

# Read the Unreal packages of a folder, and compare them with a facts file (FOLDER [FACTS])
check-unreal folder *facts:
    cargo run --release --package unreal-package --example check-unreal -- {{folder}} {{facts}}

# Fuzz a parser of untrusted input with libFuzzer, for this many seconds (needs a C++ compiler)
fuzz target seconds="60":
    tests/fuzz/run.sh {{target}} {{seconds}}

# Measure speed and memory compared with a native server, on an idle machine (options: see host/portcullis/benches/speed/main.rs, such as growth=FOLDER)
[positional-arguments]
bench *options:
    cargo bench --bench speed -- "$@"

# Test how packages are made, with a small program in the place of the binary (needs python)
packaging:
    python3 resources/packaging/test_packaging.py

# Build the release binary and make all packages of it in target/release-files (options: see resources/packaging/package.py)
release *options:
    cargo build --release
    python3 resources/packaging/package.py --binary "${CARGO_TARGET_DIR:-target}/release/portcullis" --target "$(rustc -vV | sed -n 's/^host: //p')" --out target/release-files {{options}}

# Build a static binary for Linux, which needs no C library, and make all packages of it in target/release-static (needs musl-tools, and the target in rustup)
release-static *options:
    #!/usr/bin/env bash
    set -euo pipefail
    target="$(uname -m)-unknown-linux-musl"
    # Only this package: plugins are libraries, and for musl there are no dynamic ones.
    cargo build --release --package portcullis --target "$target"
    binary="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}/$target/release/portcullis"
    python3 resources/packaging/package.py --binary "$binary" --target "$target" --out target/release-static {{options}}

# Build a static binary for Linux on arm64 with a machine of another processor, and make all packages of it in target/release-arm64 (needs qemu-user-static, Python with venv, and the target in rustup)
release-arm64 *options:
    #!/usr/bin/env bash
    set -euo pipefail
    target=aarch64-unknown-linux-musl
    place="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    # C sources of crates are compiled by Zig, which has the headers of musl.
    resources/packaging/fetch-zig "$place"
    export PYTHON="$place/zig/bin/python" ZIG_TARGET=aarch64-linux-musl
    export CC_aarch64_unknown_linux_musl="{{justfile_directory()}}/resources/packaging/zig-cc"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
    cargo build --release --package portcullis --features arm64-plugins --target "$target"
    python3 resources/packaging/package.py --binary "$place/$target/release/portcullis" --target "$target" --runner qemu-aarch64-static --out target/release-arm64 {{options}}

# Build the binary for Windows, and make all packages of it in target/release-windows (needs gcc-mingw-w64-x86-64, wine64, and the target in rustup)
release-windows *options:
    #!/usr/bin/env bash
    set -euo pipefail
    target=x86_64-pc-windows-gnu
    place="${CARGO_TARGET_DIR:-{{justfile_directory()}}/target}"
    export WINEDEBUG=-all WINEPREFIX="$place/wine"
    loader="${WINELOADER:-$(command -v /usr/lib/wine/wine64 wine64 wine | head -n 1 || true)}"
    tests/platforms/wine-folder.sh "$loader" "$WINEPREFIX"
    cargo build --release --package portcullis --target "$target"
    python3 resources/packaging/package.py --binary "$place/$target/release/portcullis.exe" --target "$target" --runner "$loader" --out target/release-windows {{options}}

# Install each package of a folder that one of the recipes of releases filled from its file and use it (needs python with venv, npm and dpkg-deb; for a static binary podman; for other platforms what their recipes need)
release-check folder="target/release-files":
    python3 resources/packaging/check.py {{folder}}

# Run all checks
ci: lint test docs packaging clients conformance ui5 views
