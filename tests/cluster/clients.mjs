// Clients of a test cluster, in both eras of MCP. They repeat only what may be sent twice.

import assert from "node:assert/strict";
import { TYPES, messages } from "../proxies/http.mjs";
import { pause, request } from "./programs.mjs";
import { Stream } from "./streams.mjs";

let id = 0;
/** The number of requests of all clients. */
export const counted = { calls: 0, tasks: 0, sessions: 0, resumed: 0, progress: 0 };

/** A failure that a client has to expect: of a connection, of nginx, or an error of the host. */
export class Failure extends Error {}

/** The last message of a response. */
function last(response) {
	if (response.status !== 200) {
		throw new Failure(`status ${response.status}`);
	}
	const message = messages(response).at(-1);
	if (!message) {
		throw new Failure("the response was cut off");
	}
	if (message.error) {
		throw new Failure(`error ${message.error.code}: ${message.error.message}`);
	}
	return message.result;
}

const sent = (port, headers, body) =>
	request(port, "POST", "/mcp", headers, JSON.stringify(body)).catch((error) => {
		throw new Failure(error.message);
	});

const PROGRESS = "test_tool_with_progress";

/** A client that got the result of a call got all of the call's progress before it, in order and once. */
function checkProgress(all) {
	const progress = all.filter(({ method }) => method === "notifications/progress").map(({ params }) => params.progress);
	assert.deepEqual(progress, [0, 50, 100], "the progress of a call");
	counted.progress += 1;
}

/** The text of a tool's result. */
function textOf(result) {
	const [{ text }] = result.content;
	if (result.isError) {
		throw new Failure(text);
	}
	return text;
}

/** A client of MCP 2026-07-28. */
export class Modern {
	constructor(port) {
		this.port = port;
	}

	async request(method, params, name) {
		return last(await this.exchange(method, params, name));
	}

	/** A request and its whole response. `meta`: more of the request's `_meta`. */
	async exchange(method, params, name, meta = {}) {
		counted.calls += 1;
		const clientCapabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
		const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": clientCapabilities, ...meta };
		const body = { jsonrpc: "2.0", id: ++id, method, params: { _meta, ...params } };
		const headers = { ...TYPES, "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(name && { "mcp-name": name }) };
		return sent(this.port, headers, body);
	}

	call(name, params) {
		return this.request("tools/call", { name, ...params }, name);
	}

	/** A request about a task, repeated until a host answers. Each of them may be sent twice. */
	async aboutTask(method, params) {
		for (let attempt = 0; ; attempt++) {
			try {
				return await this.request(method, params, params.taskId);
			} catch (failure) {
				assert.ok(!failure.message.startsWith("error -32602"), `a task that a client was told is unknown: ${failure.message}`);
				if (!(failure instanceof Failure) || attempt === 60) {
					throw failure;
				}
				await pause(250);
			}
		}
	}

	/** Runs a tool as a task, and asks any host for its result. Returns whether the task was completed. */
	async task() {
		const label = `task ${++id}`;
		const begun = await this.call("confirm_delete", { arguments: { filename: label } });
		if (begun.resultType !== "task") {
			throw new Failure(textOf(begun));
		}
		counted.tasks += 1;
		const { taskId } = begun;
		let answered = false;
		for (;;) {
			const found = await this.aboutTask("tasks/get", { taskId });
			switch (found.status) {
				case "input_required":
					if (!answered) {
						await this.aboutTask("tasks/update", { taskId, inputResponses: { confirm: { action: "accept", content: { confirm: true } } } });
						answered = true;
					}
					break;
				case "completed":
					return assert.equal(textOf(found.result), `Deleted ${label}`);
				case "failed":
				case "cancelled":
					throw new Failure(`a task has ${found.status}: ${found.error?.message}`);
			}
			await pause(100);
		}
	}

	async tool(name, args) {
		return textOf(await this.call(name, { arguments: args }));
	}

	/** Calls a tool that tells how far it is. */
	async progress() {
		const response = await this.exchange("tools/call", { name: PROGRESS, arguments: {} }, PROGRESS, { progressToken: "p" });
		textOf(last(response));
		checkProgress(messages(response));
	}

	/** Calls a tool that asks for a name. The answer goes to whichever host is next. */
	async asked() {
		const name = "test_input_required_result_elicitation";
		const asked = await this.call(name, { arguments: {} });
		assert.equal(asked.resultType, "input_required");
		const inputResponses = Object.fromEntries(Object.keys(asked.inputRequests).map((key) => [key, { action: "accept", content: { name: "Ada" } }]));
		for (let attempt = 0; ; attempt++) {
			try {
				const result = await this.call(name, { arguments: {}, inputResponses, requestState: asked.requestState });
				return assert.equal(textOf(result), "Hello, Ada!");
			} catch (failure) {
				// The state is the client's: a host that is gone does not lose it.
				if (!(failure instanceof Failure) || attempt === 40) {
					throw failure;
				}
				await pause(250);
			}
		}
	}
}

/** A client of MCP 2025-11-25. Its only session is never lost, and each of its requests goes to any host. */
export class Legacy {
	constructor(port) {
		this.port = port;
	}

