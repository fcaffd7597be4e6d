#!/usr/bin/env bash
# Makes a project with `portcullis new` in each language that is named (in all if none is), and runs the commands of its
# README as they are typed, in a home and with caches of its own. Then `portcullis setup` writes the server into the
# project's .mcp.json, and MCP clients by others call the tool. The code of the guide for JavaScript and Python is built and
# tested, too. PORTCULLIS is the binary. KEEP=1 uses the caches that the caller has. For Go, COMPONENTIZE_GO is the command
# of componentize-go. Without it, go/tools.sh makes one in the folder GO_TOOLS.
set -euo pipefail

binary=$(realpath "${PORTCULLIS:?names the binary}")
here=$(cd "$(dirname "$0")" && pwd)
clients="$here/../clients"
export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(rust js ts python go)

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin"
ln -s "$binary" "$place/bin/portcullis"
export PATH="$place/bin:$PATH"
# The build of this repository has variables that a user's shell has not.
unset CARGO_TARGET_DIR CARGO_INCREMENTAL

for language in "${languages[@]}"; do
    export HOME="$place/home-$language"
    mkdir "$HOME"
    if [ -z "${KEEP:-}" ]; then
        export npm_config_cache="$HOME/npm" PIP_CACHE_DIR="$HOME/pip" CARGO_HOME="$HOME/cargo"
        mkdir "$CARGO_HOME"
        # What rustup put beside Cargo's caches.
        ln -s "$cargo_home/bin" "$CARGO_HOME/bin"
        [ ! -f "$cargo_home/config.toml" ] || ln -s "$cargo_home/config.toml" "$CARGO_HOME/config.toml"
    else
        export CARGO_HOME="$cargo_home"
    fi
    if [ "$language" = go ]; then
        # Without the flag, the caches cannot be removed.
        export GOPATH="$HOME/go" GOCACHE="$HOME/go-cache" GOFLAGS=-modcacherw
        if [ -z "${COMPONENTIZE_GO:-}" ]; then
            export GO_TOOLS="${GO_TOOLS:-$place/go-tools}" COMPONENTIZE_GO="$here/go/componentize-go"
            CARGO_HOME="$cargo_home" "$here/go/tools.sh" "$GO_TOOLS"
            export PATH="$PATH:$GO_TOOLS/bin" GOPROXY="file://$GO_TOOLS/proxy" GOSUMDB=off
        fi
    fi
    cd "$HOME"
    name="lines-$language"
    begun=$SECONDS
    portcullis new "$name" --lang "$language"
    cd "$name"
    # The lines of all blocks of shell commands. The shell shows each with the seconds since the beginning.
    sed -n '/^```sh$/,/^```$/{/^```/!p}' README.md > "$place/lines"
    [ -s "$place/lines" ]
    { echo "PS4='+ \${SECONDS} s: '"; cat "$place/lines"; } > "$place/commands"
    bash -euxo pipefail "$place/commands" 2>&1 | tee "$place/output"
    grep -q '^[1-9][0-9]* passed, 0 failed$' "$place/output"
    # The last command is a call. Its tool has the description that its author wrote.
    tail -n 40 "$place/output" > "$place/last"
    grep -q '"number": *[1-9]' "$place/last"
    portcullis tools > "$place/tools"
    grep -q 'Finds the lines' "$place/tools"
    if grep -q 'The function' "$place/tools"; then
        echo "a tool has no description" >&2
        exit 1
    fi
    portcullis setup project --root "$PWD" --yes
    case $language in
        rust) tool=find_lines arguments="{\"file\": \"$PWD/README.md\", \"pattern\": {\"text\": \"A PLUGIN\", \"ignoreCase\": true}}" ;;
        python | go) tool=find-lines arguments="{\"file\": \"$PWD/README.md\", \"pattern\": {\"text\": \"A PLUGIN\", \"ignore-case\": true}}" ;;
        js | ts) tool=find-lines arguments='{"text": "x\nA plugin for Portcullis", "pattern": {"text": "A PLUGIN", "ignore-case": true}}' ;;
    esac
    node "$clients/project.mjs" "$PWD" "$tool" "$arguments" "A plugin for Portcullis"
    took=$((SECONDS - begun))
    # The code of the guide, in the same project.
    case $language in
        js)
            node "$here/guide.mjs" js functions .
            npx componentize-js src/plugin.js --wit wit --world-name plugin --out guide-functions.wasm
            portcullis test guide-functions.wasm --cases "$here/guide/functions"
            node "$here/guide.mjs" js contract .
            npx componentize-js src/plugin.js --wit wit --world-name plugin --disable http fetch-event --out guide-contract.wasm
            portcullis test guide-contract.wasm --cases "$here/guide/contract"
            ;;
        python)
            node "$here/guide.mjs" python functions .
            .venv/bin/componentize-py --wit-path wit --world plugin componentize plugin --output guide-functions.wasm
            portcullis test guide-functions.wasm --cases "$here/guide/functions"
            ;;
        go)
            rm -r export_local_plugin_lines
            node "$here/guide.mjs" go functions .
            sh build.sh
            mv "$name.wasm" guide-functions.wasm
            portcullis test guide-functions.wasm --cases "$here/guide/functions"
            ;;
    esac
    echo "== $language: from \`new\` to a tool in clients with the commands of the README: $took s"
done
