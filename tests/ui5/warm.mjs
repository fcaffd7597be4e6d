// Tests that one linter process serves all projects: it is warm for the second project and for fixes, and has no access to any.
//
//   PORTCULLIS=target/debug/portcullis node --test warm.mjs

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Server } from "../ui5-compare/server.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const portcullis = process.env.PORTCULLIS;
assert.ok(portcullis, "PORTCULLIS must say where the binary is");

const OLD = "sap.ui.define([\"sap/m/Button\"], function (Button) {\n\tjQuery.sap.log.error(\"x\");\n});\n";

async function project(folder, name) {
	const root = path.join(folder, name);
	await mkdir(path.join(root, "webapp"), { recursive: true });
	await writeFile(path.join(root, "ui5.yaml"),
		`specVersion: "4.0"\nmetadata:\n  name: ${name}\ntype: application\n`);
	await writeFile(path.join(root, "webapp/manifest.json"),
		JSON.stringify({ _version: "1.81.0", "sap.app": { id: name, type: "application" } }));
	await writeFile(path.join(root, `webapp/of-${name}.js`), OLD);
	return root;
}

/** The processes of the linter that a host has started. */
function linters(host) {
	const all = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
	return all.filter((pid) => {
		try {
			const parent = Number(/^PPid:\t([0-9]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
			return parent === host && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--input-type=module");
		} catch {
			return false;
		}
	});
}

test("one process lints all projects, and reaches none of them", { timeout: 300_000 }, async (t) => {
	const base = await mkdtemp(path.join(os.tmpdir(), "portcullis-warm-"));
	t.after(() => rm(base, { recursive: true, force: true }));
	const [home, one, two] = ["home", "one", "two"].map((name) => path.join(base, name));
	await mkdir(home);
	const projects = [await project(one, "first"), await project(one, "second"), await project(two, "third")];
	const env = {
		HOME: home,
		PATH: [path.join(here, "node_modules/.bin"), path.dirname(process.execPath), "/usr/bin", "/bin"].join(":")
	};
	const server = await Server.start(portcullis, ["serve", "--root", one, "--root", two], { env });
	t.after(() => server.stop());
	const lint = async (projectDir, more = {}) => {
		const args = { projectDir, provideContextInformation: false, ...more };
		const { structuredContent, isError, content } = await server.call("run_ui5_linter", args);
		assert.ok(!isError, JSON.stringify(content));
		return structuredContent.results;
	};

	let worker;
	for (const root of projects) {
		const results = await lint(root);
		const file = `webapp/of-${path.basename(root)}.js`;
		assert.deepEqual(results.map(({ filePath }) => filePath).filter((name) => name.endsWith(".js")), [file]);
		const running = linters(server.pid);
		assert.equal(running.length, 1, "there is one process");
		worker ??= running[0];
		assert.equal(running[0], worker, "it is the same one");
	}
	// The linter notices new, changed and removed files.
	const [first, second] = projects;
	await writeFile(path.join(first, "webapp/later.js"), OLD);
	assert.ok((await lint(first)).some(({ filePath }) => filePath === "webapp/later.js"));
	await rm(path.join(first, "webapp/later.js"));
	assert.ok(!(await lint(first)).some(({ filePath }) => filePath === "webapp/later.js"));

	await lint(second, { fix: true });
	assert.deepEqual(linters(server.pid), [worker], "it fixes, too");
	assert.doesNotMatch(await readFile(path.join(second, "webapp/of-second.js"), "utf8"), /jQuery/);
	assert.match(await readFile(path.join(first, "webapp/of-first.js"), "utf8"), /jQuery/);

	// Each use is recorded, without a directory, since the process got none.
	const trail = execFileSync(portcullis, ["trail", "--json", "--capability", "process"], { env, encoding: "utf8" });
	const subjects = [...trail.matchAll(/"subject":\s*"([^"]*)"/g)].map((match) => match[1]);
	assert.ok(subjects.length > 0 && subjects.every((subject) => subject === "run ui5lint in an empty directory"), trail);

	process.kill(Number(worker), "SIGKILL");
	assert.ok((await lint(first)).length > 0, "a killed worker is replaced");
	assert.equal(linters(server.pid).length, 1);
	assert.notEqual(linters(server.pid)[0], worker);
	assert.ok(existsSync(path.join(first, "ui5.yaml")));
	assert.deepEqual(await readdir(path.join(first, "webapp")), ["manifest.json", "of-first.js"]);
});
