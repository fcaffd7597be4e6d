// Runs nginx and Caddy with the files of resources/deploy in front of two hosts, and calls tools through each of them in both eras of MCP.
//
//   PORTCULLIS=target/debug/portcullis PLUGIN=…/guest_conformance.wasm node run.mjs
//
// It needs the programs nginx and caddy. Everything is on this machine, in a temporary folder.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { HOST, TOKEN, TYPES, freePort, messages, requester } from "./http.mjs";

const { PORTCULLIS, PLUGIN } = process.env;
assert.ok(PORTCULLIS && PLUGIN, "PORTCULLIS and PLUGIN name the binary and the plugin of the conformance suite");
const deploy = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../resources/deploy");
const folder = await mkdtemp(path.join(os.tmpdir(), "portcullis-proxies-"));
/** How long anything may take to start, in milliseconds. */
const PATIENCE = 60_000;
const children = [];
const request = requester(PATIENCE, false);

function start(program, args, env = {}) {
	const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
	child.text = "";
	for (const stream of [child.stdout, child.stderr]) {
		stream.on("data", (data) => (child.text += data));
	}
	children.push(child);
	return child;
}

async function until(what, holds) {
	const end = Date.now() + PATIENCE;
	while (!(await holds().catch(() => false))) {
		assert.ok(Date.now() < end, `${what}\n${children.map(({ text }) => text).join("\n")}`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

/** A host with a home of its own. */
async function startHost(name, keys) {
	const home = path.join(folder, name);
	const [config, plugins] = [".config/portcullis", ".local/share/portcullis/plugins"].map((one) => path.join(home, one));
	await mkdir(config, { recursive: true });
	await mkdir(plugins, { recursive: true });
	await copyFile(PLUGIN, path.join(plugins, "conformance.wasm"));
	const port = await freePort();
	const text = `[host]\nbundled = false\n[http]\nlisten = "127.0.0.1:${port}"\nallowed-hosts = ["${HOST}"]\ntoken-file = "${keys.token}"\nstate-key-file = "${keys.states}"\n[plugins.conformance.grants.client]\nfeatures = ["elicitation", "sampling", "roots"]\n`;
	await writeFile(path.join(config, "portcullis.toml"), text);
	start(PORTCULLIS, ["serve", "--http"], { HOME: home });
	await until(`host ${name} is ready`, async () => (await request(port, "GET", "/readyz")).status === 200);
	return port;
}

let id = 0;

async function modern(port, method, params, name) {
	const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": { elicitation: {} }, ...params._meta };
	const body = JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params: { ...params, _meta } });
	const headers = { ...TYPES, "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(name && { "mcp-name": name }) };
	const response = await request(port, "POST", "/mcp", headers, body);
	assert.equal(response.status, 200, response.text);
	return messages(response);
}

/** Calls that ask a question: whichever host gets the answer, the call goes on. */
async function answersAtAnyHost(port) {
	const name = "test_input_required_result_elicitation";
	for (let round = 0; round < 6; round++) {
		const [{ result: asked }] = await modern(port, "tools/call", { name, arguments: {} }, name);
		assert.equal(asked.resultType, "input_required");
		const inputResponses = Object.fromEntries(Object.keys(asked.inputRequests).map((key) => [key, { action: "accept", content: { name: "Ada" } }]));
		const more = { name, arguments: {}, inputResponses, requestState: asked.requestState };
		const [{ result, error }] = await modern(port, "tools/call", more, name);
		assert.equal(result?.content[0].text, "Hello, Ada!", JSON.stringify(error));
		if (round % 2) {
			// An odd number of requests, so that questions and answers change hosts.
			await modern(port, "tools/list", {});
		}
	}
}

/** Progress comes before the answer, as events that nothing holds back. */
async function streams(port) {
	const name = "test_tool_with_progress";
	const seen = await modern(port, "tools/call", { name, arguments: {}, _meta: { progressToken: "mine" } }, name);
	assert.equal(seen.filter(({ method }) => method === "notifications/progress").length, 3);
	assert.ok(seen.at(-1).result);
}

/** Sessions of an older client stay at one host. */
async function sessionsStay(port) {
	const post = async (headers, message) => request(port, "POST", "/mcp", { ...TYPES, ...headers }, JSON.stringify({ jsonrpc: "2.0", ...message }));
	for (let round = 0; round < 3; round++) {
		const clientInfo = { name: "proxies", version: "1" };
		const opened = await post({}, { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
		assert.equal(opened.status, 200, opened.text);
		const session = { "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
		assert.equal((await post(session, { method: "notifications/initialized" })).status, 202);
		for (let call = 0; call < 4; call++) {
			const listed = await post(session, { id: 2, method: "tools/list" });
			assert.equal(listed.status, 200, listed.text);
			assert.ok(messages(listed).at(-1).result.tools.length > 0);
		}
		assert.equal((await request(port, "DELETE", "/mcp", { ...TYPES, ...session })).status, 200);
	}
}

/** The paths of probes and metrics are for this machine only. */
async function probesAreHidden(port) {
	for (const where of ["/healthz", "/readyz", "/metrics"]) {
		assert.equal((await request(port, "GET", where, TYPES)).status, 404, where);
	}
}

/** nginx with the shipped file: only ports, certificate and folders are those of this run. */
async function startNginx(hosts) {
	const port = await freePort();
	let text = await readFile(path.join(deploy, "nginx.conf"), "utf8");
	const edits = [
		["127.0.0.1:8721", `127.0.0.1:${hosts[0]}`],
		["127.0.0.1:8722", `127.0.0.1:${hosts[1]}`],
		["listen 443 ssl;", `listen 127.0.0.1:${port};`],
		["    ssl_certificate     /etc/portcullis/cert.pem;\n", ""],
		["    ssl_certificate_key /etc/portcullis/key.pem;\n", ""]
	];
	for (const [from, to] of edits) {
		assert.ok(text.includes(from), `nginx.conf has ${from}`);
		text = text.replaceAll(from, to);
	}
	const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path ${folder}/${one};`).join("\n");
	const file = path.join(folder, "nginx.conf");
	await writeFile(file, `daemon off; pid ${folder}/nginx.pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${text}\n}\n`);
	start("nginx", ["-p", folder, "-e", "stderr", "-c", file]);
	await until("nginx serves", async () => (await request(port, "GET", "/healthz")).status === 404);
	return port;
}

/** Caddy with the shipped file: only ports are those of this run, and HTTP instead of a certificate. */
async function startCaddy(hosts) {
	const port = await freePort();
	let text = await readFile(path.join(deploy, "Caddyfile"), "utf8");
	const edits = [
		["127.0.0.1:8721", `127.0.0.1:${hosts[0]}`],
		["127.0.0.1:8722", `127.0.0.1:${hosts[1]}`],
		["\nmcp.example.org {", `\nhttp://mcp.example.org:${port} {\n\tbind 127.0.0.1`]
	];
	for (const [from, to] of edits) {
		assert.ok(text.includes(from), `Caddyfile has ${from}`);
		text = text.replaceAll(from, to);
	}
	const file = path.join(folder, "Caddyfile");
	await writeFile(file, `{\n\tadmin off\n}\n${text}`);
	start("caddy", ["run", "--config", file, "--adapter", "caddyfile"], { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder });
	await until("Caddy serves", async () => (await request(port, "GET", "/healthz")).status === 404);
	await until("Caddy finds the hosts ready", async () => Boolean(await modern(port, "tools/list", {})));
	return port;
}

try {
	const keys = { token: path.join(folder, "token"), states: path.join(folder, "state-keys") };
	await writeFile(keys.token, TOKEN, { mode: 0o600 });
	await writeFile(keys.states, "a key that both hosts know, 0123456789\n", { mode: 0o600 });
	const hosts = [await startHost("one", keys), await startHost("two", keys)];
	const proxies = { nginx: await startNginx(hosts), caddy: await startCaddy(hosts) };
	for (const [name, port] of Object.entries(proxies)) {
		for (const test of [answersAtAnyHost, streams, sessionsStay, probesAreHidden]) {
			await test(port);
			console.log(`ok: ${test.name} behind ${name}`);
		}
	}
	children[0].kill();
	await until("the first host has stopped", async () => children[0].exitCode !== null || children[0].signalCode !== null);
	for (const [name, port] of Object.entries(proxies)) {
		// Caddy finds out by its next check, nginx by the first request.
		await until(`requests behind ${name} go on when a host stops`, async () => {
			for (let call = 0; call < 6; call++) {
				assert.ok((await modern(port, "tools/list", {})).at(-1).result.tools.length > 0);
			}
			return true;
		});
		console.log(`ok: requests behind ${name} go on when a host stops`);
	}
	const unit = spawnSync("systemd-analyze", ["verify", "--man=no", path.join(deploy, "portcullis.service")], { encoding: "utf8" });
	if (unit.error) {
		console.log("not run: systemd-analyze is missing");
	} else {
		// The program is not installed here; nothing else may be wrong.
		const wrong = unit.stderr.split("\n").filter((line) => line.includes("portcullis.service") && !line.includes("/usr/bin/portcullis is not executable"));
		assert.deepEqual(wrong, []);
		console.log("ok: systemd accepts the unit");
	}
} finally {
	for (const child of children) {
		child.kill();
	}
	await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.on("exit", resolve))));
	await rm(folder, { recursive: true, force: true });
}
