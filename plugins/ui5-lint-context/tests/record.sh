#!/bin/sh
# Records what the UI5 linter says of the sample projects: reports/NAME.json for each of projects/NAME.
# Needs the packages of tests/ui5-guides: `npm ci` there.
set -eu
cd "$(dirname "$0")"
linter="$PWD/../../../tests/ui5-guides/node_modules/.bin/ui5lint"
for project in projects/*; do
    name=$(basename "$project")
    # It exits with 1 when it finds something.
    (cd "$project" && "$linter" --format json --details --no-config || [ $? = 1 ]) >"reports/$name.json"
done
