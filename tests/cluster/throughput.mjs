// Measures how the throughput of a cluster grows with its hosts, and what a call costs the server of the state.
//
//   PORTCULLIS=target/release/portcullis CONFORMANCE=…/guest_conformance.wasm KEEPER=…/guest_keeper.wasm node throughput.mjs [SECONDS]
//
// On a machine with few cores, hosts, server and clients compete for them. So the figures are calls for each second of
// processor time: of all hosts together (does a call cost more if there are more hosts?), and of the server, which uses one
// core. Their ratio is the number of cores of hosts that one server serves.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Legacy, Modern } from "./clients.mjs";
import { end, makeHost, makeKeys, makeRedis, until } from "./programs.mjs";

const SECONDS = Number(process.argv[2] ?? 5);
const HOSTS = 3;
const CLIENTS = 12;
/** Ticks of processor time in a second, as Linux counts them. */
const TICKS = 100;

/** The processor time that a program has used, in seconds. */
async function cpu({ child }) {
	const text = await readFile(`/proc/${child.pid}/stat`, "utf8");
	const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
	return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/** A client whose requests go to the hosts in turn, as through a balancer that costs nothing. */
function inTurns(client, hosts, first) {
	let next = first;
	return Object.defineProperty(client, "port", { get: () => hosts[next++ % hosts.length].port });
}

const set = (client, number) => client.tool("keep", { steps: [{ do: "set", key: `t${number}`, value: "1" }] });
const get = (client, number) => client.tool("keep", { steps: [{ do: "get", key: `t${number}` }] });
const kinds = {
	"a call without state": [Modern, (client) => client.tool("test_simple_text", {})],
	"a read of the store": [Modern, get],
	"a write of the store": [Modern, set],
	"a change of a resource": [Modern, (client) => client.tool("touch", { uri: "test://watched-resource" })],
	"a call in a session": [Legacy, (client) => client.tool("test_simple_text", {})]
};

/** Calls for some seconds. Returns the number of calls, and the processor time of hosts and server. */
async function measure([Client, call], hosts, redis) {
	const clients = Array.from({ length: CLIENTS }, (_, number) => inTurns(new Client(), hosts, number));
	for (const [number, client] of clients.entries()) {
		await call(client, number);
	}
	const times = async () => [sum(await Promise.all(hosts.map(cpu))), await cpu(redis)];
	const [before, began] = [await times(), Date.now()];
	let calls = 0;
	const work = async (client, number) => {
		while (Date.now() - began < SECONDS * 1000) {
			await call(client, number);
			calls += 1;
		}
	};
	await Promise.all(clients.map(work));
	const [seconds, after] = [(Date.now() - began) / 1000, await times()];
	return { perSecond: calls / seconds, host: (after[0] - before[0]) / calls, redis: (after[1] - before[1]) / calls };
}

try {
	// Without tokens, rates are not counted in the state, which would be one operation for some hundred calls.
	const [keys, redis] = [{ ...(await makeKeys()), token: undefined }, await makeRedis()];
	const hosts = [];
	const rows = [];
	const alone = new Map();
	for (let count = 1; count <= HOSTS; count++) {
		hosts.push(await makeHost(count, keys, redis.port));
		await until("all hosts are ready", async () => (await Promise.all(hosts.map((host) => host.isReady()))).every(Boolean));
		for (const [kind, how] of Object.entries(kinds)) {
			const found = await measure(how, hosts, redis);
			const first = alone.get(kind) ?? found;
			alone.set(kind, first);
			assert.ok(found.host > 0, "calls use processor time");
			rows.push({
				hosts: count,
				kind,
				"calls per second": Math.round(found.perSecond),
				"calls per core of hosts": Math.round(1 / found.host),
				"compared with one host": (first.host / found.host).toFixed(2),
				"server, us per call": Math.round(found.redis * 1e6),
				"cores of hosts for one server": found.redis > 0.000_005 ? (found.host / found.redis).toFixed(1) : "-"
			});
		}
	}
	console.table(rows.toSorted((a, b) => Object.keys(kinds).indexOf(a.kind) - Object.keys(kinds).indexOf(b.kind)));
} finally {
	await end();
}
