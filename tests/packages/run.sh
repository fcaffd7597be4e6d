#!/usr/bin/env bash
# Makes the crates of the SDK as `cargo publish` would upload them, builds them from these files alone, and builds and
# tests a plugin with them in a folder of its own. PORTCULLIS is the binary; TARGET is the folder for the crates.
set -euo pipefail

binary=$(realpath "${PORTCULLIS:?names the binary}")
target=$(realpath "${TARGET:?names a folder}")
cd "$(dirname "$0")/../.."
here=$PWD
crates=(portcullis-plugin-macros portcullis-plugin)
version=$(cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(next(one["version"] for one in json.load(sys.stdin)["packages"] if one["name"] == "portcullis-plugin"))')

# Cargo builds each crate from its package, with the packages beside it in the place of crates.io.
options=()
for crate in "${crates[@]}"; do options+=(--package "$crate"); done
cargo package --allow-dirty --target-dir "$target" "${options[@]}"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin" "$place/home" "$place/crates"
ln -s "$binary" "$place/bin/portcullis"
for crate in "${crates[@]}"; do
    tar -xzf "$target/package/$crate-$version.crate" -C "$place/crates"
    for file in LICENSE README.md Cargo.toml; do
        [ -s "$place/crates/$crate-$version/$file" ] || { echo "$crate has no $file" >&2; exit 1; }
    done
done
diff -r "$here/wit" "$place/crates/portcullis-plugin-$version/wit"

# A project without its copy of the SDK, whose one dependency is as it will be after the SDK is published.
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export HOME="$place/home" PATH="$place/bin:$PATH"
unset CARGO_TARGET_DIR
cd "$place"
portcullis new lines --lang rust > /dev/null
cd lines
rm -r sdk
python3 - "$version" "$place/crates" "${crates[@]}" <<'PYTHON'
import pathlib, re, sys
version, crates, *names = sys.argv[1:]
file = pathlib.Path("Cargo.toml")
text = file.read_text()
text, count = re.subn(r'portcullis-plugin = \{ path = "[^"]*" \}', f'portcullis-plugin = "{version}"', text)
assert count == 1, text
text += "\n[patch.crates-io]\n" + "".join(f'{name} = {{ path = "{crates}/{name}-{version}" }}\n' for name in names)
file.write_text(text)
PYTHON
cargo build --quiet --release --target wasm32-wasip2
portcullis test target/wasm32-wasip2/release/lines.wasm
echo "the packages ${crates[*]} ($version) are whole"
