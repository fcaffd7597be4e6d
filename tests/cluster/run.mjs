// Runs three hosts of a cluster with a real Redis or Valkey server behind a real nginx, and calls tools in both eras of
// MCP while hosts, server and nginx are killed, paused and restarted at random.
//
//   PORTCULLIS=target/debug/portcullis CONFORMANCE=…/guest_conformance.wasm KEEPER=…/guest_keeper.wasm node run.mjs [CALLS] [SEED]
//
// It needs the programs nginx, redis-server (or the one that REDIS_SERVER names) and redis-cli. Everything is on this
// machine, in a temporary folder. At the end, it checks that nothing that a client was told is lost, and that no call ran
// twice, and it prints the operations of the server for each call.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Failure, Legacy, Modern, counted } from "./clients.mjs";
import { end, makeHost, makeKeys, makeNginx, makeRedis, pause, until } from "./programs.mjs";

const CALLS = Number(process.argv[2] ?? 2000);
const SEED = Number(process.argv[3] ?? Date.now() % 100_000);
const HOSTS = 3;
const WORKERS = 12;

/** Random numbers that a seed repeats (mulberry32). */
let state = SEED;
function random() {
	state = (state + 0x6d2b79f5) | 0;
	let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
	mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
	return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** What clients were told, and what they do not know. */
const told = { increments: 0, unknown: 0, set: new Map(), answered: 0, answeredInSessions: 0, completed: 0, failures: new Map() };

function noteFailure(failure) {
	if (!(failure instanceof Failure)) {
		throw failure;
	}
	const text = failure.message.replace(/\d+/g, "N").slice(0, 160);
	told.failures.set(text, (told.failures.get(text) ?? 0) + 1);
}

/** Adds one to the number that all hosts keep. */
async function increment(client) {
	try {
		await client.tool("increment", {});
		told.increments += 1;
	} catch (failure) {
		told.unknown += 1;
		noteFailure(failure);
	}
}

/** Writes the worker's own record, and reads it at another host. */
async function keep(client, worker) {
	const key = `worker-${worker}`;
	const known = told.set.get(key) ?? { acknowledged: 0, tried: 0 };
	const next = known.tried + 1;
	told.set.set(key, { ...known, tried: next });
	const written = await client.tool("keep", { steps: [{ do: "set", key, value: String(next) }] });
	// The tool answers with the error of its store as text.
	if (!/^version \d+$/.test(written)) {
		throw new Failure(written);
	}
	told.set.set(key, { acknowledged: next, tried: next });
	const read = await client.tool("keep", { steps: [{ do: "get", key }] });
	const [, version, value] = read.match(/^version (\d+) "(\d+)"$/) ?? [];
	if (value === undefined) {
		throw new Failure(read);
	}
	assert.equal(Number(value), next, `${key} has version ${version}: ${read}`);
}

async function work(client, worker) {
	while (counted.calls < CALLS) {
		const choice = random();
		try {
			if (choice < 0.4) {
				await increment(client);
			} else if (choice < 0.7) {
				await keep(client, worker);
			} else if (choice < 0.76) {
				await client.progress();
			} else if (client instanceof Legacy) {
				await client.asked();
				told.answeredInSessions += 1;
			} else if (choice < 0.9) {
				await client.asked();
				told.answered += 1;
			} else {
				await client.task();
				told.completed += 1;
			}
		} catch (failure) {
			noteFailure(failure);
			await pause(50);
		}
	}
}

/** Kills, pauses and restarts programs at random until the calls are done. */
async function disturb(hosts, redis, nginx) {
	const counts = {};
	const done = (what) => (counts[what] = (counts[what] ?? 0) + 1);
	while (counted.calls < CALLS) {
		await pause(300 + random() * 1200);
		const choice = random();
		const host = hosts[Math.floor(random() * hosts.length)];
		if (choice < 0.3) {
			done("host killed");
			await host.kill();
			await pause(random() * 500);
			host.start();
			await until(`${host.name} is ready again`, host.isReady);
		} else if (choice < 0.5) {
			done("host paused");
			await host.pause(200 + random() * 1500);
		} else if (choice < 0.6) {
			done("host ended");
			await host.kill("SIGTERM");
			host.start();
			await until(`${host.name} is ready again`, host.isReady);
		} else if (choice < 0.75) {
			done("redis killed");
			await redis.kill();
			await pause(random() * 1500);
			redis.start();
		} else if (choice < 0.9) {
			done("redis paused");
			await redis.pause(200 + random() * 5000);
		} else {
			done("nginx killed");
			await nginx.kill();
			nginx.start();
		}
	}
	return counts;
}

/** Operations of the server for each of some calls, without disturbances. */
async function measure(redis, client, what, count, call) {
	const monitor = spawn("redis-cli", ["-p", String(redis.port), "MONITOR"], { stdio: ["ignore", "pipe", "inherit"] });
	let text = "";
	monitor.stdout.on("data", (data) => (text += data));
	await until("redis-cli monitors", async () => text.startsWith("OK"));
	const began = Date.now();
	for (let n = 0; n < count; n++) {
		await call(client);
	}
	const took = (Date.now() - began) / count;
	monitor.kill();
	// What scripts do inside of the server is no operation of a host, and what hosts ask each second is for no call.
	const lines = text.split("\n").filter((line) => line.includes(" [1 ") && !line.includes(" [1 lua]") && !/"(PING|INFO|CONFIG|SCRIPT|CLIENT|SELECT|XREAD|XTRIM)"|"portcullis:host:[0-9a-f]*" "1" "PX"/.test(line));
	return { what, "ms per call": took.toFixed(1), "operations per call": (lines.length / count).toFixed(2) };
}

async function ready(hosts, nginx) {
	for (const host of hosts) {
		await until(`${host.name} is ready at the end`, host.isReady);
	}
	await until("nginx serves at the end", nginx.isReady);
}

try {
	const keys = await makeKeys();
	const redis = await makeRedis();
	const hosts = [];
	for (let number = 0; number < HOSTS; number++) {
		hosts.push(await makeHost(number, keys, redis.port));
	}
	const nginx = await makeNginx(hosts);
	const [client, legacy] = [new Modern(nginx.port), new Legacy(nginx.port)];
	await legacy.tool("test_simple_text", {});
	console.table([
		await measure(redis, client, "write of the store", 60, () => client.tool("keep", { steps: [{ do: "set", key: "m", value: "1" }] })),
		await measure(redis, client, "read of the store", 60, () => client.tool("keep", { steps: [{ do: "get", key: "m" }] })),
		await measure(redis, client, "a question and its answer", 60, () => client.asked()),
		await measure(redis, client, "a task with a question", 30, () => client.task()),
		await measure(redis, legacy, "a call in a session", 60, () => legacy.tool("test_simple_text", {})),
		await measure(redis, legacy, "a question in a session", 30, () => legacy.asked())
	]);
	Object.assign(counted, { calls: 0, tasks: 0, sessions: 0, resumed: 0, progress: 0 });
	console.log(`${CALLS} calls, seed ${SEED}`);
	const began = Date.now();
	const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker < 4 ? new Legacy(nginx.port) : new Modern(nginx.port), worker));
	const [counts] = await Promise.all([disturb(hosts, redis, nginx), ...workers]);
	const seconds = ((Date.now() - began) / 1000).toFixed(0);
	console.log(`${counted.calls} calls in ${seconds} s; disturbances: ${JSON.stringify(counts)}`);
	console.log(`failures that clients saw: ${JSON.stringify(Object.fromEntries(told.failures), null, 1)}`);
	await ready(hosts, nginx);
	for (const host of hosts) {
		const direct = new Modern(host.port);
		const read = await direct.tool("keep", { steps: [{ do: "get", key: "count" }] });
		const count = Number(read.match(/"(\d+)"$/)?.[1] ?? 0);
		assert.ok(count >= told.increments, `${host.name}: ${told.increments} were acknowledged, ${count} are there`);
		assert.ok(count <= told.increments + told.unknown, `${host.name}: ${count} ran, at most ${told.increments + told.unknown} were sent`);
		for (const [key, { acknowledged, tried }] of told.set) {
			const kept = await direct.tool("keep", { steps: [{ do: "get", key }] });
			const value = Number(kept.match(/"(\d+)"$/)?.[1] ?? 0);
			assert.ok(value >= acknowledged && value <= tried, `${host.name}, ${key}: ${acknowledged} ≤ ${value} ≤ ${tried}`);
		}
		console.log(`ok: ${host.name} has ${count} increments (${told.increments} acknowledged, ${told.unknown} unknown) and ${told.set.size} records`);
	}
	assert.ok(told.answered > 0 && told.increments > 0, "calls succeeded");
	console.log(`ok: ${told.completed} of ${counted.tasks} tasks were completed, and clients were told the end of the others`);
	console.log(`ok: ${told.answered} questions were answered at any host`);
	assert.ok(counted.progress > 0, "calls told their progress");
	console.log(`ok: ${counted.progress} calls told their progress, all of it, in order and once`);
	assert.ok(told.answeredInSessions > 0, "questions in sessions were answered");
	console.log(`ok: ${counted.sessions} sessions lasted, with ${told.answeredInSessions} questions and ${counted.resumed} answers that were fetched at another connection`);
} finally {
	await end();
}
