// Tests that several hosts serve one session of an older client, with a real Redis or Valkey server: requests in turns,
// answers to questions, cancellations, event streams, and hosts that are killed in the middle.
//
//   PORTCULLIS=target/debug/portcullis CONFORMANCE=…/guest_conformance.wasm KEEPER=…/guest_keeper.wasm node sessions.mjs [TEST]
//
// It needs the programs redis-server (or the one that REDIS_SERVER names) and redis-cli. TEST is a part of the names of tests.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { TYPES } from "../proxies/http.mjs";
import { Modern } from "./clients.mjs";
import { end, makeHost, makeKeys, makeRedis, pause, request, until } from "./programs.mjs";
import { Stream } from "./streams.mjs";

const VERSION = "2025-11-25";
let lastId = 0;

/** The first message of a stream of which this holds. */
async function find(stream, what, holds) {
	const found = await stream.wait(holds, 20_000);
	assert.ok(found, `a stream has ${what}, ended: ${stream.ended}: ${JSON.stringify(stream.events)}`);
	return found;
}

/** A session of a client of 2025-11-25, each of whose requests goes to the host that the test names. */
class Session {
	static async open(host, capabilities = {}) {
		const session = new Session();
		const params = { protocolVersion: VERSION, capabilities, clientInfo: { name: "sessions", version: "1" } };
		const opened = await request(host.port, "POST", "/mcp", TYPES, JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method: "initialize", params }));
		assert.equal(opened.status, 200, opened.text);
		session.headers = { ...TYPES, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION };
		assert.equal((await session.post(host, { method: "notifications/initialized" })).status, 202);
		return session;
	}

	post(host, message) {
		return request(host.port, "POST", "/mcp", this.headers, JSON.stringify({ jsonrpc: "2.0", ...message }));
	}

	/** Sends a request, and returns its stream. */
	begin(host, method, params) {
		const id = ++lastId;
		const stream = new Stream(host.port, "POST", this.headers, JSON.stringify({ jsonrpc: "2.0", id, method, params }));
		return Object.assign(stream, { id });
	}

	async ask(host, method, params) {
		const stream = this.begin(host, method, params);
		await stream.opened;
		assert.equal(stream.status, 200, `${method} at ${host.name}`);
		const found = await find(stream, "an answer", (message) => message.id === stream.id && !message.method);
		stream.close();
		return found;
	}

	async tool(host, name, args = {}) {
		const { result, error } = await this.ask(host, "tools/call", { name, arguments: args });
		assert.ok(result && !result.isError, JSON.stringify(error ?? result));
		return result.content[0].text;
	}

	/** Opens the event stream, from an event on. */
	async listen(host, after) {
		const more = after === undefined ? {} : { "last-event-id": after };
		const stream = new Stream(host.port, "GET", { ...this.headers, ...more });
		await stream.opened;
		assert.equal(stream.status, 200);
		return stream;
	}

	end(host) {
		return request(host.port, "DELETE", "/mcp", this.headers);
	}
}

const isMethod = (method) => (message) => message.method === method;

async function restart(host) {
	host.start();
	await until(`${host.name} is ready again`, host.isReady);
}

