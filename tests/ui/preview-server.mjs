// Serves the page of `portcullis preview` like the binary, with a scripted MCP server, without other machines.

import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the page. */
export const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../resources/preview");
const read = (name) => readFile(path.join(folder, name), "utf8");

const OWN = "io.modelcontextprotocol/";
const FILES = {
	js: "text/javascript; charset=utf-8",
	css: "text/css; charset=utf-8",
	html: "text/html; charset=utf-8"
};

/** Number of tools in a page of the list. */
const PAGE = 2;

const open = (answer, port = 0) =>
	new Promise((resolve) => {
		const server = http.createServer(answer);
		server.listen(port, "127.0.0.1", () => resolve(server));
	});

const close = (server) =>
	new Promise((resolve) => {
		server.close(resolve);
		server.closeAllConnections();
	});

const escaped = (text) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

/**
 * Serves the page.
 *
 * @param world the contents of the server, which may change while it runs: `tools`; `resources`, by their URIs: `text`,
 *   `meta` and, if the resource is not a view, `mimeType`; `answers`, by the name of the tool: `(args, {inputs, progress, closed})`
 * @param tool the tool that the page shows first
 * @returns `url`, `origin`; `calls`, the arguments of the calls; `wrong`, requests that violate MCP;
 *   `news(method, params)` sends a notification to subscribers; `heard(uri)` waits for a subscription; `closed(count)` waits until so
 *   many calls are over; `stop()` and `start()` of the server
 */
export async function startPreview(t, world, tool = "") {
	const listening = new Set();
	const state = { calls: [], wrong: [], reads: 0, lists: 0, cancelled: 0, listening };
	const sandboxPage = await read("sandbox.html");
	const [, policy] = /^Content-Security-Policy: (.*)$/m.exec(sandboxPage);
	const sandboxServer = await open((request, response) => {
		const known = new URL(request.url, "http://localhost").pathname === "/sandbox.html";
		response.writeHead(known ? 200 : 404, { "content-type": FILES.html, "content-security-policy": policy });
		response.end(known ? sandboxPage : "");
	});
	state.sandbox = `http://127.0.0.1:${sandboxServer.address().port}/sandbox.html`;

	const answer = async (request, response) => {
		const { pathname } = new URL(request.url, "http://localhost");
		if (pathname === "/mcp") {
			await speak(request, response, world, state);
			return;
		}
		const name = pathname === "/" ? "index.html" : pathname.slice(1);
		if (!/^[a-z]+\.(js|css|html)$/.test(name) || (name === "index.html" && pathname !== "/")) {
			response.writeHead(404).end();
			return;
		}
		const text = await read(name);
		const filled = text.replaceAll("{{sandbox}}", state.sandbox).replaceAll("{{tool}}", escaped(tool));
		response.writeHead(200, { "content-type": FILES[name.split(".").at(-1)] });
		response.end(name === "index.html" ? filled : text);
	};
	let server = await open(answer);
	const { port } = server.address();
	t.after(async () => {
		await close(sandboxServer);
		await close(server);
	});
	return Object.assign(state, {
		url: `http://127.0.0.1:${port}/`,
		heard: (uri) => until(() => [...listening].some(({ resources }) => resources?.includes(uri))),
		closed: (count) => until(() => state.cancelled >= count),
		news: (method, params = {}) => listening.forEach((stream) => stream.send({ jsonrpc: "2.0", method, params })),
		stop: () => close(server),
		start: async () => {
			server = await open(answer, port);
		}
	});
}

/** A server that nothing should reach. `hits` has the requests that did. */
export async function startTrap(t) {
	const hits = [];
	const server = await open((request, response) => {
		hits.push(request.url);
		response.end();
	});
	t.after(() => close(server));
	return { hits, url: `http://127.0.0.1:${server.address().port}` };
}

/** Waits until a condition holds. The time limit is that of the test. */
async function until(is) {
	while (!is()) {
		await new Promise((resolve) => setImmediate(resolve));
	}
}

async function body(request) {
	const pieces = [];
	for await (const piece of request) {
		pieces.push(piece);
	}
	return JSON.parse(Buffer.concat(pieces).toString());
}

const decoded = (value) => {
	const [, inner] = /^=\?base64\?(.*)\?=$/.exec(value ?? "") ?? [];
	return inner === undefined ? value : Buffer.from(inner, "base64").toString();
};

