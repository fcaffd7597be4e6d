// Runs three hosts of a cluster with a real Redis or Valkey server behind a real nginx, and calls tools in both eras of
// MCP while hosts, server and nginx are killed, paused and restarted at random. The hosts demand access tokens of an
// authorization server. Clients of several principals have tokens that run out in the middle, try to use what belongs
// to others, and are subscribed to resources that others change.
//
//   PORTCULLIS=target/debug/portcullis CONFORMANCE=…/guest_conformance.wasm KEEPER=…/guest_keeper.wasm node run.mjs [CALLS] [SEED] [MINUTES]
//
// It needs the programs nginx, openssl, redis-server (or the one that REDIS_SERVER names) and redis-cli. Everything is on
// this machine, in a temporary folder. At the end, it checks that nothing that a client was told is lost, and that no call
// ran twice, and it prints the operations of the server for each call.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Failure, Legacy, Modern, counted } from "./clients.mjs";
import { intrude, keepOwn, refused } from "./intruders.mjs";
import { Issuer, Principal } from "./issuer.mjs";
import { end, folder, makeHost, makeKeys, makeNginx, makeRedis, pause, until } from "./programs.mjs";
import { LegacySubscriber, ModernSubscriber, change, heard } from "./subscribers.mjs";

const CALLS = Number(process.argv[2] ?? 2000);
const SEED = Number(process.argv[3] ?? Date.now() % 100_000);
/** The calls end after this time, also if there are fewer. */
const MINUTES = Number(process.argv[4] ?? 60);
const HOSTS = 3;
const WORKERS = 20;
const SUBJECTS = ["ada", "bob", "eve"];

