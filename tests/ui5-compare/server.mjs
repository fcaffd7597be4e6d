// An MCP server as a child process: calls over stdio, and their time and memory.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import readline from "node:readline";

/** Maximum time of one answer, in milliseconds. The linter takes minutes for a large library. */
const PATIENCE = 600_000;

function resident(process) {
	try {
		return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process}/status`, "utf8"))[1]) * 1024;
	} catch {
		return undefined;
	}
}

/** The child processes of a process. Linux lists them by the thread that started them. */
function children(process) {
	try {
		const tasks = readdirSync(`/proc/${process}/task`);
		return tasks.flatMap((task) =>
			readFileSync(`/proc/${process}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number)
		);
	} catch {
		return [];
	}
}

export class Server {
	#child;
	#next = 1;
	#waiting = new Map();

	/** Starts a server, and waits until it has answered `initialize`. */
	static async start(program, args, options) {
		const server = new Server();
		const begin = performance.now();
		server.#child = spawn(program, args, { ...options, stdio: ["pipe", "pipe", "ignore"] });
		server.#child.on("exit", (code) => server.#fail(new Error(`${program} ended with ${code}`)));
		server.#child.on("error", (error) => server.#fail(error));
		readline.createInterface({ input: server.#child.stdout }).on("line", (line) => server.#take(JSON.parse(line)));
		await server.request("initialize", {
			protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "compare", version: "1" }
		});
		server.milliseconds = performance.now() - begin;
		server.#send({ method: "notifications/initialized" });
		return server;
	}

	/** The id of the process. */
	get pid() {
		return this.#child.pid;
	}

	request(method, params) {
		const id = this.#next++;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`${method} took too long`)), PATIENCE);
			this.#waiting.set(id, { resolve, reject, timer });
			this.#send({ id, method, params });
		});
	}

	/** Calls a tool. An error of the tool is an answer with `isError`. */
	async call(name, args) {
		const begin = performance.now();
		const result = await this.request("tools/call", { name, arguments: args });
		return { ...result, milliseconds: performance.now() - begin };
	}

	/** The memory of the process, in bytes; `undefined` if the system does not report it. */
	get memory() {
		return resident(this.#child.pid);
	}

	/** The memory of the process and of all processes that it started. */
	get memoryWithChildren() {
		const all = [this.#child.pid];
		for (const process of all) {
			all.push(...children(process));
		}
		return all.reduce((sum, process) => sum + (resident(process) ?? 0), 0);
	}

	stop() {
		this.#child.removeAllListeners("exit");
		this.#child.kill();
	}

	#send(message) {
		this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}

	#take(message) {
		const waiting = this.#waiting.get(message.id);
		if (!waiting || message.method) {
			return;
		}
		this.#waiting.delete(message.id);
		clearTimeout(waiting.timer);
		if (message.error) {
			waiting.reject(new Error(message.error.message));
		} else {
			waiting.resolve(message.result);
		}
	}

	#fail(error) {
		for (const { reject, timer } of this.#waiting.values()) {
			clearTimeout(timer);
			reject(error);
		}
		this.#waiting.clear();
	}
}