	async open() {
		const clientInfo = { name: "cluster", version: "1" };
		const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo };
		const opened = await sent(this.port, TYPES, { jsonrpc: "2.0", id: ++id, method: "initialize", params });
		last(opened);
		const session = { ...TYPES, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
		await sent(this.port, session, { jsonrpc: "2.0", method: "notifications/initialized" });
		this.session = session;
		counted.sessions += 1;
	}

	async stream(method, more, body) {
		const stream = new Stream(this.port, method, { ...this.session, ...more }, body && JSON.stringify(body));
		await stream.opened.catch((error) => {
			throw new Failure(error.message);
		});
		assert.notEqual(stream.status, 404, "a session is lost");
		if (stream.status !== 200) {
			stream.close();
			throw new Failure(`status ${stream.status}`);
		}
		return stream;
	}

	/** Answers a question. Sending it twice is the same as sending it once. */
	async answer({ id: question }) {
		const content = { username: "ada", email: "ada@example.org" };
		for (let attempt = 0; ; attempt++) {
			try {
				const { status } = await sent(this.port, this.session, { jsonrpc: "2.0", id: question, result: { action: "accept", content } });
				assert.notEqual(status, 404, "a session is lost");
				if (status === 202) {
					return;
				}
			} catch (failure) {
				if (!(failure instanceof Failure)) {
					throw failure;
				}
			}
			if (attempt === 40) {
				throw new Failure("an answer to a question cannot be sent");
			}
			await pause(250);
		}
	}

	/**
	 * Calls a tool. If the connection breaks, the rest of the answer is fetched at any host. `seen`: gets all messages.
	 * `_meta`: that of the request.
	 */
	async tool(name, args, seen = [], _meta = {}) {
		counted.calls += 1;
		if (!this.session) {
			await this.open();
		}
		const request = { jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name, arguments: args, _meta } };
		let stream = await this.stream("POST", {}, request);
		let [after, asked] = [undefined, false];
		for (let attempt = 0; ; attempt++) {
			for (;;) {
				const next = await stream.wait((message) => (message.id === request.id && !message.method) || (!asked && message.method === "elicitation/create"), 30_000);
				if (next?.method) {
					asked = true;
					await this.answer(next);
					continue;
				}
				if (next) {
					seen.push(...stream.events.map(({ message }) => message));
					stream.close();
					if (next.error) {
						throw new Failure(`error ${next.error.code}: ${next.error.message}`);
					}
					counted.resumed += attempt > 0 ? 1 : 0;
					return textOf(next.result);
				}
				break;
			}
			after = stream.lastId ?? after;
			seen.push(...stream.events.map(({ message }) => message));
			stream.close();
			if (after === undefined || attempt === 40) {
				throw new Failure("no answer, and no event to resume after");
			}
			await pause(250);
			const resumed = await this.stream("GET", { "last-event-id": after }).catch((failure) => {
				if (!(failure instanceof Failure)) {
					throw failure;
				}
			});
			stream = resumed ?? stream;
		}
	}

	/** Calls a tool that tells how far it is. */
	async progress() {
		const seen = [];
		await this.tool(PROGRESS, {}, seen, { progressToken: "p" });
		checkProgress(seen);
	}

	/** Calls a tool that asks a question, whose answer goes to whichever host is next. */
	async asked() {
		const text = await this.tool("test_elicitation", { message: "Who are you?" });
		assert.match(text, /ada/);
	}
}
