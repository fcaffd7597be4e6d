#!/bin/sh
# Checks that the program and its tests compile for macOS, on arm64 and on x86-64. Nothing is linked or run: that needs a Mac.
#
#     tests/platforms/macos.sh
#
# C sources of crates are compiled by Zig, which has the headers of macOS: it is fetched from PyPI. Needs Python with venv.
set -eu
cd "$(dirname "$0")/../.."
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")
resources/packaging/fetch-zig "$folder"
export PYTHON="$folder/zig/bin/python"
compiler="$PWD/resources/packaging/zig-cc"
export CC_aarch64_apple_darwin="$compiler" CC_x86_64_apple_darwin="$compiler"

# check TARGET ZIG_TARGET [OPTION…]
check() {
    target=$1
    export ZIG_TARGET=$2
    shift 2
    rustup target list --installed 2>/dev/null | grep -qx "$target" || rustup target add "$target"
    cargo check --package portcullis --all-targets --target "$target" "$@"
}

# The bundled plugins are compiled for the target, too.
check aarch64-apple-darwin aarch64-macos --features arm64-plugins
check x86_64-apple-darwin x86_64-macos
