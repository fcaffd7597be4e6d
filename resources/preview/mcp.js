// The page's MCP client: requests of revision 2026-07-28, without a session, to the server that serves the page.

import { isObject } from "./text.js";

const REVISION = "2026-07-28";
const OWN = "io.modelcontextprotocol/";

/** Maximum number of rounds of a request, as in other clients. */
const MAX_ROUNDS = 10;

/** Maximum number of pages of a list. */
const MAX_PAGES = 500;

/** Maximum length of an answer, in characters. */
const MAX_ANSWER = 64_000_000;

const CAPABILITIES = {
	elicitation: { form: {}, url: {} },
	extensions: { [`${OWN}ui`]: { mimeTypes: ["text/html;profile=mcp-app"] } }
};

/** An error of the server, or of the connection to it. */
export class Failure extends Error {
	constructor(message, code, data) {
		super(message);
		this.code = code;
		this.data = data;
	}
}

/**
 * Sends a request, and goes through its rounds of questions.
 *
 * @param more `signal` aborts the request; `progress` gets its progress; `ask` answers the server's questions to the
 *   user; `schema` is the input schema of the called tool
 * @returns the result; throws a `Failure`, or the reason with which `signal` was aborted
 */
export async function request(method, params = {}, more = {}) {
	try {
		return await rounds(method, params, more);
	} catch (error) {
		// The signal has the reason of an abort. The network error only says that the request was aborted.
		more.signal?.throwIfAborted();
		throw error;
	}
}

async function rounds(method, params, more) {
	let rest = {};
	for (let round = 0; round < MAX_ROUNDS; round++) {
		const result = await once(method, { ...params, ...rest }, more);
		if (result.resultType !== "input_required") {
			return result;
		}
		const questions = Object.entries(isObject(result.inputRequests) ? result.inputRequests : {});
		const inputResponses = {};
		for (const [key, question] of questions) {
			inputResponses[key] = await more.ask(question, more.signal);
		}
		rest = { inputResponses, ...(result.requestState !== undefined && { requestState: result.requestState }) };
	}
	throw new Failure(`the server asked in more than ${MAX_ROUNDS} rounds`);
}

/** All items of a list, page by page. */
export async function list(method, key, more) {
	const items = [];
	let cursor;
	for (let page = 0; page < MAX_PAGES; page++) {
		const result = await request(method, cursor === undefined ? {} : { cursor }, more);
		items.push(...(Array.isArray(result[key]) ? result[key] : []));
		if (typeof result.nextCursor !== "string" || result.nextCursor === cursor) {
			return items;
		}
		cursor = result.nextCursor;
	}
	throw new Failure(`${method} has more than ${MAX_PAGES} pages`);
}

/**
 * Receives notifications of the server until the stream ends.
 *
 * @param uris resources to subscribe to
 * @param heard is called with each notification; the first one acknowledges the subscription
 */
export async function listen(uris, heard, signal) {
	const notifications = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: uris };
	const response = await post(body("subscriptions/listen", { notifications }), {}, signal);
	for await (const message of messages(response)) {
		if (message.error) {
			throw failed(message.error);
		}
		if (typeof message.method === "string") {
			heard(message);
		}
	}
}

let lastId = 0;

function body(method, params) {
	const _meta = {
		...params._meta,
		[`${OWN}protocolVersion`]: REVISION,
		[`${OWN}clientCapabilities`]: CAPABILITIES,
		[`${OWN}clientInfo`]: { name: "portcullis-preview", version: "1" }
	};
	return { jsonrpc: "2.0", id: ++lastId, method, params: { ...params, _meta } };
}

