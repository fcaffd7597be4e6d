// Callers that try to use what belongs to others: sessions, tasks, questions, stores, and the hosts themselves.

import assert from "node:assert/strict";
import { Failure, opened, sent, textOf } from "./clients.mjs";
import { given } from "./given.mjs";
import { messages } from "../proxies/http.mjs";

/** The number of attempts that were refused, by kind. */
export const refused = {};

/** Statuses of a proxy without a host, and of a host without the cluster's state or the keys of the issuer. */
const AWAY = [502, 503, 504];

function note(kind, response) {
	if (AWAY.includes(response.status)) {
		throw new Failure(`status ${response.status}`);
	}
	refused[kind] = (refused[kind] ?? 0) + 1;
}

/** Something that hosts gave to another principal. */
function anothers(kind, client, random) {
	const found = given[kind].filter(({ owner }) => owner !== client.principal.subject);
	return found[Math.floor(random() * found.length)]?.what;
}

/** Uses another principal's session: as if there were none. */
async function useSession(client, random) {
	const session = anothers("sessions", client, random);
	if (!session) {
		return;
	}
	const attempts = [
		["a call in a session", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
		["an answer in a session", { jsonrpc: "2.0", id: 1, result: { action: "accept", content: { username: "eve", email: "eve@example.org" } } }],
		["a cancellation in a session", { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }],
		["the end of a session", undefined, "DELETE"],
		["the event stream of a session", undefined, "GET"]
	];
	const [kind, body, method] = attempts[Math.floor(random() * attempts.length)];
	const response = await (method === "GET" ? opened(client, method, { accept: "text/event-stream", ...session }) : sent(client.port, client.principal, session, body, method));
	response.close?.();
	note(kind, response);
	assert.equal(response.status, 404, `${client.principal.subject}: ${kind} of another principal: ${response.text}`);
}

/** The error of a response. */
function errorOf(kind, response) {
	assert.ok(AWAY.includes(response.status) || response.status < 500, `${kind}: ${response.status} ${response.text}`);
	const message = AWAY.includes(response.status) ? undefined : messages(response).at(-1);
	if (!message) {
		throw new Failure(`status ${response.status}`);
	}
	assert.ok(message.error, `${kind} of another principal: ${response.text}`);
	if (message.error.code === -32603) {
		throw new Failure(message.error.message);
	}
	return message.error;
}

/** Asks about another principal's task, answers its question or cancels it: as if there were none. */
async function useTask(client, random) {
	const taskId = anothers("tasks", client, random);
	if (!taskId) {
		return;
	}
	const attempts = [
		["tasks/get", {}],
		["tasks/update", { inputResponses: { confirm: { action: "accept", content: { confirm: false } } } }],
		["tasks/cancel", {}]
	];
	const [method, params] = attempts[Math.floor(random() * attempts.length)];
	const response = await client.exchange(method, { taskId, ...params }, taskId);
	const error = errorOf(method, response);
	note(method, response);
	assert.equal(error.code, -32602, `${method} of another principal: ${error.message}`);
}

/** Answers another principal's question. */
async function useQuestion(client, random) {
	const answer = anothers("questions", client, random);
	if (!answer) {
		return;
	}
	const response = await client.exchange("tools/call", answer, answer.name);
	const error = errorOf("an answer", response);
	note("an answer to a question", response);
	assert.match(error.message, /requestState/, "the answer to a question of another principal");
}

/** Calls a tool without a token, or with one that is not for these hosts. */
async function useNoToken(client, random) {
	const { issuer, subject } = client.principal;
	const tokens = [
		["no token", undefined],
		["a token for another server", issuer.token(subject, 3600, { aud: "https://other.example.org/mcp" })],
		["a forged token", issuer.forged(subject)],
		["a token that ran out", issuer.token(subject, -5)],
		["a token of another issuer", issuer.token(subject, 3600, { iss: "https://other.example.org" })],
		["a token without the scope", issuer.token(subject, 3600, { scope: "other" })]
	];
	const [kind, token] = tokens[Math.floor(random() * tokens.length)];
	const { headers, body } = client.prepared("tools/call", { name: "increment", arguments: {} }, "increment");
	const caller = { send: (send) => send(token ? { authorization: `Bearer ${token}` } : {}) };
	const response = await sent(client.port, caller, headers, body);
	note(kind, response);
	assert.equal(response.status, kind.endsWith("scope") ? 403 : 401, `${kind}: ${response.text}`);
}

/** Writes what only this principal may see, and reads it again. */
export async function keepOwn(client, number) {
	const { subject } = client.principal;
	const keep = async (step) => {
		const answer = textOf(await client.call("keep", { arguments: { own: true, steps: [step] } }));
		if (!/^version \d+/.test(answer)) {
			throw new Failure(answer);
		}
		return answer;
	};
	await keep({ do: "set", key: "secret", value: `${subject} ${number}` });
	const read = await keep({ do: "get", key: "secret" });
	const [, owner] = read.match(/^version \d+ "(\w+) \d+"$/) ?? [];
	assert.equal(owner, subject, `a principal reads its own store: ${read}`);
	refused["the store of another"] = (refused["the store of another"] ?? 0) + 1;
}

/** Tries to use something of another principal. `client`: of MCP 2026-07-28, with tokens of an issuer. */
export async function intrude(client, random) {
	const ways = [useSession, useTask, useQuestion, useNoToken];
	await ways[Math.floor(random() * ways.length)](client, random);
}
