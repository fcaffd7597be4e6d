#!/usr/bin/env bash
# Makes a project with `portcullis new` in each language that is named (all that can be built without TinyGo if none is),
# and runs the commands of its README as they are typed, in a home of its own. PORTCULLIS is the binary.
set -euo pipefail

binary=$(realpath "${PORTCULLIS:?names the binary}")
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(rust js ts python)

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin"
ln -s "$binary" "$place/bin/portcullis"

for language in "${languages[@]}"; do
    export HOME="$place/home-$language" PATH="$place/bin:$PATH"
    mkdir "$HOME"
    cd "$HOME"
    name="lines-$language"
    begun=$SECONDS
    portcullis new "$name" --lang "$language"
    cd "$name"
    # The lines of all blocks of shell commands.
    sed -n '/^```sh$/,/^```$/{/^```/!p}' README.md > "$place/commands"
    [ -s "$place/commands" ]
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
    echo "== $language: every command of the README works, $((SECONDS - begun)) s"
done