const tests = {
	async "requests of a session go to any host, four of four"([one, two, three]) {
		const session = await Session.open(one);
		for (const host of [two, three, one, two]) {
			assert.equal(await session.tool(host, "test_simple_text"), "This is a simple text response for testing.");
		}
	},

	async "a session outlives the host that made it, which is killed between two requests"([one, two, three]) {
		const session = await Session.open(one);
		await one.kill();
		for (const host of [two, three, two, three]) {
			assert.equal(await session.tool(host, "test_simple_text"), "This is a simple text response for testing.");
		}
		await restart(one);
		await session.tool(one, "test_simple_text");
	},

	async "all hosts at once may be asked first"([one, two, three]) {
		const session = await Session.open(one);
		const asked = Array.from({ length: 12 }, (_, n) => session.tool([two, three][n % 2], "test_simple_text"));
		assert.equal((await Promise.all(asked)).length, 12);
	},

	async "the answer to a question reaches the host that asked, from any host"([one, two, three]) {
		const session = await Session.open(one, { elicitation: {} });
		const asking = [two, three].map((host) => session.begin(host, "tools/call", { name: "test_elicitation", arguments: { message: host.name } }));
		const questions = await Promise.all(asking.map((stream) => find(stream, "a question", isMethod("elicitation/create"))));
		assert.notEqual(questions[0].id, questions[1].id, "hosts have ids of their own");
		// Each answer goes to the other host, and then to one that asked nothing.
		for (const [at, host] of [[0, three], [1, one]]) {
			const content = { username: `u${at}`, email: "a@example.org" };
			assert.equal((await session.post(host, { id: questions[at].id, result: { action: "accept", content } })).status, 202);
			const { result } = await find(asking[at], "an answer", (message) => message.id === asking[at].id && !message.method);
			assert.match(result.content[0].text, new RegExp(`u${at}`));
			asking[at].close();
		}
		const refused = session.begin(two, "tools/call", { name: "test_elicitation", arguments: { message: "m" } });
		const question = await find(refused, "a question", isMethod("elicitation/create"));
		await session.post(one, { id: question.id, error: { code: -1, message: "no" } });
		const { result } = await find(refused, "an answer", (message) => message.id === refused.id && !message.method);
		assert.ok(result.isError, JSON.stringify(result));
	},

	async "a call is cancelled from another host"([one, two]) {
		const session = await Session.open(one);
		const stream = session.begin(one, "tools/call", { name: "slow_compute", arguments: { seconds: 20 }, _meta: { progressToken: "p" } });
		await find(stream, "progress", isMethod("notifications/progress"));
		assert.equal((await session.post(two, { method: "notifications/cancelled", params: { requestId: stream.id } })).status, 202);
		const before = Date.now();
		await until("the stream ends", async () => stream.ended);
		assert.ok(Date.now() - before < 3000, "the call ended at once");
		assert.ok(!stream.events.some(({ message }) => message.id === stream.id), "a cancelled request has no answer");
	},

	async "the event stream of one host has the messages of all"([one, two, three]) {
		const session = await Session.open(one);
		const listening = await session.listen(three);
		await session.tool(two, "test_tool_with_logging");
		await find(listening, "a log record", ({ params }) => params?.data === "Tool execution completed");
		// The level that is set at one host counts at all.
		await session.ask(one, "logging/setLevel", { level: "error" });
		const before = listening.events.length;
		await session.tool(two, "test_tool_with_logging");
		await session.tool(three, "test_trigger_tool_change");
		await find(listening, "a changed list", isMethod("notifications/tools/list_changed"));
		assert.deepEqual(listening.events.slice(before).filter(({ message }) => message.method === "notifications/message"), []);
		listening.close();
	},

	async "an event stream is resumed at another host after its own was killed"([one, two, three]) {
		const session = await Session.open(one);
		const listening = await session.listen(three);
		await session.tool(two, "test_trigger_tool_change");
		await find(listening, "a changed list", isMethod("notifications/tools/list_changed"));
		const after = listening.lastId;
		await three.kill();
		await session.tool(two, "test_tool_with_logging");
		const resumed = await session.listen(one, after);
		await find(resumed, "the last record", ({ params }) => params?.data === "Tool execution completed");
		// Each host of the session tells of the changed list, so the others may come after the first one.
		const records = resumed.events.filter(({ message }) => message.method === "notifications/message").map(({ message }) => message.params.data);
		assert.deepEqual(records, ["Tool execution started", "Tool processing data", "Tool execution completed"], "each once, in order");
		resumed.close();
		// An event that was read is sent again to a client that names an earlier one.
		const again = await session.listen(two, after);
		await find(again, "the last record again", ({ params }) => params?.data === "Tool execution completed");
		again.close();
		// Without the id of an event, a stream has what none has read.
		await pause(300);
		await session.tool(two, "test_trigger_prompt_change");
		const unread = await session.listen(two);
		await find(unread, "a changed list", isMethod("notifications/prompts/list_changed"));
		for (const { message } of unread.events) {
			assert.deepEqual(message, { jsonrpc: "2.0", method: "notifications/prompts/list_changed" });
		}
		unread.close();
		await restart(three);
	},

	async "an answer that was missed is fetched at another host"([one, two, three]) {
		const session = await Session.open(one);
		const params = { name: "slow_compute", arguments: { seconds: 1, label: "missed" }, _meta: { progressToken: "p" } };
		const stream = session.begin(two, "tools/call", params);
		await find(stream, "progress", isMethod("notifications/progress"));
		const after = stream.lastId;
		stream.close();
		const resumed = await session.listen(three, after);
		const { result } = await find(resumed, "the answer", (message) => message.id === stream.id && !message.method);
		assert.equal(result.content[0].text, "Computed missed");
		await until("the stream ends", async () => resumed.ended);
		const numbers = resumed.events.map(({ id }) => Number(id.split("/")[0]));
		assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b));
		assert.equal(numbers[0], Number(after.split("/")[0]) + 1, "nothing is missing");
		// Also after the host that served it was killed.
		await two.kill();
		const again = await session.listen(one, after);
		await find(again, "the answer", (message) => message.id === stream.id && message.result?.content[0].text === "Computed missed");
		await restart(two);
	},

	async "a client is told that the host of its call was killed"([one, two, three]) {
		const session = await Session.open(one);
		const stream = session.begin(two, "tools/call", { name: "slow_compute", arguments: { seconds: 30 }, _meta: { progressToken: "p" } });
		await find(stream, "progress", isMethod("notifications/progress"));
		await two.kill();
		await until("the stream breaks", async () => stream.ended);
		const resumed = await session.listen(three, stream.lastId);
		const { error } = await find(resumed, "an error", (message) => message.id === stream.id && message.error);
		assert.match(error.message, /has ended.*may have taken effect.*not repeated/s);
		await until("the stream ends", async () => resumed.ended);
		await restart(two);
	},

	async "a session that a client ends is ended at all hosts"([one, two, three]) {
		const session = await Session.open(one);
		await session.tool(two, "test_simple_text");
		const listening = await session.listen(two);
		assert.equal((await session.end(three)).status, 200);
		for (const host of [one, two, three]) {
			assert.equal((await session.post(host, { id: 1, method: "ping" })).status, 404, host.name);
		}
		await until("the event stream ends", async () => listening.ended);
		assert.equal((await session.end(one)).status, 404);
	},

	async "roots that have changed are asked for again at every host"([one, two]) {
		const session = await Session.open(one, { roots: { listChanged: true } });
		const list = async (host, expected) => {
			const stream = session.begin(host, "resources/subscribe", { uri: "test://watched-resource" });
			let asked = false;
			await until("an answer", async () => {
				const question = stream.events.find(({ message }) => message.method === "roots/list");
				if (question && !asked) {
					asked = true;
					await session.post(two, { id: question.message.id, result: { roots: [{ uri: "file:///tmp" }] } });
				}
				return stream.events.some(({ message }) => message.id === stream.id && !message.method);
			});
			stream.close();
			assert.equal(asked, expected, `${host.name} asks: ${asked}`);
		};
		await list(one, true);
		await list(one, false);
		assert.equal((await session.post(two, { method: "notifications/roots/list_changed" })).status, 202);
		await list(one, true);
	},

	async "a subscription is told at any host, also after the host that watches was killed"([one, two, three]) {
		const session = await Session.open(one);
		const updated = ({ method, params }) => method === "notifications/resources/updated" && params.uri === "test://watched-resource";
		await session.ask(one, "resources/subscribe", { uri: "test://watched-resource" });
		const listening = await session.listen(three);
		await session.tool(two, "touch", { uri: "test://watched-resource" });
		await find(listening, "an update", updated);
		await one.kill();
		const before = listening.events.length;
		// The host that takes over says that there may have been a change.
		await until("the subscription goes on", async () => listening.events.slice(before).some(({ message }) => updated(message)));
		await session.tool(two, "touch", { uri: "test://watched-resource" });
		await until("the next update", async () => listening.events.slice(before).filter(({ message }) => updated(message)).length > 1);
		await session.ask(two, "resources/unsubscribe", { uri: "test://watched-resource" });
		const last = listening.events.length;
		await session.tool(two, "touch", { uri: "test://watched-resource" });
		await session.tool(two, "test_trigger_tool_change");
		await find(listening, "a changed list", isMethod("notifications/tools/list_changed"));
		assert.ok(!listening.events.slice(last).some(({ message }) => updated(message)));
		listening.close();
		await restart(one);
	},

	async "what a plugin says at one host is told to the clients of all, of a resource once"([one, two, three]) {
		const [session, client, uri] = [await Session.open(one), new Modern(two.port), "test://template/told/data"];
		await session.ask(one, "resources/subscribe", { uri });
		const legacy = await session.listen(one);
		// Also the host that does not watch the resource serves this session.
		await session.tool(three, "test_simple_text");
		const modern = await new Modern(three.port).stream("subscriptions/listen", { notifications: { resourceSubscriptions: [uri], toolsListChanged: true } });
		await find(modern, "an acknowledgment", isMethod("notifications/subscriptions/acknowledged"));
		const updated = ({ method, params }) => method === "notifications/resources/updated" && params.uri === uri;
		const began = Date.now();
		await client.tool("touch", { uri });
		for (const stream of [legacy, modern]) {
			await find(stream, "an update", updated);
		}
		assert.ok(Date.now() - began < 2000, "at once");
		await client.tool("test_trigger_tool_change", {});
		for (const stream of [legacy, modern]) {
			await find(stream, "a changed list", isMethod("notifications/tools/list_changed"));
			assert.equal(stream.events.filter(({ message }) => updated(message)).length, 1, JSON.stringify(stream.events));
			stream.close();
		}
	},

	async "clients are told of resources that may have changed while the server of the state was away"([one], { redis }) {
		const [session, uri] = [await Session.open(one), "test://template/away/data"];
		await session.ask(one, "resources/subscribe", { uri });
		const legacy = await session.listen(one);
		const modern = await new Modern(one.port).stream("subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } });
		await find(modern, "an acknowledgment", isMethod("notifications/subscriptions/acknowledged"));
		await redis.kill();
		redis.start();
		for (const stream of [legacy, modern]) {
			await find(stream, "an update", ({ method, params }) => method === "notifications/resources/updated" && params.uri === uri);
			stream.close();
		}
	},

	async "a session is not lost at a host because the request that opens it there is given up"([one, two]) {
		for (let round = 0; round < 2; round++) {
			const session = await Session.open(one);
			await two.kill();
			// Plugins are compiled again, and a session that is opened waits for them a little.
			await rm(path.join(two.env.HOME, ".cache"), { recursive: true, force: true });
			two.start();
			const headers = { ...session.headers, "mcp-session-id": "none" };
			await until("the host looks for sessions", async () => (await request(two.port, "POST", "/mcp", headers, '{"jsonrpc":"2.0","id":1,"method":"ping"}')).status === 404);
			const first = session.begin(two, "ping");
			await pause(10 * (round + 1));
			const second = session.begin(two, "ping");
			await pause(20);
			first.close();
			await second.opened;
			assert.equal(second.status, 200, second.text);
			await find(second, "an answer", ({ id }) => id === second.id);
			second.close();
			assert.equal(await session.tool(two, "test_simple_text"), "This is a simple text response for testing.");
		}
	},

	async "another caller does not get a session at another host"([one], { keys, redis }) {
		const open = await makeHost(9, { ...keys, token: undefined }, redis.port);
		const session = await Session.open(one);
		for (const [method, body] of [["POST", '{"jsonrpc":"2.0","id":1,"method":"ping"}'], ["GET", ""], ["DELETE", ""]]) {
			const { authorization: _token, ...headers } = session.headers;
			const answered = await request(open.port, method, "/mcp", headers, body);
			assert.equal(answered.status, 404, `${method}: ${answered.text}`);
		}
		await session.tool(one, "test_simple_text");
		await open.kill("SIGTERM");
	},

	async "while the server of the state is away, open sessions go on and no new one begins"([one, two], { redis }) {
		const session = await Session.open(one);
		await redis.kill();
		assert.equal(await session.tool(one, "test_simple_text"), "This is a simple text response for testing.");
		const refused = await session.post(two, { id: 1, method: "ping" });
		assert.equal(refused.status, 503, refused.text);
		const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: "a", version: "1" } };
		const opened = await request(one.port, "POST", "/mcp", TYPES, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }));
		assert.equal(opened.status, 503, opened.text);
		redis.start();
		await until("the hosts are ready", async () => (await one.isReady()) && (await two.isReady()));
		await session.tool(two, "test_simple_text");
	}
};

try {
	const [keys, redis] = [await makeKeys(), await makeRedis()];
	const hosts = [];
	for (let number = 0; number < 3; number++) {
		hosts.push(await makeHost(number, keys, redis.port));
	}
	const chosen = Object.entries(tests).filter(([name]) => name.includes(process.argv[2] ?? ""));
	assert.ok(chosen.length > 0, "there is such a test");
	let failed = 0;
	for (const [name, test] of chosen) {
		const began = Date.now();
		try {
			await test(hosts, { keys, redis });
			console.log(`ok: ${name} (${Date.now() - began} ms)`);
		} catch (error) {
			failed += 1;
			console.log(`FAILED: ${name}\n${error.stack}`);
			for (const program of [redis, ...hosts].filter((one) => one.child.exitCode !== null || one.child.signalCode !== null)) {
				program.start();
				await until(`${program.name} is ready again`, program.isReady ?? (async () => redis.ask("PING").trim() === "PONG"));
			}
		}
	}
	process.exitCode = failed > 0 ? 1 : 0;
} finally {
	await end();
}
