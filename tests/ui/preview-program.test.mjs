// Tests the command `portcullis preview` with the bundled tools. They run if `PORTCULLIS` names the binary.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { readable, startBrowser } from "./host.mjs";
import { visit } from "./preview-page.mjs";
import { folder } from "./preview-server.mjs";

const program = process.env.PORTCULLIS;

/** A bundled tool that needs no argument and only reads. */
const TOOL = "get_guidelines";

/** Starts the binary in its own home. It ends with the test. */
async function startProgram(t) {
	const home = await mkdtemp(path.join(tmpdir(), "portcullis-preview-"));
	const { XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, ...rest } = process.env;
	const child = spawn(program, ["preview", TOOL], {
		env: { ...rest, HOME: home },
		cwd: home,
		stdio: ["ignore", "ignore", "pipe"]
	});
	const ended = once(child, "close");
	t.after(async () => {
		child.kill();
		await ended;
		await rm(home, { recursive: true, force: true });
	});
	let said = "";
	for await (const line of createInterface({ input: child.stderr })) {
		said += `${line}\n`;
		const [, url] = /previewing at (http:\/\/127\.0\.0\.1:\d+\/)/.exec(line) ?? [];
		if (url) {
			child.stderr.resume();
			return url;
		}
	}
	throw new Error(`the program ended before it previewed anything:\n${said}`);
}

test("the program previews", { timeout: 300_000, skip: !program && "PORTCULLIS names no program" }, async (t) => {
	const url = await startProgram(t);
	const html = await (await fetch(url)).text();
	const [, sandbox] = /data-sandbox="(http:\/\/[^"]+\/sandbox\.html)"/.exec(html) ?? [];
	const part = (name, run) => t.test(name, { timeout: 120_000 }, run);

	await part("what is here, and nothing else", async () => {
		assert.doesNotMatch(html, /\{\{/);
		const scripts = (await readdir(folder)).filter((name) => name.endsWith(".js"));
		assert.notEqual(new URL(sandbox).origin, new URL(url).origin);
		for (const name of ["preview.css", ...scripts]) {
			const answer = await fetch(new URL(name, url));
			assert.equal(await answer.text(), await readFile(path.join(folder, name), "utf8"), name);
			assert.match(
				answer.headers.get("content-type"),
				name.endsWith(".css") ? /^text\/css/ : /^text\/javascript/
			);
		}
		const page = await readFile(path.join(folder, "sandbox.html"), "utf8");
		const answer = await fetch(sandbox);
		assert.equal(await answer.text(), page);
		assert.equal(answer.headers.get("content-security-policy"), /^Content-Security-Policy: (.*)$/m.exec(page)[1]);
		for (const other of [new URL("/mcp", sandbox), new URL("/", sandbox), new URL("/sandbox.html", url)]) {
			assert.equal((await fetch(other)).status, 404, String(other));
		}
	});

	await part("no page of another origin calls", async () => {
		for (const origin of ["https://example.com", "null", new URL(sandbox).origin]) {
			const answer = await fetch(new URL("/mcp", url), { method: "POST", headers: { origin }, body: "{}" });
			assert.equal(answer.status, 403, origin);
		}
	});

	await part("a tool of the program is shown, and called from its view and from the box", async (t) => {
		const browser = await startBrowser(t);
		const { page, view, findings, answer, call, log, errors, outside } = await visit(t, browser, { url, sandbox });
		await page.getByText(/^Ready in/).waitFor();
		await page.getByText("Both", { exact: true }).click();
		await page
			.locator("figure")
			.nth(1)
			.getByText(/^Ready in/)
			.waitFor();
		await readable(page.mainFrame());
		await view().getByRole("button", { name: /^Run/ }).click();
		await log.getByText(/^done/).first().waitFor();
		await answer.locator("pre").first().waitFor();
		await call({});
		await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "hidden" });
		await answer.locator("pre").first().waitFor();
		assert.equal(await answer.locator(".error").count(), 0);
		assert.equal(await findings.getByRole("listitem").count(), 0);
		assert.deepEqual(errors, []);
		assert.deepEqual(outside, []);
	});
});
