// Lints a hostile project: its code does not run unless the operator allows it, and then it reaches nothing.
//
//   PORTCULLIS=target/debug/portcullis node --test hostile.mjs

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "./processes.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const portcullis = process.env.PORTCULLIS;
assert.ok(portcullis, "PORTCULLIS must say where the binary is");

const SECRET = "the-secret-of-the-home-folder";

/** The actions that a configuration of the linter can try, since it is code. It throws what it found out. */
const attempts = (home, outside, port) => `
import fs from "node:fs";
import net from "node:net";
import { execSync } from "node:child_process";
const found = [];
const attempt = (name, action) => { try { found.push(name + ": " + action()); } catch {} };
attempt("secret", () => fs.readFileSync(${JSON.stringify(path.join(home, "secret"))}, "utf8"));
attempt("passwd", () => fs.readFileSync("/etc/passwd", "utf8"));
attempt("parent", () => fs.readFileSync("/proc/" + process.ppid + "/environ", "utf8"));
attempt("outside", () => fs.writeFileSync(${JSON.stringify(path.join(outside, "written"))}, "x") ?? "written");
attempt("inside", () => fs.writeFileSync("written", "x") ?? "written");
attempt("link", () => fs.readFileSync("webapp/link.js", "utf8"));
attempt("shell", () => execSync("cat /etc/passwd").toString());
attempt("limits of its own", () => { if (process.permission) throw new Error(); return "none"; });
attempt("variable", () => process.env.PORTCULLIS_TEST_SECRET ?? (() => { throw new Error(); })());
await new Promise((resolve) => {
	const socket = net.connect(${port}, "127.0.0.1");
	socket.on("connect", () => { found.push("connected"); resolve(); }).on("error", resolve);
	setTimeout(resolve, 2000);
});
throw new Error("reached: [" + found.join(", ") + "]");
`;

async function stage(t) {
	const base = await mkdtemp(path.join(os.tmpdir(), "portcullis-hostile-"));
	t.after(() => rm(base, { recursive: true, force: true }));
	const [home, outside, project] = ["home", "outside", "project"].map((name) => path.join(base, name));
	await Promise.all([home, outside, path.join(project, "webapp")].map((folder) => mkdir(folder, { recursive: true })));
	await writeFile(path.join(home, "secret"), SECRET);
	await symlink(path.join(home, "secret"), path.join(project, "webapp/link.js"));
	await writeFile(path.join(project, "package.json"), "{\"name\": \"hostile\", \"type\": \"module\"}");
	await writeFile(path.join(project, "ui5.yaml"),
		"specVersion: \"4.0\"\nmetadata:\n  name: hostile\ntype: application\n");
	await writeFile(path.join(project, "webapp/manifest.json"),
		"{\"_version\": \"1.81.0\", \"sap.app\": {\"id\": \"hostile\", \"type\": \"application\"}}");
	await writeFile(path.join(project, "webapp/a.js"), "jQuery.sap.log.error(\"an old global\");\n");
	let connections = 0;
	const server = net.createServer((socket) => {
		connections += 1;
		socket.end();
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	t.after(() => server.close());
	const config = attempts(home, outside, server.address().port);
	await writeFile(path.join(project, "ui5lint.config.mjs"), config);
	return { home, outside, project, connections: () => connections };
}

/** Calls the tool, and returns its answer as text. */
async function lint({ home, project }, settings) {
	const file = path.join(home, "portcullis.toml");
	await writeFile(file, settings);
	const node = path.dirname(process.execPath);
	const { stdout, stderr } = await run(portcullis, [
		"call", "run_ui5_linter", "--config", file, "--root", project,
		JSON.stringify({ projectDir: project, provideContextInformation: false })
	], {
		seconds: 120,
		mayFail: true,
		env: {
			HOME: home,
			PATH: [path.join(here, "node_modules/.bin"), node, "/usr/bin", "/bin"].join(":"),
			PORTCULLIS_TEST_SECRET: SECRET
		}
	});
	return stdout + stderr;
}

async function harmed({ outside, project, connections }) {
	assert.deepEqual(await readdir(outside), []);
	assert.ok(!(await readdir(project)).includes("written"), "something was written into the project");
	assert.equal(connections(), 0, "somebody was called");
}

test("a project's configuration is not run", { timeout: 180_000 }, async (t) => {
	const all = await stage(t);
	const said = await lint(all, "");
	assert.match(said, /no-globals|no-deprecated-api/, said);
	assert.doesNotMatch(said, /reached|the-secret/, said);
	await harmed(all);
});

/** Has the linter run the project's configuration. */
const WITH_CONFIG = `
[commands.ui5lint]
program = "node"
args = ["--input-type=module", "--eval", "@ui5-lint-worker.mjs", "with-project-config"]
find = { UI5LINT = "ui5lint" }
`;

const OWN_LIMITS = `
[commands.ui5lint.own-limits]
switch = ["--permission", "--experimental-permission"]
read = "--allow-fs-read={}"
write = "--allow-fs-write={}"
`;

test("a configuration that the operator allows to run reaches nothing", { timeout: 180_000 }, async (t) => {
	const all = await stage(t);
	const said = await lint(all, WITH_CONFIG + OWN_LIMITS);
	assert.match(said, /reached: \[\]/, said);
	await harmed(all);
});

test("it reaches nothing without the limits of Node.js itself", { timeout: 180_000 }, async (t) => {
	const all = await stage(t);
	const said = await lint(all, WITH_CONFIG);
	assert.match(said, /reached: \[limits of its own: none\]/, said);
	await harmed(all);
});
