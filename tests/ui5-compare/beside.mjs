// Compares the UI5 tools with the UI5 MCP server: time of start, time of repeated calls and memory, in turns on one machine.
//
//   PORTCULLIS=target/release/portcullis ORIGINAL="node …/ui5mcp.js" npm run beside -- PROJECT
//
// PROJECT     a UI5 project with a webapp/manifest.json
// PORTCULLIS  the binary
// ORIGINAL    the UI5 MCP server, as a command
// CONFIG      a configuration for the binary; without it, the binary uses its own
// STARTS      the number of starts of each server; default: 20
// TIMES       the number of calls of each tool; default: 50
//
// Both servers get the environment of this process. UI5_DATA_DIR and UI5_MCP_SERVER_CDN_URL give them the same data.

import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Server } from "./server.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const { PORTCULLIS, ORIGINAL, CONFIG, STARTS = "20", TIMES = "50" } = process.env;
const projectDir = process.argv[2] && realpathSync(process.argv[2]);
assert.ok(PORTCULLIS && ORIGINAL && projectDir, "PORTCULLIS, ORIGINAL and a project are needed");

const env = { ...process.env, PATH: [path.join(here, "node_modules/.bin"), process.env.PATH].join(":") };
const [program, ...words] = ORIGINAL.split(" ");
const servers = {
	portcullis: () =>
		Server.start(PORTCULLIS, ["serve", ...(CONFIG ? ["--config", CONFIG] : []), "--root", projectDir], { env }),
	original: () => Server.start(program, words, { env })
};

/** The calls: tool, arguments, and a divisor by which slow calls are made less often. */
const calls = [
	["get_guidelines", {}, 1],
	["get_project_info", { projectDir }, 1],
	["get_version_info", { frameworkName: "OpenUI5" }, 1],
	["get_api_reference", { projectDir, query: "sap.m.Button#press", detail: "full" }, 1],
	["get_api_reference", { projectDir, query: "sap.m.Button", detail: "full" }, 1],
	["get_api_reference", { projectDir, query: "sap/m/library", detail: "full" }, 1],
	["run_manifest_validation", { manifestPath: path.join(projectDir, "webapp/manifest.json") }, 2],
	["run_ui5_linter", { projectDir, provideContextInformation: false }, 2]
];

const quantile = (all, part) => all.toSorted((one, other) => one - other)[Math.floor((all.length - 1) * part)];

function line(what, unit, by) {
	const [ours, theirs] = [by.portcullis, by.original];
	const of = (all) => `${quantile(all, 0.5).toFixed(2)} (${quantile(all, 0.1).toFixed(2)} to ${quantile(all, 0.9).toFixed(2)})`;
	const ratio = quantile(theirs, 0.5) / quantile(ours, 0.5);
	console.log(`${what}, ${unit}: ${of(ours)} | ${of(theirs)} | ${ratio.toFixed(2)}`);
}

const none = () => ({ portcullis: [], original: [] });

console.log("what, unit: portcullis p50 (p10 to p90) | original p50 (p10 to p90) | original / portcullis");
const starts = none();
for (let turn = 0; turn < Number(STARTS); turn += 1) {
	for (const [name, start] of Object.entries(servers)) {
		const server = await start();
		starts[name].push(server.milliseconds);
		server.stop();
	}
}
line("start to initialize", "ms", starts);

const running = {};
for (const [name, start] of Object.entries(servers)) {
	running[name] = await start();
}
for (const [tool, args, rarer] of calls) {
	const [first, again] = [none(), none()];
	for (let turn = 0; turn <= Number(TIMES) / rarer; turn += 1) {
		for (const [name, server] of Object.entries(running)) {
			const result = await server.call(tool, args);
			assert.ok(!result.isError, `${name}, ${tool}: ${JSON.stringify(result.content)}`);
			(turn === 0 ? first : again)[name].push(result.milliseconds);
		}
	}
	const what = args.query ? `${tool} ${args.query}` : tool;
	line(`${what}, first`, "ms", first);
	line(`${what}, repeated`, "ms", again);
}
const mebibytes = (read) =>
	Object.fromEntries(Object.entries(running).map(([name, server]) => [name, [read(server) / 2 ** 20]]));
line("memory of the server", "MiB", mebibytes((server) => server.memory));
line("memory with its children", "MiB", mebibytes((server) => server.memoryWithChildren));
Object.values(running).forEach((server) => server.stop());
