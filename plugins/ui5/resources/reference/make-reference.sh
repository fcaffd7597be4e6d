#!/bin/sh
# Makes openui5.reference and webcomponents.reference, the API references that the plugin
# `ui5-reference` carries.
#
# Needs cargo, npm, node and sha256sum, and some minutes; the packages come from the registry that npm is
# configured for. sources.txt lists the source packages; package-lock.json pins the UI5 builder, whose
# JSDoc plugin reads the libraries. Equal sources make equal files. The version of OpenUI5 is that of
# sap.ui.core. `sh make-reference.sh webcomponents` makes only the second file, in seconds.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/api"
grep -v '^#' sources.txt | while read -r digest package version; do
    case ${1:-all}:$package in webcomponents:@openui5/*) continue ;; esac
    archive="$work/$(echo "$package" | tr -d @ | tr / -)-$version.tgz"
    (cd "$work" && npm pack "$package@$version" --silent > .log 2>&1)
    echo "$digest  $archive" | sha256sum --check --quiet
    case $package in
        @openui5/*) target="$work/sources/${package#@openui5/}" ;;
        *) target="$work/packages/$package" ;;
    esac
    mkdir -p "$target"
    tar --extract --gzip --strip-components=1 --directory "$target" --file "$archive"
    rm "$archive"
done
compact() { cargo run --quiet -p ui5 --example compact -- "$@"; }
compact webcomponents "$work/packages" "$here/webcomponents.reference"
[ "${1:-all}" = webcomponents ] && exit
cp package.json package-lock.json "$work"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --silent)
sed --quiet 's/^[0-9a-f]* @openui5\/\([^ ]*\) /\1 /p' sources.txt > "$work/api/versions"
# shellcheck disable=SC2046 # The names are words.
NODE_MODULES="$work/node_modules" \
    node jsdoc.mjs "$work/sources" "$work/api" $(cut -d ' ' -f 1 "$work/api/versions")
version=$(sed --quiet 's/^sap\.ui\.core //p' "$work/api/versions")
compact openui5 "$version" "$work/api" "$here/openui5.reference"
