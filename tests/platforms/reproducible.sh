#!/bin/sh
# Builds the bundled plugins twice, as a release does, from clones of this repository in different folders, each with a
# home folder of Cargo and a target folder of its own, and compares the components.
#
#     tests/platforms/reproducible.sh
#
# The last commit is built. Crates are copied from Cargo's home folder where they are there, and otherwise downloaded.
set -eu
cd "$(dirname "$0")/../.."
repository=$PWD
home=${CARGO_HOME:-$HOME/.cargo}
RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export RUSTUP_HOME
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Builds the plugins in a folder, and writes their digests to a file.
build() {
    mkdir -p "$1/cargo/registry"
    for part in cache index; do
        [ ! -d "$home/registry/$part" ] || cp -R "$home/registry/$part" "$1/cargo/registry"
    done
    git clone --quiet "$repository" "$1/source"
    (cd "$1/source" && CARGO_HOME="$1/cargo" CARGO_TARGET_DIR="$1/target" cargo build --release --package portcullis-bundle)
    components=$(find "$1/target/release/build" -path '*/portcullis-bundle-*/out/*.wasm' | sort)
    [ -n "$components" ] || { echo "reproducible.sh: no component was built in $1" >&2; exit 1; }
    for component in $components; do
        if grep -q --text --fixed-strings -e "$place" -e "$home/" "$component"; then
            echo "reproducible.sh: $component contains the name of a folder of this machine" >&2
            exit 1
        fi
        (cd "$(dirname "$component")" && sha256sum "$(basename "$component")")
    done >"$1.sums"
}

build "$place/one"
build "$place/another/place"
diff "$place/one.sums" "$place/another/place.sums" || {
    echo "reproducible.sh: two builds of one commit differ: see above" >&2
    exit 1
}
echo "$(wc -l <"$place/one.sums") components are the same in two builds"
