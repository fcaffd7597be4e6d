// HTTP requests to hosts on this machine, as clients of MCP behind a proxy send them.

import http from "node:http";
import net from "node:net";

/** The token that the hosts accept. */
export const TOKEN = "0123456789abcdef";
/** The public name of the hosts. */
export const HOST = "mcp.example.org";
/** The headers of a message of MCP. */
export const TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream", authorization: `Bearer ${TOKEN}` };

/** A port that no program uses at this moment. */
export const freePort = () =>
	new Promise((resolve) => {
		const server = net.createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address();
			server.close(() => resolve(port));
		});
	});

/**
 * A function that sends a request to a port of this machine. Its headers name the public host. `answerTime` is how long an
 * answer may take, in milliseconds; `agent` as in `http.request`.
 */
export const requester = (answerTime, agent) =>
	function request(port, method, where, headers = {}, body = "") {
		return new Promise((resolve, reject) => {
			const options = { host: "127.0.0.1", port, method, path: where, headers: { host: HOST, ...headers }, agent };
			const sent = http.request(options, (response) => {
				let text = "";
				response.setEncoding("utf8").on("data", (part) => (text += part));
				response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
				response.on("error", reject);
				response.on("aborted", () => reject(new Error("the response was cut off")));
			});
			sent.on("error", reject).setTimeout(answerTime, () => sent.destroy(new Error("no answer in time")));
			sent.end(body);
		});
	};

/** The messages of a response: JSON, or the events of a stream. */
export const messages = ({ headers, text }) =>
	headers["content-type"]?.startsWith("text/event-stream")
		? [...text.matchAll(/^data: ?(\S.*)$/gm)].map(([, data]) => JSON.parse(data))
		: text
			? [JSON.parse(text)]
			: [];