/** The rules of the transport of 2026-07-28 that a request breaks. */
function faultsOf({ headers, method }, { params, ...message }, tools) {
	const meta = params?._meta ?? {};
	const tool = message.method === "tools/call" ? tools.find(({ name }) => name === params.name) : undefined;
	const marked = Object.entries(tool?.inputSchema.properties ?? {}).filter(([, schema]) => schema["x-mcp-header"]);
	const headed = ([key, schema]) =>
		decoded(headers[`mcp-param-${schema["x-mcp-header"].toLowerCase()}`]) === params.arguments[key];
	const named = { "tools/call": params?.name, "resources/read": params?.uri }[message.method];
	return [
		[method === "POST", "it is posted"],
		[headers.origin === `http://${headers.host}`, "it comes from the page"],
		[
			/application\/json/.test(headers.accept) && /text\/event-stream/.test(headers.accept),
			"both kinds are accepted"
		],
		[headers["mcp-protocol-version"] === "2026-07-28", "the header says the version"],
		[headers["mcp-method"] === message.method, "the header says the method"],
		[decoded(headers["mcp-name"]) === named, "the header says the name"],
		[marked.every(headed), "the headers say the arguments that are wanted there"],
		[message.jsonrpc === "2.0" && message.id !== undefined, "it is a request"],
		[meta[`${OWN}protocolVersion`] === "2026-07-28", "_meta says the version"],
		[typeof meta[`${OWN}clientInfo`]?.name === "string", "_meta says who asks"],
		[meta[`${OWN}clientCapabilities`]?.elicitation?.form !== undefined, "_meta says what it can"]
	]
		.filter(([kept]) => !kept)
		.map(([, words]) => `${message.method}: ${words}`);
}

async function speak(request, response, world, state) {
	const message = await body(request);
	state.wrong.push(...faultsOf(request, message, world.tools));
	const { id, method, params } = message;
	const stream = {
		send: (one) => {
			if (!response.headersSent) {
				response.writeHead(200, { "content-type": "text/event-stream" });
			}
			response.write(`event: message\r\ndata: ${JSON.stringify(one)}\r\n\r\n`);
		}
	};
	const end = (result) => {
		const whole = { jsonrpc: "2.0", id, ...result };
		if (response.headersSent) {
			stream.send(whole);
			response.end();
		} else {
			response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
		}
	};
	const closed = new Promise((resolve) => response.once("close", resolve));
	try {
		if (method === "subscriptions/listen") {
			stream.send({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: {} });
			stream.resources = params.notifications.resourceSubscriptions;
			state.listening.add(stream);
			await closed;
			state.listening.delete(stream);
		} else {
			end({
				result: {
					resultType: "complete",
					...(await resultOf(method, params, world, state, { stream, closed }))
				}
			});
		}
	} catch (error) {
		end({ error: { code: error.code ?? -32603, message: error.message } });
	}
}

async function resultOf(method, params, world, state, { stream, closed }) {
	switch (method) {
		case "tools/list": {
			state.lists += 1;
			const from = Number(params.cursor ?? 0);
			const more = from + PAGE < world.tools.length && { nextCursor: String(from + PAGE) };
			return { tools: world.tools.slice(from, from + PAGE), ...more };
		}
		case "resources/list":
			return {
				resources: Object.entries(world.resources).map(([uri, { listed }]) => ({
					uri,
					name: uri,
					_meta: listed
				}))
			};
		case "resources/read": {
			state.reads += 1;
			const found = world.resources[params.uri];
			if (!found) {
				throw Object.assign(new Error(`no such resource: ${params.uri}`), { code: -32602 });
			}
			const { text, meta, mimeType = "text/html;profile=mcp-app" } = found;
			return { contents: [{ uri: params.uri, mimeType, text, ...(meta && { _meta: { ui: meta } }) }] };
		}
		case "tools/call": {
			state.calls.push({ name: params.name, arguments: params.arguments });
			const progressToken = params._meta.progressToken;
			const progress = (how) =>
				stream.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, ...how } });
			closed.then(() => (state.cancelled += 1));
			return world.answers[params.name](params.arguments, {
				inputs: params.inputResponses,
				state: params.requestState,
				progress,
				closed
			});
		}
		default:
			throw Object.assign(new Error(`unknown: ${method}`), { code: -32601 });
	}
}