/** Random numbers that a seed repeats (mulberry32). */
let state = SEED;
function random() {
	state = (state + 0x6d2b79f5) | 0;
	let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
	mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
	return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

let latest = Infinity;
const isOver = () => counted.calls >= CALLS || Date.now() >= latest;

/** What clients were told, and what they do not know. */
const told = { increments: 0, unknown: 0, set: new Map(), answered: 0, answeredInSessions: 0, completed: 0, failures: new Map() };

/** What clients have to expect while programs are killed: of connections and nginx, and the errors of hosts. */
const EXPECTED = [
	/^(socket hang up|the response was cut off|no answer|(connect|read|write) E(CONNREFUSED|CONNRESET|PIPE))/,
	/^status (502|503|504)$/,
	// A host that ends cuts off what it did not finish in time.
	/^status 500: .*no response message received from handler/,
	/^error -32603: .*(cannot be (used|reached) now|has ended or cannot be reached)/s,
	/^store error: the store of the hosts cannot be reached now/,
	/^a task has failed: the host that ran this task has ended or cannot be reached/,
	/^the state that the hosts share cannot be (used|reached) now/
];

function noteFailure(failure) {
	if (!(failure instanceof Failure)) {
		throw failure;
	}
	assert.ok(EXPECTED.some((one) => one.test(failure.message)), `a client saw another error: ${failure.message}`);
	const text = failure.message.replace(/(?<!status )\b\d+/g, "N").slice(0, 160);
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

async function callOnce(client, worker, subscribers) {
	const choice = random();
	if (choice < 0.3) {
		await increment(client);
	} else if (choice < 0.5) {
		await keep(client, worker);
	} else if (choice < 0.62) {
		await change(client, subscribers[Math.floor(random() * subscribers.length)]);
	} else if (choice < 0.7) {
		await client.progress();
	} else if (client instanceof Legacy) {
		await client.asked();
		told.answeredInSessions += 1;
	} else if (choice < 0.75) {
		await keepOwn(client, worker);
	} else if (choice < 0.8) {
		await intrude(client, random);
	} else if (choice < 0.92) {
		await client.asked();
		told.answered += 1;
	} else {
		await client.task();
		told.completed += 1;
	}
}

async function work(client, worker, subscribers) {
	while (!isOver()) {
		try {
			await callOnce(client, worker, subscribers);
		} catch (failure) {
			noteFailure(failure);
			await pause(50);
		}
	}
}

/** Kills, pauses and restarts programs at random until the calls are done. */
async function disturb(hosts, redis, nginx, issuer) {
	const counts = {};
	const done = (what) => (counts[what] = (counts[what] ?? 0) + 1);
	while (!isOver()) {
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
		} else if (choice < 0.96) {
			done("nginx killed");
			await nginx.kill();
			nginx.start();
		} else {
			done("issuer away");
			issuer.isAway = true;
			await pause(random() * 3000);
			issuer.isAway = false;
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

/** Checks what hosts have against what clients were told. */
async function checkStores(hosts, principal) {
	for (const host of hosts) {
		const direct = new Modern(host.port, principal);
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
}

/** Prints what clients did, and checks that there was something of each kind. */
function report(principals) {
	assert.ok(told.answered > 0 && told.increments > 0, "calls succeeded");
	console.log(`ok: ${told.completed} of ${counted.tasks} tasks were completed, and clients were told the end of the others`);
	console.log(`ok: ${told.answered} questions were answered at any host`);
	assert.ok(counted.progress > 0, "calls told their progress");
	console.log(`ok: ${counted.progress} calls told their progress, all of it, in order and once`);
	assert.ok(told.answeredInSessions > 0, "questions in sessions were answered");
	console.log(`ok: ${counted.sessions} sessions lasted, with ${told.answeredInSessions} questions and ${counted.resumed} answers that were fetched at another connection`);
	assert.ok(heard.told > 0 && heard.read > 0, "subscribers were told of changes");
	const delays = heard.delays.toSorted((a, b) => a - b);
	const at = (share) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))];
	console.log(`ok: of ${heard.changes} changes, subscribers were told of ${heard.told} (p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms), and read the others after their stream had ended`);
	console.log(`    ${heard.streams} streams, ${heard.resumed} resumed, ${heard.read} times read; ended: ${JSON.stringify(Object.fromEntries(heard.ends))}; told again: ${heard.again}, of no known change: ${heard.unchanged}`);
	const renewed = principals.reduce((sum, one) => sum + one.renewed, 0);
	assert.ok(renewed > 0, "tokens ran out");
	console.log(`ok: ${principals.length} principals, whose tokens ran out ${renewed} times; what belongs to others was refused: ${JSON.stringify(refused)}`);
}

/** Operations of the server for each kind of call. */
async function measureAll(redis, port, principal) {
	const [client, legacy] = [new Modern(port, principal), new Legacy(port, principal)];
	await legacy.tool("test_simple_text", {});
	console.table([
		await measure(redis, client, "a call without state", 60, () => client.tool("test_simple_text", {})),
		await measure(redis, client, "write of the store", 60, () => client.tool("keep", { steps: [{ do: "set", key: "m", value: "1" }] })),
		await measure(redis, client, "read of the store", 60, () => client.tool("keep", { steps: [{ do: "get", key: "m" }] })),
		await measure(redis, client, "a question and its answer", 60, () => client.asked()),
		await measure(redis, client, "a task with a question", 30, () => client.task()),
		await measure(redis, client, "a change of a resource", 60, () => client.tool("touch", { uri: "test://watched-resource" })),
		await measure(redis, legacy, "a call in a session", 60, () => legacy.tool("test_simple_text", {})),
		await measure(redis, legacy, "a question in a session", 30, () => legacy.asked())
	]);
	Object.assign(counted, { calls: 0, tasks: 0, sessions: 0, resumed: 0, progress: 0 });
}

const issuer = await Issuer.start(folder);
try {
	const keys = { ...(await makeKeys()), token: undefined };
	const redis = await makeRedis();
	const hosts = [];
	for (let number = 0; number < HOSTS; number++) {
		hosts.push(await makeHost(number, keys, redis.port, { config: issuer.config, env: { SSL_CERT_FILE: issuer.cert } }));
	}
	const nginx = await makeNginx(hosts);
	const lasting = new Principal(issuer, "operator", () => 86_400);
	await measureAll(redis, nginx.port, lasting);
	console.log(`${CALLS} calls, seed ${SEED}`);
	const began = Date.now();
	latest = began + MINUTES * 60_000;
	const principals = SUBJECTS.map((subject) => new Principal(issuer, subject));
	const of = (number) => principals[number % principals.length];
	const modern = (number) => new Modern(nginx.port, of(number));
	const legacy = (number) => new Legacy(nginx.port, of(number));
	const subscribers = [0, 1, 2].flatMap((number) => [
		new ModernSubscriber(modern(number), `m${number}`),
		new LegacySubscriber(legacy(number), `l${number}`, modern(number))
	]);
	const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker < 4 ? legacy(worker) : modern(worker), worker, subscribers));
	let areWorking = true;
	const working = Promise.all([disturb(hosts, redis, nginx, issuer), ...workers]).finally(() => (areWorking = false));
	const following = subscribers.map((one) => one.run(() => !areWorking && one.waiting.size === 0));
	const [[counts]] = await Promise.all([working, ...following]);
	const seconds = ((Date.now() - began) / 1000).toFixed(0);
	console.log(`${counted.calls} calls in ${seconds} s; disturbances: ${JSON.stringify(counts)}`);
	console.log(`failures that clients saw: ${JSON.stringify(Object.fromEntries(told.failures), null, 1)}`);
	await ready(hosts, nginx);
	await checkStores(hosts, lasting);
	report(principals);
} finally {
	await end();
	issuer.stop();
}
