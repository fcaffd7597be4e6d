#!/bin/sh
# Records reports of the UI5 linter for the sample projects: reports/NAME.json for each projects/NAME.
# Needs the packages of tests/ui5-guides: `npm ci` there.
set -eu
cd "$(dirname "$0")"
linter="$PWD/../../../tests/ui5-guides/node_modules/.bin/ui5lint"
for project in projects/*; do
    name=$(basename "$project")
    # The linter exits with 1 if there are findings.
    (cd "$project" && "$linter" --format json --details --no-config || [ $? = 1 ]) >"reports/$name.json"
done