async function once(method, params, { signal, progress, schema }) {
	const sent = body(method, progress ? { ...params, _meta: { progressToken: `p${lastId + 1}` } } : params);
	const response = await post(sent, schema ? marked(schema, params.arguments) : {}, signal);
	for await (const message of messages(response)) {
		if (message.method === "notifications/progress") {
			progress?.(message.params);
		} else if (message.id === sent.id || (message.error && message.id === undefined)) {
			if (message.error) {
				throw failed(message.error);
			}
			return message.result ?? {};
		}
	}
	throw new Failure(
		response.ok
			? "the server ended the connection before it answered"
			: `the server answered with HTTP status ${response.status}`
	);
}

const failed = ({ message, code, data }) => new Failure(String(message ?? "an error without words"), code, data);

async function post(message, headers, signal) {
	const { method, params } = message;
	const name = method === "resources/read" ? params.uri : method === "tools/call" ? params.name : undefined;
	try {
		return await fetch("/mcp", {
			method: "POST",
			signal,
			headers: {
				"content-type": "application/json",
				"accept": "application/json, text/event-stream",
				"mcp-protocol-version": REVISION,
				"mcp-method": method,
				...(name !== undefined && { "mcp-name": headerValue(name) }),
				...headers
			},
			body: JSON.stringify(message)
		});
	} catch (error) {
		throw new Failure(`the server cannot be reached (${error.message})`);
	}
}

/** The arguments that the tool also requires as headers (`x-mcp-header`). */
function marked(schema, given, headers = {}) {
	for (const [key, one] of Object.entries(isObject(schema?.properties) ? schema.properties : {})) {
		const value = isObject(given) ? given[key] : undefined;
		const header = one?.["x-mcp-header"];
		if (typeof header === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(header)) {
			if (["string", "number", "boolean"].includes(typeof value)) {
				headers[`mcp-param-${header}`] = headerValue(String(value));
			}
		}
		marked(one, value, headers);
	}
	return headers;
}

/** A value in a form that headers can hold. Other values are encoded in base64, as the specification says. */
function headerValue(value) {
	const survives = /^[\x20-\x7e]*$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
	const bytes = () => Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join("");
	return survives ? value : `=?base64?${btoa(bytes())}?=`;
}

/** The messages of a response: one as JSON, or a stream of them. */
async function* messages(response) {
	const kind = response.headers.get("content-type") ?? "";
	if (kind.startsWith("text/event-stream")) {
		for await (const data of events(response)) {
			yield parsed(data, response);
		}
		return;
	}
	let text = "";
	for await (const piece of pieces(response)) {
		text += piece;
		bounded(text);
	}
	if (kind.startsWith("application/json")) {
		yield parsed(text, response);
	} else if (!response.ok) {
		throw new Failure(`the server answered with HTTP status ${response.status}: ${text.slice(0, 500)}`);
	}
}

function parsed(text, response) {
	try {
		const message = JSON.parse(text);
		if (isObject(message)) {
			return message;
		}
	} catch {
		// Reported below, like JSON that is not a message.
	}
	throw new Failure(`the server answered with what is no message (HTTP status ${response.status})`);
}

/** The data of each event of a stream. */
async function* events(response) {
	let buffered = "";
	let data = [];
	for await (const piece of pieces(response)) {
		buffered += piece;
		bounded(buffered);
		const lines = buffered.split(/\r?\n/);
		buffered = lines.pop();
		for (const line of lines) {
			if (line.startsWith("data:")) {
				data.push(line.slice(line[5] === " " ? 6 : 5));
			} else if (line === "") {
				const text = data.join("\n");
				data = [];
				if (text !== "") {
					yield text;
				}
			}
		}
	}
}

async function* pieces(response) {
	const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
	try {
		for (let next = await reader?.read(); next && !next.done; next = await reader.read()) {
			yield next.value;
		}
	} catch (error) {
		throw new Failure(`the connection broke (${error.message})`);
	} finally {
		await reader?.cancel().catch(() => {});
	}
}

function bounded(text) {
	if (text.length > MAX_ANSWER) {
		throw new Failure(`the server's answer is longer than ${MAX_ANSWER / 1_000_000} million characters`);
	}
}
