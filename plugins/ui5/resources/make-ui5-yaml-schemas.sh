#!/bin/sh
# Makes ui5-yaml.schemas, the JSON schemas of ui5.yaml: a line for each file, its path and then the
# schema.
#
# Needs npm and python3; the package comes from the registry that npm is configured for. Keywords that do
# not affect validation (titles, descriptions, comments, defaults) are left out.
set -eu
cd "$(dirname "$0")"
package=@ui5/project@4.0.17
digest=a8192a88b488ba7ac8d58c7cea8b28d2ddef086e5854c7d132fe05b87c845f87
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack "$package" --silent --pack-destination "$work" > /dev/null 2>&1
echo "$digest  $(echo "$work"/*.tgz)" | sha256sum --check --quiet
tar --extract --gzip --directory "$work" --file "$work"/*.tgz
python3 - "$work/package/lib/validation/schema" > ui5-yaml.schemas <<'PYTHON'
import json, os, posixpath, sys

root = sys.argv[1]
schemas = {}

def compact(node, file, names):
    """`names` says whether the keys are names of properties rather than keywords."""
    if isinstance(node, list):
        return [compact(item, file, False) for item in node]
    if not isinstance(node, dict):
        return node
    result = {}
    for key, value in node.items():
        if names:
            result[key] = compact(value, file, False)
        elif key in ("$schema", "$id", "$comment", "title", "description", "default", "examples"):
            continue
        elif key == "$ref":
            target, _, pointer = value.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(file), target)) if target else file
            result[key] = target + "#" + pointer
        else:
            result[key] = compact(value, file, key in ("properties", "patternProperties", "definitions"))
    return result

for folder, _, files in os.walk(root):
    for name in files:
        path = os.path.join(folder, name)
        file = os.path.relpath(path, root).replace(os.sep, "/")
        if file != "ui5-workspace.json":
            schemas[file] = compact(json.load(open(path)), file, False)
for file, schema in sorted(schemas.items()):
    print(file, json.dumps(schema, separators=(",", ":"), ensure_ascii=False))
PYTHON
