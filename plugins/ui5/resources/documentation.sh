#!/bin/sh
# Makes the packs in documentation/, which the plugin `ui5-documentation` embeds and searches.
#
# Needs cargo, npm and sha256sum; the package comes from the registry that npm is configured for. Equal
# sources make equal packs. Without an argument, the script makes fiori-elements.pack from the npm
# package below. If the first argument is a clone of https://github.com/UI5/docs, the script also makes
# openui5.pack from the commit that is checked out in the clone, in the folder that the second argument
# names (default: documentation/). Packs in documentation/ are embedded when the plugin is built; packs in
# <UI5 data directory>/mcp-server/documentation are read when the plugin is called.
#
# The texts of UI5/docs are under CC-BY-SA-4.0: whoever redistributes openui5.pack, alone or embedded,
# has to keep its lines in NOTICE.md and the licence of the pack.
set -eu
cd "$(dirname "$0")"
package=@sap-ux/fiori-docs-embeddings@1.2.6
digest=71de3f54d3bd20439664ab53ffc2593cd726a55b86c8c5a47c7eb232bc424910
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_pack() {
    cargo run --quiet -p ui5-documentation --example documentation-pack -- "$@"
}
npm pack "$package" --silent --pack-destination "$work" > /dev/null 2>&1
echo "$digest  $(echo "$work"/*.tgz)" | sha256sum --check --quiet
tar --extract --gzip --directory "$work" --file "$work"/*.tgz
make_pack records "$work/package/data/embeddings/records.jsonl" documentation/fiori-elements.pack \
    fiori-elements "SAP Fiori elements documentation, as SAP summarises it for agents" "$package" \
    "SAP SE or an SAP affiliate company, Apache-2.0" "pages on tools, generators and samples" ""
if [ $# -gt 0 ]; then
    commit=$(git -C "$1" log -1 --format='%h of %cs')
    mkdir "$work/docs"
    git -C "$1" archive HEAD ':(glob)docs/**/*.md' | tar --extract --directory "$work/docs"
    make_pack pages "$work/docs/docs" "${2:-documentation}/openui5.pack" \
        openui5 "OpenUI5 documentation" "github.com/UI5/docs, commit $commit" \
        "SAP SE or an SAP affiliate company and OpenUI5 contributors, CC-BY-SA-4.0" \
        "images and release notes" "https://sdk.openui5.org/topic/{key}"
    # Tests that each question leads to the expected page.
    OPENUI5_DOCUMENTATION="$(cd "${2:-documentation}" && pwd)/openui5.pack" \
        cargo test --quiet -p ui5-documentation --test questions -- --nocapture
fi
