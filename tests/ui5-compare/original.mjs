// Compares the answers of the UI5 tools with those of the UI5 MCP server, on real projects.
//
//   PORTCULLIS=target/debug/portcullis ORIGINAL="node …/ui5mcp.js" API=… npm run original -- FOLDER
//
// FOLDER      the folder that is searched for projects (ui5.yaml)
// PORTCULLIS  the binary, with its own configuration
// ORIGINAL    the UI5 MCP server, as a command
// API         a folder with API references, such as sap.m.api.json, in the form of UI5's CDN
// QUERIES     the number of API queries that are compared; default: 1360
// WITHOUT     parts to leave out, separated by commas: api, projects, linter
//
// Both use a stand-in for UI5's CDN. It serves the paths that `apiReferenceResources.ts` and `getVersionInfo.ts`
// of the UI5 MCP server 0.2.12 request, with the same API for every version.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Server } from "./server.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const { PORTCULLIS, ORIGINAL, API, QUERIES = "1360", WITHOUT = "" } = process.env;
const folder = process.argv[2] && realpathSync(process.argv[2]);
assert.ok(PORTCULLIS && ORIGINAL && API && folder, "PORTCULLIS, ORIGINAL, API and a folder are needed");

let differences = 0;
const short = (value) => JSON.stringify(value)?.slice(0, 400);

function report(what, ours, theirs) {
	differences += 1;
	console.log(`DIFFERENT ${what}\n  ours:   ${short(ours)}\n  theirs: ${short(theirs)}`);
}

const equal = (one, other) => {
	try {
		assert.deepEqual(one, other);
		return true;
	} catch {
		return false;
	}
};

function* projects(directory) {
	for (const entry of readdirSync(directory, { withFileTypes: true })) {
		if (entry.isDirectory() && entry.name !== "node_modules") {
			yield* projects(path.join(directory, entry.name));
		} else if (entry.name === "ui5.yaml") {
			yield directory;
		}
	}
}

const libraries = Object.fromEntries(readdirSync(API).filter((name) => name.endsWith(".api.json")).map((name) =>
	[name.slice(0, -".api.json".length), readFileSync(path.join(API, name), "utf8")]));
const versions = JSON.parse(readFileSync(path.join(here, "../../plugins/ui5/resources/versions.json"), "utf8")).OpenUI5;

