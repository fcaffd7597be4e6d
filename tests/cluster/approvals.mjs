// Tests that hosts exchange approvals, share what plugins cache, and show the pages of a long answer at any host, with a real
// Redis or Valkey server.
//
//   PORTCULLIS=target/debug/portcullis CONFORMANCE=…/guest_conformance.wasm KEEPER=…/guest_keeper.wasm node approvals.mjs

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFile, readFile } from "node:fs/promises";
import path from "node:path";
import { Modern } from "./clients.mjs";
import { end, makeHost, makeKeys, makeRedis, pause, until } from "./programs.mjs";

/** A section without meaning, which changes the digest of a component and nothing else. */
const SECTION = Buffer.from([0, 2, 1, "x".charCodeAt(0)]);

const component = (host) => path.join(host.env.HOME, ".local/share/portcullis/plugins/keeper.wasm");
const lockFile = (host) => readFile(path.join(host.env.HOME, ".local/state/portcullis/portcullis.lock"), "utf8");

async function offers(host, name) {
	const { tools } = await new Modern(host.port).request("tools/list", {}, undefined);
	return tools.some((tool) => tool.name === name);
}

const tests = {
	async "what an operator approves at one host is approved at all"([one, two]) {
		for (const host of [one, two]) {
			assert.ok(await offers(host, "keep"), "the plugin is approved at its first use");
		}
		for (const host of [one, two]) {
			await host.kill("SIGTERM");
			await appendFile(component(host), SECTION);
			host.start();
			await until(`${host.name} is ready again`, host.isReady);
			assert.ok(!(await offers(host, "keep")), "the changed plugin is refused");
		}
		const args = ["plugin", "approve", "keeper", "--reason", "reviewed", "--yes"];
		const ran = spawnSync(one.command, args, { env: { ...process.env, ...one.env }, encoding: "utf8" });
		assert.equal(ran.status, 0, ran.stderr);
		const began = Date.now();
		for (const host of [one, two]) {
			await until(`${host.name} offers the plugin`, () => offers(host, "keep"));
		}
		assert.ok(Date.now() - began < 15_000, "within some seconds");
		assert.match(await lockFile(two), /reason = "reviewed"/);
	},

	async "what one host saw at its first use is what another host judges by"([one], { keys, redis }) {
		await pause(4000);
		const late = await makeHost(7, keys, redis.port, { before: (home) => appendFile(path.join(home, ".local/share/portcullis/plugins/conformance.wasm"), SECTION) });
		assert.ok(await offers(one, "test_simple_text"));
		assert.ok(!(await offers(late, "test_simple_text")), "another component of this name is refused, although this host never saw it");
		await late.kill("SIGTERM");
	},

	async "what a plugin cached at one host is found at the other, for its time"([one, two]) {
		const remember = async (host, key, value, ms) => {
			const answer = await new Modern(host.port).call("remember", { arguments: { key, value, ...(ms && { ms }) } });
			assert.ok(!answer.isError, JSON.stringify(answer));
			return answer.content[0].text;
		};
		assert.equal(await remember(one, "kept", "first"), 'made "first"');
		await until("the other host finds it", async () => (await remember(two, "kept", "second")) === 'found "first"');
		const began = Date.now();
		assert.equal(await remember(two, "short", "first", 2000), 'made "first"');
		await until("the first host finds it", async () => (await remember(one, "short", "second", 2000)) === 'found "first"');
		await pause(Math.max(0, began + 2100 - Date.now()));
		assert.equal(await remember(one, "short", "third", 2000), 'made "third"', "its time is over at the host that found it, too");
	},

	async "the pages of a long answer are read at any host"([one, two]) {
		const [at, other] = [new Modern(one.port), new Modern(two.port)];
		const found = await at.call("keep", { arguments: { steps: Array.from({ length: 60 }, () => ({ do: "get", key: "a key that is not there" })) } });
		const [, id] = found.content[0].text.match(/"id": "([^"]+)", "page": 2/) ?? [];
		assert.ok(id, `the answer has pages: ${found.content[0].text}`);
		const page = await other.call("read_result", { arguments: { id, page: 2 } });
		assert.ok(!page.isError && /nothing/.test(page.content[0].text), JSON.stringify(page));
		const read = await other.request("resources/read", { uri: `portcullis://results/${id}/2` }, `portcullis://results/${id}/2`);
		assert.match(read.contents[0].text, /nothing/);
	}
};

try {
	const [keys, redis] = [await makeKeys(), await makeRedis()];
	const cache = "[plugins.keeper.grants.cache]\nbytes = 1_000_000\ndisk = true\n";
	const more = { config: cache + '[profiles.short]\nresult-tokens = 40\nprincipals = ["token"]\n' };
	const hosts = [await makeHost(0, keys, redis.port, more), await makeHost(1, keys, redis.port, more)];
	for (const [name, test] of Object.entries(tests)) {
		await test(hosts, { keys, redis });
		console.log(`ok: ${name}`);
	}
} finally {
	await end();
}
