// Responses of a host whose events are read while they come.

import http from "node:http";
import { HOST } from "../proxies/http.mjs";

/** A response with events, or another one, which has none. */
export class Stream {
	constructor(port, method, headers, body) {
		this.events = [];
		this.ended = false;
		this.text = "";
		this.changed = () => {};
		this.opened = new Promise((resolve, reject) => {
			const options = { host: "127.0.0.1", port, method, path: "/mcp", headers: { host: HOST, ...headers }, agent: false };
			this.sent = http.request(options, (response) => {
				this.status = response.statusCode;
				this.headers = response.headers;
				response.setEncoding("utf8").on("data", (part) => this.read(part));
				for (const end of ["end", "error", "close"]) {
					response.on(end, () => this.end());
				}
				resolve(this);
			});
			this.sent.on("error", (error) => {
				this.end();
				reject(error);
			});
			this.sent.end(body);
		});
		// Whoever waits for the response sees its failure.
		this.opened.catch(() => {});
	}

	read(part) {
		const whole = (this.text + part).split("\n\n");
		this.text = whole.pop();
		for (const event of whole) {
			const field = (name) => event.match(new RegExp(`^${name}: ?(.*)$`, "m"))?.[1];
			this.lastId = field("id") ?? this.lastId;
			const data = field("data");
			if (data) {
				this.events.push({ id: field("id"), message: JSON.parse(data) });
			}
		}
		this.changed();
	}

	end() {
		this.ended = true;
		this.changed();
	}

	/** Waits until something of the stream changes, or the time is over. */
	async change(ms) {
		let timer;
		await new Promise((resolve) => {
			this.changed = resolve;
			timer = setTimeout(resolve, Math.max(1, ms));
		});
		clearTimeout(timer);
	}

	/** The first message of which this holds, or undefined if the stream ends, or after this time, before there is one. */
	async wait(holds, ms = 60_000) {
		const end = Date.now() + ms;
		for (;;) {
			const found = this.events.find(({ message }) => holds(message));
			if (found || this.ended || Date.now() >= end) {
				return found?.message;
			}
			await this.change(end - Date.now());
		}
	}

	close() {
		this.sent.destroy();
	}
}
