#!/bin/sh
# Makes versions.json, the table of UI5 versions that is used if the CDN does not answer.
#
# Needs npm and python3; the packages come from the registry that npm is configured for. Sources:
# - existing patches: the versions of the npm packages named below, on the day of the run;
# - maintained minor versions: npm package @sap-ux/ui5-info (Apache-2.0), whose table was
#   taken from https://ui5.sap.com/versionoverview.json on the day that the table names;
# - all other facts: versions-facts.txt, which names its own sources.
set -eu
cd "$(dirname "$0")"
info=@sap-ux/ui5-info@1.0.6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack "$info" --silent --pack-destination "$work" > /dev/null 2>&1
tar --extract --gzip --directory "$work" --file "$work"/*.tgz
for package in openui5/sap.ui.core openui5/sap.m openui5/types sapui5/types sapui5/distribution-metadata; do
    npm view "@$package" versions --json 2> /dev/null > "$work/$(echo "$package" | tr / -).versions"
done
python3 - "$work" versions-facts.txt > versions.json <<'PYTHON'
import datetime, glob, json, os, re, sys

work, facts = sys.argv[1:]
table = open(os.path.join(work, "package/dist/ui5-version-fallback.js")).read()
day = re.search(r"Updated (\w+ \d+, \d+) from", table).group(1)
support = {
    minor: state == "maintenance"
    for minor, state in re.findall(r"version: '(\d+\.\d+)\.\*',\s*support: \S*supportState\.(\w+)", table)
}
patches = {"OpenUI5": {}, "SAPUI5": {}}

def key(version):
    return [int(part) for part in version.split(".")]

def add(framework, version):
    minor = version.rsplit(".", 1)[0]
    known = patches[framework].get(minor)
    if known is None or key(version) > key(known):
        patches[framework][minor] = version

for path in glob.glob(os.path.join(work, "*.versions")):
    framework = "OpenUI5" if os.path.basename(path).startswith("openui5") else "SAPUI5"
    for version in json.load(open(path)):
        if re.fullmatch(r"\d+\.\d+\.\d+", version):
            add(framework, version)
lts, end, facts_day = set(), {}, None
for line in open(facts):
    words = line.split()
    if not words or words[0] == "#":
        continue
    if words[0] == "date":
        facts_day = words[1]
    elif words[0] == "maintained":
        support[words[1]] = True
    elif words[0] == "lts":
        lts.add(words[1])
    elif words[0] == "patch":
        add(words[1], words[2])
    elif words[0] == "end":
        end[words[1]] = " ".join(words[2:])
    else:
        sys.exit(f"{facts}: {words[0]}?")
result = {
    "patchesAsOf": datetime.date.today().isoformat(),
    "supportAsOf": datetime.datetime.strptime(day, "%b %d, %Y").date().isoformat(),
    "factsAsOf": facts_day,
}
for framework, other in (("OpenUI5", "SAPUI5"), ("SAPUI5", "OpenUI5")):
    rows = {}
    for minor in sorted(support, key=key, reverse=True):
        version = patches[framework].get(minor) or patches[other].get(minor)
        if support[minor] and version:
            rows[minor] = {"version": version, "support": "Maintenance", "lts": minor in lts}
    newest = next(iter(rows.values()))
    result[framework] = {"latest": newest, "active": newest, **rows}
result["endOfMaintenance"] = {
    minor: text for minor, text in sorted(end.items(), key=lambda item: key(item[0]), reverse=True)
}
print(json.dumps(result, indent=1))
PYTHON
