// Clients of a test cluster, in both eras of MCP. They repeat only what may be sent twice.

import assert from "node:assert/strict";
import { TYPES, messages } from "../proxies/http.mjs";
import { pause, request } from "./programs.mjs";

let id = 0;
/** The number of requests of all clients. */
export const counted = { calls: 0, tasks: 0 };

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
		counted.calls += 1;
		const clientCapabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
		const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": clientCapabilities };
		const body = { jsonrpc: "2.0", id: ++id, method, params: { _meta, ...params } };
		const headers = { ...TYPES, "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name };
		return last(await sent(this.port, headers, body));
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

/** A client of MCP 2025-11-25, which opens another session when its own is gone. */
export class Legacy {
	constructor(port) {
		this.port = port;
	}

	async open() {
		const clientInfo = { name: "cluster", version: "1" };
		const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
		const opened = await sent(this.port, TYPES, { jsonrpc: "2.0", id: ++id, method: "initialize", params });
		last(opened);
		this.session = { "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
		await sent(this.port, { ...TYPES, ...this.session }, { jsonrpc: "2.0", method: "notifications/initialized" });
	}

	async tool(name, args) {
		counted.calls += 1;
		try {
			if (!this.session) {
				await this.open();
			}
			const headers = { ...TYPES, ...this.session };
			return textOf(last(await sent(this.port, headers, { jsonrpc: "2.0", id: ++id, method: "tools/call", params: { name, arguments: args } })));
		} catch (failure) {
			this.session = undefined;
			throw failure;
		}
	}
}
