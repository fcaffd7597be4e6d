// The documents of `documents/`, and the checks while a hostile one is shown.

import assert from "node:assert/strict";
import dgram from "node:dgram";
import { readFile } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { FORECAST } from "./tools.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

/** A secret that the hostile documents are given and must not pass on. */
export const SECRET = "Secretopolis";

/**
 * The documents as the plugin compiles them. A test of `plugins/ui/libraries/ui-check` writes `compiled.json`, and
 * checks that it is up to date. Documents that the plugin refuses are left out.
 */
export async function documents() {
	const compiled = JSON.parse(await readFile(path.join(here, "documents/compiled.json"), "utf8"));
	const shown = Object.entries(compiled).filter(([, { faults }]) => !faults);
	const of = (kind) =>
		shown
			.filter(([name]) => name.startsWith(`${kind}/`))
			.map(([name, document]) => [name.slice(kind.length + 1, -".html".length), document]);
	return { good: of("good"), hostile: of("hostile") };
}

/** Starts a TCP and a UDP server that record what reaches them. */
export async function listen(t) {
	const seen = [];
	const tcp = net.createServer((socket) => {
		seen.push("a connection");
		socket.on("data", (data) => seen.push(String(data))).on("error", () => {});
	});
	const udp = dgram.createSocket("udp4").on("message", () => seen.push("a datagram"));
	await Promise.all([
		new Promise((resolve) => tcp.listen(0, "127.0.0.1", resolve)),
		new Promise((resolve) => udp.bind(0, "127.0.0.1", resolve))
	]);
	const sockets = new Set();
	tcp.on("connection", (socket) => sockets.add(socket));
	t.after(() => {
		sockets.forEach((socket) => socket.destroy());
		tcp.close();
		udp.close();
	});
	const [tcpPort, udpPort] = [tcp.address().port, udp.address().port];
	/** A document with the actual ports of this peer. */
	const placed = (document) =>
		JSON.parse(JSON.stringify(document).replaceAll("49991", tcpPort).replaceAll("49992", udpPort));
	return { seen, placed };
}

/** The forbidden actions of a hostile document, from a host's log. */
export function wrong({ calls, links, others }) {
	const escaped = calls.filter(({ arguments: args }) => /ESCAPED/.test(JSON.stringify(args)));
	return [...escaped, ...calls.slice(1), ...links, ...others].map((one) => JSON.stringify(one));
}

/** Gives a hostile document a secret and a click, and asserts that it did nothing forbidden. */
export async function contained(view, peer) {
	const { app, host } = view;
	const address = host.url();
	const dialogs = [];
	host.on("dialog", (dialog) => {
		dialogs.push(dialog.message());
		dialog.dismiss().catch(() => {});
	});
	const frames = host.frames().length;
	await view.send("sendToolResult", { content: [], structuredContent: { ...FORECAST, city: SECRET } });
	const go = app.locator("#go");
	if (await go.count()) {
		await go.first().click({ timeout: 3000, force: true }).catch(() => {});
		await host.keyboard.type("x");
		await host.keyboard.press("Enter");
	}
	await host.waitForTimeout(250);
	assert.deepEqual(wrong(await view.log()), []);
	assert.deepEqual(peer.seen, []);
	assert.deepEqual(dialogs, []);
	assert.equal(host.url(), address);
	assert.equal(host.frames().length, frames, "no frame came or went");
}
