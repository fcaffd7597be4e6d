// Clients of a test cluster, in both eras of MCP. They repeat only what may be sent twice.

import assert from "node:assert/strict";
import { TYPES as WITH_TOKEN, messages } from "../proxies/http.mjs";
import { noteGiven } from "./given.mjs";
import { holder } from "./issuer.mjs";
import { pause, request } from "./programs.mjs";
import { Stream } from "./streams.mjs";

const { authorization: _token, ...TYPES } = WITH_TOKEN;
let id = 0;
/** The number of requests of all clients. */
export const counted = { calls: 0, tasks: 0, sessions: 0, resumed: 0, progress: 0 };

/** A failure that a client has to expect: of a connection, of nginx, or an error of the host. */
export class Failure extends Error {}

/** The last message of a response. */
function last(response) {
	if (response.status !== 200) {
		throw new Failure(`status ${response.status}${response.status === 500 ? `: ${response.text}` : ""}`);
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

/** Sends a message of a caller. `principal`: whose tokens the request has. */
export const sent = (port, principal, headers, body, method = "POST") =>
	principal.send((token) =>
		request(port, method, "/mcp", { ...TYPES, ...headers, ...token }, body && JSON.stringify(body)).catch((error) => {
			throw new Failure(error.message);
		})
	);

const PROGRESS = "test_tool_with_progress";

/** A client that got the result of a call got all of the call's progress before it, in order and once. */
function checkProgress(all) {
	const progress = all.filter(({ method }) => method === "notifications/progress").map(({ params }) => params.progress);
	assert.deepEqual(progress, [0, 50, 100], "the progress of a call");
	counted.progress += 1;
}

/** The text of a tool's result. */
export function textOf(result) {
	const [{ text }] = result.content;
	if (result.isError) {
		throw new Failure(text);
	}
	return text;
}

/** Repeats what may be done twice until it succeeds. */
export async function repeated(attempts, work) {
	for (let attempt = 1; ; attempt++) {
		try {
			return await work();
		} catch (failure) {
			if (!(failure instanceof Failure) || attempt === attempts) {
				throw failure;
			}
			await pause(250);
		}
	}
}

/** A client of MCP 2026-07-28. */
export class Modern {
	constructor(port, principal = holder) {
		Object.assign(this, { port, principal });
	}

	async request(method, params, name) {
		return last(await this.exchange(method, params, name));
	}

	/** A request and its whole response. `meta`: more of the request's `_meta`. */
	async exchange(method, params, name, meta = {}) {
		const { headers, body } = this.prepared(method, params, name, meta);
		return sent(this.port, this.principal, headers, body);
	}

	/** The headers and the body of a request. */
	prepared(method, params, name, meta = {}) {
		counted.calls += 1;
		const clientCapabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
		const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": clientCapabilities, ...meta };
		const body = { jsonrpc: "2.0", id: ++id, method, params: { _meta, ...params } };
		const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(name && { "mcp-name": name }) };
		return { headers, body };
	}

	/** Sends a request whose response is a stream, and returns the stream. */
	async stream(method, params) {
		const { headers, body } = this.prepared(method, params);
		const stream = await opened(this, "POST", { ...TYPES, ...headers }, body);
		return Object.assign(stream, { id: body.id });
	}

	call(name, params) {
		return this.request("tools/call", { name, ...params }, name);
	}

	/** A request about a task, repeated until a host answers. Each of them may be sent twice. */
	aboutTask(method, params) {
		return repeated(60, async () => {
			try {
				return await this.request(method, params, params.taskId);
			} catch (failure) {
				assert.ok(!failure.message.startsWith("error -32602"), `a task that a client was told is unknown: ${failure.message}`);
				throw failure;
			}
		});
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
		noteGiven("tasks", this.principal, taskId);
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
		const answer = { name, arguments: {}, inputResponses, requestState: asked.requestState };
		noteGiven("questions", this.principal, answer);
		// The state is the client's: a host that is gone does not lose it.
		const result = await repeated(40, () => this.request("tools/call", answer, name));
		assert.equal(textOf(result), "Hello, Ada!");
	}
}

/** Opens a stream of a client, with the tokens of its principal. */
export async function opened({ port, principal }, method, headers, body) {
	return principal.send(async (token) => {
		const stream = new Stream(port, method, { ...headers, ...token }, body && JSON.stringify(body));
		await stream.opened.catch((error) => {
			throw new Failure(error.message);
		});
		if (![200, 401, 404].includes(stream.status)) {
			await stream.wait(() => false, 1000);
			stream.close();
			throw new Failure(`status ${stream.status}${stream.status === 500 ? `: ${stream.text}` : ""}`);
		}
		return stream;
	});
}

/** A client of MCP 2025-11-25. Its only session is never lost, and each of its requests goes to any host. */
export class Legacy {
	constructor(port, principal = holder) {
		Object.assign(this, { port, principal });
	}

	async open() {
		const clientInfo = { name: "cluster", version: "1" };
		const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo };
		const response = await sent(this.port, this.principal, {}, { jsonrpc: "2.0", id: ++id, method: "initialize", params });
		last(response);
		const session = { "mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
		await sent(this.port, this.principal, session, { jsonrpc: "2.0", method: "notifications/initialized" });
		this.session = session;
		noteGiven("sessions", this.principal, session);
		counted.sessions += 1;
	}

	async stream(method, more, body) {
		const stream = await opened(this, method, { ...TYPES, ...this.session, ...more }, body);
		assert.notEqual(stream.status, 404, `a session is lost: ${stream.text}`);
		return stream;
	}

	/** Sends a request that may be sent twice, until there is an answer. */
	ask(method, params) {
		return repeated(60, async () => {
			counted.calls += 1;
			const request = { jsonrpc: "2.0", id: ++id, method, params };
			const stream = await this.stream("POST", {}, request);
			const found = await stream.wait((message) => message.id === request.id && !message.method, 30_000);
			stream.close();
			if (!found || found.error) {
				throw new Failure(found ? `error ${found.error.code}: ${found.error.message}` : "no answer");
			}
			return found.result;
		});
	}

	/** Answers a question. Sending it twice is the same as sending it once. */
	async answer({ id: question }) {
		const content = { username: "ada", email: "ada@example.org" };
		await repeated(40, async () => {
			const response = { jsonrpc: "2.0", id: question, result: { action: "accept", content } };
			const { status } = await sent(this.port, this.principal, this.session, response);
			assert.notEqual(status, 404, "a session is lost");
			if (status !== 202) {
				throw new Failure("an answer to a question cannot be sent");
			}
		});
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
