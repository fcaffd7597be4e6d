// Programs of a test cluster: hosts, nginx and a Redis server, in a temporary folder of this machine.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { HOST, TOKEN, freePort, requester } from "../proxies/http.mjs";

const { PORTCULLIS, CONFORMANCE, KEEPER, REDIS_SERVER = "redis-server" } = process.env;
assert.ok(PORTCULLIS && CONFORMANCE && KEEPER, "PORTCULLIS, CONFORMANCE and KEEPER name the binary and two plugins");
/** How long anything may take to start, in milliseconds. */
const PATIENCE = 60_000;
/** How long the answer to a call may take, in milliseconds. */
const ANSWER_TIME = 30_000;
/** The folder of all programs. */
export const folder = await mkdtemp(path.join(os.tmpdir(), "portcullis-cluster-"));
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Fails if a program is missing. */
function need(...names) {
	for (const program of names) {
		const found = spawnSync(program, ["-v"]);
		assert.ok(!found.error, `${program} cannot be started: install the Debian packages nginx-light and redis-server`);
	}
}

/** A program that can be killed, paused and started again. */
class Program {
	constructor(name, command, args, env = {}) {
		Object.assign(this, { name, command, args, env, signal: "SIGKILL", text: "" });
	}

	start() {
		const child = spawn(this.command, this.args, { env: { ...process.env, ...this.env }, stdio: ["ignore", "pipe", "pipe"] });
		for (const stream of [child.stdout, child.stderr]) {
			stream.on("data", (data) => (this.text = (this.text + data).slice(-20_000)));
		}
		this.ended = new Promise((resolve) => child.on("exit", resolve));
		this.child = child;
	}

	async kill(signal = this.signal) {
		this.child.kill("SIGCONT");
		this.child.kill(signal);
		await this.ended;
	}

	async pause(ms) {
		this.child.kill("SIGSTOP");
		await pause(ms);
		this.child.kill("SIGCONT");
	}
}
const programs = [];

export const request = requester(ANSWER_TIME, new http.Agent({ keepAlive: true, maxSockets: 64 }));

export async function until(what, holds) {
	const end = Date.now() + PATIENCE;
	while (!(await holds().catch(() => false))) {
		assert.ok(Date.now() < end, `${what}\n${programs.map(({ name, text }) => `--- ${name}\n${text}`).join("\n")}`);
		await pause(50);
	}
}

/**
 * A host with a home of its own. `config`: more configuration; `before`: what is done in the home before the host starts;
 * `env`: more variables of its environment.
 */
export async function makeHost(number, keys, redis, { config: more = "", before = async () => {}, env = {} } = {}) {
	const home = path.join(folder, `host-${number}`);
	const [config, plugins] = [".config/portcullis", ".local/share/portcullis/plugins"].map((one) => path.join(home, one));
	await mkdir(config, { recursive: true });
	await mkdir(plugins, { recursive: true });
	await copyFile(CONFORMANCE, path.join(plugins, "conformance.wasm"));
	await copyFile(KEEPER, path.join(plugins, "keeper.wasm"));
	const port = await freePort();
	const text = `[host]
bundled = false
[http]
listen = "127.0.0.1:${port}"
allowed-hosts = ["${HOST}"]
${keys.token ? `token-file = "${keys.token}"` : ""}
state-key-file = "${keys.states}"
requests-per-second = 100_000
[cluster]
state = "redis://127.0.0.1:${redis}/1"
[plugins.conformance.grants.client]
features = ["elicitation", "sampling", "roots"]
[plugins.keeper.grants.store]
bytes = 1_000_000
${more}`;
	await writeFile(path.join(config, "portcullis.toml"), text);
	await before(home);
	const host = new Program(`host ${number}`, PORTCULLIS, ["serve", "--http"], { HOME: home, RUST_LOG: "warn", ...env });
	host.port = port;
	host.isReady = async () => (await request(port, "GET", "/readyz")).status === 200;
	programs.push(host);
	host.start();
	await until(`${host.name} is ready`, host.isReady);
	return host;
}

/** nginx, which sends each request to the next host. */
export async function makeNginx(hosts) {
	need("nginx");
	const port = await freePort();
	const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((one) => `${one}_temp_path ${folder}/${one};`).join("\n");
	const servers = hosts.map((host) => `server 127.0.0.1:${host.port} max_fails=1 fail_timeout=1s;`).join("\n");
	const file = path.join(folder, "nginx.conf");
	await writeFile(
		file,
		`daemon off; pid ${folder}/nginx.pid; error_log stderr crit; worker_processes 1;
events { worker_connections 1024; }
http {
access_log off;
${temporary}
upstream hosts { ${servers} keepalive 16; }
server {
listen 127.0.0.1:${port};
location / {
proxy_pass http://hosts;
proxy_http_version 1.1;
proxy_set_header Connection "";
proxy_set_header Host $host;
proxy_buffering off;
proxy_connect_timeout 2s;
proxy_read_timeout 60s;
}
}
}
`
	);
	const nginx = new Program("nginx", "nginx", ["-p", folder, "-e", "stderr", "-c", file]);
	// After SIGKILL, its worker process would go on.
	nginx.signal = "SIGTERM";
	nginx.port = port;
	nginx.isReady = async () => (await request(port, "GET", "/readyz")).status === 200;
	programs.push(nginx);
	nginx.start();
	await until("nginx serves", nginx.isReady);
	return nginx;
}

/** A Redis server that loses nothing that it acknowledged. */
export async function makeRedis() {
	need(REDIS_SERVER, "redis-cli");
	const port = await freePort();
	const data = path.join(folder, "redis");
	await mkdir(data);
	const args = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", data, "--appendonly", "yes", "--appendfsync", "always"];
	const redis = new Program("redis", REDIS_SERVER, args.map(String));
	redis.port = port;
	redis.ask = (...words) => spawnSync("redis-cli", ["-p", String(port), ...words], { encoding: "utf8" }).stdout;
	programs.push(redis);
	redis.start();
	await until("redis serves", async () => redis.ask("PING").trim() === "PONG");
	return redis;
}

/** The files with the token and the keys of the hosts. */
export async function makeKeys() {
	const keys = { token: path.join(folder, "token"), states: path.join(folder, "state-keys") };
	await writeFile(keys.token, TOKEN, { mode: 0o600 });
	await writeFile(keys.states, "a key that all hosts know, 0123456789\n", { mode: 0o600 });
	return keys;
}

/** Kills all programs, and removes their folder. */
export async function end() {
	for (const program of programs) {
		await program.kill().catch(() => {});
	}
	// A process that a host started may still write there. The folder must not hide why a test failed.
	await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }).catch((error) => console.log(error.message));
}
