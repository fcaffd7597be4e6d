// Compares the results of `run_manifest_validation` and of Ajv for manifests of all published versions.
//
//   PORTCULLIS=target/debug/portcullis SCHEMAS=CLONE npm run manifests -- [FOLDER]
//
// FOLDER      a folder that is searched for real manifests; default: the manifests below
// PORTCULLIS  the binary
// SCHEMAS     a clone of https://github.com/UI5/manifest with its tags
// ADAPTIVE_CARD  the schema of adaptive cards, which plugins/ui5/resources/sources.txt names; without it, cards without
//             a type differ
// COUNT       the number of manifests; default: 1000
//
// Each manifest is a real one or one of those below, with the `_version` of a published schema and up to four changes. The
// same COUNT gives the same manifests.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { errors, json } from "./engines.mjs";
import { Server } from "./server.mjs";

const { PORTCULLIS, SCHEMAS, COUNT = "1000" } = process.env;
assert.ok(PORTCULLIS && SCHEMAS, "PORTCULLIS must say where the binary is, and SCHEMAS where the clone is");

const app = {
	"_version": "",
	"sap.app": {
		id: "my.app", type: "application", title: "{{title}}", applicationVersion: { version: "1.0.0" },
		dataSources: { main: { uri: "/odata/", type: "OData", settings: { odataVersion: "4.0", localUri: "localService/metadata.xml" } } },
		crossNavigation: { inbounds: { show: { semanticObject: "Order", action: "display", signature: { parameters: {}, additionalParameters: "allowed" } } } }
	},
	"sap.ui": { technology: "UI5", deviceTypes: { desktop: true, tablet: true, phone: true }, icons: { icon: "sap-icon://task" } },
	"sap.ui5": {
		dependencies: { minUI5Version: "1.120.0", libs: { "sap.m": {}, "sap.ui.core": { lazy: true } } },
		rootView: { viewName: "my.app.view.App", type: "XML", id: "app" },
		contentDensities: { compact: true, cozy: true },
		models: { "": { dataSource: "main", preload: true, settings: { operationMode: "Server" } }, i18n: { type: "sap.ui.model.resource.ResourceModel" } },
		routing: {
			config: { routerClass: "sap.m.routing.Router", viewType: "XML", controlId: "app" },
			routes: [{ pattern: "", name: "main", target: ["main"] }], targets: { main: { viewName: "Main", viewLevel: 1 } }
		}
	}
};
const card = (type, content) => ({
	...app, "sap.app": { ...app["sap.app"], type: "card" },
	"sap.card": {
		type, header: { title: "A card", icon: { src: "sap-icon://task" } }, content,
		data: { request: { url: "{{destinations.main}}/x", method: "GET" }, path: "/value" }, configuration: { parameters: { most: { value: 5 } } }
	}
});
const own = [
	app,
	{ ...app, "sap.app": { ...app["sap.app"], type: "library" }, "sap.ui5": { dependencies: { minUI5Version: "1.120.0", libs: {} }, library: { i18n: false } } },
	{ ...app, "sap.ovp": { cards: {} }, "sap.fiori": { registrationIds: ["F1"], archeType: "transactional" } },
	card("List", { item: { title: "{name}", description: "{text}" }, maxItems: 5 }),
	card("Table", { row: { columns: [{ title: "Name", value: "{name}" }] } }),
	card("Analytical", { chartType: "Donut", measures: [{ name: "m", value: "{m}" }], dimensions: [{ name: "d", value: "{d}" }], feeds: [{ uid: "size", type: "Measure", values: ["m"] }] }),
	card("Object", { groups: [{ title: "A", items: [{ label: "L", value: "{v}" }] }] }),
	card("Calendar", { date: "{d}", item: { template: { startDate: "{s}", title: "{t}" }, path: "/items" } })
];

let seed = 20_260_101;
/** A whole number below `most`: xorshift32. */
function random(most) {
	seed ^= seed << 13;
	seed ^= seed >>> 17;
	seed ^= seed << 5;
	return (seed >>> 0) % most;
}
const pick = (list) => list[random(list.length)];

