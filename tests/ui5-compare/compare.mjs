// Compares the answers of the UI5 tools for real projects with the results of the engines that the UI5 MCP server uses.
//
//   PORTCULLIS=target/debug/portcullis npm run compare -- FOLDER
//
// FOLDER      the folder that is searched for projects (ui5.yaml) and manifests (manifest.json with sap.app)
// PORTCULLIS  the binary
// CONFIG      a configuration for the binary; without it, the binary uses its own
// SCHEMAS     a clone of https://github.com/UI5/manifest with its tags, for the schemas that npm lacks
// WITHOUT     parts to leave out, separated by commas: projects, manifests, findings

import assert from "node:assert/strict";
import { readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { errors, findings, json, project } from "./engines.mjs";
import { Server } from "./server.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const { PORTCULLIS, CONFIG, SCHEMAS, WITHOUT = "" } = process.env;
const folder = process.argv[2] && realpathSync(process.argv[2]);
assert.ok(PORTCULLIS && folder, "PORTCULLIS must say where the binary is, and an argument where projects are");

let differences = 0;

function report(what, ours, theirs) {
	differences += 1;
	console.log(`DIFFERENT ${what}\n  ours:   ${JSON.stringify(ours)?.slice(0, 600)}\n  theirs: ${JSON.stringify(theirs)?.slice(0, 600)}`);
}

function* files(directory) {
	for (const entry of readdirSync(directory, { withFileTypes: true })) {
		const file = path.join(directory, entry.name);
		if (entry.isDirectory() && entry.name !== "node_modules") {
			yield* files(file);
		} else if (entry.isFile()) {
			yield file;
		}
	}
}

const env = { ...process.env, PATH: [path.join(here, "node_modules/.bin"), process.env.PATH].join(":") };

function portcullis() {
	const config = CONFIG ? ["--config", CONFIG] : [];
	return Server.start(PORTCULLIS, ["serve", ...config, "--root", folder], { env });
}

const text = (result) => result.content.map(({ text }) => text).join("\n");
const equal = (one, other) => {
	try {
		assert.deepEqual(one, other);
		return true;
	} catch {
		return false;
	}
};

async function compareProjects(server, roots) {
	for (const root of roots) {
		const theirs = await project(root);
		const result = await server.call("get_project_info", { projectDir: root });
		if (theirs.error) {
			if (!result.isError || !text(result).includes(theirs.error)) {
				report(`project ${root}`, text(result), theirs.error);
			}
			continue;
		}
		const { projectDir, versionInfo, note, ...ours } = result.structuredContent ?? { error: text(result) };
		if (!equal(JSON.parse(JSON.stringify(theirs)), ours)) {
			report(`project ${root}`, ours, theirs);
		}
	}
	console.log(`${roots.length} projects compared`);
}

async function compareManifests(server, manifests) {
	const shape = ({ keyword, instancePath, schemaPath, params, message }) =>
		({ keyword, instancePath, schemaPath, params, message });
	let [compared, refused, invalid] = [0, 0, 0];
	for (const file of manifests) {
		const manifest = json(file);
		if (!manifest || manifest["sap.card"]?.type === "AdaptiveCard") {
			continue;
		}
		const result = await server.call("run_manifest_validation", { manifestPath: file });
		if (result.isError) {
			refused += 1;
			console.log(`refused ${file}: ${text(result).split("\n")[0]}`);
			continue;
		}
		const ours = result.structuredContent;
		// If a schema of another version is used, the manifest's `_version` is not an error.
		const isItsVersion = ({ instancePath }) => ours.schemaVersion && instancePath === "/_version";
		const theirs = errors(manifest, ours.schemaVersion ?? manifest._version, SCHEMAS)?.filter((error) => !isItsVersion(error));
		if (!theirs) {
			console.log(`left out ${file}: there is no schema ${manifest._version}`);
			continue;
		}
		compared += 1;
		invalid += theirs.length > 0 ? 1 : 0;
		const isValid = ours.schemaVersion ? null : theirs.length === 0;
		if (!equal(theirs.map(shape), ours.errors.map(shape)) || ours.isValid !== isValid) {
			report(`manifest ${file}`, ours.errors.map(shape), theirs.map(shape));
		}
	}
	console.log(`${compared} manifests compared, ${invalid} of them invalid; ${refused} refused`);
}

async function compareFindings(server, roots) {
	const shape = ({ filePath, ruleId, severity, line, column, message }) =>
		JSON.stringify({ filePath, ruleId, severity, line, column, message });
	let count = 0;
	for (const [number, root] of roots.entries()) {
		// Prints progress, since linting takes long.
		console.error(`linting ${number + 1} of ${roots.length}`);
		const theirs = await findings(root);
		const ours = [];
		let failure;
		for (;;) {
			const args = { projectDir: root, provideContextInformation: false, detail: "full", offset: ours.length };
			const result = await server.call("run_ui5_linter", args);
			if (result.isError) {
				failure = text(result);
				break;
			}
			const before = ours.length;
			for (const { filePath, messages } of result.structuredContent.results) {
				ours.push(...messages.map((message) => ({ filePath, ...message })));
			}
			if (ours.length === before) {
				break;
			}
		}
		if (failure || theirs.error) {
			// The linter and the UI5 MCP server give the temporary project different names.
			const error = theirs.error?.replaceAll("ui5-linter-target", "ui5-project");
			if (!error || !failure?.includes(error)) {
				report(`findings ${root}`, failure ?? ours.length, theirs.error ?? theirs.length);
			}
			continue;
		}
		count += theirs.length;
		const [one, other] = [ours.map(shape).sort(), theirs.map(shape).sort()];
		if (!equal(one, other)) {
			report(`findings ${root}`, one.filter((x) => !other.includes(x)), other.filter((x) => !one.includes(x)));
		}
	}
	console.log(`${roots.length} projects linted, ${count} findings compared`);
}

const all = [...files(folder)];
const roots = all.filter((file) => path.basename(file) === "ui5.yaml").map(path.dirname).sort();
const isManifest = (file) => path.basename(file) === "manifest.json" && json(file)?.["sap.app"];
const manifests = all.filter(isManifest).sort();
const parts = {
	projects: (server) => compareProjects(server, roots),
	manifests: (server) => compareManifests(server, manifests),
	findings: (server) => compareFindings(server, roots)
};
const server = await portcullis();
for (const [name, part] of Object.entries(parts)) {
	if (!WITHOUT.split(",").includes(name)) {
		await part(server);
	}
}
server.stop();
console.log(`${differences} differences`);
process.exitCode = differences > 0 ? 1 : 0;