function standInForCdn() {
	const server = http.createServer((request, response) => {
		const [, , ...rest] = request.url.split("/");
		const library = /^test-resources\/(.+)\/designtime\/api\.json$/.exec(rest.join("/"))?.[1].replaceAll("/", ".");
		const answers = {
			"resources/sap-ui-version.json": () => JSON.stringify({
				libraries: Object.keys(libraries).map((name) => ({ name, npmPackageName: `@openui5/${name}` }))
			})
		};
		const body = request.url === "/version.json" ? JSON.stringify(versions) :
			answers[rest.join("/")]?.() ?? libraries[library];
		response.writeHead(body ? 200 : 404, { "content-type": "application/json" });
		response.end(body ?? "{}");
	});
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const text = (result) => result.content.map((part) => part.text ?? part.resource?.text).join("\n");

async function compareProjects(ours, theirs, roots) {
	for (const projectDir of roots) {
		const [one, other] = [await ours.call("get_project_info", { projectDir }), await theirs.call("get_project_info", { projectDir })];
		if (one.isError || other.isError) {
			if (Boolean(one.isError) !== Boolean(other.isError)) {
				report(`project ${projectDir}`, text(one), text(other));
			}
			continue;
		}
		const { note, ...info } = one.structuredContent;
		if (!equal(info, other.structuredContent)) {
			report(`project ${projectDir}`, info, other.structuredContent);
		}
	}
	console.log(`${roots.length} projects compared`);
}

async function compareLinter(ours, theirs, roots) {
	let findings = 0;
	for (const [number, projectDir] of roots.entries()) {
		console.error(`linting ${number + 1} of ${roots.length}`);
		const args = { projectDir, provideContextInformation: number % 2 === 0 };
		const other = await theirs.call("run_ui5_linter", args);
		const one = await ours.call("run_ui5_linter", { ...args, detail: "full" });
		if (one.isError || other.isError) {
			if (Boolean(one.isError) !== Boolean(other.isError)) {
				report(`linter ${projectDir}`, text(one), text(other));
			}
			continue;
		}
		const [mine, its] = [one.structuredContent, other.structuredContent];
		findings += its.results.flatMap(({ messages }) => messages).length;
		if (/^Findings \d+ to /.test(mine.remark ?? "")) {
			console.log(`left out: ${projectDir} has findings for several answers`);
			continue;
		}
		if (!equal(mine.results, its.results)) {
			report(`linter ${projectDir}`, mine.results, its.results);
		}
		const rules = (answer) => answer.contextInformation?.ruleDescriptions.map(({ ruleId }) => ruleId);
		if (!equal(rules(mine), rules(its))) {
			report(`rules of ${projectDir}`, rules(mine), rules(its));
		}
	}
	console.log(`${roots.length} projects linted, ${findings} findings compared`);
}

/** Names of the API: symbols and their members, in several spellings, spread evenly over all libraries. */
function queries(count) {
	const all = [];
	for (const source of Object.values(libraries)) {
		for (const symbol of JSON.parse(source).symbols) {
			if (["private", "restricted"].includes(symbol.visibility)) {
				continue;
			}
			const name = symbol.name.replace(/^module:/, "");
			all.push(name, name.replaceAll(".", "/"), name.toLowerCase());
			const settings = symbol["ui5-metadata"] ?? {};
			const members = [symbol.methods, symbol.events, symbol.properties, settings.properties, settings.aggregations];
			for (const member of members.flatMap((list) => list?.slice(0, 4) ?? [])) {
				all.push(`${name}#${member.name}`);
			}
		}
	}
	const step = all.length / count;
	return Array.from({ length: Math.min(count, all.length) }, (_, number) => all[Math.floor(number * step)]);
}

async function compareApi(ours, theirs, projectDir) {
	let [same, refused] = [0, 0];
	for (const query of queries(Number(QUERIES))) {
		const args = { projectDir, query };
		const one = await ours.call("get_api_reference", { ...args, detail: "full" });
		const other = await theirs.call("get_api_reference", args);
		if (one.isError || other.isError) {
			refused += 1;
			if (Boolean(one.isError) !== Boolean(other.isError)) {
				report(`query ${query}`, text(one), text(other));
			}
			continue;
		}
		const resources = ({ content }) => content.filter(({ type }) => type === "resource").map(({ resource }) => [resource.uri, JSON.parse(resource.text)]);
		if (equal(resources(one), resources(other))) {
			same += 1;
		} else if (!text(one).includes("Page 1 of")) {
			report(`query ${query}`, resources(one), resources(other));
		}
	}
	console.log(`${same} queries with equal answers, ${refused} that both refuse`);
}

const roots = [...projects(folder)].sort();
const cdn = await standInForCdn();
const data = mkdtempSync(path.join(tmpdir(), "ui5-compare-"));
const env = (name) => ({
	...process.env,
	PATH: [path.join(here, "node_modules/.bin"), process.env.PATH].join(":"),
	UI5_MCP_SERVER_CDN_URL: `http://127.0.0.1:${cdn.address().port}`,
	UI5_DATA_DIR: path.join(data, name)
});
const ours = await Server.start(PORTCULLIS, ["serve", "--root", folder], { env: env("ours") });
const [program, ...words] = ORIGINAL.split(" ");
const theirs = await Server.start(program, words, { env: env("theirs") });
const parts = {
	api: () => compareApi(ours, theirs, roots.find((root) => readFileSync(path.join(root, "ui5.yaml"), "utf8").includes("version:"))),
	projects: () => compareProjects(ours, theirs, roots),
	linter: () => compareLinter(ours, theirs, roots)
};
for (const [name, part] of Object.entries(parts)) {
	if (!WITHOUT.split(",").includes(name)) {
		await part();
	}
}
[ours, theirs].forEach((server) => server.stop());
cdn.close();
rmSync(data, { recursive: true, force: true });
console.log(`${differences} differences`);
process.exitCode = differences > 0 ? 1 : 0;