/** Each object and array of a document. */
function* containers(value) {
	if (value && typeof value === "object") {
		yield value;
		for (const member of Object.values(value)) {
			yield* containers(member);
		}
	}
}

const strange = [null, true, 7, -1.5, "", "x", "{{x}}", [], {}, ["a", "a"], { a: 1 }, "http://a b/", "1.2.3"];

function change(document) {
	const place = pick([...containers(document)]);
	const keys = Object.keys(place).filter((key) => key !== "_version");
	const key = keys.length ? pick(keys) : undefined;
	switch (random(4)) {
		case 0:
			if (key !== undefined) {
				Array.isArray(place) ? place.splice(Number(key), 1) : delete place[key];
			}
			break;
		case 1:
			if (key !== undefined) {
				place[key] = structuredClone(pick(strange));
			}
			break;
		case 2:
			Array.isArray(place) ? place.push(structuredClone(pick(strange))) : place[`extra${random(9)}`] = structuredClone(pick(strange));
			break;
		default:
			if (key !== undefined && Array.isArray(place)) {
				place.push(structuredClone(place[key]));
			} else if (key !== undefined) {
				place[`${key}x`] = place[key];
				delete place[key];
			}
	}
}

function* files(directory) {
	for (const entry of readdirSync(directory, { withFileTypes: true })) {
		const file = path.join(directory, entry.name);
		if (entry.isDirectory() && entry.name !== "node_modules") {
			yield* files(file);
		} else if (entry.isFile() && entry.name === "manifest.json") {
			yield file;
		}
	}
}

const real = process.argv[2] ? [...files(realpathSync(process.argv[2]))].map(json) : [];
// The errors inside adaptive cards depend on a schema that is not one of UI5's.
const bases = [...own, ...real.filter((manifest) => manifest?.["sap.app"] && manifest["sap.card"]?.type !== "AdaptiveCard")];
const tags = execFileSync("git", ["-C", SCHEMAS, "tag", "--list", "v*"], { encoding: "utf8" }).split("\n").filter(Boolean);
// 1.4.0 is left out, since its schema is draft-04. The last two versions are from npm.
const versions = [...tags.map((tag) => tag.slice(1)).filter((version) => version !== "1.4.0"), "1.88.0", "1.89.0"];

const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "manifests-"));
const server = await Server.start(PORTCULLIS, ["serve", "--root", folder]);
const shape = ({ keyword, instancePath, schemaPath, params, message }) => JSON.stringify({ keyword, instancePath, schemaPath, params, message });
let [different, invalid, found] = [0, 0, 0];
try {
	for (let number = 0; number < Number(COUNT); number += 1) {
		const version = versions[number % versions.length];
		const manifest = structuredClone(number < versions.length ? app : pick(bases));
		manifest._version = version;
		for (let changes = number < versions.length ? 0 : random(5); changes > 0; changes -= 1) {
			change(manifest);
		}
		const file = path.join(folder, "manifest.json");
		writeFileSync(file, JSON.stringify(manifest));
		const { structuredContent: ours, ...rest } = await server.call("run_manifest_validation", { manifestPath: file });
		assert.ok(ours, `${version}: ${JSON.stringify(rest)}`);
		const theirs = errors(manifest, version, SCHEMAS);
		invalid += theirs.length > 0 ? 1 : 0;
		found += theirs.length;
		const isEqual = JSON.stringify(ours.errors.map(shape)) === JSON.stringify(theirs.map(shape));
		if (!isEqual || ours.isValid !== (theirs.length === 0) || ours.schemaVersion) {
			different += 1;
			const at = theirs.findIndex((error, index) => shape(error) !== (ours.errors[index] && shape(ours.errors[index])));
			console.log(`DIFFERENT ${number} (${version}), at error ${at}\n  ours:   ${JSON.stringify(ours.errors[at])}\n  theirs: ${JSON.stringify(theirs[at])}`);
		}
	}
} finally {
	server.stop();
	rmSync(folder, { recursive: true });
}
console.log(`${COUNT} manifests of ${versions.length} versions and ${bases.length} kinds: ${invalid} invalid, ${found} errors, ${different} different`);
process.exitCode = different ? 1 : 0;
