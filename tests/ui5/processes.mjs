// Runs programs with a time limit.

import { spawn } from "node:child_process";
import http from "node:http";
import net from "node:net";

/** Runs a program to its end. If it fails, throws its output, unless it may fail. */
export function run(program, args, { cwd, seconds, env, mayFail }) {
	return new Promise((resolve, reject) => {
		const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
		const said = { stdout: "", stderr: "" };
		for (const stream of ["stdout", "stderr"]) {
			child[stream].setEncoding("utf8").on("data", (piece) => (said[stream] += piece));
		}
		const timer = setTimeout(() => end(child), seconds * 1000);
		child.on("error", reject);
		child.on("close", (code, signal) => {
			clearTimeout(timer);
			if (code === 0 || (mayFail && code !== null)) {
				resolve(said);
				return;
			}
			const command = [program, ...args].join(" ");
			reject(new Error(`${command}: ${signal ?? code}\n${said.stdout}${said.stderr}`));
		});
	});
}

/** Ends a program and all processes that it has started. */
function end(child) {
	try {
		process.kill(-child.pid, "SIGKILL");
	} catch {
		// The program has ended by itself.
	}
}

/**
 * Serves an app with the UI5 CLI, and a service at /odata, if there is one.
 *
 * @returns the address, and a function that ends the server
 */
export async function serve(directory, service) {
	const port = await freePort();
	const args = ["node_modules/@ui5/cli/bin/ui5.cjs", "serve", "--port", String(port)];
	const child = spawn("node", args, { cwd: directory, detached: true, stdio: ["ignore", "pipe", "pipe"] });
	let said = "";
	child.stdout.on("data", (piece) => (said += piece));
	child.stderr.on("data", (piece) => (said += piece));
	const until = Date.now() + 240_000;
	while (!said.includes("URL: ")) {
		if (Date.now() > until || child.exitCode !== null) {
			end(child);
			throw new Error(`ui5 serve does not serve: ${said}`);
		}
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	const front = await startFront(port, service);
	return {
		url: `http://localhost:${front.address().port}`,
		stop() {
			front.closeAllConnections();
			front.close();
			end(child);
		}
	};
}

/** Serves the app and the service at one address, as in production. */
function startFront(port, service) {
	const front = http.createServer((request, response) => {
		const target = service && request.url.startsWith("/odata/") ? service.port : port;
		const { method, url, headers } = request;
		const onward = http.request({ host: "localhost", port: target, method, path: url, headers }, (answer) => {
			response.writeHead(answer.statusCode, answer.headers);
			answer.pipe(response);
		});
		onward.on("error", () => response.destroy());
		request.pipe(onward);
	});
	return new Promise((resolve) => front.listen(0, "localhost", () => resolve(front)));
}

function freePort() {
	return new Promise((resolve, reject) => {
		const server = net.createServer();
		server.on("error", reject);
		server.listen(0, "localhost", () => {
			const { port } = server.address();
			server.close(() => resolve(port));
		});
	});
}
